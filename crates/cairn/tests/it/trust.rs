//! Whom `verify` believes: keys that were given, keys that were revoked, and logs that lie where another one was.

use std::path::{Path, PathBuf};

use cairn::core::entry::{KeyOp, KeyStatement};
use cairn::core::log::{Checkpoint, leaf_hash};
use cairn::core::note::{SigningKey, VerifyingKey};
use cairn::{
    Cairn, Error, KeyChange, KeyFolder, KeySigner, NewThought, Options, Outside, OutsideKey, Reason,
    Relation, Report, Scope, Standing, ThoughtType,
};
use rusqlite::params;

use crate::harness::slip::{rebuild_tree, slip, slip_with};
use crate::harness::{Folder, Sql, copy as copied};

/// Writes an entry into a database behind Cairn's back; returns its position.
type Attack<'a> = &'a dyn Fn(&Path) -> u64;

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

    /// As `cairn key revoke` does; returns the new key.
    fn revoke(&self, cairn: &Cairn, last_trusted_size: u64) -> VerifyingKey {
        let origin = cairn.status().unwrap().origin;
        let old = self.secret(&origin).verifying_key().clone();
        let new = self.keys().make_next(&origin).unwrap();
        change(cairn, KeyOp::Revoke, &old, Some(last_trusted_size));
        change(cairn, KeyOp::Add, &new, None);
        self.keys().replace(&origin).unwrap();
        new
    }

    fn secret(&self, origin: &str) -> SigningKey {
        cairn::load_key(&self.keys().path(origin)).unwrap().unwrap()
    }
}

fn copy_of(key: &SigningKey) -> SigningKey {
    key.to_secret_string().parse().unwrap()
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
    let new = place.revoke(&cairn, stated.size);
    let trusted = cairn.checkpoint().unwrap().size;
    cairn.close();

    // The thief of the key goes on: one entry adds a key of theirs, another ends the new one.
    let theirs = cairn::random_key(&stated.origin).unwrap();
    let database = place.database();
    let brought = slip(&database, KeyOp::Add, theirs.verifying_key(), None, Some(&stolen));
    slip(&database, KeyOp::Revoke, &new, Some(0), Some(&stolen));
    state(&database, &stolen);
    let thief = Options::new().automatic_checkpoints(false).open(&database).unwrap();
    think(&thief, "never decided");
    thief.close();
    state(&database, &theirs);

    let nobody = Options::new().open(place.database()).unwrap();
    let report = verified_with(&nobody, &new);
    assert_eq!(report.coverage.as_ref().unwrap().signed, trusted, "{report:?}");
    assert!(report.findings.iter().any(|finding| finding.message.contains("not the log's")), "{report:?}");
    let strange: Vec<_> = report.findings.iter().filter_map(|finding| finding.seq).collect();
    assert_eq!(strange, [brought, brought + 1], "{report:?}");
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
    slip(&place.database(), KeyOp::Add, theirs.verifying_key(), None, Some(&theirs));
    Sql::open(&place.database()).unprotected(|sql| {
        let text: String =
            sql.query_row("SELECT leaf FROM entry WHERE seq = ?1", [stated.size], |row| row.get(0)).unwrap();
        let text = text.replace(&format!("\"seq\":{}", stated.size), "\"seq\":1");
        sql.execute(
            "UPDATE entry SET leaf = ?2, leaf_hash = ?3 WHERE seq = ?1",
            params![stated.size, text, leaf_hash(text.as_bytes()).0],
        )
        .unwrap();
        rebuild_tree(sql);
    });
    state(&place.database(), &theirs);
    let report = verified_with(&Options::new().open(place.database()).unwrap(), &key);
    assert!(!report.valid(), "{report:?}");
    assert_eq!(report.coverage.unwrap().signed, stated.size);
}

