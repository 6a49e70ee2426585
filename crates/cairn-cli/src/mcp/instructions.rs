//! What a model is told about when to use the tools. Some clients cut it at 2,048 characters.

use super::tools::Tool;

const TRAIL: &str = "\
Cairn keeps the trail of why you do what you do. Records are write-once and hash-linked; nobody can change them \
later.

Record as you work, not afterwards:
- thought_plan before you start something;
- thought_analysis when you found facts or weighed options;
- thought_decision when you choose: the reason, and what it supersedes, rejects and applies_to;
- thought_reflection when you know the outcome, or to correct an earlier thought.

Use one session_id for the whole run. Give parent_id: the thought this one follows from. Give action_id: the tool \
call, commit or deployment it leads to; thought_reasoning_trail then says why it was done. Give idempotency_key when \
you may retry.

Before deciding, use thought_search: the question may be settled, or tried, already.";

const BOTH: &str = "\
If there is a roadmap, call context_ensure, pass its context_id to thought_decision and name the ids of the \
nodes you decide on. When the plan changed, context_drift lists the decisions to look at again.";

const SNAPSHOT: &str = "\
Cairn keeps snapshots of plans (roadmaps). Call context_ensure before deciding something, and note its context_id. \
context_compare says what has changed since, context_drift which decisions rest on an older plan.";

const MEMORY: &str = "\
In a conversation, call session_open once and in every turn turn_begin, entity_apply and turn_step as you work, then \
turn_end. Call brief_build for what a node should know before it runs.";

const ANSWERS: &str = "\
Every answer is {ok, data} or {ok, error}; error.details.issues names each problem and its argument.";

/// The text for a client that is offered these tools: it names no others.
pub fn instructions(tools: &[&Tool]) -> String {
    let offered = |name| tools.iter().any(|tool| tool.name == name);
    let mut parts = match (offered("thought_decision"), offered("context_ensure")) {
        (true, true) => vec![TRAIL, BOTH],
        (true, false) => vec![TRAIL],
        (false, true) => vec![SNAPSHOT],
        (false, false) => Vec::new(),
    };
    parts.extend(offered("turn_begin").then_some(MEMORY));
    parts.push(ANSWERS);
    parts.join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::sets::ToolSets;

    #[test]
    fn the_instructions_are_short_and_name_only_tools_that_are_offered() {
        for sets in ["all", "trail", "snapshot", "memory", "trail,memory", "proof"] {
            let tools = sets.parse::<ToolSets>().unwrap().tools();
            let text = instructions(&tools);
            assert!(text.split_whitespace().count() < 200 && text.chars().count() < 2048, "{sets}");
            let words = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
            let starts = ["thought_", "context_", "session_", "turn_", "entity_", "brief_"];
            for word in words.filter(|word| starts.iter().any(|start| word.starts_with(start))) {
                let known = ["context_id", "session_id"].contains(&word)
                    || tools.iter().any(|tool| tool.name == word);
                assert!(known, "{sets}: {word}");
            }
        }
        let whole = instructions(&ToolSets::default().tools());
        assert!(whole.contains("context_ensure") && whole.contains("context_drift"), "{whole}");
        assert!(whole.contains("turn_begin") && whole.contains("brief_build"), "{whole}");
    }
}
