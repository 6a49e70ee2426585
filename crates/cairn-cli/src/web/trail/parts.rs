//! The pieces that several pages show a thought with.

use cairn::core::tree::Summary;
use cairn::{Cairn, Damage, Listing, Redaction, ThoughtType, Timestamp, TypeCounts};
use maud::{Markup, html};
use serde::Serialize;

use crate::term::{grouped, minute};
use crate::web::link;
use crate::web::piece::damaged_records;
use crate::web::text::text;

/// A type of thought: its word on its colour.
pub(super) fn kind(kind: ThoughtType) -> Markup {
    html! { span.kind.(kind.as_str()) { (kind.as_str()) } }
}

/// How many of each type, without those there are none of.
pub(super) fn type_counts(types: &TypeCounts) -> Markup {
    html! {
        span.types {
            @for (kind, count) in of_each(types).into_iter().filter(|(_, count)| *count > 0) {
                span.kind.(kind.as_str()) { (grouped(count)) " " (plural(kind, count)) }
            }
        }
    }
}

pub(super) fn of_each(types: &TypeCounts) -> [(ThoughtType, u64); 4] {
    [
        (ThoughtType::Plan, types.plan),
        (ThoughtType::Analysis, types.analysis),
        (ThoughtType::Decision, types.decision),
        (ThoughtType::Reflection, types.reflection),
    ]
}

pub(super) fn plural(kind: ThoughtType, count: u64) -> &'static str {
    match (kind, count) {
        (_, 1) => kind.as_str(),
        (ThoughtType::Plan, _) => "plans",
        (ThoughtType::Analysis, _) => "analyses",
        (ThoughtType::Decision, _) => "decisions",
        (ThoughtType::Reflection, _) => "reflections",
    }
}

/// When, to the minute; the rest is one look away.
pub(super) fn when(at: &Timestamp) -> Markup {
    html! { time datetime=(text(at.as_str())) title=(text(at.as_str())) { (text(&minute(at))) } }
}

/// From when to when; a day is not said twice.
pub(super) fn span(first: &Timestamp, last: &Timestamp) -> Markup {
    let (from, to) = (minute(first), minute(last));
    let same_day = from.get(..10).is_some_and(|day| to.starts_with(day));
    html! {
        span {
        (when(first))
        @if from != to {
            " – "
            time datetime=(text(last.as_str())) title=(text(last.as_str())) {
                (text(if same_day { to.get(11..).unwrap_or(&to) } else { &to }))
            }
        }
        " UTC"
        }
    }
}

/// What a thought says, or why that is gone.
pub(super) fn words(content: &str, redacted: Option<&Redaction>) -> Markup {
    html! {
        @match redacted {
            Some(Redaction { by, at, reason }) => {
                span.gone { "Redacted by " (text(by)) " on " (when(at)) ": " (text(reason)) }
            }
            None if content.trim().is_empty() => span.gone { "(no text)" },
            None => (text(content)),
        }
    }
}

/// What a thought points to: the action it led to, the plan and the brief it stood on. A sealed one says so.
pub(super) fn chips(thought: &Summary, plans: &[Plan]) -> Markup {
    html! {
        @if let Some(action) = &thought.action_id {
            a.chip.acted href=(link::action(action.as_str())) title="Led to this action" { "→ " (text(action.as_str())) }
        }
        @if let Some(id) = thought.context_id {
            @match plans.iter().find(|plan| plan.context_id == id) {
                Some(plan) => (plan.chip()),
                None => a.chip href=(link::context(id)) { "plan: snapshot " (id) },
            }
        }
        @if let Some(brief) = &thought.brief_id {
            a.chip href=(link::brief(brief.as_str())) title="What it was told before" { "brief" }
        }
        @if thought.sealed {
            span.chip title="Stored encrypted, with a key of its own" { "sealed" }
        }
    }
}

