//! `cairn export`, `verify-bundle` and `import`.

use std::path::Path;
use std::process::Command;

use cairn::core::note::SigningKey;
use serde_json::json;

use super::harness::Place;
use crate::it::database::sqlites_own;

/// Has the story's log signed; returns the public key.
fn signed(place: &Place) -> String {
    assert_eq!(place.on_story(&["checkpoint"]).code, 0);
    place.on_story(&["key", "show"]).fine().trim().to_string()
}

fn python(file: &Path, keys: &[&str]) -> (i32, String) {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/verify_bundle.py");
    let keys = keys.iter().flat_map(|key| ["--key", key]);
    let run = Command::new("python3").arg(script).arg(file).args(keys).output().unwrap();
    (run.status.code().unwrap(), String::from_utf8([run.stdout, run.stderr].concat()).unwrap())
}

#[test]
fn a_log_goes_into_a_file_and_comes_back_as_the_same_log() {
    let place = Place::with_story();
    let key = signed(&place);
    let run = place.on_story(&["export", "-o", "log.jsonl"]);
    assert!(run.out.starts_with("Wrote log.jsonl: 6 entries, log of size 6, "), "{}", run.out);
    let commands: Vec<&str> = run.err.lines().skip(1).map(str::trim).collect();
    let cairn = format!("cairn verify-bundle 'log.jsonl' --key '{key}'");
    assert_eq!(commands, [&cairn, &format!("python3 docs/verify_bundle.py 'log.jsonl' --key '{key}'")]);
    let text = place.run(&["verify-bundle", "log.jsonl", "--key", &key]).fine();
    assert!(
        text.starts_with("6 entries recomputed, the whole log: nothing was changed; log cairn/"),
        "{text}"
    );
    assert!(text.contains("signed by cairn/"), "{text}");
    // The one that was made before there was a key.
    let open = text.split_once("not verified:\n").unwrap().1;
    assert_eq!(open, "  - 1 older checkpoint carries no signature that counts\n");
    let (code, out) = python(&place.path("log.jsonl"), &[&key]);
    assert_eq!(code, 0, "{out}");
    assert!(out.contains("nothing was changed") && out.contains("signed by cairn/"), "{out}");

    sqlites_own!("an import makes a file");
    let text = place.run(&["--db", "copy.db", "import", "log.jsonl", "--key", &key]).fine();
    assert!(text.starts_with("Made copy.db: 6 entries, log size 6, 4 thoughts\n"), "{text}");
    place.run(&["--db", "copy.db", "export", "-o", "copy.jsonl"]).exported();
    assert_eq!(place.read("copy.jsonl"), place.read("log.jsonl"));
    let again = place.run(&["--db", "copy.db", "import", "log.jsonl"]);
    assert_eq!(again.code, 1);
    assert!(
        again.err.contains("`copy.db` exists already") && again.err.contains("--extend"),
        "{}",
        again.err
    );
}

#[test]
fn without_a_name_the_file_is_named_after_the_log_and_never_replaced() {
    let place = Place::with_story();
    assert_eq!(place.on_story(&["checkpoint"]).code, 0);
    let data = place.on_story(&["--json", "export"]).json();
    let file = data["file"].as_str().unwrap().to_string();
    assert!(file.starts_with("cairn-") && file.ends_with("-6.cairn.jsonl"), "{file}");
    assert_eq!((&data["entries"], &data["size"], &data["signed"]), (&json!(6), &json!(6), &json!(true)));
    let again = place.on_story(&["export"]);
    assert_eq!(again.code, 1);
    assert!(again.err.contains("exists already") && again.err.contains("--force"), "{}", again.err);
    place.write(&file, "something else");
    place.on_story(&["export", "--all", "--force"]).exported();
    assert!(place.read(&file).starts_with("{\"format\":\"cairn-bundle/1\""));
    let left: Vec<String> = std::fs::read_dir(place.path("."))
        .unwrap()
        .map(|file| file.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|name| name.contains("part-"))
        .collect();
    assert_eq!(left, [""; 0]);
}

