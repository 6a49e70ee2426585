use std::process::{Command, Stdio};

use cairn::{KeyFolder, NewThought, Options, Redact, ThoughtType};
use serde_json::{Value, json};

use crate::web::testing::TestSite;

/// A site whose checkpoints are signed, and a folder for the key.
fn signed() -> (TestSite, tempfile::TempDir) {
    let keys = tempfile::tempdir().unwrap();
    let signer = KeyFolder::new(keys.path().join("keys"));
    (TestSite::with(Options::new().automatic_checkpoints(false).signer(signer)), keys)
}

fn record(site: &TestSite, text: &str, parent: Option<&str>) -> String {
    let thought = NewThought::new(ThoughtType::Decision, text).session("s").task("t").agent("ada");
    let thought = NewThought { parent_id: parent.map(str::to_string), ..thought };
    site.cairn().record(thought).unwrap().id.to_string()
}

/// What the script that browsers get says of each of these; none if there is no Node.js here. `true`, `false` or `null`
/// for each step, or the message of what it threw.
fn checked(twins: &[Value]) -> Option<Vec<Value>> {
    const RUN: &str = "const results = [];\n\
        for (const twin of given) {\n\
          const steps = [];\n\
          for await (const step of proof.checks(twin)) steps.push(step.ok);\n\
          results.push(steps);\n\
        }\n\
        console.log(JSON.stringify(results));\n";
    run(RUN, &json!(twins))
}

