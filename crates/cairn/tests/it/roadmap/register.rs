use super::*;

#[test]
fn a_new_one_is_a_file_that_people_can_read() {
    let parent = tempfile::tempdir().unwrap();
    let roadmaps = Roadmaps::new(parent.path().join("deep/roadmaps"));
    let registered = roadmaps
        .register(NewRoadmap {
            description: Some("Why: because\nof this".into()),
            phases: vec![json!("one"), json!({"weeks": 2, "title": "Two", "id": "two"})],
            nodes: vec![
                json!({"dependents": ["b"], "label": "A", "id": "a", "owner": "ada", "phase": "two"}),
                json!({"dependencies": ["a"], "id": 7, "label": "7"}),
            ],
            connections: vec![json!({"to": 7, "from": "a"})],
            ..new("plan")
        })
        .unwrap();
    assert_eq!(
        (registered.form, registered.file.as_str(), registered.replaced),
        (Form::Yaml, "plan.yaml", false)
    );
    assert_eq!(registered.roadmap, roadmaps.get("plan").unwrap());
    assert_eq!(registered.roadmap.nodes[0].node.dependents, ["7"]);
    let text = fs::read_to_string(roadmaps.folder().join("plan.yaml")).unwrap();
    assert_eq!(
        text,
        "title: Plan\ndescription: \"Why: because\\nof this\"\nphases:\n  - one\n  - id: two\n    title: Two\n    \
         weeks: 2\nnodes:\n  - id: a\n    label: A\n    phase: two\n    owner: ada\n  - id: 7\n    label: \"7\"\n    \
         dependencies: [a]\nconnections:\n  - from: a\n    to: 7\n"
    );
    assert_eq!(names(roadmaps.folder()), ["plan.yaml"], "nothing else is left behind");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(roadmaps.folder()), 0o700);
        assert_eq!(mode(roadmaps.folder().parent().unwrap()), 0o700);
    }
}

#[test]
fn issues_and_flaws_are_refused_and_nothing_is_written() {
    let (folder, roadmaps) = folder();
    let refused = |new: NewRoadmap| {
        let error = roadmaps.register(new).unwrap_err();
        assert_eq!(error.code(), "INVALID_PARAMS");
        error.to_string()
    };
    let mut missing = new("x");
    missing.nodes.push(json!({"id": "c"}));
    assert_eq!(refused(missing), "nodes[2].label: is missing: a text is expected");
    let mut dangling = new("x");
    dangling.connections.push(json!({"from": "a", "to": "z"}));
    assert_eq!(refused(dangling), "connections[0].to: there is no node `z`");
    let mut twice = new("x");
    twice.nodes.push(json!({"id": "a", "label": "again"}));
    assert_eq!(refused(twice), "nodes[2].id: nodes[0] has the id `a` already");
    let mut circle = new("x");
    circle.nodes[0]["dependencies"] = json!(["b"]);
    assert!(refused(circle).contains("a → b → a"));
    assert_eq!(refused(NewRoadmap { title: " ".into(), ..new("x") }), "title: must not be empty");
    let mut nested = json!(1);
    for _ in 0..63 {
        nested = json!([nested]);
    }
    let mut deep = new("x");
    deep.nodes[0]["extra"] = nested;
    assert!(refused(deep).contains("levels of nesting"));
    assert_eq!(names(folder.path()), [""; 0]);
}

