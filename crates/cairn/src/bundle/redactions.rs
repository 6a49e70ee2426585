//! What is missing from a bundle, and what the log says about that.

use std::collections::BTreeMap;

use cairn_core::Sha;
use cairn_core::entry::{BRIEF, THOUGHT};
use cairn_core::preview::preview;

use super::entry::ThoughtParts;
use super::leaf::{BriefLeaf, RedactionLeaf, ThoughtLeaf};
use super::links::Links;
use super::report::RedactedRecord;
use crate::verify::{Finding, Reason, possible_fields};

/// How much of the reason for a redaction a report shows, in characters.
const MAX_REASON: usize = 400;

/// A record that a redaction can be about: something of it is missing, or its content is sealed.
struct Target {
    kind: &'static str,
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
    fn still_there(&self, said: &RedactionLeaf) -> Option<(&'static str, &'static str)> {
        if self.text && blanks(said, self.text_field()) {
            return Some((self.kind, self.text_field()));
        }
        if self.metadata {
            return Some((self.kind, "metadata"));
        }
        (self.key && blanks(said, "seal_key")).then_some(("seal", "key"))
    }
}

fn text_field(kind: &str) -> &'static str {
    if kind == BRIEF { "data" } else { "content" }
}

fn blanks(said: &RedactionLeaf, field: &str) -> bool {
    said.fields.iter().any(|blanked| blanked == field)
}

/// What is blanked, and what the log says about that.
#[derive(Default)]
pub struct Redactions {
    targets: BTreeMap<u64, Target>,
    /// The first redaction of what stands at a position.
    said: BTreeMap<u64, RedactionLeaf>,
    /// Entries that record one.
    pub entries: u64,
}

impl Redactions {
    /// Notes what is missing from a thought, and whether it is sealed.
    pub fn see_thought(&mut self, leaf: &ThoughtLeaf, parts: &ThoughtParts) {
        let target = Target {
            kind: THOUGHT,
            id: leaf.id.clone(),
            content_hash: leaf.content_hash,
            commits: leaf.metadata_commitment.is_some(),
            text: parts.content.is_some(),
            metadata: parts.metadata.is_some() || parts.salt.is_some(),
            sealed: parts.is_sealed(),
            key: parts.seal_key.is_some(),
        };
        if !target.text || (target.commits && !target.metadata) || target.sealed {
            self.targets.insert(leaf.seq.0, target);
        }
    }

    /// Notes what is missing from a brief.
    pub fn see_brief(&mut self, leaf: &BriefLeaf, data: Option<&str>) {
        if data.is_none() {
            let target = Target {
                kind: BRIEF,
                id: leaf.brief_id.clone(),
                content_hash: leaf.data_hash,
                commits: false,
                text: false,
                metadata: false,
                sealed: false,
                key: false,
            };
            self.targets.insert(leaf.seq.0, target);
        }
    }

    /// Takes in a redaction; returns the first thing wrong with it.
    pub fn add(&mut self, links: &Links, leaf: RedactionLeaf) -> Option<Finding> {
        self.entries += 1;
        let found = self.wrong(links, &leaf);
        self.said.entry(leaf.target_seq.0).or_insert(leaf);
        found
    }

    fn wrong(&self, links: &Links, leaf: &RedactionLeaf) -> Option<Finding> {
        let (seq, place) = (leaf.seq.0, leaf.target_seq.0);
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
            let (kind, id) = (&leaf.target_kind[..], &leaf.target_id);
            return match kind {
                THOUGHT | BRIEF if links.place(kind, id) == Some(place) => {
                    let table = if kind == BRIEF { BRIEF } else { THOUGHT };
                    Some(still_there(place, table, id, (table, text_field(table))))
                }
                _ => differs(
                    Reason::MissingRecord,
                    "target_seq",
                    "that of the thought or the brief it names",
                    &place.to_string(),
                ),
            };
        };
        let fields: Vec<&str> = leaf.fields.iter().map(String::as_str).collect();
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
            ("target_kind", target.kind, &leaf.target_kind),
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
            let blanked = |field| self.said.get(seq).is_some_and(|said| blanks(said, field));
            let field = match target.text_field() {
                field if !target.text && !blanked(field) => field,
                _ if target.commits && !target.metadata && !blanked("metadata") => "metadata",
                _ => return None,
            };
            let what = format!("{} `{}`", target.kind, target.id);
            let (expected, actual) =
                ("there, or blanked by a redaction", "nothing: no redaction in the log says why");
            let finding =
                Finding::differs(Reason::MissingRecord, target.kind, &what, field, expected, actual).at(*seq);
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
            id: said.target_id.clone(),
            kind: said.target_kind.clone(),
            seq: *seq,
            actor: said.actor.clone(),
            created_at: said.created_at.clone(),
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
fn still_there(seq: u64, kind: &str, id: &str, (table, field): (&'static str, &'static str)) -> Finding {
    let what = format!("{kind} `{id}`, which was redacted,");
    let finding = Finding::differs(Reason::LeafMismatch, table, &what, field, "nothing", "there");
    Finding { id: Some(id.to_string()), ..finding.at(seq) }
}
