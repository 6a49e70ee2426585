//! Counting tokens as OpenAI's newer models do.

use cairn_core::brief::tokens::Counter;

/// The tokenizer `o200k_base`. The number is that of our use of it: counts that differ get another.
pub const COUNTER: Counter = Counter::Exact { name: "o200k-1", count };

fn count(text: &str) -> u64 {
    tiktoken_rs::o200k_base_singleton().encode_ordinary(text).len() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BriefRequest, Cairn, NewSession};

    /// The expected numbers are those that OpenAI's own tokenizer gives.
    #[test]
    fn it_counts_as_the_original_does() {
        assert_eq!(count(""), 0);
        assert_eq!(count("hello world"), 2);
        assert_eq!(count("tiktoken is great!"), 6);
    }

    #[test]
    fn a_brief_never_exceeds_its_budget_and_a_larger_one_never_shows_less() {
        let folder = tempfile::tempdir().unwrap();
        let cairn = Cairn::open(folder.path().join("cairn.db")).unwrap();
        cairn.session_open(NewSession { session_id: Some("s".into()), ..NewSession::default() }).unwrap();
        for turn in 0..12 {
            let text = format!("Turn {turn}: 字 … what about “this”?\n\n  and {{\"that\": {turn}}}...");
            cairn.turn_begin("s", &text, None).unwrap();
            let op = serde_json::json!({"op": "read", "type": "recipe", "id": turn, "label": text.replace('\n', " ")});
            cairn.entity_apply("s", vec![op], None, None).unwrap();
            cairn.turn_end("s", &format!("Answer {turn}..."), None, None).unwrap();
        }
        for node in ["understand", "think", "act", "reply"] {
            let mut before = 0;
            for budget in (200..2000).step_by(7) {
                let request = BriefRequest {
                    session_id: "s".into(),
                    node: node.into(),
                    budget: Some(budget),
                    counter: Some("o200k".into()),
                    ..BriefRequest::default()
                };
                let brief = cairn.brief_build(&request, false).unwrap().brief;
                assert!(brief.report.tokens <= budget, "{node}: {} of {budget}", brief.report.tokens);
                assert_eq!(brief.report.tokens, count(&brief.text));
                assert!(brief.report.included >= before);
                before = brief.report.included;
            }
        }
    }
}
