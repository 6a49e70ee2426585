//! What a transaction will ask for, read in one go: a question that crosses the network for each of its rows would hold
//! the end of the log for as long.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use cairn_core::Sha;
use futures::future::join_all;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Row, Statement};

use super::Result;
use super::connect::Link;
use super::row::{get, number, sha, typed};
use crate::store::{MemoryHead, Need, ParentLink, SessionHead, TaskHead};

const TASKS: &str = "SELECT name, no, length, head FROM task WHERE name = ANY($1::text[])";
const SESSIONS: &str = "SELECT name, no, length FROM session WHERE name = ANY($1::text[])";
const MEMORIES: &str =
    "SELECT s.name, m.session_no, m.length, m.newest, coalesce((SELECT max(seq) FROM redaction), 0)
  FROM session s JOIN memory m ON m.session_no = s.no WHERE s.name = ANY($1::text[])";
const PARENTS: &str = "SELECT id, seq, type, session_no, chain_hash FROM thought WHERE id = ANY($1::text[])";
const KEYS: &str = "SELECT idempotency_key FROM thought WHERE idempotency_key = ANY($1::text[])";
const EVENT_KEYS: &str = "SELECT idempotency_key FROM event WHERE idempotency_key = ANY($1::text[])";
const BRIEFS: &str = "SELECT id, session_no FROM brief WHERE id = ANY($1::text[])";
// Whoever asks has the content, so its hash tells whether what is stored is that.
const BODIES: &str = "SELECT sha256, coalesce(sha256(convert_to(data, 'UTF8')) = sha256, false)
  FROM body WHERE sha256 = ANY($1::bytea[])";

/// In the order of [`Question::names`].
const OF_NAMES: [&str; 7] = [TASKS, SESSIONS, MEMORIES, PARENTS, KEYS, EVENT_KEYS, BRIEFS];
const OF_BODIES: usize = 7;

/// Everything that is asked for at once.
#[derive(Default)]
pub struct Question {
    names: [Vec<String>; 7],
    bodies: Vec<Vec<u8>>,
}

impl Question {
    /// Asks for these.
    pub fn new<'n>(needs: impl Iterator<Item = &'n Need>) -> Question {
        let mut question = Question::default();
        for need in needs {
            let (place, name) = match need {
                Need::Task(name) => (0, name.clone()),
                Need::Session(name) => (1, name.clone()),
                Need::Memory(name) => (2, name.clone()),
                Need::Parent(id) => (3, id.to_string()),
                Need::Key(key) => (4, key.clone()),
                Need::EventKey(key) => (5, key.clone()),
                Need::Brief(id) => (6, id.clone()),
                Need::Body(digest) => {
                    question.bodies.push(digest.0.to_vec());
                    continue;
                }
            };
            question.names[place].push(name);
        }
        question
    }

    fn parts(&self) -> Vec<(usize, &'static str, &(dyn ToSql + Sync))> {
        let names = self.names.iter().zip(OF_NAMES).enumerate();
        let asked = names.filter(|(_, (names, _))| !names.is_empty());
        let mut parts: Vec<(usize, &'static str, &(dyn ToSql + Sync))> =
            asked.map(|(place, (names, sql))| (place, sql, names as _)).collect();
        if !self.bodies.is_empty() {
            parts.push((OF_BODIES, BODIES, &self.bodies));
        }
        parts
    }

    /// Prepares the statements, so that [`Question::ask`] sends them all at once.
    pub async fn prepare(&self, link: &Link) -> std::result::Result<Vec<Statement>, tokio_postgres::Error> {
        let mut prepared = Vec::new();
        for (_, sql, _) in self.parts() {
            prepared.push(link.prepared(sql).await?);
        }
        Ok(prepared)
    }

    /// Asks; the answers are for [`Found::new`].
    pub async fn ask(
        &self,
        link: &Link,
        prepared: &[Statement],
    ) -> std::result::Result<Vec<(usize, Vec<Row>)>, tokio_postgres::Error> {
        let parts = self.parts();
        let asked = parts.iter().zip(prepared).map(|((place, _, value), statement)| async move {
            Ok((*place, link.client().query(statement, &[*value]).await?))
        });
        join_all(asked).await.into_iter().collect()
    }
}

