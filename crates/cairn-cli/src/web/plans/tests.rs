use cairn::{NewThought, Redact, ThoughtType};
use serde_json::{Value, json};

use crate::web::testing::TestSite;

/// What breaks out of a page that does not escape.
const HOSTILE: &str = "\"'><script>alert(1)</script>\u{202e}";
const SHOWN: &str = "&gt;&lt;script&gt;alert(1)&lt;/script&gt;";

fn write(site: &TestSite, id: &str, plan: &Value) {
    let folder = site.folder.path().join("roadmaps");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join(format!("{id}.json")), plan.to_string()).unwrap();
}

fn node(id: &str, label: &str, needs: &[&str]) -> Value {
    json!({"id": id, "label": label, "scope": format!("scope of {id}"), "phase": "one", "dependencies": needs})
}

fn plan(title: &str, nodes: &[Value]) -> Value {
    json!({"title": title, "nodes": nodes, "phases": [{"id": "one", "title": "First"}]})
}

/// Two snapshots of one roadmap: `c` went, `d` came, `b` was changed.
fn two_plans() -> TestSite {
    let site = TestSite::new();
    write(
        &site,
        "import",
        &plan("Import", &[node("a", "Parse", &[]), node("b", "Check", &["a"]), node("c", "Tell", &["b"])]),
    );
    site.cairn().context_create("import", None).unwrap();
    write(
        &site,
        "import",
        &plan(
            "Import",
            &[node("a", "Parse", &[]), node("b", "Check twice", &["a", "d"]), node("d", "Cut", &["a"])],
        ),
    );
    site.cairn().context_create("import", None).unwrap();
    site
}

#[test]
fn the_list_tells_what_was_captured_what_changed_and_what_rests_on_older_plans() {
    let site = TestSite::new();
    assert!(site.page("/roadmaps").unwrap().contains("cairn roadmap add"));
    let site = two_plans();
    let decision = NewThought::new(ThoughtType::Decision, "Tell nobody (c)").session("s").agent("ada");
    site.cairn().record(NewThought { context_id: Some(1), ..decision }).unwrap();
    write(&site, "other", &plan("Never captured", &[node("x", "X", &[])]));
    let data = site.twin("/roadmaps").unwrap();
    let listed = &data["roadmaps"];
    assert_eq!(
        (&data["count"], &listed[0]["id"], &listed[1]["id"]),
        (&json!(2), &json!("import"), &json!("other"))
    );
    assert_eq!(
        (&listed[0]["snapshots"], &listed[0]["drifted"], &listed[0]["file"]),
        (&json!(2), &json!(1), &json!("unchanged"))
    );
    assert_eq!((&listed[1]["snapshots"], &listed[1]["file"]), (&json!(0), &Value::Null));
    write(&site, "import", &plan("Import", &[]));
    let page = site.page("/roadmaps").unwrap();
    assert!(page.contains("the file has changed since") && page.contains("never captured"), "{page}");
    assert!(page.contains("1 of 1 decision rests on an older plan"), "{page}");
    let page = site.page("/roadmaps/import").unwrap();
    assert!(page.contains("id=\"drift\"") && page.contains("− is gone"), "{page}");
    assert!(site.page("/roadmaps/other").unwrap().contains("What the file says"));
    assert_eq!(site.page("/roadmaps/unheard-of").unwrap_err().code(), "NOT_FOUND");
}

