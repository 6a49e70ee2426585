use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use cairn::core::roadmap::{Roadmap, Snapshot};
use cairn::{Error, Form, NewRoadmap, Roadmaps};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Drawings as roadmap.sh publishes them.
#[path = "roadmap/drawing.rs"]
mod drawing;
/// Files that are meant to do harm.
#[path = "roadmap/hostile.rs"]
mod hostile;
/// Putting roadmaps into the folder.
#[path = "roadmap/register.rs"]
mod register;

fn folder() -> (TempDir, Roadmaps) {
    let folder = tempfile::tempdir().unwrap();
    let roadmaps = Roadmaps::new(folder.path());
    (folder, roadmaps)
}

fn write(folder: &TempDir, name: &str, text: impl AsRef<[u8]>) {
    let path = folder.path().join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn bytes(roadmap: Roadmap) -> Vec<u8> {
    Snapshot::of(roadmap).canonical().unwrap()
}

/// The issues as their user reads them.
fn issues(roadmaps: &Roadmaps, id: &str) -> Vec<String> {
    let validation = roadmaps.validate(id).unwrap();
    assert_eq!(validation.valid, validation.issues.is_empty());
    validation
        .issues
        .iter()
        .map(|issue| {
            let line = issue.line.map(|line| line.to_string()).unwrap_or_default();
            format!("{}:{line} {}: {}", issue.file, issue.field, issue.message)
        })
        .collect()
}

const YAML: &str = r#"# The plan
title: Import v2
description: |
  Imports that can be repeated.
phases:
  - id: design
    title: Design
    weeks: 2
  - id: "2"
nodes:
  - id: schema
    label: Schema
    scope: "tables: all of them"
    phase: design
  - {id: 7, label: 'Upsert by key', phase: 2, dependencies: [schema], owner: ada}
  - id: report
    label: Report ✓
    dependencies:
      - 7
connections:
  - {from: schema, to: report, type: informs}
"#;

const JSON: &str = r#"{"connections": [{"type": "informs", "to": "report", "from": "schema"}],
  "nodes": [{"label": "Report \u2713", "dependencies": ["7"], "id": "report"},
    {"dependencies": ["schema", "schema"], "phase": "2", "label": "Upsert by key", "id": "7"},
    {"phase": "design", "scope": "tables: all of them", "label": "Schema", "id": "schema", "dependencies": null}],
  "phases": [{"weeks": 2, "title": "Design", "id": "design"}, "2"],
  "title": "Import v2", "unknown": [1.5]}"#;

const TOML: &str = r#"title = "Import v2"
[[nodes]]
id = 7
label = "Upsert by key"
phase = "2"
dependencies = ["schema"]
[[phases]]
title = "Design"
weeks = 2
id = "design"
[[phases]]
id = 2
[[nodes]]
label = "Schema"
id = "schema"
phase = "design"
scope = 'tables: all of them'
[[nodes]]
id = "report"
label = "Report ✓"
dependencies = [7]
[[connections]]
from = "schema"
to = "report"
type = "informs"
"#;

#[test]
fn the_same_plan_has_the_same_snapshot_in_every_form() {
    let (folder, roadmaps) = folder();
    write(&folder, "yaml.yaml", YAML);
    write(&folder, "yml.yml", YAML.replace('\n', "\r\n"));
    write(&folder, "json.json", JSON);
    write(&folder, "toml.toml", TOML);
    write(&folder, "markdown.md", format!("---\n{YAML}---\n# Why\n\n---\ntext: [\n"));
    write(&folder, "folder/folder.json", format!("\u{feff}{JSON}"));
    let expected = bytes(roadmaps.get("yaml").unwrap());
    let listed = roadmaps.list().unwrap();
    assert_eq!(listed.len(), 6);
    for roadmap in listed {
        assert_eq!((roadmap.error, roadmap.node_count, roadmap.phase_count), (None, 3, 2), "{}", roadmap.id);
        assert_eq!(issues(&roadmaps, roadmap.id.as_str()), [""; 0]);
        assert_eq!(
            String::from_utf8(bytes(roadmaps.get(roadmap.id.as_str()).unwrap())).unwrap(),
            String::from_utf8(expected.clone()).unwrap(),
            "{}",
            roadmap.id
        );
    }
    write(&folder, "changed.toml", TOML.replace("dependencies = [7]", "dependencies = [\"schema\"]"));
    assert_ne!(bytes(roadmaps.get("changed").unwrap()), expected);
}

#[test]
fn what_a_file_says_is_read_anew_each_time() {
    let (folder, roadmaps) = folder();
    assert_eq!(roadmaps.list().unwrap(), []);
    assert!(matches!(roadmaps.get("a"), Err(Error::NotFound { what: "roadmap", .. })));
    for title in ["One", "Two"] {
        write(&folder, "a.yaml", format!("title: {title}\nnodes: []\n"));
        assert_eq!(roadmaps.get("a").unwrap().title, title);
    }
    let gone = Roadmaps::new(folder.path().join("not/there"));
    assert_eq!(gone.list().unwrap(), []);
    assert_eq!(gone.get("a").unwrap_err().to_string(), "no roadmap `a`");
}

