use cairn::NewThought;

use super::*;
use crate::web::testing::TestSite;

fn record(
    site: &TestSite,
    kind: ThoughtType,
    text: &str,
    parent: Option<&str>,
    action: Option<&str>,
) -> String {
    let thought = NewThought {
        parent_id: parent.map(str::to_string),
        action_id: action.map(str::to_string),
        ..NewThought::new(kind, text).session("s").agent("ada")
    };
    site.cairn().record(thought).unwrap().id.to_string()
}

#[test]
fn the_page_shows_what_was_decided_and_what_was_given_up() {
    let site = TestSite::new();
    let plan = record(&site, ThoughtType::Plan, "find the cause", None, None);
    let option = record(&site, ThoughtType::Analysis, "option A", Some(&plan), None);
    record(&site, ThoughtType::Reflection, "dropped A", Some(&option), None);
    let option = record(&site, ThoughtType::Analysis, "option B", Some(&plan), None);
    record(&site, ThoughtType::Decision, "take B", Some(&option), Some("commit-1"));
    let page = site.page("/sessions/s").unwrap();
    let abandoned =
        page.split("<details class=\"abandoned\"").nth(1).unwrap().split("</details>").next().unwrap();
    assert!(
        abandoned.contains("option A") && abandoned.contains("dropped A") && !abandoned.contains("option B")
    );
    assert!(page.contains("href=\"/actions/commit-1\""));
    let decided = page.split("Decided").nth(1).unwrap().split("</section>").next().unwrap();
    assert!(decided.contains("take B"));
    let list = site.page("/sessions/s?type=analysis").unwrap();
    assert!(list.contains("option A") && list.contains("option B") && !list.contains("dropped A"));
}

#[test]
fn the_page_of_a_record_leads_to_what_it_supersedes_and_rejects() {
    let site = TestSite::new();
    let old = record(&site, ThoughtType::Decision, "use cookies", None, None);
    let option = record(&site, ThoughtType::Analysis, "basic auth", None, None);
    let draft = NewThought::new(ThoughtType::Decision, "use tokens").session("s").agent("ada");
    let draft = draft.supersedes(&old).rejects(&option).applies_to("src/<auth>/**").applies_to("area:login");
    let new = site.cairn().record_as(cairn::Source::Person, draft).unwrap();
    let address = format!("/thoughts/{}", new.id);
    let page = site.page(&address).unwrap();
    let facts = page.split("<dl class=\"facts\">").nth(1).unwrap().split("</dl>").next().unwrap();
    let fact =
        |name: &str| facts.split(&format!("<dt>{name}</dt>")).nth(1).unwrap().split("<dt>").next().unwrap();
    assert!(fact("Supersedes").contains(&format!("href=\"/thoughts/{old}\"")), "{facts}");
    assert!(fact("Rejects").contains(&format!("href=\"/thoughts/{option}\"")), "{facts}");
    assert!(fact("Applies to").contains("src/&lt;auth&gt;/**") && fact("Applies to").contains("area:login"));
    assert!(fact("Recorded by").contains("a person"), "{facts}");
    let twin = site.twin(&address).unwrap()["thought"].take();
    assert_eq!(twin, serde_json::to_value(&new).unwrap());
    let page = site.page(&format!("/thoughts/{old}")).unwrap();
    assert!(!page.contains("<dt>Supersedes</dt>") && !page.contains("<dt>Rejects</dt>"), "{page}");
    assert!(!page.contains("<dt>Applies to</dt>") && page.contains("an agent, through a tool"), "{page}");
}

#[test]
fn a_long_session_is_shown_in_pages_that_lead_on() {
    let site = TestSite::new();
    let mut parent = None;
    for n in 0..450 {
        parent = Some(record(&site, ThoughtType::Analysis, &format!("text {n}."), parent.as_deref(), None));
    }
    let mut address = "/sessions/s".to_string();
    let mut seen = Vec::new();
    loop {
        let page = site.page(&address).unwrap();
        assert!(page.len() < 300_000, "{}", page.len());
        let twin = site.twin(&address).unwrap();
        let steps = twin["tree"]["steps"].as_array().unwrap();
        assert!(steps.len() <= PAGE);
        seen.extend(steps.iter().map(|step| step["step_index"].as_u64().unwrap()));
        assert!(page.contains(&format!("text {}.", seen.last().unwrap())));
        match twin["tree"]["more"]["from"].as_str() {
            Some(from) => address = format!("/sessions/s?from={from}"),
            None => break,
        }
    }
    assert_eq!(seen, (0..450).collect::<Vec<u64>>());
    let newest = site.twin("/sessions/s").unwrap()["newest"]["from"].as_str().unwrap().to_string();
    assert!(site.page(&format!("/sessions/s?from={newest}")).unwrap().contains("text 449."));
    let list = site.twin("/sessions/s?type=analysis").unwrap();
    assert_eq!(list["list"]["next"], PAGE as u64 - 1);
    let list = site.twin("/sessions/s?type=analysis&after=399").unwrap();
    assert_eq!(list["list"]["thoughts"].as_array().unwrap().len(), 50);
    assert!(list["list"]["next"].is_null());
}

#[test]
fn what_is_not_there_is_named() {
    let site = TestSite::new();
    let message = |address: &str| site.page(address).unwrap_err().sentence();
    assert_eq!(message("/sessions/none"), "there is no session `none`");
    record(&site, ThoughtType::Plan, "x", None, None);
    assert_eq!(message("/sessions/s?from=none"), "there is no thought `none` in this session");
    assert!(message("/sessions/s?type=dream").starts_with("type: must be one of"));
}

#[test]
fn if_more_was_changed_than_is_named_no_record_looks_sound() {
    let site = TestSite::new();
    let id = record(&site, ThoughtType::Plan, "text", None, None);
    site.verify();
    let note = "what bears no mark may have been changed too";
    assert!(!site.page("/sessions/s").unwrap().contains(note));
    site.verify_and(|report| report.findings_total = 1);
    for address in ["/sessions/s".to_string(), format!("/thoughts/{id}")] {
        let page = site.page(&address).unwrap();
        assert!(page.contains(note), "{address}: {page}");
        assert_eq!(site.twin(&address).unwrap()["more_changed"], true);
    }
}
