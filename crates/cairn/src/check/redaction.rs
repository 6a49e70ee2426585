//! Checking a redaction against the record that it blanked.

use std::collections::{BTreeMap, BTreeSet};

use cairn_core::Sha;
use cairn_core::entry::{Entry, EntryKind, Parts, RedactionEntry, TextMark};

use super::{named_bodies, table, wrong};
use crate::seal;
use crate::store::{Finding, Reason};

/// The record that a redaction names, as far as it is left.
pub(crate) struct RedactionTarget {
    pub kind: EntryKind,
    id: String,
    seq: u64,
    mark: TextMark,
    metadata_commitment: Option<Sha>,
    /// The hash of what stays of an event.
    remains: Option<Sha>,
    /// The contents that an event names.
    named: Vec<Sha>,
    /// Whether its text is there.
    text: bool,
    /// Whether its metadata or its salt is there, without which nobody can guess what was blanked.
    metadata: bool,
    /// Whether its content is sealed.
    pub sealed: bool,
    /// Whether the key of a sealed content is there.
    pub key: bool,
}

impl RedactionTarget {
    /// The target of a redaction, from a complete entry and its texts; none if it has no text.
    pub fn of(entry: &Entry<'_>, parts: &Parts<'_>, key: bool) -> Option<RedactionTarget> {
        let mark = entry.text_mark()?;
        let salt = parts.salt.is_some();
        let left = match entry {
            Entry::Event(event) if !salt => parts.text.as_deref().map(|body| (event, body)),
            _ => None,
        };
        Some(RedactionTarget {
            kind: entry.kind(),
            id: entry.id(),
            seq: entry.seq(),
            mark,
            metadata_commitment: entry.metadata_mark().flatten(),
            remains: left.map(|(_, body)| Sha::of(body.as_bytes())),
            named: left.map_or(Vec::new(), |(event, body)| {
                named_bodies(event, body).into_iter().map(|body| body.sha256).collect()
            }),
            text: parts.text.is_some() && left.is_none(),
            metadata: match entry {
                Entry::Review(_) => salt && parts.text.is_none(),
                _ => entry.metadata_mark().is_some() && (parts.metadata.is_some() || salt),
            },
            sealed: entry.kind() == EntryKind::Thought && parts.text.as_deref().is_some_and(seal::is_sealed),
            key,
        })
    }

    /// Whether something of it is gone or sealed, so that a redaction can be about it.
    pub fn is_blank(&self) -> bool {
        !self.text || (self.metadata_commitment.is_some() && !self.metadata) || self.sealed
    }

    /// The text that is gone although no redaction took it.
    pub fn unexplained(&self, said: Option<&RedactionEntry<'_>>) -> Option<Finding> {
        let blanked = |field| said.is_some_and(|said| said.blanks(field));
        let field = match self.mark.field {
            field if !self.text && !blanked(field) => field,
            _ if self.metadata_commitment.is_some() && !self.metadata && !blanked("metadata") => "metadata",
            _ => return None,
        };
        let (expected, actual) =
            ("there, or blanked by a redaction", "nothing: no redaction in the log says why");
        let what = format!("{} `{}`", self.kind, self.id);
        let finding =
            Finding::differs(Reason::MissingRecord, table(self.kind), &what, field, expected, actual);
        Some(Finding { id: Some(self.id.clone()), ..finding.at(self.seq) })
    }

    /// What should be blanked, as a redaction says, and is there.
    fn still_there(&self, said: &RedactionEntry<'_>) -> Option<Finding> {
        let (table, field) = if self.text && said.blanks(self.mark.field) {
            (table(self.kind), self.mark.field)
        } else if self.metadata {
            (table(self.kind), if self.kind == EntryKind::Review { "salt" } else { "metadata" })
        } else if self.key && said.blanks("seal_key") {
            ("seal", "key")
        } else {
            return None;
        };
        let what = format!("{} `{}`, which was redacted,", self.kind, self.id);
        let finding = Finding::differs(Reason::LeafMismatch, table, &what, field, "nothing", "there");
        Some(Finding { id: Some(self.id.clone()), ..finding.at(self.seq) })
    }
}

