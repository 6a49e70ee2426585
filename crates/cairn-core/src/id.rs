//! Ids and labels. Each is its own type, so that a task cannot be handed over where a session is meant.
//!
//! All of them are texts of 1 to 200 characters (a [`Subject`]: 300) without control characters: Cairn mints ids as
//! UUIDs (version 7), but a caller that brings its own ids, or replays old ones, keeps them to the letter.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The most characters an id or a label may have.
pub const MAX_LABEL_CHARS: usize = 200;
/// The most characters a [`Subject`] may have.
pub const MAX_SUBJECT_CHARS: usize = 300;

/// Why a text cannot be an id or a label.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LabelError {
    /// Nothing in it.
    #[error("must not be empty")]
    Empty,
    /// More characters than it may have.
    #[error("must have at most {limit} characters, found {found}")]
    TooLong {
        /// How many it has.
        found: usize,
        /// How many it may have.
        limit: usize,
    },
    /// A character that cannot be shown on one line.
    #[error(
        "must not contain control characters, found U+{0:04X} (a NUL may stand for an unpaired surrogate)"
    )]
    Control(u32),
}

/// Whether a text can be an id or a label.
pub fn check_label(text: &str) -> Result<(), LabelError> {
    check_text(text, MAX_LABEL_CHARS)
}

/// Whether a text of at most `limit` characters fits on one line.
pub(crate) fn check_text(text: &str, limit: usize) -> Result<(), LabelError> {
    if text.is_empty() {
        return Err(LabelError::Empty);
    }
    if text.len() > limit {
        let found = text.chars().count();
        if found > limit {
            return Err(LabelError::TooLong { found, limit });
        }
    }
    // Almost every label is plain ASCII, and this is asked for each one that is read.
    if text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        return Ok(());
    }
    match text.chars().find(|c| c.is_control()) {
        Some(c) => Err(LabelError::Control(c.into())),
        None => Ok(()),
    }
}

macro_rules! label_type {
    ($(#[$doc:meta])* $name:ident) => {
        label_type!($(#[$doc])* $name, MAX_LABEL_CHARS);
    };
    ($(#[$doc:meta])* $name:ident, $limit:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String")]
        pub struct $name(String);

        impl $name {
            /// Checks `text` and takes it as it is.
            pub fn new(text: impl Into<String>) -> Result<Self, LabelError> {
                let text = text.into();
                check_text(&text, $limit)?;
                Ok(Self(text))
            }

            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = LabelError;

            fn try_from(text: String) -> Result<Self, LabelError> {
                Self::new(text)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&self.0)
            }
        }
    };
}

label_type!(
    /// The id of one thought.
    ThoughtId
);
label_type!(
    /// The label of a task: all its thoughts form one chain.
    TaskId
);
label_type!(
    /// The label of a session: all its thoughts form one tree.
    SessionId
);
label_type!(
    /// Who thought it.
    AgentId
);
label_type!(
    /// The tool call, commit or deployment that a thought led to.
    ActionId
);
label_type!(
    /// The id of a stored brief.
    BriefId
);
label_type!(
    /// What makes a repeated call recognisable.
    IdempotencyKey
);
label_type!(
    /// A thing that a thought is about: a path or glob from the repository's root (`src/auth/**`), or a label
    /// (`area:billing`).
    Subject,
    MAX_SUBJECT_CHARS
);

/// The id of a roadmap: the name of its file, so that only letters, digits, `.`, `_` and `-` are in it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct RoadmapId(String);

/// Why a text cannot be the id of a roadmap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be 1 to 128 letters, digits, `.`, `_` or `-`, beginning with a letter or digit, without `..`")]
pub struct RoadmapIdError;

impl RoadmapId {
    /// Checks `text` and takes it as it is.
    pub fn new(text: impl Into<String>) -> Result<RoadmapId, RoadmapIdError> {
        let text = text.into();
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
        let first = text.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
        if first && text.len() <= 128 && text.bytes().all(plain) && !text.contains("..") {
            Ok(RoadmapId(text))
        } else {
            Err(RoadmapIdError)
        }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for RoadmapId {
    type Error = RoadmapIdError;

    fn try_from(text: String) -> Result<RoadmapId, RoadmapIdError> {
        RoadmapId::new(text)
    }
}

impl fmt::Display for RoadmapId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_hundred_characters_fit_whatever_their_bytes() {
        assert!(TaskId::new("字".repeat(200)).is_ok());
        assert_eq!(TaskId::new("字".repeat(201)), Err(LabelError::TooLong { found: 201, limit: 200 }));
        assert!(Subject::new("字".repeat(300)).is_ok());
        assert_eq!(Subject::new("字".repeat(301)), Err(LabelError::TooLong { found: 301, limit: 300 }));
    }

    #[test]
    fn a_roadmap_is_named_so_that_it_can_be_a_file() {
        for good in ["a", "0", "import", "a.b_c-D9", &"x".repeat(128)] {
            assert!(RoadmapId::new(good).is_ok(), "{good}");
        }
        for bad in
            ["", ".", "..", "a..b", "../a", "a/b", "-a", ".a", "_a", "ä", "a b", "a\0", &"x".repeat(129)]
        {
            assert!(RoadmapId::new(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn empty_and_control_characters_are_refused() {
        assert_eq!(SessionId::new(""), Err(LabelError::Empty));
        assert_eq!(SessionId::new("a\0b"), Err(LabelError::Control(0)));
        assert_eq!(SessionId::new("a\u{1b}[2J"), Err(LabelError::Control(0x1b)));
    }
}