#[test]
fn overwriting_is_asked_for_and_keeps_the_form() {
    let (folder, roadmaps) = folder();
    let below = "\r\n# Text  \n---\nbelow, byte for byte";
    for (name, text, form) in [
        ("a.yaml", "title: Old\nnodes: []\n".to_string(), Form::Yaml),
        ("b.yml", "title: [broken".to_string(), Form::Yaml),
        ("c.json", r#"{"title": "Old", "nodes": []}"#.to_string(), Form::Json),
        ("d.toml", "title = 'Old'\nnodes = []".to_string(), Form::Toml),
        ("e.md", format!("---\ntitle: Old\nnodes: []\n---\n{below}"), Form::Markdown),
        ("f.md", format!("no front matter{below}"), Form::Markdown),
    ] {
        write(&folder, name, &text);
        let id = &name[..1];
        let error = roadmaps.register(new(id)).unwrap_err();
        assert_eq!(error.code(), "CONFLICT");
        assert_eq!(
            error.to_string(),
            format!("`{name}` is there already; pass `overwrite` to replace it, or choose another id")
        );
        assert_eq!(fs::read_to_string(folder.path().join(name)).unwrap(), text);
        #[cfg(unix)]
        fs::set_permissions(folder.path().join(name), std::os::unix::fs::PermissionsExt::from_mode(0o640))
            .unwrap();
        let registered = roadmaps.register(NewRoadmap { overwrite: true, ..new(id) }).unwrap();
        assert_eq!((registered.form, registered.file.as_str(), registered.replaced), (form, name, true));
        assert_eq!(bytes(roadmaps.get(id).unwrap()), bytes(registered.roadmap));
        assert_eq!(roadmaps.get(id).unwrap().nodes[1].node.dependencies, ["a"]);
        let written = fs::read_to_string(folder.path().join(name)).unwrap();
        assert!(form != Form::Markdown || written.ends_with(below), "{written}");
        #[cfg(unix)]
        {
            let mode = fs::metadata(folder.path().join(name)).unwrap().permissions();
            assert_eq!(std::os::unix::fs::PermissionsExt::mode(&mode) & 0o777, 0o640);
        }
    }
    assert_eq!(names(folder.path()).len(), 6, "nothing else is left behind");
}

#[test]
fn a_drawing_is_not_written_over() {
    let (folder, roadmaps) = folder();
    write(&folder, "git/git.json", r#"{"nodes": [], "edges": []}"#);
    write(&folder, "flat.json", r#"{"nodes": [], "edges": []}"#);
    for id in ["git", "flat"] {
        let error = roadmaps.register(NewRoadmap { overwrite: true, ..new(id) }).unwrap_err();
        assert_eq!(error.code(), "CONFLICT");
        assert!(error.to_string().contains("register under another id"), "{error}");
    }
}

#[test]
fn null_where_toml_has_none_is_said() {
    let (folder, roadmaps) = folder();
    write(&folder, "t.toml", "title = 'T'\nnodes = []\n");
    let mut plan = NewRoadmap { overwrite: true, ..new("t") };
    plan.nodes[0]["scope"] = Value::Null;
    plan.nodes[0]["list"] = json!([1, null]);
    let error = roadmaps.register(plan).unwrap_err();
    assert_eq!(error.to_string(), "nodes[0].list: a list holds a null, which TOML cannot");
}

#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_written_is_said_in_words() {
    use std::os::unix::fs::PermissionsExt;
    let (folder, roadmaps) = folder();
    write(&folder, "old.yaml", "title: Old\nnodes: []\n");
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o500)).unwrap();
    // Whoever may do everything may write here as well.
    if fs::write(folder.path().join("probe"), "").is_err() {
        for id in ["new", "old"] {
            let error = roadmaps.register(NewRoadmap { overwrite: true, ..new(id) }).unwrap_err().to_string();
            assert!(error.contains("cannot be written (permission denied); nothing was changed"), "{error}");
        }
        assert_eq!(roadmaps.get("old").unwrap().title, "Old");
    }
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).unwrap();
    let on_a_file = Roadmaps::new(folder.path().join("old.yaml"));
    let error = on_a_file.register(new("x")).unwrap_err().to_string();
    assert!(error.contains("is a file") || error.contains("cannot be read"), "{error}");
    assert_eq!(on_a_file.list().unwrap_err().code(), "CONFLICT");
}

