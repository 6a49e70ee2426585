//! Bundles as they are exported: both verifiers accept them, and say what they did not check.

use std::io::{BufReader, Write};
use std::time::{Duration, Instant};

use cairn::bundle::{self, ExportOptions, PARTIAL, Selection};
use cairn::core::note::VerifyingKey;
use cairn::{Cairn, Durability, Error, NewThought, Options, ThoughtType};

use super::forge::{both, export, filled, key_of, python, session, task, verify};
use crate::harness::Folder;
use crate::harness::TestCairn;

/// A bundle that every release must be able to verify, and never writes again.
pub const GOLDEN: &[u8] = include_bytes!("../../fixtures/bundle-1.cairn.jsonl");
/// The key it is signed with.
pub const GOLDEN_KEY: &str = include_str!("../../fixtures/bundle-1.vkey");

#[test]
#[ignore = "makes the golden bundle, once"]
fn make_the_golden_bundle() {
    let file = |name: &str| format!("{}/tests/fixtures/{name}", env!("CARGO_MANIFEST_DIR"));
    let (bundle, vkey) = (file("bundle-1.cairn.jsonl"), file("bundle-1.vkey"));
    assert!(std::fs::metadata(&bundle).is_ok_and(|found| found.len() == 0), "it is there already");
    let db = filled();
    std::fs::write(&bundle, export(&db, Selection::All)).unwrap();
    std::fs::write(&vkey, format!("{}\n", key_of(&db.status().unwrap().origin).verifying_key())).unwrap();
}

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
        // As before, and a decision of another session that it supersedes.
        (session("other"), 1, 0, 0, 0, 2),
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
fn five_thousand_records_go_line_by_line_in_bounded_time() {
    let folder = Folder::new();
    let cairn: Cairn =
        Options::new().durability(Durability::Normal).open(folder.database("cairn.db")).unwrap();
    let draft = |n: u64| {
        let draft = NewThought::new(ThoughtType::Plan, format!("thought {n}")).agent("ada");
        draft.task(format!("t{}", n % 50)).session(format!("s{}", n % 7))
    };
    for n in 0..4_999 {
        drop(cairn.record_async(draft(n)));
    }
    cairn.record(draft(4_999)).unwrap();
    cairn.checkpoint().unwrap();
    let started = Instant::now();
    let mut pieces = Pieces(0, 0);
    let exported = cairn.export(&ExportOptions::default(), &mut pieces, &mut |_| {}).unwrap();
    assert_eq!((exported.entries, exported.bytes), (5_001, pieces.0));
    assert!(pieces.1 < 4096, "no piece is larger than its line");
    let file = folder.path().join("bundle.jsonl");
    let bytes = export(&cairn, Selection::All);
    std::fs::write(&file, bytes).unwrap();
    let mut told = 0;
    let source = BufReader::with_capacity(4096, std::fs::File::open(&file).unwrap());
    let report = bundle::verify(source, &[], &mut |progress| told = progress.done).unwrap();
    assert!(report.valid(), "{:?}", report.findings);
    assert_eq!((report.entries, told), (5_001, 4_096));
    assert_eq!(python(&file, &[]).0, 0);
    assert!(started.elapsed() < Duration::from_secs(120), "{:?}", started.elapsed());
}
