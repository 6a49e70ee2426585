//! Whom `verify` believes: keys that were given, keys that were revoked, and logs that lie where another one was.

use std::path::{Path, PathBuf};

use cairn::core::entry::KeyOp;
use cairn::core::log::{Checkpoint, Edge, leaf_hash};
use cairn::core::note::{SigningKey, VerifyingKey};
use cairn::{
    Cairn, KeyChange, KeyFolder, NewThought, Options, Outside, OutsideKey, Reason, Relation, Report, Scope,
    Standing, ThoughtType,
};
use rusqlite::params;

use crate::harness::{Folder, Sql, copy as copied};

/// A database, its keys and what is remembered of it, in three folders.
struct Place(Folder);

impl Place {
    fn new() -> Place {
        let place = Place(Folder::new());
        for name in ["data", "elsewhere"] {
            std::fs::create_dir(place.0.path().join(name)).unwrap();
        }
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn database(&self) -> PathBuf {
        self.0.database("data/cairn.db")
    }

    fn keys(&self) -> KeyFolder {
        KeyFolder::new(self.path("keys"))
    }

    fn options(&self) -> Options {
        Options::new().signer(self.keys()).heads(self.path("heads"))
    }

    fn open(&self) -> Cairn {
        self.options().open(self.database()).unwrap()
    }

    fn secret(&self, origin: &str) -> SigningKey {
        cairn::load_key(&self.keys().path(origin)).unwrap().unwrap()
    }
}

fn think(cairn: &Cairn, content: &str) {
    cairn.record(NewThought::new(ThoughtType::Decision, content).session("s").agent("ada")).unwrap();
}

fn change(cairn: &Cairn, op: KeyOp, key: &VerifyingKey, last_trusted_size: Option<u64>) {
    cairn.change_key(KeyChange { op, key: key.clone(), last_trusted_size, reason: None }).unwrap();
}

/// States the log as it is, behind Cairn's back.
fn state(path: &Path, key: &SigningKey) -> u64 {
    let sql = Sql::open(path);
    let (origin, size, root): (String, u64, [u8; 32]) = sql
        .query_row("SELECT origin, size, root FROM log", [], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })
        .unwrap();
    let note = Checkpoint::new(&origin, size, cairn::Sha(root)).unwrap().signed(&[key]).unwrap().to_string();
    sql.execute("INSERT INTO checkpoint (size, note) VALUES (?1, ?2)", params![size, note]).unwrap();
    size
}

/// Makes the tree fit the entries again.
fn rebuild_tree(sql: &Sql) {
    let hashes: Vec<[u8; 32]> =
        sql.query("SELECT hash FROM entry ORDER BY seq", [], |row| row.get(0)).unwrap();
    let mut edge = Edge::empty();
    hashes.into_iter().for_each(|hash| edge.push(cairn::Sha(hash), &mut |_| {}));
    assert!(edge.size() < 256, "there is no tile to be made anew");
    sql.execute("UPDATE log SET root = ?1, edge = ?2", params![edge.root().0, edge.to_bytes()]).unwrap();
}

fn verified_with(cairn: &Cairn, key: &VerifyingKey) -> Report {
    let key = OutsideKey { key: key.clone(), source: "given".to_string(), must_have_signed: true };
    let outside = Outside { keys: vec![key], ..Outside::default() };
    cairn.verify_against(&Scope::All, outside, &|_| {}).unwrap()
}

#[test]
fn a_key_that_is_given_counts_alone_whatever_is_remembered() {
    let place = Place::new();
    let cairn = place.open();
    think(&cairn, "one");
    let origin = cairn.checkpoint().unwrap().origin;
    assert!(verified_with(&cairn, place.secret(&origin).verifying_key()).valid());
    let stranger = cairn::random_key(&origin).unwrap();
    let report = verified_with(&cairn, stranger.verifying_key());
    assert!(!report.valid(), "{report:?}");
    assert_eq!(report.coverage.unwrap().signed, 0);
}

