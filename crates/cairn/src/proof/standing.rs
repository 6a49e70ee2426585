//! How a log stands to what was seen of it: in its own place, and in others.
//!
//! This is the only place that decides. `verify`, `doctor`, `record`, the servers and the viewer all ask it, so that
//! they say the same.

use cairn_core::Sha;
use serde::Serialize;

use super::heads::{Remembered, SeenHead};

/// How a log stands to what was seen in its own place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// Nothing that was seen tells anything about it.
    Unknown,
    /// It extends everything that was seen here. The head is the newest that it contains.
    Extends(SeenHead),
    /// It is shorter than it was in this place: an older state was put back.
    Behind {
        /// The newest head seen here.
        newest: SeenHead,
    },
    /// It contradicts a head seen in this place: it was rewritten.
    Diverged {
        /// The head that it contradicts.
        head: SeenHead,
        /// The largest size seen here at which it still agrees.
        agrees_at: Option<u64>,
    },
    /// `cairn log new` has replaced it: it is kept to be read.
    Closed {
        /// When.
        at: String,
    },
    /// It could not be compared: the database is damaged, or the remembered heads cannot be read.
    Unreadable {
        /// Why not.
        why: String,
    },
    /// Another log was seen at this place.
    OtherLog {
        /// Its name.
        origin: String,
        /// Its newest head, if one is remembered.
        newest: Option<SeenHead>,
    },
}

impl Standing {
    /// Whether the log can go on: nothing that was seen in its place is missing or different.
    pub fn is_sound(&self) -> bool {
        matches!(self, Standing::Unknown | Standing::Extends(_) | Standing::Closed { .. })
    }

    /// The head that tells.
    pub fn head(&self) -> Option<&SeenHead> {
        match self {
            Standing::Extends(head) | Standing::Behind { newest: head } | Standing::Diverged { head, .. } => {
                Some(head)
            }
            Standing::OtherLog { newest, .. } => newest.as_ref(),
            Standing::Unknown | Standing::Closed { .. } | Standing::Unreadable { .. } => None,
        }
    }

    /// Says it in a few words, without a full stop.
    pub fn words(&self) -> String {
        match self {
            Standing::Unknown => "nothing is remembered of this log".to_string(),
            Standing::Extends(_) => "the log extends what was seen of it".to_string(),
            Standing::Behind { .. } => {
                "an older state was put back: the log is shorter than it was in this place".to_string()
            }
            Standing::Diverged { .. } => {
                "the log was rewritten: it is not the one that was seen in this place".to_string()
            }
            Standing::Closed { at } => {
                format!("the log was closed by `cairn log new` on {at}, and is kept to be read")
            }
            Standing::Unreadable { why } => {
                format!("the log cannot be compared with what is remembered of it: {why}")
            }
            Standing::OtherLog { origin, .. } => format!("another log was seen in this place: {origin}"),
        }
    }
}

/// A copy of the log, seen elsewhere, that this log does not extend.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SeenCopy {
    /// The path or address of the copy, or the witness that saw it.
    pub place: String,
    /// Entries it had when it was last seen.
    pub size: u64,
    /// When that was, as text.
    pub at: String,
    /// How this log and the copy differ.
    pub relation: Relation,
}

/// How a log and a copy of it differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Relation {
    /// The copy has more entries: this log is an older state of it.
    Newer,
    /// Both have grown from one past.
    Fork {
        /// So many first entries are known to be the same, if any are.
        same: Option<u64>,
        /// Among so many first entries, there is one that differs.
        differs: u64,
    },
}

impl SeenCopy {
    /// Says it in one sentence, without a full stop.
    pub fn words(&self) -> String {
        let SeenCopy { place, size, at, relation } = self;
        match relation {
            Relation::Newer => {
                format!("this is an older copy: `{place}` had {} on {at}", count_of(*size))
            }
            Relation::Fork { same, differs } => {
                let same = match same {
                    Some(same) if same + 1 == *differs => {
                        format!("both have the same first {}, and differ after that", count_of(*same))
                    }
                    Some(same) => {
                        format!(
                            "the first {} are the same in both, the first {differs} are not",
                            count_of(*same)
                        )
                    }
                    None => format!("the first {} are not the same", count_of(*differs)),
                };
                format!(
                    "the log has forked: `{place}`, seen on {at} with {}, has grown apart from this database; {same}. \
                     Neither is damaged; `cairn doctor` shows how to end the fork",
                    count_of(*size)
                )
            }
        }
    }
}

