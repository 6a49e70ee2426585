//! What is missing from a bundle, and what the log says about that.

use std::collections::BTreeMap;

use cairn_core::Sha;
use cairn_core::entry::{BriefEntry, EntryKind, RedactionEntry, ThoughtEntry};
use cairn_core::preview::preview;

use super::entry::ThoughtParts;
use super::links::Links;
use super::report::RedactedRecord;
use crate::verify::{Finding, Reason, possible_fields};

/// How much of the reason for a redaction a report shows, in characters.
const MAX_REASON: usize = 400;

/// A record that a redaction can be about: something of it is missing, or its content is sealed.
struct Target {
    kind: EntryKind,
    id: String,
    content_hash: Sha,
    /// Whether its entry commits to metadata.
    commits: bool,
    /// Whether its content or its data is there.
    text: bool,
    /// Whether its metadata or the salt of it is there.
    metadata: bool,
    /// Whether its content is sealed.
    sealed: bool,
    /// Whether the key of its content is there.
    key: bool,
}

impl Target {
    /// The name of its text.
    fn text_field(&self) -> &'static str {
        text_field(self.kind)
    }

    /// What should be blanked, as a redaction says, and is there: in which table, and what.
    fn still_there(&self, said: &RedactionEntry<'_>) -> Option<(&'static str, &'static str)> {
        if self.text && said.blanks(self.text_field()) {
            return Some((self.kind.as_str(), self.text_field()));
        }
        if self.metadata {
            return Some((self.kind.as_str(), "metadata"));
        }
        (self.key && said.blanks("seal_key")).then_some(("seal", "key"))
    }
}

fn text_field(kind: EntryKind) -> &'static str {
    if kind == EntryKind::Brief { "data" } else { "content" }
}

/// What is blanked, and what the log says about that.
#[derive(Default)]
pub struct Redactions {
    targets: BTreeMap<u64, Target>,
    /// The first redaction of what stands at a position.
    said: BTreeMap<u64, RedactionEntry<'static>>,
    /// Entries that record one.
    pub entries: u64,
}

impl Redactions {
    /// Notes what is missing from a thought, and whether it is sealed.
    pub fn see_thought(&mut self, leaf: &ThoughtEntry<'_>, parts: &ThoughtParts) {
        let target = Target {
            kind: EntryKind::Thought,
            id: leaf.id.to_string(),
            content_hash: leaf.content_hash,
            commits: leaf.metadata_commitment.is_some(),
            text: parts.content.is_some(),
            metadata: parts.metadata.is_some() || parts.salt.is_some(),
            sealed: parts.is_sealed(),
            key: parts.seal_key.is_some(),
        };
        if !target.text || (target.commits && !target.metadata) || target.sealed {
            self.targets.insert(leaf.seq, target);
        }
    }

    /// Notes what is missing from a brief.
    pub fn see_brief(&mut self, leaf: &BriefEntry<'_>, data: Option<&str>) {
        if data.is_none() {
            let target = Target {
                kind: EntryKind::Brief,
                id: leaf.brief_id.to_string(),
                content_hash: leaf.data_hash,
                commits: false,
                text: false,
                metadata: false,
                sealed: false,
                key: false,
            };
            self.targets.insert(leaf.seq, target);
        }
    }

    /// Takes in a redaction; returns the first thing wrong with it.
    pub fn add(&mut self, links: &Links, leaf: RedactionEntry<'static>) -> Option<Finding> {
        self.entries += 1;
        let found = self.wrong(links, &leaf);
        self.said.entry(leaf.target_seq).or_insert(leaf);
        found
    }

