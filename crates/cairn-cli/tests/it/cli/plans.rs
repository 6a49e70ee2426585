//! `cairn roadmap`, `context` and `drift`.

use std::path::Path;

use cairn::{NewThought, ThoughtType};
use serde_json::{Value, json};

use super::harness::{Place, id, open};
use crate::it::database::tamper;

/// The plan of a nightly import, and what became of it.
pub fn first_plan() -> Value {
    json!({
        "title": "Nightly import",
        "description": "Rows from the partner's feed, every night.",
        "phases": [{"id": "read", "title": "Read the feed"}, {"id": "load", "title": "Load the rows"}],
        "nodes": [
            {"id": "fetch", "label": "Fetch the feed", "phase": "read"},
            {"id": "quirks", "label": "Work around broken quoting", "phase": "read", "dependencies": ["fetch"]},
            {"id": "keys", "label": "Find natural keys", "phase": "load", "dependencies": ["fetch"]},
            {"id": "upsert", "label": "Upsert rows", "phase": "load", "scope": "All in one transaction",
             "dependencies": ["keys", "quirks"]},
        ],
        "connections": [{"from": "fetch", "to": "upsert", "type": "feeds"}],
    })
}

pub fn second_plan() -> Value {
    let mut plan = first_plan();
    plan["title"] = json!("Nightly import v2");
    plan["phases"] =
        json!([{"id": "read", "title": "Read the feed"}, {"id": "check"}, {"id": "load", "title": "Load"}]);
    let nodes = plan["nodes"].as_array_mut().unwrap();
    nodes.remove(1);
    nodes[2] = json!({"id": "upsert", "label": "Upsert in batches", "phase": "load",
                      "scope": "Batches of 1,000 rows", "dependencies": ["keys"]});
    nodes.push(json!({"id": "count", "label": "Compare counts", "phase": "check"}));
    plan["connections"] = json!([
        {"from": "fetch", "to": "upsert", "type": "feeds"},
        {"from": "upsert", "to": "count", "type": "feeds"},
    ]);
    plan
}

pub fn write_plan(place: &Place, id: &str, plan: &Value) {
    std::fs::create_dir_all(place.path("roadmaps")).unwrap();
    place.write(&format!("roadmaps/{id}.json"), &serde_json::to_string_pretty(plan).unwrap());
}

/// Two snapshots of `import`, one of `other`, and two decisions that rest on the first.
pub fn story() -> Place {
    let place = Place::new();
    let path = place.path("cairn.db");
    let (cairn, at) = open(&path);
    write_plan(&place, "import", &first_plan());
    write_plan(&place, "other", &json!({"title": "Other", "nodes": [{"id": "a", "label": "A"}]}));
    assert_eq!(cairn.context_create("import", None).unwrap().context.context_id, 1);
    let decide = |minute: u64, text: &str| {
        at(minute);
        let thought = NewThought::new(ThoughtType::Decision, text).session("import-v1").agent("ada");
        cairn.record(NewThought { context_id: Some(1), ..thought }).unwrap();
    };
    decide(1, "upsert by natural key (keys):\nquirks goes first");
    decide(2, "No mail on failure");
    at(3);
    write_plan(&place, "import", &second_plan());
    let metadata = json!({"why": "review"}).as_object().cloned();
    assert_eq!(cairn.context_create("import", metadata).unwrap().context.context_id, 2);
    assert_eq!(cairn.context_create("other", None).unwrap().context.context_id, 3);
    cairn.close();
    place
}

fn refusal(place: &Place, args: &[&str]) -> String {
    let run = place.on_story(args);
    assert_eq!((run.code, run.out.as_str()), (1, ""), "{args:?}: {}", run.err);
    run.err
}

fn error_code(place: &Place, args: &[&str]) -> String {
    let run = place.on_story(&[&["--json"], args].concat());
    assert_eq!((run.code, run.err.as_str()), (1, ""), "{args:?}: {}", run.out);
    run.json()["error"]["code"].as_str().unwrap().to_string()
}

fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

