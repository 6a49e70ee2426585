//! Bundles of logs whose keys were changed: the same signatures count as for `cairn verify`.

use cairn::bundle::Selection;
use cairn::core::entry::KeyOp;
use cairn::core::log::Checkpoint;
use cairn::core::note::{SigningKey, VerifyingKey};
use cairn::{Cairn, KeyChange, KeyFolder, NewThought, Options, Outside, OutsideKey, Scope, ThoughtType};
use serde_json::json;

use super::forge::{Bundle, both, export, session, verify};
use crate::harness::slip::slip;
use crate::harness::{Folder, Sql};

/// A log with a key in a folder.
struct Signed {
    folder: Folder,
    cairn: Option<Cairn>,
}

impl Signed {
    fn new() -> Signed {
        let mut signed = Signed { folder: Folder::new(), cairn: None };
        signed.open();
        signed.think("with the first key");
        signed.cairn().checkpoint().unwrap();
        signed
    }

    fn open(&mut self) {
        if let Some(cairn) = self.cairn.take() {
            cairn.close();
        }
        let options = Options::new().signer(self.keys()).automatic_checkpoints(false);
        self.cairn = Some(options.open(self.folder.database("cairn.db")).unwrap());
    }

    fn cairn(&self) -> &Cairn {
        self.cairn.as_ref().unwrap()
    }

    fn keys(&self) -> KeyFolder {
        KeyFolder::new(self.folder.path().join("keys"))
    }

    fn origin(&self) -> String {
        self.cairn().status().unwrap().origin
    }

    fn key(&self) -> SigningKey {
        cairn::load_key(&self.keys().path(&self.origin())).unwrap().unwrap()
    }

    fn think(&self, text: &str) {
        let draft = NewThought::new(ThoughtType::Plan, text).session("s").task("t").agent("ada");
        self.cairn().record(draft).unwrap();
    }

    fn change(&self, op: KeyOp, key: &VerifyingKey, last_trusted_size: Option<u64>) -> u64 {
        let change = KeyChange { op, key: key.clone(), last_trusted_size, reason: None };
        self.cairn().change_key(change).unwrap()
    }

    /// As `cairn key rotate` does; returns the old key.
    fn rotate(&mut self) -> SigningKey {
        let old = self.key();
        let new = self.keys().make_next(&self.origin()).unwrap();
        self.change(KeyOp::Add, &new, None);
        let bridge = self.cairn().checkpoint().unwrap();
        assert_eq!(bridge.signed_by.len(), 2);
        self.change(KeyOp::Retire, old.verifying_key(), Some(bridge.size));
        self.keys().replace(&self.origin()).unwrap();
        self.open();
        self.think("with the next key");
        self.cairn().checkpoint().unwrap();
        old
    }

    /// As `cairn key revoke` does; returns the old key.
    fn revoke(&mut self, last_trusted_size: u64) -> SigningKey {
        let old = self.key();
        let new = self.keys().make_next(&self.origin()).unwrap();
        self.change(KeyOp::Revoke, old.verifying_key(), Some(last_trusted_size));
        self.change(KeyOp::Add, &new, None);
        self.keys().replace(&self.origin()).unwrap();
        self.open();
        self.think("with a key that nobody else has");
        self.cairn().checkpoint().unwrap();
        old
    }

    /// Whether the database verifies with a key, and how many entries count as signed.
    fn verified(&self, key: &SigningKey) -> (bool, u64) {
        let given = OutsideKey {
            key: key.verifying_key().clone(),
            source: "given".to_string(),
            must_have_signed: true,
        };
        let outside = Outside { keys: vec![given], ..Outside::default() };
        let report = Cairn::open(self.folder.database("cairn.db"))
            .unwrap()
            .verify_against(&Scope::All, outside, &|_| {})
            .unwrap();
        (report.valid(), report.coverage.unwrap().signed)
    }

    /// Whether both accept the whole log and a part of it, which must be as the database verifies.
    #[track_caller]
    fn accepted(&self, key: &SigningKey) -> bool {
        let keys = [key.verifying_key().clone()];
        let (valid, signed) = self.verified(key);
        let size = self.cairn().status().unwrap().entries;
        let verdicts = [Selection::All, session("s")].map(|selection| {
            let bytes = export(self.cairn(), selection);
            let found = both(&bytes, &keys);
            let report = verify(&bytes, &keys);
            assert_eq!(report.signed_by.is_empty(), !found.is_empty(), "{found:?} {report:?}");
            found.is_empty()
        });
        assert_eq!(verdicts, [valid && signed == size; 2], "valid: {valid}, signed: {signed} of {size}");
        verdicts[0]
    }
}

