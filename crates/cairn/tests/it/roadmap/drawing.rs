use super::*;
use crate::growth::assert_at_most;

/// A drawing as messy as the real ones: every kind of decoration, edges between it, labels with line breaks and
/// without text, sizes here and there, numbers as texts.
fn messy() -> Value {
    let mut nodes = Vec::new();
    let mut edges = Vec::new();
    let kinds = [
        "vertical",
        "horizontal",
        "title",
        "paragraph",
        "button",
        "linksgroup",
        "legend",
        "label",
        "section",
        "todo",
        "checklist",
        "todo-checkbox",
        "resourceButton",
        "timeline",
        "image",
        "",
    ];
    for topic in 0..12 {
        let y = f64::from(topic) * 400.0 + 0.5374122325647;
        nodes.push(json!({
            "id": format!("topic-{topic}"), "type": "topic", "position": {"x": -229.5, "y": y},
            "width": 155, "height": 49, "zIndex": 999, "selected": false, "dragging": false,
            "data": {"label": format!("Topic\n  number {topic}"), "style": {"fontSize": 17}, "oldId": "x"},
        }));
        for sub in 0..7 {
            let mut node = json!({
                "id": format!("sub-{topic}-{sub}"), "type": "subtopic",
                "position": {"x": 91.2410268116243, "y": y + f64::from(sub) * 50.0 - 150.0},
                "measured": {"width": 100, "height": 49}, "style": {},
                "data": {"label": "Learn the basics", "legend": {"id": "l", "color": "#874efe"}},
            });
            match sub {
                0 => node["data"]["label"] = Value::Null,
                1 => drop(node.as_object_mut().unwrap().remove("data")),
                2 => node["position"]["x"] = json!("91.25"),
                _ => {}
            }
            nodes.push(node);
            if sub < 5 {
                edges.push(json!({
                    "id": format!("edge-{}", sub % 2), "source": format!("topic-{topic}"),
                    "target": format!("sub-{topic}-{sub}"), "sourceHandle": "z2", "data": {"edgeStyle": "dashed"},
                }));
            }
        }
        for kind in kinds {
            nodes.push(json!({
                "id": format!("{kind}-{topic}"), "type": kind, "position": {"x": 5000.0 + y, "y": 9000.0},
                "data": {"label": format!("{kind} node")}, "positionAbsolute": null,
            }));
            edges.push(
                json!({"id": "d", "source": format!("{kind}-{topic}"), "target": format!("topic-{topic}")}),
            );
            edges.push(json!({"source": format!("topic-{topic}"), "target": format!("{kind}-{topic}")}));
        }
        if topic > 0 {
            edges.push(json!({"source": format!("topic-{}", topic - 1), "target": format!("topic-{topic}")}));
        }
        edges.push(
            json!({"id": "loop", "source": format!("topic-{topic}"), "target": format!("topic-{topic}")}),
        );
        edges.push(json!({"id": "half", "target": format!("topic-{topic}"), "sourceHandle": "z2"}));
    }
    nodes.push(json!({"id": "no-type", "data": {}}));
    json!({"nodes": nodes, "edges": edges})
}

const FRONT: &str = "---\njsonUrl: '/x.json'\norder: 19\nbriefTitle: 'Messy'\ntitle: 'Learn the Mess'\n\
                     description: 'Step by step'\ndimensions:\n  width: 968\n---\n";

#[test]
fn a_messy_drawing_is_read_for_what_it_says() {
    let (folder, roadmaps) = folder();
    let drawing = messy();
    assert!(drawing["nodes"].as_array().unwrap().len() > 250);
    write(&folder, "mess/mess.json", drawing.to_string());
    write(&folder, "mess/mess.md", FRONT);
    write(&folder, "mess/mapping.json", "{}");
    let roadmap = roadmaps.get("mess").unwrap();
    assert_eq!(roadmap.title, "Learn the Mess");
    assert_eq!(roadmap.description.as_deref(), Some("Step by step"));
    assert_eq!(roadmap.nodes.len(), 12 * 8);
    assert_eq!(roadmap.phases.len(), 12);
    assert_eq!(roadmap.phases[11].title.as_deref(), Some("Topic number 11"));
    assert_eq!(issues(&roadmaps, "mess"), [""; 0]);
    let node = |id: &str| &roadmap.nodes.iter().find(|planned| planned.node.id == id).unwrap().node;
    assert_eq!(node("topic-3").label, "Topic number 3");
    assert_eq!(node("topic-3").dependencies, ["topic-2"]);
    assert_eq!(node("sub-3-0").label, "sub-3-0", "no label");
    assert_eq!(node("sub-3-4").dependencies, ["topic-3"], "by an edge");
    assert_eq!(node("sub-3-5").dependencies, ["topic-3"], "by its place");
    assert_eq!(node("sub-3-5").phase.as_deref(), Some("topic-3"));
    let placed = roadmap.connections.iter().filter(|link| link.kind.as_deref() == Some("placement")).count();
    assert_eq!((placed, roadmap.connections.len()), (24, 24 + 60 + 11));
    let listed = &roadmaps.list().unwrap()[0];
    assert_eq!((listed.form, listed.node_count, listed.phase_count), (Form::RoadmapSh, 96, 12));
    assert_eq!(listed.error, None);
}

