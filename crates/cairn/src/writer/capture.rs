//! Writing snapshots of roadmaps.

use cairn_core::Sha;
use cairn_core::entry::{EntryKind, Salt, SnapshotEntry, metadata_commitment};
use cairn_core::id::RoadmapId;

use super::step::Step;
use crate::checked;
use crate::context::ContextHead;
use crate::error::{Error, Result};
use crate::store::{ContextRow, RoadmapHead, StoreError};

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
    /// Records a snapshot, or returns the newest one and true if that is what was asked for.
    ///
    /// Inside the transaction, so that of several that ask at once, in any process, one writes.
    pub fn capture(&mut self, capture: &Capture) -> Result<(ContextHead, bool)> {
        let name = capture.roadmap_id.as_str();
        if capture.only_if_changed
            && let Some(newest) = self.tx.newest_context(name)?
        {
            let newest = checked::context(newest?, self.leaf)?;
            if newest.content_hash == capture.content_hash && newest.roadmap_id == capture.roadmap_id {
                return Ok((newest, true));
            }
        }
        let snapshot_no = match self.tx.snapshot(&capture.content_hash, &capture.data)? {
            Some((no, true)) => no,
            Some((_, false)) => {
                // To point to it would be to vouch for it.
                let hash = capture.content_hash;
                return Err(Error::Conflict(format!(
                    "the snapshot stored under {hash} was changed since; run `cairn verify` to see where"
                )));
            }
            None => self.tx.add_snapshot(&capture.content_hash, &capture.data)?,
        };
        let roadmap = match self.tx.roadmap(name)? {
            Some(roadmap) => roadmap,
            None => RoadmapHead { no: self.tx.add_roadmap(name)?, length: 0 },
        };
        let created_at = self.clock.now()?;
        let seq = self.heads.edge.size();
        let id = self.contexts()? + 1;
        self.tx.insert_context(&ContextRow {
            id,
            seq,
            roadmap_no: roadmap.no,
            position: roadmap.length,
            snapshot_no,
            node_count: capture.node_count,
            created_at: created_at.as_str(),
            metadata: capture.metadata.as_deref(),
            salt: capture.salt.as_ref(),
        })?;
        self.leaf.clear();
        SnapshotEntry {
            content_hash: capture.content_hash,
            content_length: capture.data.len() as u64,
            context_id: id,
            created_at: created_at.as_str().into(),
            metadata_commitment: capture
                .metadata
                .as_deref()
                .zip(capture.salt.as_ref())
                .map(|(metadata, salt)| metadata_commitment(salt, metadata.as_bytes())),
            node_count: capture.node_count,
            position: roadmap.length,
            roadmap_id: name.into(),
            seq,
        }
        .write(self.leaf);
        self.append(EntryKind::Snapshot)?;
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
            seq,
        };
        Ok((head, false))
    }
}
