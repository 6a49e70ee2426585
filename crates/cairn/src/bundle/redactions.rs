//! Texts missing from a bundle, and the redactions that explain them.

use std::collections::{BTreeMap, BTreeSet};

use cairn_core::Sha;
use cairn_core::entry::{Entry, EntryKind, Parts, RedactionEntry};
use cairn_core::preview::preview;

use super::links::Links;
use super::report::RedactedRecord;
use crate::check::{RedactionTarget, check_redaction, table, wrong};
use crate::verify::{Finding, Reason};

/// How much of the reason for a redaction a report shows, in characters.
const MAX_REASON: usize = 400;

/// What is blanked, and what the log says about that.
#[derive(Default)]
pub struct Redactions {
    targets: BTreeMap<u64, RedactionTarget>,
    /// The first redaction of what stands at a position.
    said: BTreeMap<u64, RedactionEntry<'static>>,
    /// Whole snapshots and reviews: kind and id, by their positions.
    whole: BTreeMap<u64, (EntryKind, String)>,
    /// The positions of snapshots, by their contents.
    sharing: BTreeMap<Sha, Vec<u64>>,
    /// The first redaction of each content that snapshots share.
    first_of_content: BTreeMap<Sha, u64>,
    /// Entries that record one.
    pub entries: u64,
}

impl Redactions {
    /// Notes a record that lacks a text or is sealed.
    pub fn see(&mut self, entry: &Entry<'_>, parts: &Parts<'_>, has_key: bool) {
        if let Entry::Snapshot(snapshot) = entry {
            self.sharing.entry(snapshot.content_hash).or_default().push(snapshot.seq);
        }
        if let Some(target) = RedactionTarget::of(entry, parts, has_key).filter(RedactionTarget::is_blank) {
            self.targets.insert(entry.seq(), target);
        } else if matches!(entry, Entry::Snapshot(_) | Entry::Review(_)) {
            self.whole.insert(entry.seq(), (entry.kind(), entry.id()));
        }
    }

    /// Takes in a redaction; returns the first thing wrong with it.
    pub fn add(&mut self, links: &Links, said: &RedactionEntry<'_>) -> Option<Finding> {
        self.entries += 1;
        if said.target_kind == EntryKind::Snapshot {
            self.first_of_content.entry(said.content_hash).or_insert(said.seq);
        }
        let found = self.wrong(links, said);
        self.said.entry(said.target_seq).or_insert_with(|| said.clone().into_owned());
        found
    }

    fn wrong(&self, links: &Links, said: &RedactionEntry<'_>) -> Option<Finding> {
        let (seq, place) = (said.seq, said.target_seq);
        let differs = |reason, expected: &str| {
            let other = wrong(reason, "redaction", "target_seq", expected, place);
            Some(other.finding(&Entry::Redaction(said.clone())))
        };
        if place >= seq {
            return differs(Reason::Order, "an earlier entry");
        }
        let Some(target) = self.targets.get(&place) else {
            let (kind, id) = (said.target_kind, &said.target_id);
            return match kind {
                // In a part of a log: its target is elsewhere, and shared a content with an event that is here.
                EntryKind::Event
                    if !links.has_all() && said.bodies.iter().any(|one| links.gone.contains_key(one)) =>
                {
                    None
                }
                _ if links.place(kind, id) == Some(place)
                    || self.whole.get(&place).is_some_and(|(of, name)| (*of, &**name) == (kind, &**id)) =>
                {
                    let what = format!("{kind} `{id}`, which was redacted,");
                    let field = match kind {
                        EntryKind::Brief | EntryKind::Snapshot => "data",
                        EntryKind::Review => "text",
                        _ => "content",
                    };
                    let finding =
                        Finding::differs(Reason::LeafMismatch, table(kind), &what, field, "nothing", "there");
                    Some(Finding { id: Some(id.to_string()), ..finding.at(place) })
                }
                _ => differs(Reason::MissingRecord, "that of the record it names"),
            };
        };
        let first = self.said.get(&place).map_or(seq, |first| first.seq);
        let mut bodies = said.bodies.clone();
        bodies.sort_unstable();
        bodies.dedup();
        let shared = match target.kind {
            EntryKind::Event => links.sharing(&bodies, seq, place),
            EntryKind::Snapshot if links.has_all() => Some(self.sharing(said)),
            _ => None,
        };
        let found = check_redaction(said, first, target, shared);
        if found.is_some() {
            return found;
        }
        if let Some(left) = said.shared.iter().find(|place| self.whole.contains_key(place)) {
            let message = "the content of a snapshot, which was redacted with another, is still there";
            return Some(Finding::new(Reason::LeafMismatch, "snapshot", message).at(*left));
        }
        let left = said.bodies.iter().find(|digest| !links.gone.contains_key(digest))?;
        let message = format!("content {left}, which was redacted, is still there");
        Some(Finding::new(Reason::LeafMismatch, "body", message).at(place))
    }

    /// The snapshots that shared what a redaction took. The first redaction of a content names them; each of them has a
    /// redaction of its own, which names none.
    fn sharing(&self, said: &RedactionEntry<'_>) -> Vec<u64> {
        if self.first_of_content.get(&said.content_hash) != Some(&said.seq) {
            return Vec::new();
        }
        let places = self.sharing.get(&said.content_hash).into_iter().flatten().copied();
        places.filter(|place| *place < said.seq && *place != said.target_seq).collect()
    }

    /// What is missing although nothing says that it was blanked.
    pub fn unexplained<'a>(&'a self, links: &'a Links) -> impl Iterator<Item = Finding> + 'a {
        let blanked: BTreeSet<&Sha> = self.said.values().flat_map(|said| &said.bodies).collect();
        let gone = links.gone.iter().filter(move |(digest, _)| !blanked.contains(digest));
        let gone = gone.map(|(digest, naming)| {
            let message = format!("content {digest}, which an event names, is missing");
            let finding = Finding::new(Reason::MissingRecord, "body", message);
            naming.first().map_or(finding.clone(), |seq| finding.at(*seq))
        });
        let texts = self.targets.iter().filter_map(|(seq, target)| target.unexplained(self.said.get(seq)));
        texts.chain(gone)
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
        let closed = |(seq, target): &(&u64, &RedactionTarget)| {
            target.sealed && !target.key && !self.said.contains_key(seq)
        };
        self.targets.iter().filter(closed).map(|(seq, _)| *seq)
    }
}
