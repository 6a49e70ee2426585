//! The first entry of a log.

use super::{GENESIS, VERSION};
use crate::canonical::ObjectWriter;

/// The first entry: which log this is.
pub struct Genesis<'a> {
    /// The name of the log, unique to it.
    pub origin: &'a str,
    /// When it was begun.
    pub timestamp: &'a str,
}

impl Genesis<'_> {
    /// Appends the entry's bytes to `out`.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut object = ObjectWriter::new(out);
        object
            .text("kind", GENESIS)
            .text("origin", self.origin)
            .number("seq", 0)
            .text("timestamp", self.timestamp)
            .number("v", VERSION);
        object.end();
    }
}
