//! `cairn redact`, and what the other commands show afterwards.

use cairn::NewSession;

use super::harness::{Place, open};
use crate::it::database;

const DECISION: &str = "019d9b50-1002";

#[test]
fn a_redacted_thought_is_shown_as_such_everywhere() {
    let place = Place::with_story();
    let whole = place.on_story(&["--json", "list"]).json();
    let record = &whole["records"][0];
    let (id, content) = (record["id"].as_str().unwrap(), record["content"].as_str().unwrap());
    let run = place.on_story(&["redact", id, "--reason", "a leaked key", "--yes"]);
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{run:?}");
    assert!(run.out.starts_with(&format!("Redacted thought {id}: its content is gone\n")), "{}", run.out);
    // What a server keeps of it elsewhere is named.
    assert_eq!(run.out.contains("Not gone"), database::on_postgres(), "{}", run.out);
    assert!(run.out.contains("ada"), "{}", run.out);
    let session = record["session_id"].as_str().unwrap();
    let child = whole["records"][2]["id"].as_str().unwrap();
    for command in [
        &["show", id][..],
        &["list"],
        &["tree", session],
        &["tree", session, "--full"],
        &["trail", id],
        &["trail", child],
        &["why", id],
    ] {
        let run = place.on_story(command);
        let text = run.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(run.code, 0, "{command:?}: {run:?}");
        assert!(text.contains("[redacted by ada on"), "{command:?}: {text}");
        assert!(!text.contains(content), "{command:?}: {text}");
    }
    let verified = place.on_story(&["verify"]);
    assert_eq!(verified.code, 0);
    assert!(verified.out.contains("1 record is redacted"), "{}", verified.out);
    let verified = place.on_story(&["--json", "verify"]).json();
    assert_eq!((&verified["redacted_total"], &verified["redacted"][0]["by"]), (&1.into(), &"ada".into()));
    let again = place.on_story(&["redact", id, "--reason", "again", "--yes"]);
    assert_eq!(again.code, 1);
    assert!(again.err.contains("was redacted already, by ada on"), "{}", again.err);
}

#[test]
fn nothing_is_erased_unasked() {
    let place = Place::with_story();
    let run = place.on_story(&["redact", DECISION, "--reason", "x"]);
    assert_eq!(run.code, 2);
    assert!(run.err.contains("cannot be undone") && run.err.contains("--yes"), "{}", run.err);
    assert_eq!(place.on_story(&["redact", DECISION, "--yes"]).code, 2, "why?");
    let run = place.on_story(&["redact", DECISION, "--reason", " ", "--yes"]);
    assert!(run.code == 1 && run.err.contains("why is it redacted?"), "{run:?}");
    let run = place.on_story(&["redact", "nothing-like-it", "--reason", "x", "--yes"]);
    assert!(run.code == 1 && run.err.contains("no thought, brief or review `nothing-like-it`"), "{run:?}");
    assert!(!place.on_story(&["list"]).out.contains("redacted"));
}

#[test]
fn a_sealed_thought_is_redacted_by_its_key() {
    let place = Place::with_story();
    let recorded =
        place.on_story(&["--json", "record", "plan", "Ask Zoltan", "-s", "storage", "--seal"]).json();
    assert_eq!((&recorded["sealed"], &recorded["content"]), (&true.into(), &"Ask Zoltan".into()));
    let id = recorded["id"].as_str().unwrap();
    let shown = place.on_story(&["show", id]).out;
    assert!(shown.contains("Ask Zoltan") && shown.contains("stored encrypted"), "{shown}");
    let done = place.on_story(&["--json", "redact", id, "--reason", "x", "--by", "ann", "-y"]).json();
    assert_eq!((&done["fields"][0], &done["by"]), (&"seal_key".into(), &"ann".into()));
    assert!(place.on_story(&["show", id]).out.contains("[redacted by ann on"));
    assert_eq!(place.on_story(&["verify"]).code, 0);
}

