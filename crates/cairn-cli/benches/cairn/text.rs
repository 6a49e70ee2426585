//! Thoughts to record: the same for the same number, and with words as uneven as real ones, so that the search
//! index is of a realistic shape.

use cairn::{NewThought, ThoughtType};
use serde_json::json;

/// Part of the name of files made from these texts: a new number if the texts change.
pub const VERSION: u32 = 1;

/// How many sessions, and as many tasks, the thoughts belong to. One more holds the long chain of large files.
pub const SESSIONS: usize = 50;

/// A word in every thought.
pub const COMMON: &str = "the";
/// A word in one thought of [`RARE_EVERY`], all of them in session [`RARE_SESSION`].
pub const RARE: &str = "quokka";
/// How many thoughts there are for one with the rare word.
pub const RARE_EVERY: u64 = 40_000;
/// The session with the rare word.
pub const RARE_SESSION: usize = 17;

const WORDS: [&str; 96] = [
    "of",
    "to",
    "a",
    "and",
    "in",
    "is",
    "for",
    "that",
    "with",
    "it",
    "on",
    "as",
    "this",
    "not",
    "by",
    "we",
    "test",
    "error",
    "file",
    "change",
    "because",
    "before",
    "after",
    "when",
    "which",
    "should",
    "only",
    "call",
    "server",
    "client",
    "request",
    "response",
    "index",
    "table",
    "query",
    "cache",
    "retry",
    "timeout",
    "token",
    "schema",
    "module",
    "function",
    "branch",
    "commit",
    "review",
    "deploy",
    "build",
    "failure",
    "option",
    "simple",
    "faster",
    "slower",
    "larger",
    "unique",
    "stable",
    "broken",
    "missing",
    "reads",
    "writes",
    "locks",
    "queue",
    "worker",
    "thread",
    "memory",
    "disk",
    "network",
    "latency",
    "budget",
    "limit",
    "reason",
    "evidence",
    "decision",
    "risk",
    "rollback",
    "migration",
    "release",
    "version",
    "dependency",
    "license",
    "parser",
    "encoder",
    "stream",
    "buffer",
    "socket",
    "handler",
    "session",
    "agent",
    "prompt",
    "context",
    "answer",
    "question",
    "approach",
    "trade",
    "measure",
    "profile",
    "assume",
];
const SYLLABLES: [&str; 20] = [
    "ba", "cor", "den", "fil", "gra", "hex", "jun", "kal", "lim", "mor", "nex", "pol", "qui", "ras", "sol",
    "tri", "ump", "vel", "wex", "zor",
];

/// A thought without its place.
pub struct Draft {
    /// Which session and task.
    pub session: usize,
    /// Of which type.
    pub kind: ThoughtType,
    /// About 300 bytes.
    pub content: String,
    /// In one of four.
    pub metadata: Option<serde_json::Map<String, serde_json::Value>>,
    /// In one of eight.
    pub action: Option<String>,
    /// Whether it follows from the thought before it; else it is a root.
    pub follows: bool,
}

impl Draft {
    /// The thought with this number.
    pub fn new(number: u64) -> Draft {
        let mut random = Random(number.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d);
        let session = (number % SESSIONS as u64) as usize;
        let content = content(&mut random, number % RARE_EVERY == RARE_SESSION as u64);
        let metadata = (number % 4 == 1).then(|| {
            let map = json!({
                "branch": format!("feature-{}", random.below(40)),
                "files": random.below(12),
                "tool_calls": ["search", "edit"],
            });
            map.as_object().cloned().unwrap_or_default()
        });
        Draft {
            session,
            kind: ThoughtType::ALL[random.below(4) as usize],
            content,
            metadata,
            action: (number % 8 == 3).then(|| format!("commit-{number:08x}")),
            follows: !number.is_multiple_of(16),
        }
    }

    /// So many thoughts, from a number on.
    pub fn many(first: u64, count: usize) -> Vec<Draft> {
        (first..first + count as u64).map(Draft::new).collect()
    }

    /// The thought as the library takes it.
    pub fn thought(self, parent: Option<&str>) -> NewThought {
        NewThought {
            task_id: Some(task_name(self.session)),
            session_id: Some(session_name(self.session)),
            agent_id: Some(agent_name(self.session)),
            parent_id: parent.filter(|_| self.follows).map(str::to_string),
            action_id: self.action,
            metadata: self.metadata,
            ..NewThought::new(self.kind, self.content)
        }
    }
}

/// The label of a session.
pub fn session_name(number: usize) -> String {
    format!("session-{number}")
}

/// The label of a task.
pub fn task_name(number: usize) -> String {
    format!("task-{number}")
}

/// The author of a session.
pub fn agent_name(session: usize) -> String {
    format!("agent-{}", session % 7)
}

fn content(random: &mut Random, rare: bool) -> String {
    let length = 240 + random.below(120) as usize;
    let mut text = format!("Check {COMMON}");
    if rare {
        text.push(' ');
        text.push_str(RARE);
    }
    while text.len() < length {
        text.push_str(if random.below(9) == 0 { ". " } else { " " });
        // Most words are common ones; the rest come from a long tail of 8,000.
        if random.below(10) < 7 {
            text.push_str(WORDS[random.skewed(WORDS.len())]);
        } else {
            let mut word = random.skewed(8_000);
            for _ in 0..3 {
                text.push_str(SYLLABLES[word % SYLLABLES.len()]);
                word /= SYLLABLES.len();
            }
        }
    }
    text.push('.');
    text
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// Small numbers far more often than large ones.
    fn skewed(&mut self, limit: usize) -> usize {
        let share = (self.next() >> 11) as f64 / (1u64 << 53) as f64;
        (share.powi(3) * limit as f64) as usize
    }
}