#[test]
fn a_part_says_what_it_does_not_prove() {
    let place = Place::with_story();
    assert_eq!(place.on_story(&["checkpoint"]).code, 0);
    let run = place.on_story(&["export", "--session", "storage", "-o", "-"]);
    assert_eq!(run.code, 0);
    assert!(run.err.contains("part of a log of size 6"), "{}", run.err);
    let run = place.run_with_input(&["verify-bundle", "-"], run.out.as_bytes());
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{}", run.out);
    let out = run.out.replace("\n    ", " ");
    assert!(
        out.contains("from session `storage`") && out.contains("proves inclusion, never completeness"),
        "{out}"
    );
    assert!(out.contains("nobody's signature was checked"), "{out}");
    place.on_story(&["export", "--session", "storage", "-o", "part.jsonl"]).exported();
    let both = place.on_story(&["export", "--session", "storage", "--task", "storage"]);
    assert_eq!(both.code, 2);
    let nobody = place.on_story(&["export", "--task", "nobody"]);
    assert_eq!(nobody.code, 1);
    assert!(nobody.err.contains("no task `nobody`"), "{}", nobody.err);
    sqlites_own!("an import makes a file");
    let import = place.run(&["--db", "new.db", "import", "part.jsonl"]);
    assert_eq!(import.code, 1);
    assert!(import.err.contains("a part of a log only"), "{}", import.err);
    assert!(!place.path("new.db").exists());
}

#[test]
fn what_was_changed_is_named_and_not_imported() {
    let place = Place::with_story();
    let key = signed(&place);
    place.on_story(&["export", "-o", "log.jsonl"]).exported();
    let forged = place.read("log.jsonl").replace("PostgreSQL needs", "PostgreSQL lacks");
    place.write("forged.jsonl", &forged);
    let run = place.run(&["verify-bundle", "forged.jsonl", "--key", &key]);
    assert_eq!((run.code, run.err.as_str()), (1, ""));
    assert!(run.out.starts_with("2 findings: this bundle is not what was recorded\n"), "{}", run.out);
    assert!(run.out.contains("1. content_hash_mismatch\n   table    thought\n"), "{}", run.out);
    let data = place.run(&["--json", "verify-bundle", "forged.jsonl"]);
    assert_eq!(data.code, 1);
    assert_eq!(data.json()["valid"], json!(false));
    assert_eq!(data.json()["findings"][0]["seq"], json!(2));
    let (code, out) = python(&place.path("forged.jsonl"), &[&key]);
    assert_eq!(code, 1, "{out}");
    assert!(out.contains("1. content_hash_mismatch (table thought, log entry 2, "), "{out}");
    sqlites_own!("an import makes a file");
    let import = place.run(&["--db", "new.db", "import", "forged.jsonl"]);
    assert_eq!(import.code, 1);
    assert!(import.out.contains("content_hash_mismatch"), "{}", import.out);
    assert!(!place.path("new.db").exists());
}

#[test]
fn keys_come_from_the_command_line_or_a_file_and_must_be_keys() {
    let place = Place::with_story();
    let key = signed(&place);
    place.on_story(&["export", "-o", "log.jsonl"]).exported();
    place.write("keys", &format!("# whose\n\n{key}\n"));
    let text = place.run(&["verify-bundle", "log.jsonl", "--key-file", "keys"]).fine();
    assert!(text.contains("signed by cairn/"), "{text}");
    let other = SigningKey::from_seed("cairn/other", [8; 32]).unwrap().verifying_key().to_string();
    let run = place.run(&["verify-bundle", "log.jsonl", "--key", &other]);
    assert_eq!(run.code, 1);
    assert!(run.out.contains("checkpoint_mismatch"), "{}", run.out);
    assert_eq!(python(&place.path("log.jsonl"), &[&other]).0, 1);
    for wrong in ["nonsense", &key[1..]] {
        let run = place.run(&["verify-bundle", "log.jsonl", "--key", wrong]);
        assert_eq!(run.code, 2, "{}", run.err);
        assert_eq!(python(&place.path("log.jsonl"), &[wrong]).0, 2);
    }
    let missing = place.run(&["verify-bundle", "none.jsonl"]);
    assert_eq!(missing.code, 1);
    assert!(missing.err.contains("cannot read `none.jsonl`"), "{}", missing.err);
}

