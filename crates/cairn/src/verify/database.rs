//! Looks up the records before the one that is checked. It remembers recent ones, since most links go to those.

use std::collections::HashMap;
use std::ops::ControlFlow;

use cairn_core::Sha;
use cairn_core::entry::{
    Entry, EntryKind, EventEntry, RedactionEntry, ReviewEntry, SnapshotEntry, ThoughtEntry,
};
use cairn_core::session::op::Body;

use super::redaction::Redactions;
use super::{Cause, Finding, Reason};
use crate::check::{Before, Follows, Known, Other, RedactionTarget, Result, check_redaction, wrong};
use crate::checked;
use crate::store::{Audit, Keys, Stored, StoredBody};

/// Thoughts remembered as possible parents, by their position in the log.
const REMEMBERED_PARENTS: usize = 1 << 14;
/// Heads of tasks and places of snapshots remembered; beyond this they are looked up again.
const REMEMBERED: usize = 1 << 15;

/// Answers from one state of a store.
pub struct Database<'a> {
    audit: &'a dyn Audit,
    /// The rows that the record names.
    pub keys: Keys,
    /// Redactions, and the keys of sealed contents.
    pub redactions: Redactions,
    /// Contents seen where they are first named.
    pub bodies: u64,
    parents: Vec<(u64, i64, Sha)>,
    task_heads: HashMap<i64, (u64, Sha)>,
    contexts: HashMap<u64, Option<u64>>,
}

impl<'a> Database<'a> {
    /// Starts with nothing remembered.
    pub fn new(audit: &'a dyn Audit) -> Database<'a> {
        Database {
            audit,
            keys: Keys::default(),
            redactions: Redactions::default(),
            bodies: 0,
            parents: vec![(u64::MAX, 0, Sha::ZERO); REMEMBERED_PARENTS],
            task_heads: HashMap::new(),
            contexts: HashMap::new(),
        }
    }

    /// Remembers a record for those after it.
    pub fn remember(&mut self, entry: &Entry<'_>) {
        let Entry::Thought(thought) = entry else { return };
        self.parents[thought.seq as usize % REMEMBERED_PARENTS] =
            (thought.seq, self.keys.session_no, thought.chain_hash);
        if self.task_heads.len() > REMEMBERED {
            self.task_heads.clear();
        }
        self.task_heads.insert(self.keys.task_no, (thought.position, thought.hash));
    }

    /// The entry at an earlier position of the log, if the row there matches its hash.
    fn entry_at(&self, seq: u64) -> Result<Option<Entry<'static>>> {
        self.at(seq, |stored, buffer| Some(checked::record(stored, buffer).ok()?.record.entry.into_owned()))
    }

