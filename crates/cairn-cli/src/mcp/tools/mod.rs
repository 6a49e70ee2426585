//! The tools, one file each; those that differ only in a name share one.

mod context;
mod for_action;
mod get;
mod list;
mod memory;
mod proof;
mod reasoning_trail;
mod record;
mod redact;
mod roadmap;
mod search;
mod trail;
mod tree;
mod verify;

use std::sync::Arc;

use cairn::{Cairn, NewThought, Report, Scope, TokenScope};
use rmcp::model::{Tool as Listed, ToolAnnotations};

pub use record::renamed;

use super::args::{self, Arg, Given, Kind};
use super::envelope::{self, Data, Failure};

/// Those for the trail of thoughts. No two tools have the same name.
pub static TRAIL: [&Tool; 14] = [
    &record::RECORD,
    &record::PLAN,
    &record::ANALYSIS,
    &record::DECISION,
    &record::REFLECTION,
    &get::GET,
    &list::RECORD_LIST,
    &tree::TREE,
    &trail::TRAIL,
    &for_action::FOR_ACTION,
    &reasoning_trail::REASONING_TRAIL,
    &verify::VERIFY,
    &verify::VERIFY_CHAIN,
    &search::SEARCH,
];

/// Those for plans and their snapshots.
pub static SNAPSHOT: [&Tool; 13] = [
    &roadmap::LIST,
    &roadmap::GET,
    &roadmap::REGISTER,
    &roadmap::VALIDATE,
    &context::CREATE,
    &context::GET,
    &context::LATEST,
    &context::HISTORY,
    &context::VERIFY,
    &context::ENSURE,
    &context::COMPARE,
    &context::SEARCH,
    &context::DRIFT,
];

/// Those for working memory and briefs.
pub static MEMORY: [&Tool; 14] = [
    &memory::OPEN,
    &memory::BEGIN,
    &memory::APPLY,
    &memory::STEP,
    &memory::NOTE,
    &memory::END,
    &memory::SUMMARY,
    &memory::BUILD,
    &memory::GET,
    &memory::VERIFY,
    &memory::COMPARE,
    &memory::LIST,
    &memory::STATE,
    &memory::ENTITY,
];

/// Those for the log itself.
pub static PROOF: [&Tool; 3] = [&proof::CHECKPOINT, &proof::PROVE, &proof::VERIFY];

/// Those that erase. Offered only to who asks for them by name.
pub static REDACT: [&Tool; 1] = [&redact::REDACT];

/// What a client can call.
pub struct Tool {
    /// By which name.
    pub name: &'static str,
    /// What people see.
    pub title: &'static str,
    /// What models read to choose it.
    pub description: &'static str,
    /// What it takes.
    pub args: &'static [Arg],
    /// The members of its `data`.
    pub data: &'static [&'static str],
    /// What it does.
    pub call: Call,
}

/// What a tool does with its arguments.
pub enum Call {
    /// Makes a thought of them, which is then recorded.
    ///
    /// The name is that of the argument with the text.
    Record(fn(Given, Caller<'_>) -> Result<NewThought, Failure>, &'static str),
    /// Looks something up.
    Read(fn(&Cairn, Given) -> Result<Data, Failure>),
    /// Verifies what its arguments name, and makes an answer of the report. Callers share verifications.
    Verify(fn(Given) -> Result<Scope, Failure>, fn(&Report) -> Result<Data, Failure>),
    /// Writes something other than a thought. Like a look-up it may wait: for a file, for the database.
    Write(fn(&Cairn, Given) -> Result<Data, Failure>, Effect),
}

/// What writing leaves behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Something new after each call.
    Add,
    /// Something new in the session that `session_id` names; whoever watches that session is told.
    Event,
    /// Something new after the first of several equal calls.
    AddOnce,
    /// Perhaps something else in the place of what was there. A second equal call changes nothing.
    Replace,
}

/// The name of the client, asked for only when it is needed.
pub type Caller<'c> = &'c dyn Fn() -> Option<String>;

impl Tool {
    /// What a caller must be allowed to.
    pub fn needs(&self) -> TokenScope {
        match self.call {
            Call::Read(_) | Call::Verify(..) => TokenScope::Read,
            Call::Record(..) | Call::Write(..) if REDACT.iter().any(|tool| tool.name == self.name) => {
                TokenScope::Admin
            }
            Call::Record(..) | Call::Write(..) => TokenScope::Write,
        }
    }

