//! Reading thoughts: one, a listing, a tree, a trail, a search.

use std::ops::ControlFlow;

use cairn_core::id::ThoughtId;
use cairn_core::preview::{ACTION_CHARS, TRAIL_CHARS, TREE_CHARS};
use cairn_core::thought::{Issue, Thought};
use cairn_core::tree::Summary;

use crate::error::{Error, Result};
use crate::handle::Cairn;
use crate::read::{ActionThought, Filter, Listing, Page, PageEnd};
use crate::search::{self, RANKED, SearchHit, SearchQuery, SearchResults};
use crate::store::{Damage, FoundThought, ListFilter, Read, SearchScope, Thoughts};

/// The most records in one page of a listing.
pub(crate) const MAX_PAGE_RECORDS: u64 = 10_000;
/// The most bytes in one page of a listing, more or less.
const MAX_PAGE_BYTES: usize = 8 << 20;
/// Bytes of hashes, ids and labels of a thought in JSON.
const BESIDE_CONTENT: usize = 600;

impl Cairn {
    /// Returns one thought, or none.
    pub fn get(&self, id: &str) -> Result<Option<Thought>> {
        let mut found = None;
        self.visit_thoughts(&Thoughts::Id(id), &mut |read| {
            found = Some(read);
            ControlFlow::Break(())
        })?;
        match found.transpose()? {
            Some(thought) if thought.id.as_str() != id => {
                Err(Damage::at(thought.seq, format!("it is not thought `{id}`")).into())
            }
            found => Ok(found),
        }
    }

    /// Returns the id that begins with `prefix`, if there is exactly one.
    pub fn resolve(&self, prefix: &str) -> Result<ThoughtId> {
        let not_found = || Error::NotFound { what: "thought", id: prefix.to_string() };
        if prefix.is_empty() {
            return Err(not_found());
        }
        let mut found = self.inner.store.ids_with_prefix(prefix, 6)?;
        if let Some(exact) = found.iter().position(|id| id.as_str() == prefix) {
            return Ok(found.swap_remove(exact));
        }
        match found.len() {
            0 => Err(not_found()),
            1 => Ok(found.swap_remove(0)),
            _ => {
                let more = if found.len() > 5 { ", …" } else { "" };
                let ids: Vec<String> = found.iter().take(5).map(|id| id.to_string()).collect();
                let message = format!("`{prefix}` could be any of {}{more}; give more of it", ids.join(", "));
                Err(Error::Invalid(vec![Issue::new("id", message)]))
            }
        }
    }

    /// Lists thoughts in the order in which they were recorded.
    ///
    /// Without a limit everything that matches is returned, up to 10,000 records or 8 MiB; then the page has
    /// a cursor for the next.
    pub fn list(&self, filter: &Filter) -> Result<Page> {
        let mut records = Vec::new();
        let PageEnd { damaged, next_cursor } =
            self.list_each(filter, &mut |thought| records.push(thought))?;
        Ok(Page { records, damaged, next_cursor })
    }

    /// Visits the thoughts of a page of [`Cairn::list`] one by one, so that not all of them have to be in memory.
    pub fn list_each(&self, filter: &Filter, visit: &mut dyn FnMut(Thought)) -> Result<PageEnd> {
        let after = match &filter.cursor {
            None => None,
            Some(cursor) => Some(
                cursor
                    .parse::<u64>()
                    .map_err(|_| Error::invalid("cursor", "must be the next_cursor of an earlier page"))?,
            ),
        };
        if filter.limit == Some(0) {
            return Err(Error::invalid("limit", "must be at least 1, found 0"));
        }
        let limit = filter.limit.unwrap_or(MAX_PAGE_RECORDS).min(MAX_PAGE_RECORDS) as usize;
        let which = ListFilter {
            task_id: filter.task_id.as_deref(),
            session_id: filter.session_id.as_deref(),
            kind: filter.kind,
            agent_id: filter.agent_id.as_deref(),
            after,
            to: None,
        };
        let mut damaged = Vec::new();
        let mut gaps = self.gaps(&which)?;
        let (mut seen, mut bytes, mut last) = (0, 0, None);
        let mut more = false;
        self.visit_thoughts(&Thoughts::Listed(which.clone()), &mut |read| {
            more = seen == limit || (bytes > MAX_PAGE_BYTES && seen > 0);
            if more {
                return ControlFlow::Break(());
            }
            seen += 1;
            bytes += read.as_ref().map_or(0, |thought| thought.content.len()) + BESIDE_CONTENT;
            let read = read.and_then(|thought| asked_for(&which, thought));
            last = read.as_ref().map_or_else(|damage| damage.seq, |thought| Some(thought.seq)).or(last);
            gaps.see(read.as_ref().ok(), &mut damaged);
            match read {
                Ok(thought) => visit(thought),
                Err(damage) => damaged.push(damage),
            }
            ControlFlow::Continue(())
        })?;
        if !more {
            gaps.end(&mut damaged);
        }
        if seen == 0 {
            damaged.extend(self.lost_labels(&which)?);
        }
        let next_cursor = last.filter(|_| more).map(|last| last.to_string());
        Ok(PageEnd { damaged, next_cursor })
    }

