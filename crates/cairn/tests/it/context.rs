//! Snapshots of roadmaps: captured, stored once, compared, searched, and what drifted.

use cairn::{Error, FileState, NewThought, NodeChange, NodeQuery, Thought, ThoughtType};
use serde_json::{Value, json};

use crate::harness::{TestCairn, issues};

/// A plan of three steps, the middle one of which needs `needs`.
fn plan(needs: &[&str]) -> Value {
    json!({
        "title": "Import",
        "phases": [{"id": "build", "title": "Build"}, {"id": "run"}],
        "nodes": [
            {"id": "parse", "label": "Parse the file", "phase": "build"},
            {"id": "load", "label": "Load the rows", "phase": "build", "dependencies": needs},
            {"id": "report", "label": "Report what failed", "phase": "run", "dependencies": ["load"]},
        ],
    })
}

impl TestCairn {
    fn write(&self, id: &str, plan: &Value) {
        let folder = self.folder().join("roadmaps");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(format!("{id}.json")), plan.to_string()).unwrap();
    }

    fn decide(&self, context_id: u64, content: &str) -> Thought {
        let mut draft = NewThought::new(ThoughtType::Decision, content).session("s").agent("ada");
        draft.context_id = Some(context_id);
        self.record(draft).unwrap()
    }

    fn rows(&self, table: &str) -> i64 {
        self.sql().query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
    }
}

#[test]
fn a_snapshot_is_frozen_whole_and_stands_in_the_log() {
    let db = TestCairn::new();
    db.write("import", &plan(&["parse"]));
    let captured = db.context_create("import", json!({"why": "start"}).as_object().cloned()).unwrap();
    assert_eq!((captured.context.context_id, captured.is_existing, captured.warnings.len()), (1, false, 0));
    let context = db.context(1).unwrap().unwrap();
    assert_eq!(context.head, captured.context);
    assert_eq!(context.head.metadata.as_ref().unwrap()["why"], "start");
    assert_eq!((context.head.node_count, context.head.seq), (3, 1));
    let snapshot = serde_json::to_value(&context.snapshot).unwrap();
    assert_eq!(snapshot["captured_at"], context.head.created_at.as_str());
    assert_eq!(
        snapshot["nodes"][0],
        json!({"id": "load", "label": "Load the rows", "scope": null, "phase": "build",
               "dependencies": ["parse"], "dependents": ["report"]})
    );
    // The hash that anybody can compute: SHA-256 of the canonical JSON without `captured_at`.
    let mut data = snapshot.clone();
    data.as_object_mut().unwrap().remove("captured_at");
    let bytes = cairn::core::canonical::to_bytes(&data).unwrap();
    assert_eq!(cairn::Sha::of(&bytes), context.head.content_hash);
    assert_eq!(db.check().contexts, 1);
    assert_eq!(db.context(2).unwrap(), None);
    assert_eq!(db.context(0).unwrap(), None);
}

#[test]
fn the_same_content_is_stored_once_however_many_snapshots_point_to_it() {
    let db = TestCairn::new();
    db.write("import", &plan(&["parse"]));
    db.write("copy", &plan(&["parse"]));
    let first = db.context_create("import", None).unwrap().context;
    let second = db.context_create("import", None).unwrap().context;
    let other = db.context_create("copy", None).unwrap().context;
    assert_eq!((first.context_id, second.context_id, other.context_id), (1, 2, 3));
    assert_eq!(first.content_hash, second.content_hash);
    assert_eq!(first.content_hash, other.content_hash);
    assert_eq!((db.rows("context"), db.rows("snapshot")), (3, 1));
    db.check();
    let history: Vec<u64> =
        db.context_history("import", None).unwrap().iter().map(|context| context.context_id).collect();
    assert_eq!(history, [2, 1]);
    assert_eq!(db.context_history("import", Some(1)).unwrap().len(), 1);
    assert_eq!(db.context_latest("copy").unwrap().unwrap().head.context_id, 3);
    assert_eq!(db.context_latest("unheard-of").unwrap(), None);
}

