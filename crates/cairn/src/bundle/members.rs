//! The records of a part of a log: each belongs to it, and none is left out between them.

use cairn_core::entry::{BRIEF, EVENT, THOUGHT};
use serde::Deserialize;

use super::Selection;
use crate::error::Result;
use crate::store::Damage;

/// Follows the entries that are exported.
pub struct Members<'a> {
    selection: &'a Selection,
    /// The position of the next thought, in its session or task.
    next_thought: u64,
    /// The position of the next event in its session.
    next_event: u64,
}

/// The fields of an entry that say where it belongs.
#[derive(Deserialize)]
struct Place {
    kind: String,
    session_id: Option<String>,
    task_id: Option<String>,
    step_index: Option<u64>,
    position: Option<u64>,
}

impl<'a> Members<'a> {
    /// Starts before the first entry.
    pub fn new(selection: &'a Selection) -> Members<'a> {
        Members { selection, next_thought: 0, next_event: 0 }
    }

    /// Takes an entry into account; fails if it belongs elsewhere, or one before it is left out.
    pub fn see(&mut self, seq: u64, leaf: &str) -> Result<()> {
        let (session, task) = match self.selection {
            Selection::All => return Ok(()),
            Selection::Session(name) => (Some(name), None),
            Selection::Task(name) => (None, Some(name)),
        };
        let place: Place =
            serde_json::from_str(leaf).map_err(|_| Damage::at(seq, "its entry cannot be read"))?;
        let belongs = match place.kind.as_str() {
            THOUGHT | EVENT | BRIEF => match (session, task) {
                (Some(session), _) => place.session_id.as_ref() == Some(session),
                (_, task) => place.task_id.as_ref() == task,
            },
            _ => return Ok(()),
        };
        if !belongs {
            return Err(Damage::at(seq, "an index lists it where it does not belong").into());
        }
        let (found, next) = match (place.kind.as_str(), session) {
            (THOUGHT, Some(_)) => (place.step_index, &mut self.next_thought),
            (THOUGHT, None) => (place.position, &mut self.next_thought),
            (EVENT, _) => (place.position, &mut self.next_event),
            _ => return Ok(()),
        };
        if found != Some(*next) {
            return Err(
                Damage::at(seq, format!("the {} before it is missing from an index", place.kind)).into()
            );
        }
        *next += 1;
        Ok(())
    }
}
