//! What happened in a session, in words.

use cairn::EventView;
use cairn::core::session::event::{Event, Note, StepKind, StepStatus, SummaryKind};
use cairn::core::session::op::{EntityOp, Row, Stored, UserAction};
use serde_json::Value;

use crate::term::{count, first_line};

/// One line that says what an event was.
pub(crate) fn event(event: &EventView) -> String {
    // A later version may know more kinds.
    let Ok(event) = Event::parse(&event.kind, event.v, &event.body.to_string()) else {
        return format!("{} (this program cannot read it)", first_line(&event.kind));
    };
    match event {
        Event::Opened(opened) => match opened.types {
            Some(types) => format!("session opened for {}", types.join(", ")),
            None => "session opened".to_string(),
        },
        Event::TurnBegan(began) => format!("turn began; user: {}", first_line(&began.message)),
        Event::EntitiesApplied(applied) => {
            let said: Vec<String> = applied.ops.iter().map(operation).collect();
            match said.len() {
                1 => said.concat(),
                many => format!("{}: {}", count(many as u64, "operation"), said.join("; ")),
            }
        }
        Event::StepTaken(step) => {
            let status = match step.status {
                StepStatus::Done => "",
                StepStatus::Blocked => " (blocked)",
                StepStatus::Failed => " (failed)",
            };
            let outcome = match first_line(&step.outcome) {
                outcome if outcome.is_empty() => outcome,
                outcome => format!(" → {outcome}"),
            };
            let (kind, what) = (step_kind(step.kind), first_line(&step.description));
            format!("step {}, {kind}{status}: {what}{outcome}", step.step_num)
        }
        Event::TurnNoted(note) => format!("noted {}", noted(&note)),
        Event::TurnEnded(ended) => {
            let reply = ended.reply_summary.unwrap_or(ended.reply);
            let blocked = ended.blocked_reason.map(|why| format!(" (blocked: {})", first_line(&why)));
            format!("turn ended{}; assistant: {}", blocked.unwrap_or_default(), first_line(&reply))
        }
        Event::SummaryApplied(summary) => {
            let of = match summary.of {
                SummaryKind::History => "said",
                SummaryKind::Reasoning => "done",
            };
            let turns = turns(summary.from_turn, summary.to_turn);
            format!("summary of what was {of} in {turns}: {}", first_line(&summary.text))
        }
    }
}

pub(crate) fn operation(op: &EntityOp) -> String {
    match op {
        EntityOp::Read(stored) => stored_row("read", stored),
        EntityOp::Update(stored) => stored_row("updated", stored),
        EntityOp::Generate { kind, label, .. } => format!("drafted {kind}{}", labelled(label)),
        EntityOp::Create { kind, id, label, from } => {
            let from = from.as_ref().map(|draft| format!(" from {}", first_line(draft)));
            format!("saved {kind} {}{}{}", first_line(id), labelled(label), from.unwrap_or_default())
        }
        EntityOp::User { kind, id, label, action } => {
            let verb = match action {
                UserAction::Created => "created",
                UserAction::Updated => "updated",
                UserAction::Deleted => "deleted",
                UserAction::Mentioned => "mentioned",
            };
            format!("the user {verb} {kind} {}{}", first_line(id), labelled(label))
        }
        EntityOp::Delete { entity_ref } => format!("deleted {}", first_line(entity_ref)),
        EntityOp::Touch { entity_ref } => format!("referenced {}", first_line(entity_ref)),
        EntityOp::TouchText { text } => format!("referenced what is named in “{}”", first_line(text)),
        EntityOp::Retain { entity_ref, reason } => {
            format!("kept {}: {}", first_line(entity_ref), first_line(reason))
        }
        EntityOp::Demote { entity_ref } => format!("let {} go", first_line(entity_ref)),
        EntityOp::Edit { entity_ref, label, .. } => {
            format!("edited draft {}{}", first_line(entity_ref), labelled(label))
        }
        EntityOp::Label { entity_ref, label } => {
            format!("labelled {} “{}”", first_line(entity_ref), first_line(label))
        }
        EntityOp::Drop { entity_ref } => format!("forgot {}", first_line(entity_ref)),
        EntityOp::Clear {} => "forgot everything".to_string(),
    }
}

fn stored_row(verb: &str, stored: &Stored) -> String {
    let Row { kind, id, label } = &stored.row;
    let mut said = format!("{verb} {kind} {}{}", first_line(id), labelled(label));
    let others = stored.links.len() + stored.nested.len();
    if others > 0 {
        said.push_str(&format!(" with {}", count(others as u64, "other")));
    }
    said
}

fn labelled(label: &Option<String>) -> String {
    label.as_ref().map(|label| format!(" “{}”", first_line(label))).unwrap_or_default()
}

fn noted(note: &Note) -> String {
    let mut said = Vec::new();
    if let Some(decision) = note.decision {
        said.push(format!("decision {}", decision.as_str()));
    }
    if let Some(goal) = &note.goal {
        said.push(format!("goal: {}", first_line(goal)));
    }
    if let Some(phase) = note.phase {
        said.push(format!("phase {}", phase.as_str()));
    }
    if let Some(expressed) = &note.user_expressed {
        said.push(format!("user expressed: {}", first_line(expressed)));
    }
    for stated in &note.constraints {
        let key = first_line(&stated.key);
        said.push(match &stated.value {
            Value::Null => format!("{key} no longer holds"),
            stated => format!("{key} = {}", value(stated)),
        });
    }
    if let Some(engagement) = &note.engagement {
        said.push(format!("as a whole: {}", first_line(engagement)));
    }
    match &note.pending {
        Some(Some(pending)) => said.push(format!(
            "waiting for the user ({}): {}",
            pending.kind.as_str(),
            first_line(&pending.context)
        )),
        Some(None) => said.push("no longer waiting for the user".to_string()),
        None => {}
    }
    if note.routing.is_some() {
        said.push("routing".to_string());
    }
    said.join("; ")
}

pub(crate) fn step_kind(kind: StepKind) -> &'static str {
    match kind {
        StepKind::Read => "read",
        StepKind::Analyze => "analyze",
        StepKind::Generate => "generate",
        StepKind::Write => "write",
    }
}

/// `turn 3`, `turns 1 to 8`.
pub(crate) fn turns(from: u64, to: u64) -> String {
    if from == to { format!("turn {from}") } else { format!("turns {from} to {to}") }
}

/// A stated fact on one line.
pub(crate) fn value(value: &Value) -> String {
    match value {
        Value::String(text) => first_line(text),
        other => first_line(&other.to_string()),
    }
}