/// A thought in a list: type, text as the way to its page, and what it points to. `more` comes last.
pub(super) fn thought(thought: &Summary, plans: &[Plan], more: Markup) -> Markup {
    html! {
        (kind(thought.kind))
        div.told {
            a.words href=(link::thought(thought.id.as_str())) { (words(&thought.content, thought.redacted.as_ref())) }
            div.meta {
                (when(&thought.timestamp))
                span { (text(thought.agent_id.as_str())) }
                (chips(thought, plans))
                (more)
            }
        }
    }
}

/// A path from a root to a thought; of a long one the beginning and the end.
#[derive(Serialize)]
pub(super) struct Trail {
    /// Thoughts on the path.
    pub(super) length: usize,
    pub(super) thoughts: Vec<Summary>,
    /// How many are left out after the first.
    pub(super) left_out: usize,
    /// Thoughts on the path that cannot be shown.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) damaged: Vec<Damage>,
}

/// Thoughts of a path that are shown, and how many of them from its beginning.
const SHOWN: usize = 40;
const FIRST: usize = 2;

impl Trail {
    pub(super) fn of(path: Listing<Summary>) -> Trail {
        let Listing { records: mut path, damaged } = path;
        let length = path.len();
        let left_out = length.saturating_sub(SHOWN);
        if left_out > 0 {
            path.drain(FIRST..FIRST + left_out);
        }
        Trail { length, thoughts: path, left_out, damaged }
    }

    /// One below the other. The thought that the page is about is not a link to itself.
    pub(super) fn show(&self, plans: &[Plan], here: Option<&str>) -> Markup {
        html! {
            (damaged_records(&self.damaged))
            ol.line {
                @for (place, step) in self.thoughts.iter().enumerate() {
                    @if self.left_out > 0 && place == FIRST {
                        li.elsewhere { "… " (crate::term::count(self.left_out as u64, "thought")) " between" }
                    }
                    li.step.(step.kind.as_str()) aria-current=[(here == Some(step.id.as_str())).then_some("true")] {
                        (thought(step, plans, html! {}))
                    }
                }
            }
        }
    }
}

/// The snapshot that a thought stood on, and whether the plan was changed since.
#[derive(Debug, Serialize)]
pub(super) struct Plan {
    pub(super) context_id: u64,
    pub(super) roadmap_id: String,
    pub(super) captured_at: Timestamp,
    /// The newest snapshot of the roadmap, if it says something else.
    pub(super) superseded_by: Option<u64>,
}

impl Plan {
    /// What cannot be read is left out: the thought itself is there.
    pub(super) fn of(cairn: &Cairn, context_id: u64) -> Option<Plan> {
        let head = cairn.context_head(context_id).ok()??;
        let newest =
            cairn.context_history(head.roadmap_id.as_str(), Some(1)).ok()?.records.into_iter().next();
        let newest = newest.filter(|newest| newest.content_hash != head.content_hash);
        Some(Plan {
            context_id,
            superseded_by: newest.map(|newest| newest.context_id),
            roadmap_id: head.roadmap_id.to_string(),
            captured_at: head.created_at,
        })
    }

    /// The plans of these thoughts, each once.
    pub(super) fn of_all<'t>(cairn: &Cairn, thoughts: impl Iterator<Item = &'t Summary>) -> Vec<Plan> {
        let mut ids: Vec<u64> = thoughts.filter_map(|thought| thought.context_id).collect();
        ids.sort_unstable();
        ids.dedup();
        ids.into_iter().filter_map(|id| Plan::of(cairn, id)).collect()
    }

    fn chip(&self) -> Markup {
        let title = match self.superseded_by {
            Some(newer) => format!("Stood on this plan; snapshot {newer} has replaced it since"),
            None => "Stood on this plan, which is still the current one".to_string(),
        };
        html! {
            a.chip.plan-chip.outdated[self.superseded_by.is_some()] href=(link::context(self.context_id)) title=(title) {
                "plan: " (text(&self.roadmap_id)) ", snapshot " (self.context_id)
                @if let Some(newer) = self.superseded_by { ", superseded by " (newer) }
            }
        }
    }
}

/// A number of thoughts, as a sentence counts them.
pub(super) fn thoughts(count: u64) -> String {
    crate::term::count(count, "thought")
}
