//! The first entry of a log.

use super::declare::entry;
use super::field::Text;

entry! {
    /// The first entry: which log this is.
    Genesis<'a> {
        /// The name of the log, unique to it.
        origin: Text<'a>,
        /// Position in the log: 0.
        seq: u64,
        /// When it was begun.
        timestamp: Text<'a>,
    }
}
