//! The links from a thought to others, and to what it is about: the rules that need no database.

use std::collections::HashSet;

use super::{Issue, ThoughtType};
use crate::id::{LabelError, MAX_LABEL_CHARS, MAX_SUBJECT_CHARS, check_text};

/// The most thoughts that one thought may supersede, and the most that it may reject.
pub const MAX_LINKS: usize = 16;
/// The most things that one thought may be about.
pub const MAX_SUBJECTS: usize = 32;

/// Why a link cannot be recorded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// A plan or an analysis has such links.
    #[error("only a decision or a reflection can have this, not {0}")]
    OfType(&'static str),
    /// More than there may be.
    #[error("must have at most {limit} entries, found {found}")]
    TooMany {
        /// How many there are.
        found: usize,
        /// How many there may be.
        limit: usize,
    },
    /// The text cannot be what it should be.
    #[error(transparent)]
    Text(#[from] LabelError),
    /// The same text again.
    #[error("must be named once, found `{0}` again")]
    Repeated(String),
}

/// A link that cannot be recorded, and which.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrongLink {
    /// The field.
    pub field: &'static str,
    /// Its place in the field; none if the field as a whole is wrong.
    pub index: Option<usize>,
    /// Why.
    pub why: LinkError,
}

impl From<WrongLink> for Issue {
    fn from(WrongLink { field, index, why }: WrongLink) -> Issue {
        let path = index.map_or(field.to_string(), |index| format!("{field}[{index}]"));
        Issue::new(path, why)
    }
}

/// Everything wrong with the links of a thought, as far as the thought itself tells.
pub fn wrong_links<T: AsRef<str>>(
    kind: ThoughtType,
    supersedes: &[T],
    rejects: &[T],
    applies_to: &[T],
) -> Vec<WrongLink> {
    let mut wrong = Vec::new();
    for (field, ids) in [("supersedes", supersedes), ("rejects", rejects)] {
        let of_type = match kind {
            ThoughtType::Plan => Some("a plan"),
            ThoughtType::Analysis => Some("an analysis"),
            ThoughtType::Decision | ThoughtType::Reflection => None,
        };
        if let Some(of_type) = of_type.filter(|_| !ids.is_empty()) {
            wrong.push(WrongLink { field, index: None, why: LinkError::OfType(of_type) });
        }
        wrong_texts(field, ids, MAX_LINKS, MAX_LABEL_CHARS, &mut wrong);
    }
    wrong_texts("applies_to", applies_to, MAX_SUBJECTS, MAX_SUBJECT_CHARS, &mut wrong);
    wrong
}

fn wrong_texts<T: AsRef<str>>(
    field: &'static str,
    texts: &[T],
    limit: usize,
    chars: usize,
    wrong: &mut Vec<WrongLink>,
) {
    if texts.len() > limit {
        let why = LinkError::TooMany { found: texts.len(), limit };
        // More of them would only make the answer longer.
        return wrong.push(WrongLink { field, index: None, why });
    }
    let mut seen = HashSet::new();
    for (index, text) in texts.iter().map(AsRef::as_ref).enumerate() {
        let why = match check_text(text, chars) {
            Err(error) => LinkError::Text(error),
            Ok(()) if !seen.insert(text) => LinkError::Repeated(text.to_string()),
            Ok(()) => continue,
        };
        wrong.push(WrongLink { field, index: Some(index), why });
    }
}