/// Reads `id, seq, type, session_no, chain_hash` of a thought.
pub fn parent_link(row: &Row) -> Result<ParentLink> {
    Ok(ParentLink {
        seq: number(row, 1)?,
        kind: typed(get(row, 2)?, |word: String| word.parse())?,
        session_no: get(row, 3)?,
        chain_hash: sha(row, 4)?,
    })
}

/// Nothing, of each that was asked for.
fn none_of<K: Eq + Hash, V>(asked: Vec<K>) -> HashMap<K, Option<V>> {
    asked.into_iter().map(|key| (key, None)).collect()
}

/// What was found. An answer is given once: whoever asks again may have written meanwhile, and reads it anew.
pub struct Found {
    tasks: HashMap<String, Option<TaskHead>>,
    sessions: HashMap<String, Option<SessionHead>>,
    memories: HashMap<String, Option<MemoryHead>>,
    parents: HashMap<String, Option<ParentLink>>,
    /// Those under which nothing is recorded.
    free_keys: HashSet<String>,
    free_event_keys: HashSet<String>,
    briefs: HashMap<String, Option<i64>>,
    bodies: HashMap<Vec<u8>, Option<bool>>,
}

impl Found {
    /// What the answers to a question say.
    pub fn new(question: Question, answers: Vec<(usize, Vec<Row>)>) -> Result<Found> {
        let [tasks, sessions, memories, parents, keys, event_keys, briefs] = question.names;
        let mut found = Found {
            tasks: none_of(tasks),
            sessions: none_of(sessions),
            memories: none_of(memories),
            parents: none_of(parents),
            free_keys: keys.into_iter().collect(),
            free_event_keys: event_keys.into_iter().collect(),
            briefs: none_of(briefs),
            bodies: none_of(question.bodies),
        };
        for (place, rows) in answers {
            rows.iter().try_for_each(|row| found.take_row(place, row))?;
        }
        Ok(found)
    }

    fn take_row(&mut self, place: usize, row: &Row) -> Result<()> {
        match place {
            0 => {
                let head = TaskHead { no: get(row, 1)?, length: number(row, 2)?, head: sha(row, 3)? };
                self.tasks.insert(get(row, 0)?, Some(head));
            }
            1 => {
                let head = SessionHead { no: get(row, 1)?, length: number(row, 2)? };
                self.sessions.insert(get(row, 0)?, Some(head));
            }
            2 => {
                let head = MemoryHead {
                    session_no: get(row, 1)?,
                    length: number(row, 2)?,
                    newest: number(row, 3)?,
                    redaction: number(row, 4)?,
                };
                self.memories.insert(get(row, 0)?, Some(head));
            }
            3 => {
                self.parents.insert(get(row, 0)?, Some(parent_link(row)?));
            }
            4 => drop(self.free_keys.remove(get::<&str>(row, 0)?)),
            5 => drop(self.free_event_keys.remove(get::<&str>(row, 0)?)),
            6 => drop(self.briefs.insert(get(row, 0)?, Some(get(row, 1)?))),
            _ => drop(self.bodies.insert(get(row, 0)?, Some(get(row, 1)?))),
        }
        Ok(())
    }

    pub fn task(&mut self, name: &str) -> Option<Option<TaskHead>> {
        self.tasks.remove(name)
    }

    pub fn session(&mut self, name: &str) -> Option<Option<SessionHead>> {
        self.sessions.remove(name)
    }

    pub fn memory(&mut self, session: &str) -> Option<Option<MemoryHead>> {
        self.memories.remove(session)
    }

    pub fn parent(&mut self, id: &str) -> Option<Option<ParentLink>> {
        self.parents.remove(id)
    }

    /// Whether it is known that no thought is recorded under a key.
    pub fn is_free(&mut self, key: &str) -> bool {
        self.free_keys.remove(key)
    }

    /// Whether it is known that no event is.
    pub fn is_free_for_event(&mut self, key: &str) -> bool {
        self.free_event_keys.remove(key)
    }

    pub fn brief(&mut self, id: &str) -> Option<Option<i64>> {
        self.briefs.remove(id)
    }

    /// Whether a content is there, and still has its hash.
    pub fn body(&mut self, digest: &Sha) -> Option<Option<bool>> {
        self.bodies.remove(&digest.0[..])
    }
}
