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

/// One entry with what it records, as stored.
pub struct Scanned<'a> {
    /// Position in the log.
    pub seq: u64,
    /// The entry, unless there is none here.
    pub entry: Option<StoredEntry<'a>>,
    /// The thought, unless there is none here.
    pub thought: Option<StoredThought<'a>>,
    /// A column that does not even hold the type it should.
    pub malformed: Option<(&'static str, &'static str)>,
}

/// A row of the log, as stored.
#[derive(Clone, Copy)]
pub struct StoredEntry<'a> {
    /// What it records.
    pub kind: &'a str,
    /// The bytes that were hashed.
    pub leaf: &'a [u8],
    /// Their hash, as stored.
    pub hash: &'a [u8],
}

/// A thought's row, as stored.
#[derive(Clone, Copy)]
pub struct StoredThought<'a> {
    /// See [`super::ThoughtRow::id`].
    pub id: &'a str,
    /// See [`super::ThoughtRow::kind`].
    pub kind: &'a str,
    /// See [`super::ThoughtRow::task_no`].
    pub task_no: i64,
    /// See [`super::ThoughtRow::position`].
    pub position: i64,
    /// See [`super::ThoughtRow::session_no`].
    pub session_no: i64,
    /// See [`super::ThoughtRow::step_index`].
    pub step_index: i64,
    /// See [`super::ThoughtRow::parent_seq`].
    pub parent_seq: Option<i64>,
    /// See [`super::ThoughtRow::agent_id`].
    pub agent_id: &'a str,
    /// See [`super::ThoughtRow::action_id`].
    pub action_id: Option<&'a str>,
    /// See [`super::ThoughtRow::context_id`].
    pub context_id: Option<i64>,
    /// See [`super::ThoughtRow::brief_id`].
    pub brief_id: Option<&'a str>,
    /// See [`super::ThoughtRow::supersedes`].
    pub supersedes: Option<&'a str>,
    /// See [`super::ThoughtRow::rejects`].
    pub rejects: Option<&'a str>,
    /// See [`super::ThoughtRow::applies_to`].
    pub applies_to: Option<&'a str>,
    /// See [`super::ThoughtRow::source`].
    pub source: &'a str,
    /// See [`super::ThoughtRow::timestamp`].
    pub timestamp: &'a str,
    /// See [`super::ThoughtRow::content`].
    pub content: Option<&'a str>,
    /// See [`super::ThoughtRow::metadata`].
    pub metadata: Option<&'a str>,
    /// See [`super::ThoughtRow::salt`].
    pub salt: Option<&'a [u8]>,
    /// See [`super::ThoughtRow::idempotency_key`].
    pub idempotency_key: Option<&'a str>,
    /// See [`super::ThoughtRow::prev_hash`].
    pub prev_hash: &'a [u8],
    /// See [`super::ThoughtRow::hash`].
    pub hash: &'a [u8],
    /// See [`super::ThoughtRow::content_hash`].
    pub content_hash: &'a [u8],
    /// See [`super::ThoughtRow::chain_hash`].
    pub chain_hash: &'a [u8],
}

/// A snapshot's row with its content, as stored.
#[derive(Clone, Copy)]
pub struct StoredContext<'a> {
    /// See [`super::ContextRow::id`].
    pub id: i64,
    /// The label of its roadmap.
    pub roadmap_id: Option<&'a str>,
    /// See [`super::ContextRow::position`].
    pub position: i64,
    /// See [`super::ContextRow::snapshot_no`].
    pub snapshot_no: i64,
    /// The hash of its content.
    pub content_hash: Option<&'a [u8]>,
    /// Its content.
    pub data: Option<&'a str>,
    /// See [`super::ContextRow::node_count`].
    pub node_count: i64,
    /// See [`super::ContextRow::created_at`].
    pub created_at: &'a str,
    /// See [`super::ContextRow::metadata`].
    pub metadata: Option<&'a str>,
    /// See [`super::ContextRow::salt`].
    pub salt: Option<&'a [u8]>,
    /// A column that does not hold the type of value it was written with.
    pub malformed: Option<&'static str>,
}

/// An event's row, as stored.
#[derive(Clone, Copy)]
pub struct StoredEvent<'a> {
    /// The label of its session.
    pub session_id: Option<&'a str>,
    /// See [`super::EventRow::position`].
    pub position: i64,
    /// See [`super::EventRow::turn`].
    pub turn: i64,
    /// See [`super::EventRow::kind`].
    pub kind: &'a str,
    /// See [`super::EventRow::v`].
    pub v: i64,
    /// See [`super::EventRow::created_at`].
    pub created_at: &'a str,
    /// See [`super::EventRow::body`].
    pub body: Option<&'a str>,
    /// See [`super::EventRow::idempotency_key`].
    pub idempotency_key: Option<&'a str>,
    /// A column that does not hold the type of value it was written with.
    pub malformed: Option<&'static str>,
}

/// A brief's row, as stored.
#[derive(Clone, Copy)]
pub struct StoredBrief<'a> {
    /// See [`super::BriefRow::id`].
    pub id: &'a str,
    /// The label of its session.
    pub session_id: Option<&'a str>,
    /// See [`super::BriefRow::node`].
    pub node: &'a str,
    /// See [`super::BriefRow::turn`].
    pub turn: i64,
    /// See [`super::BriefRow::created_at`].
    pub created_at: &'a str,
    /// See [`super::BriefRow::hash`].
    pub hash: &'a [u8],
    /// See [`super::BriefRow::data`].
    pub data: Option<&'a str>,
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
