//! Redactions: the entries that record them, erasing texts, and the search for what is left of them.

use cairn_core::Sha;
use cairn_core::entry::EntryKind;
use cairn_core::id::BriefId;

use super::{RedactionLeaf, Result, Target};

/// Pieces of an erased text to search for.
#[derive(Debug, Default)]
pub struct Pieces {
    /// Bytes as they were stored.
    pub texts: Vec<Vec<u8>>,
    /// Words as the search index held them.
    pub words: Vec<String>,
}

/// The result of a search for an erased text.
#[derive(Debug, Clone, Default)]
pub struct Swept {
    /// Whether somebody read an older state all the time, so that it could not be let go.
    pub blocked: bool,
    /// Whether the file was made anew.
    pub vacuumed: bool,
    /// Why it could not be, if that was tried.
    pub vacuum_failed: Option<String>,
    /// Pieces that still stand where no record is: in unused parts of the file.
    pub in_file: usize,
    /// Pieces that still stand in what waits beside the file.
    pub beside: usize,
    /// Pieces that other records hold as well.
    pub elsewhere: usize,
    /// Further remarks for the user.
    pub notes: Vec<String>,
}

/// Reads redactions and the keys of sealed contents.
pub trait RedactionReader {
    /// The key of a sealed content, by the thought's position in the log.
    fn seal_key(&self, seq: u64) -> Result<Option<Vec<u8>>>;
    /// The entry that records the redaction of the record at a position of the log.
    fn redaction(&self, target_seq: u64) -> Result<Option<RedactionLeaf>>;
    /// Up to `limit` stored briefs of a session whose data contains `text`, oldest first.
    fn briefs_with(&self, session_id: &str, text: &str, limit: u64) -> Result<Vec<BriefId>>;
    /// Empties what waits beside the database, looks for pieces of an erased text, and makes the file anew if they
    /// still stand where no record is.
    fn sweep(&self, pieces: &Pieces) -> Result<Swept>;
}

/// Records redactions and erases texts.
pub trait RedactionAppend {
    /// The record of that kind and id, with the texts that a redaction would erase.
    fn target(&mut self, kind: EntryKind, id: &str) -> Result<Option<Target>>;
    /// See [`RedactionReader::redaction`].
    fn redaction(&mut self, target_seq: u64) -> Result<Option<RedactionLeaf>>;
    /// Erases the texts of a record for which a redaction was noted, and every word of them in the search indexes. Of a
    /// sealed content, the key instead of the text.
    fn blank(&mut self, target: &Target) -> Result<()>;
    /// Puts the rest of an event in the place of its body, and erases its salt and the kept state of its session.
    fn blank_event(&mut self, seq: u64, remains: &str) -> Result<()>;
    /// Erases a content that events name, and notes the position of the redaction that took it. A content that was never
    /// here is noted too.
    fn take_body(&mut self, digest: &Sha, redaction: u64) -> Result<()>;
    /// See [`RedactionReader::seal_key`].
    fn seal_key(&mut self, seq: u64) -> Result<Option<Vec<u8>>>;
    /// Adds the key of the sealed content of the thought at `seq`.
    fn insert_seal(&mut self, seq: u64, key: &[u8]) -> Result<()>;
}

/// Reads redactions and seals as they are stored.
pub trait RedactionAudit {
    /// The position that the redaction at `seq` names as its target, as stored; none if there is no such row.
    fn redaction_target(&self, seq: u64) -> Result<Option<i64>>;
    /// The key of the sealed content of the thought at a position, as stored.
    fn seal_key(&self, seq: u64) -> Result<Option<Vec<u8>>>;
}
