//! Folding events into the state of a session.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::entity::{Ambiguous, Entities, Moment, OpResult};
use super::event::{Decision, Event, Note, Pending, Phase, Settings, Step, SummaryApplied, SummaryKind};
use super::op::EntityOp;
use crate::time::Timestamp;

/// What a session knows. Cloning is cheap: what does not change is shared.
#[derive(Debug, Clone, Default)]
pub struct SessionState {
    /// How it is kept.
    pub settings: Settings,
    /// The types of entities it knows; none if any will do.
    pub types: Option<Vec<String>>,
    /// The number of the current turn; 0 before the first.
    pub turn: u64,
    /// Whether that turn has not ended.
    pub open: bool,
    /// Position in the log of the newest event.
    pub seq: u64,
    /// How many events it is the fold of.
    pub length: u64,
    /// Layer 1.
    pub entities: Entities,
    /// Layers 2 and 3, turn by turn: `turns[0]` is turn 1.
    pub turns: Vec<Arc<Turn>>,
    /// What the whole conversation is about.
    pub engagement: Option<Noted<String>>,
    /// What the user is waited for.
    pub pending: Option<OpenPending>,
    /// Facts that the user stated, oldest first.
    pub constraints: Vec<Constraint>,
    /// Older turns of the conversation in the caller's words.
    pub history: Vec<Noted<SummaryApplied>>,
    /// Older turns of the reasoning in the caller's words.
    pub reasoning: Vec<Noted<SummaryApplied>>,
}

/// A value, and the event it came from.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Noted<T> {
    /// The value.
    pub value: T,
    /// Position of the event in the log.
    pub seq: u64,
}

/// One turn: what was said, decided and done.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Turn {
    /// Its number.
    pub turn: u64,
    /// What the user said.
    pub user: Noted<String>,
    /// When.
    pub timestamp: Timestamp,
    /// What the agent answered; none while the turn is open, or if it was closed without an answer.
    pub reply: Option<Noted<Reply>>,
    /// Where the message was routed.
    pub routing: Option<Noted<Map<String, Value>>>,
    /// What Think decided.
    pub decision: Option<Noted<Decision>>,
    /// What for.
    pub goal: Option<Noted<String>>,
    /// What was done.
    pub steps: Vec<Noted<Step>>,
    /// Entities kept: ref and reason.
    pub retained: Vec<Noted<(String, String)>>,
    /// Entities no longer kept.
    pub demoted: Vec<Noted<String>>,
    /// Where the conversation stands.
    pub phase: Option<Noted<Phase>>,
    /// What the user let know.
    pub user_expressed: Option<Noted<String>>,
    /// Why it did not come to its end.
    pub blocked_reason: Option<Noted<String>>,
}

/// What the agent answered.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Reply {
    /// In full.
    pub full: String,
    /// In short.
    pub summary: Option<String>,
}

/// What the user is waited for, since when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenPending {
    /// What.
    pub pending: Pending,
    /// The turn that asked.
    pub since_turn: u64,
    /// Position of the event in the log.
    pub seq: u64,
}

/// A fact that the user stated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Constraint {
    /// What it is about.
    pub key: String,
    /// The fact.
    pub value: Value,
    /// The turn it was stated in.
    pub since_turn: u64,
    /// The last turn it holds in.
    pub expires: Option<u64>,
    /// Position of the event in the log.
    pub seq: u64,
}

/// An event with its place and time.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedEvent {
    /// Position in the log.
    pub seq: u64,
    /// When it was recorded.
    pub at: Timestamp,
    /// What happened.
    pub event: Event,
}

/// Why an event does not fit the state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Misfit {
    /// It needs an open turn.
    TurnNotOpen,
    /// An operation could mean several drafts.
    Ambiguous {
        /// Which operation.
        index: usize,
        /// What it could mean.
        ambiguous: Ambiguous,
    },
    /// An operation has a type that the session does not know.
    UnknownType {
        /// Which operation.
        index: usize,
        /// The type.
        kind: String,
    },
    /// A summary cannot cover these turns.
    Range(String),
}

impl SessionState {
    /// Applies an event. On an error the state may be half changed: apply to a clone.
    pub fn apply(&mut self, recorded: &RecordedEvent) -> Result<Vec<OpResult>, Misfit> {
        self.take(recorded.clone())
    }

