//! Events whose texts are blanked: the structure stays, the words go.
//!
//! Types, ids, refs, keys of facts, numbers and words from a fixed list are structure, which later events build on. They
//! stay, so that the session folds to the same entities and turns as before.

use serde_json::Value;

use super::event::{Event, Note, Step};
use super::op::{Body, EntityOp, OpResult, Row};

/// Stands in the place of a blanked text.
pub const REDACTED: &str = "(redacted)";

impl Event {
    /// The same event with its texts blanked. `results` is what applying it gave; `is_ref` says whether a text is the ref
    /// of an entity that was known then.
    pub fn blanked(&self, results: &[OpResult], is_ref: &dyn Fn(&str) -> bool) -> Event {
        let mut event = self.clone();
        match &mut event {
            Event::Opened(_) => {}
            Event::TurnBegan(began) => blank(&mut began.message),
            Event::EntitiesApplied(applied) => {
                for (op, result) in applied.ops.iter_mut().zip(results) {
                    blank_op(op, result);
                }
            }
            Event::StepTaken(step) => blank_step(step, is_ref),
            Event::TurnNoted(note) => blank_note(note),
            Event::TurnEnded(ended) => {
                blank(&mut ended.reply);
                ended.reply_summary.iter_mut().chain(&mut ended.blocked_reason).for_each(blank);
            }
            Event::SummaryApplied(summary) => blank(&mut summary.text),
        }
        event
    }

    /// The contents of entities that it names.
    pub fn bodies(&self) -> Vec<Body> {
        let Event::EntitiesApplied(applied) = self else { return Vec::new() };
        let named = applied.ops.iter().filter_map(|op| match op {
            EntityOp::Read(stored) | EntityOp::Update(stored) => stored.body.clone(),
            EntityOp::Generate { body, .. } => body.clone(),
            EntityOp::Edit { body, .. } => Some(body.clone()),
            _ => None,
        });
        named.collect()
    }
}

/// An empty text says nothing, and stays empty.
fn blank(text: &mut String) {
    if !text.is_empty() {
        *text = REDACTED.to_string();
    }
}

fn blank_value(value: &mut Value) {
    // Without a value, a fact is taken back: that is structure.
    if !value.is_null() {
        *value = Value::from(REDACTED);
    }
}

fn blank_step(step: &mut Step, is_ref: &dyn Fn(&str) -> bool) {
    for text in [&mut step.subdomain, &mut step.description, &mut step.outcome] {
        blank(text);
    }
    step.note.iter_mut().for_each(blank);
    step.entities_involved.iter_mut().filter(|named| !is_ref(named)).for_each(blank);
}

fn blank_note(note: &mut Note) {
    let texts = note.goal.iter_mut().chain(&mut note.user_expressed).chain(&mut note.engagement);
    texts.for_each(blank);
    note.constraints.iter_mut().for_each(|stated| blank_value(&mut stated.value));
    if let Some(Some(pending)) = &mut note.pending {
        blank(&mut pending.context);
        pending.questions.iter_mut().for_each(blank);
    }
    note.routing.iter_mut().flat_map(|routing| routing.values_mut()).for_each(blank_value);
}

fn blank_op(op: &mut EntityOp, result: &OpResult) {
    let labels = |rows: &mut Vec<Row>| rows.iter_mut().filter_map(|row| row.label.as_mut()).for_each(blank);
    match op {
        EntityOp::Read(stored) | EntityOp::Update(stored) => {
            stored.row.label.iter_mut().for_each(blank);
            labels(&mut stored.links);
            labels(&mut stored.nested);
        }
        EntityOp::Generate { label, .. } | EntityOp::User { label, .. } => label.iter_mut().for_each(blank),
        EntityOp::Create { label, from, .. } => {
            label.iter_mut().for_each(blank);
            if result.promoted && from.is_none() {
                // It found its draft by the label.
                from.clone_from(&result.entity_ref);
            }
            // A known ref is structure: without it, what was refused would be registered.
            let is_unknown = result.applied && result.reason.is_some();
            from.iter_mut().filter(|_| is_unknown).for_each(blank);
        }
        // The refs that it named are all that later events see of the text.
        EntityOp::TouchText { text } => *text = result.linked.join(" "),
        EntityOp::Retain { entity_ref, reason } => {
            blank(reason);
            blank_unknown(entity_ref, result);
        }
        EntityOp::Edit { entity_ref, label, .. } => {
            label.iter_mut().for_each(blank);
            blank_unknown(entity_ref, result);
        }
        EntityOp::Label { entity_ref, label } => {
            blank(label);
            blank_unknown(entity_ref, result);
        }
        EntityOp::Delete { entity_ref }
        | EntityOp::Touch { entity_ref }
        | EntityOp::Demote { entity_ref }
        | EntityOp::Drop { entity_ref } => blank_unknown(entity_ref, result),
        EntityOp::Clear {} => {}
    }
}

/// Blanks a ref that led to nothing: it can be any text.
fn blank_unknown(entity_ref: &mut String, result: &OpResult) {
    if !result.applied {
        blank(entity_ref);
    }
}
