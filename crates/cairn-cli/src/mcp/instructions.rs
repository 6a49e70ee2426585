//! What a model is told about when to use the tools. Some clients cut it at 2,048 characters.

use super::tools::Tool;

const TRAIL: &str = "\
Cairn keeps the trail of why you do what you do. Records are write-once and hash-linked; nobody, you included, can \
change them later.

Record as you work, not afterwards:
- thought_plan before you start something;
- thought_analysis when you have found facts or weighed options;
- thought_decision when you choose, with the reason and the alternatives you dropped;
- thought_reflection when you know the outcome, or to correct an earlier thought.

Use one session_id for the whole run. Give parent_id: the id of the thought this one follows from. Give action_id: \
the tool call, commit or deployment it leads to, so that thought_reasoning_trail can later say why it was done. Give \
idempotency_key when you may retry.

Before deciding, use thought_search: the question may be settled already, or have been tried.";

const BOTH: &str = "\
If there is a roadmap, call context_ensure as well, pass its context_id to thought_decision and name the ids of the \
nodes you decide on. When the plan changed, context_drift lists the decisions to look at again.";

const SNAPSHOT: &str = "\
Cairn keeps snapshots of plans (roadmaps). Call context_ensure before deciding something, and note its context_id. \
context_compare says what has changed since, context_drift which decisions rest on an older plan.";

const ANSWERS: &str = "\
Every answer is {ok, data} or {ok, error}; error.details.issues names each problem and the argument it is in.";

/// The text for a client that is offered these tools: it names no others.
pub fn instructions(tools: &[&Tool]) -> String {
    let offered = |name| tools.iter().any(|tool| tool.name == name);
    let parts: &[&str] = match (offered("thought_decision"), offered("context_ensure")) {
        (true, true) => &[TRAIL, BOTH, ANSWERS],
        (true, false) => &[TRAIL, ANSWERS],
        (false, true) => &[SNAPSHOT, ANSWERS],
        (false, false) => &[ANSWERS],
    };
    parts.join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::sets::ToolSets;

    #[test]
    fn the_instructions_are_short_and_name_only_tools_that_are_offered() {
        for sets in ["all", "trail", "snapshot", "memory"] {
            let tools = sets.parse::<ToolSets>().unwrap().tools();
            let text = instructions(&tools);
            assert!(text.split_whitespace().count() < 200 && text.chars().count() < 2048, "{sets}");
            let words = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
            for word in
                words.filter(|word| ["thought_", "context_"].iter().any(|start| word.starts_with(start)))
            {
                let known = word == "context_id" || tools.iter().any(|tool| tool.name == word);
                assert!(known, "{sets}: {word}");
            }
        }
        let whole = instructions(&ToolSets::default().tools());
        assert!(whole.contains("context_ensure") && whole.contains("context_drift"), "{whole}");
    }
}
