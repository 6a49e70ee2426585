//! `cairn key add`, `retire`, `rotate` and `revoke`: changes of the log's keys, by entries in the log.

use cairn::core::entry::KeyOp;
use cairn::core::note::VerifyingKey;
use cairn::{Cairn, KeyChange, KeyFolder, Signer, Stated};
use serde_json::json;

use crate::args::App;
use crate::cmd::Outcome;
use crate::error::CliError;
use crate::state::{Signing, StateFolder};
use crate::witness;

/// Let another key sign the log, too
///
/// The key that signs here now signs the entry that introduces the other one, so everyone who trusts the present key trusts the new one. For a key in CAIRN_KEY: `cairn key new` makes another one, `cairn key add` introduces it, and once CAIRN_KEY holds it, `cairn key retire` ends the old one.
#[derive(Debug, clap::Args)]
pub(crate) struct AddArgs {
    /// The public key, as `cairn key new` and `cairn key show` print it
    #[arg(value_name = "KEY")]
    key: VerifyingKey,
    /// Give the reason, which the log keeps
    #[arg(long)]
    reason: Option<String>,
}

/// End a key: what it signed up to now stays valid
///
/// Another key of the log signs that here.
#[derive(Debug, clap::Args)]
pub(crate) struct RetireArgs {
    /// The public key, as `cairn key show` and `cairn log` print it
    #[arg(value_name = "KEY")]
    key: VerifyingKey,
    /// Give the reason, which the log keeps
    #[arg(long)]
    reason: Option<String>,
}

/// Replace the key: the old one vouches for the new one, which signs from then on
///
/// The log records the new key, signed by the old one, and the end of the old one. A reader who trusts the old key can follow it to the new one; old checkpoints stay valid. If it is interrupted, run it again.
#[derive(Debug, clap::Args)]
pub(crate) struct RotateArgs {
    /// Give the reason, which the log keeps
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
    /// Give the reason, which the log keeps
    #[arg(long)]
    reason: String,
}

pub(crate) fn add_key(args: &AddArgs, app: &App) -> Result<Outcome, CliError> {
    let cairn = app.write_existing()?;
    add(&cairn, &args.key, args.reason.clone())?;
    cairn.close();
    recorded("add", &args.key, app)
}

pub(crate) fn retire_key(args: &RetireArgs, app: &App) -> Result<Outcome, CliError> {
    let cairn = app.write_existing()?;
    let last_trusted_size = Some(cairn.status()?.entries);
    let (op, key, reason) = (KeyOp::Retire, args.key.clone(), args.reason.clone());
    change(&cairn, KeyChange { op, key, last_trusted_size, reason })?;
    cairn.close();
    recorded("retire", &args.key, app)
}

fn recorded(op: &str, key: &VerifyingKey, app: &App) -> Result<Outcome, CliError> {
    match app.ui.json {
        true => app.ui.print_json(&json!({"op": op, "key": key.to_string()}))?,
        false => app.ui.print(&format!("{key}\n"))?,
    }
    Ok(Outcome::Fine)
}

pub(crate) fn rotate(args: &RotateArgs, app: &App) -> Result<Outcome, CliError> {
    let (folder, cairn, old) = begin(app)?;
    let origin = old.name().to_string();
    let new = folder.make_next(&origin).map_err(CliError::refused)?;
    if !has(&cairn, KeyOp::Add, &new)? {
        add(&cairn, &new, args.reason.clone())?;
    }
    let last_trusted_size = Some(cairn.checkpoint()?.size);
    change(&cairn, KeyChange { op: KeyOp::Retire, key: old.clone(), last_trusted_size, reason: None })?;
    folder.replace(&origin).map_err(CliError::refused)?;
    finish(cairn, &old, &new, app)
}

pub(crate) fn revoke(args: &RevokeArgs, app: &App) -> Result<Outcome, CliError> {
    let (folder, cairn, old) = begin(app)?;
    let origin = old.name().to_string();
    let new = folder.make_next(&origin).map_err(CliError::refused)?;
    if !has(&cairn, KeyOp::Revoke, &old)? {
        let (last_trusted_size, reason) = (Some(args.last_trusted_size), Some(args.reason.clone()));
        change(&cairn, KeyChange { op: KeyOp::Revoke, key: old.clone(), last_trusted_size, reason })?;
    }
    // Neither the old key nor any other vouches for this one: the keeper of the log hands it out.
    if !has(&cairn, KeyOp::Add, &new)? {
        add(&cairn, &new, None)?;
    }
    folder.replace(&origin).map_err(CliError::refused)?;
    finish(cairn, &old, &new, app)
}

/// Tells whether the log has this change already: an interrupted command goes on.
fn has(cairn: &Cairn, op: KeyOp, key: &VerifyingKey) -> Result<bool, CliError> {
    Ok(cairn.key_changes()?.iter().any(|change| change.op == op && change.vkey == key.to_string()))
}

fn begin(app: &App) -> Result<(KeyFolder, Cairn, VerifyingKey), CliError> {
    if Signing::find()? != Signing::File {
        return Err(CliError::refused("the key of this log is not kept in a file here")
            .hint("replace a key in CAIRN_KEY with `cairn key add` and `cairn key retire`, and one of `cairn signer` as the user who runs it"));
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
    change(cairn, KeyChange { op: KeyOp::Add, key: key.clone(), last_trusted_size: None, reason })
}

fn change(cairn: &Cairn, change: KeyChange) -> Result<(), CliError> {
    let hint = "run this where that key signs: with its file, or with CAIRN_KEY. If nobody has it any more, begin a \
                new log that names this one: `cairn log new --reason …`";
    match cairn.change_key(change) {
        Ok(_) => Ok(()),
        Err(error @ cairn::Error::Forbidden(_)) => Err(CliError::from(error).hint(hint)),
        Err(error) => Err(error.into()),
    }
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
