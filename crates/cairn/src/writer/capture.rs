//! Writing snapshots of roadmaps.

use cairn_core::Sha;
use cairn_core::entry::{Entry, Parts, Record, Salt, SnapshotEntry, commitment};
use cairn_core::id::RoadmapId;

use super::step::Step;
use crate::checked;
use crate::context::ContextHead;
use crate::error::{Error, Result};
use crate::store::{Keys, RoadmapHead, StoreError};

/// The content of a roadmap, ready to be frozen.
pub(crate) struct Capture {
    pub roadmap_id: RoadmapId,
    /// Canonical JSON.
    pub data: String,
    pub content_hash: Sha,
    pub node_count: u64,
    /// Canonical JSON.
    pub metadata: Option<String>,
    pub salt: Option<Salt>,
    /// Whether nothing is to be written if the newest snapshot has the same content.
    pub only_if_changed: bool,
}

impl Step<'_> {
    fn newest_context(&mut self, roadmap_id: &str) -> Result<Option<ContextHead>> {
        let tx = &mut *self.tx;
        checked::one(|visit| tx.newest_context(roadmap_id, visit), checked::context)
    }

    /// Records a snapshot, or returns the newest one and true if that is what was asked for.
    ///
    /// Inside the transaction, so that of several that ask at once, in any process, one writes.
    pub fn capture(&mut self, capture: &Capture) -> Result<(ContextHead, bool)> {
        let name = capture.roadmap_id.as_str();
        if capture.only_if_changed
            && let Some(newest) = self.newest_context(name)?
            && newest.content_hash == capture.content_hash
            && newest.roadmap_id == capture.roadmap_id
        {
            return Ok((newest, true));
        }
        let data = Some(capture.data.as_str());
        let snapshot_no = match self.tx.snapshot(&capture.content_hash, data)? {
            Some((no, true)) => no,
            Some((_, false)) => return Err(self.other_content(capture)?),
            None => self.tx.add_snapshot(&capture.content_hash, data)?,
        };
        let roadmap = match self.tx.roadmap(name)? {
            Some(roadmap) => roadmap,
            None => RoadmapHead { no: self.tx.add_roadmap(name)?, length: 0 },
        };
        let created_at = self.clock.now()?;
        let seq = self.heads.edge.size();
        let id = self.contexts()? + 1;
        let entry = Entry::Snapshot(SnapshotEntry {
            content_hash: capture.content_hash,
            content_length: capture.data.len() as u64,
            context_id: id,
            created_at: created_at.as_str().into(),
            metadata_commitment: capture
                .metadata
                .as_deref()
                .zip(capture.salt.as_ref())
                .map(|(metadata, salt)| commitment(salt, metadata.as_bytes())),
            node_count: capture.node_count,
            position: roadmap.length,
            roadmap_id: name.into(),
            seq,
        });
        let metadata = capture.metadata.as_deref().map(Into::into);
        let parts = Parts { text: Some(capture.data.as_str().into()), metadata, salt: capture.salt };
        let keys = Keys { roadmap_no: roadmap.no, snapshot_no, ..Keys::default() };
        self.append(Record { entry, parts }, &keys)?;
        self.tx.set_roadmap(&RoadmapHead { length: roadmap.length + 1, ..roadmap })?;
        self.heads.contexts = Some(id);
        let metadata = capture.metadata.as_deref().map(serde_json::from_str).transpose();
        let head = ContextHead {
            context_id: id,
            roadmap_id: capture.roadmap_id.clone(),
            content_hash: capture.content_hash,
            node_count: capture.node_count,
            created_at,
            metadata: metadata.map_err(|error| StoreError::Damaged(error.to_string()))?,
            redacted: None,
            seq,
        };
        Ok((head, false))
    }

    /// Why a content cannot be captured although its hash is known: it was redacted, or changed behind our back.
    fn other_content(&mut self, capture: &Capture) -> Result<Error> {
        let hash = capture.content_hash;
        if let Some((number, seq)) = self.tx.sharing(&hash)?.first().copied()
            && let Some(entry) = self.tx.redaction(seq)?
        {
            let said = checked::redaction(&entry, seq)?.redaction();
            return Ok(Error::Conflict(format!(
                "roadmap `{}` has the content of context {number}, which was redacted by {} on {} ({}); take out of the \
                 roadmap what was redacted, and capture it again",
                capture.roadmap_id, said.by, said.at, said.reason
            )));
        }
        // To point to it would be to vouch for it.
        Ok(Error::Conflict(format!(
            "the snapshot stored under {hash} was changed since; run `cairn verify` to see where"
        )))
    }
}
