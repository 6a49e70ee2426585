//! `session_open`: give a session a memory.

use cairn::{Cairn, Issue, NewSession};
use serde_json::{Map, Value};

use crate::mcp::args::{Arg, Given, Kind};
use crate::mcp::envelope::{Data, Failure};
use crate::mcp::tools::{Call, Effect, Tool, sound};

pub static OPEN: Tool = Tool {
    name: "session_open",
    title: "Open a session",
    description: "Open a session's working memory before its first turn, or find out which turn it is in when you take \
                  up earlier work.",
    args: &[
        Arg::new("session_id", Kind::Label, "default: new"),
        Arg::new("types", Kind::Texts, "entity types; default: any"),
        Arg::new("settings", Kind::Object, "{window: turns an entity stays active, 2}"),
    ],
    data: &["session_id", "turn", "seq", "created"],
    call: Call::Write(open, Effect::Event),
};

fn open(cairn: &Cairn, given: Given) -> Result<Data, Failure> {
    let mut given = sound(given)?;
    let opened = cairn.session_open(NewSession {
        session_id: given.text("session_id"),
        types: given.texts("types"),
        window: given.object("settings").map(window).transpose()?.flatten(),
    })?;
    Data::of(&opened)
}

/// The one setting there is.
fn window(mut settings: Map<String, Value>) -> Result<Option<u64>, Failure> {
    let window = settings.remove("window").unwrap_or_default();
    let mut issues: Vec<Issue> = settings
        .keys()
        .map(|key| Issue::new(format!("settings.{}", key.escape_debug()), "unknown setting; known is window"))
        .collect();
    if !window.is_null() && window.as_u64().is_none() {
        issues.push(Issue::new("settings.window", "must be a number of turns, 0 or more"));
    }
    if issues.is_empty() { Ok(window.as_u64()) } else { Err(Failure::invalid(issues)) }
}
