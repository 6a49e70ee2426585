//! Writing events of sessions, and briefs.

use cairn_core::Sha;
use cairn_core::entry::{BriefEntry, Entry, EventEntry, Parts, Record, Salt, commitment};
use cairn_core::id::{BriefId, IdempotencyKey, SessionId};
use cairn_core::time::Timestamp;

use super::heads::remember;
use super::step::Step;
use crate::error::{Error, Result};
use crate::store::{Keys, MemoryHead, Need, SessionHead};

/// An event to be appended to a session.
pub(crate) struct EventRequest {
    pub session_id: SessionId,
    /// Position in the log of the newest event that was taken into account; 0 if there was none.
    pub after: u64,
    /// The newest redaction that was taken into account.
    pub redaction: u64,
    pub turn: u64,
    pub kind: &'static str,
    pub v: u64,
    /// Canonical JSON.
    pub body: String,
    pub salt: Salt,
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
        let current = match memory {
            Some(memory) => memory.newest == request.after && memory.redaction == request.redaction,
            None => request.after == 0,
        };
        if !current {
            return Ok(Appended::Outdated);
        }
        let mut unknown = Vec::new();
        for (digest, data) in &request.bodies {
            match self.tx.body(digest, data)? {
                Some(true) => {}
                None => unknown.push((digest, data)),
                // Naming a redacted content again does not bring it back.
                Some(false) if self.tx.body_redaction(digest)?.is_some() => {}
                // To name it would be to vouch for it.
                Some(false) => {
                    return Err(Error::Conflict(format!(
                        "the content stored under {digest} was changed since; run `cairn verify` to see where"
                    )));
                }
            }
        }
        let is_new = memory.is_none();
        let memory = match memory {
            Some(memory) => memory,
            None => MemoryHead {
                session_no: self.session_no(name)?,
                length: 0,
                newest: 0,
                redaction: request.redaction,
            },
        };
        let at = self.clock.now()?;
        let seq = self.heads.edge.size();
        let key = request.idempotency_key.as_ref().map(IdempotencyKey::as_str);
        for (digest, data) in unknown {
            self.tx.insert_body(digest, seq, data)?;
        }
        let entry = Entry::Event(EventEntry {
            body_commitment: commitment(&request.salt, request.body.as_bytes()),
            body_length: request.body.len() as u64,
            created_at: at.as_str().into(),
            event: request.kind.into(),
            event_v: request.v,
            idempotency_key: key.map(Into::into),
            position: memory.length,
            seq,
            session_id: name.into(),
            turn: request.turn,
        });
        let parts =
            Parts { text: Some(request.body.as_str().into()), salt: Some(request.salt), ..Parts::default() };
        self.append(Record { entry, parts }, &Keys { session_no: memory.session_no, ..Keys::default() })?;
        let memory = MemoryHead { length: memory.length + 1, newest: seq, ..memory };
        self.tx.set_memory(&memory)?;
        // The caller of a new session need not know the newest redaction: the next event reads it.
        if !is_new {
            remember(&mut self.heads.memories, name, memory);
        }
        Ok(Appended::Done { seq, at })
    }

    /// Stores a brief; returns its position in the log.
    pub fn store_brief(&mut self, brief: &StoreBrief) -> Result<u64> {
        let name = brief.session_id.as_str();
        let session_no = self.session_no(name)?;
        let at = self.clock.now()?;
        let seq = self.heads.edge.size();
        let entry = Entry::Brief(BriefEntry {
            brief_id: brief.id.as_str().into(),
            created_at: at.as_str().into(),
            data_hash: Sha::of(brief.data.as_bytes()),
            data_length: brief.data.len() as u64,
            hash: brief.hash,
            node: brief.node.into(),
            seq,
            session_id: name.into(),
            turn: brief.turn,
        });
        let parts = Parts { text: Some(brief.data.as_str().into()), ..Parts::default() };
        self.append(Record { entry, parts }, &Keys { session_no, ..Keys::default() })?;
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
