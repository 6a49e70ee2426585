//! Resources.

use serde_json::{Value, json};

use super::super::harness::{Server, initialize, meta};
use super::{keys, refusal, with_session};

#[track_caller]
fn read(server: &mut Server, uri: &str) -> Value {
    let answer = server.request("resources/read", json!({ "uri": uri }));
    let contents = answer["result"]["contents"].as_array().unwrap_or_else(|| panic!("{answer}"));
    assert_eq!((contents.len(), &contents[0]["uri"]), (1, &json!(uri)));
    contents[0].clone()
}

#[track_caller]
fn read_json(server: &mut Server, uri: &str) -> Value {
    let contents = read(server, uri);
    assert_eq!(contents["mimeType"], "application/json");
    serde_json::from_str(contents["text"].as_str().unwrap()).unwrap()
}

fn with_plan() -> Server {
    let mut server = with_session();
    let nodes = json!([{ "id": "shop", "label": "Shop" }]);
    server.data("roadmap_register", json!({ "roadmap_id": "dinner", "title": "Dinner", "nodes": nodes }));
    server
}

#[test]
fn everything_recorded_has_an_address() {
    let mut server = with_plan();
    let thought = server.data("thought_plan", json!({ "plan_description": "cook", "session_id": "s" }));
    let id = thought["id"].as_str().unwrap();
    assert_eq!(read_json(&mut server, &format!("cairn://thought/{id}")), thought);
    let tree = server.data("thought_tree", json!({ "session_id": "s" }));
    assert_eq!(read_json(&mut server, "cairn://session/s/tree"), tree);

    for node in ["understand", "think", "act", "reply"] {
        let brief = server.data("brief_build", json!({ "session_id": "s", "node": node }));
        let contents = read(&mut server, &format!("cairn://session/s/brief/{node}"));
        assert_eq!((&contents["mimeType"], &contents["text"]), (&json!("text/markdown"), &brief["text"]));
        assert_eq!(contents["_meta"]["hash"], brief["hash"]);
    }
    let stored = server.data("brief_build", json!({ "session_id": "s", "node": "act", "store": true }));
    let id = stored["brief_id"].as_str().unwrap();
    let kept = server.data("brief_get", json!({ "brief_id": id }));
    assert_eq!(read_json(&mut server, &format!("cairn://brief/{id}")), kept);

    let roadmap = server.data("roadmap_get", json!({ "roadmap_id": "dinner" }));
    assert_eq!(read_json(&mut server, "cairn://roadmap/dinner"), roadmap);
    let context = server.data("context_create", json!({ "roadmap_id": "dinner" }))["context"].take();
    let found = read_json(&mut server, &format!("cairn://context/{}", context["context_id"]));
    assert_eq!(found["content_hash"], context["content_hash"], "{found}");
    let whole = server.data("context_get", json!({ "context_id": context["context_id"] }))["context"].take();
    assert_eq!(found, whole);
}

#[test]
fn odd_names_are_encoded_in_addresses() {
    let mut server = Server::start();
    let odd = "a/b c%41ü?#";
    server.data("session_open", json!({ "session_id": odd }));
    server.data("thought_plan", json!({ "plan_description": "p", "session_id": odd }));
    let listed = server.request("resources/list", json!({}))["result"]["resources"].take();
    let uri = listed[0]["uri"].as_str().unwrap();
    assert_eq!(uri, "cairn://session/a%2Fb%20c%2541%C3%BC%3F%23/tree");
    assert_eq!(read_json(&mut server, uri)["session_id"], odd);
    let brief = read(&mut server, &uri.replace("/tree", "/brief/think"));
    assert!(brief["text"].is_string());
}

#[test]
fn a_session_with_a_memory_and_no_thoughts_has_an_empty_tree() {
    let mut server = with_session();
    assert_eq!(read_json(&mut server, "cairn://session/s/tree")["count"], 0);
    let listed = server.request("resources/list", json!({}))["result"]["resources"].take();
    assert_eq!(listed, json!([]), "and none is listed");
}

