//! `cairn key rotate` and `cairn key revoke`: another key for the log, by entries in the log.

use cairn::core::entry::KeyOp;
use cairn::core::note::VerifyingKey;
use cairn::{Cairn, KeyChange, KeyFolder, Signer, Stated};
use serde_json::json;

use crate::args::App;
use crate::cmd::Outcome;
use crate::error::CliError;
use crate::state::{Signing, StateFolder};
use crate::witness;

/// Replace the key: both sign one checkpoint, then the new one alone
///
/// The log records the new key and the end of the old one. Whoever trusts the old key can follow to the new one; old checkpoints stay valid. If it is interrupted, run it again.
#[derive(Debug, clap::Args)]
pub(crate) struct RotateArgs {
    /// Say why, for those who read the log
    #[arg(long)]
    reason: Option<String>,
}

/// Replace a key that somebody else may have
///
/// What the old key signed beyond the last trusted size counts as unsigned from now on. Whoever verifies needs the new key from you: the old one cannot vouch for it.
#[derive(Debug, clap::Args)]
pub(crate) struct RevokeArgs {
    /// The last size of the log at which you know that the key was yours alone
    #[arg(long, value_name = "SIZE")]
    last_trusted_size: u64,
    /// Say why, for those who read the log
    #[arg(long)]
    reason: String,
}

pub(crate) fn rotate(args: &RotateArgs, app: &App) -> Result<Outcome, CliError> {
    let (folder, cairn, old) = begin(app)?;
    let origin = old.name().to_string();
    let new = folder.make_next(&origin).map_err(CliError::refused)?;
    if !cairn.key_changes()?.iter().any(|change| change.op == KeyOp::Add && change.vkey == new.to_string()) {
        add(&cairn, &new, args.reason.clone())?;
    }
    // Both sign this one: it is the bridge from the old key to the new.
    let bridge = cairn.checkpoint()?;
    let last = Some(bridge.size);
    cairn.change_key(KeyChange {
        op: KeyOp::Retire,
        key: old.clone(),
        last_trusted_size: last,
        reason: None,
    })?;
    folder.replace(&origin).map_err(CliError::refused)?;
    finish(cairn, &old, &new, app)
}

pub(crate) fn revoke(args: &RevokeArgs, app: &App) -> Result<Outcome, CliError> {
    let (folder, cairn, old) = begin(app)?;
    let origin = old.name().to_string();
    let last = Some(args.last_trusted_size);
    let reason = Some(args.reason.clone());
    cairn.change_key(KeyChange { op: KeyOp::Revoke, key: old.clone(), last_trusted_size: last, reason })?;
    let new = folder.make_next(&origin).map_err(CliError::refused)?;
    // First the old key goes: it must not sign the statement that replaces it.
    folder.replace(&origin).map_err(CliError::refused)?;
    add(&cairn, &new, None)?;
    finish(cairn, &old, &new, app)
}

fn begin(app: &App) -> Result<(KeyFolder, Cairn, VerifyingKey), CliError> {
    if Signing::find()? != Signing::File {
        return Err(CliError::refused("the key of this log is not kept in a file here")
            .hint("replace it where it is kept, and hand the new one over in its place"));
    }
    let state = StateFolder::find()
        .ok_or_else(|| CliError::refused("there is no home folder that could hold a key"))?;
    let folder = KeyFolder::new(state.keys());
    let cairn = app.write_existing()?;
    let origin = cairn.status()?.origin;
    let keys = folder.keys(&origin).map_err(CliError::refused)?;
    match keys.into_iter().next() {
        Some(old) => Ok((folder, cairn, old)),
        None => Err(CliError::not_found("this log has no key yet").hint("`cairn checkpoint` makes one")),
    }
}

fn add(cairn: &Cairn, key: &VerifyingKey, reason: Option<String>) -> Result<(), CliError> {
    cairn.change_key(KeyChange { op: KeyOp::Add, key: key.clone(), last_trusted_size: None, reason })?;
    Ok(())
}

/// Opens the log anew, so that the new key is read, and has it sign.
fn finish(cairn: Cairn, old: &VerifyingKey, new: &VerifyingKey, app: &App) -> Result<Outcome, CliError> {
    cairn.close();
    let cairn = app.write()?;
    let stated: Stated = cairn.checkpoint()?;
    let closed = cairn.clone();
    cairn.close();
    if app.ui.json {
        app.ui.print_json(&json!({"old": old.to_string(), "new": new.to_string(), "checkpoint": stated}))?;
    } else {
        app.ui.print(&format!("{new}\n"))?;
        app.ui.remark("This key signs from now on. Give it to those who verify.");
    }
    witness::publish_newest(&closed, StateFolder::find().as_ref());
    Ok(Outcome::Fine)
}
