//! A bundle in the hands of a forger: whatever is changed, both verifiers name the same place.

use cairn::bundle::{MAX_LINE, Selection};
use cairn::core::canonical;
use cairn::core::log::Checkpoint;
use cairn::core::note::{SigningKey, VerifyingKey};
use cairn::core::thought::{TaskLink, chain_hash, task_hash};
use cairn::{Reason, Sha};
use serde_json::{Value, json};

use super::forge::{Bundle, both, export, filled, key_of, session, task, verify};

/// A change, and the first finding it must lead to.
type Case = (&'static str, fn(&mut Bundle), &'static str);

#[track_caller]
fn check(bytes: &[u8], cases: &[Case]) {
    let good = Bundle::of(bytes);
    let keys = [key_of(&good.origin()).verifying_key().clone()];
    assert_eq!(good.bytes(), bytes, "the forger's tools leave alone what is not changed");
    for (name, change, expected) in cases {
        let mut bundle = good.clone();
        change(&mut bundle);
        let found = both(&bundle.bytes(), &keys);
        assert_eq!(found.first().map(String::as_str), Some(*expected), "{name}: {found:?}");
    }
}

fn thought_2(bundle: &mut Bundle) -> &mut Value {
    let line = bundle.line_of(2);
    &mut bundle.lines[line]
}

fn checkpoint(bundle: &mut Bundle, n: usize) -> &mut Value {
    let first = bundle.lines.iter().position(|line| line.get("checkpoint").is_some()).unwrap();
    &mut bundle.lines[first + n]["checkpoint"]
}

/// Changes a thought so that its own links fit again, as somebody who knows the format would.
fn relinked(bundle: &mut Bundle, content: &str) {
    thought_2(bundle)["content"] = json!(content);
    let parent: Sha = bundle.leaf(1)["chain_hash"].as_str().unwrap().parse().unwrap();
    bundle.set_leaf(2, |leaf| {
        let text = |field: &str| leaf[field].as_str().unwrap().to_string();
        let content_hash = Sha::of(content.as_bytes());
        let link = TaskLink {
            content,
            id: &text("id"),
            prev_hash: text("prev_hash").parse().unwrap(),
            task_id: &text("task_id"),
            timestamp: &text("timestamp"),
            kind: &text("type"),
        };
        let hash = task_hash(&link, &mut Vec::new());
        leaf["hash"] = json!(hash.to_string());
        leaf["content_hash"] = json!(content_hash.to_string());
        leaf["content_length"] = json!(content.len());
        leaf["chain_hash"] = json!(chain_hash(&content_hash, Some(&parent)).to_string());
    });
}