#[test]
fn the_script_takes_the_arguments_of_the_command_and_ends_with_the_same_code() {
    let place = Place::with_story();
    let key = signed(&place);
    place.on_story(&["export", "-o", "log.jsonl"]).exported();
    place.write("keys", &format!("# whose\n\n{key}\n"));
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/verify_bundle.py");
    let run = |arguments: &[&str]| {
        let run = Command::new("python3").arg(script).args(arguments).current_dir(place.path(".")).output();
        let run = run.unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (run.status.code().unwrap(), text(run.stdout), text(run.stderr))
    };
    let equals = format!("--key={key}");
    for fine in [
        &["log.jsonl", "--key", &key][..],
        &["--key", &key, "log.jsonl"],
        &["log.jsonl", &equals, "--key", &key],
        &["log.jsonl", "--key-file", "keys"],
    ] {
        let (code, out, err) = run(fine);
        assert!(code == 0 && out.contains("signed by cairn/") && err.is_empty(), "{out}{err}");
        assert_eq!(place.run(&[&["verify-bundle"], fine].concat()).code, 0);
    }
    for wrong in [
        &[][..],
        &["log.jsonl", "--key"],
        &["log.jsonl", "--kee", &key],
        &["log.jsonl", "--key", "nonsense"],
        &["log.jsonl", &key],
        &["log.jsonl", "--key-file", "log.jsonl/../empty"],
    ] {
        place.write("empty", "");
        let (code, out, err) = run(wrong);
        let missing = wrong.last().is_some_and(|last| last.ends_with("empty"));
        assert_eq!((code, &out[..]), (if missing { 1 } else { 2 }, ""), "{err}");
        assert!(
            err.starts_with("error: ") && (missing || err.contains("\nusage: verify_bundle.py FILE")),
            "{err}"
        );
        assert_eq!(place.run(&[&["verify-bundle"], wrong].concat()).code, code, "{wrong:?}");
    }
    let (code, out, err) = run(&["none.jsonl"]);
    assert_eq!(
        (code, &out[..], &err[..]),
        (1, "", "error: cannot read `none.jsonl`: No such file or directory\n")
    );
}

#[test]
fn an_old_backup_is_completed() {
    sqlites_own!("`cairn backup` copies a file");
    let place = Place::with_story();
    place.on_story(&["backup", "old.db"]).fine();
    assert_eq!(place.on_story(&["record", "plan", "later", "-s", "storage"]).code, 0);
    place.on_story(&["export", "-o", "log.jsonl"]).exported();
    let text = place.run(&["--db", "old.db", "import", "--extend", "log.jsonl"]).fine();
    assert!(text.starts_with("Added to old.db: 2 entries, log size 7, 5 thoughts\n"), "{text}");
    place.run(&["--db", "old.db", "export", "-o", "old.jsonl"]).exported();
    assert_eq!(place.read("old.jsonl"), place.read("log.jsonl"));
    let none = place.run(&["--db", "none.db", "import", "--extend", "log.jsonl"]);
    assert_eq!(none.code, 1);
    assert!(none.err.contains("there is no database at `none.db`"), "{}", none.err);
}

