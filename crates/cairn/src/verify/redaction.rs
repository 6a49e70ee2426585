//! Checking what was blanked against the entries that say so, and the keys of sealed contents.

use std::collections::HashMap;

use cairn_core::Sha;
use cairn_core::entry::{Entry, EntryKind, RedactionEntry};
use cairn_core::redaction::Redaction;
use serde::Serialize;

use super::record::first_difference;
use super::{Finding, Reason};
use crate::seal;
use crate::store::{Audit, StoreError};

type Result<T> = std::result::Result<T, StoreError>;

/// How many a report names; it counts the rest.
pub const MAX_REDACTED: usize = 100;

/// A record that was blanked, as the log says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RedactedRecord {
    /// Its id.
    pub id: String,
    /// Its kind.
    pub kind: EntryKind,
    /// Its position in the log.
    pub seq: u64,
    /// By whom, when and why.
    #[serde(flatten)]
    pub redaction: Redaction,
    /// Whether its encrypted text is still there, so that every one of its hashes could be recomputed.
    pub sealed: bool,
}

/// What the entry of a record says about what may be blanked.
pub struct InLog {
    /// Its kind.
    pub kind: EntryKind,
    /// Its id.
    pub id: String,
    /// The hash of its content, or of its data.
    pub content_hash: Sha,
    /// The bytes of that.
    pub content_length: u64,
    /// What stands for its metadata.
    pub metadata_commitment: Option<Sha>,
}

impl InLog {
    /// Takes it from an entry; none if that is not a thought or a brief.
    pub fn of(entry: &Entry<'_>) -> Option<InLog> {
        Some(match entry {
            Entry::Thought(entry) => InLog {
                kind: EntryKind::Thought,
                id: entry.id.to_string(),
                content_hash: entry.content_hash,
                content_length: entry.content_length,
                metadata_commitment: entry.metadata_commitment,
            },
            Entry::Brief(entry) => InLog {
                kind: EntryKind::Brief,
                id: entry.brief_id.to_string(),
                content_hash: entry.data_hash,
                content_length: entry.data_length,
                metadata_commitment: None,
            },
            Entry::Genesis(_)
            | Entry::Snapshot(_)
            | Entry::Event(_)
            | Entry::Key(_)
            | Entry::Redaction(_)
            | Entry::Review(_)
            | Entry::Continuation(_) => return None,
        })
    }

    /// Reads the bytes of an entry; none if they are not those of a thought or a brief.
    pub fn read(leaf: &[u8]) -> Option<InLog> {
        InLog::of(&Entry::parse(leaf)?)
    }
}

/// The bytes of an entry, if they are those of a redaction.
pub fn read_redaction(leaf: &[u8]) -> Option<RedactionEntry<'static>> {
    match Entry::parse(leaf) {
        Some(Entry::Redaction(entry)) => Some(entry.into_owned()),
        _ => None,
    }
}

/// A wrong key of a sealed content: the reason, the key that the log asks for and the one that is stored.
pub type WrongKey = (Reason, &'static str, &'static str);

/// What is known of redactions and seals while entries are checked one after the other.
#[derive(Default)]
pub struct Redactions {
    leaf: Vec<u8>,
    /// For what stands at each position, where in the log its redaction is. Read when first asked for.
    by_target: Option<HashMap<u64, u64>>,
    /// Entries seen that record one.
    pub entries: u64,
    /// Keys seen.
    pub keys: u64,
    /// The size of the log when its rows are counted, if they are: a key that a later redaction took was there then.
    pub counted_at: Option<u64>,
    /// Records seen that were blanked: the first [`MAX_REDACTED`].
    pub list: Vec<RedactedRecord>,
    /// How many in all.
    pub total: u64,
}

