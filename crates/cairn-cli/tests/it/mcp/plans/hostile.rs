//! Arguments and files that are wrong, by accident or on purpose.

#[cfg(unix)]
use std::process::Command;

use serde_json::{Value, json};

use super::super::harness::{envelope, issues};
use super::{IMPORT, Plans};

const BY_ROADMAP: [&str; 7] = [
    "roadmap_get",
    "roadmap_validate",
    "context_create",
    "context_latest",
    "context_history",
    "context_ensure",
    "context_drift",
];

#[test]
fn an_id_that_could_lead_out_of_the_folder_is_refused() {
    let mut plans = Plans::with_import();
    std::fs::write(plans.server.folder.path().join("x.yaml"), IMPORT).unwrap();
    let long = "x".repeat(300);
    let ids =
        ["../x", "..", ".", "a/b", "/etc/passwd", "a\\b", "a\u{0}", "-a", "a b", "", "ü", long.as_str()];
    for id in ids {
        for tool in BY_ROADMAP {
            let found = plans.issues(tool, json!({ "roadmap_id": id }));
            assert!(found.len() == 1 && found[0].starts_with("roadmap_id: must"), "{tool} {id:?}: {found:?}");
        }
        let found = plans.issues("context_search", json!({ "query": "x", "roadmap_id": id }));
        assert!(found.len() == 1 && found[0].starts_with("roadmap_id: must"), "{id:?}: {found:?}");
        let nodes = json!([{ "id": "n", "label": "n" }]);
        let plan = json!({ "roadmap_id": id, "title": "t", "nodes": nodes, "overwrite": true });
        let found = plans.issues("roadmap_register", plan);
        assert!(found.len() == 1 && found[0].starts_with("roadmap_id: must"), "{id:?}: {found:?}");
    }
    assert_eq!(std::fs::read_to_string(plans.server.folder.path().join("x.yaml")).unwrap(), IMPORT);
    assert_eq!(plans.data("roadmap_list", json!({}))["count"], 1);
}

#[test]
fn each_wrong_argument_is_one_issue_at_its_path() {
    let mut plans = Plans::with_import();
    for (value, part) in [
        (json!(0), "must be at least 1"),
        (json!(-1), "must be at least 1"),
        (json!(1.5), "must be an integer"),
        (json!("1"), "must be an integer, found the text \"1\""),
        (json!([1]), "must be an integer, found an array"),
        (json!({}), "must be an integer, found an object"),
        (json!(true), "must be an integer, found a boolean"),
    ] {
        for (tool, name) in [
            ("context_get", "context_id"),
            ("context_verify", "context_id"),
            ("context_compare", "context_id1"),
        ] {
            let found = plans.issues(tool, json!({ name: value }));
            assert!(found.len() == 1 && found[0].starts_with(&format!("{name}: {part}")), "{found:?}");
        }
    }
    for tool in BY_ROADMAP {
        for value in [json!(7), json!(["import"]), json!({})] {
            let found = plans.issues(tool, json!({ "roadmap_id": value }));
            assert!(found.len() == 1 && found[0].starts_with("roadmap_id: must be a text"), "{found:?}");
        }
    }
    for (tool, limit, most) in [("context_history", 101, 100), ("context_drift", 1001, 1000)] {
        let found = plans.issues(tool, json!({ "roadmap_id": "import", "limit": limit }));
        assert_eq!(found, [format!("limit: must be at most {most}, found {limit}")]);
    }
    let found = plans.issues("roadmap_list", json!({ "folder": "/" }));
    assert!(found.len() == 1 && found[0].starts_with("folder: unknown argument"), "{found:?}");
    assert_eq!(plans.issues("context_compare", json!({})), ["context_id1: must be given: an integer"]);
}

#[test]
fn a_list_must_be_a_list_of_objects() {
    let mut plans = Plans::start();
    let mut found = |nodes: Value| {
        plans.issues("roadmap_register", json!({ "roadmap_id": "x", "title": "x", "nodes": nodes }))
    };
    assert_eq!(found(Value::Null), ["nodes: must be given: a list of objects"]);
    assert_eq!(found(json!("x")), ["nodes: must be a list, found the text \"x\""]);
    let text = "nodes: must be a list, found the text \"[{}]\"; give the list itself, not its JSON as a text";
    assert_eq!(found(json!("[{}]")), [text]);
    assert_eq!(found(json!({ "a": 1 })), ["nodes: must be a list, found an object"]);
    assert_eq!(found(json!([{ "id": "a", "label": "a" }, 7])), ["nodes[1]: must be an object, found 7"]);
    for (node, path) in [
        (json!({}), "nodes[0].id"),
        (json!({ "id": "a" }), "nodes[0].label"),
        (json!({ "id": [7], "label": "a" }), "nodes[0].id"),
        (json!({ "id": "a", "label": "a", "dependencies": "b" }), "nodes[0].dependencies"),
        (json!({ "id": "a", "label": "a", "dependencies": ["b"] }), "nodes[0].dependencies"),
    ] {
        let found = found(json!([node]));
        assert!(found[0].starts_with(path), "{node}: {found:?}");
    }
    assert_eq!(plans.data("roadmap_list", json!({}))["count"], 0);
}

