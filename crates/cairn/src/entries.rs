//! Entries of the log, one after the other.

use std::ops::ControlFlow;

use cairn_core::Sha;
use cairn_core::entry::{Entry, EntryKind, Text};
use cairn_core::log::leaf_hash;
use cairn_core::thought::ThoughtType;
use serde::Serialize;

use crate::checked::{self, Checked};
use crate::error::Result;
use crate::handle::Cairn;
use crate::store::{Damage, LogHead};
use crate::thoughts::MAX_PAGE_RECORDS;

/// What an entry of the log is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EntryHead {
    /// Position in the log.
    pub seq: u64,
    /// Its kind.
    pub kind: EntryKind,
    /// The type of a thought.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub thought_type: Option<ThoughtType>,
    /// The session it belongs to.
    pub session_id: Option<String>,
    /// The task it belongs to.
    pub task_id: Option<String>,
    /// The id of the thought or of the brief; of a redaction, the id of what it blanked.
    pub id: Option<String>,
    /// The number of the snapshot, or of the one that a thought was based on.
    pub context_id: Option<u64>,
    /// The roadmap that a snapshot is of.
    pub roadmap_id: Option<String>,
    /// When it was recorded.
    pub timestamp: Option<String>,
    /// The hash of its bytes.
    pub leaf_hash: Sha,
}

/// One entry of the log with the bytes that stand for it in every proof.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EntryView {
    /// What it is about.
    #[serde(flatten)]
    pub head: EntryHead,
    /// The exact bytes that are hashed: canonical JSON.
    pub leaf: String,
}

impl EntryHead {
    fn of(entry: Entry<'_>, leaf_hash: Sha) -> EntryHead {
        let mut head = EntryHead {
            seq: entry.seq(),
            kind: entry.kind(),
            thought_type: None,
            session_id: None,
            task_id: None,
            id: None,
            context_id: None,
            roadmap_id: None,
            timestamp: None,
            leaf_hash,
        };
        let text = |text: Text<'_>| Some(text.into_owned());
        head.timestamp = match entry {
            Entry::Thought(entry) => {
                head.thought_type = Some(entry.kind);
                head.session_id = text(entry.session_id);
                head.task_id = text(entry.task_id);
                head.id = text(entry.id);
                head.context_id = entry.context_id;
                text(entry.timestamp)
            }
            Entry::Snapshot(entry) => {
                head.context_id = Some(entry.context_id);
                head.roadmap_id = text(entry.roadmap_id);
                text(entry.created_at)
            }
            Entry::Event(entry) => {
                head.session_id = text(entry.session_id);
                text(entry.created_at)
            }
            Entry::Brief(entry) => {
                head.session_id = text(entry.session_id);
                head.id = text(entry.brief_id);
                text(entry.created_at)
            }
            Entry::Redaction(entry) => {
                head.id = text(entry.target_id);
                Some(entry.created_at.to_string())
            }
            Entry::Review(entry) => {
                head.id = text(entry.review_id);
                text(entry.created_at)
            }
            Entry::Genesis(entry) => text(entry.timestamp),
            Entry::Key(entry) => text(entry.created_at),
            Entry::Continuation(entry) => text(entry.created_at),
        };
        head
    }
}

impl Cairn {
    /// How many entries the log has.
    pub fn log_size(&self) -> Result<u64> {
        Ok(self.inner.store.head()?.size)
    }

    /// The log's name, size and root as they are stored; whether they hold, [`Cairn::verify`] tells.
    pub fn log_head(&self) -> Result<LogHead> {
        Ok(self.inner.store.head()?)
    }

    /// The entries of the log from a position on, in order, at most `limit` of them and at most 10,000.
    pub fn entries_since(&self, seq: u64, limit: u64) -> Result<Vec<EntryHead>> {
        let size = self.log_size()?;
        let to = size.min(seq.saturating_add(limit.min(MAX_PAGE_RECORDS)));
        let mut entries = Vec::new();
        self.visit_entries(seq, to, &mut |head, _| entries.push(head))?;
        Ok(entries)
    }

    /// One entry of the log; none beyond its end.
    pub fn entry(&self, seq: u64) -> Result<Option<EntryView>> {
        let mut found = None;
        let to = self.log_size()?.min(seq.saturating_add(1));
        self.visit_entries(seq, to, &mut |head, leaf| {
            // It was read as JSON, so it is text.
            found = Some(EntryView { head, leaf: String::from_utf8_lossy(leaf).into_owned() });
        })?;
        Ok(found)
    }

    fn visit_entries(&self, from: u64, to: u64, visit: &mut dyn FnMut(EntryHead, &[u8])) -> Result<()> {
        if from >= to {
            return Ok(());
        }
        let (mut next, mut broken, mut leaf) = (from, None, Vec::new());
        self.inner.store.records(from, to, &mut |stored| {
            match checked::record(stored, &mut leaf) {
                Ok(Checked { seq, record, .. }) if seq == next => {
                    visit(EntryHead::of(record.entry, leaf_hash(&leaf)), &leaf);
                }
                _ => broken = broken.or(Some(next)),
            }
            next += 1;
            ControlFlow::Continue(())
        })?;
        // One that is missing shifts those behind it, so the first is named.
        match broken.or((next < to).then_some(next)) {
            None => Ok(()),
            Some(seq) => Err(Damage::at(seq, "it is missing, or does not match its hash").into()),
        }
    }
}
