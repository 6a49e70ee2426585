//! `turn_end`: the agent answered.

use cairn::Cairn;

use super::{SESSION, session};
use crate::mcp::args::{Arg, Given, Kind};
use crate::mcp::envelope::{Data, Failure};
use crate::mcp::tools::{Call, Effect, Tool, sound};

pub static END: Tool = Tool {
    name: "turn_end",
    title: "End the turn",
    description: "End the open turn with your answer. If compaction_due comes back, hand in those turns in a few \
                  sentences with summary_apply.",
    args: &[
        SESSION,
        Arg::new("reply", Kind::Text, "").required(),
        Arg::new("reply_summary", Kind::Text, "in a sentence, for later briefs"),
        Arg::new("blocked_reason", Kind::Text, "if it could not be done"),
    ],
    data: &["turn", "seq", "compaction_due"],
    call: Call::Write(end, Effect::Event),
};

fn end(cairn: &Cairn, given: Given) -> Result<Data, Failure> {
    let mut given = sound(given)?;
    let (session, reply) = (session(&mut given), given.text("reply").unwrap_or_default());
    Data::of(&cairn.turn_end(&session, &reply, given.text("reply_summary"), given.text("blocked_reason"))?)
}