    fn at<T>(&self, seq: u64, read: impl Fn(Stored<'_>, &mut Vec<u8>) -> Option<T>) -> Result<Option<T>> {
        let mut found = None;
        self.audit.records(seq, seq.saturating_add(1), &mut |stored| {
            found = read(stored, &mut Vec::new());
            ControlFlow::Break(())
        })?;
        Ok(found)
    }

    /// The snapshots that shared what a redaction took. The first redaction of a content names them; each of them has a
    /// redaction of its own, which names none.
    fn sharing(&mut self, said: &RedactionEntry<'_>) -> Result<Vec<u64>> {
        if !self.redactions.is_first_of_content(self.audit, said)? {
            return Ok(Vec::new());
        }
        let mut sharing = self.audit.sharing(&said.content_hash)?;
        sharing.retain(|place| *place < said.seq && *place != said.target_seq);
        Ok(sharing)
    }

    /// The first thing wrong with a content: that it is there, and, where it is first named, that it has its digest.
    fn wrong_body(&mut self, seq: u64, body: &Body) -> Result<Option<Finding>> {
        let digest = body.sha256;
        let finding = |reason, message: String| Some(Finding::new(reason, "body", message).at(seq));
        let (mut found, mut taken) = (None, None);
        let stored = self.audit.body(&digest, &mut |StoredBody { first, data, redaction }| {
            taken = redaction.filter(|_| data.is_none());
            found = match u64::try_from(first) {
                Ok(first) if first < seq => None,
                Ok(first) if first == seq => {
                    self.bodies += 1;
                    match data {
                        None if redaction.is_some() => None,
                        None => finding(Reason::MissingRecord, format!("content {digest} is gone")),
                        Some(_) if redaction.is_some() => finding(
                            Reason::LeafMismatch,
                            format!("content {digest}, which was redacted, is still there"),
                        ),
                        Some(data) => {
                            let actual = Sha::of(data.as_bytes());
                            let same = actual == digest && data.len() as u64 == body.bytes;
                            let message =
                                format!("the content stored under {digest} does not have that hash");
                            let other = finding(Reason::ContentHashMismatch, message);
                            other.filter(|_| !same).map(|other| other.field("data", digest, actual))
                        }
                    }
                }
                _ => finding(
                    Reason::Order,
                    format!("content {digest} claims to be first named at {first}, and is named at {seq}"),
                ),
            };
        })?;
        if !stored {
            let message = format!("content {digest}, which the event at log entry {seq} names, is missing");
            return Ok(
                finding(Reason::MissingRecord, message).map(|found| found.unless(Cause::Index("body")))
            );
        }
        let (Some(place), None) = (taken, &found) else { return Ok(found) };
        let said = match u64::try_from(place) {
            Ok(place) => self.entry_at(place)?,
            Err(_) => None,
        };
        match said {
            Some(Entry::Redaction(said)) if said.bodies.contains(&digest) => Ok(None),
            _ => Ok(finding(
                Reason::MissingRecord,
                format!("content {digest} is gone, and log entry {place} does not say that it was redacted"),
            )),
        }
    }
}

impl Before for Database<'_> {
    // The rows of heads say how long each chain is, and are compared with the rows of its records.
    fn in_task(&mut self, _: &ThoughtEntry<'_>) -> Result<(Follows, u64)> {
        Ok((Follows::Outside, 0))
    }

    fn in_session(&mut self, _: &ThoughtEntry<'_>) -> Result<(Follows, u64)> {
        Ok((Follows::Outside, 0))
    }

    fn task_hash(&mut self, entry: &ThoughtEntry<'_>) -> Result<Known<Sha>> {
        let Some(before) = entry.position.checked_sub(1) else { return Ok(Known::Is(Sha::ZERO)) };
        let hash = match self.task_heads.get(&self.keys.task_no) {
            Some((newest, hash)) if *newest == before => Some(*hash),
            _ => self.audit.task_hash(self.keys.task_no, before)?,
        };
        Ok(hash.map_or(Known::Missing, Known::Is))
    }

    fn parent(&mut self, entry: &ThoughtEntry<'_>) -> Result<Known<Other>> {
        let seq = self.keys.parent_seq.and_then(|seq| u64::try_from(seq).ok()).filter(|seq| *seq < entry.seq);
        let Some(seq) = seq else { return Ok(Known::Missing) };
        let slot = self.parents[seq as usize % REMEMBERED_PARENTS];
        let found = match slot.0 == seq {
            true => Some((slot.1, slot.2)),
            false => self.audit.parent(seq)?.map(|(_, session_no, chain_hash)| (session_no, chain_hash)),
        };
        Ok(found.map_or(Known::Missing, |(session_no, chain_hash)| {
            let same_session = session_no == self.keys.session_no;
            Known::Is(Other { chain_hash, kind: entry.kind, same_session })
        }))
    }

    fn named(&mut self, entry: &ThoughtEntry<'_>, _: &str, id: &str) -> Result<Known<Other>> {
        let Some(seq) = self.audit.thought_place(id)?.filter(|seq| *seq < entry.seq) else {
            return Ok(Known::Missing);
        };
        Ok(match self.entry_at(seq)? {
            Some(Entry::Thought(other)) if other.id == id => Known::Is(Other {
                chain_hash: other.chain_hash,
                kind: other.kind,
                same_session: other.session_id == entry.session_id,
            }),
            Some(_) => Known::Missing,
            // It has a finding of its own.
            None => Known::Outside,
        })
    }

    fn context(&mut self, entry: &ThoughtEntry<'_>, id: u64) -> Result<Known<()>> {
        if self.contexts.len() > REMEMBERED {
            self.contexts.clear();
        }
        let place = match self.contexts.get(&id) {
            Some(place) => *place,
            None => *self.contexts.entry(id).or_insert(self.audit.context_seq(id)?),
        };
        Ok(if place.is_some_and(|place| place < entry.seq) { Known::Is(()) } else { Known::Missing })
    }

