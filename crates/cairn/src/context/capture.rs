//! Freezing what a roadmap looks like now.

use std::collections::HashMap;
use std::sync::Mutex;

use cairn_core::Sha;
use cairn_core::id::RoadmapId;
use cairn_core::metadata;
use cairn_core::roadmap::Snapshot;
use cairn_core::roadmap::flaws::{Flaw, flaws};
use serde_json::{Map, Value};

use super::{Captured, roadmap_id_of};
use crate::error::{Error, Result};
use crate::handle::{Cairn, salt_for};
use crate::store::StoreError;
use crate::writer::Capture;

/// How many roadmaps are remembered.
const REMEMBERED: usize = 256;
/// How often a file that keeps changing is read again.
const ROUNDS: usize = 5;

/// What the files of roadmaps said when they were last read, so that one that has not changed is not parsed again.
///
/// Their bytes are read and hashed every time: size and time of a file can stay the same when its content does not.
#[derive(Default)]
pub(crate) struct Readings(Mutex<HashMap<RoadmapId, Reading>>);

/// What a roadmap's file said.
#[derive(Clone)]
pub(super) struct Reading {
    /// The hash of the file's bytes.
    source_hash: Sha,
    /// The hash of the content that a snapshot of it has.
    pub content_hash: Sha,
    warnings: Vec<Flaw>,
    /// The content itself, if it had to be parsed.
    parsed: Option<Parsed>,
}

#[derive(Clone)]
struct Parsed {
    data: String,
    node_count: u64,
}

impl Readings {
    fn known(&self, id: &RoadmapId, source_hash: Sha) -> Option<Reading> {
        let known = self.0.lock().ok()?.get(id).cloned();
        known.filter(|reading| reading.source_hash == source_hash)
    }

    fn remember(&self, id: &RoadmapId, reading: &Reading) {
        if let Ok(mut known) = self.0.lock() {
            if known.len() >= REMEMBERED {
                known.clear();
            }
            known.insert(id.clone(), Reading { parsed: None, ..reading.clone() });
        }
    }
}

impl Cairn {
    /// Freezes what a roadmap looks like now.
    pub fn context_create(&self, roadmap_id: &str, metadata: Option<Map<String, Value>>) -> Result<Captured> {
        let roadmap_id = roadmap_id_of(roadmap_id)?;
        let metadata = self.check_metadata(metadata)?;
        let reading = self.parse_roadmap(&roadmap_id)?;
        self.capture(&roadmap_id, reading, metadata, false)
    }

    /// Returns the newest snapshot of a roadmap if the roadmap has not changed since, else a new one.
    ///
    /// Called by several at once, in one process or in many, it makes one snapshot.
    pub fn context_ensure(&self, roadmap_id: &str, metadata: Option<Map<String, Value>>) -> Result<Captured> {
        let roadmap_id = roadmap_id_of(roadmap_id)?;
        let metadata = self.check_metadata(metadata)?;
        for _ in 1..ROUNDS {
            let reading = self.read_roadmap(&roadmap_id)?;
            if let Some(newest) = self.newest(&roadmap_id)?
                && newest.content_hash == reading.content_hash
            {
                return Ok(Captured { context: newest, is_existing: true, warnings: reading.warnings });
            }
            let reading = match reading.parsed {
                Some(_) => reading,
                None => self.parse_roadmap(&roadmap_id)?,
            };
            let source_hash = reading.source_hash;
            let captured = self.capture(&roadmap_id, reading, metadata.clone(), true)?;
            // If the file was edited while its older content waited to be written, that is not the newest plan.
            if self.roadmaps().source(&roadmap_id)?.hash() == source_hash {
                return Ok(captured);
            }
        }
        Err(Error::Conflict(format!(
            "roadmap `{roadmap_id}` was changed again and again while it was read; try again when it rests"
        )))
    }

    /// Reads a roadmap's file, and parses it only if its bytes are not those of the last time.
    pub(super) fn read_roadmap(&self, id: &RoadmapId) -> Result<Reading> {
        let source = self.roadmaps().source(id)?;
        match self.inner.readings.known(id, source.hash()) {
            Some(reading) => Ok(reading),
            None => self.parse_source(id, &source),
        }
    }

    fn parse_roadmap(&self, id: &RoadmapId) -> Result<Reading> {
        self.parse_source(id, &self.roadmaps().source(id)?)
    }

    fn parse_source(&self, id: &RoadmapId, source: &crate::roadmap::Source) -> Result<Reading> {
        let snapshot = Snapshot::of(source.parse()?);
        let warnings = flaws(snapshot.nodes.iter(), &snapshot.connections, &snapshot.phases);
        let data = snapshot.canonical().map_err(|error| Error::invalid("roadmap", error))?;
        let reading = Reading {
            source_hash: source.hash(),
            content_hash: Snapshot::content_hash(&data),
            warnings,
            parsed: Some(Parsed {
                data: String::from_utf8(data).map_err(|error| StoreError::Other(error.to_string()))?,
                node_count: snapshot.nodes.len() as u64,
            }),
        };
        self.inner.readings.remember(id, &reading);
        Ok(reading)
    }

    fn capture(
        &self,
        roadmap_id: &RoadmapId,
        reading: Reading,
        metadata: Option<String>,
        only_if_changed: bool,
    ) -> Result<Captured> {
        let Some(Parsed { data, node_count }) = reading.parsed else {
            return Err(StoreError::Other("the roadmap was not read".into()).into());
        };
        let (context, is_existing) = self.writer()?.capture(Capture {
            roadmap_id: roadmap_id.clone(),
            data,
            content_hash: reading.content_hash,
            node_count,
            salt: salt_for(metadata.as_deref())?,
            metadata,
            only_if_changed,
        })?;
        Ok(Captured { context, is_existing, warnings: reading.warnings })
    }

    fn check_metadata(&self, given: Option<Map<String, Value>>) -> Result<Option<String>> {
        Ok(given.map(|map| metadata::check(map, self.inner.limits.metadata)).transpose()?)
    }
}
