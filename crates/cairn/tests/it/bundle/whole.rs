//! Bundles as they are exported: both verifiers accept them, and say what they did not check.

use std::io::{BufReader, Write};
use std::time::{Duration, Instant};

use cairn::bundle::{self, ExportOptions, PARTIAL, Selection};
use cairn::core::entry::RedactionEntry;
use cairn::core::note::VerifyingKey;
use cairn::{Cairn, Durability, Error, NewThought, Options, Sha, ThoughtType};
use serde_json::{Value, json};

use super::forge::{Bundle, both, export, filled, key_of, python, session, task, verify};
use crate::harness::TestCairn;

/// A bundle that every release must be able to verify, and never writes again.
pub const GOLDEN: &[u8] = include_bytes!("../../fixtures/bundle-1.cairn.jsonl");
/// The key it is signed with.
pub const GOLDEN_KEY: &str = include_str!("../../fixtures/bundle-1.vkey");

#[test]
fn a_whole_log_is_exported_and_verified_by_both() {
    let db = filled();
    let bytes = export(&db, Selection::All);
    assert_eq!(export(&db, Selection::All), bytes, "the same state gives the same bytes");
    let key = key_of(&db.status().unwrap().origin);
    let keys = [key.verifying_key().clone()];
    assert_eq!(both(&bytes, &keys), [""; 0]);
    let report = verify(&bytes, &keys);
    let (status, whole) = (db.status().unwrap(), db.check());
    assert_eq!((report.entries, report.size), (status.entries, status.entries));
    assert_eq!(
        (report.records, report.contexts, report.events, report.briefs),
        (status.thoughts, status.contexts, status.events, status.briefs)
    );
    assert_eq!(Some(report.root), whole.root);
    assert_eq!(report.checkpoints, 3);
    assert_eq!(report.signed_by, [format!("{}+{}", key.verifying_key().name(), key.verifying_key().id())]);
    assert_eq!(report.notes, [""; 0]);
    assert_eq!(report.links_outside, 0);
    assert_eq!(both(&bytes, &[]), [""; 0]);
    let report = verify(&bytes, &[]);
    assert!(report.message().contains("nobody's signature was checked"), "{}", report.message());
    assert!(report.notes[0].contains("nobody's signature was checked"), "{:?}", report.notes);
}

#[test]
fn a_part_is_exported_and_verified_by_both_and_says_what_it_does_not_prove() {
    let db = filled();
    let key = [key_of(&db.status().unwrap().origin).verifying_key().clone()];
    for (selection, thoughts, events, briefs, contexts, outside) in [
        // Its task has a thought in another session, twice in between.
        (session("s"), 6, 3, 1, 2, 2),
        (session("memory"), 1, 3, 1, 0, 1),
        (session("other"), 1, 0, 0, 0, 1),
        // Both briefs that its thoughts name.
        (task("t"), 6, 0, 0, 0, 2),
        (task("u"), 2, 0, 0, 2, 0),
    ] {
        let bytes = export(&db, selection.clone());
        assert_eq!(both(&bytes, &key), [""; 0], "{selection:?}");
        let report = verify(&bytes, &key);
        let found = (report.records, report.events, report.briefs, report.contexts, report.links_outside);
        assert_eq!(found, (thoughts, events, briefs, contexts, outside), "{selection:?}");
        assert!(!report.full && report.notes.contains(&PARTIAL.to_string()));
        let file = db.folder().join("part.jsonl");
        std::fs::write(&file, &bytes).unwrap();
        let (_, out) = python(&file, &key);
        assert!(out.contains("proves inclusion, never completeness"), "{out}");
        let links = format!("{outside} links lead to records outside");
        assert_eq!(out.contains(&links), outside > 0, "{out}");
    }
    let options = ExportOptions { selection: task("nobody"), with_keys: false };
    let missing = db.export(&options, &mut Vec::new(), &mut |_| {});
    assert!(matches!(missing, Err(Error::NotFound { what: "task", .. })));
}

#[test]
fn a_log_without_anything_is_a_bundle_too() {
    let db = TestCairn::new();
    let bytes = export(&db, Selection::All);
    assert_eq!(both(&bytes, &[]), [""; 0]);
    assert_eq!(verify(&bytes, &[]).entries, 1);
}

/// Blanks a thought, and adds the entry that says so.
pub fn redacted(bytes: &[u8], target: u64, fields: &[&str]) -> Bundle {
    let mut bundle = Bundle::of(bytes);
    let (line, leaf) = (bundle.line_of(target), bundle.leaf(target));
    for part in ["content", "metadata", "salt"] {
        bundle.lines[line][part] = Value::Null;
    }
    let seq = bundle.lines[0]["size"].as_u64().unwrap();
    let mut bytes = Vec::new();
    RedactionEntry {
        actor: "ann",
        content_hash: leaf["content_hash"].as_str().unwrap().parse::<Sha>().unwrap(),
        created_at: "2026-04-18T00:00:00Z",
        fields,
        reason: "a name 😀",
        seq,
        target_id: leaf["id"].as_str().unwrap(),
        target_kind: "thought",
        target_seq: target,
    }
    .write(&mut bytes);
    let last = bundle.line_of(seq - 1);
    bundle.lines.insert(last + 1, json!({"leaf": String::from_utf8(bytes).unwrap()}));
    let key = key_of(&bundle.origin());
    bundle.rebuilt(&[&key])
}

