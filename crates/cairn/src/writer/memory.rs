//! Writing events of sessions, and briefs.

use cairn_core::Sha;
use cairn_core::entry::{BriefEntry, EntryKind, EventEntry};
use cairn_core::id::{BriefId, IdempotencyKey, SessionId};
use cairn_core::time::Timestamp;

use super::heads::remember;
use super::step::Step;
use crate::error::{Error, Result};
use crate::store::{BriefRow, EventRow, MemoryHead, Need, SessionHead};

/// An event to be appended to a session.
pub(crate) struct EventRequest {
    pub session_id: SessionId,
    /// Position in the log of the newest event that was taken into account; 0 if there was none.
    pub after: u64,
    pub turn: u64,
    pub kind: &'static str,
    pub v: u64,
    /// Canonical JSON.
    pub body: String,
    /// Contents that the event names, each once: digest and canonical JSON.
    pub bodies: Vec<(Sha, String)>,
    pub idempotency_key: Option<IdempotencyKey>,
}

impl EventRequest {
    /// What writing it will ask for.
    pub fn needs(&self) -> Vec<Need> {
        let name = || self.session_id.to_string();
        let mut needs = vec![Need::Memory(name()), Need::Session(name())];
        needs.extend(self.idempotency_key.as_ref().map(|key| Need::EventKey(key.to_string())));
        needs.extend(self.bodies.iter().map(|(digest, _)| Need::Body(*digest)));
        needs
    }
}

/// What became of it.
pub(crate) enum Appended {
    /// It is recorded at this position of the log, at this time.
    Done { seq: u64, at: Timestamp },
    /// Another event came first: what was taken into account is no longer all there is.
    Outdated,
    /// An event was recorded under its key before.
    Repeated,
}

/// A brief to be stored.
pub(crate) struct StoreBrief {
    pub id: BriefId,
    pub session_id: SessionId,
    pub node: &'static str,
    pub turn: u64,
    pub hash: Sha,
    /// Canonical JSON.
    pub data: String,
}

impl Step<'_> {
    /// Appends an event, if it is still about the newest state of its session.
    pub fn append_event(&mut self, request: &EventRequest) -> Result<Appended> {
        let name = request.session_id.as_str();
        if let Some(key) = &request.idempotency_key
            && self.tx.has_event_key(key.as_str())?
        {
            return Ok(Appended::Repeated);
        }
        let memory = match self.heads.memories.get(name) {
            Some(memory) => Some(*memory),
            None => self.tx.memory(name)?,
        };
        if memory.map_or(0, |memory| memory.newest) != request.after {
            return Ok(Appended::Outdated);
        }
        let mut unknown = Vec::new();
        for (digest, data) in &request.bodies {
            match self.tx.body(digest, data)? {
                Some(true) => {}
                None => unknown.push((digest, data)),
                // To name it would be to vouch for it.
                Some(false) => {
                    return Err(Error::Conflict(format!(
                        "the content stored under {digest} was changed since; run `cairn verify` to see where"
                    )));
                }
            }
        }
        let memory = match memory {
            Some(memory) => memory,
            None => MemoryHead { session_no: self.session_no(name)?, length: 0, newest: 0 },
        };
        let at = self.clock.now()?;
        let seq = self.heads.edge.size();
        let key = request.idempotency_key.as_ref().map(IdempotencyKey::as_str);
        for (digest, data) in unknown {
            self.tx.insert_body(digest, seq, data)?;
        }
        self.tx.insert_event(&EventRow {
            seq,
            session_no: memory.session_no,
            position: memory.length,
            turn: request.turn,
            kind: request.kind,
            v: request.v,
            created_at: at.as_str(),
            body: &request.body,
            idempotency_key: key,
        })?;
        self.leaf.clear();
        EventEntry {
            body_hash: Sha::of(request.body.as_bytes()),
            body_length: request.body.len() as u64,
            created_at: at.as_str().into(),
            event: request.kind.into(),
            event_v: request.v,
            idempotency_key: key.map(Into::into),
            position: memory.length,
            seq,
            session_id: name.into(),
            turn: request.turn,
        }
        .write(self.leaf);
        self.append(EntryKind::Event)?;
        let memory = MemoryHead { length: memory.length + 1, newest: seq, ..memory };
        self.tx.set_memory(&memory)?;
        remember(&mut self.heads.memories, name, memory);
        Ok(Appended::Done { seq, at })
    }

    /// Stores a brief; returns its position in the log.
    pub fn store_brief(&mut self, brief: &StoreBrief) -> Result<u64> {
        let name = brief.session_id.as_str();
        let session_no = self.session_no(name)?;
        let at = self.clock.now()?;
        let seq = self.heads.edge.size();
        self.tx.insert_brief(&BriefRow {
            seq,
            id: brief.id.as_str(),
            session_no,
            node: brief.node,
            turn: brief.turn,
            created_at: at.as_str(),
            hash: brief.hash,
            data: Some(&brief.data),
        })?;
        self.leaf.clear();
        BriefEntry {
            brief_id: brief.id.as_str().into(),
            created_at: at.as_str().into(),
            data_hash: Sha::of(brief.data.as_bytes()),
            data_length: brief.data.len() as u64,
            hash: brief.hash,
            node: brief.node.into(),
            seq,
            session_id: name.into(),
            turn: brief.turn,
        }
        .write(self.leaf);
        self.append(EntryKind::Brief)?;
        Ok(seq)
    }

    /// The number of a session, which is made if it is new.
    fn session_no(&mut self, name: &str) -> Result<i64> {
        match self.session(name)? {
            Some(SessionHead { no, .. }) => Ok(no),
            None => {
                let no = self.tx.add_session(name)?;
                remember(&mut self.heads.sessions, name, SessionHead { no, length: 0 });
                Ok(no)
            }
        }
    }
}
