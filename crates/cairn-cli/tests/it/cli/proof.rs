//! `cairn checkpoint`, `prove`, `log`, `key`, and what `verify` and `doctor` say about signatures and heads.

use cairn::core::log::{CheckpointNote, Growth, Receipt};
use cairn::core::note::{Verdict, VerifyingKey};
use serde_json::Value;

use super::harness::Place;
use crate::it::database::sqlites_own;

/// Records one thought in `cairn.db` of the folder.
fn record(place: &Place, text: &str) {
    place.run(&["--db", "cairn.db", "record", "decision", text, "-s", "s"]).ok();
}

/// The run, which went well.
trait Ok: Sized {
    fn ok(self) -> Self;
}

impl Ok for super::harness::Run {
    #[track_caller]
    fn ok(self) -> Self {
        assert_eq!(self.code, 0, "{}\n{}", self.out, self.err);
        self
    }
}

fn on(place: &Place, args: &[&str]) -> super::harness::Run {
    place.run(&[&["--db", "cairn.db"], args].concat())
}

fn json(place: &Place, args: &[&str]) -> Value {
    let run = on(place, &[args, &["--json"]].concat());
    serde_json::from_str(&run.ok().out).unwrap()
}

fn key(place: &Place) -> VerifyingKey {
    on(place, &["key", "show"]).ok().out.trim().parse().unwrap()
}

#[test]
fn a_checkpoint_is_a_signed_note_and_a_proof_leads_to_it() {
    let place = Place::new();
    record(&place, "one");
    record(&place, "two");
    let note: CheckpointNote = on(&place, &["checkpoint"]).ok().out.parse().unwrap();
    let key = key(&place);
    assert_eq!(note.verdict(&key), Verdict::Signed);
    assert_eq!(note.checkpoint().size(), 4);

    let id = json(&place, &["list"])["records"][1]["id"].as_str().unwrap().to_string();
    let receipt: Receipt = on(&place, &["prove", &id]).ok().out.parse().unwrap();
    let entry = on(&place, &["prove", &id, "--entry"]).ok().out;
    assert!(entry.contains(&id), "{entry}");
    receipt.verify(entry.as_bytes(), &key).unwrap();
    assert!(receipt.verify(entry.replace("\"s\"", "\"t\"").as_bytes(), &key).is_err());

    let growth: Growth = on(&place, &["prove", "--since", "2"]).ok().out.parse().unwrap();
    let old = json(&place, &["prove", "--since", "2"]);
    assert!(growth.extends(&old["old_root"].as_str().unwrap().parse().unwrap()));
}

