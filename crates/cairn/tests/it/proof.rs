//! Checkpoints, proofs, and heads remembered outside.

use std::path::Path;

use cairn::core::log::{CheckpointNote, Receipt, verify_consistency};
use cairn::core::note::{SigningKey, Verdict};
use cairn::{
    Cairn, Durability, Error, KeyFolder, KeySigner, NewThought, Options, Reason, Relation, Scope, Standing,
    ThoughtType,
};

use crate::harness::{Folder, Sql, TestCairn, copy, on_postgres, remove};

/// A folder with a database, its key and the heads that are remembered of it in three places.
struct Place(Folder);

impl Place {
    fn new() -> Place {
        Place(Folder::new())
    }

    fn database(&self) -> std::path::PathBuf {
        self.0.database("data/cairn.db")
    }

    fn options(&self) -> Options {
        std::fs::create_dir_all(self.0.path().join("data")).unwrap();
        Options::new().signer(KeyFolder::new(self.0.path().join("keys"))).heads(self.0.path().join("heads"))
    }

    fn open(&self) -> Cairn {
        self.options().open(self.database()).unwrap()
    }
}

fn think(cairn: &Cairn, content: &str) -> cairn::Thought {
    cairn.record(NewThought::new(ThoughtType::Decision, content).session("s").agent("ada")).unwrap()
}

#[test]
fn a_checkpoint_is_signed_and_covers_everything_recorded_before() {
    let place = Place::new();
    let cairn = place.open();
    think(&cairn, "one");
    let stated = cairn.checkpoint().unwrap();
    // The first entry, the thought, and the key that signs.
    assert_eq!(stated.size, 3);
    let key =
        cairn::load_key(&KeyFolder::new(place.0.path().join("keys")).path(&stated.origin)).unwrap().unwrap();
    let note: CheckpointNote = stated.note.parse().unwrap();
    assert_eq!(note.verdict(key.verifying_key()), Verdict::Signed);
    // Once stated, it stays the same.
    assert_eq!(cairn.checkpoint().unwrap(), stated);
    let report = cairn.verify(&Scope::All).unwrap();
    assert!(report.valid(), "{report:?}");
    let coverage = report.coverage.unwrap();
    assert_eq!((coverage.signed, coverage.stated, coverage.checkpoints), (3, 3, 1));
    assert_eq!(coverage.outside.unwrap().size, 3);
    assert!(report.notes.iter().all(|note| note.starts_with("the search indexes")), "{:?}", report.notes);

    think(&cairn, "two");
    let notes = cairn.verify(&Scope::All).unwrap().notes;
    assert!(
        notes.iter().any(|note| note == "the newest entry is not covered by a signed checkpoint yet"),
        "{notes:?}"
    );
}

#[test]
fn without_a_key_checkpoints_are_unsigned_and_verify_says_so() {
    let db = TestCairn::new();
    think(&db, "one");
    let stated = db.checkpoint().unwrap();
    assert_eq!(stated.signed_by, Vec::<String>::new());
    assert!(stated.note.parse::<CheckpointNote>().unwrap().signatures().is_empty());
    let report = db.verify(&Scope::All).unwrap();
    assert!(report.valid());
    assert!(
        report.notes.iter().any(|note| note.starts_with("no checkpoint is signed")),
        "{:?}",
        report.notes
    );
    assert!(report.notes.iter().any(|note| note.starts_with("no head is kept outside")));
}

