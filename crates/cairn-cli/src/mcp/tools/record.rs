//! `thought_record` and its four short forms: record a thought.

use cairn::core::id::AgentId;
use cairn::core::thought::Refusal;
use cairn::{Error, Issue, Limits, NewThought, ThoughtType};
use serde_json::{Map, Value};

use super::{Call, Caller, RECORD as MEMBERS, TYPES, Tool};
use crate::mcp::args::{Arg, Given, Kind};
use crate::mcp::envelope::Failure;

const TASK: Arg = Arg::new("task_id", Kind::Text, "task_id or session_id is needed");
const SESSION: Arg = Arg::new("session_id", Kind::Text, "label of this run; groups thoughts into a tree");
const AGENT: Arg = Arg::new("agent_id", Kind::Text, "who thinks; default: the client's name");
const PARENT: Arg = Arg::new("parent_id", Kind::Text, "thought this follows from, same session");
const ACTION: Arg = Arg::new("action_id", Kind::Text, "tool call, commit … it led to");
const CONTEXT: Arg =
    Arg::new("context_id", Kind::Integer(1, u64::MAX), "snapshot it was based on, from context_ensure");
const BRIEF: Arg = Arg::new("brief_id", Kind::Text, "from brief_build");
const SUPERSEDES: Arg = Arg::new(
    "supersedes",
    Kind::Texts,
    "ids of earlier decisions this replaces (decision) or withdraws (reflection)",
);
const REJECTS: Arg = Arg::new("rejects", Kind::Texts, "ids of thoughts of this session it turned down");
const APPLIES_TO: Arg =
    Arg::new("applies_to", Kind::Texts, "paths, globs (src/auth/**) or labels it is about");
const METADATA: Arg = Arg::new("metadata", Kind::Object, "anything else, up to 64 KiB");
const KEY: Arg = Arg::new("idempotency_key", Kind::Text, "makes a retry harmless");
const SEAL: Arg = Arg::new("seal", Kind::Flag, "encrypt it: erasable, not searchable");

pub static RECORD: Tool = Tool {
    name: "thought_record",
    title: "Record a thought",
    description: "Record a plan, analysis, decision or reflection in the trail. Write-once: correct one with a \
                  reflection. Returns the whole record.",
    args: &[
        Arg::new("type", TYPES, "").older(&["thoughtType", "thought_type"]).required(),
        Arg::new("content", Kind::Text, "the thought, with its reasons").required(),
        TASK,
        SESSION,
        AGENT,
        PARENT,
        ACTION,
        CONTEXT,
        BRIEF,
        SUPERSEDES,
        REJECTS,
        APPLIES_TO,
        METADATA,
        KEY,
        SEAL,
    ],
    data: MEMBERS,
    call: Call::Record(
        |mut given, caller| {
            let kind = given.thought_type("type").unwrap_or(ThoughtType::Plan);
            thought(kind, "content", given, caller)
        },
        "content",
    ),
};

/// A tool for one type. Its text argument is named after what it holds. What `thought_record` says about an
/// argument is not repeated where the name says enough, nor are the members of its answer.
macro_rules! short_form {
    ($tool:ident, $name:literal, $kind:ident, $text:literal, $title:literal, $description:literal $(, $link:ident)*) => {
        pub static $tool: Tool = Tool {
            name: $name,
            title: $title,
            description: $description,
            args: &[
                Arg::new($text, Kind::Text, "").required(),
                TASK,
                Arg { about: "label of this run", ..SESSION },
                Arg { about: "", ..AGENT },
                PARENT,
                ACTION,
                Arg { about: "from context_ensure", ..CONTEXT },
                Arg { about: "", ..BRIEF },
                $( Arg { about: "", ..$link }, )*
                Arg { about: "", ..APPLIES_TO },
                Arg { about: "", ..METADATA },
                Arg { about: "", ..KEY },
                Arg { about: "", ..SEAL },
            ],
            data: &[],
            call: Call::Record(|given, caller| thought(ThoughtType::$kind, $text, given, caller), $text),
        };
    };
}

short_form!(
    PLAN,
    "thought_plan",
    Plan,
    "plan_description",
    "Record a plan",
    "Record what you are about to do, before doing it. As thought_record with type plan."
);
short_form!(
    ANALYSIS,
    "thought_analysis",
    Analysis,
    "analysis",
    "Record an analysis",
    "Record facts found and options weighed. As thought_record with type analysis."
);
short_form!(
    DECISION,
    "thought_decision",
    Decision,
    "decision",
    "Record a decision",
    "Record a choice and its reason; name the action_id it leads to. As thought_record with type decision.",
    SUPERSEDES,
    REJECTS
);
short_form!(
    REFLECTION,
    "thought_reflection",
    Reflection,
    "reflection",
    "Record a reflection",
    "Record an outcome, lesson or correction of an earlier thought. As thought_record with type reflection.",
    SUPERSEDES,
    REJECTS
);

fn thought(
    kind: ThoughtType,
    text: &str,
    mut given: Given,
    caller: Caller<'_>,
) -> Result<NewThought, Failure> {
    let metadata = given.object("metadata");
    let agent_id = given.text("agent_id").or_else(|| default_agent(metadata.as_ref(), caller));
    let thought = NewThought {
        kind,
        content: given.text(text).unwrap_or_default(),
        task_id: given.text("task_id"),
        session_id: given.text("session_id"),
        agent_id,
        parent_id: given.text("parent_id"),
        action_id: given.text("action_id"),
        context_id: given.integer("context_id"),
        brief_id: given.text("brief_id"),
        supersedes: given.texts("supersedes").unwrap_or_default(),
        rejects: given.texts("rejects").unwrap_or_default(),
        applies_to: given.texts("applies_to").unwrap_or_default(),
        metadata,
        idempotency_key: given.text("idempotency_key"),
        seal: given.flag("seal").unwrap_or(false),
    };
    if given.issues.is_empty() {
        return Ok(thought);
    }
    // It is refused already; what the library would refuse as well is told in the same answer.
    if let Err(Refusal::Invalid(issues)) = thought.check(&Limits::default()) {
        given.issues.extend(issues.into_iter().map(|issue| issue_renamed(issue, text)));
    }
    Err(Failure::invalid(given.issues))
}

/// The client's name, unless the metadata names the agent. A name that cannot be an agent's is none.
fn default_agent(metadata: Option<&Map<String, Value>>, caller: Caller<'_>) -> Option<String> {
    if metadata.and_then(|map| map.get("agent_id")).is_some_and(Value::is_string) {
        return None;
    }
    caller().filter(|name| AgentId::new(name.as_str()).is_ok())
}

/// The library calls the text `content`; the caller knows it by the name of the argument.
pub fn renamed(error: Error, text: &'static str) -> Error {
    match error {
        Error::Invalid(issues) => {
            Error::Invalid(issues.into_iter().map(|issue| issue_renamed(issue, text)).collect())
        }
        Error::TooLarge { field: "content", actual, limit } => Error::TooLarge { field: text, actual, limit },
        other => other,
    }
}

fn issue_renamed(issue: Issue, text: &str) -> Issue {
    if issue.path == "content" { Issue { path: text.to_string(), ..issue } } else { issue }
}
