//! What is typed wrong, and what is typed to be helped.

use super::harness::Place;

#[test]
fn wrong_usage_ends_with_exit_code_2_and_changes_nothing() {
    let place = Place::new();
    let wrong: [&[&str]; 8] = [
        &[],
        &["nope"],
        &["record", "idea", "x", "-t", "t"],
        &["record", "plan", "x"],
        &["list", "--limit", "0"],
        &["list", "--limit", "1", "--last", "1"],
        &["show"],
        &["completions", "tcsh"],
    ];
    for args in wrong {
        let run = place.run(args);
        assert_eq!((run.code, run.out.as_str()), (2, ""), "{args:?}");
        assert!(!run.err.is_empty());
    }
    assert_eq!(std::fs::read_dir(place.path("")).unwrap().count(), 0);
}

#[test]
fn wrong_usage_is_told_in_json_to_those_who_ask_for_json() {
    let run = Place::new().run(&["--json", "record", "idea", "x", "-t", "t"]);
    assert_eq!((run.code, run.err.as_str()), (2, ""));
    let error = &run.json()["error"];
    assert_eq!(error["code"], "INVALID_PARAMS");
    let message = "invalid value 'idea' for '<TYPE>' [possible values: plan, analysis, decision, reflection]";
    assert_eq!(error["message"], message);
}

#[test]
fn completions_know_the_commands() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = Place::new().run(&["completions", shell]).fine();
        assert!(script.contains("verify") && script.contains("durability"), "{shell}");
    }
}

#[test]
fn the_version_is_that_of_the_package() {
    assert_eq!(Place::new().run(&["--version"]).fine(), format!("cairn {}\n", env!("CARGO_PKG_VERSION")));
}
