//! Gaps in a listing of a whole session or task.

use cairn_core::Sha;
use cairn_core::thought::Thought;

use crate::error::Result;
use crate::handle::Cairn;
use crate::store::{ChainOf, Damage, ListFilter};

/// Follows the thoughts of a session or task while they are listed, and names those that are not there: the steps of a
/// session run from 0 without a gap, and each thought of a task names the hash of the one before it.
pub(crate) struct Gaps<'a> {
    of: Option<ChainOf<'a>>,
    /// Thoughts that the chain had before they were listed.
    length: u64,
    /// Thoughts listed, sound or not.
    seen: u64,
    /// The hash of the last thought; none after one that cannot be shown.
    last: Option<Sha>,
}

impl Cairn {
    /// Follows what `which` lists, if that is a whole session or task.
    pub(crate) fn gaps<'a>(&self, which: &ListFilter<'a>) -> Result<Gaps<'a>> {
        let of = match *which {
            ListFilter { task_id, session_id, kind: None, agent_id: None, after: None, to: None } => {
                match (session_id, task_id) {
                    (Some(session), None) => Some(ChainOf::Session(session)),
                    (None, Some(task)) => Some(ChainOf::Task(task)),
                    _ => None,
                }
            }
            _ => None,
        };
        let length = of.map_or(Ok(None), |of| self.inner.store.chain_length(of))?.unwrap_or(0);
        Ok(Gaps { of, length, seen: 0, last: Some(Sha::ZERO) })
    }

    /// Names the session or task that is there and not found by its label, where nothing was found.
    pub(crate) fn lost_labels(&self, which: &ListFilter<'_>) -> Result<Vec<Damage>> {
        let chains = [
            which.session_id.map(|name| ("session", name, ChainOf::Session(name))),
            which.task_id.map(|name| ("task", name, ChainOf::Task(name))),
        ];
        let mut lost = Vec::new();
        for (what, name, of) in chains.into_iter().flatten() {
            if !self.inner.store.is_found_by_label(of)? {
                let message = format!("the index of labels does not lead to {what} `{name}`");
                lost.push(Damage::new(message));
            }
        }
        Ok(lost)
    }
}

impl Gaps<'_> {
    /// Takes the next thought into account; none for one that cannot be shown.
    pub(crate) fn see(&mut self, thought: Option<&Thought>, damaged: &mut Vec<Damage>) {
        match (self.of, thought) {
            (Some(ChainOf::Session(session)), Some(thought)) if thought.step_index > self.seen => {
                damaged.push(missing(session, self.seen, thought.step_index));
                self.seen = thought.step_index;
            }
            (Some(ChainOf::Task(task)), Some(thought))
                if self.last.is_some_and(|last| last != thought.prev_hash) =>
            {
                let message =
                    format!("the thought before log entry {} in task `{task}` is missing", thought.seq);
                damaged.push(Damage::new(message));
            }
            _ => {}
        }
        self.seen += 1;
        self.last = thought.map(|thought| thought.hash);
    }

    /// Names what should have followed the last thought.
    pub(crate) fn end(&self, damaged: &mut Vec<Damage>) {
        if self.seen >= self.length {
            return;
        }
        match self.of {
            Some(ChainOf::Session(session)) => damaged.push(missing(session, self.seen, self.length)),
            // Those in between are named already.
            Some(ChainOf::Task(task)) if damaged.is_empty() => {
                let message =
                    format!("task `{task}` has {} thoughts, and {} are found", self.length, self.seen);
                damaged.push(Damage::new(message));
            }
            _ => {}
        }
    }
}

fn missing(session: &str, from: u64, to: u64) -> Damage {
    Damage::new(match to - from {
        1 => format!("step {from} of session `{session}` is missing"),
        _ => format!("steps {from} to {} of session `{session}` are missing", to - 1),
    })
}