    /// Returns the thoughts of a session in order; [`cairn_core::tree::nest`] makes a tree of them.
    ///
    /// Content is cut to 100 characters unless `include_content` is set.
    pub fn tree(&self, session_id: &str, include_content: bool) -> Result<Listing<Summary>> {
        let chars = if include_content { usize::MAX } else { TREE_CHARS };
        let which = ListFilter { session_id: Some(session_id), ..ListFilter::default() };
        let mut listing = Listing::default();
        let mut gaps = self.gaps(&which)?;
        self.visit_thoughts(&Thoughts::Listed(which.clone()), &mut |read| {
            let read = read.and_then(|thought| asked_for(&which, thought));
            gaps.see(read.as_ref().ok(), &mut listing.damaged);
            listing.add(read.map(|thought| Summary::of(thought, chars)));
            ControlFlow::Continue(())
        })?;
        gaps.end(&mut listing.damaged);
        if listing.records.is_empty() && listing.damaged.is_empty() {
            listing.damaged.extend(self.lost_labels(&which)?);
        }
        Ok(listing)
    }

    /// Returns the path from the root of a session to one of its thoughts.
    pub fn trail(&self, id: &str, session_id: Option<&str>) -> Result<Listing<Summary>> {
        let thought = self.get(id)?.ok_or_else(|| Error::NotFound { what: "thought", id: id.to_string() })?;
        if let Some(session_id) = session_id.filter(|given| *given != thought.session_id.as_str()) {
            let message =
                format!("thought `{id}` belongs to session `{}`, not to `{session_id}`", thought.session_id);
            return Err(Error::invalid("session_id", message));
        }
        self.path(&thought)
    }

    /// The path from the root to a thought: each follows from the one before it.
    fn path(&self, to: &Thought) -> Result<Listing<Summary>> {
        let wanted = || format!("a thought of session `{}`", to.session_id);
        let asked = |thought: &Thought| thought.session_id == to.session_id;
        let path = self.thoughts(&Thoughts::PathTo(to.id.as_str()), wanted, asked)?;
        let mut listing = Listing { records: Vec::with_capacity(path.records.len()), damaged: path.damaged };
        let mut before: Option<ThoughtId> = None;
        for thought in path.records {
            // After a damaged thought nobody knows its id.
            if thought.parent_id != before && listing.damaged.is_empty() {
                let what = "the thought it follows from is not the one before it on its path";
                listing.damaged.push(Damage::at(thought.seq, what));
            }
            before = Some(thought.id.clone());
            listing.records.push(Summary::of(thought, TRAIL_CHARS));
        }
        Ok(listing)
    }

    /// Returns the thoughts that led to an action.
    pub fn for_action(&self, action_id: &str) -> Result<Listing<ActionThought>> {
        let short = |thought: Thought| ActionThought {
            session_id: thought.session_id.clone(),
            thought: Summary::of(thought, ACTION_CHARS),
        };
        Ok(self.led_to(action_id)?.map(short))
    }