/// Readers never see anything but a whole file, and of many who register one id at once only one succeeds.
#[test]
fn readers_see_the_old_or_the_new_and_one_writer_wins() {
    let (folder, roadmaps) = folder();
    let won: usize = std::thread::scope(|scope| {
        let writers: Vec<_> =
            (0..8).map(|_| scope.spawn(|| usize::from(roadmaps.register(new("one")).is_ok()))).collect();
        writers.into_iter().map(|writer| writer.join().unwrap()).sum()
    });
    assert_eq!(won, 1);
    let plan = |title: &str| NewRoadmap {
        title: title.into(),
        nodes: (0..200).map(|i| json!({"id": format!("{title}{i}"), "label": title})).collect(),
        overwrite: true,
        ..new("one")
    };
    roadmaps.register(plan("even")).unwrap();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for round in 0..40 {
                roadmaps.register(plan(["even", "odd"][round % 2])).unwrap();
            }
        });
        while !writer.is_finished() {
            let roadmap = roadmaps.get("one").unwrap();
            assert_eq!(roadmap.nodes.len(), 200);
            assert!(roadmap.nodes.iter().all(|node| node.node.label == roadmap.title));
        }
    });
    assert_eq!(names(folder.path()), ["one.yaml"]);
}

#[test]
fn a_file_is_taken_over_as_it_is() {
    let (folder, roadmaps) = folder();
    let (elsewhere, _) = super::folder();
    for (name, text, stored, form) in [
        ("p.yaml", YAML.to_string(), "a.yaml", Form::Yaml),
        ("p.yml", YAML.to_string(), "b.yml", Form::Yaml),
        ("p.json", JSON.to_string(), "c.json", Form::Json),
        ("p.toml", format!("# comment\n{TOML}"), "d.toml", Form::Toml),
        ("p.md", format!("---\n{YAML}---\ntext"), "e.md", Form::Markdown),
        (
            "q.json",
            r#"{"nodes": [{"id": "t", "type": "topic"}], "edges": []}"#.into(),
            "f/f.json",
            Form::RoadmapSh,
        ),
    ] {
        write(&elsewhere, name, &text);
        let (id, file) = (&stored[..1], elsewhere.path().join(name));
        let registered = roadmaps.add(id, &file, false).unwrap();
        assert_eq!((registered.file.as_str(), registered.form, registered.replaced), (stored, form, false));
        assert_eq!(fs::read_to_string(folder.path().join(stored)).unwrap(), text);
        assert_eq!(roadmaps.add(id, &file, false).unwrap_err().code(), "CONFLICT");
        assert!(roadmaps.add(id, &file, true).unwrap().replaced);
    }
    let error = roadmaps.add("a", &elsewhere.path().join("p.toml"), true).unwrap_err();
    assert!(error.to_string().contains("kept in `a.yaml`"), "{error}");
    write(&elsewhere, "flawed.yaml", "title: T\nnodes:\n  - {id: a, label: A, dependencies: [z]}\n");
    let error = roadmaps.add("z", &elsewhere.path().join("flawed.yaml"), false).unwrap_err();
    assert_eq!(error.to_string(), "flawed.yaml:3 nodes[0].dependencies: there is no node `z`");
    for (name, says) in [
        ("gone.yaml", "no file `gone.yaml`"),
        ("p.txt", "file: must end in .yaml, .yml, .json, .toml or .md"),
        ("", "file: must end in"),
    ] {
        let error = roadmaps.add("z", &elsewhere.path().join(name), false).unwrap_err().to_string();
        assert!(error.starts_with(says), "{error}");
    }
    fs::create_dir(elsewhere.path().join("dir.yaml")).unwrap();
    let error = roadmaps.add("z", &elsewhere.path().join("dir.yaml"), false).unwrap_err();
    assert_eq!(error.to_string(), "file: `dir.yaml` is not a regular file");
    assert!(!names(folder.path()).iter().any(|name| name.starts_with('.') || name.starts_with('z')));
}

#[test]
fn the_answer_is_what_this_caller_wrote() {
    let (_folder, roadmaps) = folder();
    roadmaps.register(new("plan")).unwrap();
    std::thread::scope(|scope| {
        for title in ["one", "two", "three"] {
            let roadmaps = &roadmaps;
            scope.spawn(move || {
                for _ in 0..40 {
                    let plan = NewRoadmap { title: title.into(), overwrite: true, ..new("plan") };
                    assert_eq!(roadmaps.register(plan).unwrap().roadmap.title, title);
                }
            });
        }
    });
}
