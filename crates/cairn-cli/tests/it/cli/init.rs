//! `cairn init`, and how a project's database is found.

use serde_json::{Value, json};

use super::harness::Place;
use crate::it::database::sqlites_own;

fn config(place: &Place) -> Value {
    serde_json::from_str(&place.read(".mcp.json")).unwrap()
}

#[test]
fn a_folder_gets_a_private_database_and_a_server() {
    let place = Place::new();
    assert_eq!(place.run(&["init"]).fine(), "Made .cairn/cairn.db\nMade .mcp.json with the server `cairn`\n");
    assert_eq!(place.read(".cairn/.gitignore"), "*\n!roadmaps/\n!roadmaps/**\n");
    let expected = json!({"mcpServers": {"cairn": {
        "command": env!("CARGO_BIN_EXE_cairn"),
        "args": ["mcp", "--tools", "trail,snapshot"],
    }}});
    assert_eq!(config(&place), expected);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |name: &str| std::fs::metadata(place.path(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(".cairn"), mode(".mcp.json")), (0o700, 0o644));
    }
}

#[test]
fn a_second_run_changes_nothing_and_says_so() {
    let place = Place::new();
    place.run(&["init"]);
    let before = (place.read(".mcp.json"), std::fs::read(place.path(".cairn/cairn.db")).unwrap());
    let text = place.run(&["init"]).fine();
    assert_eq!(text, "Found .cairn/cairn.db\n.mcp.json has the server `cairn` already; nothing changed\n");
    assert!(before == (place.read(".mcp.json"), std::fs::read(place.path(".cairn/cairn.db")).unwrap()));
    assert_eq!(place.run(&["--json", "init"]).json()["mcp_json_change"], "unchanged");
}

#[test]
fn everything_else_in_the_configuration_stays_to_the_letter() {
    let place = Place::new();
    let before = "{\n    \"zeta\": {\"b\": 1, \"a\": 1.0},\n    \"mcpServers\": {\n        \"other\": { \"command\": \"x\" }\n    }\n}";
    place.write(".mcp.json", before);
    let run = place.run(&["init"]);
    assert!(run.out.ends_with("Added the server `cairn` to .mcp.json\n"), "{run:?}");
    let after = place.read(".mcp.json");
    let start = "{\n    \"zeta\": {\"b\": 1, \"a\": 1.0},\n    \"mcpServers\": {\n        \"other\": { \"command\": \"x\" },\n        \"cairn\": {\n            \"command\": ";
    assert!(after.starts_with(start), "{after}");
    assert!(after.ends_with("\n        }\n    }\n}"), "{after}");
    assert_eq!(config(&place)["mcpServers"]["cairn"]["args"][0], "mcp");
}

#[test]
fn another_server_of_that_name_is_left_alone_unless_forced() {
    let place = Place::new();
    let before = r#"{"mcpServers": {"cairn": {"command": "mine"}, "x": {}}}"#;
    place.write(".mcp.json", before);
    let run = place.run(&["init"]);
    assert_eq!(run.code, 0);
    assert!(run.out.ends_with("Left .mcp.json alone: its server `cairn` says something else\n"), "{run:?}");
    assert_eq!(run.err, "\nhint: `cairn init --force` replaces it\n");
    assert_eq!(place.read(".mcp.json"), before);
    let run = place.run(&["init", "--force"]);
    assert!(run.out.ends_with("Replaced the server `cairn` in .mcp.json\n"), "{run:?}");
    assert_eq!(config(&place)["mcpServers"]["cairn"]["args"][0], "mcp");
    assert_eq!(config(&place)["mcpServers"]["x"], json!({}));
}

#[test]
fn a_configuration_that_is_no_json_is_refused_with_line_and_column() {
    let place = Place::new();
    place.write(".mcp.json", "{\n  \"mcpServers\": {},\n}\n");
    let run = place.run(&["init"]);
    assert_eq!((run.code, run.out.as_str()), (1, ""));
    let sentence =
        "error: `.mcp.json` is not valid JSON: trailing comma at line 3 column 1; nothing was changed\n";
    assert!(run.err.starts_with(sentence), "{}", run.err);
    assert_eq!(place.read(".mcp.json"), "{\n  \"mcpServers\": {},\n}\n");
    assert!(!place.path(".cairn").exists());
}

#[test]
fn a_program_on_the_path_is_called_by_its_name() {
    let place = Place::new();
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_cairn"));
    let output = place.command(&["init"]).env("PATH", program.parent().unwrap()).output().unwrap();
    assert!(output.status.success());
    assert_eq!(config(&place)["mcpServers"]["cairn"]["command"], "cairn");
}

#[test]
fn commands_use_the_nearest_project_above_them() {
    sqlites_own!("a project's database is a file");
    let place = Place::new();
    std::fs::create_dir_all(place.path("project/src/deep")).unwrap();
    assert_eq!(place.run(&["init", "--dir", "project"]).code, 0);
    let run =
        |args: &[&str]| place.command(args).current_dir(place.path("project/src/deep")).output().unwrap();
    assert!(run(&["record", "plan", "found it", "-t", "t"]).status.success());
    assert!(String::from_utf8(run(&["list"]).stdout).unwrap().contains("found it"));
    assert_eq!(
        place.run(&["--db", "project/.cairn/cairn.db", "--json", "list"]).json()["records"][0]["content"],
        "found it"
    );
}

#[test]
fn without_a_project_the_users_own_folder_is_made_when_something_is_written() {
    let place = Place::new();
    assert_eq!(place.run(&["record", "plan", "x", "-t", "t"]).code, 0);
    let folder = place.path("home/.local/share/cairn");
    assert!(folder.join("cairn.db").is_file());
    #[cfg(unix)]
    assert_eq!(
        std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&folder).unwrap().permissions()) & 0o777,
        0o700
    );
    let named = place.command(&["--json", "list"]).env("XDG_DATA_HOME", place.path("xdg")).output().unwrap();
    assert_eq!(named.status.code(), Some(1));
    let named = place.command(&["list"]).env("CAIRN_DB", folder.join("cairn.db")).output().unwrap();
    assert!(named.status.success());
}

#[test]
fn a_missing_folder_is_not_set_up() {
    let run = Place::new().run(&["init", "--dir", "no"]);
    assert_eq!((run.code, run.out.as_str()), (1, ""));
    assert_eq!(run.err, "error: the folder `no` does not exist\n\nhint: make it with `mkdir -p 'no'`\n");
}
