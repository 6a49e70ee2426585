//! Whatever was recorded is text on every page of the trail.

use std::sync::atomic::{AtomicUsize, Ordering};

use cairn::{NewRoadmap, NewThought, Options, Redact, ThoughtType};
use serde_json::json;

use crate::web::link;
use crate::web::testing::TestSite;

/// What may stand in a label: no control characters.
const LABELS: [&str; 6] = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "' onmouseover='alert(1)",
    "javascript:alert(1)",
    "</title></textarea><svg onload=alert(1)>",
    "a\u{202e}b\u{2066}c&amp;<!--",
];
const TEXT: &str =
    "</pre></script><svg/onload=alert(1)>\"'`\u{202e}\u{1b}[2J\u{2028}&lt;{{x}} javascript:alert(1)";

/// The tags of a page with their attributes, and its texts. Pages are made by `maud`, which writes `>` in attributes as
/// an entity, so this is all there is to it.
fn tags(page: &str) -> Vec<&str> {
    page.split('<').skip(1).filter_map(|rest| rest.split_once('>')).map(|(tag, _)| tag).collect()
}

fn check(address: &str, page: &str) {
    const TAGS: [&str; 45] = [
        "!DOCTYPE",
        "html",
        "head",
        "meta",
        "title",
        "link",
        "script",
        "body",
        "a",
        "header",
        "img",
        "nav",
        "form",
        "input",
        "main",
        "footer",
        "span",
        "p",
        "h1",
        "h2",
        "h3",
        "div",
        "section",
        "article",
        "ul",
        "ol",
        "li",
        "dl",
        "dt",
        "dd",
        "details",
        "summary",
        "pre",
        "code",
        "time",
        "button",
        "label",
        "select",
        "option",
        "mark",
        "figure",
        "figcaption",
        "b",
        "q",
        "br",
    ];
    for tag in tags(page) {
        let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap();
        assert!(TAGS.contains(&name), "{address}: <{tag}>");
        // Outside of quotes there are only names of attributes.
        for (place, part) in tag.split('"').enumerate() {
            if place % 2 == 0 {
                assert!(!part.to_ascii_lowercase().contains(" on"), "{address}: <{tag}>");
            }
        }
        if let Some((_, target)) = tag.split_once("href=\"").or(tag.split_once("action=\"")) {
            let target = target.split('"').next().unwrap();
            assert!(target.starts_with(['/', '#', '?']) && !target.starts_with("//"), "{address}: <{tag}>");
        }
        assert!(!tag.contains("style="), "{address}: <{tag}>");
    }
    let scripts = page.matches("<script").count();
    assert_eq!(scripts, page.matches("<script src=\"/assets/").count(), "{address}");
    // The script compares the session's name with what the server tells, so it stands there to the letter.
    let (before, rest) = page.split_once(" data-session=\"").unwrap_or((page, "\""));
    let shown = format!("{before}{}", rest.split_once('"').unwrap().1);
    for acts in ['\u{202e}', '\u{2066}', '\0', '\u{1b}', '\u{2}', '\u{3}', '\u{2028}'] {
        assert!(!shown.contains(acts), "{address}: {acts:?}");
    }
}

#[test]
fn hostile_strings_are_shown_as_text_everywhere() {
    let made = AtomicUsize::new(0);
    let hostile_id = move || {
        let n = made.fetch_add(1, Ordering::Relaxed);
        format!("{}-{n}", LABELS[n % LABELS.len()])
    };
    let site = TestSite::with(Options::new().automatic_checkpoints(false).ids(hostile_id));
    let roadmap = NewRoadmap {
        roadmap_id: "r".into(),
        title: TEXT.into(),
        nodes: vec![json!({"id": LABELS[0], "label": LABELS[1], "scope": "alert"})],
        ..NewRoadmap::default()
    };
    site.cairn().roadmaps().register(roadmap).unwrap();
    let context = site.cairn().context_ensure("r", None).unwrap().context.context_id;
    let mut ids: Vec<String> = Vec::new();
    for (n, label) in LABELS.iter().enumerate() {
        let thought = NewThought {
            action_id: Some(label.to_string()),
            context_id: Some(context),
            parent_id: ids.first().filter(|_| n > 2).cloned(),
            metadata: json!({ *label: TEXT }).as_object().cloned(),
            ..NewThought::new(ThoughtType::ALL[n % 4], TEXT)
        };
        let thought = thought.session(LABELS[0]).task(*label).agent(*label);
        ids.push(site.cairn().record(thought).unwrap().id.to_string());
        let thought = NewThought::new(ThoughtType::Decision, *label).session(*label).agent(*label);
        site.cairn().record(thought).unwrap();
    }
    let redact = Redact { target: ids[1].clone(), reason: TEXT.into(), actor: LABELS[1].into() };
    site.cairn().redact(&redact).unwrap();
    site.cairn().checkpoint().unwrap();
    let mut addresses = vec!["/".to_string(), "/connect".to_string(), "/search".to_string()];
    for label in LABELS {
        let word: String = form_urlencoded::byte_serialize(label.as_bytes()).collect();
        addresses.extend([link::session(label), link::action(label)]);
        addresses.push(format!("/search?q={word}&session={word}"));
        addresses.push(format!("/search?q={word}"));
    }
    for kind in ThoughtType::ALL {
        addresses.push(format!("{}?type={kind}", link::session(LABELS[0])));
    }
    addresses.extend(ids.iter().map(|id| link::thought(id)));
    addresses.push(format!("{}?from={}", link::session(LABELS[0]), link::part(&ids[0])));
    for address in &addresses {
        let page = site.page(address).unwrap_or_else(|error| panic!("{address}: {}", error.sentence()));
        check(address, &page);
        site.twin(address).unwrap();
    }
    let tree = site.page(&link::session(LABELS[0])).unwrap();
    assert!(tree.contains("&lt;svg/onload=alert(1)&gt;&quot;'`⟨U+202E⟩␛[2J"), "{tree}");
    // A message repeats what was asked for.
    let error = site.page(&link::action("<b>\u{202e}")).unwrap_err();
    assert!(error.sentence().contains("<b>"));
}