#[test]
fn checkpoints_are_made_by_themselves_after_256_entries_and_at_the_end() {
    let place = Place::new();
    let cairn = place.open();
    for i in 0..300 {
        think(&cairn, &format!("thought {i}"));
    }
    let began = std::time::Instant::now();
    while cairn.newest_checkpoint().unwrap().is_none() {
        assert!(began.elapsed().as_secs() < 60, "no checkpoint is made");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert!(cairn.newest_checkpoint().unwrap().unwrap().size >= 256);
    cairn.close();
    let cairn = place.open();
    assert_eq!(cairn.newest_checkpoint().unwrap().unwrap().size, 302);
    assert!(cairn.verify(&Scope::All).unwrap().valid());
    // Reading makes none.
    let before = cairn.verify(&Scope::All).unwrap().coverage.unwrap().checkpoints;
    drop(cairn);
    assert_eq!(place.open().verify(&Scope::All).unwrap().coverage.unwrap().checkpoints, before);
}

#[test]
fn a_proof_convinces_whoever_has_the_bytes_and_the_key() {
    let place = Place::new();
    let cairn = place.open();
    let thoughts: Vec<_> = (0..20).map(|i| think(&cairn, &format!("thought {i}"))).collect();
    let old = cairn.checkpoint().unwrap();
    think(&cairn, "later");
    for thought in &thoughts {
        let proof = cairn.prove(thought.seq).unwrap();
        assert_eq!(proof.checkpoint, old);
        let receipt: Receipt = proof.receipt.unwrap().parse().unwrap();
        let key =
            cairn::load_key(&KeyFolder::new(place.0.path().join("keys")).path(&old.origin)).unwrap().unwrap();
        assert!(receipt.verify(proof.leaf.as_bytes(), key.verifying_key()).is_ok());
        assert!(receipt.verify(proof.leaf.replace("ada", "eve").as_bytes(), key.verifying_key()).is_err());
    }
    // The newest is in no checkpoint yet, and proving makes none.
    assert!(matches!(cairn.prove(22), Err(Error::Uncovered { .. })));
    cairn.checkpoint().unwrap();
    let newest = cairn.prove(22).unwrap();
    assert_eq!(newest.checkpoint.size, 23);
    let grown = cairn.prove_growth(old.size).unwrap();
    assert!(verify_consistency(old.size, 23, &old.root, &newest.checkpoint.root, &grown.proof));
    assert!(matches!(cairn.prove(99), Err(Error::NotFound { .. })));
    assert!(matches!(cairn.prove_growth(99), Err(Error::Invalid(_))));
}

#[test]
fn an_old_backup_put_back_is_refused_for_writing_and_reported() {
    let place = Place::new();
    let backup = place.0.database("backup/cairn.db");
    let cairn = place.open();
    think(&cairn, "one");
    cairn.close();
    copy(&place.database(), &backup);
    let cairn = place.open();
    think(&cairn, "two");
    cairn.close();

    // Elsewhere, the backup is an older copy: that is a note, and nothing is wrong with it.
    let older = place.options().open(&backup).unwrap();
    assert!(matches!(older.standing(), Standing::Extends(_)), "{:?}", older.standing());
    assert_eq!(older.copies()[0].relation, Relation::Newer);
    let report = older.verify(&Scope::All).unwrap();
    assert!(report.valid(), "{report:?}");
    assert_eq!(report.coverage.unwrap().copies, older.copies());
    drop(older);

    // Put back in the place of the newer one, it is a log that lost its end.
    copy(&backup, &place.database());
    let back = place.open();
    let refused = back.record(NewThought::new(ThoughtType::Plan, "x").session("s").agent("a")).unwrap_err();
    assert!(refused.to_string().contains("an older state of this database was put back"), "{refused}");
    let report = back.verify(&Scope::All).unwrap();
    assert_eq!(report.findings[0].reason, Reason::CheckpointMismatch);
    assert!(
        report.findings[0].message.contains("this machine, in this place, saw 4 entries"),
        "{}",
        report.findings[0].message
    );
}

#[test]
fn two_databases_grown_from_one_backup_are_a_fork_and_both_go_on() {
    let place = Place::new();
    let other = place.0.database("other/cairn.db");
    let cairn = place.open();
    think(&cairn, "one");
    cairn.close();
    copy(&place.database(), &other);
    let cairn = place.open();
    think(&cairn, "two, here");
    cairn.close();
    // Somebody else, who remembers nothing, goes on with the copy.
    let stranger = Options::new().signer(KeyFolder::new(place.0.path().join("keys"))).open(&other).unwrap();
    think(&stranger, "two, there");
    think(&stranger, "three, there");
    stranger.close();
    let there = place.options().open(&other).unwrap();
    assert_eq!(there.copies()[0].relation, Relation::Fork { same: Some(3), differs: 4 });
    let report = there.verify(&Scope::All).unwrap();
    assert!(report.valid(), "{report:?}");
    assert!(report.coverage.unwrap().copies[0].words().contains("the log has forked"));
    think(&there, "four, there");
    there.close();
    // Each of them says the same of the other.
    let here = place.open();
    assert_eq!(here.copies()[0].relation, Relation::Fork { same: Some(3), differs: 4 });
    assert!(here.verify(&Scope::All).unwrap().valid());
    think(&here, "three, here");
}

#[test]
fn a_database_that_is_gone_is_not_quietly_replaced_by_an_empty_one() {
    let place = Place::new();
    let cairn = place.open();
    think(&cairn, "one");
    cairn.close();
    remove(&place.database());
    let error = place.options().open(place.database()).err().unwrap();
    assert!(error.to_string().contains("with 3 entries"), "{error}");
    // Nor by another log.
    Options::new().open(place.database()).unwrap().close();
    let another = place.open();
    assert!(matches!(another.standing(), Standing::OtherLog { .. }));
    assert!(another.record(NewThought::new(ThoughtType::Plan, "x").session("s").agent("a")).is_err());
}

#[test]
fn keys_that_others_could_have_read_are_refused() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let cairn = place.open();
    think(&cairn, "one");
    let stated = cairn.checkpoint().unwrap();
    cairn.close();
    let keys = place.0.path().join("keys");
    let key = KeyFolder::new(&keys).path(&stated.origin);
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&key), mode(&keys)), (0o600, 0o700));

    let refused = |change: &dyn Fn(), back: &dyn Fn(), expected: &str| {
        change();
        let cairn = place.open();
        think(&cairn, "goes on");
        let error = cairn.checkpoint().unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        back();
        cairn.close();
    };
    let set =
        |path: &Path, mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    refused(&|| set(&key, 0o640), &|| set(&key, 0o600), "can be used by others");
    refused(&|| set(&keys, 0o755), &|| set(&keys, 0o700), "can be used by others");
    let aside = keys.join("aside");
    let link = || {
        std::fs::rename(&key, &aside).unwrap();
        std::os::unix::fs::symlink(&aside, &key).unwrap();
    };
    let back = || {
        std::fs::remove_file(&key).unwrap();
        std::fs::rename(&aside, &key).unwrap();
    };
    refused(&link, &back, "not a plain file");
    assert!(place.open().verify(&Scope::All).unwrap().valid());
}