/// Has Node.js run something with the script, as `proof`, and some values, as `given`; none if there is no Node.js here.
fn run(program: &str, given: &Value) -> Option<Vec<Value>> {
    let version = Command::new("node").arg("--version").stderr(Stdio::null()).output().ok()?;
    // Ed25519 came with 18.4, `crypto` for everyone with 19.
    let major: u32 =
        String::from_utf8(version.stdout).ok()?.trim_start_matches('v').split('.').next()?.parse().ok()?;
    if major < 20 {
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("proof.mjs", include_str!("../assets/proof.js"));
    let program = format!("import * as proof from './proof.mjs';\nconst given = {given};\n{program}");
    write("run.mjs", &program);
    let ran = Command::new("node").arg("run.mjs").current_dir(folder.path()).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    serde_json::from_slice(&ran.stdout).unwrap()
}

fn holds(steps: &Value) -> bool {
    steps.as_array().is_some_and(|steps| !steps.is_empty() && steps.iter().all(|step| step == true))
}

#[test]
fn the_browser_accepts_every_true_proof() {
    let (site, _keys) = signed();
    let mut ids = Vec::new();
    let mut twins = Vec::new();
    // Every shape of the tree up to 20 entries: after each record all of them are proven anew.
    for n in 0..18 {
        let text = format!("text {n} \u{1f980} \"quoted\" \\ \u{7f}\u{2028} é\n\t</script>");
        let id = record(&site, &text, ids.last().map(String::as_str));
        ids.push(id);
        site.cairn().checkpoint().unwrap();
        twins.extend(ids.iter().map(|id| site.twin(&format!("/thoughts/{id}")).unwrap()));
    }
    let Some(results) = checked(&twins) else { return };
    assert_eq!(results.len(), twins.len());
    for steps in &results {
        assert_eq!(*steps, json!([true, true, true, true, true, true, true]));
    }
}

#[test]
fn the_browser_refuses_a_proof_with_anything_changed() {
    let (site, _keys) = signed();
    for n in 0..11 {
        record(&site, &format!("text {n}"), None);
    }
    let parent = record(&site, "parent", None);
    let draft = NewThought::new(ThoughtType::Decision, "the text").session("s").task("t").agent("ada");
    let draft = draft.parent(&parent).supersedes(&parent).rejects(&parent).applies_to("src/auth/**");
    let id = site.cairn().record(draft).unwrap().id.to_string();
    site.cairn().checkpoint().unwrap();
    let twin = site.twin(&format!("/thoughts/{id}")).unwrap();
    let text = |path: &str| twin.pointer(path).unwrap().as_str().unwrap().to_string();
    let with = |path: &str, value: Value| {
        let mut changed = twin.clone();
        *changed.pointer_mut(path).unwrap() = value;
        changed
    };
    // One character of a text becomes another that is as good there.
    let edit = |path: &str, at: usize| {
        let mut letters: Vec<char> = text(path).chars().collect();
        letters[at] = match letters[at] {
            '0' => '1',
            'a' => 'b',
            c if c.is_ascii_hexdigit() => '0',
            'A' => 'B',
            _ => 'A',
        };
        with(path, json!(letters.into_iter().collect::<String>()))
    };
    let note = text("/proof/checkpoint/note");
    let place = |part: &str| note.chars().count() - note[note.find(part).unwrap()..].chars().count();
    let root = place(note.lines().nth(2).unwrap());
    let signature = place(note.lines().nth(4).unwrap().split(' ').nth(2).unwrap());
    let mut twins = vec![twin.clone()];
    twins.extend((0..text("/proof/leaf").len()).step_by(7).map(|at| edit("/proof/leaf", at)));
    for hash in 0..twin["proof"]["proof"].as_array().unwrap().len() {
        twins.extend([0, 31, 63].map(|at| edit(&format!("/proof/proof/{hash}"), at)));
    }
    twins.extend([0, 5, 40].map(|at| edit("/proof/checkpoint/note", root + at)));
    // The id of the key, and the signature.
    twins.extend([0, 3, 6, 20, 60, 85].map(|at| edit("/proof/checkpoint/note", signature + at)));
    twins.push(with("/proof/checkpoint/note", json!(note.replacen("\n15\n", "\n16\n", 1))));
    twins.push(with("/proof/seq", json!(0)));
    twins.push(with("/proof/seq", json!(1u64 << 40)));
    let path = twin["proof"]["proof"].as_array().unwrap();
    twins.push(with("/proof/proof", json!(path[1..])));
    twins.push(with("/proof/proof", json!([&path[..], &path[..1]].concat())));
    twins.push(edit("/keys/0/vkey", text("/keys/0/vkey").len() - 8));
    twins.push(with("/keys/0/last_trusted_size", json!(3)));
    twins.push(edit("/parent_chain_hash", 0));
    for (field, value) in [
        ("content", json!("the Text")),
        ("agent_id", json!("eve")),
        ("timestamp", json!("2026-01-01T00:00:00.000Z")),
        ("action_id", json!("commit-1")),
        ("context_id", json!(1)),
        ("parent_id", Value::Null),
        ("type", json!("plan")),
        ("source", json!("person")),
        ("supersedes", json!([])),
        ("supersedes", json!([id])),
        ("rejects", json!([parent, parent])),
        ("applies_to", json!(["src/auth/*"])),
    ] {
        twins.push(with(&format!("/thought/{field}"), value));
    }
    let Some(results) = checked(&twins) else { return };
    assert!(holds(&results[0]), "{}", results[0]);
    for (steps, changed) in results.iter().zip(&twins).skip(1) {
        assert!(!holds(steps), "{changed}");
        let noticed = steps.as_array().unwrap().iter().any(|step| *step == false);
        assert!(noticed, "{steps} {changed}");
    }
}

#[test]
fn what_was_redacted_or_sealed_is_proven_without_its_text() {
    let (site, _keys) = signed();
    let thought = NewThought { seal: true, ..NewThought::new(ThoughtType::Plan, "private") };
    let sealed = site.cairn().record(thought.session("s").agent("ada")).unwrap().id.to_string();
    let address = |id: &str| format!("/thoughts/{id}");
    let page = site.page(&address(&sealed)).unwrap();
    assert!(page.contains("No checkpoint covers this record yet: none was made so far."), "{page}");
    let redacted = record(&site, "a secret", None);
    let redact = Redact { target: redacted.clone(), reason: "a secret".into(), actor: "ada".into() };
    site.cairn().redact(&redact).unwrap();
    site.cairn().checkpoint().unwrap();
    assert!(site.page(&address(&redacted)).unwrap().contains("The text was redacted"));
    assert!(site.page(&address(&sealed)).unwrap().contains("The text is sealed"));
    let later = record(&site, "later", None);
    let page = site.page(&address(&later)).unwrap();
    assert!(page.contains("No checkpoint covers this record yet: the newest is of"), "{page}");
    assert!(site.twin(&address(&later)).unwrap()["proof"].is_null());
    let twins = [&redacted, &sealed].map(|id| site.twin(&address(id)).unwrap());
    let Some(results) = checked(&twins) else { return };
    for steps in results {
        assert_eq!(steps, json!([true, true, true, true, null]));
    }
}

#[test]
fn metadata_is_not_said_to_be_checked_and_not_to_be_there_if_it_is_gone() {
    let (site, _keys) = signed();
    let thought = NewThought::new(ThoughtType::Plan, "x").session("s").agent("ada");
    let metadata = json!({ "cost": 3 }).as_object().cloned();
    let with = site.cairn().record(NewThought { metadata, ..thought.clone() }).unwrap().id.to_string();
    let without = site.cairn().record(thought).unwrap().id.to_string();
    site.cairn().checkpoint().unwrap();
    let [with, without] = [with, without].map(|id| site.twin(&format!("/thoughts/{id}")).unwrap());
    let [mut taken, mut added] = [with.clone(), without];
    taken["thought"]["metadata"] = Value::Null;
    added["thought"]["metadata"] = json!({ "cost": 3 });
    let Some(results) = checked(&[with, taken, added]) else { return };
    assert_eq!(results[0], json!([true, true, true, true, null, true, true, true]));
    assert_eq!(results[1], json!([true, true, true, true, false, true, true, true]));
    assert_eq!(results[1], results[2]);
}

#[test]
fn nothing_is_said_to_hold_of_which_nothing_was_checked() {
    const RUN: &str = "console.log(JSON.stringify(given.map((steps) => proof.verdict(steps).words)));";
    let Some(said) = run(RUN, &json!([[], [null], [true, null], [true], [true, null, false]])) else {
        return;
    };
    let not_all = "Checked by this browser: what could be checked holds, and not all of it could.";
    let all = "Checked by this browser: all of it holds.";
    let none = "Not checked by this browser.";
    assert_eq!(said, [none, none, not_all, all, "This proof does not hold."]);
}

#[test]
fn the_badge_counts_what_is_signed_and_no_entry_more() {
    let (site, _keys) = signed();
    record(&site, "signed", None);
    let signed = site.cairn().checkpoint().unwrap().size;
    record(&site, "not signed", None);
    site.verify();
    let explained = site.twin("/integrity").unwrap()["badge"]["explained"].as_str().unwrap().to_string();
    assert!(explained.contains(&format!(": the first {signed} entries.")), "{explained}");
    assert!(!explained.contains(&format!("entry {signed}")), "{explained}");
}

#[test]
fn reading_a_proof_writes_nothing() {
    let site = TestSite::new();
    let id = record(&site, "x", None);
    let before = site.cairn().log_size().unwrap();
    site.page(&format!("/thoughts/{id}")).unwrap();
    assert_eq!(site.cairn().log_size().unwrap(), before);
    assert!(site.cairn().newest_checkpoint().unwrap().is_none());
}
