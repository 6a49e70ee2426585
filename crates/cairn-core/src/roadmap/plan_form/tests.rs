use serde_json::json;

use super::*;

fn issues(value: Value) -> Vec<String> {
    read(Document::from_json(value, 0))
        .unwrap_err()
        .into_iter()
        .map(|issue| format!("{}: {}", issue.field, issue.message))
        .collect()
}

fn roadmap(value: Value) -> Roadmap {
    read(Document::from_json(value, 0)).unwrap().roadmap
}

#[test]
fn the_least_that_is_a_roadmap() {
    let roadmap = roadmap(json!({"title": "T", "nodes": []}));
    assert_eq!((roadmap.title.as_str(), roadmap.nodes.len()), ("T", 0));
}

#[test]
fn a_whole_one_keeps_what_it_does_not_know() {
    let roadmap = roadmap(json!({
        "title": "T", "description": "D", "colour": "red",
        "phases": ["one", 2, {"id": "three", "title": "Third", "weeks": 3}],
        "nodes": [
            {"id": 7, "label": "Seven", "scope": null, "phase": 2, "owner": "ada", "dependents": ["x"]},
            {"id": "b", "label": "B", "scope": "s", "dependencies": [7]},
        ],
        "connections": [{"from": 7, "to": "b", "type": "blocks", "colour": "red"}],
    }));
    assert_eq!(roadmap.description.as_deref(), Some("D"));
    let phases: Vec<&str> = roadmap.phases.iter().map(|phase| phase.id.as_str()).collect();
    assert_eq!(phases, ["one", "2", "three"]);
    assert_eq!(roadmap.phases[2].extra, *json!({"weeks": 3}).as_object().unwrap());
    assert_eq!(roadmap.nodes[0].node.dependents, ["b"]);
    assert_eq!(roadmap.nodes[0].node.phase.as_deref(), Some("2"));
    assert_eq!(roadmap.nodes[0].extra, *json!({"owner": "ada"}).as_object().unwrap());
    assert_eq!(roadmap.nodes[1].node.dependencies, ["7"]);
    assert_eq!(roadmap.connections[0].id, "7->b");
    assert_eq!(roadmap.connections[0].kind.as_deref(), Some("blocks"));
}

#[test]
fn every_issue_is_named_at_once_with_its_field() {
    assert_eq!(
        issues(json!({
            "title": " ",
            "phases": [{"title": "no id"}, ["x"]],
            "nodes": [
                {"id": "a"},
                {"label": "no id", "phase": true},
                "text",
                {"id": "a\nb", "label": 1.5, "dependencies": ["ok", [], "", null]},
                {"id": "x".repeat(201), "label": "l".repeat(1001), "scope": "a\u{0}b", "dependencies": "a"},
                {"id": "n", "label": "N", "big": [{"x": 9007199254740993_i64}]},
            ],
            "connections": [{"from": "a"}, {"to": {}, "from": ""}],
        })),
        [
            "title: must not be empty",
            "phases[0].id: is missing: a text is expected",
            "phases[1]: must be a mapping with `id`, or just an id, found a list",
            "nodes[0].label: is missing: a text is expected",
            "nodes[1].id: is missing: a text is expected",
            "nodes[1].phase: must be a text, found a boolean; put it in quotes",
            "nodes[2]: must be a mapping with `id` and `label`, found a text",
            "nodes[3].id: must not hold control characters such as line breaks, found \"a\\nb\"",
            "nodes[3].label: must be a text, found a number; put it in quotes",
            "nodes[3].dependencies[1]: must be a text, found a list",
            "nodes[3].dependencies[2]: must not be empty",
            "nodes[3].dependencies[3]: must be a text, found nothing",
            "nodes[4].id: has 201 characters; at most 200 are allowed",
            "nodes[4].label: has 1001 characters; at most 1000 are allowed",
            "nodes[4].scope: must not hold the character NUL (U+0000)",
            "nodes[4].dependencies: must be a list of ids of nodes, found a text",
            "nodes[5].big: number 9007199254740993 at [0].x is beyond ±9007199254740991, write it as a string",
            "connections[0].to: is missing: a text is expected",
            "connections[1].from: must not be empty",
            "connections[1].to: must be a text, found a mapping",
        ]
    );
}

#[test]
fn a_misspelt_field_is_one_issue_and_not_two() {
    assert_eq!(
        issues(json!({"title": "T", "node": [], "conections": []})),
        [
            "conections: is not a field that is known here; did you mean `connections`?",
            "node: is not a field that is known here; did you mean `nodes`?",
        ]
    );
    assert_eq!(
        issues(json!({"title": "T", "nodes": [{"id": "a", "lable": "A", "depends_on": ["b"], "score": 1}]})),
        [
            "nodes[0].depends_on: is not a field that is known here; did you mean `dependencies`?",
            "nodes[0].lable: is not a field that is known here; did you mean `label`?",
        ]
    );
    let known =
        json!({"title": "T", "nodes": [{"id": "a", "label": "A", "lable": "B", "dependencies": null}]});
    assert_eq!(roadmap(known).nodes[0].extra.len(), 1, "beside the known one it is just another field");
}

#[test]
fn what_is_no_mapping_is_one_issue() {
    assert_eq!(issues(json!([])), [": a roadmap is a mapping with `title` and `nodes`, found a list"]);
    assert_eq!(issues(Value::Null), [": a roadmap is a mapping with `title` and `nodes`, found nothing"]);
    let missing = "nodes: is missing: a list of nodes is expected, which may be empty";
    assert_eq!(issues(json!({"title": "T"})), [missing]);
    assert_eq!(issues(json!({"title": "T", "nodes": null})), [missing]);
    assert_eq!(issues(json!({"title": "T", "nodes": {}})), ["nodes: must be a list, found a mapping"]);
}

#[test]
fn a_flood_of_issues_is_counted() {
    let nodes = vec![json!({}); 1000];
    let issues = issues(json!({"title": "T", "nodes": nodes}));
    assert_eq!(issues.len(), MOST_ISSUES + 1);
    assert_eq!(issues[MOST_ISSUES], ": and 1900 more issues like these");
}

#[test]
fn flaws_have_the_line_of_their_part() {
    let at = |line, value| Document::from_json(value, line);
    let list = |items| Document { line: 2, value: Content::List(items) };
    let nodes = list(vec![at(3, json!({"id": "a", "label": "A"})), at(7, json!({"id": "a", "label": "A"}))]);
    let document = Document {
        line: 1,
        value: Content::Map(vec![("title".into(), at(1, json!("T"))), ("nodes".into(), nodes)]),
    };
    let reading = read(document).unwrap();
    let flaws = reading.flaws();
    assert_eq!(flaws.len(), 1);
    assert_eq!(reading.line(flaws[0].place), 7);
}
