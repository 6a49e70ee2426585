//! Entries as a store has them, with all that a line of a bundle would hold: what is copied is what is exported.

use cairn_core::entry::EntryKind;
use cairn_core::thought::SEALED;
use serde_json::{Map, Value};

use super::entry::{Entry, Leaf};
use crate::store::{Audit, Scanned, StoreError};
use crate::verify::named_bodies;

type Result<T> = std::result::Result<T, StoreError>;

/// Reads what an entry stands for, keys of sealed contents included.
pub fn entry(audit: &dyn Audit, scanned: &Scanned<'_>) -> Result<Entry> {
    let seq = scanned.seq;
    if let Some((table, column)) = scanned.malformed {
        return Err(damaged(format!("`{column}` of {table} {seq} cannot be read")));
    }
    let leaf = scanned.entry.and_then(|entry| Some((entry.kind, std::str::from_utf8(entry.leaf).ok()?)));
    let (kind, leaf) = leaf.ok_or_else(|| damaged(format!("log entry {seq} cannot be read")))?;
    let mut line = Map::new();
    line.insert("leaf".into(), leaf.into());
    let found = match kind.parse() {
        Ok(EntryKind::Thought) => match scanned.thought {
            None => false,
            Some(thought) => {
                line.insert("content".into(), text(thought.content));
                line.insert("metadata".into(), text(thought.metadata));
                line.insert("salt".into(), hex(thought.salt));
                if thought.content.is_some_and(|content| content.starts_with(SEALED)) {
                    line.insert("seal_key".into(), hex(audit.seal_key(seq)?.as_deref()));
                }
                true
            }
        },
        Ok(EntryKind::Snapshot) => audit.context(seq, &mut |stored| {
            line.insert("data".into(), text(stored.data));
            line.insert("metadata".into(), text(stored.metadata));
            line.insert("salt".into(), hex(stored.salt));
        })?,
        Ok(EntryKind::Event) => {
            let mut named = Ok(Vec::new());
            let found = audit.event(seq, &mut |stored| {
                let body = stored.body.unwrap_or_default();
                named = named_bodies(stored.kind, stored.v.unsigned_abs(), body);
                line.insert("body".into(), body.into());
            })?;
            let mut bodies = Map::new();
            for named in named.map_err(damaged)? {
                // Content is stored once, with the first event that names it.
                let mut first = None;
                audit.body(&named.sha256, &mut |at, data| {
                    first = (u64::try_from(at) == Ok(seq)).then(|| data.map(str::to_string));
                })?;
                match first {
                    Some(Some(data)) => drop(bodies.insert(named.sha256.to_string(), data.into())),
                    Some(None) => return Err(damaged(format!("content {} is gone", named.sha256))),
                    None => {}
                }
            }
            line.insert("bodies".into(), bodies.into());
            found
        }
        Ok(EntryKind::Brief) => {
            audit.brief(seq, &mut |stored| drop(line.insert("data".into(), text(stored.data))))?
        }
        Ok(EntryKind::Review) => match audit.review(seq)? {
            None => false,
            Some(stored) => {
                line.insert("text".into(), text(stored.text.as_deref()));
                line.insert("salt".into(), hex(stored.salt.as_deref()));
                true
            }
        },
        _ => true,
    };
    if !found {
        return Err(damaged(format!("what log entry {seq} records is gone")));
    }
    match Entry::read(line) {
        Ok(Entry { leaf: Leaf::Unknown, .. }) => {
            Err(damaged(format!("the bytes of log entry {seq} are not those of any entry")))
        }
        Ok(entry) if entry.seq() == Some(seq) => Ok(entry),
        Ok(_) => Err(damaged(format!("log entry {seq} names another place"))),
        Err(what) => Err(damaged(format!("of log entry {seq}, {what}"))),
    }
}

fn text(text: Option<&str>) -> Value {
    text.map_or(Value::Null, Value::from)
}

fn hex(bytes: Option<&[u8]>) -> Value {
    let digits = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    bytes.map_or(Value::Null, |bytes| digits(bytes).into())
}

fn damaged(what: String) -> StoreError {
    StoreError::Damaged(what)
}
