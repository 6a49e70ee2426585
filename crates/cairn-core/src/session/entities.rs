//! Layer 1: all the things a session knows of, and what operations do to them.
//!
//! A saved thing is called `type_n`, an unsaved draft `gen_type_n`; numbers count from 1 and are never used again.
//! What an operation does is decided here, and only here: it must never change for events that are recorded, since
//! every past turn is rebuilt by it.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::blank::REDACTED;
use super::entity::{Entity, Status};
use super::op::{Ambiguous, Detail, EntityOp, OpResult, Row, Stored, UserAction};

/// All things of a session, in the order in which they were registered. Cloning is cheap.
#[derive(Debug, Clone, Default)]
pub struct Entities {
    /// Those that were dropped stand in it until they are more than half.
    pub(super) list: Vec<Arc<Entity>>,
    dropped: usize,
    by_ref: Arc<HashMap<String, usize>>,
    by_id: Arc<HashMap<String, HashMap<String, usize>>>,
    /// The last number given out, by what stands before it in a ref: `recipe`, `gen_recipe`.
    pub(super) counters: Arc<HashMap<String, u64>>,
}

/// What the fold knows while it applies an event.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    /// The turn.
    pub turn: u64,
    /// The event's position in the log.
    pub seq: u64,
}

impl Entities {
    /// All that are listed, in the order of registration.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Entity> + Clone {
        self.list.iter().map(|entity| &**entity).filter(|entity| !entity.dropped)
    }

    /// How many are listed.
    pub fn len(&self) -> usize {
        self.list.len() - self.dropped
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One by its ref.
    pub fn get(&self, entity_ref: &str) -> Option<&Entity> {
        self.by_ref.get(entity_ref).map(|index| &*self.list[*index])
    }

    /// Applies one operation. Operations before it in the same call have been applied already.
    pub fn apply(&mut self, op: &EntityOp, now: Moment) -> Result<OpResult, Ambiguous> {
        Ok(match op {
            EntityOp::Read(row) => self.stored(row, Status::Read, now),
            EntityOp::Update(row) => self.stored(row, Status::Updated, now),
            EntityOp::Generate { kind, label, body } => {
                let index = self.register(kind, None, label.as_deref(), Status::Generated, now);
                self.change(index, now).body = body.clone();
                OpResult::done(&self.list[index].entity_ref)
            }
            EntityOp::Create { kind, id, label, from } => {
                return self.create(kind, id, label.as_deref(), from.as_deref(), now);
            }
            EntityOp::User { kind, id, label, action } => {
                let status = match action {
                    UserAction::Created => Status::UserCreated,
                    UserAction::Updated => Status::UserUpdated,
                    UserAction::Deleted => Status::UserDeleted,
                    UserAction::Mentioned => Status::UserMentioned,
                };
                let index = self.known_or_new(kind, id, label.as_deref(), status, now);
                if *action == UserAction::Updated {
                    self.change(index, now).body = None;
                }
                OpResult::done(&self.list[index].entity_ref)
            }
            EntityOp::Delete { entity_ref } => self.on(entity_ref, now, |entity| {
                if entity.saved_id.is_none() {
                    return Err("is a draft that was never saved; drop it instead".into());
                }
                entity.status = Status::Deleted;
                touch(entity, now);
                Ok(())
            }),
            EntityOp::Touch { entity_ref } => self.touch(entity_ref, now),
            EntityOp::TouchText { text } => self.touch_text(text, now),
            EntityOp::Retain { entity_ref, reason } => self.on(entity_ref, now, |entity| {
                entity.retention_reason = Some(reason.clone());
                entity.demoted = None;
                Ok(())
            }),
            EntityOp::Demote { entity_ref } => self.on(entity_ref, now, |entity| {
                entity.retention_reason = None;
                entity.demoted = Some(now.turn);
                Ok(())
            }),
            EntityOp::Edit { entity_ref, body, label } => self.on(entity_ref, now, |entity| {
                if !entity.is_unsaved() {
                    return Err("is no unsaved draft; record an update instead".into());
                }
                entity.body = Some(body.clone());
                if let Some(label) = label {
                    entity.label.clone_from(label);
                }
                Ok(())
            }),
            EntityOp::Label { entity_ref, label } => self.on(entity_ref, now, |entity| {
                entity.label.clone_from(label);
                Ok(())
            }),
            EntityOp::Drop { entity_ref } => match self.by_ref.get(entity_ref) {
                None => unknown(entity_ref),
                Some(&index) => {
                    self.unlist(index);
                    OpResult::done(entity_ref)
                }
            },
            EntityOp::Clear {} => {
                self.list.clear();
                self.index_again();
                OpResult { entity_ref: None, ..OpResult::done("") }
            }
        })
    }

    /// Touches one entity, if it is known.
    pub fn touch(&mut self, entity_ref: &str, now: Moment) -> OpResult {
        let Some(&index) = self.by_ref.get(entity_ref) else { return unknown(entity_ref) };
        touch(self.change(index, now), now);
        OpResult::done(entity_ref)
    }

    fn stored(&mut self, row: &Stored, status: Status, now: Moment) -> OpResult {
        let index = self.known_or_new(&row.row.kind, &row.row.id, row.row.label.as_deref(), status, now);
        let entity = self.change(index, now);
        // The whole content says more than a summary of it.
        let knows_more = row.detail == Some(Detail::Summary) && status == Status::Read && entity.is_whole();
        if !knows_more {
            entity.detail = row.detail.or(entity.detail);
            if row.detail == Some(Detail::Full) {
                entity.last_full = Some(now.turn);
            }
            if row.body.is_some() {
                entity.body.clone_from(&row.body);
            } else if status == Status::Updated {
                entity.body = None;
            }
        }
        let mut result = OpResult::done(&self.list[index].entity_ref);
        for (rows, status) in [(&row.links, Status::Linked), (&row.nested, Status::Read)] {
            result.linked.extend(rows.iter().map(|row| self.first_sight(row, status, now)));
        }
        result
    }

    /// The ref of something that a row names; registered if it was not known, left alone if it was.
    fn first_sight(&mut self, row: &Row, status: Status, now: Moment) -> String {
        let index = match self.by_id(&row.kind, &row.id) {
            Some(index) => index,
            None => self.register(&row.kind, Some(&row.id), row.label.as_deref(), status, now),
        };
        self.list[index].entity_ref.clone()
    }

    fn create(
        &mut self,
        kind: &str,
        id: &str,
        label: Option<&str>,
        from: Option<&str>,
        now: Moment,
    ) -> Result<OpResult, Ambiguous> {
        let known = self.by_id(kind, id);
        let draft = match from {
            Some(from) => match self.by_ref.get(from) {
                // The record exists, whatever it was made from.
                None => {
                    let index = self.known_or_new(kind, id, label, Status::Created, now);
                    let reason = "`from` is not known in this session, so no draft was promoted".to_string();
                    let done = OpResult::done(&self.list[index].entity_ref);
                    return Ok(OpResult { reason: Some(reason), ..done });
                }
                Some(&index) => {
                    let entity = &self.list[index];
                    if !entity.draft {
                        return Ok(OpResult::not(from, "is no draft"));
                    }
                    if entity.kind != kind {
                        let reason = format!("is a draft of type `{}`, not `{kind}`", entity.kind);
                        return Ok(OpResult::not(from, reason));
                    }
                    if entity.saved_id.as_deref().is_some_and(|saved| saved != id) {
                        return Ok(OpResult::not(from, "was saved under another id already"));
                    }
                    Some(index)
                }
            },
            None if known.is_some() => None,
            None => self.draft_by_label(kind, label)?,
        };
        if let (Some(draft), Some(known)) = (draft, known)
            && draft != known
        {
            let reason = format!("that id is `{}` already", self.list[known].entity_ref);
            return Ok(OpResult::not(&self.list[draft].entity_ref, reason));
        }
        let Some(index) = draft else {
            let index = self.known_or_new(kind, id, label, Status::Created, now);
            return Ok(OpResult::done(&self.list[index].entity_ref));
        };
        let first = self.list[index].saved_id.is_none();
        let entity = self.change(index, now);
        entity.status = Status::Created;
        if let Some(label) = label {
            entity.label = label.to_string();
        }
        touch(entity, now);
        if first {
            entity.saved_id = Some(id.to_string());
            entity.turn_promoted = Some(now.turn);
            self.note_id(kind, id, index);
        }
        Ok(OpResult { promoted: first, ..OpResult::done(&self.list[index].entity_ref) })
    }

    /// The one unsaved draft of that type and label.
    fn draft_by_label(&self, kind: &str, label: Option<&str>) -> Result<Option<usize>, Ambiguous> {
        // Blanked labels are all the same, and none of them names anything.
        let Some(label) = label.filter(|label| *label != REDACTED) else { return Ok(None) };
        let folded = fold(label);
        let matches = |entity: &Entity| {
            !entity.dropped && entity.is_unsaved() && entity.kind == kind && fold(&entity.label) == folded
        };
        let found: Vec<usize> = (0..self.list.len()).filter(|index| matches(&self.list[*index])).collect();
        match found[..] {
            [] => Ok(None),
            [only] => Ok(Some(only)),
            _ => Err(Ambiguous {
                label: label.to_string(),
                candidates: found.iter().map(|index| self.list[*index].entity_ref.clone()).collect(),
            }),
        }
    }

    /// Touches something known and gives it the status, or registers it.
    fn known_or_new(
        &mut self,
        kind: &str,
        id: &str,
        label: Option<&str>,
        status: Status,
        now: Moment,
    ) -> usize {
        let Some(index) = self.by_id(kind, id) else {
            return self.register(kind, Some(id), label, status, now);
        };
        let entity = self.change(index, now);
        entity.status = status;
        // Most reads repeat the label that is known.
        if let Some(label) = label.filter(|label| *label != entity.label) {
            entity.label = label.to_string();
        }
        touch(entity, now);
        index
    }

    fn register(
        &mut self,
        kind: &str,
        id: Option<&str>,
        label: Option<&str>,
        status: Status,
        now: Moment,
    ) -> usize {
        // By the stem, so that a type that is itself called `gen_…` cannot take a draft's ref.
        let stem = if id.is_some() { kind.to_string() } else { format!("gen_{kind}") };
        let number = Arc::make_mut(&mut self.counters).entry(stem.clone()).or_default();
        *number += 1;
        let entity_ref = format!("{stem}_{number}");
        let index = self.list.len();
        Arc::make_mut(&mut self.by_ref).insert(entity_ref.clone(), index);
        if let Some(id) = id {
            self.note_id(kind, id, index);
        }
        self.list.push(Arc::new(Entity {
            label: label.unwrap_or(&entity_ref).to_string(),
            entity_ref,
            draft: id.is_none(),
            kind: kind.to_string(),
            status,
            saved_id: id.map(ToString::to_string),
            body: None,
            detail: None,
            last_full: None,
            turn_created: now.turn,
            turn_last_ref: now.turn,
            turn_promoted: None,
            retention_reason: None,
            demoted: None,
            events: vec![now.seq],
            dropped: false,
        }));
        index
    }

    fn by_id(&self, kind: &str, id: &str) -> Option<usize> {
        self.by_id.get(kind)?.get(id).copied()
    }

    fn note_id(&mut self, kind: &str, id: &str, index: usize) {
        let by_id = Arc::make_mut(&mut self.by_id);
        by_id.entry(kind.to_string()).or_default().insert(id.to_string(), index);
    }

    /// The entity, to be changed by the event at `now`.
    fn change(&mut self, index: usize, now: Moment) -> &mut Entity {
        let entity = Arc::make_mut(&mut self.list[index]);
        if entity.events.last() != Some(&now.seq) {
            entity.events.push(now.seq);
        }
        entity
    }

    fn on(
        &mut self,
        entity_ref: &str,
        now: Moment,
        work: impl FnOnce(&mut Entity) -> Result<(), String>,
    ) -> OpResult {
        let Some(&index) = self.by_ref.get(entity_ref) else { return unknown(entity_ref) };
        // On a copy: what is not applied leaves no trace.
        let mut entity = (*self.list[index]).clone();
        if let Err(reason) = work(&mut entity) {
            return OpResult::not(entity_ref, reason);
        }
        self.list[index] = Arc::new(entity);
        self.change(index, now);
        OpResult::done(entity_ref)
    }

    fn touch_text(&mut self, text: &str, now: Moment) -> OpResult {
        let mut named = self.named_in(text);
        named.sort_unstable();
        named.dedup();
        for &index in &named {
            touch(self.change(index, now), now);
        }
        let linked = named.iter().map(|index| self.list[*index].entity_ref.clone()).collect();
        OpResult { entity_ref: None, linked, ..OpResult::done("") }
    }

    /// The refs that a text names as whole words. Of two that end at the same place the longer one is meant: a type
    /// may have signs in its name.
    fn named_in(&self, text: &str) -> Vec<usize> {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let longest = self.list.iter().map(|entity| entity.entity_ref.len()).max().unwrap_or(0);
        let mut named = Vec::new();
        let mut starts = VecDeque::new();
        let mut before = ' ';
        for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
            while starts.front().is_some_and(|start| start + longest < at) {
                starts.pop_front();
            }
            let numbered = || text[..at].trim_end_matches(|c: char| c.is_ascii_digit()).ends_with('_');
            if before.is_ascii_digit() && !is_word(c) && numbered() {
                let known = |start: &usize| self.by_ref.get(&text[*start..at]).copied();
                named.extend(starts.iter().find_map(known));
            }
            if !is_word(before) {
                starts.push_back(at);
            }
            before = c;
        }
        named
    }

    /// Takes one off the list. The places of the others stay as they are, until more than half of them are empty: to
    /// move all of them each time would make a long list of drops cost the square of its length.
    fn unlist(&mut self, index: usize) {
        let entity = Arc::make_mut(&mut self.list[index]);
        entity.dropped = true;
        Arc::make_mut(&mut self.by_ref).remove(&entity.entity_ref);
        if let Some(id) = &entity.saved_id
            && let Some(ids) = Arc::make_mut(&mut self.by_id).get_mut(&entity.kind)
        {
            ids.remove(id);
        }
        self.dropped += 1;
        if self.dropped > self.list.len() / 2 {
            self.list.retain(|entity| !entity.dropped);
            self.index_again();
        }
    }

    /// With nothing in the list that was dropped.
    pub(super) fn index_again(&mut self) {
        self.dropped = 0;
        let refs = self.list.iter().enumerate();
        self.by_ref =
            Arc::new(refs.clone().map(|(index, entity)| (entity.entity_ref.clone(), index)).collect());
        let mut by_id: HashMap<String, HashMap<String, usize>> = HashMap::new();
        for (index, entity) in refs {
            if let Some(id) = &entity.saved_id {
                by_id.entry(entity.kind.clone()).or_default().insert(id.clone(), index);
            }
        }
        self.by_id = Arc::new(by_id);
    }
}

fn touch(entity: &mut Entity, now: Moment) {
    entity.turn_last_ref = now.turn;
    entity.demoted = None;
}

fn unknown(entity_ref: &str) -> OpResult {
    OpResult::not(entity_ref, "is not known in this session")
}

/// How labels are compared: trimmed, without regard to case.
fn fold(label: &str) -> String {
    label.trim().to_lowercase()
}