#[test]
fn roadmaps_need_no_database() {
    let place = Place::new();
    write_plan(&place, "import", &first_plan());
    let list = place.run(&["--db", "cairn.db", "roadmap", "list"]).fine();
    assert_eq!(list, "id      form  nodes  phases  title\nimport  json  4      2       Nightly import\n");
    for args in [&["show", "import"][..], &["validate"], &["validate", "import"], &["graph", "import"]] {
        place.run(&[&["--db", "cairn.db", "roadmap"], args].concat()).fine();
    }
    assert!(!place.path("cairn.db").exists());
    // The folder can be named, and then it does not matter where the database would be.
    let named = place.run(&["--roadmaps", "roadmaps", "--json", "roadmap", "list"]).json();
    assert_eq!(named["roadmaps"][0]["id"], "import");
    let from_env = place.command(&["--json", "roadmap", "list"]).env("CAIRN_ROADMAPS", "roadmaps").output();
    assert!(String::from_utf8(from_env.unwrap().stdout).unwrap().contains("Nightly import"));
}

#[test]
fn a_folder_that_is_not_there_holds_no_roadmaps() {
    let place = Place::new();
    let run = place.run(&["--db", "cairn.db", "roadmap", "list"]);
    let err = "No roadmaps in `roadmaps`; `cairn roadmap add FILE` puts one there\n";
    assert_eq!((run.code, run.out.as_str(), run.err.as_str()), (0, "", err));
    let run = place.run(&["--db", "cairn.db", "--json", "roadmap", "list"]);
    assert_eq!(run.json(), json!({"count": 0, "roadmaps": []}));
    let run = place.run(&["--db", "cairn.db", "roadmap", "validate"]);
    assert_eq!((run.code, run.err.as_str()), (0, "No roadmaps in `roadmaps`\n"));
    let err = refusal(&place, &["roadmap", "show", "import"]);
    assert_eq!(err, "error: no roadmap `import`\n\nhint: `cairn roadmap list` shows what there is\n");
}

#[test]
fn a_roadmap_is_shown_phase_by_phase() {
    let place = story();
    write_plan(&place, "import", &first_plan());
    let expected = "\
Nightly import  import  4 nodes, 2 phases

  Rows from the partner's feed, every night.

Read the feed  read
  fetch   Fetch the feed
  quirks  Work around broken quoting
          needs fetch

Load the rows  load
  keys    Find natural keys
          needs fetch
  upsert  Upsert rows
          All in one transaction
          needs fetch (feeds), keys, quirks
";
    assert_eq!(place.on_story(&["roadmap", "show", "import"]).fine(), expected);
    let data = place.on_story(&["--json", "roadmap", "show", "import"]).json();
    assert_eq!(keys(&data), ["connections", "description", "id", "nodes", "phases", "title"]);
    assert_eq!(data["nodes"][0]["dependents"], json!(["keys", "quirks", "upsert"]));
}

#[test]
fn flaws_are_warned_of_and_found_by_validate() {
    let place = story();
    let flawed = json!({"title": "Flawed", "nodes": [
        {"id": "a", "label": "A", "dependencies": ["b", "nowhere"]},
        {"id": "b", "label": "B", "phase": "never", "dependencies": ["a"]},
        {"id": "b", "label": "Again"},
    ]});
    write_plan(&place, "flawed", &flawed);
    let run = place.on_story(&["roadmap", "show", "flawed"]);
    assert_eq!(run.code, 0);
    assert!(
        run.err.contains("warning: flawed.json:") && run.err.contains("there is no node `nowhere`"),
        "{}",
        run.err
    );
    let run = place.on_story(&["roadmap", "validate", "flawed"]);
    assert_eq!((run.code, run.err.as_str()), (1, ""));
    let issue = run.out.lines().find(|line| line.contains("nowhere")).unwrap();
    let (place_of, rest) = issue.split_once(' ').unwrap();
    assert!(place_of.strip_prefix("flawed.json:").unwrap().parse::<u32>().is_ok(), "{issue}");
    assert_eq!(rest, "nodes[0].dependencies: there is no node `nowhere`");
    assert!(run.out.ends_with("flaws\n"), "{}", run.out);
    let all = place.on_story(&["--json", "roadmap", "validate"]);
    assert_eq!((all.code, &all.json()["valid"], &all.json()["count"]), (1, &json!(false), &json!(3)));
    let one = place.on_story(&["--json", "roadmap", "validate", "import"]);
    assert_eq!((one.code, one.json()), (0, json!({"valid": true, "issues": []})));
    let made = place.on_story(&["context", "create", "flawed"]);
    assert!(made.code == 0 && made.err.contains("warning: nodes["), "{made:?}");
    let shown = place.on_story(&["context", "show", "4"]).fine();
    assert!(
        shown.contains("what was wrong with it\n") && shown.contains("never  not among the phases\n"),
        "{shown}"
    );
}

