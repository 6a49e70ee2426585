//! `summary_apply`: older turns in a few sentences.

use cairn::Cairn;
use cairn::core::session::event::SummaryKind;

use super::{SESSION, session};
use crate::mcp::args::{Arg, Given, Kind};
use crate::mcp::envelope::{Data, Failure};
use crate::mcp::tools::{Call, Effect, Tool, sound};

const NUMBER: Kind = Kind::Integer(1, u64::MAX);

pub static SUMMARY: Tool = Tool {
    name: "summary_apply",
    title: "Summarise older turns",
    description: "Hand in your summary of older turns when turn_end says compaction_due. Briefs show it in their place; \
                  nothing is deleted.",
    args: &[
        SESSION,
        Arg::new("kind", Kind::Word(&["history", "reasoning"]), "").required(),
        Arg::new("from_turn", NUMBER, "").required(),
        Arg::new("to_turn", NUMBER, "").required(),
        Arg::new("text", Kind::Text, "").required(),
    ],
    data: &["seq", "covers"],
    call: Call::Write(summary, Effect::Event),
};

fn summary(cairn: &Cairn, given: Given) -> Result<Data, Failure> {
    let mut given = sound(given)?;
    let (session, text) = (session(&mut given), given.text("text").unwrap_or_default());
    let kind = match given.text("kind").as_deref() {
        Some("reasoning") => SummaryKind::Reasoning,
        _ => SummaryKind::History,
    };
    let from = given.integer("from_turn").unwrap_or_default();
    let to = given.integer("to_turn").unwrap_or_default();
    Data::of(&cairn.summary_apply(&session, kind, from, to, &text)?)
}