#[test]
fn the_history_says_what_changed_and_comes_in_pages() {
    let site = two_plans();
    site.cairn().context_create("import", None).unwrap();
    let data = site.twin("/roadmaps/import").unwrap();
    assert_eq!(data["contexts"][0]["changes"]["identical"], json!(true));
    assert_eq!(data["contexts"][1]["changes"]["counts"]["nodes_added"], json!(1));
    assert_eq!(data["contexts"][2]["changes"], Value::Null);
    let page = site.page("/roadmaps/import").unwrap();
    assert!(page.contains("/compare?from=1&amp;to=2") && page.contains("<select name=\"from\">"), "{page}");
    assert!(page.contains("href=\"/contexts/3#node-0\""), "{page}");
    for _ in 0..20 {
        site.cairn().context_create("import", None).unwrap();
    }
    let first = site.twin("/roadmaps/import").unwrap();
    assert_eq!((first["contexts"].as_array().unwrap().len(), &first["next"]), (20, &json!(4)));
    let rest = site.twin("/roadmaps/import?before=4").unwrap();
    assert_eq!((rest["contexts"].as_array().unwrap().len(), &rest["next"]), (3, &Value::Null));
    // The last of a page is compared with one that is on the next.
    assert_eq!(first["contexts"][19]["changes"]["from"], json!(3));
}

#[test]
fn a_comparison_marks_every_change_with_a_sign() {
    let site = two_plans();
    let page = site.page("/compare?from=1&to=2").unwrap();
    for mark in ["node p0 added", "node p0 removed", "node p0 changed", "edge added", "edge removed"] {
        assert!(page.contains(mark), "{mark} in {page}");
    }
    assert!(
        page.contains("<li class=\"added\" id=\"node-3\">")
            && page.contains("<li class=\"removed\" id=\"node-2\">")
    );
    assert!(page.contains("<li class=\"modified\" id=\"node-1\">") && page.contains("href=\"#node-1\""));
    // What did not change leads to the newer plan.
    assert!(page.contains("href=\"/contexts/2#node-0\""), "{page}");
    assert!(
        page.contains("−\u{a0}</span>Check</del>") && page.contains("+\u{a0}</span>Check twice</ins>"),
        "{page}"
    );
    let data = site.twin("/compare?from=1&to=2").unwrap();
    assert_eq!((&data["identical"], &data["counts"]["nodes_removed"]), (&json!(false), &json!(1)));
    assert_eq!(data["differences"], json!(site.cairn().context_compare(1, Some(2)).unwrap()));
    assert_eq!(site.twin("/compare?from=1").unwrap()["to"]["context_id"], json!(2));
    let same = site.page("/compare?from=2&to=2").unwrap();
    assert!(same.contains("Identical") && !same.contains("<svg"), "{same}");
}

#[test]
fn what_cannot_be_compared_is_refused_with_a_way_on() {
    let site = two_plans();
    write(&site, "other", &plan("Other", &[]));
    site.cairn().context_create("other", None).unwrap();
    let refused = site.page("/compare?from=1&to=3").unwrap_err();
    assert_eq!(refused.code(), "INVALID_PARAMS");
    assert!(refused.sentence().contains("only snapshots of one roadmap can be compared"));
    assert!(refused.hints()[0].contains("/roadmaps/other"));
    assert_eq!(site.page("/compare?from=1&to=99").unwrap_err().code(), "NOT_FOUND");
    assert_eq!(site.page("/compare").unwrap_err().code(), "INVALID_PARAMS");
    assert_eq!(site.page("/compare?from=x").unwrap_err().code(), "INVALID_PARAMS");
}

#[test]
fn a_snapshot_shows_its_plan_its_verdict_and_who_rests_on_it() {
    let site = two_plans();
    let decision = NewThought::new(ThoughtType::Decision, "Cut it").session("s").agent("ada");
    let decision = site.cairn().record(NewThought { context_id: Some(2), ..decision }).unwrap();
    let page = site.page("/contexts/2").unwrap();
    assert!(page.contains("It verifies") && page.contains("scope of d"), "{page}");
    assert!(
        page.contains(&format!("href=\"/thoughts/{}\"", decision.id))
            && page.contains("href=\"/compare?from=1&amp;to=2\"")
    );
    assert!(page.contains("<li id=\"node-2\">") && page.contains("href=\"#node-2\""), "{page}");
    let data = site.twin("/contexts/2").unwrap();
    assert_eq!(
        (&data["verdict"]["valid"], &data["previous"], &data["rests_on_it"]["total"]),
        (&json!(true), &json!(1), &json!(1))
    );
    assert_eq!(site.page("/contexts/9").unwrap_err().code(), "NOT_FOUND");
    write(&site, "flawed", &plan("Flawed", &[node("a", "A", &["nowhere"])]));
    site.cairn().context_create("flawed", None).unwrap();
    let page = site.page("/contexts/3").unwrap();
    assert!(
        page.contains("What was wrong with the plan then") && page.contains("(not in the plan)"),
        "{page}"
    );
}

