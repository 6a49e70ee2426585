//! `cairn checkpoint`: state the log as it is, and tell its witnesses.

use cairn::Stated;

use super::Outcome;
use crate::args::App;
use crate::error::CliError;
use crate::state::{SignedElsewhere, StateFolder};
use crate::term::{Ui, count, visible};
use crate::witness::{self, Published, Urgency};

/// State the log as it is: its size and root, signed
///
/// Prints a C2SP signed note, with the cosignatures of its witnesses. Whoever keeps it can prove later that the log was changed, if it was. Checkpoints are also made by themselves: after 256 entries, after a minute, and when a program ends.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print it as one line, to be put at the end of a commit message
    #[arg(long, conflicts_with = "json")]
    trailer: bool,
}

pub(crate) fn run(args: &Args, app: &App) -> Result<Outcome, CliError> {
    // A checkpoint makes no database: an empty log needs none.
    let cairn = app.write_existing()?;
    let mut stated = cairn.checkpoint()?;
    if args.trailer {
        app.ui.print(&format!("{}\n", witness::trailer(&stated)))?;
        cairn.close();
        return Ok(Outcome::Fine);
    }
    let mut failed = Vec::new();
    if let Some(state) = StateFolder::find() {
        let published = witness::publish(&cairn, &state, &stated, Urgency::Now).map_err(CliError::failed)?;
        failed.extend(published.into_iter().filter_map(failure));
        stated.note = witness::with_cosignatures(&state, &stated).map_err(CliError::failed)?.to_string();
    }
    let elsewhere = SignedElsewhere::find(&cairn)?;
    cairn.close();
    if app.ui.json {
        app.ui.print_json(&stated)?;
    } else {
        app.ui.print(&stated.note)?;
        app.ui.remark(&remark(&stated, elsewhere, &app.ui));
    }
    for failure in failed {
        app.ui.remark(&app.ui.remarks.warning(&failure));
    }
    Ok(Outcome::Fine)
}

/// What is to be said of a witness that could not be told.
fn failure(published: Published) -> Option<String> {
    let error = published.outcome.err()?;
    Some(
        visible(&format!("the witness {} was not told: {}", published.witness.name, error.words()))
            .into_owned(),
    )
}

fn remark(stated: &Stated, elsewhere: Option<SignedElsewhere>, ui: &Ui) -> String {
    let entries = count(stated.size, "entry");
    match &stated.signed_by[..] {
        [] => {
            let why = elsewhere.map_or_else(
                || "no key is used here (CAIRN_SIGNER, CAIRN_KEY)".to_string(),
                |elsewhere| format!("{}\n{}", elsewhere.message(), elsewhere.advice()),
            );
            ui.remarks.warning(&format!("{entries}, unsigned: {why}"))
        }
        keys => ui.remarks.good(&format!("{entries}, signed by {}", visible(&keys.join(" and ")))),
    }
}
