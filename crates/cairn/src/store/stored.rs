//! Rows as they are stored, for verification: nothing in them is believed.

/// How many rows of each kind there are.
#[derive(Debug, Clone, Copy, Default)]
pub struct Totals {
    /// Entries.
    pub entries: u64,
    /// Tiles of the tree.
    pub tiles: u64,
    /// Thoughts.
    pub thoughts: u64,
    /// Snapshots.
    pub contexts: u64,
    /// Events.
    pub events: u64,
    /// Contents of entities.
    pub bodies: u64,
    /// Stored briefs.
    pub briefs: u64,
    /// Redactions.
    pub redactions: u64,
    /// Keys of sealed contents.
    pub seals: u64,
    /// Reviews.
    pub reviews: u64,
}

impl Totals {
    /// Adds those of another part.
    pub fn add(&mut self, other: &Totals) {
        self.entries += other.entries;
        self.tiles += other.tiles;
        self.thoughts += other.thoughts;
        self.contexts += other.contexts;
        self.events += other.events;
        self.bodies += other.bodies;
        self.briefs += other.briefs;
        self.redactions += other.redactions;
        self.seals += other.seals;
        self.reviews += other.reviews;
    }
}

/// A chain of thoughts by its label.
#[derive(Debug, Clone, Copy)]
pub enum ChainOf<'a> {
    /// The task with this label.
    Task(&'a str),
    /// The session with this label.
    Session(&'a str),
}

/// The content of an entity, as stored.
#[derive(Clone, Copy)]
pub struct StoredBody<'a> {
    /// The position of the first event that names it.
    pub first: i64,
    /// The content.
    pub data: Option<&'a str>,
    /// The position of the redaction that took it.
    pub redaction: Option<i64>,
}

/// The kept state of a session, as stored.
#[derive(Debug, Clone, Copy)]
pub struct StoredFold<'a> {
    /// The number of its session.
    pub session_no: i64,
    /// The label of its session; none if there is no such session.
    pub session_id: Option<&'a str>,
    /// Position in the log of the last event that is part of it; none if it is no number.
    pub seq: Option<i64>,
    /// The form of the state; none if it is no number.
    pub v: Option<i64>,
    /// Its digest.
    pub sha256: &'a [u8],
    /// The state; none if it is no text.
    pub state: Option<&'a str>,
}
