use serde_json::json;

use super::*;

fn reading(value: Value) -> Reading {
    read("plan", None, &Document::from_json(value, 1)).unwrap()
}

fn shape(id: &str, kind: &str, label: &str, x: f64, y: f64) -> Value {
    json!({"id": id, "type": kind, "position": {"x": x, "y": y}, "width": 100, "height": 40,
           "data": {"label": label}})
}

fn boxed(id: &str, label: Value, x: f64, y: f64, width: f64, height: f64) -> Value {
    json!({"id": id, "type": "section", "position": {"x": x, "y": y}, "measured": {"width": width},
           "style": {"height": height}, "data": {"label": label}})
}

fn edge(id: &str, source: &str, target: &str) -> Value {
    json!({"id": id, "source": source, "target": target})
}

fn ids(reading: &Reading) -> Vec<&str> {
    reading.roadmap.nodes.iter().map(|planned| planned.node.id.as_str()).collect()
}

fn links(reading: &Reading) -> Vec<&str> {
    reading.roadmap.connections.iter().map(|connection| connection.id.as_str()).collect()
}

fn phase<'r>(reading: &'r Reading, id: &str) -> Option<&'r str> {
    reading.roadmap.nodes.iter().find(|planned| planned.node.id == id).unwrap().node.phase.as_deref()
}

#[test]
fn decoration_is_dropped_and_so_is_an_edge_to_it() {
    let reading = reading(json!({
        "nodes": [
            shape("t", "title", "The\n  Title", 0.0, 0.0),
            shape("a", "topic", "Learn\nthe  basics ", 0.0, 100.0),
            shape("b", "subtopic", "B", 0.0, 200.0),
            shape("l", "vertical", "vertical node", 0.0, 0.0),
            shape("p", "paragraph", "See also", 0.0, 0.0),
            shape("x", "whatever comes next", "X", 0.0, 0.0),
            json!("odd"), json!({}), json!(null),
        ],
        "edges": [
            edge("1", "t", "a"), edge("2", "a", "b"), edge("2", "a", "b"), edge("3", "a", "l"),
            edge("4", "b", "b"), edge("5", "b", "a"), edge("6", "a", "gone"), json!({"id": "7", "target": "a"}),
            json!({"source": "a", "target": "b"}), json!([]), json!({}),
        ],
    }));
    assert_eq!(reading.roadmap.title, "The Title");
    assert_eq!(ids(&reading), ["a", "b"]);
    assert_eq!(reading.roadmap.nodes[0].node.label, "Learn the basics");
    assert_eq!(links(&reading), ["2", "2#2", "5", "a->b"]);
    assert_eq!(reading.roadmap.nodes[1].node.dependencies, ["a"]);
    assert_eq!(reading.roadmap.nodes[0].node.dependencies, ["b"], "both directions stand as the file says");
}

#[test]
fn whatever_is_missing_or_odd_is_read_around() {
    let reading = reading(json!({
        "nodes": [
            {"id": "no-data", "type": "topic"},
            {"id": "null", "type": "topic", "data": {"label": null}, "position": null},
            {"id": "list", "type": "subtopic", "data": {"label": []}, "position": {"x": "12.5", "y": [1]}},
            {"id": 5, "type": "topic", "data": {"label": 7}, "position": {"x": 1e300, "y": 0}, "width": "wide"},
            {"type": "topic", "data": "text"},
            {"id": "a\u{0}b", "type": "subtopic", "data": {"label": "\u{0}"}, "position": {"x": "1", "y": " 2 "}},
            {"id": "x".repeat(300), "type": "topic", "data": {"label": "l".repeat(3000)}},
        ],
        "edges": [{"source": 5, "target": "no-data"}, {"source": "x".repeat(300), "target": "list"}],
    }));
    let labels: Vec<&str> = reading.roadmap.nodes.iter().map(|node| node.node.label.as_str()).collect();
    assert_eq!(labels[..6], ["no-data", "null", "list", "7", "node-5", "a b"]);
    assert_eq!(labels[6].chars().count(), 1000);
    assert_eq!(reading.roadmap.connections.len(), 2);
    assert_eq!(reading.flaws(), []);
    let edges_odd =
        super::read("p", None, &Document::from_json(json!({"nodes": [], "edges": {}}), 1)).unwrap();
    assert_eq!(edges_odd.roadmap.title, "p");
}

#[test]
fn only_what_is_no_drawing_is_an_issue() {
    for (value, says) in [
        (json!({"nodes": {}, "edges": []}), "list of `nodes`"),
        (json!({"mockup": {"controls": {}}}), "older kind"),
        (json!([]), "list of `nodes`"),
    ] {
        let issues = read("p", None, &Document::from_json(value, 3)).unwrap_err();
        assert_eq!((issues.len(), issues[0].line), (1, 3));
        assert!(issues[0].message.contains(says), "{}", issues[0].message);
    }
}