#[test]
fn a_revoked_key_brings_in_no_other_one_and_takes_none_away() {
    let place = Place::new();
    let cairn = place.open();
    think(&cairn, "one");
    let stated = cairn.checkpoint().unwrap();
    let stolen = place.secret(&stated.origin);
    change(&cairn, KeyOp::Revoke, stolen.verifying_key(), Some(stated.size));
    let new = place.keys().make_next(&stated.origin).unwrap();
    place.keys().replace(&stated.origin).unwrap();
    change(&cairn, KeyOp::Add, &new, None);
    let trusted = cairn.checkpoint().unwrap().size;
    cairn.close();

    // Who has stolen the key goes on: with an entry that brings in a key of theirs, and one that ends the new one.
    let thief = Options::new().automatic_checkpoints(false).open(place.database()).unwrap();
    let theirs = cairn::random_key(&stated.origin).unwrap();
    change(&thief, KeyOp::Add, theirs.verifying_key(), None);
    change(&thief, KeyOp::Revoke, &new, Some(0));
    state(&place.database(), &stolen);
    think(&thief, "never decided");
    thief.close();
    state(&place.database(), &theirs);

    let nobody = Options::new().open(place.database()).unwrap();
    let report = verified_with(&nobody, &new);
    assert_eq!(report.coverage.as_ref().unwrap().signed, trusted, "{report:?}");
    assert!(report.findings.iter().any(|finding| finding.message.contains("not the log's")), "{report:?}");
}

#[test]
fn a_key_entry_that_lies_about_its_place_brings_in_no_key() {
    let place = Place::new();
    let cairn = place.open();
    think(&cairn, "one");
    let stated = cairn.checkpoint().unwrap();
    cairn.close();
    let key = place.secret(&stated.origin).verifying_key().clone();
    // Somebody without the key adds an entry that says that it stands in the part that was signed.
    let theirs = cairn::random_key(&stated.origin).unwrap();
    let forger = Options::new().automatic_checkpoints(false).open(place.database()).unwrap();
    change(&forger, KeyOp::Add, theirs.verifying_key(), None);
    forger.close();
    Sql::open(&place.database()).unprotected(|sql| {
        let leaf: Vec<u8> =
            sql.query_row("SELECT leaf FROM entry WHERE seq = ?1", [stated.size], |row| row.get(0)).unwrap();
        let text = String::from_utf8(leaf).unwrap();
        let text = text.replace(&format!("\"seq\":{}", stated.size), "\"seq\":1");
        sql.execute(
            "UPDATE entry SET leaf = ?2, hash = ?3 WHERE seq = ?1",
            params![stated.size, text.as_bytes(), leaf_hash(text.as_bytes()).0],
        )
        .unwrap();
        rebuild_tree(sql);
    });
    state(&place.database(), &theirs);
    let report = verified_with(&Options::new().open(place.database()).unwrap(), &key);
    assert!(!report.valid(), "{report:?}");
    assert_eq!(report.coverage.unwrap().signed, stated.size);
}

#[test]
fn the_end_of_a_key_cannot_be_hidden_under_another_kind() {
    let place = Place::new();
    let cairn = place.open();
    think(&cairn, "one");
    let stated = cairn.checkpoint().unwrap();
    change(&cairn, KeyOp::Revoke, place.secret(&stated.origin).verifying_key(), Some(stated.size));
    cairn.close();
    Sql::open(&place.database()).unprotected(|sql| {
        sql.execute("UPDATE entry SET kind = 'continuation' WHERE seq = ?1", [stated.size]).unwrap();
    });
    let report = Options::new().open(place.database()).unwrap().verify(&Scope::All).unwrap();
    assert_eq!(report.findings[0].seq, Some(stated.size), "{report:?}");
}

#[test]
fn another_log_in_the_place_of_one_that_was_seen_is_reported() {
    let place = Place::new();
    let cairn = place.open();
    think(&cairn, "one");
    let seen = cairn.checkpoint().unwrap();
    cairn.close();
    // The past as somebody would like it, in a log of a new name.
    let other = place.0.database("elsewhere/cairn.db");
    let forger = Options::new().signer(KeyFolder::new(place.path("other-keys"))).open(&other).unwrap();
    think(&forger, "another one");
    forger.close();
    copied(&other, &place.database());
    let cairn = place.open();
    assert!(matches!(cairn.standing(), Standing::OtherLog { .. }));
    let report = cairn.verify(&Scope::All).unwrap();
    assert!(!report.valid(), "{report:?}");
    assert_eq!(report.findings[0].reason, Reason::CheckpointMismatch);
    assert!(report.findings[0].message.contains(&seen.origin), "{}", report.findings[0].message);
    drop(cairn);

    // One that is known from elsewhere is not the one that was here, either.
    let known = place.options().open(&other).unwrap();
    known.checkpoint().unwrap();
    known.close();
    copied(&other, &place.database());
    let report = place.open().verify(&Scope::All).unwrap();
    assert!(report.findings[0].message.contains(&seen.origin), "{:?}", report.findings);
}

