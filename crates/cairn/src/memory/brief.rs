//! Building, storing, verifying and comparing briefs.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use cairn_core::Sha;
use cairn_core::brief::tokens::Counter;
use cairn_core::brief::{Brief, Depth, Layout, Material, Node, Options, TraceThought, build, needed_bodies};
use cairn_core::canonical;
use cairn_core::id::{BriefId, SessionId};
use cairn_core::redaction::Redaction;
use cairn_core::session::SessionState;
use cairn_core::thought::Thought;
use cairn_core::time::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::append::session_id_of;
use crate::checked::{self, CheckedBrief};
use crate::clock::new_id;
use crate::error::{Error, Result};
use crate::handle::Cairn;
use crate::read::Listing;
use crate::store::{Damage, ListFilter, Need, StoreError, Thoughts, Visit};
use crate::writer::StoreBrief;

/// How often a session that keeps changing is read again.
const ROUNDS: usize = 20;
/// A brief looks for the first line of a thought in so many characters.
const FIRST_CHARS: usize = 400;

/// A brief to be built.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct BriefRequest {
    /// The session.
    pub session_id: String,
    /// `understand`, `think`, `act` or `reply`.
    pub node: String,
    /// The turn; the current one if not given.
    pub turn: Option<u64>,
    /// The most tokens.
    pub budget: Option<u64>,
    /// `2`, `5` or `full`.
    pub depth: Option<String>,
    /// `seed` or `cache`.
    pub layout: Option<String>,
    /// `est-1`, a factor (tokens a character, such as `0.3`), or `o200k` if built with that feature.
    pub counter: Option<String>,
    /// What the node is to do.
    pub task: Option<String>,
}

/// A brief that was built, and perhaps stored.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BuiltBrief {
    /// Its id, if it was stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub brief_id: Option<BriefId>,
    /// The brief.
    #[serde(flatten)]
    pub brief: Brief,
}

/// A stored brief.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StoredBriefView {
    /// Its id.
    pub brief_id: BriefId,
    /// Its session.
    pub session_id: SessionId,
    /// When it was stored.
    pub created_at: Timestamp,
    /// Its hash.
    pub hash: Sha,
    /// The brief as it was built; null if it was redacted.
    pub brief: Value,
    /// That it was redacted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redacted: Option<Redaction>,
}

/// A stored brief in a listing.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BriefInfo {
    /// Its id.
    pub brief_id: BriefId,
    /// Its session.
    pub session_id: SessionId,
    /// The node it is for.
    pub node: String,
    /// The turn.
    pub turn: u64,
    /// Its position in the log.
    pub seq: u64,
    /// When it was stored.
    pub created_at: Timestamp,
    /// Its hash.
    pub hash: Sha,
}

/// What differs between two stored briefs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BriefComparison {
    /// The one.
    pub brief_id1: BriefId,
    /// The other.
    pub brief_id2: BriefId,
    /// Its hash.
    pub hash1: Sha,
    /// The other's hash.
    pub hash2: Sha,
    /// Whether both say the same.
    pub identical: bool,
    /// The sections that differ.
    pub sections: Vec<SectionComparison>,
}

/// What differs in one section.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SectionComparison {
    /// The section.
    pub id: String,
    /// Texts that only the one has.
    pub only_in_1: Vec<String>,
    /// Texts that only the other has.
    pub only_in_2: Vec<String>,
}

/// What is kept of a stored brief.
#[derive(Serialize, Deserialize)]
pub(super) struct Kept {
    pub brief: Value,
    pub request: BriefRequest,
}

impl Cairn {
    /// Builds the brief for a node; `store` keeps it, so that a thought can name it.
    pub fn brief_build(&self, request: &BriefRequest, store: bool) -> Result<BuiltBrief> {
        let session_id = session_id_of(&request.session_id)?;
        let options = options(request)?;
        request.task.as_ref().map_or(Ok(()), |task| self.check_text("task", task))?;
        let (brief, _) = self.build_at(&session_id, &options, request.turn, None)?;
        if !store {
            return Ok(BuiltBrief { brief_id: None, brief });
        }
        let id = BriefId::new(new_id()?.to_string()).map_err(|error| StoreError::Other(error.to_string()))?;
        // The budget as the brief has it: a larger number than anyone needs cannot be written down.
        let request = BriefRequest { turn: Some(brief.turn), budget: brief.budget, ..request.clone() };
        let kept = Kept { brief: json!(brief), request };
        let data = canonical::to_bytes(&json!(kept)).map_err(|error| Error::invalid("brief", error))?;
        let stored = StoreBrief {
            id: id.clone(),
            session_id,
            node: options.node.as_str(),
            turn: brief.turn,
            hash: brief.hash,
            data: String::from_utf8(data).map_err(|error| StoreError::Other(error.to_string()))?,
        };
        let needs = vec![Need::Session(stored.session_id.to_string())];
        self.writer()?.write_with(needs, move |step| step.store_brief(&stored))?;
        Ok(BuiltBrief { brief_id: Some(id), brief })
    }