#[test]
fn every_change_of_a_whole_bundle_is_named_by_both() {
    let bytes = export(&filled(), Selection::All);
    check(
        &bytes,
        &[
            (
                "content",
                |b| thought_2(b)["content"] = json!("other"),
                "content_hash_mismatch (table thought, log entry 2, r2, content)",
            ),
            (
                "content and its hash",
                |b| {
                    thought_2(b)["content"] = json!("other");
                    b.set_leaf(2, |leaf| {
                        leaf["content_hash"] = json!(Sha::of(b"other").to_string());
                        leaf["content_length"] = json!(5);
                    });
                },
                "chain_hash_mismatch (table thought, log entry 2, r2, chain_hash)",
            ),
            (
                "content and all links, successors left",
                |b| relinked(b, "other"),
                "prev_hash_mismatch (table thought, log entry 3, r3, prev_hash)",
            ),
            (
                "metadata",
                |b| thought_2(b)["metadata"] = json!("{}"),
                "leaf_mismatch (table thought, log entry 2, r2, metadata)",
            ),
            (
                "salt",
                |b| thought_2(b)["salt"] = json!("00".repeat(32)),
                "leaf_mismatch (table thought, log entry 2, r2, metadata)",
            ),
            (
                "salt gone",
                |b| thought_2(b)["salt"] = Value::Null,
                "leaf_mismatch (table thought, log entry 2, r2, salt)",
            ),
            (
                "metadata and salt gone",
                |b| {
                    thought_2(b)["metadata"] = Value::Null;
                    thought_2(b)["salt"] = Value::Null;
                },
                "missing_record (table thought, log entry 2, r2, metadata)",
            ),
            (
                "content gone",
                |b| thought_2(b)["content"] = Value::Null,
                "missing_record (table thought, log entry 2, r2, content)",
            ),
            (
                "author",
                |b| b.set_leaf(2, |leaf| leaf["agent_id"] = json!("eve")),
                "leaf_mismatch (table log, root)",
            ),
            (
                "timestamp",
                |b| b.set_leaf(2, |leaf| leaf["timestamp"] = json!("2026-04-16T00:00:00.000Z")),
                "hash_mismatch (table thought, log entry 2, r2, hash)",
            ),
            (
                "parent",
                |b| b.set_leaf(2, |leaf| leaf["parent_id"] = json!("nobody")),
                "missing_record (table thought, log entry 2, r2, parent_id)",
            ),
            (
                "a field that no entry has",
                |b| b.set_leaf(2, |leaf| leaf["more"] = json!(1)),
                "leaf_mismatch (table entry, log entry 2)",
            ),
            (
                "a field gone",
                |b| {
                    b.set_leaf(2, |leaf| {
                        leaf.as_object_mut().unwrap().remove("brief_id");
                    })
                },
                "leaf_mismatch (table entry, log entry 2)",
            ),
            (
                "another version",
                |b| b.set_leaf(2, |leaf| leaf["v"] = json!(2)),
                "leaf_mismatch (table entry, log entry 2)",
            ),
            (
                "bytes with a space",
                |b| {
                    let leaf = thought_2(b)["leaf"].as_str().unwrap().replacen(':', ": ", 1);
                    thought_2(b)["leaf"] = json!(leaf);
                },
                "leaf_mismatch (table entry, log entry 2)",
            ),
            (
                "a number too large",
                |b| {
                    let leaf = thought_2(b)["leaf"].as_str().unwrap();
                    let leaf = leaf.replace("\"content_length\":5", "\"content_length\":9007199254740993");
                    thought_2(b)["leaf"] = json!(leaf);
                },
                "leaf_mismatch (table entry, log entry 2)",
            ),
            (
                "a line dropped",
                |b| {
                    b.lines.remove(b.line_of(2));
                },
                "missing_record (table entry, log entry 2)",
            ),
            ("lines swapped", |b| b.lines.swap(3, 4), "missing_record (table entry, log entry 2)"),
            ("a line twice", |b| b.lines.insert(3, b.lines[3].clone()), "order (table entry, log entry 2)"),
            (
                "the last entry dropped",
                |b| {
                    let size = b.lines[0]["size"].as_u64().unwrap();
                    b.lines.remove(b.line_of(size - 1));
                },
                "missing_record (table entry, log entry 18)",
            ),
            (
                "snapshot",
                |b| {
                    let line = b.line_of(b.first("snapshot"));
                    b.lines[line]["data"] = json!("{}");
                },
                "content_hash_mismatch (table snapshot, log entry 4, 1, data)",
            ),
            (
                "metadata of a snapshot",
                |b| {
                    let line = b.line_of(b.first("snapshot"));
                    b.lines[line]["metadata"] = json!("{\"n\":7}");
                },
                "leaf_mismatch (table context, log entry 4, 1, metadata)",
            ),
            (
                "event",
                |b| {
                    let line = b.line_of(b.first("event"));
                    b.lines[line]["body"] = json!("{}");
                },
                "content_hash_mismatch (table event, log entry 8, body)",
            ),
            (
                "a content of an event",
                |b| {
                    for line in &mut b.lines {
                        if let Some(bodies) = line.get_mut("bodies").and_then(Value::as_object_mut)
                            && let Some(text) = bodies.values_mut().next()
                        {
                            *text = json!("{}");
                            break;
                        }
                    }
                },
                "content_hash_mismatch (table body, log entry 10)",
            ),
            (
                "a content of an event gone",
                |b| {
                    let line = b.line_of(10);
                    b.lines[line]["bodies"] = json!({});
                },
                "missing_record (table body, log entry 10)",
            ),
            (
                "a content that nobody names",
                |b| {
                    let line = b.line_of(10);
                    b.lines[line]["bodies"][Sha::of(b"x").to_string()] = json!("x");
                },
                "leaf_mismatch (table body, log entry 10)",
            ),
            (
                "an older checkpoint",
                |b| *checkpoint(b, 0) = json!("cairn/x\n4\n"),
                "checkpoint_mismatch (table checkpoint)",
            ),
            (
                "the manifest's count",
                |b| {
                    let last = b.lines.len() - 1;
                    b.lines[last]["manifest"]["entries"] = json!(7);
                },
                "missing_record (table manifest, entries)",
            ),
            (
                "another origin",
                |b| b.lines[0]["origin"] = json!("cairn/other"),
                "leaf_mismatch (table log, log entry 0, origin)",
            ),
            (
                "another root",
                |b| b.lines[0]["root"] = json!(Sha::of(b"x").to_string()),
                "leaf_mismatch (table log, root)",
            ),
            (
                "a proof in a whole bundle",
                |b| thought_2(b)["proof"] = json!([]),
                "malformed (table bundle, line 4)",
            ),
            (
                "a part that is none of a thought",
                |b| thought_2(b)["data"] = json!("x"),
                "malformed (table bundle, line 4)",
            ),
            (
                "no keys",
                |b| {
                    b.lines.remove(b.lines.len() - 2);
                },
                "malformed (table bundle, line 24)",
            ),
        ],
    );
}

