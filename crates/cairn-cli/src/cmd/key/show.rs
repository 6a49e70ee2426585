//! `cairn key show`: the public key, to be given to whoever verifies.

use serde_json::json;

use crate::args::App;
use crate::cmd::Outcome;
use crate::error::CliError;
use crate::state::{self, SignedElsewhere, Signing};

/// Print the public key of the log, for those who verify
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args, app: &App) -> Result<Outcome, CliError> {
    let cairn = app.read()?;
    let origin = cairn.status()?.origin;
    let keys = match state::signer()? {
        None => Vec::new(),
        Some(signer) => signer.keys(&origin).map_err(CliError::refused)?,
    };
    let keys: Vec<String> = keys.iter().map(ToString::to_string).collect();
    if app.ui.json {
        app.ui.print_json(&json!({"origin": origin, "keys": keys}))?;
        return Ok(Outcome::Fine);
    }
    match (&keys[..], Signing::find()?) {
        ([], Signing::Nobody) => app.ui.remark("Nothing is signed here: CAIRN_SIGNER is `none`."),
        ([], _) => match SignedElsewhere::find(&cairn)? {
            Some(elsewhere) => app.ui.remark(&format!("{}\n{}", elsewhere.message(), elsewhere.advice())),
            None => app.ui.remark("There is no key yet; the first checkpoint makes one."),
        },
        (keys, _) => {
            app.ui.print(&format!("{}\n", keys.join("\n")))?;
            if keys.len() > 1 {
                app.ui.remark(
                    "The second key is about to replace the first; `cairn key rotate` finishes that.",
                );
            }
        }
    }
    Ok(Outcome::Fine)
}
