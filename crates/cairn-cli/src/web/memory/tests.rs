use cairn::{BriefRequest, Cairn, NewSession, NewThought, ThoughtType};
use serde_json::{Value, json};

use crate::web::testing::TestSite;

/// What breaks out of a page that does not escape.
const HOSTILE: &str = "\"'><script>alert(1)</script>\u{202e}";
const SHOWN: &str = "&gt;&lt;script&gt;alert(1)&lt;/script&gt;";

fn begin(cairn: &Cairn, message: &str) {
    cairn.turn_begin("dinner", message, None).unwrap();
}

fn apply(cairn: &Cairn, ops: &Value) {
    cairn.entity_apply("dinner", ops.as_array().cloned().unwrap(), None, None).unwrap();
}

fn note(cairn: &Cairn, note: &Value) {
    cairn.turn_note("dinner", note.as_object().cloned().unwrap()).unwrap();
}

/// Three turns, the second blocked, the third open; the id of a brief that was stored in the second.
fn dinner() -> (TestSite, String) {
    let site = TestSite::new();
    let cairn = site.cairn();
    cairn
        .session_open(NewSession { session_id: Some("dinner".into()), types: None, window: Some(1) })
        .unwrap();
    begin(cairn, &format!("Something {HOSTILE}"));
    apply(
        cairn,
        &json!([{"op": "read", "type": "recipe", "id": "r1", "label": format!("Soup {HOSTILE}"), "body": {"minutes": 35}},
                {"op": "read", "type": "recipe", "id": "r2"}]),
    );
    apply(cairn, &json!([{"op": "retain", "ref": "recipe_2", "reason": format!("for {HOSTILE}")}]));
    note(
        cairn,
        &json!({"constraints": [{"key": format!("diet {HOSTILE}"), "value": HOSTILE}], "goal": HOSTILE, "decision": "plan_direct",
                "phase": "exploring", "engagement": HOSTILE, "user_expressed": HOSTILE}),
    );
    let step = json!({"step_num": 1, "type": "read", "description": HOSTILE, "outcome": HOSTILE, "subdomain": HOSTILE,
                      "entities_involved": [HOSTILE], "note": HOSTILE, "status": "failed"});
    cairn.turn_step("dinner", step).unwrap();
    cairn.turn_end("dinner", HOSTILE, Some(HOSTILE.into()), None).unwrap();
    begin(cairn, "Milder");
    apply(cairn, &json!([{"op": "generate", "type": "recipe", "label": HOSTILE, "body": {"name": HOSTILE}}]));
    note(cairn, &json!({"pending": {"type": "propose", "context": HOSTILE, "questions": [HOSTILE]}}));
    let brief = cairn.brief_build(&request("think", None), true).unwrap().brief_id.unwrap().to_string();
    let decision = NewThought::new(ThoughtType::Decision, HOSTILE)
        .session("dinner")
        .agent(HOSTILE.replace('\u{202e}', ""));
    cairn.record(NewThought { brief_id: Some(brief.clone()), ..decision }).unwrap();
    cairn.turn_end("dinner", "Like this?", None, Some(HOSTILE.into())).unwrap();
    begin(cairn, "And dessert?");
    (site, brief)
}

fn request(node: &str, turn: Option<u64>) -> BriefRequest {
    BriefRequest { session_id: "dinner".into(), node: node.into(), turn, ..BriefRequest::default() }
}

#[test]
fn a_turn_shows_what_every_node_was_told_at_it() {
    let (site, brief) = dinner();
    for turn in 1..=3 {
        let data = site.twin(&format!("/sessions/dinner/turns/{turn}")).unwrap();
        let nodes: Vec<&str> =
            data["briefs"].as_array().unwrap().iter().map(|told| told["node"].as_str().unwrap()).collect();
        assert_eq!(nodes, ["understand", "think", "act", "reply"]);
        for told in data["briefs"].as_array().unwrap() {
            let built = site
                .cairn()
                .brief_build(&request(told["node"].as_str().unwrap(), Some(turn)), false)
                .unwrap();
            assert_eq!(told["brief"], json!(built), "turn {turn}");
        }
        assert_eq!((&data["turn"], &data["newest_turn"]), (&json!(turn), &json!(3)));
    }
    let page = site.page("/sessions/dinner/turns/2").unwrap();
    assert_eq!(page.matches("<section class=\"card brief\"").count(), 4);
    assert!(page.contains("<h4>Entity Context</h4>") && page.contains(&format!("href=\"/briefs/{brief}\"")));
    assert!(page.contains("rel=\"prev\" href=\"/sessions/dinner/turns/1\"") && page.contains("rel=\"next\""));
    assert!(page.contains("! blocked") && page.contains("Where it comes from"));
    let tiers = site.twin("/sessions/dinner/turns/3").unwrap();
    let tier = |name: &str| {
        tiers["entities"].as_array().unwrap().iter().filter(|entity| entity["tier"] == name).count()
    };
    assert_eq!((tier("generated"), tier("retained")), (1, 1));
}