    /// Returns, for each thought that led to an action, the path from its root to it.
    pub fn reasoning_trail(&self, action_id: &str) -> Result<Listing<Vec<Summary>>> {
        let led_to = self.led_to(action_id)?;
        let mut trails = Listing { records: Vec::new(), damaged: led_to.damaged };
        for thought in &led_to.records {
            let Listing { records, damaged } = self.path(thought)?;
            trails.records.push(records);
            trails.damaged.extend(damaged);
        }
        Ok(trails)
    }

    fn led_to(&self, action_id: &str) -> Result<Listing<Thought>> {
        let behind = self.catch_up_if_possible()?;
        let wanted = || format!("a thought that led to action `{action_id}`");
        let asked = |thought: &Thought| thought.action_id.as_ref().is_some_and(|id| id.as_str() == action_id);
        let mut found = self.thoughts(&Thoughts::Action(action_id), wanted, asked)?;
        if behind > 0 {
            // The list of actions does not cover the newest thoughts, so those are looked at one by one.
            let after = Some(self.inner.store.derived_through()?);
            let newer = Thoughts::Listed(ListFilter { after, ..ListFilter::default() });
            self.visit_thoughts(&newer, &mut |read| {
                if read.as_ref().map_or(true, asked) {
                    found.add(read);
                }
                ControlFlow::Continue(())
            })?;
        }
        Ok(found)
    }

    /// Searches content and metadata, best match first.
    pub fn search(&self, query: &SearchQuery) -> Result<SearchResults> {
        let terms = search::parse(&query.query)?;
        let limit = query.limit.unwrap_or(20);
        if !(1..=100).contains(&limit) {
            return Err(Error::invalid("limit", format!("must be between 1 and 100, found {limit}")));
        }
        let not_covered = self.catch_up_if_possible()?;
        let scope = SearchScope {
            session_id: query.session_id.as_deref(),
            task_id: query.task_id.as_deref(),
            kind: query.kind,
        };
        let (found, more) = self.inner.store.search(&terms, &scope, limit as usize, RANKED)?;
        let which = ListFilter {
            session_id: scope.session_id,
            task_id: scope.task_id,
            kind: scope.kind,
            ..ListFilter::default()
        };
        let (mut results, mut damaged) = (Vec::new(), Vec::new());
        let seqs: Vec<u64> = found.iter().map(|hit| hit.seq).collect();
        let mut hits = found.into_iter().peekable();
        let missing = |hit: &FoundThought, damaged: &mut Vec<Damage>| {
            let place = hit.seq;
            damaged
                .push(Damage::new(format!("the search index names log entry {place}, where no thought is")));
        };
        self.visit_thoughts(&Thoughts::At(&seqs), &mut |read| {
            let read = read.and_then(|thought| asked_for(&which, thought));
            let seq = read.as_ref().map_or_else(|damage| damage.seq, |thought| Some(thought.seq));
            // Thoughts come in the order of the hits, without those that are missing.
            while let Some(hit) = hits.next_if(|hit| Some(hit.seq) != seq) {
                missing(&hit, &mut damaged);
            }
            let Some(FoundThought { rank, snippet, .. }) = hits.next() else { return ControlFlow::Break(()) };
            match read {
                Ok(thought) => results.push(SearchHit { thought, rank, snippet }),
                Err(damage) => damaged.push(damage),
            }
            ControlFlow::Continue(())
        })?;
        hits.for_each(|hit| missing(&hit, &mut damaged));
        damaged.extend(self.lost_labels(&which)?);
        Ok(SearchResults { results, damaged, ranked_newest: more.then_some(RANKED as u64), not_covered })
    }
}

/// Whether a thought is one that a filter asks for.
fn asked_for(which: &ListFilter<'_>, thought: Thought) -> Read<Thought> {
    let other =
        |what: &str, name: &str| Err(Damage::at(thought.seq, format!("it is not of {what} `{name}`")));
    match which {
        ListFilter { session_id: Some(session), .. } if *session != thought.session_id.as_str() => {
            other("session", session)
        }
        ListFilter { task_id: Some(task), .. } if *task != thought.task_id.as_str() => other("task", task),
        ListFilter { kind: Some(kind), .. } if *kind != thought.kind => other("type", kind.as_str()),
        ListFilter { agent_id: Some(agent), .. } if *agent != thought.agent_id.as_str() => {
            other("agent", agent)
        }
        _ => Ok(thought),
    }
}
