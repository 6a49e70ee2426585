//! Whether the log is the one that is remembered, whether it can be signed, and the ways out if not.

use std::path::Path;

use cairn::{Cairn, HeadFolder, Standing};
use serde_json::json;

use super::{Check, Location, State};
use crate::args::App;
use crate::cmd::Outcome;
use crate::error::CliError;
use crate::state::{self, SignedElsewhere, StateFolder};
use crate::term::count;

/// Adds what is to be said of the log and of its key.
pub(super) fn look(cairn: &Cairn, location: &Location, checks: &mut Vec<Check>) {
    let Ok(status) = cairn.status() else { return };
    let refused = |message: String, first: &[&str], extendable| {
        refused(message, first, extendable, location.is_server())
    };
    checks.push(match cairn.standing() {
        Standing::Unknown => match StateFolder::find() {
            Some(_) => Check::ok("heads", "nothing is remembered of this log yet; the next checkpoint is"),
            None => Check::warn(
                "heads",
                "there is no folder to remember heads in, so a log that lost its end would look intact",
                "set CAIRN_STATE to a folder away from the database",
            ),
        },
        Standing::Extends(seen) => {
            let newer = match status.entries.saturating_sub(seen.size) {
                0 => "nothing was added since".to_string(),
                newer => format!("{} since", count(newer, "entry")),
            };
            Check::ok(
                "heads",
                format!("extends the {} seen on {}; {newer}", count(seen.size, "entry"), seen.at),
            )
        }
        Standing::Behind { newest, same_place } => {
            let lost = newest.size.saturating_sub(status.entries);
            let message = match same_place {
                true => format!(
                    "an older state was put back: the newest {} seen here are missing",
                    count(lost, "entry")
                ),
                false => {
                    format!("an older copy: the log it was taken from has {} more", count(lost, "entry"))
                }
            };
            refused(message, &["put the newer database back, if there is one"], true)
        }
        Standing::Diverged { head, agrees_at } => {
            let common = match agrees_at {
                Some(size) => format!("; the first {} are the same", count(*size, "entry")),
                None => String::new(),
            };
            let seen = count(head.size, "entry");
            refused(
                format!(
                    "another past than the {seen} seen on {}{common}: rewritten, or grown from a copy",
                    head.at
                ),
                &["find the database that was seen, and keep this one as evidence"],
                false,
            )
        }
        Standing::Unreadable { why } => refused(
            format!("the log cannot be held against what is remembered of it ({why})"),
            &["`cairn verify` says what is damaged; restore that from a backup"],
            false,
        ),
        Standing::OtherLog { origin, newest } => {
            let had = newest
                .as_ref()
                .map(|head| format!(" with {}", count(head.size, "entry")))
                .unwrap_or_default();
            refused(
                format!("another log was here before: `{origin}`{had}"),
                &["put that database back"],
                false,
            )
        }
    });
    checks.push(key(cairn, &status.origin));
}

/// A state in which nothing is recorded, and the ways out.
fn refused(message: String, first: &[&str], extendable: bool, on_server: bool) -> Check {
    let mut advice: Vec<String> = first.iter().map(ToString::to_string).collect();
    if extendable {
        advice.push("or take the missing entries from an export: `cairn import FILE --extend`".to_string());
    }
    advice.push(match on_server {
        false => {
            "or begin a new log that names this one: `cairn log new --reason TEXT`; this file is kept beside it"
        }
        true => "or keep this one, and begin a new log in another schema of the database: `?schema=NAME`",
    }
    .to_string());
    advice.push(
        "or, if all of it is as you want it, `cairn doctor --forget`: then nobody can tell any more"
            .to_string(),
    );
    Check { name: "heads", state: State::Problem, message: message + ": nothing is recorded", advice }
}

/// Whether there is a key, and whether it can be used.
fn key(cairn: &Cairn, origin: &str) -> Check {
    if let Ok(Some(elsewhere)) = SignedElsewhere::find(cairn) {
        return Check::warn("key", elsewhere.message(), elsewhere.advice());
    }
    match state::signer() {
        Err(error) => Check::problem("key", error),
        Ok(None) => Check::warn(
            "key",
            "checkpoints are not signed",
            "unset CAIRN_SIGNER to have a key made for you, or hand one over in CAIRN_KEY",
        ),
        Ok(Some(signer)) => match signer.keys(origin) {
            Err(error) => Check::problem("key", CliError::refused(error)),
            Ok(keys) => match &keys[..] {
                [] => Check::ok("key", "none yet; the first checkpoint makes one"),
                [key] => {
                    let keys = state::key_folder().ok().flatten();
                    let place = keys.map(|keys| format!("; it is in `{}`", keys.path(origin).display()));
                    Check::ok("key", format!("{} signs checkpoints{}", key.id(), place.unwrap_or_default()))
                }
                [_, next, ..] => Check::warn(
                    "key",
                    format!("{} is about to take over, and both sign", next.id()),
                    "`cairn key rotate` finishes the change",
                ),
            },
        },
    }
}

/// Forgets what is remembered of the log that is, or was, at a place.
pub(super) fn forget(location: &Location, app: &App) -> Result<Outcome, CliError> {
    let Some(state) = StateFolder::find() else {
        return Err(CliError::not_found("nothing is remembered: there is no folder for it"));
    };
    let heads = HeadFolder::new(state.heads());
    let place = location.name()?;
    let here = match location.open_to_read() {
        Ok(cairn) => Some(cairn.status()?.origin),
        Err(error) if error.code() == "NOT_FOUND" => None,
        Err(error) => return Err(error),
    };
    // A log that was moved away is not forgotten with the place where it was.
    let seen = heads.log_at(&place).filter(|origin| !lives_elsewhere(&heads, origin, &place));
    let mut logs: Vec<String> = here.into_iter().chain(seen).collect();
    logs.dedup();
    // Also what cannot be read: that is one of the states this is the way out of.
    logs.retain(|origin| heads.read(origin).map_or(true, |remembered| !remembered.heads.is_empty()));
    for origin in &logs {
        heads.forget(origin, &place).map_err(CliError::failed)?;
    }
    // Even if nothing else is known of the log that was here.
    heads.forget_place(&place).map_err(CliError::failed)?;
    if app.ui.json {
        app.ui.print_json(&json!({"forgotten": logs}))?;
    } else if logs.is_empty() {
        app.ui.remark("Nothing was remembered of it.");
    } else {
        app.ui.remark(&format!("Forgotten: {}", logs.join(", ")));
    }
    Ok(Outcome::Fine)
}

/// Whether the database of a log was seen last at another place, and is there.
fn lives_elsewhere(heads: &HeadFolder, origin: &str, place: &Path) -> bool {
    let last = heads.read(origin).ok().and_then(|remembered| remembered.database);
    let here = place.canonicalize().ok();
    last.is_some_and(|last| last.exists() && Some(last) != here)
}
