//! The snapshots of a roadmap page by page, and the thoughts that rest on one.

use cairn_core::id::SessionId;
use cairn_core::preview::TRAIL_CHARS;
use cairn_core::tree::Summary;
use serde::Serialize;

use super::{ContextHead, roadmap_id_of, within};
use crate::error::Result;
use crate::handle::Cairn;
use crate::read::Listing;
use crate::store::{Contexts, Damage, Thoughts};

/// Part of the snapshots of a roadmap, newest first.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ContextsPage {
    /// The snapshots.
    pub contexts: Vec<ContextHead>,
    /// Snapshots that belong here and cannot be shown, because they do not match the log.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub damaged: Vec<Damage>,
    /// How many there are of this roadmap.
    pub total: u64,
    /// What to ask for `before` to get the next page, if there is one.
    pub next: Option<u64>,
}

/// The thoughts that name a snapshot.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ThoughtsOnContext {
    /// How many there are.
    pub total: u64,
    /// The newest of them, newest first.
    pub thoughts: Vec<ContextThought>,
    /// Thoughts that belong here and cannot be shown, because they do not match the log.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub damaged: Vec<Damage>,
}

/// A thought that names a snapshot.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ContextThought {
    /// The thought, its content cut to 150 characters.
    #[serde(flatten)]
    pub thought: Summary,
    /// The session it belongs to.
    pub session_id: SessionId,
}

impl Cairn {
    /// Lists the snapshots of a roadmap, newest first, 1 to 1,000 a page: those before a snapshot, or all.
    pub fn contexts_page(&self, roadmap_id: &str, before: Option<u64>, limit: u64) -> Result<ContextsPage> {
        let roadmap_id = roadmap_id_of(roadmap_id)?;
        let limit = within("limit", Some(limit), limit, 1000)?;
        let store = &self.inner.store;
        let history = Contexts::History { roadmap_id: roadmap_id.as_str(), before, limit: limit + 1 };
        let Listing { records: mut contexts, damaged } = self.heads(&history, Some(&roadmap_id))?;
        let more = (contexts.len() + damaged.len()) as u64 > limit;
        contexts.truncate(limit as usize);
        let next = contexts.last().filter(|_| more).map(|last| last.context_id);
        Ok(ContextsPage { contexts, damaged, total: store.context_count(roadmap_id.as_str())?, next })
    }

    /// Returns the thoughts that name a snapshot, newest first, at most `limit` of them: 1 to 1,000.
    pub fn thoughts_on(&self, context_id: u64, limit: u64) -> Result<ThoughtsOnContext> {
        let limit = within("limit", Some(limit), limit, 1000)?;
        let total = self.inner.store.count_on(context_id)?;
        let wanted = || format!("a thought that names context {context_id}");
        let found = self.thoughts(&Thoughts::OnContext { context_id, limit }, wanted, |thought| {
            thought.context_id == Some(context_id)
        })?;
        let Listing { records: thoughts, damaged } = found.map(|thought| ContextThought {
            session_id: thought.session_id.clone(),
            thought: Summary::of(thought, TRAIL_CHARS),
        });
        Ok(ThoughtsOnContext { total, thoughts, damaged })
    }
}
