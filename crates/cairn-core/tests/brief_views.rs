//! What each node sees, and in which words.

use cairn_core::brief::{self, Depth, Layout, Node, Options};
use serde_json::json;

use crate::session_script::{Script, options};

/// A session with a word of its own in every field, and turn 8 open.
fn marked() -> Script {
    let mut s = Script::default();
    s.begin("zcovered");
    s.read("recipe", "zid", "zforgotten");
    s.read("recipe", "zid2", "zretained");
    s.op(json!({"op": "retain", "ref": "recipe_2", "reason": "zreason"}));
    s.note(json!({"goal": "zoldgoal"}));
    s.step(json!({"step_num": 1, "type": "generate", "subdomain": "menus", "description": "zarchived"}))
        .end("ok");
    s.turn().summary("history", 1, 2, "zhistory").summary("reasoning", 1, 1, "zreasoning");
    s.begin("zolder").note(json!({"goal": "zrolledgoal"}));
    s.step(json!({"step_num": 1, "type": "read", "description": "zrolleddesc", "outcome": "zrolledoutcome"}));
    s.end("zolderreply").turns(2);
    s.begin("zrecent").note(json!({"decision": "propose", "goal": "zgoal", "user_expressed": "zwish"}));
    s.think("decision", "zthought");
    s.step(json!({"step_num": 1, "type": "read", "subdomain": "zdomain", "description": "zdesc", "outcome": "zoutcome",
        "note": "znote", "entities_involved": ["recipe_77"], "status": "failed"}));
    s.event("turn_ended", json!({"reply": "zfull", "reply_summary": "zshort", "blocked_reason": "zblocked"}));
    s.begin("seventh").note(json!({
        "engagement": "zengagement",
        "pending": {"type": "clarify", "context": "zpending", "questions": ["zquestion"]},
        "constraints": [{"key": "zkey", "value": {"zvalue": 8}}, {"key": "gone", "value": "zgone", "expires": 7}],
    }));
    s.end("which?").begin("zcurrent");
    let row = s.keep("{\"row\":\"zrowbody\"}");
    s.op(json!({"op": "read", "type": "recipe", "id": "zid3", "label": "zactive", "body": row}));
    let draft = s.keep("{\"draft\":\"zdraftbody\"}");
    s.op(json!({"op": "generate", "type": "recipe", "label": "zdraft", "body": draft}));
    s.op(json!({"op": "retain", "ref": "recipe_3", "reason": "zcuration"}));
    s.note(json!({"goal": "zgoalnow", "phase": "narrowing", "user_expressed": "zexpressed", "routing": {"to": "zrouting"}}));
    s.step(json!({"step_num": 1, "type": "write", "description": "znowdesc", "outcome": "znowoutcome", "note": "znownote"}));
    s
}

/// SPEC §4.4, field by field: understand, think, act, reply.
#[test]
fn every_node_sees_what_the_table_says() {
    let script = marked();
    let texts = Node::ALL.map(|node| script.text(node));
    for (marker, expected) in [
        ("zactive", [1, 1, 1, 1]),
        ("recipe_3", [1, 1, 1, 0]),
        ("zdraft", [1, 1, 1, 1]),
        ("gen_recipe_1", [1, 1, 1, 0]),
        ("zrowbody", [0, 0, 1, 0]),
        ("zdraftbody", [0, 0, 1, 0]),
        ("zretained", [1, 1, 0, 0]),
        ("recipe_2", [1, 1, 0, 0]),
        ("zreason)", [1, 0, 0, 0]),
        ("last referenced in turn", [1, 0, 0, 0]),
        ("Do not re-read: recipe_3", [0, 1, 0, 0]),
        ("not saved yet", [1, 1, 1, 1]),
        ("(saved)", [0, 0, 0, 1]),
        ("zforgotten", [0, 0, 0, 0]),
        ("zid", [0, 0, 0, 0]),
        ("zcovered", [0, 0, 0, 0]),
        ("zolder", [1, 1, 0, 0]),
        ("zrecent", [1, 1, 1, 1]),
        ("zfull", [0, 0, 0, 0]),
        ("zshort", [1, 1, 1, 1]),
        ("zcurrent", [1, 1, 1, 1]),
        ("zhistory", [1, 1, 0, 0]),
        ("zengagement", [1, 1, 0, 1]),
        ("zpending", [1, 1, 0, 1]),
        ("zquestion", [1, 1, 0, 1]),
        ("zvalue", [1, 1, 1, 1]),
        ("zgone", [0, 0, 0, 0]),
        ("zrouting", [0, 0, 0, 0]),
        ("zreasoning", [0, 1, 0, 0]),
        ("zoldgoal", [0, 0, 0, 0]),
        ("T1.1 generate menus: zarchived", [0, 0, 1, 0]),
        ("zrolledgoal (1 step done)", [0, 1, 0, 0]),
        ("zrolleddesc", [0, 0, 1, 0]),
        ("zrolledoutcome", [0, 0, 0, 0]),
        ("zgoal\n", [0, 1, 0, 0]),
        ("propose", [0, 1, 0, 0]),
        ("zdesc", [0, 1, 1, 0]),
        ("zoutcome", [0, 1, 0, 0]),
        ("znote", [0, 1, 0, 0]),
        ("recipe_77", [0, 1, 0, 0]),
        ("failed", [0, 1, 1, 0]),
        ("zblocked", [0, 1, 0, 0]),
        ("zthought", [0, 1, 0, 0]),
        ("zwish", [0, 1, 0, 0]),
        ("T8 kept recipe_3: zcuration", [1, 1, 0, 0]),
        ("T1 kept recipe_2: zreason", [1, 0, 0, 0]),
        ("zcuration", [1, 1, 0, 0]),
        ("zgoalnow", [0, 1, 1, 1]),
        ("narrowing", [0, 1, 0, 1]),
        ("zexpressed", [0, 1, 0, 1]),
        ("znowdesc", [0, 1, 1, 1]),
        ("znowoutcome", [0, 1, 1, 1]),
        ("znownote", [0, 1, 1, 0]),
        ("Accomplished: 1 step done", [0, 0, 0, 1]),
        ("2026", [0, 0, 0, 0]),
    ] {
        let seen = [0, 1, 2, 3].map(|node| u8::from(texts[node].contains(marker)));
        assert_eq!(seen, expected, "{marker}\n{}", texts.join("\n=====\n"));
    }
}

