//! A bundle in the hands of a forger: whatever is changed, both verifiers name the same place.

use cairn::Sha;
use cairn::bundle::Selection;
use cairn::core::log::Checkpoint;
use cairn::core::thought::{TaskLink, chain_hash, task_hash};
use serde_json::{Value, json};

use super::forge::{Bundle, both, checkpoint, export, filled, key_of, session, task};

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
                "a superseded decision that nobody recorded",
                |b| b.set_leaf(18, |leaf| leaf["supersedes"][0] = json!("nobody")),
                "missing_record (table thought, log entry 18, r8, supersedes)",
            ),
            (
                "one that was recorded later",
                |b| b.set_leaf(2, |leaf| leaf["supersedes"] = json!(["r8"])),
                "missing_record (table thought, log entry 2, r2, supersedes)",
            ),
            (
                "itself",
                |b| b.set_leaf(18, |leaf| leaf["supersedes"] = json!(["r8"])),
                "missing_record (table thought, log entry 18, r8, supersedes)",
            ),
            (
                "a rejected thought of another session",
                |b| b.set_leaf(18, |leaf| leaf["rejects"] = json!(["r3"])),
                "leaf_mismatch (table thought, log entry 18, r8, rejects)",
            ),
            (
                "a rejected thought that nobody recorded",
                |b| b.set_leaf(18, |leaf| leaf["rejects"] = json!(["nobody"])),
                "missing_record (table thought, log entry 18, r8, rejects)",
            ),
            (
                "the same link twice",
                |b| b.set_leaf(18, |leaf| leaf["rejects"] = json!(["r1", "r1"])),
                "leaf_mismatch (table thought, log entry 18, r8, rejects)",
            ),
            (
                "too many links",
                |b| {
                    b.set_leaf(18, |leaf| {
                        leaf["supersedes"] = (0..17).map(|n| n.to_string()).collect::<Vec<_>>().into();
                    })
                },
                "leaf_mismatch (table thought, log entry 18, r8, supersedes)",
            ),
            (
                "a subject that is too long",
                |b| b.set_leaf(18, |leaf| leaf["applies_to"][0] = json!("字".repeat(301))),
                "leaf_mismatch (table thought, log entry 18, r8, applies_to)",
            ),
            (
                "a subject with a control character",
                |b| b.set_leaf(18, |leaf| leaf["applies_to"][0] = json!("a\u{85}b")),
                "leaf_mismatch (table thought, log entry 18, r8, applies_to)",
            ),
            (
                "an empty subject",
                |b| b.set_leaf(18, |leaf| leaf["applies_to"] = json!([""])),
                "leaf_mismatch (table thought, log entry 18, r8, applies_to)",
            ),
            (
                "another subject",
                |b| b.set_leaf(18, |leaf| leaf["applies_to"][0] = json!("字".repeat(300))),
                "leaf_mismatch (table log, root)",
            ),
            (
                "another source",
                |b| b.set_leaf(18, |leaf| leaf["source"] = json!("person")),
                "leaf_mismatch (table log, root)",
            ),
            (
                "a source that there is not",
                |b| b.set_leaf(18, |leaf| leaf["source"] = json!("ghost")),
                "leaf_mismatch (table entry, log entry 18)",
            ),
            (
                "a type that there is not",
                |b| b.set_leaf(18, |leaf| leaf["type"] = json!("idea")),
                "leaf_mismatch (table entry, log entry 18)",
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
                "checkpoint_mismatch (table checkpoint, note)",
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