#[test]
fn a_file_is_added_as_it_is_if_it_is_sound() {
    let place = Place::new();
    let text = "# what we want\ntitle: Small\nnodes:\n  - id: a\n    label: First\n";
    place.write("small.yaml", text);
    let add = |args: &[&str]| place.on_story(&[&["roadmap", "add"], args].concat());
    assert_eq!(add(&["small.yaml"]).fine(), "Added small as small.yaml: 1 node, 0 phases\n");
    assert_eq!(place.read("roadmaps/small.yaml"), text);
    let again = add(&["small.yaml"]);
    assert!(again.code == 1 && again.err.contains("pass `--overwrite`"), "{}", again.err);
    assert_eq!(
        add(&["small.yaml", "--overwrite"]).fine(),
        "Replaced small as small.yaml: 1 node, 0 phases\n"
    );
    assert_eq!(add(&["small.yaml", "--id", "tiny"]).fine(), "Added tiny as tiny.yaml: 1 node, 0 phases\n");
    let run = place.on_story(&["--json", "roadmap", "add", "small.yaml", "--id", "third"]);
    assert_eq!((&run.json()["id"], &run.json()["replaced"]), (&json!("third"), &json!(false)));
    place.write("bad.yaml", "title: Bad\nnodes:\n  - id: a\n    label: A\n    dependencies: [nowhere]\n");
    let run = add(&["bad.yaml"]);
    assert!(run.code == 1 && run.err.contains("there is no node `nowhere`"), "{}", run.err);
    assert!(!place.path("roadmaps/bad.yaml").exists());
    let missing = add(&["missing.yaml"]);
    assert_eq!((missing.code, missing.err.as_str()), (1, "error: no file `missing.yaml`\n"));
    place.write("my plan.yaml", text);
    let unnamed = add(&["my plan.yaml"]);
    assert!(
        unnamed.code == 1 && unnamed.err.contains("hint: name the roadmap with `--id`"),
        "{}",
        unnamed.err
    );
    // Not the flag `--metadata`.
    place.write("metadata.yaml", "title: T\n");
    assert!(add(&["metadata.yaml"]).err.starts_with("error: metadata.yaml:1 nodes: is missing"));
    assert_eq!(add(&["small.yaml", "--id", "../up"]).code, 1);
    assert!(!place.path("up.yaml").exists() && !Path::new("../up.yaml").exists());
}

#[test]
fn a_file_that_cannot_be_read_is_listed_with_the_reason() {
    let place = story();
    place.write("roadmaps/broken.json", "{\"title\": ");
    let list = place.on_story(&["roadmap", "list"]).fine();
    let row = list.lines().find(|line| line.starts_with("broken")).unwrap();
    assert!(row.contains("–") && row.contains("cannot be read: "), "{row}");
    let huge = std::fs::File::create(place.path("roadmaps/huge.yaml")).unwrap();
    huge.set_len(50 << 20).unwrap();
    let all = place.on_story(&["roadmap", "validate"]);
    assert_eq!(all.code, 1);
    for line in ["broken: 1 flaw\n", "huge.yaml: roadmap has 52428800 bytes", "import: sound\n"] {
        assert!(all.out.contains(line), "one that is refused does not hide the others: {}", all.out);
    }
    assert_eq!(place.on_story(&["roadmap", "show", "broken"]).code, 1);
    assert_eq!(place.on_story(&["context", "ensure", "broken"]).code, 1);
}

