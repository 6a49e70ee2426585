//! `cairn checkpoint`: state the log as it is.

use super::Outcome;
use crate::args::App;
use crate::error::CliError;
use crate::term::{Ui, count, visible};

/// State the log as it is: its size and root, signed
///
/// Prints a C2SP signed note. Whoever keeps it can prove later that the log was changed, if it was. Checkpoints are also made by themselves: after 256 entries, after a minute, and when a program ends.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args, app: &App) -> Result<Outcome, CliError> {
    let location = app.location()?;
    // What is not there is not made: an empty log needs no statement.
    location.open_to_read()?;
    let cairn = app.write()?;
    let stated = cairn.checkpoint()?;
    cairn.close();
    if app.ui.json {
        app.ui.print_json(&stated)?;
    } else {
        app.ui.print(&stated.note)?;
        app.ui.remark(&remark(&stated, &app.ui));
    }
    Ok(Outcome::Fine)
}

fn remark(stated: &cairn::Stated, ui: &Ui) -> String {
    let entries = count(stated.size, "entry");
    match &stated.signed_by[..] {
        [] => {
            ui.remarks.warning(&format!("{entries}, unsigned: no key is used here (CAIRN_SIGNER, CAIRN_KEY)"))
        }
        keys => ui.remarks.good(&format!("{entries}, signed by {}", visible(&keys.join(" and ")))),
    }
}