impl Redactions {
    fn by_target(&mut self, audit: &dyn Audit) -> Result<&HashMap<u64, u64>> {
        if self.by_target.is_none() {
            let mut by_target = HashMap::new();
            audit.about_log(EntryKind::Redaction, &mut |seq, leaf| {
                if let Some(said) = read_redaction(leaf) {
                    by_target.entry(said.target_seq).or_insert(seq);
                }
            })?;
            self.by_target = Some(by_target);
        }
        Ok(self.by_target.get_or_insert_default())
    }

    /// All of them: where in the log, and of what.
    pub fn places(&mut self, audit: &dyn Audit) -> Result<Vec<(u64, u64)>> {
        let mut places: Vec<(u64, u64)> =
            self.by_target(audit)?.iter().map(|(target, seq)| (*seq, *target)).collect();
        places.sort_unstable();
        Ok(places)
    }

    /// What a later entry says about the blanking of `field` of the record at `seq`, whose content had this hash.
    pub fn of(
        &mut self,
        audit: &dyn Audit,
        seq: u64,
        field: &str,
        hash: &Sha,
    ) -> Result<Option<RedactionEntry<'static>>> {
        let Some(place) = self.by_target(audit)?.get(&seq).copied().filter(|place| *place > seq) else {
            return Ok(None);
        };
        let said = audit.leaf(place)?.and_then(|leaf| read_redaction(&leaf));
        Ok(said.filter(|said| said.blanks(field) && said.content_hash == *hash && said.target_seq == seq))
    }

    /// Counts a blanked record.
    pub fn count(&mut self, seq: u64, said: RedactionEntry<'static>, sealed: bool) {
        self.total += 1;
        if self.list.len() < MAX_REDACTED {
            let (id, kind) = (said.target_id.to_string(), said.target_kind);
            self.list.push(RedactedRecord { id, kind, seq, redaction: said.redaction(), sealed });
        }
    }

    /// Checks the key of a sealed content; returns what the log says if it was taken by a redaction.
    pub fn check_seal(
        &mut self,
        audit: &dyn Audit,
        seq: u64,
        id: &str,
        text: &str,
        hash: &Sha,
    ) -> Result<std::result::Result<Option<RedactionEntry<'static>>, WrongKey>> {
        let Some(key) = audit.seal_key(seq)? else {
            let said = self.of(audit, seq, "seal_key", hash)?;
            let place = self.by_target(audit)?.get(&seq).copied();
            if said.is_some() && self.counted_at.zip(place).is_some_and(|(size, place)| place >= size) {
                self.keys += 1;
            }
            let missing =
                (Reason::MissingRecord, "the key of its content, or a redaction in the log", "neither");
            return Ok(said.map(Some).ok_or(missing));
        };
        self.keys += 1;
        match seal::open(id, text, &key) {
            Some(_) => Ok(Ok(None)),
            None => Ok(Err((Reason::ContentHashMismatch, "the key that opens its content", "another"))),
        }
    }

    /// Checks the redaction of an entry: its row, its bytes, and that what it names is blanked.
    pub fn check_entry(&mut self, audit: &dyn Audit, seq: u64, leaf: &[u8]) -> Result<Option<Finding>> {
        self.entries += 1;
        let wrong =
            |reason, field: &str, expected: &dyn std::fmt::Display, actual: &dyn std::fmt::Display| {
                let what = format!("redaction {seq}");
                Ok(Some(Finding::differs(reason, "redaction", &what, field, expected, actual).at(seq)))
            };
        let Some(said) = read_redaction(leaf) else {
            let message = format!("log entry {seq}, a redaction, cannot be read");
            return Ok(Some(Finding::new(Reason::LeafMismatch, "entry", message).at(seq)));
        };
        let Some(target_seq) = audit.redaction_target(seq)? else {
            let message = format!("the redaction of log entry {seq} is gone from its table");
            return Ok(Some(Finding::new(Reason::MissingRecord, "redaction", message).at(seq)));
        };
        if u64::try_from(target_seq) != Ok(said.target_seq) {
            return wrong(Reason::LeafMismatch, "target_seq", &said.target_seq, &target_seq);
        }
        if said.target_seq >= seq {
            return wrong(Reason::Order, "target_seq", &"an earlier entry", &said.target_seq);
        }
        let first = self.by_target(audit)?.get(&said.target_seq).copied().unwrap_or(seq);
        if first != seq {
            return wrong(
                Reason::Order,
                "target_seq",
                &"what was not redacted before",
                &format!("that of {first}"),
            );
        }
        let Some(target) = audit.leaf(said.target_seq)?.and_then(|leaf| InLog::read(&leaf)) else {
            return wrong(Reason::MissingRecord, "target_seq", &"a thought or a brief", &"something else");
        };
        let fields: Vec<&str> = said.fields.iter().map(|field| &**field).collect();
        if !possible_fields(target.kind, target.metadata_commitment.is_some(), &fields) {
            return wrong(Reason::LeafMismatch, "fields", &"those that its target had", &fields.join(", "));
        }
        self.leaf.clear();
        RedactionEntry {
            content_hash: target.content_hash,
            seq,
            target_id: target.id.as_str().into(),
            target_kind: target.kind,
            ..said.clone()
        }
        .write(&mut self.leaf);
        if self.leaf != leaf {
            let (field, in_log, derived) = first_difference(leaf, &self.leaf);
            return wrong(Reason::LeafMismatch, &field, &in_log, &derived);
        }
        self.still_there(audit, &said, &target)
    }

    /// Names what should be blanked and is not.
    fn still_there(
        &self,
        audit: &dyn Audit,
        said: &RedactionEntry<'_>,
        target: &InLog,
    ) -> Result<Option<Finding>> {
        let (text, metadata) = audit.has_text(said.target_seq)?;
        let field = match fields_left(said, text, metadata) {
            Some(field) => field,
            None if said.blanks("seal_key") && audit.seal_key(said.target_seq)?.is_some() => "key",
            None => return Ok(None),
        };
        let table = match (field, target.kind) {
            ("key", _) => "seal",
            (_, EntryKind::Brief) => "brief",
            _ => "thought",
        };
        let what = format!("{} `{}`, which was redacted,", target.kind, target.id);
        let finding =
            Finding::differs(Reason::LeafMismatch, table, &what, field, "nothing", "what was there before");
        Ok(Some(Finding { id: Some(target.id.clone()), ..finding.at(said.target_seq) }))
    }
}