#[test]
fn a_snapshot_is_made_once_for_each_state_of_the_file() {
    let place = Place::new();
    write_plan(&place, "import", &first_plan());
    let line = place.on_story(&["context", "ensure", "import", "--meta", "why=start"]).fine();
    assert_eq!(line, "context 1 of import: 4 nodes, hash 7ecb7796d3205e41…, new\n");
    let line = place.on_story(&["context", "ensure", "import"]).fine();
    assert!(
        line.starts_with("context 1 of import: 4 nodes, hash 7ecb7796d3205e41…, unchanged since 20"),
        "{line}"
    );
    let made = place.on_story(&["--json", "context", "create", "import", "--metadata", "{\"n\": 1}"]).json();
    assert_eq!(keys(&made), ["context", "summary", "warnings"]);
    assert_eq!(keys(&made["summary"]), ["content_hash", "node_count", "roadmap_id"]);
    assert_eq!((&made["context"]["context_id"], &made["context"]["metadata"]), (&json!(2), &json!({"n": 1})));
    assert_eq!(made["context"]["content_hash"].as_str().unwrap().len(), 64);
    assert_eq!(made["summary"]["content_hash"].as_str().unwrap().chars().count(), 17);
    let found = place.on_story(&["--json", "context", "ensure", "import"]).json();
    assert_eq!(
        (keys(&found), &found["is_existing"]),
        (vec!["context", "is_existing", "warnings"], &json!(true))
    );
    let run = place.on_story(&["context", "create", "import", "--metadata", "[1]"]);
    assert_eq!(run.code, 2, "{}", run.err);
}