#[test]
fn ensure_makes_a_snapshot_exactly_when_the_plan_has_changed() {
    let db = TestCairn::new();
    db.write("import", &plan(&[]));
    let first = db.context_ensure("import", None).unwrap();
    assert!(!first.is_existing);
    let again = db.context_ensure("import", None).unwrap();
    assert!(again.is_existing);
    assert_eq!(again.context, first.context);
    // Another layout of the same plan is no change; an edit within the same second that leaves the size of the
    // file as it is, is one.
    let folder = db.folder().join("roadmaps/import.json");
    std::fs::write(&folder, serde_json::to_string_pretty(&plan(&[])).unwrap()).unwrap();
    assert!(db.context_ensure("import", None).unwrap().is_existing);
    db.write("import", &plan(&[]));
    assert!(db.context_ensure("import", None).unwrap().is_existing);
    let time = std::fs::metadata(&folder).unwrap().modified().unwrap();
    let edited = plan(&[]).to_string().replace("Parse the file", "Parse the line");
    std::fs::write(&folder, edited).unwrap();
    std::fs::File::options().append(true).open(&folder).unwrap().set_modified(time).unwrap();
    let edited = db.context_ensure("import", None).unwrap();
    assert!(!edited.is_existing);
    assert_eq!(edited.context.context_id, 2);
    // Back to the first content: a new snapshot of content that is stored already.
    db.write("import", &plan(&[]));
    let back = db.context_ensure("import", None).unwrap();
    assert_eq!((back.is_existing, back.context.context_id), (false, 3));
    assert_eq!(back.context.content_hash, first.context.content_hash);
    assert_eq!(db.rows("snapshot"), 2);
    db.check();
}

#[test]
fn many_that_ensure_at_once_make_one_snapshot() {
    let db = TestCairn::real();
    for round in 1..=5 {
        db.write("import", &json!({"title": format!("round {round}"), "nodes": []}));
        let made: Vec<bool> = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..8)
                .map(|worker| {
                    // Half of them on handles of their own, as other processes would have it.
                    let cairn = if worker % 2 == 0 { db.another() } else { db.cairn.clone() };
                    scope.spawn(move || !cairn.context_ensure("import", None).unwrap().is_existing)
                })
                .collect();
            workers.into_iter().map(|worker| worker.join().unwrap()).collect()
        });
        assert_eq!(made.iter().filter(|made| **made).count(), 1);
        assert_eq!(db.rows("context"), round);
    }
    db.check();
}

#[test]
fn ensure_prunes_the_documents_of_older_snapshots() {
    let db = TestCairn::new();
    db.write("import", &plan(&[]));
    db.write("other", &plan(&[]));
    db.context_ensure("import", None).unwrap();
    db.context_ensure("other", None).unwrap();
    let found = |query: &str, roadmap: Option<&str>| -> Vec<(String, u64, String)> {
        let query =
            NodeQuery { query: query.into(), roadmap_id: roadmap.map(Into::into), ..Default::default() };
        let hits = db.context_search(&query).unwrap();
        hits.into_iter().map(|hit| (hit.roadmap_id.to_string(), hit.context_id, hit.node.id)).collect()
    };
    assert_eq!(found("rows", None).len(), 2);
    assert_eq!(found("rows", Some("import")), [("import".to_string(), 1, "load".to_string())]);
    assert_eq!(db.rows("rag_documents"), 6);
    let mut smaller = plan(&[]);
    smaller["nodes"].as_array_mut().unwrap().truncate(1);
    db.write("import", &smaller);
    db.context_ensure("import", None).unwrap();
    assert_eq!(found("rows", Some("import")), []);
    assert_eq!(found("pars*", Some("import")), [("import".to_string(), 3, "parse".to_string())]);
    assert_eq!(db.rows("rag_documents"), 4);
    assert_eq!(found("rows -report", None).len(), 1);
    db.check();
    // What was pruned comes back with the plan that had it.
    db.rebuild().unwrap();
    assert_eq!(db.rows("rag_documents"), 4);
    db.check();
}

#[test]
fn documents_are_pruned_without_a_search_too() {
    let db = TestCairn::new();
    db.write("import", &plan(&[]));
    db.context_ensure("import", None).unwrap();
    db.write("import", &json!({"title": "t", "nodes": [{"id": "only", "label": "Only"}]}));
    let cairn = db.another();
    cairn.context_ensure("import", None).unwrap();
    cairn.close();
    assert_eq!(db.rows("rag_documents"), 1);
}

