//! `brief_build`: what one node of a session should know.

use cairn::{BriefRequest, Cairn};

use super::{SESSION, TURN, session};
use crate::mcp::args::{Arg, Given, Kind};
use crate::mcp::envelope::{Data, Failure};
use crate::mcp::tools::{Call, Effect, NODES, Tool, sound};

pub static BUILD: Tool = Tool {
    name: "brief_build",
    title: "Build a brief",
    description: "Build what a node should know before it runs: entities, conversation, what happened, its task. With \
                  store it gets a brief_id for thoughts to name: proof of what was known.",
    args: &[
        SESSION,
        Arg::new("node", Kind::Word(NODES), "").required(),
        TURN,
        Arg::new("budget", Kind::Integer(1, u64::MAX), "most tokens"),
        Arg::new("depth", Kind::Word(&["2", "5", "full"]), "turns of conversation"),
        Arg::new("layout", Kind::Word(&["seed", "cache"]), "cache: stable prefix"),
        Arg::new("counter", Kind::TextOrNumber, "est-1, or tokens a character: 0.3"),
        Arg::new("task", Kind::Text, "default: the usual"),
        Arg::new("store", Kind::Flag, ""),
    ],
    data: &["brief_id", "hash", "text", "sections", "report", "turn", "seq", "format"],
    // Storing it changes nothing that a brief is made of, so nobody needs to be told.
    call: Call::Write(build, Effect::Add),
};

fn build(cairn: &Cairn, given: Given) -> Result<Data, Failure> {
    let mut given = sound(given)?;
    let request = BriefRequest {
        session_id: session(&mut given),
        node: given.text("node").unwrap_or_default(),
        turn: given.integer("turn"),
        budget: given.integer("budget"),
        depth: given.text("depth"),
        layout: given.text("layout"),
        counter: given.text("counter"),
        task: given.text("task"),
    };
    Data::of(&cairn.brief_build(&request, given.flag("store").unwrap_or(false))?)
}