#[test]
fn snapshots_are_listed_shown_and_verified() {
    let place = story();
    let history = place.on_story(&["context", "history", "import"]).fine();
    let expected = "\
context  time (UTC)        nodes  hash               metadata
2        2026-04-17 12:03  4      SECOND  {\"why\":\"review\"}
1        2026-04-17 12:00  4      FIRST
";
    let hash = |context: &str| {
        let context = place.on_story(&["--json", "context", "show", context]).json();
        context["context"]["content_hash"].as_str().unwrap().to_string()
    };
    let expected = expected.replace("SECOND", &format!("{}…", &hash("2")[..16]));
    assert_eq!(history, expected.replace("FIRST", &format!("{}…", &hash("1")[..16])));
    let data = place.on_story(&["--json", "context", "history", "import", "-n", "1"]).json();
    assert_eq!((&data["roadmap_id"], &data["count"]), (&json!("import"), &json!(1)));
    assert_eq!(keys(&data["contexts"][0]), ["content_hash", "context_id", "created_at", "metadata"]);
    let page = place.on_story(&["context", "show", "2"]).fine();
    assert!(page.starts_with("context 2 of import\n  title    Nightly import v2\n"), "{page}");
    assert!(
        page.contains(&hash("2")) && page.contains("\nmetadata\n  {\n    \"why\": \"review\"\n  }\n"),
        "{page}"
    );
    assert_eq!(place.on_story(&["context", "latest", "import"]).fine(), page);
    let none = place.on_story(&["context", "latest", "nothing"]);
    assert_eq!((none.code, none.out.as_str()), (0, ""));
    let none = place.on_story(&["--json", "context", "latest", "nothing"]).json();
    assert!(none["context"].is_null() && none["message"].is_string());
    let verdict = place.on_story(&["context", "verify", "1"]).fine();
    assert!(verdict.contains(&format!("  stored   {0}\n  found    {0}\n", hash("1"))), "{verdict}");
    let verdict = place.on_story(&["--json", "context", "verify", "1"]).json();
    let fields = ["context_id", "created_at", "message", "recalculated_hash", "stored_hash", "valid"];
    assert_eq!((keys(&verdict), &verdict["valid"]), (fields.to_vec(), &json!(true)));
}

#[test]
fn what_is_not_there_is_said_and_nothing_is_made_of_it() {
    let place = story();
    let no_context = "error: no context `9`\n\nhint: `cairn context history ROADMAP` shows what there is\n";
    for args in [&["show", "9"][..], &["diff", "9"], &["diff", "1", "9"], &["verify", "9"]] {
        let args = [&["context"], args].concat();
        assert_eq!(refusal(&place, &args), no_context, "{args:?}");
        assert_eq!(error_code(&place, &args), "NOT_FOUND");
    }
    for args in
        [&["context", "create", "no"][..], &["context", "ensure", "no"], &["drift", "--roadmap", "no"]]
    {
        assert!(refusal(&place, args).starts_with("error: no roadmap `no`\n"), "{args:?}");
        assert_eq!(error_code(&place, args), "NOT_FOUND");
    }
    for bad in ["../x", "a/b", ".hidden", ""] {
        for args in [&["context", "create", bad][..], &["context", "history", bad], &["roadmap", "show", bad]]
        {
            assert_eq!(error_code(&place, args), "INVALID_PARAMS", "{args:?}");
        }
    }
    let err = refusal(&place, &["context", "diff", "1", "3"]);
    assert!(err.contains("`import`") && err.contains("`other`"), "{err}");
    assert_eq!(error_code(&place, &["context", "diff", "1", "3"]), "INVALID_PARAMS");
    for wrong in
        [&["context", "diff", "x"][..], &["context", "diff", "1", "2", "-o", "f"], &["context"], &["roadmap"]]
    {
        assert_eq!(place.on_story(wrong).code, 2, "{wrong:?}");
    }
    // Reading makes no database.
    let empty = Place::new();
    assert!(refusal(&empty, &["drift"]).starts_with("error: there is no database"));
    assert!(!empty.path("cairn.db").exists());
}

#[test]
fn nodes_of_the_newest_snapshots_are_found() {
    let place = story();
    let found = place.on_story(&["context", "search", "batch*", "rows"]).fine();
    assert_eq!(found, "upsert  Upsert in batches  import  context 2  load\n  Batches of 1,000 rows\n");
    let data = place.on_story(&["--json", "context", "search", "counts"]).json();
    assert_eq!(data["count"], 1);
    let hit = &data["results"][0];
    assert_eq!(
        (&hit["roadmap_id"], &hit["context_id"], &hit["id"]),
        (&json!("import"), &json!(2), &json!("count"))
    );
    assert!(hit["snippet"].as_str().unwrap().contains("**counts**") && hit["rank"].is_f64());
    let nothing = place.on_story(&["context", "search", "quoting"]);
    assert_eq!((nothing.code, nothing.err.as_str()), (0, "Nothing matches.\n"));
    assert_eq!(
        place.on_story(&["--json", "context", "search", "a", "--roadmap", "import"]).json()["count"],
        0
    );
}

#[test]
fn a_thought_shows_the_plan_it_rests_on() {
    let place = story();
    let page = place.on_story(&["show", &id(1)]).fine();
    let expected =
        "  context    1 (roadmap import, captured 2026-04-17T12:00:00.000Z), superseded by context 2\n";
    assert!(page.contains(expected), "{page}");
    assert!(place.on_story(&["tree", "import-v1"]).fine().contains("No mail on failure [context 1]\n"));
    assert!(place.on_story(&["trail", &id(2)]).fine().contains("ada [context 1]\n"));
    let run = place.on_story(&["record", "decision", "On the new plan", "-s", "import-v2", "--context", "2"]);
    let page = place.on_story(&["show", run.out.trim()]).fine();
    assert!(page.contains("context    2 (roadmap import, captured 2026-04-17T12:03:00.000Z)\n"), "{page}");
    assert_eq!(place.on_story(&["record", "decision", "x", "-s", "s", "--context", "9"]).code, 1);
}

#[test]
fn a_snapshot_that_was_changed_does_not_verify() {
    let place = story();
    let change = "UPDATE snapshot SET data = replace(data, 'in one transaction', 'in two transaction')
                  WHERE data LIKE '%in one transaction%'";
    assert_eq!(tamper(&place.path("cairn.db"), change), 1);
    let run = place.on_story(&["context", "verify", "1"]);
    assert_eq!((run.code, run.err.as_str()), (1, ""), "{}", run.out);
    let value = |name: &str| run.out.lines().find_map(|line| line.trim().strip_prefix(name)).map(str::trim);
    assert!(value("stored").unwrap().starts_with("7ecb7796d3205e41"), "{}", run.out);
    assert_ne!(value("stored"), value("found"));
    let data = place.on_story(&["--json", "context", "verify", "1"]);
    assert_eq!((data.code, &data.json()["valid"]), (1, &json!(false)));
    assert_eq!(place.on_story(&["context", "verify", "2"]).code, 0);
}
