//! `cairn redact`: take the text out of a record.

use std::io::{BufRead, IsTerminal};

use cairn::core::entry::EntryKind;
use cairn::{Cairn, Error, Redact, Redacted};

use super::Outcome;
use super::record::author;
use crate::args::App;
use crate::error::CliError;
use crate::state::StateFolder;
use crate::term::{Ui, cut, first_line, visible, wrap};
use crate::witness;

/// Erase the text of a record, for ever
///
/// Its hashes stay, so that everything still verifies, and the log says by whom, when and why it was erased. The text is
/// gone from the record, the search index and the files; copies elsewhere, such as backups, are not touched. An event keeps
/// its structure, with `(redacted)` in the place of its texts; the contents of entities that it names go with it. With a
/// snapshot go all others of the same content.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Name a thought by its id or a unique beginning of it, a brief or a review by its whole id, a snapshot by `context:`
    /// and its number, an event by `event:` and its position in the log
    id: String,
    /// Say why, and on what legal basis; this stays in the log for ever
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// Name who answers for it [default: CAIRN_AGENT, else the user]
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

pub(crate) fn run(args: Args, app: &App) -> Result<Outcome, CliError> {
    let ui = &app.ui;
    let cairn = app.write()?;
    let target = match cairn.resolve(&args.id) {
        _ if args.id.starts_with("event:") || args.id.starts_with("context:") => args.id,
        Ok(id) => id.to_string(),
        // It may be a brief or a review.
        Err(Error::NotFound { .. }) => args.id,
        Err(error) => return Err(error.into()),
    };
    let actor = args.by.unwrap_or_else(author);
    if !args.yes && !agreed(&cairn, &target, ui)? {
        return Err(CliError::refused("nothing was redacted"));
    }
    let redacted = cairn.redact(&Redact { target, actor, reason: args.reason })?;
    let closed = cairn.clone();
    cairn.close();
    match ui.json {
        true => ui.print_json(&redacted)?,
        false => ui.print(&page(&redacted, ui))?,
    }
    witness::publish_newest(&closed, StateFolder::find().as_ref());
    Ok(Outcome::Fine)
}

/// Whether the person at the terminal means it.
fn agreed(cairn: &Cairn, id: &str, ui: &Ui) -> Result<bool, CliError> {
    let stdin = std::io::stdin();
    if !stdin.is_terminal() {
        return Err(CliError::usage("a redaction cannot be undone, and nobody is there to be asked")
            .hint("add `--yes` if you mean it"));
    }
    if let Some(thought) = cairn.get(id)? {
        ui.remark(&cut(&first_line(&thought.content), ui.width));
    }
    ui.remark(&format!("Erase the text of `{}` for ever? Type `yes`:", visible(id)));
    let mut answer = String::new();
    stdin.lock().read_line(&mut answer).map_err(|error| CliError::io("cannot read the answer", &error))?;
    Ok(answer.trim() == "yes")
}

fn page(redacted: &Redacted, ui: &Ui) -> String {
    let palette = ui.palette;
    let fields = redacted.fields.join(" and ").replace("seal_key", "key");
    let fields = fields.replace("body and bodies", "texts and contents").replace("body", "texts");
    let id = palette.strong(&visible(&redacted.id));
    let mut page = format!(
        "Redacted {} {id}: its {fields} {} gone\n",
        redacted.kind,
        match redacted.fields.len() {
            1 if fields != "texts" => "is",
            _ => "are",
        }
    );
    let mut line = |name: &str, value: &str| {
        for (index, part) in wrap(&visible(value), ui.width - 11).iter().enumerate() {
            let name = palette.faint(&format!("{:<8}", if index == 0 { name } else { "" }));
            page.push_str(&format!("  {name} {part}\n"));
        }
    };
    line("by", &redacted.by);
    line("time", redacted.at.as_str());
    line("reason", &redacted.reason);
    line("hash", &redacted.content_hash.to_string());
    line("log", &format!("entry {} says so of entry {}", redacted.seq, redacted.target_seq));
    if !redacted.shared.is_empty() {
        let places: Vec<String> = redacted.shared.iter().map(u64::to_string).collect();
        let entries = if places.len() == 1 { "log entry" } else { "log entries" };
        let places = format!("{entries} {}", places.join(", "));
        let said = match redacted.kind {
            EntryKind::Snapshot => format!("with it went all snapshots of the same content: {places}"),
            _ => format!("contents that went with it are gone from other events as well: {places}"),
        };
        line("shared", &said);
    }
    if !redacted.also_in.is_empty() {
        page.push_str("\nStored briefs that repeat it:\n");
        for brief in &redacted.also_in {
            page.push_str(&format!("  cairn redact {} --reason …\n", visible(brief.as_str())));
        }
    }
    if !redacted.remnants.is_empty() {
        page.push_str(&format!("\n{}\n", palette.bad("Not gone everywhere:")));
    }
    for remnant in &redacted.remnants {
        for (index, part) in wrap(&visible(remnant), ui.width - 4).iter().enumerate() {
            page.push_str(&format!("{}{part}\n", if index == 0 { "  - " } else { "    " }));
        }
    }
    page
}
