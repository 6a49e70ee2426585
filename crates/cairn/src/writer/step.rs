//! One transaction: thoughts are given their place, linked, and written; what else is written has files of its own.

use cairn_core::Sha;
use cairn_core::entry::{Entry, Parts, Record, ThoughtEntry, commitment, texts};
use cairn_core::id::ThoughtId;
use cairn_core::log::leaf_hash;
use cairn_core::thought::{CheckedThought, TaskLink, Thought, ThoughtType, chain_hash, task_hash};
use cairn_core::time::Timestamp;

use super::heads::{Heads, remember};
use super::{Recorded, Recording};
use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::store::{Append, Keys, Need, ParentLink, SessionHead, StoreError, TaskHead};

/// Heads that have moved in this transaction. Few, so a look through all of them is quicker than a hash.
#[derive(Default)]
struct Moved {
    tasks: Vec<TaskHead>,
    sessions: Vec<SessionHead>,
}

/// One transaction under way.
pub(crate) struct Step<'a> {
    pub(super) tx: &'a mut dyn Append,
    pub(super) heads: &'a mut Heads,
    pub(super) clock: &'a Clock,
    pub(super) leaf: &'a mut Vec<u8>,
    link: &'a mut Vec<u8>,
    moved: Moved,
    /// Whether the log has grown.
    grew: bool,
}