#[test]
fn whoever_lacks_the_key_of_a_signed_log_is_told_so() {
    let place = Place::new();
    record(&place, "one");
    on(&place, &["checkpoint"]).ok();
    record(&place, "two");
    let elsewhere = |args: &[&str]| {
        let mut command = place.command(&[&["--db", "cairn.db"], args].concat());
        let output = command.env("CAIRN_STATE", place.path("other")).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let text = |bytes| String::from_utf8(bytes).unwrap();
        // As it is said, whatever the width of a line.
        (text(output.stdout) + &text(output.stderr)).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    for args in
        [&["record", "decision", "three", "-s", "s"][..], &["checkpoint"], &["key", "show"], &["doctor"]]
    {
        let said = elsewhere(args);
        let told = said.contains("which is not here: checkpoints made here are unsigned")
            && said.contains("copy it to");
        assert_eq!(told, args[0] != "record", "{args:?}: {said}");
    }
    // With the key, it signs there too.
    std::fs::create_dir_all(place.path("other")).unwrap();
    let _ = std::fs::remove_dir_all(place.path("other/keys"));
    std::fs::rename(place.path("home/.local/state/cairn/keys"), place.path("other/keys")).unwrap();
    let said = elsewhere(&["checkpoint"]);
    assert!(said.contains("signed by"), "{said}");
}

#[test]
fn what_cannot_be_proved_is_told_in_words() {
    let place = Place::new();
    record(&place, "one");
    for (args, code, words) in [
        (&["prove", "99"][..], 1, "no log entry `99`"),
        (&["prove", "no-such-id"], 1, "no thought `no-such-id`"),
        (&["prove", "--since", "99"], 1, "must be at most 3, the size of the log"),
        (&["prove"], 2, "required"),
        (&["verify", "--key", "nonsense"], 2, "--key"),
    ] {
        let run = on(&place, args);
        assert_eq!(run.code, code, "{args:?}: {}", run.err);
        assert!(run.err.contains(words), "{args:?}: {}", run.err);
    }
    // Nothing is made where nothing is.
    let run = place.run(&["--db", "nowhere.db", "checkpoint"]);
    assert!(run.err.contains("there is no database"), "{}", run.err);
    assert!(!place.path("nowhere.db").exists());
}

#[test]
fn verify_says_how_far_signatures_and_heads_reach() {
    let place = Place::new();
    record(&place, "one");
    let run = on(&place, &["verify"]).ok();
    assert!(run.out.contains("signed: the whole log, by"), "{}", run.out);
    assert!(run.out.contains("remembered on this machine: 3 entries"), "{}", run.out);
    // With the right key from elsewhere, and with a wrong one.
    let key = key(&place).to_string();
    on(&place, &["verify", "--key", &key]).ok();
    let wrong = cairn::random_key(key.split('+').next().unwrap()).unwrap().verifying_key().to_string();
    let mut elsewhere = place.command(&["--db", "cairn.db", "verify", "--key", &wrong]);
    let output = elsewhere.env("HOME", place.path("another-home")).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).contains("checkpoint_mismatch"));
}

