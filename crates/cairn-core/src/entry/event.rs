//! Entries that record events of sessions.

use super::declare::entry;
use super::field::Text;
use crate::hash::Sha;

entry! {
    /// An entry that records an event of a session, borrowed from wherever its fields live.
    EventEntry<'a> {
        /// Stands for the body.
        body_commitment: Sha => derived,
        /// Bytes of body.
        body_length: u64 => derived,
        /// When it was recorded, as text.
        created_at: Text<'a>,
        /// The kind of event.
        event: Text<'a>,
        /// The version of the body.
        event_v: u64,
        /// The caller's key, if it gave one.
        idempotency_key: Option<Text<'a>>,
        /// Position among the events of its session, from 0.
        position: u64,
        /// Position in the log.
        seq: u64,
        /// The session it belongs to.
        session_id: Text<'a>,
        /// The turn it belongs to.
        turn: u64,
    }
}