impl<'a> Step<'a> {
    /// Begins with nothing written; `leaf` and `link` are scratch space.
    pub fn new(
        tx: &'a mut dyn Append,
        heads: &'a mut Heads,
        clock: &'a Clock,
        leaf: &'a mut Vec<u8>,
        link: &'a mut Vec<u8>,
    ) -> Step<'a> {
        Step { tx, heads, clock, leaf, link, moved: Moved::default(), grew: false }
    }

    /// What recording a thought will ask for.
    pub fn needs_of(thought: &CheckedThought) -> Vec<Need> {
        let mut needs =
            vec![Need::Session(thought.session_id.to_string()), Need::Task(thought.task_id.to_string())];
        let named = thought.parent_id.iter().chain(&thought.supersedes).chain(&thought.rejects);
        needs.extend(named.cloned().map(Need::Parent));
        needs.extend(thought.idempotency_key.as_ref().map(|key| Need::Key(key.to_string())));
        needs.extend(thought.brief_id.as_ref().map(|id| Need::Brief(id.to_string())));
        needs
    }

    /// Records one thought. An error other than `Store` and `Busy` concerns this thought alone: nothing of it was
    /// written, and the transaction goes on.
    pub fn record(&mut self, recording: &Recording) -> Result<Outcome> {
        let Recording { id, thought, salt, sealing } = recording;
        if let Some(key) = &thought.idempotency_key
            && let Some(first) = self.first_of(key)?
        {
            return Ok(Outcome::Repeated(Box::new(self.repeated(thought, sealing.as_ref(), first)?)));
        }
        if let Some(id) = thought.context_id
            && !(1..=self.contexts()?).contains(&id)
        {
            return Err(Error::NotFound { what: "context", id: id.to_string() });
        }
        let session = self.session(thought.session_id.as_str())?;
        if let Some(id) = &thought.brief_id {
            let of = self.tx.brief_session(id.as_str())?;
            let of = of.ok_or_else(|| Error::NotFound { what: "brief", id: id.to_string() })?;
            if session.is_none_or(|session| session.no != of) {
                let message = format!("brief `{id}` is of another session than `{}`", thought.session_id);
                return Err(Error::invalid("brief_id", message));
            }
        }
        let parent = self.parent(thought, session.as_ref())?;
        self.check_links(thought, session.as_ref())?;
        let task = self.task(thought.task_id.as_str())?;
        let taken = || Error::Conflict(format!("a thought with the id `{id}` is already recorded"));
        if (session.is_none() || task.is_none()) && self.tx.has_thought(id.as_str())? {
            // Before a new label is written, which would be left without a thought.
            return Err(taken());
        }
        let session = match session {
            Some(session) => session,
            None => SessionHead { no: self.tx.add_session(thought.session_id.as_str())?, length: 0 },
        };
        let task = match task {
            Some(task) => task,
            None => TaskHead { no: self.tx.add_task(thought.task_id.as_str())?, length: 0, head: Sha::ZERO },
        };
        let timestamp = self.clock.now()?;
        let seq = self.heads.edge.size();
        let hash = task_hash(
            &TaskLink {
                content: &thought.content,
                id: id.as_str(),
                prev_hash: task.head,
                task_id: thought.task_id.as_str(),
                timestamp: timestamp.as_str(),
                kind: thought.kind.as_str(),
            },
            self.link,
        );
        let link = chain_hash(&thought.content_hash, parent.as_ref().map(|parent| &parent.chain_hash));
        let entry = Entry::Thought(ThoughtEntry {
            action_id: thought.action_id.as_ref().map(|id| id.as_str().into()),
            agent_id: thought.agent_id.as_str().into(),
            applies_to: texts(&thought.applies_to),
            brief_id: thought.brief_id.as_ref().map(|id| id.as_str().into()),
            chain_hash: link,
            content_hash: thought.content_hash,
            content_length: thought.content.len() as u64,
            context_id: thought.context_id,
            hash,
            id: id.as_str().into(),
            idempotency_key: thought.idempotency_key.as_ref().map(|key| key.as_str().into()),
            metadata_commitment: thought
                .metadata
                .as_deref()
                .zip(salt.as_ref())
                .map(|(metadata, salt)| commitment(salt, metadata.as_bytes())),
            parent_id: thought.parent_id.as_ref().map(|id| id.as_str().into()),
            position: task.length,
            prev_hash: task.head,
            rejects: texts(&thought.rejects),
            seq,
            session_id: thought.session_id.as_str().into(),
            source: thought.source,
            step_index: session.length,
            supersedes: texts(&thought.supersedes),
            task_id: thought.task_id.as_str().into(),
            timestamp: timestamp.as_str().into(),
            kind: thought.kind,
        });
        let parts = Parts {
            text: Some(thought.content.as_str().into()),
            metadata: thought.metadata.as_deref().map(Into::into),
            salt: *salt,
        };
        let keys = Keys {
            task_no: task.no,
            session_no: session.no,
            parent_seq: parent.as_ref().map(|parent| parent.seq as i64),
            ..Keys::default()
        };
        match self.append(Record { entry, parts }, &keys) {
            Err(Error::Store(StoreError::Taken(_))) => return Err(taken()),
            other => other?,
        }
        if let Some(sealing) = sealing {
            self.tx.insert_seal(seq, &sealing.key)?;
        }

        self.move_heads(
            thought,
            id,
            task,
            session,
            hash,
            ParentLink { seq, kind: thought.kind, session_no: session.no, chain_hash: link },
        );
        let step_index = session.length;
        let place = Place { seq, step_index, timestamp, prev_hash: task.head, hash, chain_hash: link };
        Ok(Outcome::New(place))
    }

    /// Stores a checkpoint.
    pub fn state(&mut self, size: u64, note: &str) -> Result<()> {
        Ok(self.tx.insert_checkpoint(size, note)?)
    }

    /// Adds a complete record at the end of the log.
    pub(super) fn append(&mut self, record: Record<'_>, keys: &Keys) -> Result<()> {
        self.leaf.clear();
        record.entry.write(self.leaf);
        let hash = leaf_hash(self.leaf);
        self.tx.insert(&record, keys, &hash)?;
        self.heads.edge.push(hash, &mut |_| {});
        self.grew = true;
        Ok(())
    }

    /// Adds an entry that has no texts and names no rows.
    pub(super) fn append_statement(&mut self, entry: Entry<'_>) -> Result<()> {
        self.append(Record { entry, parts: Parts::default() }, &Keys::default())
    }

    /// How many snapshots there are.
    pub(super) fn contexts(&mut self) -> Result<u64> {
        match self.heads.contexts {
            Some(count) => Ok(count),
            None => Ok(*self.heads.contexts.insert(self.tx.contexts()?)),
        }
    }

    /// A session's head; none if the session is new.
    pub(super) fn session(&mut self, name: &str) -> Result<Option<SessionHead>> {
        if let Some(session) = self.heads.sessions.get(name) {
            return Ok(Some(*session));
        }
        let found = self.tx.session(name)?;
        if let Some(session) = found {
            remember(&mut self.heads.sessions, name, session);
        }
        Ok(found)
    }

    fn task(&mut self, name: &str) -> Result<Option<TaskHead>> {
        if let Some(task) = self.heads.tasks.get(name) {
            return Ok(Some(*task));
        }
        let found = self.tx.task(name)?;
        if let Some(task) = found {
            remember(&mut self.heads.tasks, name, task);
        }
        Ok(found)
    }

    fn parent(
        &mut self,
        thought: &CheckedThought,
        session: Option<&SessionHead>,
    ) -> Result<Option<ParentLink>> {
        let Some(id) = &thought.parent_id else { return Ok(None) };
        let link = self.named("parent_id", id)?;
        same_session("parent_id", id, &link, thought, session)?;
        Ok(Some(link))
    }

    /// Refuses to supersede what is not an earlier decision, and to reject what is not an earlier thought of the session.
    fn check_links(&mut self, thought: &CheckedThought, session: Option<&SessionHead>) -> Result<()> {
        for (index, id) in thought.supersedes.iter().enumerate() {
            let path = || format!("supersedes[{index}]");
            let link = self.named(&path(), id)?;
            if link.kind != ThoughtType::Decision {
                let message =
                    format!("only a decision can be superseded; thought `{id}` is of type {}", link.kind);
                return Err(Error::invalid(path(), message));
            }
        }
        for (index, id) in thought.rejects.iter().enumerate() {
            let path = format!("rejects[{index}]");
            let link = self.named(&path, id)?;
            same_session(&path, id, &link, thought, session)?;
        }
        Ok(())
    }

    /// A thought that another one names in the argument at `path`.
    fn named(&mut self, path: &str, id: &ThoughtId) -> Result<ParentLink> {
        if let Some(link) = self.heads.parents.get(id) {
            return Ok(*link);
        }
        let none = || Error::invalid(path, format!("there is no thought `{id}`"));
        let found = self.tx.parent(id.as_str())?.ok_or_else(none)?;
        Ok(*self.heads.parents.entry(id.clone()).or_insert(found))
    }

    fn move_heads(
        &mut self,
        thought: &CheckedThought,
        id: &ThoughtId,
        task: TaskHead,
        session: SessionHead,
        hash: Sha,
        link: ParentLink,
    ) {
        let task = TaskHead { length: task.length + 1, head: hash, ..task };
        let session = SessionHead { length: session.length + 1, ..session };
        remember(&mut self.heads.tasks, thought.task_id.as_str(), task);
        remember(&mut self.heads.sessions, thought.session_id.as_str(), session);
        self.heads.parents.insert(id.clone(), link);
        match self.moved.tasks.iter_mut().find(|moved| moved.no == task.no) {
            Some(moved) => *moved = task,
            None => self.moved.tasks.push(task),
        }
        match self.moved.sessions.iter_mut().find(|moved| moved.no == session.no) {
            Some(moved) => *moved = session,
            None => self.moved.sessions.push(session),
        }
    }

    /// Whether what follows had better be another transaction.
    pub fn is_full(&self) -> bool {
        self.tx.is_full()
    }

    /// Writes the heads that have moved; returns whether the log has grown.
    pub fn flush(self) -> std::result::Result<bool, StoreError> {
        if !self.grew {
            return Ok(false);
        }
        for head in &self.moved.tasks {
            self.tx.set_task(head)?;
        }
        for head in &self.moved.sessions {
            self.tx.set_session(head)?;
        }
        self.tx.set_log(&self.heads.edge)?;
        Ok(true)
    }
}