#[test]
fn a_key_is_replaced_and_whoever_trusts_the_old_one_can_follow() {
    let place = Place::new();
    record(&place, "one");
    let old = key(&place);
    let new: VerifyingKey =
        on(&place, &["key", "rotate", "--reason", "a year has passed"]).ok().out.trim().parse().unwrap();
    assert_ne!(old, new);
    assert_eq!(key(&place), new);
    record(&place, "two");
    on(&place, &["verify"]).ok();
    // Somebody who has only the old key, and remembers nothing.
    let verify = |key: &VerifyingKey| {
        let mut command = place.command(&["--db", "cairn.db", "verify", "--json", "--key", &key.to_string()]);
        let output = command.env("HOME", place.path("another-home")).output().unwrap();
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    let report = verify(&old);
    assert_eq!(report["valid"], true, "{report}");
    assert!(
        report["coverage"]["signed_by"].as_str().unwrap().contains("introduced by log entry"),
        "{report}"
    );
    let log = on(&place, &["log"]).ok().out;
    assert!(log.contains("a year has passed") && log.contains("key retire"), "{log}");

    // A key that somebody else may have: it counts up to where it was known to be alone.
    let stolen = new;
    let size = json(&place, &["log"])["size"].to_string();
    on(&place, &["key", "revoke", "--last-trusted-size", &size, "--reason", "the laptop was stolen"]).ok();
    record(&place, "three");
    on(&place, &["verify"]).ok();
    assert_ne!(key(&place), stolen);
    // The old key alone cannot vouch for the newest one.
    assert_eq!(verify(&stolen)["valid"], false);
}

#[test]
fn without_a_key_nothing_is_signed_and_everyone_says_so() {
    let place = Place::new();
    let run = |args: &[&str]| {
        let mut command = place.command(&[&["--db", "cairn.db"], args].concat());
        let output = command.env("CAIRN_SIGNER", "none").output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    run(&["record", "decision", "one", "-s", "s"]);
    let (note, remark) = run(&["checkpoint"]);
    assert_eq!(note.lines().count(), 3, "{note}");
    assert!(remark.contains("unsigned"), "{remark}");
    assert!(run(&["verify"]).0.contains("no checkpoint is signed with a key that is known here"));
    assert!(run(&["doctor"]).0.contains("checkpoints are not signed"));
    assert!(!place.path("home/.local/state/cairn/keys").exists());
    // From then on with a key: what was stated before is signed as well.
    let note: CheckpointNote = on(&place, &["checkpoint"]).ok().out.parse().unwrap();
    assert!(note.is_signed());
    on(&place, &["verify"]).ok();
}

#[test]
fn a_key_from_the_environment_signs() {
    let place = Place::new();
    let mut unsigned = place.command(&["--db", "cairn.db", "record", "plan", "one", "-s", "s"]);
    assert!(unsigned.env("CAIRN_SIGNER", "none").output().unwrap().status.success());
    let made = json(&place, &["key", "new"]);
    let (secret, public) = (made["secret"].as_str().unwrap(), made["public"].as_str().unwrap());
    let mut command = place.command(&["--db", "cairn.db", "checkpoint"]);
    let output = command.env("CAIRN_KEY", secret).output().unwrap();
    let note: CheckpointNote = String::from_utf8(output.stdout).unwrap().parse().unwrap();
    assert_eq!(note.verdict(&public.parse().unwrap()), Verdict::Signed);
    // No message ever shows it.
    let mut command = place.command(&["--db", "cairn.db", "checkpoint"]);
    let output = command.env("CAIRN_KEY", &secret[..secret.len() - 4]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("CAIRN_KEY cannot be used") && !said.contains(&secret[60..80]), "{said}");
}

#[test]
fn a_key_in_the_environment_is_replaced_step_by_step() {
    let place = Place::new();
    let run = |key: &str, args: &[&str]| {
        let output =
            place.command(&[&["--db", "cairn.db"], args].concat()).env("CAIRN_KEY", key).output().unwrap();
        (
            output.status.code(),
            [output.stdout, output.stderr].map(|said| String::from_utf8(said).unwrap()).concat(),
        )
    };
    let mut unsigned = place.command(&["--db", "cairn.db", "record", "plan", "one", "-s", "s"]);
    assert!(unsigned.env("CAIRN_SIGNER", "none").output().unwrap().status.success());
    let [old, new] = [0, 1].map(|_| json(&place, &["key", "new"]));
    let part = |key: &Value, name: &str| key[name].as_str().unwrap().to_string();
    assert_eq!(run(&part(&old, "secret"), &["checkpoint"]).0, Some(0));
    // The new key cannot bring itself in.
    let (code, said) = run(&part(&new, "secret"), &["key", "add", &part(&new, "public")]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("has to be signed by key") && said.contains("cairn log new"), "{said}");
    assert_eq!(run(&part(&old, "secret"), &["key", "add", &part(&new, "public")]).0, Some(0));
    // Nor does a key end itself.
    let (code, said) = run(&part(&old, "secret"), &["key", "retire", &part(&old, "public")]);
    assert_eq!(code, Some(1), "{said}");
    assert_eq!(run(&part(&new, "secret"), &["record", "plan", "two", "-s", "s"]).0, Some(0));
    assert_eq!(run(&part(&new, "secret"), &["key", "retire", &part(&old, "public")]).0, Some(0));
    for key in [&old, &new] {
        let mut verify = place.command(&["--db", "cairn.db", "verify", "--key", &part(key, "public")]);
        let output = verify.env("HOME", place.path("another-home")).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
}

#[test]
fn an_old_state_put_back_is_refused_and_every_way_out_works() {
    sqlites_own!("a file is put back");
    let place = Place::new();
    record(&place, "one");
    std::fs::copy(place.path("cairn.db"), place.path("old.db")).unwrap();
    record(&place, "two");
    std::fs::copy(place.path("cairn.db"), place.path("newer.db")).unwrap();
    let put_back = |file: &str| {
        for end in ["-wal", "-shm"] {
            let _ = std::fs::remove_file(place.path(&format!("cairn.db{end}")));
        }
        std::fs::copy(place.path(file), place.path("cairn.db")).unwrap();
    };
    put_back("old.db");
    let refused = on(&place, &["record", "plan", "three", "-s", "s"]);
    assert_eq!(refused.code, 1);
    assert!(refused.err.contains("an older state of this database was put back"), "{}", refused.err);
    assert_eq!(on(&place, &["verify"]).code, 1);
    let doctor = on(&place, &["doctor"]);
    assert_eq!(doctor.code, 1);
    assert!(doctor.out.contains("cairn log new") && doctor.out.contains("--forget"), "{}", doctor.out);
    // The first way out: the newer one is found again.
    put_back("newer.db");
    on(&place, &["verify"]).ok();
    on(&place, &["doctor"]).ok();
    // The second: a new log that names the old one.
    put_back("old.db");
    let old = json(&place, &["log"])["origin"].as_str().unwrap().to_string();
    assert_eq!(json(&place, &["log"])["continues"], serde_json::Value::Null);
    on(&place, &["log", "new", "--reason", "the disk was replaced"]).ok();
    let log = on(&place, &["log"]).ok().out;
    assert!(log.contains(&format!("\ncontinues {old}, last seen with ")), "{log}");
    assert!(log.contains(", by ada: the disk was replaced\n"), "{log}");
    assert_eq!(json(&place, &["log"])["continues"]["origin"], old.as_str());
    record(&place, "three");
    on(&place, &["verify"]).ok();
    let entry = on(&place, &["prove", "1", "--entry"]).ok().out;
    assert!(
        entry.contains("the disk was replaced") && entry.contains("\"kind\":\"continuation\""),
        "{entry}"
    );
    // The third: it is forgotten, and the old state is used.
    put_back("old.db");
    assert_eq!(on(&place, &["record", "plan", "x", "-s", "s"]).code, 1);
    assert_eq!(on(&place, &["verify"]).code, 1);
    on(&place, &["doctor", "--forget"]).ok();
    record(&place, "from here on");
    on(&place, &["verify"]).ok();
}

#[test]
fn a_database_that_is_gone_is_not_made_anew_unasked() {
    sqlites_own!("a file is removed");
    let place = Place::new();
    record(&place, "one");
    for end in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(place.path(&format!("cairn.db{end}")));
    }
    let run = on(&place, &["record", "plan", "x", "-s", "s"]);
    assert_eq!(run.code, 1);
    assert!(run.err.contains("is gone") && run.err.contains("cairn log new --lost"), "{}", run.err);
    on(&place, &["doctor", "--forget"]).ok();
    record(&place, "one");
}

#[test]
fn what_cannot_be_read_of_the_past_can_be_forgotten() {
    let place = Place::new();
    record(&place, "one");
    let heads = place.path("home/.local/state/cairn/heads");
    let file = std::fs::read_dir(&heads).unwrap().map(|file| file.unwrap().path());
    let file = file.filter(|path| path.is_file()).collect::<Vec<_>>().remove(0);
    std::fs::write(&file, "no heads").unwrap();
    let run = on(&place, &["record", "plan", "two", "-s", "s"]);
    assert!(run.err.contains("what is remembered of it cannot be read"), "{}", run.err);
    assert_eq!(on(&place, &["verify"]).code, 1);
    on(&place, &["doctor", "--forget"]).ok();
    record(&place, "two");
    on(&place, &["verify"]).ok();
    sqlites_own!("a new log takes the place of another in a file");
    // And a new log can be begun in its place.
    std::fs::write(&file, "no heads").unwrap();
    on(&place, &["log", "new", "--reason", "what was seen is lost"]).ok();
    record(&place, "three");
}

#[test]
fn a_log_that_was_moved_is_not_forgotten_with_its_old_place() {
    sqlites_own!("a file is moved");
    let place = Place::new();
    record(&place, "one");
    std::fs::rename(place.path("cairn.db"), place.path("moved.db")).unwrap();
    place.run(&["--db", "moved.db", "record", "plan", "two", "-s", "s"]).ok();
    on(&place, &["doctor", "--forget"]).ok();
    record(&place, "a new log");
    let log = place.run(&["--db", "moved.db", "log"]).ok().out;
    assert!(log.contains("extends what was seen of it (4 entries"), "{log}");
}

#[test]
fn a_state_folder_that_is_not_named_from_the_root_is_refused() {
    let place = Place::new();
    let mut command = place.command(&["--db", "cairn.db", "record", "plan", "one", "-s", "s"]);
    let output = command.env("CAIRN_STATE", "state").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("CAIRN_STATE"));
    assert!(!place.path("home/.local/state").exists());
}