#[test]
fn compare_names_the_node_and_the_field() {
    let db = TestCairn::new();
    db.write("import", &plan(&[]));
    db.context_create("import", None).unwrap();
    db.write("import", &plan(&["parse"]));
    db.context_create("import", None).unwrap();
    let compared = db.context_compare(1, None).unwrap();
    assert_eq!((compared.context_id1, compared.context_id2), (1, 2));
    let modified: Vec<(&str, Vec<&String>)> = compared
        .diff
        .nodes
        .modified
        .iter()
        .map(|node| (node.id.as_str(), node.fields.keys().collect()))
        .collect();
    assert_eq!(
        modified,
        [("load", vec![&"dependencies".to_string()]), ("parse", vec![&"dependents".to_string()])]
    );
    assert_eq!(compared.diff.nodes.modified[0].fields["dependencies"], json!({"old": [], "new": ["parse"]}));
    assert_eq!(compared.diff.total_changes(), 2);
    assert!(db.context_compare(2, Some(2)).unwrap().diff.identical());
    assert!(db.context_compare(2, None).unwrap().diff.identical());
    // The other way round, too.
    assert_eq!(db.context_compare(2, Some(1)).unwrap().diff.total_changes(), 2);
}

#[test]
fn snapshots_of_two_roadmaps_are_not_comparable() {
    let db = TestCairn::new();
    db.write("a", &plan(&[]));
    db.write("b", &plan(&[]));
    db.context_create("a", None).unwrap();
    db.context_create("b", None).unwrap();
    let expected = "context_id2: context 1 is of roadmap `a`, and context 2 of `b`; only snapshots of one roadmap \
                    can be compared";
    assert_eq!(issues(db.context_compare(1, Some(2))), [expected]);
    assert!(matches!(db.context_compare(1, Some(9)), Err(Error::NotFound { what: "context", .. })));
}

#[test]
fn a_flawed_plan_is_frozen_with_its_warnings() {
    let db = TestCairn::new();
    db.write("import", &plan(&["nowhere", "report"]));
    let captured = db.context_create("import", None).unwrap();
    let warnings: Vec<String> = captured.warnings.iter().map(|flaw| flaw.message.clone()).collect();
    assert_eq!(
        warnings,
        ["there is no node `nowhere`", "these nodes depend on each other in a circle: load → report → load"]
    );
    assert_eq!(db.context(1).unwrap().unwrap().warnings, captured.warnings);
    assert_eq!(db.context_ensure("import", None).unwrap().warnings, captured.warnings);
    db.check();
}

#[test]
fn a_thought_names_only_a_snapshot_that_exists() {
    let db = TestCairn::new();
    let draft = |context_id| NewThought {
        context_id: Some(context_id),
        ..NewThought::new(ThoughtType::Decision, "x").session("s").agent("ada")
    };
    for missing in [0, 1, 7, u64::MAX] {
        let refused = db.record(draft(missing));
        assert!(matches!(refused, Err(Error::NotFound { what: "context", .. })), "{refused:?}");
    }
    db.write("import", &plan(&[]));
    db.context_create("import", None).unwrap();
    let thought = db.record(draft(1)).unwrap();
    assert_eq!(thought.context_id, Some(1));
    assert_eq!(db.get(thought.id.as_str()).unwrap().unwrap(), thought);
    assert_eq!(db.tree("s", false).unwrap()[0].context_id, Some(1));
    // Another handle makes a snapshot, and this one knows of it.
    db.another().context_create("import", None).unwrap();
    db.record(draft(2)).unwrap();
    assert!(db.record(draft(3)).is_err());
    db.check();
}

#[test]
fn an_unknown_roadmap_a_bad_id_and_a_bad_limit_are_refused() {
    let db = TestCairn::new();
    assert!(matches!(db.context_create("import", None), Err(Error::NotFound { what: "roadmap", .. })));
    assert!(matches!(db.drift(Some("import"), None), Err(Error::NotFound { what: "roadmap", .. })));
    for bad in ["", "..", "a/b", "../import", "a\0b", "ä"] {
        assert_eq!(issues(db.context_ensure(bad, None)).len(), 1, "{bad}");
        assert_eq!(issues(db.context_history(bad, None)).len(), 1, "{bad}");
    }
    assert_eq!(issues(db.context_history("a", Some(101))), ["limit: must be between 1 and 100, found 101"]);
    let huge = json!({"a": "x".repeat(70_000)}).as_object().cloned();
    db.write("import", &plan(&[]));
    assert!(matches!(db.context_create("import", huge), Err(Error::TooLarge { field: "metadata", .. })));
    assert_eq!(db.rows("context"), 0);
}