fn same_session(
    path: &str,
    id: &ThoughtId,
    link: &ParentLink,
    thought: &CheckedThought,
    session: Option<&SessionHead>,
) -> Result<()> {
    if session.is_some_and(|session| session.no == link.session_no) {
        return Ok(());
    }
    let message = format!("thought `{id}` belongs to another session than `{}`", thought.session_id);
    Err(Error::invalid(path, message))
}

/// The fields of a recorded thought that only the writer knows.
pub(crate) struct Place {
    seq: u64,
    step_index: u64,
    timestamp: Timestamp,
    prev_hash: Sha,
    hash: Sha,
    chain_hash: Sha,
}

/// The outcome of recording a thought.
pub(crate) enum Outcome {
    /// It stands here.
    New(Place),
    /// It was recorded before, under the same key.
    Repeated(Box<Recorded>),
}

impl Outcome {
    /// The answer to the caller.
    pub fn of(self, recording: Recording) -> Recorded {
        let Place { seq, step_index, timestamp, prev_hash, hash, chain_hash } = match self {
            Outcome::New(place) => place,
            Outcome::Repeated(first) => return *first,
        };
        let Recording { id, thought, sealing, .. } = recording;
        Recorded {
            metadata: thought.metadata,
            thought: Thought {
                id,
                kind: thought.kind,
                task_id: thought.task_id,
                session_id: thought.session_id,
                agent_id: thought.agent_id,
                content: sealing.map_or(thought.content, |sealing| sealing.content),
                parent_id: thought.parent_id,
                action_id: thought.action_id,
                context_id: thought.context_id,
                brief_id: thought.brief_id,
                supersedes: thought.supersedes,
                rejects: thought.rejects,
                applies_to: thought.applies_to,
                source: thought.source,
                metadata: None,
                step_index,
                timestamp,
                prev_hash,
                hash,
                content_hash: thought.content_hash,
                chain_hash,
                seq,
                sealed: thought.seal,
                redacted: None,
            },
        }
    }
}