#[test]
fn a_log_that_contradicts_its_bytes_is_not_signed_and_not_written_to() {
    let place = Place::new();
    let cairn = place.options().durability(Durability::Normal).open(place.database()).unwrap();
    think(&cairn, "one");
    cairn.checkpoint().unwrap();
    think(&cairn, "two");
    // A bit flips in a stored record, after it was hashed.
    Sql::open(&place.database()).unprotected(|sql| {
        sql.execute_batch("UPDATE thought SET agent_id = 'adb' WHERE seq = 3").unwrap();
    });
    let error = cairn.checkpoint().unwrap_err();
    assert!(error.to_string().contains("nothing was signed"), "{error}");
    assert!(!cairn.verify(&Scope::All).unwrap().valid());
}

#[test]
fn a_key_from_the_environment_signs_only_its_own_log() {
    let folder = Folder::new();
    let key = SigningKey::from_seed("cairn/another", [7; 32]).unwrap();
    let cairn = Options::new().signer(KeySigner::new(key)).open(folder.database("cairn.db")).unwrap();
    think(&cairn, "one");
    let error = cairn.checkpoint().unwrap_err().to_string();
    assert!(error.contains("the key is for the log `cairn/another`"), "{error}");
}

#[test]
fn a_second_client_without_the_key_goes_on_unsigned_and_nobody_cries_wolf() {
    let place = Place::new();
    let cairn = place.open();
    think(&cairn, "here");
    cairn.close();
    // Another user's program on the same file: it has its own keys and its own memory.
    let other = tempfile::tempdir().unwrap();
    let there = || {
        let signer = KeyFolder::new(other.path().join("keys"));
        Options::new().signer(signer).heads(other.path().join("heads")).open(place.database()).unwrap()
    };
    let second = there();
    think(&second, "there");
    let stated = second.checkpoint().unwrap();
    assert_eq!(stated.signed_by, Vec::<String>::new());
    second.close();
    let report = there().verify(&Scope::All).unwrap();
    assert!(report.valid(), "{report:?}");
    assert!(report.coverage.unwrap().signed_by.unwrap().contains("compare it with the one you were given"));
    let first = place.open();
    let report = first.verify(&Scope::All).unwrap();
    assert!(report.valid(), "{report:?}");
    // The one with the key signs what both have written.
    assert_eq!(first.checkpoint().unwrap().signed_by.len(), 1);
    assert!(first.verify(&Scope::All).unwrap().valid());
}

