//! The records of a part of a log: each belongs to it, and none is left out between them.

use cairn_core::entry::Entry;

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

impl<'a> Members<'a> {
    /// Starts before the first entry.
    pub fn new(selection: &'a Selection) -> Members<'a> {
        Members { selection, next_thought: 0, next_event: 0 }
    }

    /// Takes an entry into account; fails if it belongs elsewhere, or one before it is left out.
    pub fn see(&mut self, entry: &Entry<'_>) -> Result<()> {
        let seq = entry.seq();
        let (session, task) = match self.selection {
            Selection::All => return Ok(()),
            Selection::Session(name) => (Some(name), None),
            Selection::Task(name) => (None, Some(name)),
        };
        let (session_id, task_id, found, next) = match entry {
            Entry::Thought(entry) => {
                let place = if session.is_some() { entry.step_index } else { entry.position };
                (&entry.session_id, Some(&*entry.task_id), Some(place), &mut self.next_thought)
            }
            Entry::Event(entry) => (&entry.session_id, None, Some(entry.position), &mut self.next_event),
            Entry::Brief(entry) => (&entry.session_id, None, None, &mut self.next_event),
            Entry::Genesis(_)
            | Entry::Snapshot(_)
            | Entry::Key(_)
            | Entry::Redaction(_)
            | Entry::Review(_)
            | Entry::Continuation(_) => return Ok(()),
        };
        let belongs = match (session, task) {
            (Some(session), _) => session_id == session,
            (None, task) => task_id == task.map(String::as_str),
        };
        if !belongs {
            return Err(Damage::at(seq, "an index lists it where it does not belong").into());
        }
        let Some(found) = found else { return Ok(()) };
        if found != *next {
            let kind = entry.kind();
            return Err(Damage::at(seq, format!("the {kind} before it is missing from an index")).into());
        }
        *next += 1;
        Ok(())
    }
}
