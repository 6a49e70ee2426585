//! `cairn context diff` and `cairn drift`, and plans as graphs.

use serde_json::json;

use super::harness::{Place, id};
use super::plans::{first_plan, second_plan, story, write_plan};

#[test]
fn a_comparison_shows_each_change_once() {
    let place = story();
    let run = place.on_story(&["context", "diff", "1", "2"]);
    assert_eq!(run.code, 0);
    let (head, changes) = run.out.split_at(run.out.find("\n\n").unwrap());
    let head: Vec<&str> = head.lines().collect();
    assert_eq!(head[0], "plan import");
    assert!(head[1].starts_with("--- context 1  2026-04-17 12:00  ") && head[1].ends_with('…'), "{head:?}");
    assert!(head[2].starts_with("+++ context 2  2026-04-17 12:03  ") && head.len() == 3, "{head:?}");
    let expected = "

title
- Nightly import
+ Nightly import v2

phases
+ check  (after read)
~ load   Load the rows → Load  (renamed)

nodes
+ count   Compare counts
    + phase: check
    + needs: upsert (feeds)
- quirks  Work around broken quoting
~ upsert  Upsert rows → Upsert in batches  (renamed)
    - scope: All in one transaction
    + scope: Batches of 1,000 rows
    - needs: quirks

title changed; 1 phase added, 1 changed; 1 node added, 1 removed, 1 changed
";
    assert_eq!(changes, expected);
    assert_eq!(run.err, "`--all` also shows 1 node and 1 connection whose change only repeats these\n");
    assert_eq!(place.on_story(&["context", "diff", "1"]).out, run.out);
    let all = place.on_story(&["context", "diff", "1", "--all"]).fine();
    assert!(all.contains("\nconnections\n+ upsert → count (feeds)\n"), "{all}");
    assert!(all.contains("~ fetch   Fetch the feed\n    - needed by: quirks\n"), "{all}");
}

#[test]
fn colour_is_added_to_a_comparison_and_never_needed() {
    let place = story();
    let colored = place.on_story(&["--color", "always", "context", "diff", "1"]).out;
    for part in ["\x1b[32m+ count   Compare counts", "\x1b[31m- quirks", "\x1b[33m~ upsert"] {
        assert!(colored.contains(part), "{part:?} in {colored:?}");
    }
    let plain: String =
        colored.split('\x1b').map(|part| part.split_once('m').map_or(part, |(_, text)| text)).collect();
    assert_eq!(plain, place.on_story(&["context", "diff", "1"]).out);
}

#[test]
fn identical_plans_are_said_to_be_identical() {
    let place = story();
    write_plan(&place, "import", &first_plan());
    assert_eq!(place.on_story(&["context", "create", "import"]).code, 0);
    let same = place.on_story(&["context", "diff", "1", "4"]).fine();
    assert!(same.starts_with("Contexts 1 and 4 of import are identical (hash "), "{same}");
    let newest = place.on_story(&["context", "diff", "4"]);
    assert_eq!(newest.err, "It is the newest one; name another to compare it with\n");
    let data = place.on_story(&["--json", "context", "diff", "1", "4"]).json();
    assert_eq!((&data["identical"], &data["total_changes"]), (&json!(true), &json!(0)));
}

#[test]
fn a_comparison_as_data_names_every_change() {
    let data = story().on_story(&["--json", "context", "diff", "1"]).json();
    assert_eq!((&data["identical"], &data["total_changes"]), (&json!(false), &json!(6)));
    assert_eq!(
        (&data["counts"]["nodes_modified"], &data["counts"]["connections_added"]),
        (&json!(2), &json!(1))
    );
    let differences = &data["differences"];
    assert_eq!(differences["title"], json!({"old": "Nightly import", "new": "Nightly import v2"}));
    assert_eq!((&differences["context_id1"], &differences["context_id2"]), (&json!(1), &json!(2)));
    assert_eq!(differences["nodes"]["removed"][0]["id"], "quirks");
}

