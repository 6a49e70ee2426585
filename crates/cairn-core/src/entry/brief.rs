//! Entries that record stored briefs.

use super::declare::entry;
use super::field::Text;
use crate::hash::Sha;

entry! {
    /// An entry that records a stored brief, borrowed from wherever its fields live.
    BriefEntry<'a> {
        /// Its id.
        brief_id: Text<'a>,
        /// When it was stored, as text.
        created_at: Text<'a>,
        /// Stands for the whole brief.
        data_hash: Sha => derived,
        /// Bytes of it.
        data_length: u64 => derived,
        /// The brief's own hash.
        hash: Sha,
        /// For which node.
        node: Text<'a>,
        /// Position in the log.
        seq: u64,
        /// The session it is of.
        session_id: Text<'a>,
        /// The turn it is for.
        turn: u64,
    }
}