/// Whether a redaction can name these fields of a record, which `commits` to metadata or not.
pub fn possible_fields(kind: EntryKind, commits: bool, fields: &[&str]) -> bool {
    match (kind, fields) {
        (EntryKind::Brief, ["data"]) => true,
        (EntryKind::Thought, ["content" | "seal_key", rest @ ..]) => {
            if commits {
                rest == ["metadata"]
            } else {
                rest.is_empty()
            }
        }
        _ => false,
    }
}

fn fields_left(said: &RedactionEntry<'_>, text: bool, metadata: bool) -> Option<&'static str> {
    match (said.blanks("content"), said.blanks("data")) {
        (true, _) if text => Some("content"),
        (_, true) if text => Some("data"),
        _ => metadata.then_some("metadata"),
    }
}

/// What a report says of blanked records; none if there are none.
pub fn note(list: &[RedactedRecord], total: u64) -> Option<String> {
    let (records, texts) = match total {
        0 => return None,
        1 => ("1 record is redacted".to_string(), "its text is gone"),
        some => (format!("{some} records are redacted"), "their texts are gone"),
    };
    let first = list.first().map(|record| {
        let RedactedRecord { id, redaction: Redaction { by, at, .. }, .. } = record;
        let others = if total > 1 { ", and others" } else { "" };
        format!(" ({id} by {by} on {at}{others})")
    });
    Some(format!(
        "{records}{}: {texts}; the task hash of what was not sealed cannot be recomputed, the log entry and the \
         successor's prev_hash vouch for it",
        first.unwrap_or_default()
    ))
}