    /// Returns a stored brief, or none.
    pub fn brief(&self, brief_id: &str) -> Result<Option<StoredBriefView>> {
        let Some(read) = self.read_brief(brief_id)? else { return Ok(None) };
        let brief = if read.redacted.is_some() { Value::Null } else { kept(&read)?.brief };
        Ok(Some(StoredBriefView {
            brief_id: read.id,
            session_id: read.session_id,
            created_at: read.created_at,
            hash: read.hash,
            brief,
            redacted: read.redacted,
        }))
    }

    /// Lists stored briefs, of one session or of all, newest first: 1 to 1,000, 50 if no limit is given.
    pub fn briefs(&self, session_id: Option<&str>, limit: Option<u64>) -> Result<Listing<BriefInfo>> {
        let limit = limit.unwrap_or(50);
        if !(1..=1000).contains(&limit) {
            return Err(Error::invalid("limit", format!("must be between 1 and 1000, found {limit}")));
        }
        let session_id = session_id.map(session_id_of).transpose()?;
        if let Some(session_id) = &session_id
            && self.inner.store.memory(session_id.as_str())?.is_none()
        {
            return Err(Error::NotFound { what: "session", id: session_id.to_string() });
        }
        let mut buffer = Vec::new();
        let mut listing = Listing::default();
        let of = session_id.as_ref().map(SessionId::as_str);
        self.inner.store.briefs(of, limit, &mut |stored| {
            listing.add(checked::brief(stored, &mut buffer).and_then(|read| {
                if let Some(session_id) = session_id.as_ref().filter(|id| **id != read.session_id) {
                    return Err(Damage::at(read.seq, format!("it is not a brief of session `{session_id}`")));
                }
                Ok(BriefInfo {
                    brief_id: read.id,
                    session_id: read.session_id,
                    node: read.node,
                    turn: read.turn,
                    seq: read.seq,
                    created_at: read.created_at,
                    hash: read.hash,
                })
            }));
            ControlFlow::Continue(())
        })?;
        Ok(listing)
    }

    /// Says what differs between two stored briefs.
    pub fn brief_compare(&self, brief_id1: &str, brief_id2: &str) -> Result<BriefComparison> {
        let briefs = [self.stored_brief(brief_id1)?, self.stored_brief(brief_id2)?];
        for read in &briefs {
            if let Some(Redaction { by, at, .. }) = &read.redacted {
                let message =
                    format!("brief `{}` was redacted by {by} on {at}: it cannot be compared", read.id);
                return Err(Error::Conflict(message));
            }
        }
        let [first, second] = briefs;
        let (one, other) = (texts(&kept(&first)?.brief), texts(&kept(&second)?.brief));
        let mut ids: Vec<&String> = one.iter().chain(&other).map(|(id, _)| id).collect();
        ids.dedup();
        let of = |side: &[(String, Vec<String>)], id: &str| -> Vec<String> {
            side.iter().filter(|(name, _)| name == id).flat_map(|(_, texts)| texts.clone()).collect()
        };
        let mut sections: Vec<SectionComparison> = Vec::new();
        for id in ids {
            if sections.iter().any(|section| section.id == *id) {
                continue;
            }
            let (only_in_1, only_in_2) = apart(of(&one, id), of(&other, id));
            sections.push(SectionComparison { id: id.clone(), only_in_1, only_in_2 });
        }
        sections.retain(|section| !section.only_in_1.is_empty() || !section.only_in_2.is_empty());
        Ok(BriefComparison {
            brief_id1: first.id,
            brief_id2: second.id,
            hash1: first.hash,
            hash2: second.hash,
            identical: first.hash == second.hash,
            sections,
        })
    }

