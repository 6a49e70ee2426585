//! What could be in a brief, before a budget decides.

use std::cmp::Reverse;

use super::Item;

/// What an item belongs to. A layout puts parts into sections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Header,
    Entities,
    History,
    Turns,
    Engagement,
    Constraints,
    Pending,
    ReasoningSummary,
    Reasoning,
    Task,
}

/// What is given up last. The order is part of the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    /// A brief without it would mislead.
    Required,
    /// The newest turns and the summaries of the others.
    Conversation,
    /// What the things are called.
    Entities,
    /// What was done in the newest turns.
    Reasoning,
    /// What is in the things.
    Bodies,
    /// Turns that no summary covers yet.
    OlderTurns,
    /// What was done before.
    OlderReasoning,
}

/// The order in which a budget is spent: by rank, tier, the newest turn first, then as in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    rank: Rank,
    tier: u8,
    recency: Reverse<u64>,
}

impl Key {
    /// For an item about `turn`.
    pub fn new(rank: Rank, tier: u8, turn: u64) -> Key {
        Key { rank, tier, recency: Reverse(turn) }
    }

    /// Whether there is no brief without it.
    pub fn is_required(&self) -> bool {
        self.rank == Rank::Required
    }
}

/// An item with its place in the text and in the order of choice.
pub struct Candidate {
    pub part: Part,
    pub key: Key,
    /// What it is, for the one who must raise the budget.
    pub name: String,
    pub item: Item,
}

impl Candidate {
    /// An item that a budget may leave out.
    pub fn new(part: Part, key: Key, text: String, events: Vec<u64>) -> Candidate {
        Candidate { part, key, name: String::new(), item: Item { entity_ref: None, text, events } }
    }

    /// An item that must be there, and what to call it.
    pub fn required(part: Part, name: impl Into<String>, text: String, events: Vec<u64>) -> Candidate {
        Candidate { name: name.into(), ..Candidate::new(part, Key::new(Rank::Required, 0, 0), text, events) }
    }

    /// The same, about an entity.
    pub fn about(mut self, entity_ref: &str) -> Candidate {
        self.item.entity_ref = Some(entity_ref.to_string());
        self
    }
}
