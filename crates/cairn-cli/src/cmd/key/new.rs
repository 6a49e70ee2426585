//! `cairn key new`: a key for `CAIRN_KEY`.

use cairn::core::note::SigningKey;
use serde_json::json;

use crate::args::App;
use crate::cmd::Outcome;
use crate::error::CliError;

/// Make a key to be handed over in CAIRN_KEY, and print it
///
/// Nothing is stored: keep what it prints in your secret store. Without CAIRN_KEY Cairn makes a key for each log by itself, in a file that only you can read.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args, app: &App) -> Result<Outcome, CliError> {
    let origin = app.read()?.status()?.origin;
    let key = cairn::random_key(&origin).map_err(CliError::failed)?;
    print(&key, app)?;
    Ok(Outcome::Fine)
}

fn print(key: &SigningKey, app: &App) -> Result<(), CliError> {
    let (secret, public) = (key.to_secret_string(), key.verifying_key().to_string());
    if app.ui.json {
        return app.ui.print_json(&json!({"secret": secret, "public": public}));
    }
    app.ui.print(&format!("{secret}\n"))?;
    app.ui.remark(&format!("Whoever has this line can sign as this log. For those who verify:\n{public}"));
    Ok(())
}
