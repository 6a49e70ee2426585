//! What can be asked of a brief, and the words for it.

use serde::Serialize;

use super::tokens::Counter;

/// A stage of a pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Node {
    /// Decides what the user means, and what to keep in mind.
    Understand,
    /// Plans.
    Think,
    /// Does.
    Act,
    /// Answers.
    Reply,
}

impl Node {
    /// All four, in the order of a pipeline.
    pub const ALL: [Node; 4] = [Node::Understand, Node::Think, Node::Act, Node::Reply];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Node::Understand => "understand",
            Node::Think => "think",
            Node::Act => "act",
            Node::Reply => "reply",
        }
    }

    /// The node of that name.
    pub fn parse(word: &str) -> Option<Node> {
        Node::ALL.into_iter().find(|node| node.as_str() == word)
    }
}

/// The order of the parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Layout {
    /// Entities, conversation, what happened, task.
    #[default]
    Seed,
    /// What changes least first, so that the next turn shares the longest beginning.
    Cache,
}

impl Layout {
    /// Both.
    pub const ALL: [Layout; 2] = [Layout::Seed, Layout::Cache];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Layout::Seed => "seed",
            Layout::Cache => "cache",
        }
    }

    /// The layout of that name.
    pub fn parse(word: &str) -> Option<Layout> {
        Layout::ALL.into_iter().find(|layout| layout.as_str() == word)
    }
}

/// How much of the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// The two newest turns only.
    Two,
    /// Five turns and the history summary.
    Five,
    /// Every turn and both summaries.
    Full,
}

impl Depth {
    /// All three.
    pub const ALL: [Depth; 3] = [Depth::Two, Depth::Five, Depth::Full];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Depth::Two => "2",
            Depth::Five => "5",
            Depth::Full => "full",
        }
    }

    /// The depth of that name.
    pub fn parse(word: &str) -> Option<Depth> {
        Depth::ALL.into_iter().find(|depth| depth.as_str() == word)
    }
}

/// How entities are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntityMode {
    /// What Act sees: active and generated ones, with their content where there is a way to get it.
    Full,
    /// What Think sees: names, and whether only a summary is known.
    RefsAndLabels,
    /// What Reply sees: labels, saved or not.
    Reply,
    /// One line: what need not be read again.
    DoNotRead,
    /// What Understand sees: everything of all three tiers.
    Curation,
}

impl EntityMode {
    /// All five.
    pub const ALL: [EntityMode; 5] = [
        EntityMode::Full,
        EntityMode::RefsAndLabels,
        EntityMode::Reply,
        EntityMode::DoNotRead,
        EntityMode::Curation,
    ];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            EntityMode::Full => "full",
            EntityMode::RefsAndLabels => "refs_and_labels",
            EntityMode::Reply => "reply",
            EntityMode::DoNotRead => "do_not_read",
            EntityMode::Curation => "curation",
        }
    }

    /// The mode of that name.
    pub fn parse(word: &str) -> Option<EntityMode> {
        EntityMode::ALL.into_iter().find(|mode| mode.as_str() == word)
    }
}

/// What is asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// For which node.
    pub node: Node,
    /// The most tokens, counted by `counter`.
    pub budget: Option<u64>,
    /// How much of the conversation; what the node usually sees if not given.
    pub depth: Option<Depth>,
    /// In which order.
    pub layout: Layout,
    /// How tokens are counted.
    pub counter: Counter,
    /// What the node is to do.
    pub task: Option<String>,
}
