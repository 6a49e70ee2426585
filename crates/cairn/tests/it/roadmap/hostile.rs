use super::*;

const GOOD: &str = "title: T\nnodes: []\n";

#[test]
fn ids_that_lead_elsewhere_are_refused() {
    let (folder, roadmaps) = folder();
    fs::write(folder.path().parent().unwrap().join("cairn-outside.yaml"), GOOD).unwrap();
    for id in [
        "../cairn-outside",
        "..",
        ".",
        "",
        "a/b",
        "a\\b",
        "/etc/passwd",
        "a\0b",
        ".hidden",
        "a..b",
        "ä",
        "a b",
        "C:x",
        "~",
        &"a".repeat(129),
    ] {
        let error = roadmaps.get(id).unwrap_err();
        assert_eq!(error.code(), "INVALID_PARAMS", "{id:?}");
        assert!(error.to_string().starts_with("roadmap_id: must be 1 to 128 letters"), "{error}");
        assert_eq!(roadmaps.validate(id).unwrap_err().code(), "INVALID_PARAMS", "{id:?}");
        assert_eq!(roadmaps.register(new(id)).unwrap_err().code(), "INVALID_PARAMS", "{id:?}");
    }
    fs::remove_file(folder.path().parent().unwrap().join("cairn-outside.yaml")).unwrap();
}