#[test]
fn the_order_of_a_drawing_and_its_decoration_change_nothing() {
    let (folder, roadmaps) = folder();
    let mut drawing = messy();
    // Without ids of their own, connections are named after their ends, whatever their order.
    for edge in drawing["edges"].as_array_mut().unwrap() {
        edge.as_object_mut().unwrap().remove("id");
    }
    write(&folder, "one/one.json", drawing.to_string());
    let nodes = drawing["nodes"].as_array_mut().unwrap();
    nodes.retain(|node| node["type"] == "topic" || node["type"] == "subtopic");
    nodes.reverse();
    drawing["edges"].as_array_mut().unwrap().reverse();
    drawing["title"] = json!({"card": "title node", "page": "title node"});
    write(&folder, "two.json", serde_json::to_string_pretty(&drawing).unwrap());
    assert_eq!(bytes(roadmaps.get("one").unwrap()), bytes(roadmaps.get("two").unwrap()));
}

#[test]
fn front_matter_that_is_broken_costs_the_title_and_is_reported() {
    let (folder, roadmaps) = folder();
    write(&folder, "m/m.json", r#"{"nodes": [{"type": "title", "data": {"label": "Drawn"}}], "edges": []}"#);
    write(&folder, "m/m.md", "---\ntitle: [broken\n---\n");
    assert_eq!(roadmaps.get("m").unwrap().title, "Drawn");
    let found = issues(&roadmaps, "m");
    assert_eq!(found.len(), 1);
    assert!(found[0].starts_with("m/m.md:"), "{}", found[0]);
    write(&folder, "m/m.md", "no front matter at all");
    assert_eq!(issues(&roadmaps, "m"), [""; 0]);
}

#[test]
fn only_what_is_no_drawing_is_an_issue() {
    let (folder, roadmaps) = folder();
    write(&folder, "old/old.json", r#"{"mockup": {"controls": {"control": []}}}"#);
    write(&folder, "odd/odd.json", r#"{"nodes": "none", "edges": []}"#);
    assert!(issues(&roadmaps, "old")[0].contains("older kind"));
    assert_eq!(
        issues(&roadmaps, "odd"),
        ["odd/odd.json:1 nodes: a drawing of roadmap.sh is an object with a list of `nodes`"]
    );
    write(&folder, "plan/plan.json", r#"{"title": "T", "nodes": [], "connections": [], "edges": []}"#);
    assert_eq!(roadmaps.get("plan").unwrap().title, "T");
}

#[test]
fn a_circle_in_a_drawing_is_kept_and_reported() {
    let (folder, roadmaps) = folder();
    let text = r#"{"nodes": [{"id": "a", "type": "topic"}, {"id": "b", "type": "topic"}],
        "edges": [{"source": "a", "target": "b"}, {"source": "b", "target": "a"}]}"#;
    let (elsewhere, _) = super::folder();
    write(&elsewhere, "circle.json", text);
    let added = roadmaps.add("circle", &elsewhere.path().join("circle.json"), false).unwrap();
    assert_eq!(added.file, "circle/circle.json");
    assert!(issues(&roadmaps, "circle")[0].contains("a → b → a"));
    assert!(folder.path().join("circle").is_dir());
}

#[test]
fn a_drawing_of_a_hundred_thousand_shapes_does_not_cost_their_square() {
    let (folder, roadmaps) = folder();
    let shape = |i: u32| {
        let kind = ["topic", "subtopic", "section"][(i % 3) as usize];
        json!({"id": i, "type": kind, "position": {"x": i % 100, "y": i % 77}, "width": 9, "height": 9})
    };
    let nodes: Vec<Value> = (0..100_000).map(shape).collect();
    write(&folder, "huge.json", json!({"nodes": nodes[..9_999], "edges": []}).to_string());
    write(&folder, "huger.json", json!({"nodes": nodes, "edges": []}).to_string());
    let read = |id: &str, nodes: usize| assert_eq!(roadmaps.get(id).unwrap().nodes.len(), nodes);
    assert_at_most(40, || read("huge", 6_666), || read("huger", 66_667));
}
