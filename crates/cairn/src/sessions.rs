//! The sessions of a database, page by page, with what a list shows of each.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Mutex;

use cairn_core::id::SessionId;
use cairn_core::preview::TREE_CHARS;
use cairn_core::thought::ThoughtType;
use cairn_core::time::Timestamp;
use cairn_core::tree::Summary;
use serde::Serialize;

use crate::error::{Error, Result};
use crate::handle::Cairn;
use crate::store::{Damage, ListFilter, Thoughts};

/// The most sessions on a page.
const MAX_PAGE: u64 = 1000;
/// The most authors that are named for a session.
const MAX_AGENTS: usize = 5;
/// Sessions whose counts are remembered at most.
const MAX_REMEMBERED: usize = 1 << 14;

/// Part of the list of sessions, newest activity first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SessionsPage {
    /// The sessions.
    pub sessions: Vec<ListedSession>,
    /// First thoughts of these sessions that cannot be shown, because they do not match the log.
    pub damaged: Vec<Damage>,
    /// What to ask for `before` to get the next page, if there is one.
    pub next: Option<u64>,
}

/// A session in the list.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ListedSession {
    /// Its label.
    pub session_id: SessionId,
    /// Thoughts in it.
    pub thoughts: u64,
    /// How many of each type.
    pub types: TypeCounts,
    /// Who thought them: up to five, the most recent first.
    pub agents: Vec<String>,
    /// When its first record was made, a thought or an event.
    pub first_at: Timestamp,
    /// When its newest was.
    pub last_at: Timestamp,
    /// Position of its newest record in the log.
    pub last_seq: u64,
    /// The turn its memory is in; none if it has no memory.
    pub turns: Option<u64>,
    /// Its first thought as a tree shows it: the content cut to 100 characters, empty if it was redacted.
    pub first_thought: Option<Summary>,
}

/// Thoughts of each type.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct TypeCounts {
    /// Plans.
    pub plan: u64,
    /// Analyses.
    pub analysis: u64,
    /// Decisions.
    pub decision: u64,
    /// Reflections.
    pub reflection: u64,
}

impl TypeCounts {
    fn add(&mut self, kind: ThoughtType) {
        *match kind {
            ThoughtType::Plan => &mut self.plan,
            ThoughtType::Analysis => &mut self.analysis,
            ThoughtType::Decision => &mut self.decision,
            ThoughtType::Reflection => &mut self.reflection,
        } += 1;
    }
}

/// What was counted of a session: thoughts are only ever added, so the next time only those are counted.
#[derive(Clone, Default)]
struct SessionTally {
    thoughts: u64,
    types: TypeCounts,
    /// The most recent first.
    agents: Vec<String>,
}

impl SessionTally {
    fn add(&mut self, kind: ThoughtType, agent: &str) {
        self.thoughts += 1;
        self.types.add(kind);
        match self.agents.iter().position(|known| known == agent) {
            Some(place) => self.agents[..=place].rotate_right(1),
            None => {
                self.agents.insert(0, agent.to_string());
                self.agents.truncate(MAX_AGENTS);
            }
        }
    }
}

/// The counts of sessions that were listed.
#[derive(Default)]
pub(crate) struct SessionTallies(Mutex<HashMap<SessionId, SessionTally>>);

impl SessionTallies {
    fn get(&self, session_id: &SessionId) -> SessionTally {
        self.0.lock().ok().and_then(|known| known.get(session_id).cloned()).unwrap_or_default()
    }

    fn keep(&self, session_id: SessionId, tally: SessionTally) {
        let Ok(mut known) = self.0.lock() else { return };
        if known.len() >= MAX_REMEMBERED && !known.contains_key(&session_id) {
            known.clear();
        }
        known.insert(session_id, tally);
    }
}

impl Cairn {
    /// Lists sessions by their newest record, newest first, 1 to 1,000 a page: those whose newest record is before a
    /// position of the log, or all.
    pub fn sessions_page(&self, before: Option<u64>, limit: u64) -> Result<SessionsPage> {
        if !(1..=MAX_PAGE).contains(&limit) {
            return Err(Error::invalid("limit", format!("must be between 1 and {MAX_PAGE}, found {limit}")));
        }
        let store = &self.inner.store;
        let mut found = store.sessions(before, limit + 1)?;
        let more = found.len() as u64 > limit;
        found.truncate(limit as usize);
        let next = found.last().filter(|_| more).map(|last| last.newest);
        let (mut sessions, mut damaged) = (Vec::with_capacity(found.len()), Vec::new());
        for session in found {
            let tally = self.tally(&session.session_id, session.thoughts)?;
            let first = self.first_thought(&session.session_id, &mut damaged)?;
            sessions.push(ListedSession {
                thoughts: session.thoughts,
                types: tally.types,
                agents: tally.agents,
                first_at: session.began_at,
                last_at: session.updated_at,
                last_seq: session.newest,
                turns: (session.events > 0).then_some(session.turn),
                first_thought: first,
                session_id: session.session_id,
            });
        }
        Ok(SessionsPage { sessions, damaged, next })
    }

    /// The first thought of a session as a tree shows it.
    fn first_thought(&self, session_id: &SessionId, damaged: &mut Vec<Damage>) -> Result<Option<Summary>> {
        let which = ListFilter { session_id: Some(session_id.as_str()), ..ListFilter::default() };
        let mut first = None;
        self.visit_thoughts(&Thoughts::Listed(which), &mut |read| {
            first = Some(read.and_then(|thought| {
                let is_first = thought.session_id == *session_id && thought.step_index == 0;
                let other = || {
                    Damage::at(thought.seq, format!("it is not the first thought of session `{session_id}`"))
                };
                if is_first { Ok(Summary::of(thought, TREE_CHARS)) } else { Err(other()) }
            }));
            ControlFlow::Break(())
        })?;
        Ok(first.and_then(|first| first.map_err(|damage| damaged.push(damage)).ok()))
    }

    /// Counts the first `thoughts` of a session, or goes on where it stopped the last time.
    fn tally(&self, session_id: &SessionId, thoughts: u64) -> Result<SessionTally> {
        let mut tally = self.inner.tallies.get(session_id);
        if tally.thoughts > thoughts {
            // Another call has counted further meanwhile, or the file was put back to an older one.
            tally = SessionTally::default();
        }
        if tally.thoughts < thoughts {
            let from = tally.thoughts;
            let add = &mut |kind, agent: &str| tally.add(kind, agent);
            self.inner.store.steps(session_id.as_str(), from, thoughts, add)?;
            self.inner.tallies.keep(session_id.clone(), tally.clone());
        }
        Ok(tally)
    }
}