#[test]
fn drift_names_the_decisions_and_what_happened_to_their_nodes() {
    let db = TestCairn::new();
    db.write("import", &plan(&[]));
    db.context_create("import", None).unwrap();
    let old = db.decide(1, "Batch the inserts of load, and drop report; parse stays");
    let silent = db.decide(1, "Something about nothing");
    let quiet = NewThought { context_id: Some(1), ..NewThought::new(ThoughtType::Plan, "load").session("s") };
    db.record(quiet.agent("ada")).unwrap();
    db.decide_with_metadata(1);
    let still = db.drift(None, None).unwrap();
    assert_eq!((still.decisions, still.drifted, still.results.len()), (3, 0, 0));
    assert_eq!(still.plans[0].file, FileState::Unchanged);

    let mut edited = plan(&[]);
    edited["nodes"][1]["label"] = json!("Load the rows in batches");
    edited["nodes"].as_array_mut().unwrap().pop();
    db.write("import", &edited);
    // The current plan is the newest snapshot; the file is only told of.
    assert_eq!(db.drift(None, None).unwrap().plans[0].file, FileState::Changed);
    assert_eq!(db.drift(None, None).unwrap().drifted, 0);
    db.context_ensure("import", None).unwrap();
    let current = db.decide(2, "load again");

    let drift = db.drift(Some("import"), None).unwrap();
    assert_eq!((drift.decisions, drift.drifted), (4, 3));
    let ids: Vec<&str> = drift.results.iter().map(|result| result.thought.id.as_str()).collect();
    assert_eq!(&ids[1..], [silent.id.as_str(), old.id.as_str()]);
    assert!(!ids.contains(&current.id.as_str()));
    let named = &drift.results[2];
    assert_eq!(
        (named.thought.context_id, named.current_context_id, named.total_changes),
        (Some(1), 2, Some(2))
    );
    assert_eq!(named.unchanged_nodes, ["parse"]);
    let nodes: Vec<_> = named.nodes.iter().map(|node| (node.id.as_str(), node.change)).collect();
    assert_eq!(nodes, [("load", NodeChange::Modified), ("report", NodeChange::Removed)]);
    assert_eq!(
        named.nodes[0].fields["label"],
        json!({"old": "Load the rows", "new": "Load the rows in batches"})
    );
    assert!(drift.results[1].nodes.is_empty() && drift.results[1].unchanged_nodes.is_empty());
    assert_eq!(drift.results[0].nodes[0].id, "report", "named in the metadata");
    assert_eq!(db.drift(None, Some(1)).unwrap().results.len(), 1);

    // Back to the old plan: what rested on it has not drifted, what rested on the other has.
    db.write("import", &plan(&[]));
    db.context_ensure("import", None).unwrap();
    let drift = db.drift(None, None).unwrap();
    let ids: Vec<&str> = drift.results.iter().map(|result| result.thought.id.as_str()).collect();
    assert_eq!(ids, [current.id.as_str()]);
    std::fs::remove_file(db.folder().join("roadmaps/import.json")).unwrap();
    assert_eq!(db.drift(None, None).unwrap().plans[0].file, FileState::Missing);
}

impl TestCairn {
    fn decide_with_metadata(&self, context_id: u64) -> Thought {
        let metadata = json!({"nodes": ["report"]}).as_object().unwrap().clone();
        let draft = NewThought::new(ThoughtType::Decision, "see metadata").session("s").agent("ada");
        self.record(NewThought { context_id: Some(context_id), ..draft.metadata(metadata) }).unwrap()
    }
}

