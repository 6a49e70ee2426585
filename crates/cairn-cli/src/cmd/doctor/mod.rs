//! `cairn doctor`: is this database all right, and if not, what to do.

mod log;
mod surroundings;

use cairn::{Cairn, OpenError, Options, Status};
use serde::Serialize;
use serde_json::json;

use super::Outcome;
use crate::args::App;
use crate::database::{Location, Source};
use crate::error::CliError;
use crate::state::prove;
use crate::term::{Palette, count, minute, quoted, visible, wrap, wrap_around_commands};

/// Look at the database and say what is wrong and what to do
///
/// Also works when it cannot be opened. Whether records were changed is for `cairn verify` to say.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Rebuild what is derived from the records: the search index
    #[arg(long)]
    rebuild: bool,
    /// Forget what was seen of the log in this place, so that another one can begin or an older state can go on
    #[arg(long, conflicts_with = "rebuild")]
    forget: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    Ok,
    Warn,
    Problem,
}

/// One thing that was looked at.
#[derive(Debug, Serialize)]
struct Check {
    name: &'static str,
    state: State,
    message: String,
    /// What to do, where there is something to do.
    advice: Vec<String>,
}

impl Check {
    fn ok(name: &'static str, message: impl Into<String>) -> Check {
        Check { name, state: State::Ok, message: message.into(), advice: Vec::new() }
    }

    fn warn(name: &'static str, message: impl Into<String>, advice: impl Into<String>) -> Check {
        Check { name, state: State::Warn, message: message.into(), advice: vec![advice.into()] }
    }

    fn problem(name: &'static str, error: CliError) -> Check {
        Check { name, state: State::Problem, message: error.sentence(), advice: error.hints().to_vec() }
    }
}

pub(crate) fn run(args: &Args, app: &App) -> Result<Outcome, CliError> {
    let location = app.location()?;
    if args.forget {
        return log::forget(&location, app);
    }
    let mut checks = vec![Check::ok("version", format!("cairn {}", env!("CARGO_PKG_VERSION")))];
    let mut status = None;
    match open(&location, &mut checks) {
        Err(error) => checks.push(Check::problem("database", error)),
        Ok(cairn) => {
            if args.rebuild {
                let rebuilt = app.write_existing().and_then(|cairn| Ok(cairn.rebuild()?));
                checks.push(match rebuilt {
                    Ok(()) => Check::ok("rebuild", "what is derived from the records was made anew"),
                    Err(error) => Check::problem("rebuild", error),
                });
            }
            log::look(&cairn, &location, &mut checks);
            match cairn.status() {
                Ok(found) => status = Some(found),
                Err(error) => checks.push(Check::problem("records", error.into())),
            }
        }
    }
    if let Some(status) = &status {
        contents(status, &mut checks);
        checks.push(plans(status, &location));
    }
    surroundings::look(&location, &mut checks);
    let worst_is_problem = checks.iter().any(|check| check.state == State::Problem);
    let printed = if app.ui.json {
        app.ui.print_json(&json!({"healthy": !worst_is_problem, "checks": checks, "status": status}))
    } else {
        app.ui.print(&page(&checks, app.ui.width, app.ui.palette))
    };
    if worst_is_problem { Ok(Outcome::FoundSomething) } else { printed.map(|()| Outcome::Fine) }
}

fn open(location: &Location, checks: &mut Vec<Check>) -> Result<Cairn, CliError> {
    let why = match location.source {
        Source::Named => "named by --db or CAIRN_DB",
        Source::Project => "of the nearest .cairn folder",
        Source::User => "of this user; no .cairn folder here or above",
    };
    let path = &location.path;
    let cairn = match prove(Options::new().read_only(true), path)?.open(path) {
        Ok(cairn) => cairn,
        // For once a missing folder is told from a missing file: it is what stands in the way.
        Err(error @ OpenError::NoFolder { .. }) if location.source == Source::Named => {
            return Err(error.into());
        }
        Err(_) => location.open_to_read()?,
    };
    checks.push(Check::ok("database", format!("{}, {why}", location.name()?.display())));
    if location.is_server() {
        checks.push(writing_to_server(location));
        return Ok(cairn);
    }
    checks.push(match surroundings::obstacle_to_writing(path) {
        None => Check::ok("writing", "file and folder can be written"),
        Some(obstacle) => {
            let message = format!("`{}` is read-only", obstacle.display());
            Check::warn("writing", message, format!("`chmod u+w {}` makes it writable", quoted(&obstacle)))
        }
    });
    Ok(cairn)
}

