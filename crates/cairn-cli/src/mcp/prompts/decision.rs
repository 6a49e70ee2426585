//! `record-decision`: how to leave a trail that others can follow.

use cairn::Cairn;

use super::{Built, Prompt};
use crate::mcp::args::{Arg, Given, Kind};
use crate::mcp::envelope::Failure;
use crate::mcp::sets::Set;

pub static RECORD_DECISION: Prompt = Prompt {
    name: "record-decision",
    title: "Record a decision well",
    description: "A short guide to record the decision at hand so that someone else can follow it later.",
    set: Set::Trail,
    args: &[Arg::new("session_id", Kind::Label, "the session to record it in")],
    build,
};

const GUIDE: &str = "\
1. Search first: `thought_search` with the words of the question. If it was settled or tried before, say so and build \
on that.
2. If facts or options are not recorded yet, record them with `thought_analysis`: what you found, where, and what \
speaks for and against each option.
3. Record the choice with `thought_decision`, in this order: what you chose; why; which alternatives you dropped and \
what would have spoken for them; what would make you change your mind.
4. Link it: `parent_id` is the thought it follows from, `action_id` the tool call, commit or deployment it leads to, \
`context_id` the snapshot of the plan it rests on, if there is one.
5. Then act. When the outcome is known, record it with `thought_reflection`, whose `parent_id` is the decision, \
also and above all if it was wrong.

One decision a record, in whole sentences, written for someone who was not there. Leave out secrets: a record can \
never be changed.";

fn build(_: &Cairn, _: &'static str, mut given: Given) -> Result<Built, Failure> {
    if !given.issues.is_empty() {
        return Err(Failure::invalid(given.issues));
    }
    let session = match given.text("session_id") {
        Some(session) => format!("Use the session_id {session:?} for every record."),
        None => "Use the session_id of this run for every record.".to_string(),
    };
    Ok(Built { text: format!("Record the decision at hand. {session}\n\n{GUIDE}"), meta: None })
}