#[test]
fn a_short_copy_with_another_past_is_a_fork_and_no_older_copy() {
    let place = Place::new();
    let cairn = place.open();
    think(&cairn, "one");
    cairn.checkpoint().unwrap();
    cairn.close();
    let copy = place.0.database("elsewhere/copy.db");
    copied(&place.database(), &copy);
    let cairn = place.open();
    for text in ["two", "three", "four"] {
        think(&cairn, text);
        cairn.checkpoint().unwrap();
    }
    cairn.close();
    // Somebody with the key goes on with the copy, at the same sizes, and not as far.
    let other = Options::new().signer(place.keys()).open(&copy).unwrap();
    for text in ["two, there", "three, there"] {
        think(&other, text);
        other.checkpoint().unwrap();
    }
    other.close();
    let there = place.options().open(&copy).unwrap();
    assert_eq!(there.copies()[0].relation, Relation::Fork { same: Some(3), differs: 4 });
    let report = there.verify(&Scope::All).unwrap();
    assert!(report.valid(), "{report:?}");
    drop(there);
    // In the place of the other, it is a rewritten past.
    copied(&copy, &place.database());
    let there = place.open();
    assert!(
        matches!(there.standing(), Standing::Diverged { agrees_at: Some(3), .. }),
        "{:?}",
        there.standing()
    );
    assert!(!there.verify(&Scope::All).unwrap().valid());
}

#[test]
fn a_rollback_is_noticed_although_a_copy_was_looked_at_since() {
    let place = Place::new();
    let cairn = place.open();
    think(&cairn, "one");
    cairn.close();
    let (old, copy) = (place.0.database("elsewhere/old.db"), place.0.database("elsewhere/copy.db"));
    copied(&place.database(), &old);
    let cairn = place.open();
    think(&cairn, "two");
    cairn.close();
    // A copy is stated: from now on that is where the log was last.
    copied(&place.database(), &copy);
    let there = place.options().open(&copy).unwrap();
    there.checkpoint().unwrap();
    there.close();
    copied(&old, &place.database());
    let cairn = place.open();
    assert!(matches!(cairn.standing(), Standing::Behind { .. }), "{:?}", cairn.standing());
    assert!(!cairn.verify(&Scope::All).unwrap().valid());
    // The old copy, where it always was, is just that.
    assert!(place.options().open(&old).unwrap().verify(&Scope::All).unwrap().valid());
}

#[test]
fn what_is_remembered_and_cannot_be_read_is_a_finding_beside_the_others() {
    let place = Place::new();
    let cairn = place.open();
    think(&cairn, "one");
    let origin = cairn.checkpoint().unwrap().origin;
    cairn.close();
    let heads = cairn::HeadFolder::new(place.path("heads")).path(&origin);
    std::fs::write(&heads, b"no heads \xff").unwrap();
    let report = place.open().verify(&Scope::All).unwrap();
    assert_eq!((report.records, report.findings_total), (1, 1), "{report:?}");
    let Report { findings, .. } = report;
    assert_eq!(findings[0].reason, Reason::Malformed);
    assert!(findings[0].message.contains(heads.to_str().unwrap()), "{}", findings[0].message);
}

#[test]
fn a_size_that_somebody_made_up_keeps_nobody_waiting() {
    let place = Place::new();
    let cairn = place.open();
    think(&cairn, "one");
    cairn.close();
    Sql::open(&place.database()).unprotected(|sql| {
        sql.execute("UPDATE log SET size = ?1", [i64::MAX]).unwrap();
    });
    let database = place.database();
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let report = Options::new().open(database).unwrap().verify(&Scope::All).unwrap();
        sender.send(report).unwrap();
    });
    let report = receiver.recv_timeout(std::time::Duration::from_secs(120)).expect("it comes to an end");
    assert_eq!(report.findings[0].reason, Reason::MissingRecord, "{report:?}");
}

#[test]
fn verifying_while_sealed_texts_are_redacted_finds_nothing_wrong() {
    let place = Place::new();
    let cairn = place.open();
    let ids: Vec<String> = (0..40)
        .map(|number| {
            let draft =
                NewThought::new(ThoughtType::Plan, format!("sealed {number}")).session("s").agent("a");
            cairn.record(draft.seal()).unwrap().id.to_string()
        })
        .collect();
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let verify = || {
            let reader = Options::new().open(place.database()).unwrap();
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                let report = reader.verify(&Scope::All).unwrap();
                assert!(report.valid(), "{:?}", report.findings);
            }
        };
        let readers = [scope.spawn(verify), scope.spawn(verify)];
        for target in ids {
            let (actor, reason) = ("ann".to_string(), "a name in it".to_string());
            cairn.redact(&cairn::Redact { target, actor, reason }).unwrap();
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        for reader in readers {
            reader.join().unwrap();
        }
    });
}