#[test]
fn a_budget_that_is_too_small_is_told_in_its_column() {
    let (site, _) = dinner();
    let page = site.page("/sessions/dinner/turns/2?budget=5").unwrap();
    assert_eq!(page.matches("class=\"wrong\"").count(), 4, "{page}");
    assert!(page.contains("a budget of 5 tokens is too small"), "{page}");
    assert!(page.contains("href=\"/sessions/dinner/turns/1?budget=5\""), "{page}");
    let needed = site.twin("/sessions/dinner/turns/2?budget=5").unwrap()["briefs"][1]["too_small"]["needed"]
        .as_u64()
        .unwrap();
    let page =
        site.page(&format!("/sessions/dinner/turns/2?budget={needed}&layout=cache&depth=full")).unwrap();
    assert!(
        page.contains("left out for the budget") && page.contains("<option value=\"cache\" selected>"),
        "{page}"
    );
    assert_eq!(site.page("/sessions/dinner/turns/2?depth=3").unwrap_err().code(), "INVALID_PARAMS");
    assert_eq!(site.page("/sessions/dinner/turns/2?budget=x").unwrap_err().code(), "INVALID_PARAMS");
}

#[test]
fn turns_come_newest_first_fifty_a_page() {
    let site = TestSite::new();
    let cairn = site.cairn();
    cairn.session_open(NewSession { session_id: Some("dinner".into()), ..NewSession::default() }).unwrap();
    assert!(site.page("/sessions/dinner/turns").unwrap().contains("No turn yet"));
    for turn in 1..=120 {
        begin(cairn, &format!("question {turn}"));
        apply(cairn, &json!([{"op": "read", "type": "doc", "id": format!("d{turn}")}]));
        cairn.turn_end("dinner", "answer", None, None).unwrap();
    }
    let numbers = |address: &str| -> (Vec<u64>, Value) {
        let data = site.twin(address).unwrap();
        (
            data["turns"].as_array().unwrap().iter().map(|turn| turn["turn"].as_u64().unwrap()).collect(),
            data["next"].clone(),
        )
    };
    assert_eq!(numbers("/sessions/dinner/turns"), ((71..=120).rev().collect(), json!(71)));
    assert_eq!(numbers("/sessions/dinner/turns?before=71"), ((21..=70).rev().collect(), json!(21)));
    assert_eq!(numbers("/sessions/dinner/turns?before=21"), ((1..=20).rev().collect(), Value::Null));
    assert_eq!(numbers("/sessions/dinner/turns?before=1"), (Vec::new(), Value::Null));
    let page = site.page("/sessions/dinner/turns?before=71").unwrap();
    assert!(
        page.contains("read doc d70") && !page.contains("read doc d71") && page.contains("21–70"),
        "{page}"
    );
}

#[test]
fn a_session_without_a_memory_and_one_that_is_not_there_are_told_apart() {
    let site = TestSite::new();
    site.cairn().record(NewThought::new(ThoughtType::Plan, "p").session("s").agent("a")).unwrap();
    assert!(site.page("/sessions/s/turns").unwrap().contains("no working memory"));
    assert_eq!(site.page("/sessions/none/turns").unwrap_err().code(), "NOT_FOUND");
    let (site, _) = dinner();
    for turn in ["0", "4", "18446744073709551615"] {
        assert_eq!(
            site.page(&format!("/sessions/dinner/turns/{turn}")).unwrap_err().code(),
            "NOT_FOUND",
            "{turn}"
        );
    }
    assert_eq!(site.page("/briefs/none").unwrap_err().code(), "NOT_FOUND");
}

#[test]
fn a_stored_brief_is_shown_with_its_verdict_and_who_names_it() {
    let (site, brief) = dinner();
    let data = site.twin(&format!("/briefs/{brief}")).unwrap();
    assert_eq!((&data["verdict"]["valid"], data["named_by"].as_array().unwrap().len()), (&json!(true), 1));
    let page = site.page(&format!("/briefs/{brief}")).unwrap();
    assert!(page.contains("It verifies") && page.contains("Brief for think in turn 2"), "{page}");
    let thought = data["named_by"][0]["id"].as_str().unwrap();
    assert!(page.contains(&format!("href=\"/thoughts/{thought}\"")));
    let redact = cairn::Redact { target: brief.clone(), actor: "eve".into(), reason: HOSTILE.into() };
    site.cairn().redact(&redact).unwrap();
    let page = site.page(&format!("/briefs/{brief}")).unwrap();
    assert!(page.contains("It cannot be verified any more") && page.contains(SHOWN), "{page}");
    assert!(!page.contains("<script>") && !page.contains("Entity Context"), "{page}");
}

#[test]
fn nothing_that_was_said_breaks_out_of_a_page() {
    let (site, brief) = dinner();
    let addresses = [
        "/sessions/dinner/turns",
        "/sessions/dinner/turns/1",
        "/sessions/dinner/turns/2",
        "/sessions/dinner/turns/3",
    ];
    for address in addresses.into_iter().map(str::to_string).chain([format!("/briefs/{brief}")]) {
        let page = site.page(&address).unwrap();
        assert!(page.contains(SHOWN), "{address}: {page}");
        assert!(!page.contains("<script>") && !page.contains('\u{202e}'), "{address}: {page}");
        assert!(!page.contains("style="), "{address}: {page}");
    }
}

#[test]
fn reading_turns_and_briefs_records_nothing() {
    let (site, brief) = dinner();
    let (size, stored) = (site.cairn().log_size().unwrap(), site.cairn().briefs(None, None).unwrap().len());
    for address in [
        "/sessions/dinner/turns",
        "/sessions/dinner/turns/1",
        "/sessions/dinner/turns/3",
        &format!("/briefs/{brief}"),
    ] {
        site.page(address).unwrap();
        site.twin(address).unwrap();
    }
    assert_eq!(
        (site.cairn().log_size().unwrap(), site.cairn().briefs(None, None).unwrap().len()),
        (size, stored)
    );
    assert!(site.cairn().newest_checkpoint().unwrap().is_none());
}