#[test]
fn a_decision_drifts_when_its_plan_changes() {
    let place = story();
    let expected = "\
2 of 2 decisions rest on a plan that has changed since

019d9b50-1002  decision  2026-04-17 12:02  import-v1  ada
  No mail on failure
  rests on context 1 of import; current is context 2, 6 changes
  names no node of the plan

019d9b50-1001  decision  2026-04-17 12:01  import-v1  ada
  upsert by natural key (keys):
  rests on context 1 of import; current is context 2, 6 changes
  - quirks  Work around broken quoting  (gone)
  ~ upsert  Upsert rows → Upsert in batches  (renamed)
      - scope: All in one transaction
      + scope: Batches of 1,000 rows
      - needs: quirks
      + needed by: count
  names 1 node that is as it was: keys
";
    assert_eq!(place.on_story(&["drift"]).fine(), expected);
    assert_eq!(place.on_story(&["drift", "--roadmap", "import"]).fine(), expected);
    assert_eq!(place.on_story(&["drift", "--check"]).code, 1);
    let one = place.on_story(&["drift", "-n", "1"]).fine();
    assert!(one.ends_with("\n… and 1 older one; `--limit N` shows more\n"), "{one}");
    let data = place.on_story(&["--json", "drift"]).json();
    assert_eq!((&data["decisions"], &data["drifted"]), (&json!(2), &json!(2)));
    assert_eq!(
        (&data["results"][1]["id"], &data["results"][1]["session_id"]),
        (&json!(id(1)), &json!("import-v1"))
    );
    assert_eq!(data["plans"][0]["file"], "unchanged");
}

#[test]
fn a_plan_that_came_back_is_no_drift() {
    let place = story();
    write_plan(&place, "import", &first_plan());
    let out = place.on_story(&["drift"]).fine();
    let advice = "\nimport: the file has changed since context 2; run `cairn context ensure import`\n";
    assert!(out.ends_with(advice), "{out}");
    assert_eq!(place.on_story(&["context", "ensure", "import"]).code, 0);
    let sentence = "Nothing has drifted: 2 decisions rest on the current plan of import (context 4).\n";
    assert_eq!(place.on_story(&["drift", "--roadmap", "import", "--check"]).fine(), sentence);
    let none = place.on_story(&["drift", "--roadmap", "other"]).fine();
    assert!(none.starts_with("No decision rests on a snapshot of other (context 3)"), "{none}");
    std::fs::remove_file(place.path("roadmaps/import.json")).unwrap();
    let gone = place.on_story(&["drift", "--roadmap", "import"]).fine();
    assert!(gone.ends_with("\nimport: the file is gone; context 4 is the last of it\n"), "{gone}");
    place.write("roadmaps/import.json", "{");
    let broken = place.on_story(&["drift", "--roadmap", "import"]).fine();
    assert!(
        broken.ends_with("the file cannot be read; `cairn roadmap validate import` says why\n"),
        "{broken}"
    );
    let empty = Place::with_story();
    assert!(empty.on_story(&["drift"]).fine().starts_with("There is no snapshot of a plan yet"));
}

