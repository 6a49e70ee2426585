//! Log entries: the exact bytes that stand in the Merkle log for something that was recorded.
//!
//! An entry is one flat canonical JSON object with **every** field of what it records; absent fields are
//! `null`, never left out. Texts are represented instead of repeated, so that they can be erased later with
//! every proof intact: `content_hash` and `data_hash` stand for contents, `metadata_commitment` and
//! `body_commitment` for metadata and for the bodies of events. Commitments are salted, so that a short text
//! cannot be guessed from them. `v` fixes the meaning of an entry for ever: a change of meaning is a new number.

mod brief;
mod column;
mod continuation;
mod declare;
mod event;
mod field;
mod genesis;
mod key;
mod parts;
mod reader;
mod redaction;
mod review;
mod snapshot;
mod thought;

pub use brief::BriefEntry;
pub use column::{Column, ColumnType, Malformed};
pub use continuation::ContinuationEntry;
pub use declare::Difference;
pub use event::EventEntry;
pub use field::{Field, Text, texts};
pub use genesis::Genesis;
pub use key::{KeyEntry, KeyOp, KeyStatement};
pub use parts::{Blanked, Parts, Record, TextMark, Unsound};
pub use reader::EntryReader;
pub use redaction::RedactionEntry;
pub use review::{ReviewEntry, ReviewVerdict};
pub use snapshot::SnapshotEntry;
pub use thought::ThoughtEntry;

use std::fmt;
use std::str::FromStr;

use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use crate::hash::Sha;

/// The version of the entry format that is written today.
pub const VERSION: u64 = 1;

