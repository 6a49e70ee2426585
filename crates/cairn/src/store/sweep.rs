//! Searches for an erased text in the files of a store.

/// What to look for.
#[derive(Debug, Default)]
pub struct Pieces {
    /// Bytes as they were stored.
    pub texts: Vec<Vec<u8>>,
    /// Words as the search index held them.
    pub words: Vec<String>,
}

/// What was found when an erased text was looked for.
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
    /// What else has to be said, in words.
    pub notes: Vec<String>,
}