#[test]
fn a_graph_goes_to_stdout_or_to_a_file() {
    let place = story();
    let mermaid = place.on_story(&["roadmap", "graph", "import"]).fine();
    assert!(mermaid.starts_with("---\ntitle: \"Nightly import v2\"\n---\nflowchart TD\n"), "{mermaid}");
    let run = place.on_story(&["roadmap", "graph", "import", "--format", "svg", "-o", "plan.svg"]);
    assert_eq!((run.code, run.out.as_str(), run.err.as_str()), (0, "", "Wrote plan.svg: 4 nodes\n"));
    assert!(place.read("plan.svg").starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
    let data = place.on_story(&["--json", "roadmap", "graph", "import"]).json();
    assert_eq!(data, json!({"format": "mermaid", "graph": mermaid}));
    let compared = place.on_story(&["context", "diff", "1", "--graph", "mermaid"]).fine();
    assert!(compared.contains("  class n0 added\n  class n3 removed\n  class n4 changed\n"), "{compared}");
    let compared = place.on_story(&["context", "diff", "1", "--graph", "svg"]).fine();
    assert!(compared.contains("removed\"><title>quirks: "), "{compared}");
    let run = place.on_story(&["roadmap", "graph", "import", "-o", "no/plan.mmd"]);
    assert!(run.code == 1 && run.err.starts_with("error: cannot write `no/plan.mmd`"), "{}", run.err);
    assert_eq!(place.on_story(&["roadmap", "graph", "import", "--format", "png"]).code, 2);
}

/// Ends quotes, tags and lines, reverses, and is wide: what an id may hold.
fn hostile_id(name: &str) -> String {
    format!("{name}\"] --> x %%{{init: {{}}}}%% </title><script>alert('1')</script>`&#\u{202e}\u{200b}字")
}

/// Also clears the screen, breaks the line, and is long: what a label may hold.
fn hostile(name: &str) -> String {
    format!("{}\x1b[2J\x07\n{}", hostile_id(name), "long ".repeat(160))
}

#[test]
fn hostile_plans_stay_text_wherever_they_are_shown() {
    let place = Place::new();
    let plan = |extra: &str| {
        json!({
            "title": hostile("title") + extra, "description": hostile("about"),
            "phases": [{"id": hostile_id("p"), "title": hostile("phase") + extra, "note": hostile(extra)}],
            "nodes": [
                {"id": hostile_id("a"), "label": hostile("label") + extra, "phase": hostile_id("p"),
                 "scope": hostile(extra)},
                {"id": hostile_id("b") + extra, "label": "x",
                 "dependencies": [hostile_id("a"), hostile_id("nowhere")]},
            ],
            "connections": [{"from": hostile_id("a"), "to": hostile_id("b") + extra, "type": hostile_id("kind")}],
        })
    };
    write_plan(&place, "evil", &plan("1"));
    assert_eq!(place.on_story(&["context", "create", "evil"]).code, 0);
    let decision = format!("because of {}", hostile_id("a"));
    assert_eq!(place.on_story(&["record", "decision", &decision, "-s", "s", "--context", "1"]).code, 0);
    write_plan(&place, "evil", &plan("2"));
    let metadata = json!({ "why": hostile("m") }).to_string();
    assert_eq!(place.on_story(&["context", "create", "evil", "--metadata", &metadata]).code, 0);
    let harmless = |text: &str| {
        text.chars().all(|c| c == '\n' || !c.is_control() && !matches!(c, '\u{202e}' | '\u{200b}'))
    };
    let commands: [&[&str]; 16] = [
        &["roadmap", "list"],
        &["roadmap", "show", "evil"],
        &["roadmap", "validate", "evil"],
        &["roadmap", "graph", "evil"],
        &["roadmap", "graph", "evil", "--format", "svg"],
        &["context", "create", "evil"],
        &["context", "show", "2"],
        &["context", "history", "evil"],
        &["context", "diff", "1", "2"],
        &["context", "diff", "1", "2", "--all"],
        &["context", "diff", "1", "2", "--graph", "mermaid"],
        &["context", "diff", "1", "2", "--graph", "svg"],
        &["context", "search", "label*"],
        &["context", "show", "\x1b[2J"],
        &["roadmap", "show", "\x1b[2J\u{202e}"],
        &["drift"],
    ];
    for args in commands {
        let run = place.on_story(args);
        assert!(harmless(&run.out) && harmless(&run.err), "{args:?}: {run:?}");
        assert!(!run.out.contains("<script") || !args.contains(&"svg"), "{args:?}");
        if args.contains(&"mermaid") || args == ["roadmap", "graph", "evil"] {
            assert!(
                !run.out.contains("%%") && !run.out.contains('<') && !run.out.contains('`'),
                "{}",
                run.out
            );
        }
    }
    let wide = place.on_story(&["context", "diff", "1", "2", "--all"]).out;
    assert!(wide.lines().all(|line| line.chars().count() <= 100), "{wide}");
}

#[test]
fn ten_thousand_nodes_are_compared_and_drawn() {
    let place = Place::new();
    let plan = |edit: &str| {
        let node = |n: usize| {
            let needs =
                if n == 0 { json!([]) } else { json!([format!("n{}", n / 2), format!("n{}", n - 1)]) };
            json!({"id": format!("n{n}"), "label": format!("Node {n}{edit}"), "dependencies": needs})
        };
        json!({"title": "Big", "nodes": (0..10_000).map(node).collect::<Vec<_>>()})
    };
    write_plan(&place, "big", &plan(""));
    assert_eq!(place.on_story(&["context", "create", "big"]).code, 0);
    write_plan(&place, "big", &plan("!"));
    assert_eq!(place.on_story(&["context", "create", "big"]).code, 0);
    let changes = place.on_story(&["context", "diff", "1"]).fine();
    assert!(changes.ends_with("\n10,000 nodes changed\n"));
    assert_eq!(place.on_story(&["context", "diff", "1", "--graph", "svg", "-o", "big.svg"]).code, 0);
    assert_eq!(place.read("big.svg").matches("class=\"label\"").count(), 10_000);
    let mermaid = place.on_story(&["roadmap", "graph", "big"]);
    assert!(mermaid.err.contains("Mermaid draws 500"), "{}", mermaid.err);
    write_plan(&place, "big", &second_plan());
    assert_eq!(place.on_story(&["roadmap", "validate", "big"]).code, 0);
}
