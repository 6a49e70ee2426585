//! `cairn witness check`: what do they say now?

use serde_json::{Value, json};

use crate::args::App;
use crate::cmd::Outcome;
use crate::error::CliError;
use crate::state::StateFolder;
use crate::term::{Palette, visible, wrap};
use crate::witness::{Checked, Verdict, age, check};

/// Ask every witness now and compare what it has seen with the log
///
/// Ends with exit code 1 if one of them has seen another past of this log.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args, app: &App) -> Result<Outcome, CliError> {
    let cairn = app.read()?;
    let state = StateFolder::require()?;
    let checked = check(&cairn, &state)?;
    let contradicted = checked.iter().any(|one| matches!(one.verdict, Verdict::Contradicts(_)));
    let printed = if app.ui.json {
        let data: Vec<Value> = checked.iter().map(data).collect();
        app.ui.print_json(&json!({"contradicted": contradicted, "witnesses": data}))
    } else if checked.is_empty() {
        app.ui.remark("No witnesses yet; `cairn witness add --help` shows what can be one");
        Ok(())
    } else {
        let blocks: String = checked.iter().map(|one| block(one, app.ui.width, app.ui.palette)).collect();
        app.ui.print(&blocks)
    };
    if contradicted { Ok(Outcome::FoundSomething) } else { printed.map(|()| Outcome::Fine) }
}

fn data(checked: &Checked) -> Value {
    json!({
        "name": checked.witness.name,
        "kind": checked.witness.place.kind(),
        "verdict": checked.verdict.word(),
        "message": checked.verdict.words(),
        "newest": checked.newest,
        "heads": checked.heads,
        "remarks": checked.remarks,
    })
}

fn block(checked: &Checked, width: usize, palette: Palette) -> String {
    let mark = match checked.verdict {
        Verdict::Agrees => palette.good("agrees     "),
        Verdict::Nothing => palette.warning("nothing yet"),
        Verdict::NotAsked(_) => palette.warning("not asked  "),
        Verdict::Copy(_) => palette.warning("other copy "),
        Verdict::Contradicts(_) => palette.bad("contradicts"),
    };
    let mut lines = vec![checked.witness.title()];
    lines.extend(checked.verdict.words().map(str::to_string));
    if let Some(head) = &checked.newest {
        let heads =
            if checked.heads == 1 { "1 head".to_string() } else { format!("{} heads", checked.heads) };
        lines.push(format!("{heads}, the newest of {} entries, {}", head.size, age(&head.at)));
    }
    lines.extend(checked.remarks.iter().cloned());
    let mut block = String::new();
    for line in lines {
        for part in wrap(&visible(&line), width.saturating_sub(13).max(40)) {
            let margin = if block.is_empty() { mark.as_str() } else { "           " };
            block.push_str(&format!("{margin}  {part}\n"));
        }
    }
    block
}