/// Lists the kinds of entries: each variant with its word and its declaration.
macro_rules! kinds {
    ($( $(#[$doc:meta])* $kind:ident = $word:literal: $entry:ident, )*) => {
        /// The kinds of entries.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "lowercase")]
        pub enum EntryKind {
            $( $(#[$doc])* $kind, )*
        }

        impl EntryKind {
            /// All of them.
            pub const ALL: &'static [EntryKind] = &[$( EntryKind::$kind ),*];

            /// The word for it.
            pub fn as_str(self) -> &'static str {
                match self {
                    $( EntryKind::$kind => $word, )*
                }
            }
        }

        /// An entry of the log.
        #[derive(Debug, Clone, PartialEq, Eq)]
        #[expect(clippy::large_enum_variant, reason = "most entries are of the largest kind, and boxing each costs more")]
        pub enum Entry<'a> {
            $( $(#[$doc])* $kind($entry<'a>), )*
        }

        impl<'a> Entry<'a> {
            /// Reads the bytes of an entry; none unless they are exactly those that [`write`](Entry::write) gives.
            pub fn parse(bytes: &'a [u8]) -> Option<Entry<'a>> {
                let kind = kind_of(bytes)?;
                let mut reader = EntryReader::new(bytes, kind)?;
                let entry = match kind {
                    $( EntryKind::$kind => Entry::$kind($entry::read(&mut reader)?), )*
                };
                reader.end()?;
                Some(entry)
            }

            /// Appends the entry's bytes to `out`.
            pub fn write(&self, out: &mut Vec<u8>) {
                match self {
                    $( Entry::$kind(entry) => entry.write(out), )*
                }
            }

            /// Its kind.
            pub fn kind(&self) -> EntryKind {
                match self {
                    $( Entry::$kind(_) => EntryKind::$kind, )*
                }
            }

            /// Its position in the log.
            pub fn seq(&self) -> u64 {
                match self {
                    $( Entry::$kind(entry) => entry.seq, )*
                }
            }

            /// Borrows from nothing any more.
            pub fn into_owned(self) -> Entry<'static> {
                match self {
                    $( Entry::$kind(entry) => Entry::$kind(entry.into_owned()), )*
                }
            }

            /// The columns of a row of this kind, in order: name and type.
            pub fn row(kind: EntryKind) -> Vec<(&'static str, ColumnType)> {
                match kind {
                    $( EntryKind::$kind => $entry::row(), )*
                }
            }

            /// Visits the values of its columns, in order.
            pub fn columns(&self, visit: &mut dyn FnMut(&'static str, Column<'_>)) {
                match self {
                    $( Entry::$kind(entry) => entry.columns(visit), )*
                }
            }

            /// Reads a row of this kind, whose columns `next` gives in order. Fields without a column are left empty:
            /// [`Record::complete`] fills them.
            pub fn from_columns(
                kind: EntryKind,
                next: &mut dyn FnMut(&'static str) -> Column<'a>,
            ) -> Result<Entry<'a>, Malformed> {
                Ok(match kind {
                    $( EntryKind::$kind => Entry::$kind($entry::from_columns(next)?), )*
                })
            }

            /// The first field in which two entries differ, with both values as text.
            pub fn difference(&self, other: &Self) -> Option<Difference> {
                match (self, other) {
                    $( (Entry::$kind(one), Entry::$kind(other)) => one.difference(other), )*
                    (one, other) => Some(Difference::of("kind", &one.kind(), &other.kind())),
                }
            }
        }

        $(
            impl $entry<'_> {
                /// Appends the entry's bytes to `out`.
                pub fn write(&self, out: &mut Vec<u8>) {
                    let mut writer = declare::EntryWriter::new(EntryKind::$kind, out);
                    self.members(&mut writer);
                    writer.end();
                }
            }
        )*
    };
}

kinds! {
    /// The first entry of a log.
    Genesis = "genesis": Genesis,
    /// A thought.
    Thought = "thought": ThoughtEntry,
    /// A snapshot of a roadmap.
    Snapshot = "snapshot": SnapshotEntry,
    /// An event of a session.
    Event = "event": EventEntry,
    /// A stored brief.
    Brief = "brief": BriefEntry,
    /// A change of the log's keys.
    Key = "key": KeyEntry,
    /// A record was blanked.
    Redaction = "redaction": RedactionEntry,
    /// A person's statement about a record.
    Review = "review": ReviewEntry,
    /// The log continues another one.
    Continuation = "continuation": ContinuationEntry,
}

/// The kind that the bytes of an entry name. A quote inside a text is escaped, so the pattern is found as a key alone.
fn kind_of(bytes: &[u8]) -> Option<EntryKind> {
    let text = std::str::from_utf8(bytes).ok()?;
    let (_, rest) = text.split_once("\"kind\":\"")?;
    rest.split_once('"')?.0.parse().ok()
}

impl fmt::Display for EntryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A word that names no kind of entry.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no kind of entry")]
pub struct UnknownKind(pub String);

impl FromStr for EntryKind {
    type Err = UnknownKind;

    fn from_str(word: &str) -> Result<EntryKind, UnknownKind> {
        EntryKind::ALL
            .iter()
            .copied()
            .find(|kind| kind.as_str() == word)
            .ok_or_else(|| UnknownKind(crate::preview::preview(word, 40).into_owned()))
    }
}

/// Random bytes, stored beside a text, that keep the text from being guessed from its [`commitment`].
pub type Salt = [u8; 32];

/// `HMAC-SHA-256(salt, canonical JSON)`.
pub fn commitment(salt: &Salt, canonical: &[u8]) -> Sha {
    let mut mac = <Hmac<Sha256> as KeyInit>::new_from_slice(salt).expect("HMAC takes a key of any length");
    mac.update(canonical);
    Sha(mac.finalize().into_bytes().into())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::canonical;
    use crate::thought::{Source, ThoughtType};
    use crate::time::Timestamp;

    fn entry() -> ThoughtEntry<'static> {
        ThoughtEntry {
            action_id: Some("commit \"1\"".into()),
            agent_id: "a1".into(),
            applies_to: vec!["src/auth/**".into(), "area:\"é\"".into()],
            brief_id: None,
            chain_hash: Sha::of(b"chain"),
            content_hash: Sha::of(b"content"),
            content_length: 7,
            context_id: Some(12),
            hash: Sha::of(b"hash"),
            id: "r1".into(),
            idempotency_key: None,
            metadata_commitment: Some(commitment(&[7; 32], b"{}")),
            parent_id: Some("r0".into()),
            position: 3,
            prev_hash: Sha::ZERO,
            rejects: vec!["r0".into()],
            seq: 9,
            session_id: "s1".into(),
            source: Source::Person,
            step_index: 4,
            supersedes: vec!["d1".into(), "d2".into()],
            task_id: "t1".into(),
            timestamp: "2026-04-17T00:00:00Z".into(),
            kind: ThoughtType::Decision,
        }
    }

    #[test]
    fn an_entry_is_canonical_json() {
        let mut bytes = Vec::new();
        entry().write(&mut bytes);
        let value: Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(canonical::to_bytes(&value).unwrap(), bytes);
        assert_eq!(value["action_id"], json!("commit \"1\""));
        assert_eq!(value["brief_id"], Value::Null);
        assert_eq!(value["v"], json!(1));
    }

    /// The format is a promise: this digest, computed with Python's `json` and `hashlib`, never changes while
    /// `v` is 1.
    #[test]
    fn the_bytes_of_version_1_are_frozen() {
        let mut bytes = Vec::new();
        entry().write(&mut bytes);
        Genesis { seq: 0, origin: "cairn/test".into(), timestamp: "2026-04-17T00:00:00Z".into() }
            .write(&mut bytes);
        assert_eq!(
            Sha::of(&bytes).to_string(),
            "1371fe093b7300f31130842f56a311da4b5991fa2d9c54acf56577ffd92de4be"
        );
    }

    /// As above.
    #[test]
    fn the_bytes_of_a_snapshot_are_frozen_too() {
        let mut bytes = Vec::new();
        SnapshotEntry {
            content_hash: Sha::of(b"content"),
            content_length: 7,
            context_id: 3,
            created_at: "2026-04-17T00:00:00Z".into(),
            metadata_commitment: None,
            node_count: 12,
            position: 1,
            roadmap_id: "import".into(),
            seq: 9,
        }
        .write(&mut bytes);
        assert_eq!(
            Sha::of(&bytes).to_string(),
            "74077c796d5afa0aba966d3e358870d9463271abbbfaa61c2026cfe729408669"
        );
    }

    /// As above.
    #[test]
    fn the_bytes_of_events_and_briefs_are_frozen_too() {
        let mut bytes = Vec::new();
        EventEntry {
            body_commitment: commitment(&[7; 32], b"body"),
            body_length: 4,
            created_at: "2026-04-17T00:00:00Z".into(),
            event: "turn_began".into(),
            event_v: 1,
            idempotency_key: None,
            position: 2,
            seq: 9,
            session_id: "s1".into(),
            turn: 1,
        }
        .write(&mut bytes);
        BriefEntry {
            brief_id: "b1".into(),
            created_at: "2026-04-17T00:00:00Z".into(),
            data_hash: Sha::of(b"data"),
            data_length: 4,
            hash: Sha::of(b"brief"),
            node: "think".into(),
            seq: 10,
            session_id: "s1".into(),
            turn: 1,
        }
        .write(&mut bytes);
        assert_eq!(
            Sha::of(&bytes).to_string(),
            "10d06b9e0ab0bb76692ea7af471d3bad63cfadd7b43f5ed2d6ff0f7d4de2f020"
        );
    }

    /// The expected value comes from Python's `hmac` module.
    #[test]
    fn the_commitment_is_hmac_sha_256() {
        assert_eq!(
            commitment(&[7; 32], b"{}").to_string(),
            "7204813b88da3469d9b37525eab7411cea611dd13401dd13e609fb07d86ac348"
        );
    }

    fn one_of_each() -> Vec<Entry<'static>> {
        let (created_at, timestamp) =
            (Text::from("2026-04-17T00:00:00Z"), Text::from("2026-04-17T00:00:00Z"));
        let hash = Sha::of(b"hash");
        let all = vec![
            Entry::Genesis(Genesis { origin: "cairn/test".into(), seq: 0, timestamp }),
            Entry::Thought(entry()),
            Entry::Snapshot(SnapshotEntry {
                content_hash: hash,
                content_length: 7,
                context_id: 3,
                created_at: created_at.clone(),
                metadata_commitment: None,
                node_count: 12,
                position: 1,
                roadmap_id: "import".into(),
                seq: 9,
            }),
            Entry::Event(EventEntry {
                body_commitment: hash,
                body_length: 4,
                created_at: created_at.clone(),
                event: "turn_began".into(),
                event_v: 1,
                idempotency_key: Some("tab\t \"quoted\" \\ é \u{1}".into()),
                position: 2,
                seq: 9,
                session_id: "s1".into(),
                turn: 1,
            }),
            Entry::Brief(BriefEntry {
                brief_id: "b1".into(),
                created_at: created_at.clone(),
                data_hash: hash,
                data_length: 4,
                hash,
                node: "think".into(),
                seq: 10,
                session_id: "s1".into(),
                turn: 1,
            }),
            Entry::Key(KeyEntry {
                created_at: created_at.clone(),
                last_trusted_size: Some(8),
                op: KeyOp::Revoke,
                reason: None,
                seq: 9,
                signature: Some("— a AAAAAQI=".into()),
                vkey: "a+b+c".into(),
            }),
            Entry::Redaction(RedactionEntry {
                actor: "ann".into(),
                bodies: vec![hash, Sha::ZERO],
                content_hash: hash,
                content_length: 7,
                created_at: Timestamp::parse(&*created_at).unwrap(),
                fields: vec!["content".into(), "metadata".into()],
                metadata_commitment: None,
                reason: "a name".into(),
                remains: Some(hash),
                seq: 11,
                shared: vec![4, 10],
                target_id: "r1".into(),
                target_kind: EntryKind::Thought,
                target_seq: 3,
            }),
            Entry::Review(ReviewEntry {
                actor: "ann".into(),
                created_at: created_at.clone(),
                review_id: "v1".into(),
                seq: 12,
                target_id: "r1".into(),
                target_kind: EntryKind::Thought,
                target_seq: 3,
                text_commitment: hash,
                text_length: 7,
                verdict: ReviewVerdict::Noted,
            }),
            Entry::Continuation(ContinuationEntry {
                actor: "ann".into(),
                created_at,
                origin: "cairn/old".into(),
                reason: "disk lost".into(),
                root: hash,
                seq: 1,
                size: 12,
            }),
        ];
        assert_eq!(all.iter().map(Entry::kind).collect::<Vec<_>>(), EntryKind::ALL);
        all
    }

    fn bytes_of(entry: &Entry<'_>) -> Vec<u8> {
        let mut bytes = Vec::new();
        entry.write(&mut bytes);
        bytes
    }

    #[test]
    fn every_kind_is_canonical_json_and_is_read_back() {
        for entry in one_of_each() {
            let bytes = bytes_of(&entry);
            let value: Value = serde_json::from_slice(&bytes).unwrap();
            assert_eq!(canonical::to_bytes(&value).unwrap(), bytes, "{}", entry.kind());
            assert_eq!(value["kind"], entry.kind().as_str());
            let read = Entry::parse(&bytes).unwrap();
            assert_eq!(read, entry);
            assert_eq!(read.difference(&entry), None);
            assert_eq!(read.into_owned(), entry);
        }
    }

    /// A row holds every field but the marks of texts.
    #[test]
    fn every_kind_is_read_back_from_its_columns() {
        for entry in one_of_each() {
            let mut row = Vec::new();
            entry.columns(&mut |name, value| {
                let value = match value {
                    Column::Null => (Column::Null, None),
                    Column::Number(number) => (Column::Number(number), Some(ColumnType::Number)),
                    Column::Text(text) => (Column::Text(text.into_owned().into()), Some(ColumnType::Text)),
                    Column::Bytes(bytes) => {
                        (Column::Bytes(bytes.into_owned().into()), Some(ColumnType::Bytes))
                    }
                };
                row.push((name, value));
            });
            let declared = Entry::row(entry.kind());
            assert_eq!(declared.len(), row.len());
            for ((name, kind), (column, (_, value))) in declared.iter().zip(&row) {
                assert_eq!((name, value.unwrap_or(*kind)), (column, *kind));
            }
            let mut values = row.iter();
            let read = Entry::from_columns(entry.kind(), &mut |name| {
                let (column, (value, _)) = values.next().unwrap();
                assert_eq!(name, *column);
                match value {
                    Column::Text(text) => Column::Text(Text::from(&**text)),
                    other => other.clone(),
                }
            });
            let mut expected = entry.clone();
            let mark = entry.text_mark();
            if let Some(mark) = &mark {
                let hash = if mark.stored { mark.hash } else { Sha::ZERO };
                let length = if matches!(entry, Entry::Snapshot(_)) { mark.length } else { 0 };
                expected.stand_for(&TextMark { hash, length, ..*mark }, None);
            }
            assert_eq!(read, Ok(expected));
        }
    }

    /// A reader that took one byte for another would let two entries have one meaning.
    #[test]
    fn no_other_bytes_are_read_as_the_same_entry() {
        for entry in one_of_each() {
            let bytes = bytes_of(&entry);
            for at in 0..bytes.len() {
                let mut changed = bytes.clone();
                for byte in 0..=255 {
                    changed[at] = byte;
                    if byte != bytes[at] {
                        let read = Entry::parse(&changed);
                        assert!(
                            read.is_none_or(|read| read != entry && bytes_of(&read) == changed),
                            "{at} {byte}"
                        );
                    }
                }
                for changed in
                    [[&bytes[..at], &bytes[at + 1..]].concat(), [&bytes[..at], b",", &bytes[at..]].concat()]
                {
                    let read = Entry::parse(&changed);
                    assert!(
                        read.is_none_or(|read| bytes_of(&read) == changed),
                        "{}",
                        String::from_utf8_lossy(&changed)
                    );
                }
            }
            for more in [&b" "[..], b"\n", b"}", b"{}"] {
                assert_eq!(Entry::parse(&[&bytes[..], more].concat()), None);
            }
        }
    }

    #[test]
    fn a_spelling_that_is_not_canonical_is_refused() {
        let text = String::from_utf8(bytes_of(&one_of_each()[3])).unwrap();
        for (from, to) in [
            ("\"turn\":1", "\"turn\":01"),
            ("\"turn\":1", "\"turn\":1.0"),
            ("\"turn\":1", "\"turn\":9007199254740992"),
            ("\"turn\":1", "\"turn\":-1"),
            ("\"s1\"", "\"\\u0073\\u0031\""),
            ("\\t", "\\u0009"),
            ("é", "\\u00e9"),
            ("\"v\":1", "\"v\":2"),
            ("\"v\":1", "\"v\":1,\"w\":1"),
            ("\"turn\":1,", ""),
            (",\"turn\":1", ",\"turn\":1,\"turn\":1"),
            ("{", "{ "),
        ] {
            assert!(text.contains(from), "{from}");
            assert_eq!(Entry::parse(text.replacen(from, to, 1).as_bytes()), None, "{to}");
        }
    }

    #[test]
    fn a_column_holds_a_list_in_one_way() {
        assert_eq!(Vec::<Text<'_>>::new().to_column(), Column::Null);
        assert_eq!(Vec::<Text<'_>>::from_column(Column::Null), Some(Vec::new()));
        let list = ["d1", "area:\"é\""];
        let listed = texts(&list);
        let Column::Text(column) = listed.to_column() else { panic!("a text") };
        let from_column = |column: Option<&'static str>| {
            Vec::<Text<'_>>::from_column(column.map_or(Column::Null, |text| Column::Text(text.into())))
        };
        assert_eq!(column, "[\"d1\",\"area:\\\"é\\\"\"]");
        assert_eq!(Vec::from_column(Column::Text(Text::from(&*column))), Some(listed.clone()));
        for other in [
            "",
            "[]",
            "null",
            "[\"d1\"",
            "[\"d1\" ]",
            "[\"d1\"] ",
            "[1]",
            "\"d1\"",
            "[\"\\u0064\"]",
            "[\"d1\",]",
        ] {
            assert_eq!(from_column(Some(other)), None, "{other}");
        }
    }

    #[test]
    fn a_difference_names_the_field_and_both_values() {
        let other = ThoughtEntry { action_id: None, ..entry() };
        let difference = entry().difference(&other).unwrap();
        assert_eq!(
            (difference.field, &*difference.expected, &*difference.actual),
            ("action_id", "commit \"1\"", "nothing")
        );
        let other = ThoughtEntry { supersedes: vec!["d1".into()], ..entry() };
        let difference = entry().difference(&other).unwrap();
        assert_eq!(
            (difference.field, &*difference.expected, &*difference.actual),
            ("supersedes", "[\"d1\",\"d2\"]", "[\"d1\"]")
        );
        assert_eq!(ThoughtEntry::FIELDS.len(), 24);
    }
}