    fn wrong(&self, links: &Links, leaf: &RedactionEntry<'_>) -> Option<Finding> {
        let (seq, place) = (leaf.seq, leaf.target_seq);
        let differs = |reason, field, expected: &str, actual: &str| {
            let what = format!("redaction {seq}");
            Some(Finding::differs(reason, "redaction", &what, field, expected, actual).at(seq))
        };
        if place >= seq {
            return differs(Reason::Order, "target_seq", "an earlier entry", &place.to_string());
        }
        if self.said.contains_key(&place) {
            return differs(Reason::Order, "target_seq", "what was not redacted before", &place.to_string());
        }
        let Some(target) = self.targets.get(&place) else {
            let (kind, id) = (leaf.target_kind, &leaf.target_id);
            return match kind {
                EntryKind::Thought | EntryKind::Brief if links.place(kind, id) == Some(place) => {
                    Some(still_there(place, kind, id, (kind.as_str(), text_field(kind))))
                }
                _ => differs(
                    Reason::MissingRecord,
                    "target_seq",
                    "that of the thought or the brief it names",
                    &place.to_string(),
                ),
            };
        };
        let fields: Vec<&str> = leaf.fields.iter().map(|field| &**field).collect();
        let readable = target.text && !target.sealed;
        if !possible_fields(target.kind, target.commits, &fields)
            || (readable && fields.first() == Some(&"seal_key"))
        {
            return differs(Reason::LeafMismatch, "fields", "those that its target had", &fields.join(", "));
        }
        let (expected, actual) = (target.content_hash.to_string(), leaf.content_hash.to_string());
        for (field, expected, actual) in [
            ("content_hash", &expected[..], &actual[..]),
            ("target_id", &target.id, &leaf.target_id),
            ("target_kind", target.kind.as_str(), leaf.target_kind.as_str()),
        ] {
            if expected != actual {
                return differs(Reason::LeafMismatch, field, expected, actual);
            }
        }
        target.still_there(leaf).map(|place_of| still_there(place, target.kind, &target.id, place_of))
    }

    /// What is missing although nothing says that it was blanked.
    pub fn unexplained(&self) -> impl Iterator<Item = Finding> {
        self.targets.iter().filter_map(|(seq, target)| {
            let blanked = |field| self.said.get(seq).is_some_and(|said| said.blanks(field));
            let field = match target.text_field() {
                field if !target.text && !blanked(field) => field,
                _ if target.commits && !target.metadata && !blanked("metadata") => "metadata",
                _ => return None,
            };
            let what = format!("{} `{}`", target.kind, target.id);
            let (expected, actual) =
                ("there, or blanked by a redaction", "nothing: no redaction in the log says why");
            let finding =
                Finding::differs(Reason::MissingRecord, target.kind.as_str(), &what, field, expected, actual)
                    .at(*seq);
            Some(Finding { id: Some(target.id.clone()), ..finding })
        })
    }

    /// How many records were redacted.
    pub fn count(&self) -> u64 {
        self.said.len() as u64
    }

    /// What was redacted.
    pub fn list(&self) -> impl Iterator<Item = RedactedRecord> {
        self.said.iter().map(|(seq, said)| RedactedRecord {
            id: said.target_id.to_string(),
            kind: said.target_kind.to_string(),
            seq: *seq,
            actor: said.actor.to_string(),
            created_at: said.created_at.to_string(),
            reason: preview(&said.reason, MAX_REASON).into_owned(),
        })
    }

    /// Where the sealed contents are that could be opened, had the bundle their keys.
    pub fn closed(&self) -> impl Iterator<Item = u64> {
        let closed =
            |(seq, target): &(&u64, &Target)| target.sealed && !target.key && !self.said.contains_key(seq);
        self.targets.iter().filter(closed).map(|(seq, _)| *seq)
    }
}

/// Names what should be blanked and is not.
fn still_there(seq: u64, kind: EntryKind, id: &str, (table, field): (&'static str, &'static str)) -> Finding {
    let what = format!("{kind} `{id}`, which was redacted,");
    let finding = Finding::differs(Reason::LeafMismatch, table, &what, field, "nothing", "there");
    Finding { id: Some(id.to_string()), ..finding.at(seq) }
}
