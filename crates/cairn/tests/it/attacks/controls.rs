//! What honest use looks like: nobody may cry wolf.

use cairn::core::entry::KeyOp;
use cairn::core::note::VerifyingKey;
use cairn::{NewThought, ThoughtType};

use super::{Scene, more};
use crate::harness::copy;

/// Something that people do.
pub struct Control {
    pub what: &'static str,
    pub expected: &'static str,
    /// What must stand among the notes, if anything.
    pub note: Option<&'static str>,
    /// Whether a task chain, read from the rows alone, has a hash that cannot be recomputed.
    pub unreadable: bool,
    pub run: fn(&Scene),
}

pub const CONTROLS: [Control; 6] = [
    Control {
        what: "redaction by an entry of the log",
        expected: "silent but for a note: the record's own task hash cannot be recomputed; every link, leaf and proof holds",
        note: Some("redacted"),
        unreadable: true,
        run: |scene| {
            let cairn = scene.open();
            let id = cairn.list(&cairn::Filter::default()).unwrap().records[30].id.to_string();
            let redact = cairn::Redact { target: id, actor: "ann".into(), reason: "a name in it".into() };
            let redacted = cairn.redact(&redact).unwrap();
            assert_eq!(redacted.checkpoint, Some(redacted.seq + 1));
            cairn.close();
        },
    },
    Control {
        what: "ordinary growth after the remembered head",
        expected: "all silent; the tail that no signed checkpoint covers is named",
        note: Some("not covered by a signed checkpoint yet"),
        unreadable: false,
        run: |scene| {
            let cairn = scene.options().automatic_checkpoints(false).open(scene.path()).unwrap();
            more(&cairn, "grown");
            cairn.close();
        },
    },
    Control {
        what: "identical retry of a call",
        expected: "the same record, nothing new; another body under the same key is refused",
        note: None,
        unreadable: false,
        run: |scene| {
            let cairn = scene.open();
            let draft = |content: &str| {
                NewThought::new(ThoughtType::Plan, content)
                    .session("session 0")
                    .agent("ada")
                    .idempotency_key("once")
            };
            let first = cairn.record(draft("retried")).unwrap();
            assert_eq!(cairn.record(draft("retried")).unwrap().seq, first.seq);
            assert_eq!(cairn.record(draft("other")).unwrap_err().code(), "CONFLICT");
            assert_eq!(cairn.status().unwrap().entries, first.seq + 1);
            cairn.close();
        },
    },
    Control {
        what: "crash in the middle of recording, then a restart",
        expected: "everything acknowledged is there; the unsigned tail is named",
        note: Some("not covered by a signed checkpoint yet"),
        unreadable: false,
        run: |scene| {
            let cairn = scene.open();
            more(&cairn, "acknowledged");
            // The files as they are at this moment, as a power cut would leave them.
            let crashed = scene.folder.database("crashed.db");
            copy(&scene.path(), &crashed);
            std::mem::forget(cairn);
            copy(&crashed, &scene.path());
            let list = scene.options().open(scene.path()).unwrap().list(&cairn::Filter::default()).unwrap();
            assert_eq!(list.records.last().unwrap().content, "acknowledged");
        },
    },
    Control {
        what: "change of keys with overlap",
        expected: "silent; the old key counts up to its last size and no further",
        note: None,
        unreadable: false,
        run: |scene| {
            let cairn = scene.open();
            let keys = scene.keys();
            let old = scene.secret().verifying_key().clone();
            let new = keys.make_next(&scene.origin).unwrap();
            let change = |op, key: &VerifyingKey, last_trusted_size| {
                let change = cairn::KeyChange { op, key: key.clone(), last_trusted_size, reason: None };
                cairn.change_key(change).unwrap();
            };
            change(KeyOp::Add, &new, None);
            let bridge = cairn.checkpoint().unwrap();
            assert_eq!(bridge.signed_by.len(), 2);
            change(KeyOp::Retire, &old, Some(bridge.size));
            keys.replace(&scene.origin).unwrap();
            assert_eq!(cairn.checkpoint().unwrap().signed_by.len(), 1);
            cairn.close();
        },
    },
    Control {
        what: "the place where heads are remembered cannot be written",
        expected: "recording goes on; the entries since the last remembered head are named",
        note: Some("newer than the last head remembered on this machine"),
        unreadable: false,
        run: |scene| {
            let heads = scene.folder.path().join("heads");
            let aside = scene.folder.path().join("heads-aside");
            let cairn = scene.open();
            std::fs::rename(&heads, &aside).unwrap();
            std::fs::write(&heads, "not a folder").unwrap();
            more(&cairn, "goes on");
            assert!(cairn.checkpoint().unwrap_err().to_string().contains("was not remembered"));
            cairn.close();
            std::fs::remove_file(&heads).unwrap();
            std::fs::rename(&aside, &heads).unwrap();
        },
    },
];