    /// The same with an event that nobody needs any more: its texts are not copied.
    pub fn take(&mut self, recorded: RecordedEvent) -> Result<Vec<OpResult>, Misfit> {
        let RecordedEvent { seq, at, event } = recorded;
        let mut results = Vec::new();
        match event {
            Event::Opened(opened) => {
                self.settings = opened.settings;
                self.types = opened.types;
            }
            Event::TurnBegan(began) => {
                // A turn that was left open ends without an answer.
                self.close_turn();
                self.turn += 1;
                self.open = true;
                let user = Noted { value: began.message, seq };
                self.turns.push(Arc::new(Turn::new(self.turn, user, at)));
            }
            Event::EntitiesApplied(applied) => {
                results.reserve(applied.ops.len());
                for (index, op) in applied.ops.iter().enumerate() {
                    results.push(self.apply_op(index, op, seq)?);
                }
            }
            Event::StepTaken(step) => {
                let now = Moment { turn: self.turn, seq };
                self.open_turn()?;
                results.extend(step.entities_involved.iter().map(|named| self.entities.touch(named, now)));
                self.open_turn()?.steps.push(Noted { value: step, seq });
            }
            Event::TurnNoted(note) => self.note(&note, seq)?,
            Event::TurnEnded(ended) => {
                let turn = self.open_turn()?;
                let reply = Reply { full: ended.reply, summary: ended.reply_summary };
                turn.reply = Some(Noted { value: reply, seq });
                if let Some(reason) = ended.blocked_reason {
                    turn.blocked_reason = Some(Noted { value: reason, seq });
                }
                self.close_turn();
            }
            Event::SummaryApplied(summary) => self.summarise(&summary, seq)?,
        }
        self.seq = seq;
        self.length += 1;
        Ok(results)
    }

    /// The last turn that has ended; 0 if none has.
    pub fn last_ended(&self) -> u64 {
        self.turn - u64::from(self.open)
    }

    /// The facts that hold in the current turn.
    pub fn constraints_now(&self) -> impl Iterator<Item = &Constraint> {
        self.constraints.iter().filter(|c| c.expires.is_none_or(|last| self.turn <= last))
    }

    /// The last turn that a summary covers; 0 if there is none.
    pub fn covered(&self, of: SummaryKind) -> u64 {
        self.summaries(of).last().map_or(0, |summary| summary.value.to_turn)
    }

    /// Whether a summary covers that turn.
    pub fn is_covered(&self, of: SummaryKind, turn: u64) -> bool {
        let summaries = self.summaries(of);
        let next = summaries.partition_point(|summary| summary.value.to_turn < turn);
        summaries.get(next).is_some_and(|summary| summary.value.from_turn <= turn)
    }

    /// The summaries of that kind, oldest turns first.
    pub fn summaries(&self, of: SummaryKind) -> &[Noted<SummaryApplied>] {
        match of {
            SummaryKind::History => &self.history,
            SummaryKind::Reasoning => &self.reasoning,
        }
    }

    fn apply_op(&mut self, index: usize, op: &EntityOp, seq: u64) -> Result<OpResult, Misfit> {
        if let Some(types) = &self.types
            && let Some(kind) = kinds(op).find(|kind| !types.iter().any(|known| known == kind))
        {
            return Err(Misfit::UnknownType { index, kind: kind.to_string() });
        }
        let now = Moment { turn: self.turn, seq };
        let result =
            self.entities.apply(op, now).map_err(|ambiguous| Misfit::Ambiguous { index, ambiguous })?;
        if result.applied
            && let Some(turn) = self.turns.last_mut()
        {
            match op {
                EntityOp::Retain { entity_ref, reason } => Arc::make_mut(turn)
                    .retained
                    .push(Noted { value: (entity_ref.clone(), reason.clone()), seq }),
                EntityOp::Demote { entity_ref } => {
                    Arc::make_mut(turn).demoted.push(Noted { value: entity_ref.clone(), seq });
                }
                _ => {}
            }
        }
        Ok(result)
    }

    fn open_turn(&mut self) -> Result<&mut Turn, Misfit> {
        match self.turns.last_mut() {
            Some(turn) if self.open => Ok(Arc::make_mut(turn)),
            _ => Err(Misfit::TurnNotOpen),
        }
    }

    fn close_turn(&mut self) {
        if self.open {
            self.open = false;
            // What an earlier turn asked was answered in this one, unless it was asked again.
            if self.pending.as_ref().is_some_and(|pending| pending.since_turn < self.turn) {
                self.pending = None;
            }
        }
    }