/// The first thing wrong with a redaction. `first` is where the first redaction of its target stands, `shared` the records
/// that shared what it took, if that is known.
pub(crate) fn check_redaction(
    said: &RedactionEntry<'_>,
    first: u64,
    target: &RedactionTarget,
    shared: Option<Vec<u64>>,
) -> Option<Finding> {
    let differs = |reason, field, expected: &str, actual: &str| {
        let other = wrong(reason, "redaction", field, expected, actual);
        Some(other.finding(&Entry::Redaction(said.clone())))
    };
    if said.target_seq >= said.seq {
        return differs(Reason::Order, "target_seq", "an earlier entry", &said.target_seq.to_string());
    }
    if first != said.seq {
        let actual = format!("that of {first}");
        return differs(Reason::Order, "target_seq", "what was not redacted before", &actual);
    }
    let fields: Vec<&str> = said.fields.iter().map(|field| &**field).collect();
    let readable = target.text && !target.sealed;
    if !possible_fields(target.kind, target.metadata_commitment.is_some(), &fields)
        || (readable && fields.first() == Some(&"seal_key"))
    {
        return differs(Reason::LeafMismatch, "fields", "those that its target had", &fields.join(", "));
    }
    let bodies: BTreeSet<Sha> =
        said.bodies.iter().copied().filter(|body| target.named.contains(body)).collect();
    let mut listed = said.shared.clone();
    listed.sort_unstable();
    listed.dedup();
    listed.retain(|_| matches!(target.kind, EntryKind::Event | EntryKind::Snapshot));
    let derived = RedactionEntry {
        bodies: bodies.into_iter().collect(),
        content_hash: target.mark.hash,
        content_length: target.mark.length,
        metadata_commitment: target.metadata_commitment,
        remains: target.remains,
        shared: shared.unwrap_or(listed),
        target_id: target.id.as_str().into(),
        target_kind: target.kind,
        ..said.clone()
    };
    if let Some(difference) = said.difference(&derived) {
        return differs(Reason::LeafMismatch, difference.field, &difference.expected, &difference.actual);
    }
    target.still_there(said)
}

/// Whether a redaction can name these fields of a record, which `commits` to metadata or not.
fn possible_fields(kind: EntryKind, commits: bool, fields: &[&str]) -> bool {
    match (kind, fields) {
        (EntryKind::Brief, ["data"])
        | (EntryKind::Review, ["text"])
        | (EntryKind::Event, ["body"] | ["body", "bodies"]) => true,
        (EntryKind::Thought, ["content" | "seal_key", rest @ ..])
        | (EntryKind::Snapshot, ["data", rest @ ..]) => {
            if commits {
                rest == ["metadata"]
            } else {
                rest.is_empty()
            }
        }
        _ => false,
    }
}

/// The events that shared blanked contents: as redactions say, and as they were seen. They are compared when all events
/// were seen.
#[derive(Default)]
pub(crate) struct Sharing {
    pub said: BTreeMap<u64, BTreeSet<u64>>,
    pub seen: BTreeMap<u64, BTreeSet<u64>>,
}

impl Sharing {
    /// Takes in what another part of the log tells.
    pub fn append(&mut self, other: Sharing) {
        self.said.extend(other.said);
        for (redaction, seen) in other.seen {
            self.seen.entry(redaction).or_default().extend(seen);
        }
    }

    /// Names redactions that say other events than there are.
    pub fn differing(&self) -> impl Iterator<Item = Finding> {
        let none = BTreeSet::new();
        self.said.iter().filter_map(move |(seq, said)| {
            let seen = self.seen.get(seq).unwrap_or(&none);
            let list =
                |places: &BTreeSet<u64>| places.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
            let what = format!("redaction {seq}");
            let (reason, table) = (Reason::LeafMismatch, "redaction");
            (seen != said)
                .then(|| Finding::differs(reason, table, &what, "shared", list(said), list(seen)).at(*seq))
        })
    }
}