#[test]
fn a_log_without_a_key_says_so() {
    let place = Place::with_story();
    let mut command = place.command(&["--db", "cairn.db", "export", "-o", "log.jsonl"]);
    let run = command.env("CAIRN_SIGNER", "none").output().unwrap();
    let text = String::from_utf8(run.stdout).unwrap();
    assert!(run.status.success() && text.contains("No key has signed this state of the log"), "{text}");
}

#[test]
fn what_is_sealed_needs_its_key_and_what_was_redacted_is_erased_in_an_older_copy() {
    sqlites_own!("`cairn backup` copies a file");
    let place = Place::with_story();
    let text = place.on_story(&["record", "plan", "Ask Zoltan Quixley", "-s", "storage", "--seal"]);
    assert_eq!(text.code, 0, "{text:?}");
    let records = place.on_story(&["--json", "list"]).json();
    let id = |n: usize| records["records"][n]["id"].as_str().unwrap().to_string();
    let (first, sealed) = (id(0), id(4));
    let content = records["records"][0]["content"].as_str().unwrap().to_string();
    place.on_story(&["backup", "old.db"]).fine();
    let text = place.on_story(&["export", "-o", "closed.jsonl"]).exported();
    assert!(text.contains("--with-keys would add their keys"), "{text}");
    let refused = place.run(&["--db", "new.db", "import", "closed.jsonl"]);
    assert_eq!(refused.code, 1);
    assert!(refused.err.contains("1 sealed content without its key"), "{}", refused.err);
    assert!(!place.path("new.db").exists());
    place.on_story(&["export", "--with-keys", "-o", "open.jsonl"]).exported();
    place.run(&["--db", "new.db", "import", "open.jsonl"]).fine();
    let shown = place.run(&["--db", "new.db", "show", &sealed]).fine();
    assert!(shown.contains("Ask Zoltan Quixley"), "{shown}");

    for id in [&first, &sealed] {
        place.on_story(&["redact", id, "--reason", "a person's data", "--yes"]).fine();
    }
    let text = place.on_story(&["export", "-o", "redacted.jsonl"]).exported();
    assert!(text.contains(", 2 redacted") && !text.contains("--with-keys"), "{text}");
    let text = place.run(&["verify-bundle", "redacted.jsonl"]).fine();
    assert!(text.contains("redacted:") && text.contains("a\n    person's data"), "{text}");
    let text = place.run(&["--db", "old.db", "import", "--extend", "redacted.jsonl"]).fine();
    assert!(text.contains("Erased 2 texts that the log says were redacted since."), "{text}");
    let bytes = std::fs::read(place.path("old.db")).unwrap();
    assert!(!bytes.windows(content.len()).any(|window| window == content.as_bytes()));
    place.run(&["--db", "old.db", "export", "-o", "old.jsonl"]).exported();
    assert_eq!(place.read("old.jsonl"), place.read("redacted.jsonl"));
    assert_eq!(place.run(&["--db", "old.db", "verify"]).code, 0);
}

/// The same as `cairn verify --key` says of the database.
#[test]
fn a_bundle_can_be_followed_over_a_change_of_keys() {
    let place = Place::with_story();
    let old = signed(&place);
    assert_eq!(place.on_story(&["key", "rotate", "--reason", "a year has passed"]).code, 0);
    let new = place.on_story(&["key", "show"]).fine().trim().to_string();
    place.on_story(&["export", "-o", "log.jsonl"]).exported();
    place.on_story(&["export", "--session", "storage", "-o", "part.jsonl"]).exported();
    for file in ["log.jsonl", "part.jsonl"] {
        for key in [&old, &new] {
            let text = place.run(&["verify-bundle", file, "--key", key]).fine().replace('\n', " ");
            assert!(text.contains("signed by cairn/"), "{text}");
            assert_eq!(text.contains("introduced by"), *key == old, "{text}");
            assert_eq!(python(&place.path(file), &[key]).0, 0);
        }
    }
    sqlites_own!("an import makes a file");
    place.run(&["--db", "copy.db", "import", "log.jsonl", "--key", &old]).fine();
}
