//! Thousands of changed bundles: the library and `docs/verify_bundle.py` accept and refuse the same ones.
//!
//! `CAIRN_TEST_MUTANTS` says how many; `CAIRN_TEST_SEED` repeats one run.

use std::collections::BTreeSet;

use cairn::bundle::Selection;
use cairn::core::canonical;
use cairn::core::entry::{Salt, commitment};
use cairn::core::note::VerifyingKey;
use cairn::core::session::event::SummaryKind;
use cairn::{BriefRequest, NewSession, NewThought, Sha, ThoughtType};
use serde_json::{Map, Value, json};

use super::forge::{Bundle, export, filled, in_one_process, key_of, session, state, task, verify};
use super::redacted::{redact_all, unredacted, with_keys};
use crate::harness::TestCairn;
use crate::seeded::Seeded;

/// Every kind of event, with every field.
fn eventful() -> TestCairn {
    let db = TestCairn::new();
    db.session_open(NewSession {
        session_id: Some("s".into()),
        types: Some(vec!["recipe".into(), "list".into()]),
        ..NewSession::default()
    })
    .unwrap();
    let note = |note: Value| db.turn_note("s", note.as_object().unwrap().clone()).unwrap();
    db.turn_begin("s", "soup 😀?", Some("k".into())).unwrap();
    let row = json!({"type": "recipe", "id": "r2", "label": "Other"});
    let ops = [
        json!({"op": "read", "type": "recipe", "id": "r1", "label": "Soup", "detail": "full", "body": {"n": 1.5},
               "links": [row], "nested": [row]}),
        json!({"op": "generate", "type": "recipe", "label": "Draft", "body": {"a": 1}}),
        json!({"op": "edit", "ref": "gen_recipe_1", "body": {"a": 2}, "label": "Better"}),
        json!({"op": "update", "type": "recipe", "id": "r1", "detail": "summary"}),
        json!({"op": "create", "type": "recipe", "id": "r9", "from": "gen_recipe_1"}),
        json!({"op": "user", "type": "recipe", "id": "r7", "action": "mentioned"}),
        json!({"op": "touch_text", "text": "Soup"}),
    ];
    db.entity_apply("s", ops.to_vec(), None, None).unwrap();
    db.turn_step(
        "s",
        json!({"step_num": 1, "type": "read", "description": "look", "subdomain": "food", "outcome": "found",
                             "entities_involved": ["recipe_1"], "note": "mild", "status": "blocked"}),
    )
    .unwrap();
    note(json!({"decision": "propose", "goal": "soup", "phase": "narrowing", "user_expressed": "hunger",
                "constraints": [{"key": "salt", "value": 0.25}, {"key": "gone", "value": null}], "engagement": "dinner",
                "pending": {"type": "ask_user", "context": "Which?", "questions": ["a", "b"]},
                "routing": {"\u{fb33}": 1e-7, "\u{1f600}": [1e15, -2.5], "a": {"b": null}}}));
    note(json!({"pending": null}));
    db.turn_end("s", "Soup.", Some("soup".into()), Some("no salt".into())).unwrap();
    db.summary_apply("s", SummaryKind::History, 1, 1, "They cooked.").unwrap();
    db.turn_begin("s", "more", None).unwrap();
    let request = BriefRequest { session_id: "s".into(), node: "think".into(), ..BriefRequest::default() };
    let brief_id = db.brief_build(&request, true).unwrap().brief_id.map(|id| id.to_string());
    let thought = NewThought::new(ThoughtType::Decision, "as briefed").session("s").task("t").agent("ada");
    db.record(NewThought { brief_id, ..thought }).unwrap();
    state(&db);
    db
}

/// Bundles of every kind of log and selection, all accepted.
fn originals() -> Vec<Bundle> {
    let (plain, eventful, redacted) = (filled(), eventful(), TestCairn::new());
    let brief = unredacted(&redacted);
    redact_all(&redacted, &brief);
    let bundles = [
        export(&plain, Selection::All),
        export(&plain, session("s")),
        export(&plain, task("t")),
        export(&eventful, Selection::All),
        export(&eventful, session("s")),
        with_keys(&redacted, Selection::All),
        with_keys(&redacted, session("s")),
        export(&redacted, task("t")),
        super::keys::rotated(Selection::All),
        super::keys::rotated(session("s")),
    ];
    bundles.iter().map(|bytes| Bundle::of(bytes)).collect()
}