#[test]
fn every_change_of_a_partial_bundle_is_named_by_both() {
    let db = filled();
    let other_hash = json!("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=");
    assert_eq!(other_hash.as_str().unwrap().len(), 44);
    check(
        &export(&db, session("s")),
        &[
            (
                "content",
                |b| thought_2(b)["content"] = json!("other"),
                "content_hash_mismatch (table thought, log entry 2, r2, content)",
            ),
            (
                "content and all links",
                |b| relinked(b, "other"),
                "leaf_mismatch (table node, log entry 2, r2)",
            ),
            (
                "author",
                |b| b.set_leaf(2, |leaf| leaf["agent_id"] = json!("eve")),
                "leaf_mismatch (table node, log entry 2, r2)",
            ),
            (
                "proof",
                |b| thought_2(b)["proof"][0] = json!("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="),
                "leaf_mismatch (table node, log entry 2, r2)",
            ),
            (
                "proof cut short",
                |b| drop(thought_2(b)["proof"].as_array_mut().unwrap().pop()),
                "leaf_mismatch (table node, log entry 2, r2)",
            ),
            (
                "proof too long",
                |b| {
                    let first = thought_2(b)["proof"][0].clone();
                    thought_2(b)["proof"].as_array_mut().unwrap().push(first);
                },
                "leaf_mismatch (table node, log entry 2, r2)",
            ),
            (
                "no proof",
                |b| drop(thought_2(b).as_object_mut().unwrap().remove("proof")),
                "malformed (table bundle, line 3)",
            ),
            (
                "a thought dropped",
                |b| drop(b.lines.remove(2)),
                "missing_record (table thought, log entry 5, r4, step_index)",
            ),
            ("thoughts swapped", |b| b.lines.swap(1, 2), "order (table entry, log entry 1)"),
            (
                "a thought twice",
                |b| b.lines.insert(2, b.lines[2].clone()),
                "order (table entry, log entry 2)",
            ),
            (
                "a snapshot dropped",
                |b| drop(b.lines.remove(b.line_of(4))),
                "missing_record (table thought, log entry 5, r4, context_id)",
            ),
            (
                "an event dropped",
                |b| drop(b.lines.remove(b.line_of(8))),
                "missing_record (table event, log entry 9, position)",
            ),
            (
                "a brief dropped",
                |b| drop(b.lines.remove(b.line_of(11))),
                "missing_record (table thought, log entry 12, r6, brief_id)",
            ),
            (
                "another checkpoint",
                |b| {
                    let (origin, key) = (b.origin(), key_of(&b.origin()));
                    let other = Checkpoint::new(&origin, 19, Sha::of(b"other")).unwrap();
                    *checkpoint(b, 0) = json!(other.signed(&[&key]).unwrap().to_string());
                },
                "checkpoint_mismatch (table checkpoint, root)",
            ),
            (
                "a checkpoint of another size",
                |b| {
                    let (origin, key) = (b.origin(), key_of(&b.origin()));
                    let other = Checkpoint::new(&origin, 9, Sha::of(b"other")).unwrap();
                    *checkpoint(b, 0) = json!(other.signed(&[&key]).unwrap().to_string());
                },
                "checkpoint_mismatch (table checkpoint, size)",
            ),
            (
                "a changed signature",
                |b| {
                    let note = checkpoint(b, 0).as_str().unwrap().to_string();
                    let (before, after) = note.split_at(note.len() - 20);
                    let other = if after.starts_with('A') { "B" } else { "A" };
                    *checkpoint(b, 0) = json!(format!("{before}{other}{}", &after[1..]));
                },
                "checkpoint_mismatch (table checkpoint)",
            ),
        ],
    );
    check(
        &export(&db, task("t")),
        &[(
            "a thought dropped",
            |b| drop(b.lines.remove(2)),
            "missing_record (table thought, log entry 3, r3, position)",
        )],
    );
}