#[test]
fn what_was_redacted_is_listed_and_everything_else_still_verifies() {
    let bytes = export(&filled(), Selection::All);
    let bundle = redacted(&bytes, 2, &["content", "metadata"]);
    let keys = [key_of(&bundle.origin()).verifying_key().clone()];
    assert_eq!(both(&bundle.bytes(), &keys), [""; 0]);
    let report = verify(&bundle.bytes(), &keys);
    assert_eq!(report.redacted_total, 1);
    let of = &report.redacted[0];
    assert_eq!(
        (of.id.as_str(), of.seq, of.actor.as_str(), of.reason.as_str()),
        ("r2", 2, "ann", "a name 😀")
    );

    let other_field = redacted(&bytes, 2, &["seal_key"]);
    assert_eq!(
        both(&other_field.bytes(), &keys),
        ["missing_record (table thought, log entry 2, r2, content)"]
    );
    let mut without = redacted(&bytes, 2, &["content"]);
    let line = without.line_of(without.first("redaction"));
    without.lines.remove(line);
    let without = without.rebuilt(&[&key_of(&bundle.origin())]);
    assert_eq!(both(&without.bytes(), &keys), ["missing_record (table thought, log entry 2, r2, content)"]);
    let mut other_target = bundle.clone();
    other_target.set_leaf(bundle.first("redaction"), |leaf| leaf["target_seq"] = json!(1));
    let other_target = other_target.rebuilt(&[&key_of(&bundle.origin())]);
    let found = both(&other_target.bytes(), &keys);
    assert_eq!(found[0], "missing_record (table thought, log entry 2, r2, content)");
    assert!(found[1].starts_with("leaf_mismatch (table redaction"), "{found:?}");
}

#[test]
fn a_sealed_content_without_its_key_is_said_to_be_unopened() {
    let db = filled();
    let text = "sealed:v1:AAAA:BBBB";
    db.record(NewThought::new(ThoughtType::Plan, text).session("s").agent("ada")).unwrap();
    let seq = db.status().unwrap().entries - 1;
    db.sql().execute("INSERT INTO seal (seq, key) VALUES (?1, x'0123')", [seq]).unwrap();
    let closed = export(&db, Selection::All);
    assert_eq!(both(&closed, &[]), [""; 0]);
    assert_eq!(verify(&closed, &[]).sealed, 1);
    let mut open = Vec::new();
    let options = ExportOptions { selection: Selection::All, with_keys: true };
    assert_eq!(db.export(&options, &mut open, &mut |_| {}).unwrap().sealed, 0);
    assert_eq!(both(&open, &[]), [""; 0]);
    assert_eq!(verify(&open, &[]).sealed, 0);
    assert!(String::from_utf8(open).unwrap().contains("\"seal_key\":\"0123\""));
}

#[test]
fn the_golden_bundle_is_verified_for_ever() {
    let key: VerifyingKey = GOLDEN_KEY.trim().parse().unwrap();
    assert_eq!(both(GOLDEN, std::slice::from_ref(&key)), [""; 0]);
    let report = verify(GOLDEN, &[key]);
    assert_eq!((report.records, report.contexts, report.events, report.briefs), (8, 2, 6, 2));
}

/// Notes how it is written to.
struct Pieces(u64, usize);

impl Write for Pieces {
    fn write(&mut self, piece: &[u8]) -> std::io::Result<usize> {
        self.0 += piece.len() as u64;
        self.1 = self.1.max(piece.len());
        Ok(piece.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn twenty_thousand_records_go_line_by_line_in_bounded_time() {
    let folder = tempfile::tempdir().unwrap();
    let cairn: Cairn =
        Options::new().durability(Durability::Normal).open(folder.path().join("cairn.db")).unwrap();
    let draft = |n: u64| {
        let draft = NewThought::new(ThoughtType::Plan, format!("thought {n}")).agent("ada");
        draft.task(format!("t{}", n % 50)).session(format!("s{}", n % 7))
    };
    for n in 0..19_999 {
        drop(cairn.record_async(draft(n)));
    }
    cairn.record(draft(19_999)).unwrap();
    let started = Instant::now();
    let mut pieces = Pieces(0, 0);
    let exported = cairn.export(&ExportOptions::default(), &mut pieces, &mut |_| {}).unwrap();
    assert_eq!((exported.entries, exported.bytes), (20_001, pieces.0));
    assert!(pieces.1 < 4096, "no piece is larger than its line");
    let file = folder.path().join("bundle.jsonl");
    let bytes = export(&cairn, Selection::All);
    std::fs::write(&file, bytes).unwrap();
    let mut told = 0;
    let source = BufReader::with_capacity(4096, std::fs::File::open(&file).unwrap());
    let report = bundle::verify(source, &[], &mut |progress| told = progress.done).unwrap();
    assert!(report.valid(), "{:?}", report.findings);
    assert_eq!((report.entries, told), (20_001, 19_456));
    assert_eq!(python(&file, &[]).0, 0);
    assert!(started.elapsed() < Duration::from_secs(120), "{:?}", started.elapsed());
}
