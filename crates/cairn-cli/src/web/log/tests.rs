use cairn::core::entry::KeyOp;
use cairn::{Finding, KeyChange, NewSession, NewThought, Options, Reason, Redact, ThoughtType, random_key};
use serde_json::{Value, json};

use super::findings::findings;
use crate::web::testing::TestSite;

/// What breaks out of a page that does not escape.
const HOSTILE: &str = "\"'><script>alert(1)</script>";
const SHOWN: &str = "&gt;&lt;script&gt;alert(1)&lt;/script&gt;";

fn think(site: &TestSite, session: &str) -> String {
    let thought = NewThought::new(ThoughtType::Plan, "p").session(session).agent("ada");
    site.cairn().record(thought).unwrap().id.to_string()
}

fn redact(site: &TestSite, id: &str) {
    let redact = Redact { target: id.into(), actor: HOSTILE.into(), reason: HOSTILE.into() };
    site.cairn().redact(&redact).unwrap();
}

#[test]
fn entries_come_newest_first_and_lead_to_what_they_carry() {
    let site = TestSite::new();
    site.cairn().session_open(NewSession { session_id: Some("s".into()), ..NewSession::default() }).unwrap();
    site.cairn().turn_begin("s", "hello", None).unwrap();
    let ids: Vec<String> = (0..150).map(|_| think(&site, "s")).collect();
    redact(&site, &ids[0]);
    let data = site.twin("/log").unwrap();
    let entries = data["entries"].as_array().unwrap();
    assert_eq!(
        (&data["size"], entries.len(), &entries[0]["kind"], &data["next"]),
        (&json!(154), 100, &json!("redaction"), &json!(54))
    );
    // A redaction is stated at once.
    assert_eq!(data["uncovered"], json!(0));
    let page = site.page("/log").unwrap();
    assert!(page.contains("blanked ") && page.contains(&format!("href=\"/thoughts/{}\"", ids[0])), "{page}");
    assert!(page.contains("href=\"/log?before=54#entries\"") && page.contains("checkpoints are not signed"));
    let rest = site.page("/log?before=54").unwrap();
    assert!(
        rest.contains("the log begins")
            && rest.contains("href=\"/sessions/s/turns/1\"")
            && rest.contains("Newest entries")
    );
    assert!(!rest.contains("Older entries"), "{rest}");
    assert_eq!(site.twin("/log?before=0").unwrap()["entries"], json!([]));
}

#[test]
fn an_entry_has_the_proof_that_the_library_gives_and_none_is_made_for_it() {
    let site = TestSite::with(Options::new().automatic_checkpoints(false));
    think(&site, "s");
    let data = site.twin("/log/1").unwrap();
    assert_eq!((&data["proof"], &data["unproven"]["stated"]), (&Value::Null, &Value::Null));
    let page = site.page("/log/1").unwrap();
    assert!(page.contains("none was made so far") && !page.contains("data-proof"), "{page}");
    assert!(site.cairn().newest_checkpoint().unwrap().is_none());
    site.cairn().checkpoint().unwrap();
    let data = site.twin("/log/1").unwrap();
    assert_eq!(data["proof"], json!(site.cairn().prove(1).unwrap()));
    assert_eq!(data["entry"]["leaf"], data["proof"]["leaf"]);
    let page = site.page("/log/1").unwrap();
    assert!(page.contains("data-proof=\"/log/1.json\"") && page.contains("class=\"checks\""), "{page}");
    assert!(page.contains("Nobody has signed that checkpoint"), "{page}");
    assert_eq!(site.page("/log/99").unwrap_err().code(), "NOT_FOUND");
}