/// Something else in the place of a value.
fn other(random: &mut Seeded, value: &Value) -> Value {
    let odd = [
        json!(null),
        json!(true),
        json!(0),
        json!(1),
        json!(2),
        json!(-1),
        json!(1.5),
        json!(9_007_199_254_740_991_u64),
        json!(""),
        json!("x"),
        json!("s"),
        json!("t"),
        json!([]),
        json!({}),
        json!(["x"]),
        json!({"x": 1}),
        json!(Sha::of(b"x").to_string()),
        json!("a\u{a0}b"),
        json!("\u{0}"),
    ];
    match (random.index(3), value) {
        (0, Value::Number(number)) => json!(number.as_u64().unwrap_or(0) + 1),
        (0, Value::String(text)) => {
            let mut letters: Vec<char> = text.chars().collect();
            match random.index(3) {
                0 => letters.push('x'),
                1 => drop(letters.pop()),
                _ if letters.is_empty() => {}
                _ => {
                    let place = random.index(letters.len());
                    letters[place] = *random.pick(&['0', 'a', 'F', '+', ' ', '=', '\n', '😀']);
                }
            }
            json!(letters.into_iter().collect::<String>())
        }
        (0, Value::Array(items)) if !items.is_empty() => {
            let mut items = items.clone();
            let place = random.index(items.len());
            match random.index(3) {
                0 => drop(items.remove(place)),
                1 => items.insert(place, items[place].clone()),
                _ => items.reverse(),
            }
            Value::Array(items)
        }
        _ => random.pick(&odd).clone(),
    }
}

/// Changes, removes or adds one field somewhere inside a value.
fn change(random: &mut Seeded, value: &mut Value) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            let names: Vec<String> = map.keys().cloned().collect();
            let name = random.pick(&names).clone();
            match random.index(10) {
                0 => drop(map.remove(&name)),
                1 => drop(
                    map.insert(random.pick(&["more", "v", "kind", "op", "body"]).to_string(), json!("x")),
                ),
                2 => {
                    let from = random.pick(&names).clone();
                    map[&name] = map[&from].clone();
                }
                3..=6 if map[&name].is_object() || map[&name].is_array() => change(random, &mut map[&name]),
                _ => map[&name] = other(random, &map[&name]),
            }
        }
        Value::Array(items) if !items.is_empty() && random.index(3) > 0 => {
            let place = random.index(items.len());
            change(random, &mut items[place]);
        }
        _ => *value = other(random, value),
    }
}

fn text(value: &Value) -> String {
    match canonical::to_bytes(value) {
        Ok(bytes) => String::from_utf8(bytes).unwrap(),
        Err(_) => value.to_string(),
    }
}

fn entry_lines(bundle: &Bundle) -> Vec<usize> {
    (0..bundle.lines.len()).filter(|line| bundle.lines[*line].get("leaf").is_some()).collect()
}

fn salt_of(hex: &str) -> Salt {
    hex.parse().map_or_else(|_| Salt::default(), |sha: Sha| sha.0)
}

/// Changes what an entry records, and the entry with it, as somebody does who knows the format.
fn consistent(random: &mut Seeded, bundle: &mut Bundle) -> Option<()> {
    let line = *random.pick(&entry_lines(bundle));
    let line = &mut bundle.lines[line];
    let mut leaf: Map<String, Value> = serde_json::from_str(line["leaf"].as_str()?).ok()?;
    let (part, hash, length) = match leaf["kind"].as_str()? {
        "event" => ("body", "body_commitment", "body_length"),
        "brief" => ("data", "data_hash", "data_length"),
        "snapshot" => ("data", "content_hash", "content_length"),
        _ => {
            // Fields that no link covers, and the words that say what the entry is.
            let fields: Vec<String> = leaf.keys().cloned().collect();
            let field = random.pick(&fields).clone();
            leaf[&field] = other(random, &leaf[&field]);
            line["leaf"] = json!(text(&Value::Object(leaf)));
            return Some(());
        }
    };
    let mut body: Value = serde_json::from_str(line[part].as_str()?).ok()?;
    let mut written = String::new();
    match random.index(8) {
        0 => leaf["v"] = json!(2),
        1 if part == "body" => leaf["event_v"] = json!(random.index(3)),
        2 if part == "body" => {
            leaf["event"] =
                json!(random.pick(&["opened", "turn_began", "step_taken", "turn_noted", "reviewed", ""]));
        }
        3 => written = body.to_string().replacen(':', ": ", 1),
        4 => written = text(&body).replacen("{", "{\"a\":1,\"a\":2,", 1),
        _ => change(random, &mut body),
    }
    if written.is_empty() {
        written = text(&body);
    }
    let salt = line.get("salt").and_then(Value::as_str).filter(|_| part == "body").map(salt_of);
    leaf[hash] = json!(match salt {
        Some(salt) => commitment(&salt, written.as_bytes()),
        None => Sha::of(written.as_bytes()),
    });
    leaf[length] = json!(written.len());
    if part == "data" && leaf["kind"] == "brief" {
        let parts =
            ["budget", "counter", "format", "layout", "node", "sections", "seq", "session_id", "turn"];
        let parts: Map<String, Value> = parts
            .iter()
            .filter_map(|part| Some((part.to_string(), body.get("brief")?.get(part)?.clone())))
            .collect();
        leaf["hash"] = json!(Sha::of(text(&Value::Object(parts)).as_bytes()).to_string());
    }
    line[part] = json!(written);
    line["leaf"] = json!(text(&Value::Object(leaf)));
    Some(())
}

