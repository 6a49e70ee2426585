//! Whether the log is the one that is remembered, whether it can be signed, and the ways out if not.

use std::path::Path;

use cairn::{Cairn, Finding, HeadFolder, Relation, SeenCopy, Standing};
use serde_json::json;

use super::{Check, Location, State};
use crate::args::App;
use crate::cmd::Outcome;
use crate::error::CliError;
use crate::state::{self, SignedElsewhere, StateFolder};
use crate::term::{count, quoted};
use crate::witness;

/// Adds what is to be said of the log and of its key.
pub(super) fn look(cairn: &Cairn, location: &Location, checks: &mut Vec<Check>) {
    let Ok(status) = cairn.status() else { return };
    checks.push(heads(cairn, location, status.entries));
    checks.extend(cairn.copies().iter().map(|seen| copy(seen, location)));
    checks.extend(witnesses(cairn, location));
    checks.push(key(cairn, &status.origin));
}

/// How the log stands to what was seen in its place.
fn heads(cairn: &Cairn, location: &Location, entries: u64) -> Check {
    let standing = cairn.standing();
    let refused = |first: &str, extendable| refused(standing.words(), first, extendable, location);
    match standing {
        Standing::Unknown if StateFolder::find().is_none() => Check::warn(
            "heads",
            "there is no folder to remember heads in, so a log that lost its end would look intact",
            "set CAIRN_STATE to a folder away from the database",
        ),
        Standing::Unknown => {
            Check::ok("heads", format!("{}; the next checkpoint is remembered", standing.words()))
        }
        Standing::Extends(seen) => {
            let newer = match entries.saturating_sub(seen.size) {
                0 => "nothing was added since".to_string(),
                newer => format!("{} since", count(newer, "entry")),
            };
            Check::ok(
                "heads",
                format!("extends the {} seen on {}; {newer}", count(seen.size, "entry"), seen.at),
            )
        }
        Standing::Closed { .. } => {
            Check::ok("heads", format!("{}; nothing is recorded here", standing.words()))
        }
        Standing::Behind { .. } => refused("put the newer database back, if there is one", true),
        Standing::Diverged { .. } => {
            refused("find the database that was seen, and keep this one as evidence", false)
        }
        Standing::Unreadable { .. } => {
            refused("`cairn verify` says what is damaged; restore that from a backup", false)
        }
        Standing::OtherLog { .. } => refused("put that database back", false),
    }
}

/// A copy of the log elsewhere that this one does not extend.
fn copy(seen: &SeenCopy, location: &Location) -> Check {
    let there = cairn::place_path(&seen.place);
    let mut advice = match seen.relation {
        Relation::Newer => {
            vec!["this is an older copy: it can be read, verified and recorded in".to_string()]
        }
        Relation::Fork { .. } => {
            let here = location.name().unwrap_or_default();
            vec![format!(
                "to end the fork, choose the database that keeps the name of the log, and run {} for this one or {} for \
                 the other: all that was recorded there is kept beside it, to be read and verified, and a new log begins \
                 that names it",
                end_fork(&here),
                end_fork(&there)
            )]
        }
    };
    // The heads of a database that is there are evidence about it.
    if there.is_absolute() && !there.exists() {
        let place = quoted(&there);
        advice
            .push(format!("if it was only a scratch copy, `cairn doctor --forget --db {place}` forgets it"));
    }
    Check { name: "copies", state: State::Warn, message: seen.words(), advice }
}

/// The command that ends a fork on the side of a database.
fn end_fork(database: &Path) -> String {
    format!("`cairn log new --reason 'ends a fork' --db {}`", quoted(database))
}

/// Names what witnesses have seen that contradicts the log, in the words of `cairn verify`.
fn witnesses(cairn: &Cairn, location: &Location) -> Vec<Check> {
    let (heads, _) = witness::seen_by_witnesses(cairn);
    let said = match cairn.testimonies(heads) {
        Ok(said) => said,
        Err(error) => return vec![Check::problem("witness", error.into())],
    };
    let mut advice =
        vec!["find the database that it saw, and compare; keep this one as evidence".to_string()];
    if let Ok(here) = location.name()
        && !location.is_server()
    {
        advice.push(format!(
            "if this is one side of a fork, and the other keeps the name of the log, run {}: all that was recorded here \
             is kept beside it, and a new log begins that names it",
            end_fork(&here)
        ));
    }
    let check = |finding: Finding| Check {
        name: "witness",
        state: State::Problem,
        message: finding.message,
        advice: advice.clone(),
    };
    said.into_iter().flat_map(|said| said.findings).map(check).collect()
}

/// A state in which nothing is recorded, and the ways out.
fn refused(message: String, first: &str, extendable: bool, location: &Location) -> Check {
    let mut advice = vec![first.to_string()];
    // With the database, so that a pasted command cannot be about another one.
    let db = location.name().map(|name| format!(" --db {}", quoted(&name))).unwrap_or_default();
    if extendable {
        advice.push(format!("or take the missing entries from an export: `cairn import FILE --extend{db}`"));
    }
    advice.push(match location.is_server() {
        false => format!(
            "or begin a new log that names this one: `cairn log new --reason TEXT{db}`; this file is kept beside it"
        ),
        true => "or keep this one, and begin a new log in another schema of the database: `?schema=NAME`".to_string(),
    });
    advice.push(format!(
        "or, if everything is as you want it, `cairn doctor --forget{db}`: this discards the evidence of a rollback"
    ));
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

/// Forgets what was seen in a place.
pub(super) fn forget(location: &Location, app: &App) -> Result<Outcome, CliError> {
    let Some(state) = StateFolder::find() else {
        return Err(CliError::not_found("nothing is remembered: there is no folder for it"));
    };
    let heads = HeadFolder::new(state.heads());
    let place = location.name()?;
    let here = match location.open_to_read() {
        Ok(cairn) => Some(cairn.status()?.origin),
        Err(error) if matches!(error.code(), "NOT_FOUND" | "FORBIDDEN") => None,
        Err(error) => return Err(error),
    };
    let mut logs: Vec<String> = here.into_iter().chain(heads.log_at(&place)).collect();
    logs.dedup();
    // Also what cannot be read: this is the way out of that state.
    let name = cairn::place_name(&place);
    logs.retain(|origin| heads.read(origin).map_or(true, |known| known.places.contains_key(&name)));
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