#[cfg(unix)]
#[test]
fn links_out_of_the_folder_are_refused_and_links_inside_it_are_not() {
    use std::os::unix::fs::symlink;
    let (folder, roadmaps) = folder();
    let (outside, _) = super::folder();
    write(&outside, "secret.yaml", GOOD);
    write(&outside, "git.json", r#"{"title": "secret", "nodes": []}"#);
    write(&folder, "real.yaml", GOOD);
    let at = |name: &str| folder.path().join(name);
    symlink(outside.path().join("secret.yaml"), at("out.yaml")).unwrap();
    symlink(outside.path(), at("git")).unwrap();
    symlink("/etc/passwd", at("passwd.md")).unwrap();
    symlink("real.yaml", at("inside.yaml")).unwrap();
    symlink("nowhere", at("dangling.yaml")).unwrap();
    symlink("loop.yaml", at("loop.yaml")).unwrap();
    assert_eq!(roadmaps.get("inside").unwrap().title, "T");
    for (id, says) in [
        ("out", "`out.yaml` is a link out of the folder of roadmaps"),
        ("git", "`git/git.json` is a link out of the folder of roadmaps"),
        ("passwd", "`passwd.md` is a link out of the folder of roadmaps"),
        ("dangling", "`dangling.yaml` is a link to nothing"),
        ("loop", "`loop.yaml` cannot be read"),
    ] {
        let error = roadmaps.get(id).unwrap_err();
        assert_eq!(error.code(), "INVALID_PARAMS");
        assert!(error.to_string().contains(says), "{error}");
        assert!(!error.to_string().contains(outside.path().to_str().unwrap()), "{error}");
        assert!(roadmaps.register(NewRoadmap { overwrite: true, ..new(id) }).is_err());
    }
    let listed = roadmaps.list().unwrap();
    for roadmap in listed.iter().filter(|roadmap| roadmap.error.is_some()) {
        let found = roadmaps.validate(roadmap.id.as_str()).unwrap();
        assert_eq!((found.valid, found.issues.len()), (false, 1), "a refusal is an issue of its file");
        assert_eq!(Some(&found.issues[0].message), roadmap.error.as_ref());
        assert!(found.issues[0].file.starts_with(roadmap.id.as_str()), "{:?}", found.issues);
    }
    assert_eq!(listed.len(), 7);
    assert_eq!(listed.iter().filter(|roadmap| roadmap.error.is_none()).count(), 2);
    assert_eq!(fs::read_to_string(outside.path().join("secret.yaml")).unwrap(), GOOD);

    // The folder itself may be reached by a link, and a register through an inner link keeps the link.
    symlink(folder.path(), outside.path().join("roadmaps")).unwrap();
    let through = Roadmaps::new(outside.path().join("roadmaps"));
    assert_eq!(through.get("real").unwrap().title, "T");
    through.register(NewRoadmap { overwrite: true, ..new("inside") }).unwrap();
    assert!(fs::symlink_metadata(at("inside.yaml")).unwrap().is_symlink());
    assert_eq!(through.get("real").unwrap().title, "Plan");
}

#[cfg(unix)]
#[test]
fn what_is_no_regular_file_is_refused_without_opening_it() {
    let (folder, roadmaps) = folder();
    let made = std::process::Command::new("mkfifo").arg(folder.path().join("pipe.yaml")).status();
    assert!(made.unwrap().success());
    let _socket = std::os::unix::net::UnixListener::bind(folder.path().join("socket.json")).unwrap();
    let start = Instant::now();
    for (id, name) in [("pipe", "pipe.yaml"), ("socket", "socket.json")] {
        let error = roadmaps.get(id).unwrap_err();
        assert_eq!(error.to_string(), format!("roadmap_id: `{name}` is not a regular file"));
    }
    assert_eq!(roadmaps.list().unwrap().len(), 2);
    must_end(start);
}

#[test]
fn a_file_of_fifty_megabytes_is_refused_by_its_size() {
    let (folder, roadmaps) = folder();
    for (id, name) in [("y", "y.yaml"), ("j", "j.json"), ("t", "t.toml"), ("m", "m.md"), ("f", "f/f.json")] {
        write(&folder, name, "");
        let file = fs::OpenOptions::new().write(true).open(folder.path().join(name)).unwrap();
        file.set_len(50 << 20).unwrap();
        let error = roadmaps.get(id).unwrap_err();
        assert_eq!(error.code(), "TOO_LARGE");
        assert_eq!(error.to_string(), "roadmap has 52428800 bytes; the limit is 16777216");
        let found = roadmaps.validate(id).unwrap().issues;
        assert_eq!((found[0].file.as_str(), &found[0].message), (name, &error.to_string()));
    }
    assert!(roadmaps.list().unwrap().iter().all(|roadmap| roadmap.error.is_some()));
    let error = roadmaps.register(NewRoadmap {
        nodes: vec![json!({"id": "a", "label": "A", "notes": "x".repeat(17 << 20)})],
        ..new("big")
    });
    assert_eq!(error.unwrap_err().code(), "TOO_LARGE");
}

#[test]
fn bombs_and_deep_nesting_are_reported_in_words() {
    let (folder, roadmaps) = folder();
    let mut bomb = "title: T\nnodes: []\na: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n".to_string();
    for level in 1..30 {
        bomb += &format!("b{level}: &a{level} [{}]\n", vec![format!("*a{}", level - 1); 9].join(", "));
    }
    let deep = |open: &str, close: &str| open.repeat(1 << 19) + &close.repeat(1 << 19);
    write(&folder, "bomb.yaml", &bomb);
    write(&folder, "front.md", format!("---\n{bomb}---\n"));
    write(&folder, "wide.yaml", format!("x: [{}]", "1,".repeat(7 << 20)));
    write(&folder, "json.json", deep("[", "]"));
    write(&folder, "objects.json", format!("{{\"title\": \"T\", \"nodes\": {}", "[{\"a\":".repeat(1 << 20)));
    write(&folder, "yaml.yaml", deep("[", "]"));
    write(&folder, "dashes.yaml", "- ".repeat(1 << 20));
    write(&folder, "toml.toml", format!("a = {}", deep("[", "]")));
    write(&folder, "dots.toml", format!("{}a = 1", "a.".repeat(1 << 19)));
    write(&folder, "brackets/brackets.json", format!("{{\"edges\": [], \"nodes\": {}", "[".repeat(1 << 20)));
    let start = Instant::now();
    for (id, says) in [
        ("bomb", "bomb.yaml:8 b5: more than 1000000 values, aliases counted"),
        ("front", "front.md:9 b5: more than 1000000 values, aliases counted"),
        ("wide", "more than 1500000 marks"),
        ("json", "more than 64 levels of nesting"),
        ("objects", "more than 64 levels of nesting"),
        ("yaml", "more than 64 levels of nesting"),
        ("dashes", "more than 64 levels of nesting"),
        ("toml", "more than 64 levels of nesting"),
        ("dots", "more than 64 levels of nesting"),
        ("brackets", "brackets/brackets.json:1 nodes[0]"),
    ] {
        let found = issues(&roadmaps, id);
        assert_eq!(found.len(), 1);
        assert!(found[0].contains(says), "{id}: {}", found[0]);
        assert!(found[0].len() < 1000, "{}", found[0]);
    }
    assert!(roadmaps.list().unwrap().iter().all(|roadmap| roadmap.error.is_some()));
    must_end(start);
}

#[test]
fn a_cycle_of_ten_thousand_nodes_is_one_issue_of_one_line() {
    let (folder, roadmaps) = folder();
    let node = |i: usize| json!({"id": format!("n{i}"), "label": "N", "dependencies": [format!("n{}", (i + 1) % 10_000)]});
    let nodes: Vec<Value> = (0..10_000).map(node).collect();
    write(&folder, "c.json", json!({"title": "T", "nodes": nodes.clone()}).to_string());
    let start = Instant::now();
    let found = issues(&roadmaps, "c");
    assert_eq!(found.len(), 1);
    assert!(found[0].contains("in a circle: n0 → n1 → n2") && found[0].len() < 300, "{}", found[0]);
    let error = roadmaps.register(NewRoadmap { nodes, ..new("d") }).unwrap_err();
    assert!(
        error.to_string().starts_with("nodes[0].dependencies: these nodes depend on each other"),
        "{error}"
    );
    must_end(start);
}

#[test]
fn a_flood_of_flaws_is_cut() {
    let (folder, roadmaps) = folder();
    let nodes: Vec<Value> =
        (0..5_000).map(|_| json!({"id": "same", "label": "N", "dependencies": ["gone"]})).collect();
    write(&folder, "f.json", json!({"title": "T", "nodes": nodes.clone()}).to_string());
    let found = issues(&roadmaps, "f");
    assert_eq!(found.len(), 101);
    assert!(found[100].contains("more issues"), "{}", found[100]);
    let Err(Error::Invalid(refused)) = roadmaps.register(NewRoadmap { nodes, ..new("g") }) else { panic!() };
    assert_eq!(refused.len(), 100);
}