/// The one file in a folder whose name ends so.
fn file_in(folder: &Path, ending: &str) -> std::path::PathBuf {
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    names.into_iter().find(|path| path.to_string_lossy().ends_with(ending)).unwrap()
}

#[test]
fn a_head_that_was_cut_off_costs_no_other() {
    let place = Place::new();
    let cairn = place.open();
    think(&cairn, "one");
    cairn.checkpoint().unwrap();
    think(&cairn, "two");
    cairn.checkpoint().unwrap();
    let file = file_in(&place.0.path().join("heads"), ".head");
    let whole = std::fs::read(&file).unwrap();
    let body = whole.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(1).unwrap().0 + 1;
    // However much of it was written, the next one is understood, and so is where the database is.
    for length in body..whole.len() {
        std::fs::write(&file, &whole[..length]).unwrap();
        let stated = cairn.checkpoint().unwrap();
        let heads = cairn::HeadFolder::new(place.0.path().join("heads"));
        let remembered = heads.read(&stated.origin).unwrap();
        assert_eq!(remembered.newest().map(|head| (head.size, head.root)), Some((stated.size, stated.root)));
        let places: Vec<&String> = remembered.places.keys().collect();
        match on_postgres() {
            false => assert_eq!(places, [&cairn::place_name(&place.database())], "after {length} bytes"),
            true => {
                assert!(places[0].ends_with("data_cairn_db") && places.len() == 1, "after {length} bytes")
            }
        }
        assert_eq!(remembered.keys().len(), 1, "after {length} bytes");
    }
}

#[test]
fn what_a_killed_program_left_is_removed_when_it_is_old() {
    let place = Place::new();
    let keys = place.0.path().join("keys");
    let cairn = place.open();
    think(&cairn, "one");
    let origin = cairn.status().unwrap().origin;
    let folder = KeyFolder::new(&keys);
    cairn.checkpoint().unwrap();
    let [old, new] = ["old.1-0.part", "new.2-0.part"].map(|name| keys.join(name));
    for path in [&old, &new] {
        std::fs::write(path, "half a k").unwrap();
    }
    let hours_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(3 * 3600);
    std::fs::File::options().write(true).open(&old).unwrap().set_modified(hours_ago).unwrap();
    folder.make_next(&origin).unwrap();
    assert!(!old.exists() && new.exists(), "the new one may be somebody's who is writing");
}

#[test]
fn the_last_checkpoint_covers_what_was_still_queued() {
    for close in [Cairn::close as fn(Cairn), drop] {
        let place = Place::new();
        let cairn = place.open();
        let thought = |n: u32| NewThought::new(ThoughtType::Plan, format!("{n}")).session("s").agent("ada");
        let waiting: Vec<_> = (0..200).map(|n| cairn.record_async(thought(n))).collect();
        close(cairn);
        drop(waiting);
        let cairn = place.options().read_only(true).open(place.database()).unwrap();
        let entries = cairn.status().unwrap().entries;
        assert!(entries > 200, "{entries}");
        assert_eq!(cairn.newest_checkpoint().unwrap().map(|stated| stated.size), Some(entries));
    }
}

#[cfg(unix)]
#[test]
fn a_pipe_among_the_remembered_heads_is_not_read() {
    let place = Place::new();
    let cairn = place.open();
    think(&cairn, "one");
    cairn.checkpoint().unwrap();
    drop(cairn);
    let pipe_in_place_of = |path: &Path| {
        std::fs::remove_file(path).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
    };
    let only_file = |folder: &Path| {
        let mut files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        files.find(|path| path.is_file()).unwrap()
    };
    pipe_in_place_of(&only_file(&place.0.path().join("heads/places")));
    let cairn = place.open();
    think(&cairn, "two");
    cairn.checkpoint().unwrap();
    drop(cairn);
    pipe_in_place_of(&only_file(&place.0.path().join("heads")));
    let cairn = place.open();
    assert!(matches!(cairn.standing(), Standing::Unreadable { .. }), "{:?}", cairn.standing());
}