#[test]
fn a_subtopic_without_an_edge_belongs_to_the_topic_beside_it() {
    let reading = reading(json!({
        "nodes": [
            shape("near", "topic", "N", 0.0, 0.0),
            shape("far", "topic", "F", 700.0, 0.0),
            shape("one", "subtopic", "1", 300.0, 0.0),
            shape("lost", "subtopic", "L", 0.0, 5000.0),
            boxed("box", json!(""), 690.0, -10.0, 1000.0, 900.0),
            shape("inside", "subtopic", "I", 1500.0, 800.0),
            shape("tied", "subtopic", "T", 310.0, 0.0),
            {"id": "nowhere", "type": "subtopic"},
        ],
        "edges": [edge("e", "far", "tied")],
    }));
    assert_eq!(links(&reading), ["e", "near:near->one", "near:far->inside"]);
    assert_eq!(reading.roadmap.connections[1].kind.as_deref(), Some("placement"));
    assert_eq!(phase(&reading, "one"), Some("near"));
    assert_eq!(phase(&reading, "lost"), None);
}

#[test]
fn of_two_topics_at_the_same_distance_the_id_decides() {
    let nodes = [
        shape("b", "topic", "", 200.0, 0.0),
        shape("a", "topic", "", -200.0, 0.0),
        shape("s", "subtopic", "", 0.0, 0.0),
    ];
    for nodes in [nodes.to_vec(), nodes.iter().rev().cloned().collect()] {
        assert_eq!(links(&reading(json!({"nodes": nodes, "edges": []}))), ["near:a->s"]);
    }
}

#[test]
fn a_section_with_a_heading_is_a_phase_and_other_topics_are_their_own() {
    let reading = reading(json!({
        "nodes": [
            shape("last", "topic", "Last", 0.0, 2000.0),
            shape("first", "topic", "First", 0.0, 0.0),
            boxed("headed", json!("Own heading"), 0.0, 1000.0, 400.0, 400.0),
            boxed("plain", json!(null), 1000.0, 1000.0, 400.0, 400.0),
            boxed("mute", json!(""), 2000.0, 1000.0, 400.0, 400.0),
            shape("heading", "label", "By a label", 1010.0, 1010.0),
            shape("second", "label", "Not this one", 1010.0, 1200.0),
            shape("in-headed", "subtopic", "", 10.0, 1010.0),
            shape("in-plain", "topic", "", 1010.0, 1100.0),
            shape("behind", "subtopic", "", 1010.0, 3000.0),
            shape("beyond", "subtopic", "", 1010.0, 4000.0),
            shape("in-mute", "subtopic", "", 2010.0, 1010.0),
            shape("two", "subtopic", "", 9000.0, 0.0),
        ],
        "edges": [
            edge("1", "behind", "in-plain"), edge("2", "beyond", "behind"), edge("3", "in-mute", "last"),
            edge("4", "two", "last"), edge("5", "two", "first"),
        ],
    }));
    let phases: Vec<_> = reading
        .roadmap
        .phases
        .iter()
        .map(|phase| (phase.id.as_str(), phase.title.as_deref().unwrap()))
        .collect();
    assert_eq!(
        phases,
        [("first", "First"), ("headed", "Own heading"), ("plain", "By a label"), ("last", "Last")]
    );
    for (id, expected) in [
        ("first", "first"),
        ("in-headed", "headed"),
        ("in-plain", "plain"),
        ("behind", "plain"),
        ("beyond", "plain"),
        ("in-mute", "last"),
        ("two", "first"),
    ] {
        assert_eq!(phase(&reading, id), Some(expected), "{id}");
    }
    assert!(reading.flaws().is_empty());
}

#[test]
fn titles_come_from_the_first_place_that_has_one() {
    let drawing = |title: Value| json!({"title": title, "nodes": [shape("t", "title", "Drawn", 0.0, 0.0)], "edges": []});
    let title = |front: Option<Value>, title: Value| {
        let front = front.map(|front| Document::from_json(front, 1));
        read("id", front.as_ref(), &Document::from_json(drawing(title), 1)).unwrap().roadmap.title
    };
    assert_eq!(title(Some(json!({"title": "Front", "briefTitle": "Brief"})), json!("Top")), "Front");
    assert_eq!(title(Some(json!({"briefTitle": "Brief"})), json!("Top")), "Brief");
    assert_eq!(title(Some(json!({"order": 3})), json!("Top")), "Top");
    assert_eq!(title(None, json!({"card": "Card", "page": "Page"})), "Page");
    assert_eq!(title(None, json!(null)), "Drawn");
    assert_eq!(reading(json!({"nodes": [], "edges": []})).roadmap.title, "plan");
}

#[test]
fn ids_that_stand_twice_are_kept_and_reported() {
    let reading = reading(json!({
        "nodes": [shape("a", "topic", "A", 0.0, 0.0), shape("a", "topic", "B", 0.0, 90.0), shape("s", "subtopic", "S", 0.0, 50.0)],
        "edges": [edge("1", "a", "s")],
    }));
    assert_eq!(ids(&reading), ["a", "a", "s"]);
    assert_eq!(reading.roadmap.phases.len(), 1);
    assert_eq!(reading.flaws().len(), 1);
}