    fn note(&mut self, note: &Note, seq: u64) -> Result<(), Misfit> {
        let number = self.turn;
        let turn = self.open_turn()?;
        let text = |value: &String| Noted { value: value.clone(), seq };
        if let Some(decision) = note.decision {
            turn.decision = Some(Noted { value: decision, seq });
        }
        if let Some(phase) = note.phase {
            turn.phase = Some(Noted { value: phase, seq });
        }
        if let Some(goal) = &note.goal {
            turn.goal = Some(text(goal));
        }
        if let Some(expressed) = &note.user_expressed {
            turn.user_expressed = Some(text(expressed));
        }
        if let Some(routing) = &note.routing {
            turn.routing = Some(Noted { value: routing.clone(), seq });
        }
        if let Some(engagement) = &note.engagement {
            self.engagement = Some(text(engagement));
        }
        if let Some(pending) = &note.pending {
            self.pending = pending.clone().map(|pending| OpenPending { pending, since_turn: number, seq });
        }
        for stated in &note.constraints {
            self.constraints.retain(|known| known.key != stated.key);
            if !stated.value.is_null() {
                self.constraints.push(Constraint {
                    key: stated.key.clone(),
                    value: stated.value.clone(),
                    since_turn: number,
                    expires: stated.expires,
                    seq,
                });
            }
        }
        Ok(())
    }

    fn summarise(&mut self, summary: &SummaryApplied, seq: u64) -> Result<(), Misfit> {
        let last = self.last_ended();
        let (from, to) = (summary.from_turn, summary.to_turn);
        if from == 0 || from > to || to > last {
            let message = match last {
                0 => "no turn has ended yet, so there is nothing to summarise".to_string(),
                _ => format!("from_turn and to_turn must be turns that have ended: 1 to {last}, in order"),
            };
            return Err(Misfit::Range(message));
        }
        let summaries = match summary.of {
            SummaryKind::History => &mut self.history,
            SummaryKind::Reasoning => &mut self.reasoning,
        };
        // One that covers all of an older one replaces it; half of one cannot be replaced.
        let covers = |known: &SummaryApplied| from <= known.from_turn && known.to_turn <= to;
        let apart = |known: &SummaryApplied| to < known.from_turn || known.to_turn < from;
        if let Some(known) = summaries.iter().find(|known| !covers(&known.value) && !apart(&known.value)) {
            let (from, to) = (known.value.from_turn, known.value.to_turn);
            let message = format!("a summary covers turns {from} to {to}; cover all of them or none");
            return Err(Misfit::Range(message));
        }
        summaries.retain(|known| apart(&known.value));
        let place = summaries.partition_point(|known| known.value.to_turn < from);
        summaries.insert(place, Noted { value: summary.clone(), seq });
        Ok(())
    }
}

impl Turn {
    fn new(turn: u64, user: Noted<String>, timestamp: Timestamp) -> Turn {
        Turn {
            turn,
            user,
            timestamp,
            reply: None,
            routing: None,
            decision: None,
            goal: None,
            steps: Vec::new(),
            retained: Vec::new(),
            demoted: Vec::new(),
            phase: None,
            user_expressed: None,
            blocked_reason: None,
        }
    }
}

/// Turns beyond the newest two that may stand without a summary.
const UNCOVERED: usize = 16;

/// What should be summarised next, and which turns: the first and the last.
///
/// The newest two turns are never offered, and the offer stops before a summary that is there.
pub fn compaction_due(state: &SessionState) -> Option<(SummaryKind, u64, u64)> {
    let last = state.last_ended().saturating_sub(2);
    [SummaryKind::History, SummaryKind::Reasoning].into_iter().find_map(|of| {
        let uncovered = || (1..=last).filter(|turn| !state.is_covered(of, *turn));
        if uncovered().count() <= UNCOVERED {
            return None;
        }
        let from = uncovered().next()?;
        let to = (from..=last).take_while(|turn| !state.is_covered(of, *turn)).last()?;
        Some((of, from, to))
    })
}

/// The types that an operation names.
fn kinds(op: &EntityOp) -> impl Iterator<Item = &str> {
    let (own, rows) = match op {
        EntityOp::Read(stored) | EntityOp::Update(stored) => (Some(&stored.row.kind), Some(stored)),
        EntityOp::Generate { kind, .. } | EntityOp::Create { kind, .. } | EntityOp::User { kind, .. } => {
            (Some(kind), None)
        }
        _ => (None, None),
    };
    let named =
        rows.into_iter().flat_map(|stored| stored.links.iter().chain(&stored.nested)).map(|row| &row.kind);
    own.into_iter().chain(named).map(String::as_str)
}