#[test]
fn the_named_builders_ignore_the_node_of_the_options() {
    let script = marked();
    let body = |_: &cairn_core::Sha| None;
    let material = brief::Material {
        session_id: "s",
        state: &script.state,
        seq: script.state.seq,
        thoughts: &script.thoughts,
        body: &body,
    };
    let any = options(Node::Reply);
    for (node, built) in [
        (Node::Understand, brief::build_understand_context(&material, &any)),
        (Node::Think, brief::build_think_context(&material, &any)),
        (Node::Act, brief::build_act_context(&material, &any)),
        (Node::Reply, brief::build_reply_context(&material, &any)),
    ] {
        assert_eq!(built, brief::build(&material, &options(node)));
    }
}

#[test]
fn the_text_has_the_four_parts_in_their_order() {
    let script = marked();
    let headings = |layout| -> Vec<String> {
        let brief = script.brief(&Options {
            layout,
            task: Some("zzz\n## free form\n".into()),
            ..options(Node::Think)
        });
        assert!(brief.text.ends_with("\n---\n\n## Your Task\n\nzzz\n## free form\n"));
        let context = brief.text.split("\n---\n").next().unwrap().to_string();
        context.lines().filter(|line| line.starts_with('#')).map(ToString::to_string).collect()
    };
    assert_eq!(headings(Layout::Seed), ["## Entity Context", "## Conversation History", "## What Happened"]);
    assert_eq!(
        headings(Layout::Cache),
        [
            "## Summaries",
            "## Conversation History",
            "## Entity Context",
            "## Open Points",
            "## What Happened"
        ]
    );
    let ids = |layout| -> Vec<&str> {
        let brief = script.brief(&Options { layout, ..options(Node::Think) });
        brief.sections.iter().map(|section| section.id).collect()
    };
    assert_eq!(ids(Layout::Seed), ["entities", "conversation", "reasoning", "task"]);
    assert_eq!(ids(Layout::Cache), ["header", "summaries", "turns", "entities", "pending", "steps", "task"]);
}

#[test]
fn both_layouts_show_the_same_items() {
    let script = marked();
    for node in Node::ALL {
        let items = |layout| {
            let brief = script.brief(&Options { layout, ..options(node) });
            let sections = brief.sections.into_iter().filter(|section| section.id != "header");
            let mut texts: Vec<String> =
                sections.flat_map(|section| section.items).map(|item| item.text).collect();
            texts.sort();
            texts
        };
        assert_eq!(items(Layout::Seed), items(Layout::Cache));
    }
}

#[test]
fn nothing_is_said_in_one_sentence() {
    let script = Script::default();
    for (node, sentence) in [
        (Node::Understand, "Nothing has been kept or let go yet."),
        (Node::Think, "Nothing has been decided or done yet."),
        (Node::Act, "No step has been taken yet."),
        (Node::Reply, "Nothing has been done yet."),
    ] {
        let text = script.text(node);
        let expected = format!(
            "## Entity Context\n\nNo entities yet.\n\n## Conversation History\n\nNo turn has begun yet.\n\n\
             ## What Happened\n\n{sentence}\n\n---\n\n## Your Task\n\n"
        );
        assert!(text.starts_with(&expected), "{text}");
        let cache = script.brief(&Options { layout: Layout::Cache, ..options(node) }).text;
        assert!(cache.contains("\nNo summaries.\n") && cache.contains("\nNo open points.\n"), "{cache}");
    }
    let mut script = Script::default();
    script.begin("hi");
    script.read("recipe", "a", "A");
    script.turns(3);
    assert!(script.text(Node::Think).contains("\nNo entity is in use at the moment.\n"));
}