/// Whether this role may write: a transaction is begun and taken back.
fn writing_to_server(location: &Location) -> Check {
    let options = Options::new().create(false).automatic_checkpoints(false);
    let ready = match options.open(&location.path) {
        Ok(cairn) => cairn.ready_to_write().map_err(CliError::from),
        Err(error) => Err(error.into()),
    };
    match ready {
        Ok(()) => Check::ok("writing", "the server takes records of this role"),
        Err(error) => Check::warn(
            "writing",
            error.sentence(),
            "who only reads needs no more; docs/storage.md says what a role needs",
        ),
    }
}

fn contents(status: &Status, checks: &mut Vec<Check>) {
    checks.push(Check::ok("schema", format!("version {}, {}", status.schema, status.engine)));
    let newest =
        status.newest.as_ref().map(|time| format!(", the newest of {}", minute(time))).unwrap_or_default();
    let thoughts = count(status.thoughts, "thought");
    let places = format!("{} and {}", count(status.sessions, "session"), count(status.tasks, "task"));
    let memory = match (status.events, status.briefs) {
        (0, 0) => String::new(),
        (events, 0) => format!(", {}", count(events, "event")),
        (events, briefs) => format!(", {} and {}", count(events, "event"), count(briefs, "brief")),
    };
    let records = format!("{thoughts} in {places}{memory}, log size {}{newest}", status.entries);
    checks.push(Check::ok("records", records));
    // The index follows at leisure and catches up before it is asked: lagging behind is no fault.
    checks.push(match status.thoughts.checked_sub(status.indexed) {
        Some(0) => Check::ok("search", "every thought is in the index"),
        Some(behind) => {
            Check::ok("search", format!("the next search adds {} to the index", count(behind, "thought")))
        }
        None => {
            let indexed = count(status.indexed, "thought");
            let message = format!("the index has {indexed}, more than there are");
            Check::warn("search", message, "`cairn doctor --rebuild` makes it anew")
        }
    });
}

/// Snapshots, and the folder that they are taken from.
fn plans(status: &Status, location: &Location) -> Check {
    let taken = format!("{} of {}", count(status.contexts, "snapshot"), count(status.roadmaps, "roadmap"));
    let found = match cairn::Roadmaps::new(&location.roadmaps).list() {
        Ok(found) => found,
        Err(error) => {
            let message = format!("{taken}; {} cannot be read: {error}", location.roadmaps.display());
            return Check::warn("plans", message, "check who owns the folder of roadmaps");
        }
    };
    let message =
        format!("{taken}; {} in {}", count(found.len() as u64, "file"), location.roadmaps.display());
    match found.iter().find(|roadmap| roadmap.error.is_some()) {
        None => Check::ok("plans", message),
        Some(roadmap) => {
            let advice = format!("`cairn roadmap validate` says what is wrong with `{}`", roadmap.id);
            Check::warn("plans", format!("{message}, not all of which can be read"), advice)
        }
    }
}

fn page(checks: &[Check], width: usize, palette: Palette) -> String {
    const MARGIN: usize = 20;
    let mut page = String::new();
    for check in checks {
        let state = match check.state {
            State::Ok => palette.good("ok     "),
            State::Warn => palette.warning("warn   "),
            State::Problem => palette.bad("problem"),
        };
        let lines = wrap(&visible(&check.message), width - MARGIN);
        page.push_str(&format!("{state}  {:<9}  {}\n", check.name, lines.join(&format!("\n{:MARGIN$}", ""))));
        for advice in &check.advice {
            let lines = wrap_around_commands(&visible(advice), width - MARGIN - 2);
            page.push_str(&format!("{:MARGIN$}→ {}\n", "", lines.join(&format!("\n{:1$}", "", MARGIN + 2))));
        }
    }
    page
}