#[test]
fn nothing_in_a_plan_breaks_out_of_a_page() {
    let site = TestSite::new();
    let evil = |suffix: &str| {
        json!({
            "title": format!("{HOSTILE}{suffix}"),
            "nodes": [
                {"id": HOSTILE, "label": format!("{HOSTILE}{suffix}"), "scope": format!("{HOSTILE}{suffix}"), "phase": HOSTILE},
                {"id": "b", "label": "b", "dependencies": [HOSTILE]},
            ],
            "phases": [{"id": HOSTILE, "title": format!("{HOSTILE}{suffix}")}],
            "connections": [{"id": HOSTILE, "from": HOSTILE, "to": "b", "type": format!("{HOSTILE}{suffix}")}],
        })
    };
    for suffix in ["1", "2"] {
        write(&site, "evil", &evil(suffix));
        let metadata = json!({"note": HOSTILE}).as_object().cloned();
        site.cairn().context_create("evil", metadata).unwrap();
    }
    let decision =
        NewThought::new(ThoughtType::Decision, HOSTILE).session("\"'><script>").agent("\"'><script>");
    site.cairn().record(NewThought { context_id: Some(1), ..decision }).unwrap();
    write(&site, "evil", &evil("3"));
    write(&site, "uncaptured", &evil("4"));
    for address in [
        "/roadmaps",
        "/roadmaps/evil",
        "/roadmaps/uncaptured",
        "/contexts/1",
        "/contexts/2",
        "/compare?from=1&to=2",
    ] {
        let page = site.page(address).unwrap();
        assert!(page.contains(SHOWN), "{address}: {page}");
        assert!(!page.contains("<script>") && !page.contains('\u{202e}'), "{address}: {page}");
        assert!(!page.contains("style=") && !page.contains("<style"), "{address}: {page}");
    }
}

#[test]
fn reading_about_plans_records_nothing() {
    let site = two_plans();
    let size = site.cairn().log_size().unwrap();
    for address in ["/roadmaps", "/roadmaps/import", "/contexts/1", "/compare?from=1&to=2"] {
        site.page(address).unwrap();
        site.twin(address).unwrap();
    }
    assert_eq!(site.cairn().log_size().unwrap(), size);
    assert!(site.cairn().newest_checkpoint().unwrap().is_none());
}

#[test]
fn pages_say_that_a_plan_was_redacted() {
    let site = two_plans();
    let decision = NewThought::new(ThoughtType::Decision, "Tell nobody (c)").session("s").agent("ada");
    site.cairn().record(NewThought { context_id: Some(1), ..decision }).unwrap();
    for (target, of) in [("context:1", "older"), ("context:2", "newest")] {
        let redact = Redact { target: target.into(), actor: "ann".into(), reason: "a name".into() };
        site.cairn().redact(&redact).unwrap();
        for path in ["/contexts/1", "/roadmaps", "/roadmaps/import"] {
            let page = site.page(path).unwrap();
            assert!(!page.contains("Tell</"), "{path}, the {of} is gone: {page}");
        }
        let page = site.page("/contexts/1").unwrap();
        assert!(
            page.contains("The plan was redacted by ann on")
                && page.contains("It cannot be verified any more")
        );
        assert_eq!(site.twin("/contexts/1").unwrap()["verdict"]["valid"], Value::Null);
    }
    assert!(site.page("/roadmaps/import").unwrap().contains("one of the two plans was redacted"));
    let refused = site.page("/compare?from=1&to=2").unwrap_err();
    assert!(refused.sentence().contains("the content of snapshot 1 was redacted"), "{}", refused.sentence());
}