#[test]
fn an_issue_names_its_file_its_line_and_its_field() {
    let (folder, roadmaps) = folder();
    write(&folder, "y.yaml", "title: T\nnodes:\n  - id: a\n  - id: b\n    label: [x]\n");
    write(&folder, "m.md", "---\ntitle: T\nnodes:\n  - id: a\n---\ntext\n");
    write(&folder, "j.json", "{\n\"title\": \"T\",\n\"nodes\": [\n{\"id\": \"a\"}\n]}");
    write(&folder, "t.toml", "title = 'T'\n\n[[nodes]]\nid = 'a'\nlabel = true\n");
    write(&folder, "s.yaml", "title: T\nnodes: [\n");
    write(&folder, "b.json", "{\"title\": \"T\",\n \"nodes\": [}");
    write(&folder, "d.toml", "title = 'T'\ntitle = 'U'\n");
    write(&folder, "n.md", "# Just a text\n");
    write(&folder, "l.yaml", b"title: T\nnodes: []\n# \xff\n");
    write(&folder, "e.yaml", "");
    for (id, expected) in [
        (
            "y",
            vec![
                "y.yaml:3 nodes[0].label: is missing: a text is expected",
                "y.yaml:5 nodes[1].label: must be a text, found a list",
            ],
        ),
        ("m", vec!["m.md:4 nodes[0].label: is missing: a text is expected"]),
        ("j", vec!["j.json:4 nodes[0].label: is missing: a text is expected"]),
        ("t", vec!["t.toml:5 nodes[0].label: must be a text, found a boolean; put it in quotes"]),
        ("b", vec!["b.json:2 nodes[0]: expected a value, found '}'"]),
        ("d", vec!["d.toml:2 : is not TOML: duplicate key"]),
        (
            "n",
            vec![
                "n.md:1 : there is no front matter; expected a first line `---`, then `title:`, `nodes:` and so on \
             as YAML, then a line `---`",
            ],
        ),
        ("l", vec!["l.yaml:3 : is not UTF-8 from this line on; save the file as UTF-8"]),
        ("e", vec!["e.yaml:1 : a roadmap is a mapping with `title` and `nodes`, found nothing"]),
    ] {
        assert_eq!(issues(&roadmaps, id), expected);
    }
    assert!(issues(&roadmaps, "s")[0].starts_with("s.yaml:3 nodes"), "{:?}", issues(&roadmaps, "s"));
    let error = roadmaps.get("y").unwrap_err();
    assert_eq!(error.code(), "INVALID_PARAMS");
    assert!(error.to_string().starts_with("y.yaml:3 nodes[0].label: is missing"), "{error}");
    let listed = roadmaps.list().unwrap();
    assert_eq!(listed.len(), 9);
    let listed = listed.iter().find(|roadmap| roadmap.id.as_str() == "y").unwrap();
    let short = "y.yaml:3 nodes[0].label: is missing: a text is expected (and 1 more)";
    assert_eq!(
        (listed.error.as_deref(), listed.title.as_deref(), listed.form),
        (Some(short), None, Form::Yaml)
    );
}

#[test]
fn flaws_are_reported_with_their_lines_and_do_not_keep_a_plan_from_being_read() {
    let (folder, roadmaps) = folder();
    let text = "title: T\nphases: [p]\nnodes:\n  - {id: a, label: A, dependencies: [b, gone]}\n  - id: b\n    \
                label: B\n    phase: q\n    dependencies: [a]\n  - {id: a, label: A}\nconnections:\n  - {from: a, to: x}\n";
    write(&folder, "f.yaml", text);
    assert_eq!(
        issues(&roadmaps, "f"),
        [
            "f.yaml:9 nodes[2].id: nodes[0] has the id `a` already",
            "f.yaml:4 nodes[0].dependencies: there is no node `gone`",
            "f.yaml:5 nodes[1].phase: there is no phase `q`",
            "f.yaml:11 connections[0].to: there is no node `x`",
            "f.yaml:4 nodes[0].dependencies: these nodes depend on each other in a circle: a → b → a",
        ]
    );
    assert_eq!(roadmaps.get("f").unwrap().nodes.len(), 3);
    assert_eq!(roadmaps.list().unwrap()[0].error, None);
}

#[test]
fn two_files_for_one_id_are_a_conflict_that_names_both() {
    let (folder, roadmaps) = folder();
    write(&folder, "a.yaml", YAML);
    write(&folder, "a.md", YAML);
    write(&folder, "b.yaml", YAML);
    let error = roadmaps.get("a").unwrap_err();
    assert_eq!(error.code(), "CONFLICT");
    assert_eq!(error.to_string(), "the roadmap `a` is in `a.yaml` and in `a.md`; keep one of them");
    let listed = roadmaps.list().unwrap();
    assert_eq!(listed.len(), 2);
    assert!(listed[0].error.as_ref().unwrap().contains("`a.md`"));
    assert_eq!(listed[1].error, None);
}

#[test]
fn a_folder_without_a_drawing_and_names_that_are_no_ids_are_passed_over() {
    let (folder, roadmaps) = folder();
    write(&folder, "sub/other.json", JSON);
    write(&folder, ".hidden.yaml", YAML);
    write(&folder, "with space.yaml", YAML);
    write(&folder, "notes.txt", "text");
    fs::create_dir(folder.path().join("dir.yaml")).unwrap();
    assert_eq!(roadmaps.list().unwrap(), []);
    assert!(matches!(roadmaps.get("dir"), Err(Error::NotFound { .. })));
    assert!(matches!(roadmaps.get("sub"), Err(Error::NotFound { .. })));
}

fn must_end(start: Instant) {
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn new(id: &str) -> NewRoadmap {
    NewRoadmap {
        roadmap_id: id.into(),
        title: "Plan".into(),
        nodes: vec![
            json!({"label": "A", "id": "a"}),
            json!({"id": "b", "label": "B", "dependencies": ["a"]}),
        ],
        ..NewRoadmap::default()
    }
}