#[test]
fn depth_decides_how_much_of_the_conversation() {
    let mut script = Script::default();
    for turn in 1..=14 {
        script.begin(&format!("message{turn}."));
        script.event(
            "turn_ended",
            json!({"reply": format!("full{turn}."), "reply_summary": format!("short{turn}.")}),
        );
    }
    script.summary("history", 1, 9, "HISTORY").begin("now.").note(json!({"engagement": "ENGAGED"}));
    let seen = |node: Node, depth: Option<Depth>| {
        let text = script.brief(&Options { depth, ..options(node) }).text;
        let turns: Vec<u64> = (1..=14).filter(|turn| text.contains(&format!("message{turn}."))).collect();
        assert!(text.contains("now."));
        assert_eq!(text.contains("full14."), depth == Some(Depth::Full));
        let summaries =
            (text.contains("Summary, turns 1 to 9, by the caller: HISTORY"), text.contains("ENGAGED"));
        let untold = text.lines().find(|line| line.ends_with(" not shown)")).map(ToString::to_string);
        (turns, summaries, untold.unwrap_or_default())
    };
    let untold = |number: u64| format!("({number} earlier turns not shown)");
    for node in [Node::Understand, Node::Think] {
        assert_eq!(seen(node, None), ((10..=14).collect(), (true, true), String::new()));
    }
    assert_eq!(seen(Node::Act, None), (vec![13, 14], (false, false), untold(12)));
    assert_eq!(seen(Node::Reply, None), (vec![13, 14], (false, true), untold(12)));
    for node in Node::ALL {
        assert_eq!(seen(node, Some(Depth::Two)), (vec![13, 14], (false, false), untold(12)));
        assert_eq!(seen(node, Some(Depth::Five)), ((10..=14).collect(), (true, false), String::new()));
        assert_eq!(seen(node, Some(Depth::Full)), ((1..=14).collect(), (true, true), String::new()));
    }
}

#[test]
fn after_a_summary_the_covered_turns_leave_the_usual_brief_and_stay_in_the_full_one() {
    let mut script = Script::default();
    for turn in 1..=26 {
        script.begin(&format!("message{turn}."));
    }
    let turns = |script: &Script, depth| -> Vec<u64> {
        let text = script.brief(&Options { depth, ..options(Node::Think) }).text;
        (1..=26).filter(|turn| text.contains(&format!("message{turn}."))).collect()
    };
    let expected: Vec<u64> = (6..=26).collect();
    assert_eq!(turns(&script, None), expected, "2 recent and up to 20 more, in steps of five");
    assert!(script.text(Node::Think).contains("(5 earlier turns not shown)"));
    script.summary("history", 5, 25, "the middle");
    assert_eq!(turns(&script, None), [1, 2, 3, 4, 24, 25, 26], "covered ones leave, the newest never do");
    assert_eq!(turns(&script, Some(Depth::Full)), (1..=26).collect::<Vec<u64>>());
}

#[test]
fn a_turn_without_an_answer_says_so_and_an_ended_one_is_shown_with_its_reply() {
    let mut script = Script::default();
    script.begin("first").begin("second");
    let text = script.text(Node::Reply);
    assert!(
        text.contains("Assistant (turn 1): no answer, the next message came first\nUser (turn 2): second\n")
    );
    assert!(!text.contains("Assistant (turn 2)"));
    script.end("the answer");
    for node in Node::ALL {
        assert!(script.text(node).contains("User (turn 2): second\nAssistant (turn 2): the answer\n"));
    }
}

#[test]
fn every_item_names_the_events_it_came_from() {
    let script = marked();
    let known: Vec<u64> = script
        .events
        .iter()
        .map(|event| event.seq)
        .chain(script.thoughts.iter().map(|thought| thought.seq))
        .collect();
    for node in Node::ALL {
        let brief = script.brief(&options(node));
        for section in brief.sections.iter().filter(|section| section.id != "task") {
            for item in &section.items {
                let counts_only = item.text.contains("not shown)") || item.text.contains("not listed");
                assert_eq!(counts_only, item.events.is_empty(), "{item:?}");
                assert!(
                    item.events.iter().all(|seq| known.contains(seq)) && item.events.is_sorted(),
                    "{item:?}"
                );
            }
        }
    }
    let brief = script.brief(&options(Node::Think));
    let draft = brief.sections[0].items.iter().find(|item| item.text.contains("zdraft")).unwrap();
    assert_eq!(draft.entity_ref.as_deref(), Some("gen_recipe_1"));
    assert_eq!(draft.events, script.entity("gen_recipe_1").events);
}