    fn brief(&mut self, entry: &ThoughtEntry<'_>, id: &str) -> Result<Known<()>> {
        let place = self.audit.brief_place(id)?;
        let session = self.keys.session_no;
        let is_before = place.is_some_and(|(place, of)| place < entry.seq && of == session);
        Ok(if is_before { Known::Is(()) } else { Known::Missing })
    }

    fn seal_key(&mut self, entry: &ThoughtEntry<'_>) -> Result<Known<Vec<u8>>> {
        self.redactions.seal_key(self.audit, entry.seq)
    }

    fn in_roadmap(&mut self, _: &SnapshotEntry<'_>) -> Result<[(Follows, u64); 2]> {
        Ok([(Follows::Outside, 0); 2])
    }

    fn in_memory(&mut self, _: &EventEntry<'_>) -> Result<(Follows, u64)> {
        Ok((Follows::Outside, 0))
    }

    fn bodies(&mut self, seq: u64, named: &[Body]) -> Result<Option<Finding>> {
        self.redactions.see_names(self.audit, seq, named)?;
        for body in named {
            let found = self.wrong_body(seq, body)?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    fn review_target(&mut self, entry: &ReviewEntry<'_>) -> Result<Known<()>> {
        let kinds = [EntryKind::Thought, EntryKind::Brief];
        if entry.target_seq >= entry.seq || !kinds.contains(&entry.target_kind) {
            return Ok(Known::Missing);
        }
        let found = self.at(entry.target_seq, |stored, buffer| {
            Some(checked::record(stored, buffer).ok().map(|checked| checked.record.entry.into_owned()))
        })?;
        Ok(match found {
            Some(Some(target)) if target.kind() == entry.target_kind && target.id() == entry.target_id => {
                Known::Is(())
            }
            // It has a finding of its own.
            Some(None) => Known::Outside,
            Some(Some(_)) | None => Known::Missing,
        })
    }

    fn redaction(&mut self, said: &RedactionEntry<'_>) -> Result<Option<Finding>> {
        let seq = said.seq;
        let differs = |reason, field, expected: &str, actual: &str| {
            let other = wrong(reason, "redaction", field, expected, actual);
            Ok(Some(other.finding(&Entry::Redaction(said.clone()))))
        };
        let Some(listed) = self.audit.redaction_target(seq)? else {
            let message = format!("the redaction of log entry {seq} is gone from its table");
            return Ok(Some(Finding::new(Reason::MissingRecord, "redaction", message).at(seq)));
        };
        if u64::try_from(listed) != Ok(said.target_seq) {
            let (expected, actual) = (said.target_seq.to_string(), listed.to_string());
            return differs(Reason::LeafMismatch, "target_seq", &expected, &actual);
        }
        if said.target_seq >= seq {
            return differs(Reason::Order, "target_seq", "an earlier entry", &said.target_seq.to_string());
        }
        let has_key = self.audit.seal_key(said.target_seq)?.is_some();
        let target = self.at(said.target_seq, |stored, _| {
            let mut record = stored.record.ok()?;
            // One that is not sound has a finding of its own.
            Some(
                record
                    .complete(Some(said))
                    .ok()
                    .map(|_| RedactionTarget::of(&record.entry, &record.parts, has_key)),
            )
        })?;
        let target = match target {
            Some(Some(Some(target))) => target,
            Some(None) => return Ok(None),
            _ => {
                let expected = "a record that can be redacted";
                let missing = differs(Reason::MissingRecord, "target_seq", expected, "something else")?;
                return Ok(missing.map(|finding| finding.unless(Cause::MissingEntries)));
            }
        };
        let first = self.redactions.first(self.audit, said.target_seq)?.unwrap_or(seq);
        if said.target_kind == EntryKind::Event {
            self.redactions.sharing.said.insert(seq, said.shared.iter().copied().collect());
        }
        for digest in &said.bodies {
            let mut there = false;
            self.audit.body(digest, &mut |body| there = body.data.is_some())?;
            if there {
                let message = format!("content {digest}, which was redacted, is still there");
                return Ok(Some(Finding::new(Reason::LeafMismatch, "body", message).at(said.target_seq)));
            }
        }
        let shared = match target.kind {
            EntryKind::Snapshot => Some(self.sharing(said)?),
            _ => None,
        };
        Ok(check_redaction(said, first, &target, shared))
    }
}