fn count_of(entries: u64) -> String {
    if entries == 1 { "1 entry".to_string() } else { format!("{entries} entries") }
}

/// How a log stands to everything that was seen of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    /// In its own place.
    pub standing: Standing,
    /// The copies elsewhere that it does not extend.
    pub copies: Vec<SeenCopy>,
}

impl From<Standing> for Comparison {
    fn from(standing: Standing) -> Comparison {
        Comparison { standing, copies: Vec::new() }
    }
}

/// Compares a log in a place with what is remembered. `remembered` must have been read before `size`, so that an
/// honest writer in between only makes the log longer than what is remembered.
pub fn compare<E>(
    remembered: &Remembered,
    here: &str,
    size: u64,
    mut root_at: impl FnMut(u64) -> Result<Sha, E>,
) -> Result<Comparison, E> {
    let mut held: Option<SeenHead> = None;
    let mut copies = Vec::new();
    let own = remembered.places.get(here);
    match relate(own.map_or(&[], |own| &own.heads), size, &mut root_at)? {
        Related::Nothing => {}
        Related::Extends(head) => held = Some(head.clone()),
        Related::Behind { newest, .. } => return Ok(Standing::Behind { newest: newest.clone() }.into()),
        Related::Contradicts { head, same, .. } => {
            return Ok(Standing::Diverged { head: head.clone(), agrees_at: same }.into());
        }
    }
    if let Some(at) = own.and_then(|own| own.closed.clone()) {
        return Ok(Standing::Closed { at }.into());
    }
    for (place, seen) in remembered.places.iter().filter(|(place, _)| *place != here) {
        if let Some(at) = &seen.closed {
            // It does not go on, so it cannot grow apart. This may be the closed log itself, moved once more.
            if own.is_none()
                && let Some(last) = seen.heads.last().filter(|last| last.size == size)
                && root_at(size)? == last.root
            {
                return Ok(Standing::Closed { at: at.clone() }.into());
            }
            continue;
        }
        let (newest, relation) = match relate(&seen.heads, size, &mut root_at)? {
            Related::Nothing => continue,
            Related::Extends(head) => {
                longer(&mut held, head);
                continue;
            }
            Related::Behind { newest, same } => {
                if let Some(same) = same {
                    longer(&mut held, same);
                }
                (newest, Relation::Newer)
            }
            Related::Contradicts { newest, same, differs, .. } => (newest, Relation::Fork { same, differs }),
        };
        copies.push(SeenCopy { place: place.clone(), size: newest.size, at: newest.at.clone(), relation });
    }
    Ok(Comparison { standing: held.map_or(Standing::Unknown, Standing::Extends), copies })
}

fn longer(held: &mut Option<SeenHead>, head: &SeenHead) {
    if held.as_ref().is_none_or(|held| held.size < head.size) {
        *held = Some(head.clone());
    }
}

enum Related<'h> {
    Nothing,
    /// The log contains every head; this is the newest.
    Extends(&'h SeenHead),
    /// The newest head is beyond the end of the log, and all others hold.
    Behind {
        newest: &'h SeenHead,
        /// The newest head that holds.
        same: Option<&'h SeenHead>,
    },
    Contradicts {
        /// The longest head that is contradicted.
        head: &'h SeenHead,
        newest: &'h SeenHead,
        /// The largest size that holds.
        same: Option<u64>,
        /// The smallest size that is known not to hold.
        differs: u64,
    },
}

/// Compares a log with the heads of one place, which are sorted by size.
fn relate<'h, E>(
    heads: &'h [SeenHead],
    size: u64,
    root_at: &mut impl FnMut(u64) -> Result<Sha, E>,
) -> Result<Related<'h>, E> {
    let Some(newest) = heads.last() else { return Ok(Related::Nothing) };
    let mut contradicted: Option<(&SeenHead, u64)> = None;
    let mut same = None;
    for head in heads.iter().rev().filter(|head| head.size <= size) {
        if root_at(head.size)? == head.root {
            same = Some(head);
            break;
        }
        contradicted = Some((contradicted.map_or(head, |(longest, _)| longest), head.size));
    }
    Ok(match (contradicted, same) {
        (Some((head, differs)), same) => {
            Related::Contradicts { head, newest, same: same.map(|head| head.size), differs }
        }
        (None, same) if newest.size > size => Related::Behind { newest, same },
        (None, _) => Related::Extends(newest),
    })
}