/// Somebody who can write the database, and has no key of the log, brings one in. The log goes on and is signed; the key
/// counts for nothing, even under a valid signature, and is reported.
#[test]
fn a_key_that_a_stranger_brings_in_is_reported_and_never_trusted() {
    let place = Place::new();
    let cairn = place.open();
    think(&cairn, "one");
    let stated = cairn.checkpoint().unwrap();
    let retired = place.secret(&stated.origin);
    let new = place.keys().make_next(&stated.origin).unwrap();
    change(&cairn, KeyOp::Add, &new, None);
    let last = cairn.checkpoint().unwrap().size;
    change(&cairn, KeyOp::Retire, retired.verifying_key(), Some(last));
    place.keys().replace(&stated.origin).unwrap();
    let kept = cairn.key_changes().unwrap();
    cairn.close();
    // A log of somebody's own under another name, whose key signed the stranger's key there.
    let theirs = cairn::random_key(&stated.origin).unwrap();
    let elsewhere = SigningKey::from_seed("cairn/other", [7; 32]).unwrap();
    let copied_line = || kept[1].signature.clone();
    let other_log = || {
        let vkey = theirs.verifying_key().to_string();
        let statement =
            KeyStatement { origin: "cairn/other", op: KeyOp::Add, vkey: &vkey, last_trusted_size: None };
        Some(elsewhere.sign(&statement.text()).to_string())
    };
    let attacks: [(&str, Attack<'_>); 5] = [
        ("by nobody", &|path| slip(path, KeyOp::Add, theirs.verifying_key(), None, None)),
        ("by itself", &|path| slip(path, KeyOp::Add, theirs.verifying_key(), None, Some(&theirs))),
        ("by a retired key", &|path| slip(path, KeyOp::Add, theirs.verifying_key(), None, Some(&retired))),
        ("with the signature of another change", &|path| {
            slip_with(path, KeyOp::Add, theirs.verifying_key(), None, copied_line())
        }),
        ("with a signature of another log", &|path| {
            slip_with(path, KeyOp::Add, theirs.verifying_key(), None, other_log())
        }),
    ];
    let before = place.0.database("elsewhere/before.db");
    copied(&place.database(), &before);
    for (name, attack) in attacks {
        copied(&before, &place.database());
        let seq = attack(&place.database());
        // The log goes on, and its own key signs over that entry.
        let cairn = Options::new().signer(place.keys()).open(place.database()).unwrap();
        think(&cairn, "two");
        let signed = cairn.checkpoint().unwrap();
        assert_eq!(signed.signed_by.len(), 1, "{name}");
        cairn.close();
        let size = {
            let thief = Options::new().automatic_checkpoints(false).open(place.database()).unwrap();
            think(&thief, "never decided");
            thief.close();
            state(&place.database(), &theirs)
        };
        for key in [retired.verifying_key(), &new] {
            let report = verified_with(&Options::new().open(place.database()).unwrap(), key);
            let coverage = report.coverage.unwrap();
            assert_eq!(
                (coverage.signed, size),
                (signed.size, signed.size + 1),
                "{name}: {:?}",
                report.findings
            );
            let found: Vec<_> =
                report.findings.iter().map(|found| (found.seq, found.field.as_deref())).collect();
            assert_eq!(
                found,
                [(Some(seq), Some("signature")), (None, Some("note"))],
                "{name}: {:?}",
                report.findings
            );
        }
    }
}

#[test]
fn a_change_of_keys_is_refused_where_no_key_of_the_log_signs() {
    let place = Place::new();
    let cairn = place.open();
    think(&cairn, "one");
    let stated = cairn.checkpoint().unwrap();
    let key = place.secret(&stated.origin).verifying_key().clone();
    let other = cairn::random_key(&stated.origin).unwrap();
    let add = || KeyChange {
        op: KeyOp::Add,
        key: other.verifying_key().clone(),
        last_trusted_size: None,
        reason: None,
    };
    let end = KeyChange { op: KeyOp::Revoke, key: key.clone(), last_trusted_size: Some(1), reason: None };
    // The only key of a log does not end itself: nobody would be left to say who comes next.
    assert!(matches!(cairn.change_key(end.clone()).unwrap_err(), Error::Forbidden(_)));
    cairn.close();
    let entries = Options::new().open(place.database()).unwrap().status().unwrap().entries;
    let nobody = Options::new().automatic_checkpoints(false);
    let stranger = nobody.clone().signer(KeySigner::new(copy_of(&other)));
    for options in [nobody, stranger] {
        let cairn = options.open(place.database()).unwrap();
        let error = cairn.change_key(add()).unwrap_err().to_string();
        assert!(error.contains(&key.id().to_string()), "{error}");
        assert_eq!(cairn.status().unwrap().entries, entries);
    }
}

/// Several processes give a log its first key at once: one of them is the first, the others are told so.
#[test]
fn a_log_has_one_first_key_however_many_processes_add_one() {
    let place = Place::new();
    let path = place.database();
    let first = Options::new().automatic_checkpoints(false).open(&path).unwrap();
    think(&first, "one");
    let origin = first.status().unwrap().origin;
    let results: Vec<_> = std::thread::scope(|scope| {
        let add = || {
            let cairn = Options::new().automatic_checkpoints(false).open(&path).unwrap();
            let key = cairn::random_key(&origin).unwrap().verifying_key().clone();
            cairn.change_key(KeyChange { op: KeyOp::Add, key, last_trusted_size: None, reason: None })
        };
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(add)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1, "{results:?}");
    let refused = |error: &Error| matches!(error, Error::Conflict(_) | Error::Forbidden(_));
    assert!(results.iter().filter_map(|result| result.as_ref().err()).all(refused), "{results:?}");
    assert_eq!(first.key_changes().unwrap().len(), 1);
    assert!(first.verify(&Scope::All).unwrap().valid());
}

#[test]
fn the_end_of_a_key_cannot_be_hidden_under_another_kind() {
    let place = Place::new();
    let cairn = place.open();
    think(&cairn, "one");
    let stated = cairn.checkpoint().unwrap();
    place.revoke(&cairn, stated.size);
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