/// One changed bundle.
fn mutant(random: &mut Seeded, original: &Bundle) -> Vec<u8> {
    let mut bundle = original.clone();
    let (key, whole) = (key_of(&bundle.origin()), bundle.lines[0]["full"] == json!(true));
    let entries = entry_lines(&bundle);
    match random.index(12) {
        // Agrees with itself from the entries to the checkpoint.
        0..=3 if whole => {
            for _ in 0..=random.index(2) {
                consistent(random, &mut bundle);
            }
            bundle = bundle.rebuilt(&[&key]);
        }
        // A part of the log under any name, with proofs that hold.
        4 | 5 if whole => {
            let of = ["s", "other", "memory", "t", "u", ""];
            let name = random.pick(&of).to_string();
            let by = *random.pick(&["session", "task"]);
            let matching = |leaf: &Value| leaf[format!("{by}_id")] == json!(name);
            let mut places = BTreeSet::new();
            for (place, line) in entries.iter().enumerate() {
                let leaf: Value =
                    serde_json::from_str(bundle.lines[*line]["leaf"].as_str().unwrap()).unwrap();
                let belongs = matching(&leaf)
                    || ["key", "redaction", "snapshot"].iter().any(|kind| leaf["kind"] == *kind);
                if belongs != (random.index(20) == 0) {
                    places.insert(place);
                }
            }
            let mut rebuilt = bundle.rebuilt(&[&key]);
            if random.index(3) == 0 {
                consistent(random, &mut rebuilt);
            }
            bundle = rebuilt.part(json!({by: name}), &places);
        }
        0..=2 => {
            consistent(random, &mut bundle);
        }
        6 => {
            let line = random.index(bundle.lines.len());
            change(random, &mut bundle.lines[line]);
        }
        7 => {
            let line = *random.pick(&entries);
            let mut leaf: Value = serde_json::from_str(bundle.lines[line]["leaf"].as_str().unwrap()).unwrap();
            change(random, &mut leaf);
            bundle.lines[line]["leaf"] = json!(text(&leaf));
        }
        8 => {
            let (from, to) = (random.index(bundle.lines.len()), random.index(bundle.lines.len()));
            match random.index(4) {
                0 => drop(bundle.lines.remove(from)),
                1 => bundle.lines.swap(from, to),
                2 => bundle.lines.insert(to, bundle.lines[from].clone()),
                _ => bundle.lines.truncate(from),
            }
        }
        9 => change(random, &mut bundle.lines[0]),
        10 => {
            let after = bundle.lines.len() - random.index(bundle.lines.len() - entries.len() - 1).max(1);
            change(random, &mut bundle.lines[after]);
        }
        _ => {
            let mut bytes = bundle.bytes();
            for _ in 0..=random.index(2) {
                let place = random.index(bytes.len());
                match random.index(3) {
                    0 => bytes[place] = random.next() as u8,
                    1 => bytes.insert(place, *random.pick(b" \n\"{0\\")),
                    _ => drop(bytes.remove(place)),
                }
            }
            return bytes;
        }
    }
    let mut out = Vec::new();
    for line in &bundle.lines {
        let mut line = line.clone();
        if line.get("manifest").is_some_and(|manifest| manifest.get("sha256").is_some())
            && random.index(20) > 0
        {
            line["manifest"]["sha256"] = json!(Sha::of(&out).to_string());
        }
        out.extend_from_slice(text(&line).as_bytes());
        out.push(b'\n');
    }
    out
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

#[test]
fn both_verifiers_accept_and_refuse_the_same_mutants() {
    let originals = originals();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bundle.jsonl");
    let keys_of = |bundle: &Bundle| [key_of(&bundle.origin()).verifying_key().clone()];
    for original in &originals {
        assert!(verify(&original.bytes(), &[]).valid());
    }
    let (mutants, seed) = (number("CAIRN_TEST_MUTANTS", 2500), number("CAIRN_TEST_SEED", 14));
    let (mut accepted, mut differ) = (0, Vec::new());
    for n in 0..mutants {
        let mut random = Seeded(seed.wrapping_mul(1_000_003).wrapping_add(n));
        let original = random.pick(&originals).clone();
        let bytes = mutant(&mut random, &original);
        // The other verifier takes long to check a signature.
        let keys: &[VerifyingKey] = if n % 12 == 0 { &keys_of(&original) } else { &[] };
        std::fs::write(&file, &bytes).unwrap();
        let report = verify(&bytes, keys);
        let (code, out) = in_one_process(&file, keys);
        accepted += u64::from(report.valid());
        if code != i32::from(!report.valid()) {
            differ.push(format!("mutant {n} of seed {seed}: {:#?}\n{out}", report.findings));
        }
    }
    assert!(differ.is_empty(), "{} differ:\n{}", differ.len(), differ[0]);
    assert!(accepted > mutants / 50 && accepted < mutants / 2, "{accepted} of {mutants} accepted");
}