    /// As it stands in the list.
    pub fn listed(&self) -> Listed {
        Listed::new(self.name, self.description, Arc::new(args::schema(self.args)))
            .with_title(self.title)
            .with_raw_output_schema(Arc::new(envelope::schema(self.data)))
            .with_annotations(self.call.hints())
    }
}

impl Call {
    /// All four are given, since what a client assumes of one that is missing is the worst.
    fn hints(&self) -> ToolAnnotations {
        let (reads, replaces, idempotent) = match self {
            Call::Read(_) | Call::Verify(..) => (true, false, true),
            Call::Record(..) | Call::Write(_, Effect::Add | Effect::Event) => (false, false, false),
            Call::Write(_, Effect::AddOnce) => (false, false, true),
            Call::Write(_, Effect::Replace) => (false, true, true),
        };
        ToolAnnotations::new().read_only(reads).destructive(replaces).idempotent(idempotent).open_world(false)
    }
}

/// The members of a record.
const RECORD: &[&str] = &[
    "id",
    "type",
    "task_id",
    "session_id",
    "agent_id",
    "content",
    "parent_id",
    "action_id",
    "context_id",
    "brief_id",
    "supersedes",
    "rejects",
    "applies_to",
    "source",
    "metadata",
    "step_index",
    "timestamp",
    "prev_hash",
    "hash",
    "content_hash",
    "chain_hash",
    "seq",
];

const TYPES: Kind = Kind::Word(&["plan", "analysis", "decision", "reflection"]);

/// The nodes that briefs are built for.
pub const NODES: &[&str] = &["understand", "think", "act", "reply"];

/// Which roadmap.
const ROADMAP: Arg = Arg::new("roadmap_id", Kind::Label, "").required();

const fn type_filter() -> Arg {
    Arg::new("type", TYPES, "only this type").older(&["thoughtType", "thought_type"])
}

/// Refuses the call if its arguments have the wrong shape.
fn sound(given: Given) -> Result<Given, Failure> {
    if given.issues.is_empty() { Ok(given) } else { Err(Failure::invalid(given.issues)) }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use cairn::ThoughtType;
    use cairn::core::brief::Node;

    use super::*;

    fn all() -> Vec<&'static Tool> {
        TRAIL.into_iter().chain(SNAPSHOT).chain(MEMORY).chain(PROOF).chain(REDACT).collect()
    }

    #[test]
    fn no_name_is_registered_twice() {
        let names: HashSet<&str> = all().iter().map(|tool| tool.name).collect();
        assert_eq!(names.len(), all().len());
    }

    #[test]
    fn the_list_costs_a_client_less_than_a_kilobyte_a_tool() {
        for (tools, most) in [
            (&TRAIL[..], 1000),
            (&SNAPSHOT[..], 800),
            (&MEMORY[..], 800),
            (&PROOF[..], 900),
            (&REDACT[..], 1000),
        ] {
            let size = |tool: &&Tool| (serde_json::to_vec(&tool.listed()).unwrap().len(), tool.name);
            let sizes: Vec<(usize, &str)> = tools.iter().map(size).collect();
            let total: usize = sizes.iter().map(|(size, _)| size).sum();
            assert!(total < most * tools.len(), "{total} bytes: {sizes:?}");
        }
    }

    #[test]
    fn the_words_for_a_type_are_those_of_the_library() {
        let Kind::Word(words) = TYPES else { panic!("types are words") };
        assert_eq!(words, ThoughtType::ALL.map(ThoughtType::as_str));
    }

    #[test]
    fn the_words_for_a_node_are_those_of_the_library() {
        for word in NODES {
            assert_eq!(Node::parse(word).map(Node::as_str), Some(*word));
        }
    }

    #[test]
    fn every_argument_has_one_meaning_in_its_tool() {
        for tool in all() {
            let names = tool.args.iter().flat_map(|arg| arg.older.iter().copied().chain([arg.name]));
            let names: Vec<&str> = names.collect();
            assert_eq!(names.iter().collect::<HashSet<_>>().len(), names.len(), "{}", tool.name);
        }
    }
}