/// A bundle of a log whose key was rotated.
pub fn rotated(selection: Selection) -> Vec<u8> {
    let mut log = Signed::new();
    log.rotate();
    export(log.cairn(), selection)
}

fn foreign(origin: &str) -> SigningKey {
    SigningKey::from_seed(origin, [9; 32]).unwrap()
}

#[test]
fn whoever_trusts_any_key_of_a_rotated_log_can_follow() {
    let mut log = Signed::new();
    assert!(log.accepted(&log.key()));
    assert!(!log.accepted(&foreign(&log.origin())));
    let first = log.rotate();
    let second = log.rotate();
    let third = log.key();
    for key in [&first, &second, &third] {
        assert!(log.accepted(key));
    }
    assert!(!log.accepted(&foreign(&log.origin())));
    // A key that was not given is said to be one that the log introduced.
    let bytes = export(log.cairn(), session("s"));
    let report = verify(&bytes, &[first.verifying_key().clone()]);
    assert!(report.signed_by[0].contains(" (introduced by log entry "), "{:?}", report.signed_by);
    assert_eq!(report.checkpoints, 1, "the one that it stands on");
    // Without the signature of the old key under the new one, nobody can follow.
    let expected = [
        "checkpoint_mismatch (table log, log entry 3, signature)",
        "checkpoint_mismatch (table checkpoint, note)",
    ];
    let mut without = Bundle::of(&bytes);
    assert_eq!(without.leaf(3)["op"], json!("add"));
    without.set_leaf(3, |leaf| leaf["signature"] = json!(null));
    let without = without.rebuilt(&[&third]);
    let found = both(&without.bytes(), &[first.verifying_key().clone()]);
    assert!(expected.iter().all(|expected| found.contains(&expected.to_string())), "{found:?}");
    // A part stands on one checkpoint.
    let mut older = Bundle::of(&bytes);
    let whole = Bundle::of(&export(log.cairn(), Selection::All));
    let line = whole.lines.iter().find(|line| line.get("checkpoint").is_some()).unwrap().clone();
    let place = older.lines.iter().position(|line| line.get("checkpoint").is_some()).unwrap();
    older.lines.insert(place, line);
    assert_eq!(both(&older.bytes(), &[]), ["checkpoint_mismatch (table checkpoint, size)"]);
}

#[test]
fn a_revoked_key_counts_up_to_where_it_was_trusted() {
    let mut log = Signed::new();
    let trusted = log.cairn().newest_checkpoint().unwrap().unwrap().size;
    log.think("signed by whoever has the key");
    log.cairn().checkpoint().unwrap();
    let old = log.revoke(trusted);
    assert!(log.accepted(&log.key()));
    assert!(!log.accepted(&old), "whoever verifies needs the new key");
    assert!(!log.accepted(&foreign(&log.origin())));
    // The log is imported all the same, with the new key or with none, and goes on.
    let bytes = export(log.cairn(), Selection::All);
    for keys in [&[][..], &[log.key().verifying_key().clone()][..]] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("copy.db");
        Options::new().import(&path, &mut std::io::Cursor::new(&bytes), keys, &|_| {}).unwrap();
        assert!(export(&Cairn::open(&path).unwrap(), Selection::All) == bytes);
    }
}

/// Whoever stole a revoked key goes on with the log, and has it vouch for a key of their own.
#[test]
fn a_key_past_its_time_neither_signs_nor_vouches_for_another() {
    let mut log = Signed::new();
    let trusted = log.cairn().newest_checkpoint().unwrap().unwrap().size;
    let old = log.revoke(trusted);
    let new = log.key();
    let origin = log.origin();
    log.cairn.take().unwrap().close();
    log.cairn = Some(Cairn::open(log.folder.database("cairn.db")).unwrap());
    let thief = foreign(&origin);
    slip(&log.folder.database("cairn.db"), KeyOp::Add, thief.verifying_key(), None, Some(&old));
    let sign = |keys: &[&SigningKey]| {
        let report = log.cairn().verify(&Scope::Session("s".into())).unwrap();
        assert!(report.valid());
        let head = log.cairn().checkpoint().unwrap();
        let note = Checkpoint::new(&origin, head.size, head.root).unwrap().signed(keys).unwrap();
        Sql::open(&log.folder.database("cairn.db")).unprotected(|sql| {
            let change = "UPDATE checkpoint SET note = ?2 WHERE size = ?1";
            sql.execute(change, (head.size, note.to_string())).unwrap();
        });
        head.size
    };
    sign(&[&old, &thief]);
    assert!(!log.accepted(&new), "signed past its time");
    log.think("by the thief");
    let size = sign(&[&thief]);
    let (valid, signed) = log.verified(&new);
    assert!(!valid && signed < size, "a key that only a revoked one vouches for");
    assert!(!log.accepted(&new));
}