#[test]
fn the_newest_sessions_and_the_roadmaps_are_listed() {
    let mut server = with_plan();
    for number in 0..60 {
        let session = format!("run {number}");
        server.data("thought_plan", json!({ "plan_description": "p", "session_id": session }));
    }
    let listed = server.request("resources/list", json!({}))["result"]["resources"].take();
    let listed = listed.as_array().unwrap();
    assert_eq!(listed.len(), 51);
    assert_eq!(listed[0]["uri"], "cairn://session/run%2059/tree");
    assert_eq!(listed[50]["uri"], "cairn://roadmap/dinner");
    for resource in listed {
        assert!(resource["name"].is_string() && resource["title"].is_string(), "{resource}");
        assert_eq!(resource["mimeType"], "application/json");
    }
    let templates =
        server.request("resources/templates/list", json!({}))["result"]["resourceTemplates"].take();
    let uris: Vec<&Value> =
        templates.as_array().unwrap().iter().map(|template| &template["uriTemplate"]).collect();
    let expected = [
        "cairn://thought/{id}",
        "cairn://session/{id}/tree",
        "cairn://session/{id}/brief/{node}",
        "cairn://brief/{id}",
        "cairn://roadmap/{id}",
        "cairn://context/{id}",
        "cairn://checkpoint/{size}",
    ];
    assert_eq!(uris, expected);
    for template in templates.as_array().unwrap() {
        assert_eq!(keys(template), ["description", "mimeType", "name", "title", "uriTemplate"]);
    }
    for method in ["resources/list", "resources/templates/list"] {
        assert_eq!(refusal(&mut server, method, json!({ "cursor": "2" })).0, -32602);
    }
}

#[test]
fn what_is_not_there_is_told_in_words_and_no_path_is_followed() {
    let mut server = with_plan();
    for (uri, part) in [
        ("cairn://thought/x", "uri: no thought `x`"),
        ("cairn://session/x/tree", "uri: no session `x`"),
        ("cairn://session/x/brief/think", "uri: no session `x`"),
        ("cairn://session/s/brief/dream", "uri: node: must be one of understand, think, act, reply"),
        ("cairn://brief/x", "uri: no brief `x`"),
        ("cairn://roadmap/x", "uri: no roadmap `x`"),
        ("cairn://roadmap/..%2Fcairn.db", "uri: roadmap_id: must be"),
        ("cairn://context/7", "uri: no context `7`"),
        ("cairn://context/x", "uri: no context `x`"),
        ("cairn://checkpoint/latest", "uri: no checkpoint `latest`"),
        ("cairn://checkpoint/0", "uri: no checkpoint `0`"),
        ("cairn://checkpoint/-1", "uri: no checkpoint `-1`"),
        ("cairn://thought/%zz", "uri: not an address of anything here"),
        ("cairn://thought/a%00b", "uri: not an address of anything here"),
        ("file:///etc/passwd", "uri: not an address of anything here"),
        ("", "uri: not an address of anything here"),
    ] {
        let (code, message) = refusal(&mut server, "resources/read", json!({ "uri": uri }));
        assert_eq!(code, -32002, "{message}");
        assert!(message.starts_with(part), "{uri}: {message}");
        let place = server.folder.path().to_str().unwrap();
        assert!(!message.contains(place), "{message}");
        // The newest revision has no number of its own for it.
        let (code, _) = refusal(&mut server, "resources/read", json!({ "uri": uri, "_meta": meta() }));
        assert_eq!(code, -32602);
    }
    let (code, _) = refusal(&mut server, "resources/read", json!({ "uri": 7 }));
    assert_eq!(code, -32602);
}

#[test]
fn resources_come_with_their_tools() {
    for (sets, count, uri) in [
        ("trail", 2, "cairn://brief/x"),
        ("memory", 2, "cairn://thought/x"),
        ("snapshot", 2, "cairn://session/s/tree"),
        ("proof", 1, "cairn://roadmap/x"),
    ] {
        let mut server = Server::with_args(&["--tools", sets]);
        server.request("initialize", initialize("2025-11-25"));
        let templates =
            server.request("resources/templates/list", json!({}))["result"]["resourceTemplates"].take();
        assert_eq!(templates.as_array().unwrap().len(), count, "{sets}");
        let (_, message) = refusal(&mut server, "resources/read", json!({ "uri": uri }));
        assert!(message.starts_with("uri: not an address"), "{sets}: {message}");
    }
}