    /// A stored brief that matches the log.
    pub(super) fn read_brief(&self, brief_id: &str) -> Result<Option<CheckedBrief>> {
        let read = |visit: Visit<'_>| self.inner.store.brief(brief_id, visit);
        match checked::one(read, checked::brief)? {
            Some(read) if read.id.as_str() != brief_id => {
                Err(Damage::at(read.seq, format!("it is not brief `{brief_id}`")).into())
            }
            read => Ok(read),
        }
    }

    fn stored_brief(&self, brief_id: &str) -> Result<CheckedBrief> {
        let not_found = || Error::NotFound { what: "brief", id: brief_id.to_string() };
        self.read_brief(brief_id)?.ok_or_else(not_found)
    }

    /// Builds a brief for a turn; if `seq` is given, from the events up to there alone. With the thoughts it saw.
    pub(super) fn build_at(
        &self,
        session_id: &SessionId,
        options: &Options,
        turn: Option<u64>,
        seq: Option<u64>,
    ) -> Result<(Brief, Vec<TraceThought>)> {
        let (state, seq) = match seq {
            Some(seq) => (self.fold_anew(session_id, seq)?, seq),
            None => self.point(session_id, turn)?,
        };
        // Thoughts of the newest turns are enough: no brief shows older ones.
        let first = state.turns.len().saturating_sub(4);
        let after = state.turns.get(first).map_or(0, |turn| turn.user.seq.saturating_sub(1));
        let thoughts = self.trace(session_id, after, seq)?;
        let mut bodies: HashMap<Sha, String> = HashMap::new();
        for digest in needed_bodies(&state, options.node) {
            if let Some(data) = self.body(&digest)? {
                bodies.insert(digest, data);
            }
        }
        let material = Material {
            session_id: session_id.as_str(),
            state: &state,
            seq,
            thoughts: &thoughts,
            body: &|digest| bodies.get(digest).map(String::as_str),
        };
        let brief = build(&material, options).map_err(|error| Error::BudgetTooSmall {
            budget: error.budget,
            item: error.item,
            needed: error.needed,
        })?;
        Ok((brief, thoughts))
    }