#[test]
fn keys_and_signatures_are_listed_as_the_log_has_them() {
    let site = TestSite::new();
    let key = random_key(&site.cairn().status().unwrap().origin).unwrap();
    let change = KeyChange {
        op: KeyOp::Add,
        key: key.verifying_key().clone(),
        last_trusted_size: None,
        reason: Some(HOSTILE.into()),
    };
    site.cairn().change_key(change).unwrap();
    site.cairn().checkpoint().unwrap();
    let page = site.page("/log").unwrap();
    assert!(page.contains(SHOWN) && page.contains(">added<") && page.contains(">nobody<"), "{page}");
    assert!(!page.contains("<script>"), "{page}");
    let data = site.twin("/log").unwrap();
    assert_eq!((&data["checkpoints"][0]["size"], &data["uncovered"]), (&json!(2), &json!(0)));
    assert_eq!(data["key_changes"][0]["vkey"], json!(key.verifying_key().to_string()));
}

#[test]
fn integrity_says_what_was_recomputed_and_no_more() {
    let site = TestSite::new();
    think(&site, "s");
    let page = site.page("/integrity").unwrap();
    assert!(page.contains("Nothing is known yet") && page.contains("action=\"/verify\""), "{page}");
    site.verify();
    let page = site.page("/integrity").unwrap();
    assert!(page.contains("2 entries recomputed: nothing was found to have changed"), "{page}");
    assert!(
        page.contains("What was not verified") && page.contains("by nobody whose key is known here"),
        "{page}"
    );
    assert!(!page.contains("recorded after this verification"), "{page}");
    let data = site.twin("/integrity").unwrap();
    for note in data["verified"]["report"]["notes"].as_array().unwrap() {
        let note = note.as_str().unwrap().replace('&', "&amp;").replace('"', "&quot;");
        assert!(page.contains(&note), "{note}: {page}");
    }
    think(&site, "s");
    assert_eq!(site.twin("/integrity").unwrap()["recorded_since"], json!(1));
    assert!(site.page("/integrity").unwrap().contains("1 entry recorded after this verification"));
}

#[test]
fn findings_lead_to_their_records_and_redactions_are_told() {
    let site = TestSite::new();
    redact(&site, &think(&site, "s"));
    site.verify();
    let page = site.page("/integrity").unwrap();
    assert!(
        page.contains("<h2>Redacted</h2>") && page.contains(SHOWN) && !page.contains("<script>"),
        "{page}"
    );
    let mut report = site.cairn().verify(&cairn::Scope::All).unwrap();
    report.findings_total = 3;
    report.findings = vec![Finding {
        reason: Reason::ContentHashMismatch,
        table: "thought",
        seq: Some(7),
        id: Some(HOSTILE.into()),
        step_index: Some(2),
        field: Some("content".into()),
        expected: Some(HOSTILE.into()),
        actual: Some(HOSTILE.into()),
        message: HOSTILE.into(),
        follows_from: Vec::new(),
    }];
    let page = findings(&report).into_string();
    assert!(
        page.contains("content_hash_mismatch") && page.contains("href=\"/log/7\"") && page.contains("step 2"),
        "{page}"
    );
    assert!(
        page.contains("href=\"/thoughts/%22%27%3E%3Cscript%3E") && page.contains("2 more findings"),
        "{page}"
    );
    assert!(page.contains(SHOWN) && !page.contains("<script>"), "{page}");
}

#[test]
fn nothing_recorded_breaks_out_and_reading_records_nothing() {
    let site = TestSite::new();
    think(&site, HOSTILE);
    site.cairn()
        .session_open(NewSession { session_id: Some(HOSTILE.into()), ..NewSession::default() })
        .unwrap();
    site.cairn().turn_begin(HOSTILE, "hello", None).unwrap();
    let size = site.cairn().log_size().unwrap();
    for address in ["/log", "/log/1", "/log/2", "/log/3"] {
        let page = site.page(address).unwrap();
        assert!(page.contains(SHOWN), "{address}: {page}");
        assert!(!page.contains("<script>") && !page.contains("style="), "{address}: {page}");
    }
    site.page("/integrity").unwrap();
    assert_eq!(site.cairn().log_size().unwrap(), size);
    assert!(site.cairn().newest_checkpoint().unwrap().is_none());
}
