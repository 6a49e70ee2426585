//! Entries that record events of sessions.

use super::{EVENT, VERSION};
use crate::canonical::ObjectWriter;
use crate::hash::Sha;

/// An entry that records an event of a session, borrowed from wherever its fields live.
#[derive(Debug, Clone, Copy)]
pub struct EventEntry<'a> {
    /// Stands for the body.
    pub body_hash: Sha,
    /// Bytes of body.
    pub body_length: u64,
    /// When it was recorded, as text.
    pub created_at: &'a str,
    /// What happened.
    pub event: &'a str,
    /// The version of the body.
    pub event_v: u64,
    /// The caller's key, if it gave one.
    pub idempotency_key: Option<&'a str>,
    /// Position among the events of its session, from 0.
    pub position: u64,
    /// Position in the log.
    pub seq: u64,
    /// The session it belongs to.
    pub session_id: &'a str,
    /// The turn it belongs to.
    pub turn: u64,
}

impl EventEntry<'_> {
    /// Appends the entry's bytes to `out`.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut object = ObjectWriter::new(out);
        object
            .sha("body_hash", &self.body_hash)
            .number("body_length", self.body_length)
            .text("created_at", self.created_at)
            .text("event", self.event)
            .number("event_v", self.event_v)
            .text_or_null("idempotency_key", self.idempotency_key)
            .text("kind", EVENT)
            .number("position", self.position)
            .number("seq", self.seq)
            .text("session_id", self.session_id)
            .number("turn", self.turn)
            .number("v", VERSION);
        object.end();
    }
}