    /// The thoughts of a session after one position of the log and up to another: type and first line.
    fn trace(&self, session_id: &SessionId, after: u64, to: u64) -> Result<Vec<TraceThought>> {
        let which = ListFilter {
            session_id: Some(session_id.as_str()),
            after: Some(after),
            to: Some(to),
            ..ListFilter::default()
        };
        let mut buffer = Vec::new();
        let mut traced = Ok(Vec::new());
        self.inner.store.thoughts(&Thoughts::Listed(which), &mut |stored| {
            // The content stays sealed: a stored brief would keep it in the clear.
            let checked = checked::thought(stored, &mut buffer).and_then(|thought| {
                match thought.session_id == *session_id {
                    true => Ok(thought),
                    false => Err(Damage::at(thought.seq, format!("it is not of session `{session_id}`"))),
                }
            });
            match (&mut traced, checked) {
                (Ok(traced), Ok(thought)) => traced.push(TraceThought {
                    seq: thought.seq,
                    kind: thought.kind,
                    first_line: first_line(&thought),
                }),
                (_, Err(damage)) => traced = Err(damage),
                _ => {}
            }
            if traced.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        Ok(traced?)
    }

    /// The state in a turn, and the position in the log of the newest thing that takes part in it.
    pub(super) fn point(
        &self,
        session_id: &SessionId,
        turn: Option<u64>,
    ) -> Result<(Arc<SessionState>, u64)> {
        let not_found = || Error::NotFound { what: "session", id: session_id.to_string() };
        for _ in 0..ROUNDS {
            let now = self.state(session_id)?.ok_or_else(not_found)?;
            let wanted = turn.unwrap_or(now.turn);
            if wanted > now.turn {
                let message =
                    format!("session `{session_id}` is in turn {}; there is no turn {wanted}", now.turn);
                return Err(Error::invalid("turn", message));
            }
            if wanted < now.turn {
                // `turns[0]` is turn 1, so this is the turn after the one that is wanted.
                let last = now.turns[wanted as usize].user.seq - 1;
                let state = self.fold_to(session_id, last)?;
                let thought = self.inner.store.newest_thought(session_id.as_str(), last)?;
                return Ok((state.clone(), state.seq.max(thought.unwrap_or(0))));
            }
            let thought = self.inner.store.newest_thought(session_id.as_str(), u64::MAX)?;
            // An event that came after the state was read and before the thought would be left out.
            let newest = self.inner.store.memory(session_id.as_str())?.map_or(0, |head| head.newest);
            if newest == now.seq {
                return Ok((now.clone(), now.seq.max(thought.unwrap_or(0))));
            }
        }
        Err(Error::Conflict(format!("session `{session_id}` kept changing while it was read; try again")))
    }
}

/// The line that a brief shows of a thought.
fn first_line(thought: &Thought) -> String {
    let start = match thought.content.char_indices().nth(FIRST_CHARS) {
        Some((end, _)) => &thought.content[..end],
        None => &thought.content,
    };
    match thought {
        Thought { sealed: true, .. } => "(sealed)",
        Thought { redacted: Some(_), .. } => "(redacted)",
        _ => start.lines().find(|line| !line.trim().is_empty()).unwrap_or("").trim(),
    }
    .to_string()
}

pub(super) fn kept(read: &CheckedBrief) -> Result<Kept> {
    let damaged = |_| StoreError::Damaged(format!("brief `{}` cannot be read", read.id));
    Ok(serde_json::from_str(read.data.as_deref().unwrap_or_default()).map_err(damaged)?)
}

pub(super) fn options(request: &BriefRequest) -> Result<Options> {
    let given = |field: &str, text: &Option<String>| text.clone().map(|text| (field.to_string(), text));
    let refuse = |(field, text): (String, String), expected: &str| {
        let text = cairn_core::preview::preview(&text, 40).into_owned();
        Error::invalid(field, format!("must be {expected}; found {text:?}"))
    };
    let node = Node::parse(&request.node).ok_or_else(|| {
        refuse(("node".into(), request.node.clone()), "one of understand, think, act, reply")
    })?;
    let depth = given("depth", &request.depth)
        .map(|given| Depth::parse(&given.1).ok_or_else(|| refuse(given, "2, 5 or full")))
        .transpose()?;
    let layout = given("layout", &request.layout)
        .map(|given| Layout::parse(&given.1).ok_or_else(|| refuse(given, "seed or cache")))
        .transpose()?;
    let counter = given("counter", &request.counter)
        .map(|given| counter(&given.1).ok_or_else(|| refuse(given, COUNTERS)))
        .transpose()?;
    if request.budget == Some(0) {
        return Err(Error::invalid("budget", "must be at least 1"));
    }
    Ok(Options {
        node,
        budget: request.budget,
        depth,
        layout: layout.unwrap_or_default(),
        counter: counter.unwrap_or(Counter::Estimate),
        task: request.task.clone(),
    })
}

/// What a counter may be.
#[cfg(feature = "o200k")]
const COUNTERS: &str = "est-1, o200k, or tokens a character between 0.01 and 10";
/// What a counter may be.
#[cfg(not(feature = "o200k"))]
const COUNTERS: &str =
    "est-1, or tokens a character between 0.01 and 10 (o200k needs a program built with that feature)";

fn counter(text: &str) -> Option<Counter> {
    if text == "est-1" {
        return Some(Counter::Estimate);
    }
    #[cfg(feature = "o200k")]
    if text == "o200k" {
        return Some(super::o200k::COUNTER);
    }
    let factor: f64 = text.parse().ok().filter(|factor| (0.01..=10.0).contains(factor))?;
    Some(Counter::Factor { per_thousand: (factor * 1000.0).round() as u32 })
}

/// The texts of each section of a brief.
fn texts(brief: &Value) -> Vec<(String, Vec<String>)> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    list(&brief["sections"])
        .iter()
        .map(|section| {
            (text(&section["id"]), list(&section["items"]).iter().map(|item| text(&item["text"])).collect())
        })
        .collect()
}

/// What only the one list has, and what only the other has; each counted as often as it stands.
fn apart(one: Vec<String>, other: Vec<String>) -> (Vec<String>, Vec<String>) {
    let mut left: HashMap<&str, usize> = HashMap::new();
    for text in &other {
        *left.entry(text).or_default() += 1;
    }
    let mut only_one = Vec::new();
    for text in &one {
        match left.get_mut(text.as_str()) {
            Some(count) if *count > 0 => *count -= 1,
            _ => only_one.push(text.clone()),
        }
    }
    let mut only_other = Vec::new();
    for text in &other {
        if let Some(count) = left.get_mut(text.as_str()).filter(|count| **count > 0) {
            *count -= 1;
            only_other.push(text.clone());
        }
    }
    (only_one, only_other)
}