#[test]
fn one_changed_character_of_a_stored_snapshot_is_found() {
    let db = TestCairn::new();
    db.write("import", &plan(&[]));
    db.context_create("import", None).unwrap();
    let sound = db.context_verify(1).unwrap();
    assert!(sound.valid == Some(true), "{}", sound.message);
    assert_eq!(sound.stored_hash, sound.recalculated_hash);
    db.tamper("UPDATE snapshot SET data = replace(data, 'Load the rows', 'Load the cows')");
    let verdict = db.context_verify(1).unwrap();
    assert!(verdict.valid == Some(false) && verdict.stored_hash != verdict.recalculated_hash, "{verdict:?}");
    // Whoever changes the hash as well has the log against him.
    let data: String = db.sql().query_row("SELECT data FROM snapshot", [], |row| row.get(0)).unwrap();
    db.tamper(&format!("UPDATE snapshot SET content_hash = x'{}'", cairn::Sha::of(data.as_bytes())));
    let verdict = db.context_verify(1).unwrap();
    assert!(verdict.valid == Some(false) && verdict.stored_hash == verdict.recalculated_hash, "{verdict:?}");
    assert!(verdict.message.contains("leaf hash"), "{}", verdict.message);
    assert!(matches!(db.context_verify(2), Err(Error::NotFound { .. })));
    assert!(!db.verify(&cairn::Scope::All).unwrap().valid());
    // And what was changed is not vouched for again.
    db.tamper(&format!("UPDATE snapshot SET content_hash = x'{}'", sound.stored_hash.unwrap()));
    assert!(matches!(db.context_create("import", None), Err(Error::Conflict(_))));
}

#[test]
fn decisions_that_name_every_node_do_not_make_the_answer_grow_without_end() {
    let db = TestCairn::new();
    let plan = |scope: &str| {
        let nodes: Vec<Value> = (0..500)
            .map(|n| json!({"id": format!("n{n}"), "label": "L", "scope": scope.repeat(200)}))
            .chain((0..5000).map(|n| json!({"id": format!("same{n}"), "label": "L"})))
            .collect();
        json!({"title": "Large", "nodes": nodes})
    };
    db.write("large", &plan("old"));
    db.context_create("large", None).unwrap();
    let every: String =
        (0..500).map(|n| format!("n{n} ")).chain((0..5000).map(|n| format!("same{n} "))).collect();
    for _ in 0..60 {
        db.decide(1, &every);
    }
    db.decide(1, "only n7 and same8");
    db.write("large", &plan("new"));
    db.context_create("large", None).unwrap();

    let drift = db.drift(None, None).unwrap();
    assert_eq!((drift.drifted, drift.results.len()), (61, 61));
    let size = serde_json::to_string(&drift).unwrap().len();
    assert!(size < 9 << 20, "{size} bytes");
    let (few, many) = (&drift.results[0], &drift.results[1]);
    assert_eq!((few.nodes.len(), few.unchanged_nodes.len(), few.nodes_left_out), (1, 1, 0));
    assert!(!many.nodes.is_empty() && many.nodes_left_out > 0);
    let named = many.nodes.len() as u64 + many.unchanged_nodes.len() as u64 + many.nodes_left_out;
    assert_eq!(named, 5500, "none is lost without being counted");
}

#[test]
fn snapshots_come_in_pages_and_each_knows_who_rests_on_it() {
    let db = TestCairn::new();
    db.write("import", &plan(&["parse"]));
    db.write("other", &plan(&["parse"]));
    for roadmap in ["import", "import", "other", "import"] {
        db.context_create(roadmap, None).unwrap();
    }
    let page = |before: Option<u64>, limit: u64| {
        let page = db.contexts_page("import", before, limit).unwrap();
        let ids: Vec<u64> = page.contexts.iter().map(|context| context.context_id).collect();
        (ids, page.total, page.next)
    };
    assert_eq!(page(None, 2), (vec![4, 2], 3, Some(2)));
    assert_eq!(page(Some(2), 2), (vec![1], 3, None));
    assert_eq!(db.contexts_page("unheard-of", None, 2).unwrap().total, 0);
    for (context_id, content) in [(4, "one"), (1, "two"), (4, "three")] {
        let thought = NewThought::new(ThoughtType::Decision, content).session("s").agent("ada");
        db.record(NewThought { context_id: Some(context_id), ..thought }).unwrap();
    }
    let on = db.thoughts_on(4, 1).unwrap();
    assert_eq!((on.total, on.thoughts.len(), on.thoughts[0].thought.content.as_str()), (2, 1, "three"));
    assert_eq!(on.thoughts[0].session_id.as_str(), "s");
    assert_eq!(db.thoughts_on(2, 5).unwrap().total, 0);
    assert_eq!(db.thoughts_on(u64::MAX, 5).unwrap().total, 0);
}