#[test]
fn a_signature_counts_only_with_a_key_that_was_given() {
    let bytes = export(&filled(), Selection::All);
    let origin = Bundle::of(&bytes).origin();
    let other = SigningKey::from_seed(&origin, [8; 32]).unwrap();
    let stranger = SigningKey::from_seed("cairn/stranger", [7; 32]).unwrap();
    let expected = ["checkpoint_mismatch (table checkpoint, signature)"];
    for key in [&other, &stranger] {
        assert_eq!(both(&bytes, &[key.verifying_key().clone()]), expected);
    }
    // Rewritten as a whole and signed by somebody else: consistent, and worth nothing to who has the log's key.
    let mut forged = Bundle::of(&bytes);
    forged
        .lines
        .retain(|line| line.get("checkpoint").is_none_or(|note| note.as_str().unwrap().contains("\n19\n")));
    forged.set_leaf(2, |leaf| leaf["agent_id"] = json!("eve"));
    let forged = forged.rebuilt(&[&other]);
    let key: VerifyingKey = key_of(&origin).verifying_key().clone();
    assert_eq!(both(&forged.bytes(), std::slice::from_ref(&key)), expected);
    assert_eq!(both(&forged.bytes(), &[key, other.verifying_key().clone()]), [""; 0]);
    assert_eq!(both(&forged.bytes(), &[]), [""; 0]);
    // An older checkpoint that a given key signed for other entries.
    let mut older = Bundle::of(&bytes);
    let note = Checkpoint::new(&origin, 4, Sha::of(b"other")).unwrap();
    let note = note.signed(&[&key_of(&origin)]).unwrap();
    *checkpoint(&mut older, 0) = json!(note.to_string());
    let key = key_of(&origin).verifying_key().clone();
    assert_eq!(both(&older.bytes(), &[key]), ["checkpoint_mismatch (table checkpoint, root)"]);
}

#[test]
fn what_is_no_bundle_is_refused_by_both_at_the_same_line() {
    let good = export(&filled(), Selection::All);
    let lines: Vec<&[u8]> = good.split_inclusive(|byte| *byte == b'\n').collect();
    let with = |number: usize, line: &[u8]| {
        let mut lines = lines.clone();
        lines[number - 1] = line;
        lines.concat()
    };
    let line_4 = lines[3].strip_suffix(b"\n").unwrap();
    let deep = [b"{\"leaf\":".to_vec(), vec![b'['; 100_000], vec![b']'; 100_000], b"}\n".to_vec()].concat();
    let twice = [b"{\"content\":null,", &line_4[1..], b"\n"].concat();
    let spaced = [b"{ ", &line_4[1..], b"\n"].concat();
    let cases: Vec<(&str, Vec<u8>, usize)> = vec![
        ("nothing", Vec::new(), 1),
        ("garbage", b"garbage\n".to_vec(), 1),
        ("bytes", (0..=255).collect(), 1),
        ("a list", b"[]\n".to_vec(), 1),
        ("a byte order mark", [b"\xef\xbb\xbf", &good[..]].concat(), 1),
        ("another format", with(1, &canonical::to_bytes(&json!({"format": "cairn-bundle/2"})).unwrap()), 1),
        ("cut after a line", lines[..5].concat(), 6),
        ("cut inside a line", good[..good.len() - 10].to_vec(), lines.len()),
        ("without the last newline", good[..good.len() - 1].to_vec(), lines.len()),
        ("without the manifest", lines[..lines.len() - 1].concat(), lines.len()),
        ("more after the manifest", [&good[..], b"{\"keys\":[]}\n"].concat(), lines.len() + 1),
        ("an empty line at the end", [&good[..], b"\n"].concat(), lines.len() + 1),
        ("an empty line", with(4, b"\n"), 4),
        ("two lines in one", with(4, line_4), 4),
        ("deep JSON", with(4, &deep), 4),
        ("a key twice", with(4, &twice), 4),
        ("a space", with(4, &spaced), 4),
        ("a carriage return", with(4, &[line_4, b"\r\n"].concat()), 4),
        ("not UTF-8", with(4, &[&line_4[..12], b"\xff", &line_4[12..], b"\n"].concat()), 4),
        ("half a character", with(4, b"{\"content\":\"\\ud800\",\"leaf\":\"x\"}\n"), 4),
        ("a number", with(4, b"{\"leaf\":1}\n"), 4),
        ("a float", with(4, b"{\"leaf\":1.5}\n"), 4),
        ("a huge number", with(4, b"{\"leaf\":1e999}\n"), 4),
        ("NaN", with(4, b"{\"leaf\":NaN}\n"), 4),
        ("a huge line", vec![b' '; MAX_LINE + 2], 1),
    ];
    for (name, bytes, line) in cases {
        let found = both(&bytes, &[]);
        assert_eq!(found.last().unwrap(), &format!("malformed (table bundle, line {line})"), "{name}");
        assert_eq!(verify(&bytes, &[]).findings.last().unwrap().reason, Reason::Malformed, "{name}");
    }
    let changed = with(lines.len(), b"{\"manifest\":{\"entries\":19,\"redacted\":0,\"sha256\":\"00\"}}\n");
    assert_eq!(both(&changed, &[]), [format!("malformed (table bundle, line {})", lines.len())]);
    let mut changed = good.clone();
    let digit = changed.len() - 10;
    changed[digit] = if changed[digit] == b'0' { b'1' } else { b'0' };
    assert_eq!(both(&changed, &[]), ["content_hash_mismatch (table manifest, sha256)"]);
}
