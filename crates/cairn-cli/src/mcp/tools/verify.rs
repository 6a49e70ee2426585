//! `thought_verify` and `thought_verify_chain`: recompute every hash.

use cairn::{Issue, Report, Scope};

use super::{Call, Tool, sound};
use crate::data::Verdict;
use crate::mcp::args::{Arg, Given, Kind};
use crate::mcp::envelope::{Data, Failure};

const MEMBERS: &[&str] = &[
    "valid",
    "records",
    "chain_length",
    "broken_at",
    "broken_at_step",
    "reason",
    "expected",
    "actual",
    "message",
    "findings_total",
    "notes",
];

pub static VERIFY: Tool = Tool {
    name: "thought_verify",
    title: "Verify the trail",
    description: "Recompute every hash from what is stored and say whether anything was changed, removed, added or \
                  reordered. Without arguments: everything.",
    args: &[
        Arg::new("session_id", Kind::Label, "only this session"),
        Arg::new("task_id", Kind::Label, "only this task; not with session_id"),
    ],
    data: MEMBERS,
    call: Call::Verify(scope, answer),
};

pub static VERIFY_CHAIN: Tool = Tool {
    name: "thought_verify_chain",
    title: "Verify a session",
    description: "As thought_verify for one session; the name that older clients use.",
    args: &[Arg::new("session_id", Kind::Label, "").required()],
    data: MEMBERS,
    call: Call::Verify(scope, answer),
};

fn scope(given: Given) -> Result<Scope, Failure> {
    let mut given = sound(given)?;
    Ok(match (given.text("session_id"), given.text("task_id")) {
        (None, None) => Scope::All,
        (Some(session), None) => Scope::Session(session),
        (None, Some(task)) => Scope::Task(task),
        (Some(_), Some(_)) => {
            let issue =
                Issue::new("task_id", "must not be given together with session_id; verify one at a time");
            return Err(Failure::invalid(vec![issue]));
        }
    })
}

fn answer(report: &Report) -> Result<Data, Failure> {
    Data::of(&Verdict::of(report))
}