/// Stored briefs repeat what thoughts say: they are named, with the command that redacts them.
#[test]
fn briefs_are_named_and_redacted_like_thoughts() {
    let place = Place::new();
    let path = place.path("cairn.db");
    let cairn = database::open(cairn::Options::new(), &path);
    cairn.session_open(cairn::NewSession { session_id: Some("s".into()), ..Default::default() }).unwrap();
    cairn.turn_begin("s", "hello", None).unwrap();
    let draft = cairn::NewThought::new(cairn::ThoughtType::Plan, "Ask Zoltan").session("s").agent("ada");
    let thought = cairn.record(draft.clone()).unwrap();
    let request = cairn::BriefRequest { session_id: "s".into(), node: "think".into(), ..Default::default() };
    let brief = cairn.brief_build(&request, true).unwrap().brief_id.unwrap().to_string();
    let based = cairn.record(cairn::NewThought { brief_id: Some(brief.clone()), ..draft }).unwrap();
    cairn.close();
    let run = place.on_story(&["redact", thought.id.as_str(), "--reason", "x", "--yes"]);
    assert!(run.out.contains(&format!("  cairn redact {brief} --reason …\n")), "{}", run.out);
    let verdict = place.on_story(&["brief", "verify", &brief]);
    assert_eq!(verdict.code, 0, "{verdict:?}");
    assert!(
        verdict.out.replace('\n', " ").contains("it cannot be built again, because thought"),
        "{}",
        verdict.out
    );
    assert!(place.on_story(&["--json", "brief", "verify", &brief]).json()["valid"].is_null());
    let run = place.on_story(&["redact", &brief, "--reason", "it repeats it", "--yes"]);
    assert!(run.out.contains(&format!("Redacted brief {brief}: its data is gone")), "{run:?}");
    for command in [&["brief", "show", &brief][..], &["why", based.id.as_str()]] {
        let run = place.on_story(command);
        assert!(run.code == 0 && run.out.contains("[redacted by ada on"), "{run:?}");
    }
    let compared = place.on_story(&["brief", "diff", &brief, &brief]);
    assert!(compared.code == 1 && compared.err.contains("was redacted by ada"), "{compared:?}");
    assert_eq!(place.on_story(&["verify"]).code, 0);
}

#[test]
fn an_event_is_redacted_by_its_position() {
    let place = Place::new();
    let (cairn, _) = open(&place.path("cairn.db"));
    cairn.session_open(NewSession { session_id: Some("s".into()), ..NewSession::default() }).unwrap();
    let seq = cairn.turn_begin("s", "Call Zoltan Quixley", None).unwrap().seq;
    cairn.close();
    let run = |args: &[&str]| place.run(&[&["--db", "cairn.db"], args].concat());
    let target = format!("event:{seq}");
    let done = run(&["redact", &target, "--reason", "a name", "--yes"]);
    assert_eq!((done.code, done.err.as_str()), (0, ""), "{done:?}");
    assert!(done.out.starts_with(&format!("Redacted event {seq}: its texts are gone\n")), "{}", done.out);
    let shown = run(&["session", "show", "s"]).fine();
    assert!(shown.contains("(redacted)") && !shown.contains("Quixley"), "{shown}");
    let verified = run(&["verify"]);
    assert!(verified.code == 0 && verified.out.contains("1 record is redacted"), "{verified:?}");
    let refused = run(&["redact", "event:x", "--reason", "a name", "--yes"]);
    assert!(refused.err.contains("an event is named `event:` and its position"), "{refused:?}");
}

#[test]
fn a_snapshot_is_redacted_by_its_number_and_every_command_says_so() {
    let place = Place::new();
    let run = |args: &[&str]| place.run(&[&["--db", "cairn.db"], args].concat());
    std::fs::create_dir(place.path("roadmaps")).unwrap();
    let write = |label: &str| {
        let plan = format!(r#"{{"title": "Letters", "nodes": [{{"id": "ask", "label": "Ask {label}"}}]}}"#);
        std::fs::write(place.path("roadmaps/letters.json"), plan).unwrap();
    };
    write("Zoltan Quixley");
    run(&["context", "create", "letters"]).fine();
    run(&["context", "create", "letters"]).fine();
    let recorded =
        run(&["--json", "record", "decision", "Write to him", "--session", "s", "--context", "1"]).json();
    write("nobody");
    run(&["context", "create", "letters"]).fine();
    let done = run(&["redact", "context:1", "--reason", "a name", "--by", "ann", "--yes"]);
    assert_eq!((done.code, done.err.as_str()), (0, ""), "{done:?}");
    assert!(done.out.starts_with("Redacted snapshot 1: its data is gone\n"), "{}", done.out);
    let shared = "with it went all snapshots of the same content: log entry 3\n";
    assert!(done.out.contains(shared), "{}", done.out);
    for (command, said) in [
        (&["context", "show", "1"][..], "redacted by ann on"),
        (&["context", "show", "2"], "redacted by ann on"),
        (&["context", "history", "letters"], "redacted by ann"),
        (&["context", "verify", "1"], "was redacted and cannot be recomputed"),
        (&["drift"], "one of the two was redacted"),
        (&["why", recorded["id"].as_str().unwrap()], "[redacted by ann on"),
        (&["verify"], "2 records are redacted"),
    ] {
        let shown = run(command).fine();
        assert!(shown.contains(said) && !shown.contains("Quixley"), "{command:?}: {shown}");
    }
    let refused = run(&["context", "diff", "1", "3"]);
    assert!(
        refused.code == 1 && refused.err.contains("the content of context 1 was redacted by ann"),
        "{refused:?}"
    );
    write("Zoltan Quixley");
    let refused = run(&["context", "create", "letters"]);
    assert!(refused.code == 1 && refused.err.contains("which was redacted by ann on"), "{refused:?}");
}