#[test]
fn what_is_too_deep_or_too_large_is_refused_in_words() {
    let mut plans = Plans::start();
    let register = |nodes: &str| {
        let arguments = format!(r#"{{"roadmap_id":"x","title":"x","nodes":{nodes}}}"#);
        let params = format!(r#"{{"name":"roadmap_register","arguments":{arguments}}}"#);
        format!(r#"{{"jsonrpc":"2.0","id":"raw","method":"tools/call","params":{params}}}"#)
    };
    for deep in ["[".repeat(200) + &"]".repeat(200), r#"[{"a":"#.repeat(100) + "1" + &"}]".repeat(100)] {
        plans.server.send(register(&deep));
        let answer = plans.server.receive();
        let refused = match answer.get("error") {
            Some(error) => error["code"] == -32700 && answer["id"] == "raw",
            None => issues(&envelope(&answer))[0].contains("too deep"),
        };
        assert!(refused, "{answer}");
    }
    let long = format!(r#"[{{"id":"a","label":"{}"}}]"#, "x".repeat(17 << 20));
    plans.server.send(register(&long));
    let refused = envelope(&plans.server.receive());
    assert_eq!(refused["error"]["code"], "TOO_LARGE", "{refused}");
    let metadata = json!({ "x": "y".repeat(70_000) });
    plans.write("import.yaml", IMPORT);
    for tool in ["context_create", "context_ensure"] {
        let refused = plans.call(tool, json!({ "roadmap_id": "import", "metadata": metadata }));
        assert_eq!(refused["error"]["code"], "TOO_LARGE", "{refused}");
        assert_eq!(refused["error"]["details"]["field"], "metadata");
    }
    assert_eq!(plans.data("context_history", json!({ "roadmap_id": "import" }))["count"], 0);
}

#[test]
fn a_file_that_cannot_be_read_is_named_with_line_and_field() {
    let mut plans = Plans::start();
    plans.write("bad.yaml", "title: Bad\nnodes:\n  - id: a\n    label: A\n  - id: b\n    label: [1, 2]\n");
    for tool in ["roadmap_get", "context_create", "context_ensure"] {
        let found = plans.issues(tool, json!({ "roadmap_id": "bad" }));
        assert_eq!(found, ["bad.yaml:6 nodes[1].label: must be a text, found a list"], "{tool}");
    }
    let verdict = plans.data("roadmap_validate", json!({ "roadmap_id": "bad" }));
    let issue = &verdict["issues"][0];
    assert_eq!((&verdict["valid"], &issue["file"]), (&json!(false), &json!("bad.yaml")), "{verdict}");
    assert_eq!((&issue["line"], &issue["field"]), (&json!(6), &json!("nodes[1].label")), "{verdict}");
    let listed = plans.data("roadmap_list", json!({}))["roadmaps"].take();
    assert_eq!((&listed[0]["id"], &listed[0]["title"]), (&json!("bad"), &Value::Null), "{listed}");
    assert!(listed[0]["error"].as_str().unwrap().contains("nodes[1].label"), "{listed}");
}

#[test]
fn files_that_are_no_roadmaps_do_no_harm() {
    let mut plans = Plans::with_import();
    plans.write("latin.yaml", b"title: \xff\xfe");
    plans.write("torn.json", "{ \"title\": ");
    plans.write("void.toml", "");
    plans.write("notes.txt", "nothing of ours");
    std::fs::create_dir_all(plans.folder().join("folder.yaml")).unwrap();
    // Whoever opens one of these waits for ever, since nobody writes into it.
    #[cfg(unix)]
    assert!(Command::new("mkfifo").arg(plans.folder().join("pipe.yaml")).status().unwrap().success());
    plans.data("roadmap_list", json!({}));
    for id in ["latin", "torn", "void", "folder", "notes", "pipe"] {
        for tool in ["roadmap_get", "roadmap_validate", "context_ensure"] {
            plans.call(tool, json!({ "roadmap_id": id }));
        }
    }
    assert_eq!(plans.data("roadmap_get", json!({ "roadmap_id": "import" }))["title"], "Import");
}

#[cfg(unix)]
#[test]
fn a_link_out_of_the_folder_is_not_followed() {
    let mut plans = Plans::with_import();
    let secret = plans.server.folder.path().join("secret.yaml");
    std::fs::write(&secret, IMPORT.replace("Import", "Secret")).unwrap();
    std::os::unix::fs::symlink(&secret, plans.folder().join("linked.yaml")).unwrap();
    for tool in ["roadmap_list", "roadmap_get", "roadmap_validate", "context_ensure"] {
        let arguments = if tool == "roadmap_list" { json!({}) } else { json!({ "roadmap_id": "linked" }) };
        let answer = plans.call(tool, arguments).to_string();
        assert!(!answer.contains("Secret"), "{tool}: {answer}");
    }
    let nodes = json!([{ "id": "n", "label": "n" }]);
    plans.call(
        "roadmap_register",
        json!({ "roadmap_id": "linked", "title": "t", "nodes": nodes, "overwrite": true }),
    );
    assert!(std::fs::read_to_string(&secret).unwrap().contains("Secret"));
}
