//! Checks each record before it is shown.
//!
//! The bytes of a record's log entry are made again from what is stored, and their hash is compared with the one in the
//! log. A record that passes says what was recorded, as far as the log itself holds; [`crate::Cairn::verify`] checks that.

use cairn_core::Sha;
use cairn_core::entry::{
    BriefEntry, EventEntry, RedactionEntry, Salt, SnapshotEntry, ThoughtEntry, metadata_commitment, texts,
};
use cairn_core::log::leaf_hash;
use cairn_core::redaction::Redaction;
use cairn_core::thought::Thought;
use serde_json::{Map, Value};

use crate::context::ContextHead;
use crate::store::{
    Damage, EventText, Leaves, Read, ReadBrief, ReadContext, ReadThought, RedactionLeaf, StoreError,
};
use crate::verify::{InLog, read_redaction};

const DIFFERS: &str = "what is stored does not match its hash in the log";
const NO_ENTRY: &str = "its entry in the log is missing";
const ERASED: &str = "its text is gone, and no redaction says so";

/// A damaged record that was asked for on its own is an error.
impl From<Damage> for crate::Error {
    fn from(damage: Damage) -> crate::Error {
        crate::Error::Damaged(damage)
    }
}

/// Compares the bytes in `buffer` with the hash that the log holds for them.
fn compare(seq: u64, entry_hash: Option<&Sha>, buffer: &[u8]) -> Read<()> {
    match entry_hash {
        None => Err(Damage::at(seq, NO_ENTRY)),
        Some(hash) if *hash == leaf_hash(buffer) => Ok(()),
        Some(_) => Err(Damage::at(seq, DIFFERS)),
    }
}

/// Canonical metadata, and what stands for it in an entry.
fn committed(seq: u64, metadata: Option<&str>, salt: Option<&Salt>) -> Read<Option<Sha>> {
    match (metadata, salt) {
        (Some(metadata), Some(salt)) => Ok(Some(metadata_commitment(salt, metadata.as_bytes()))),
        (None, None) => Ok(None),
        _ => Err(Damage::at(seq, DIFFERS)),
    }
}

fn parsed(seq: u64, metadata: Option<&str>) -> Read<Option<Map<String, Value>>> {
    let parse = |text| serde_json::from_str(text).map_err(|_| Damage::at(seq, "its metadata is not JSON"));
    metadata.map(parse).transpose()
}

/// Checks the entry of a redaction of the record at `target_seq`.
pub(crate) fn redaction(entry: &RedactionLeaf, target_seq: u64) -> Read<RedactionEntry<'static>> {
    let sound = leaf_hash(&entry.leaf).0[..] == entry.hash[..] && entry.seq > target_seq;
    let said = read_redaction(&entry.leaf).filter(|said| sound && said.target_seq == target_seq);
    said.ok_or_else(|| Damage::at(entry.seq, DIFFERS))
}

/// Checks both entries of a redacted record; returns its own, and what the redaction says.
fn redacted(seq: u64, leaves: &Leaves, entry_hash: Option<&Sha>) -> Read<(InLog, RedactionEntry<'static>)> {
    compare(seq, entry_hash, &leaves.own)?;
    let in_log = InLog::read(&leaves.own).ok_or_else(|| Damage::at(seq, DIFFERS))?;
    let said = redaction(&leaves.redaction, seq)?;
    if said.content_hash != in_log.content_hash {
        return Err(Damage::at(seq, ERASED));
    }
    Ok((in_log, said))
}

/// Checks a thought. A sealed content stays sealed; a redacted one is marked as such.
pub(crate) fn thought(read: ReadThought, buffer: &mut Vec<u8>) -> Read<Thought> {
    let ReadThought { mut thought, has_content, position, metadata, salt, idempotency_key, .. } = read;
    let seq = thought.seq;
    let erased =
        read.leaves.as_ref().map(|leaves| redacted(seq, leaves, read.entry_hash.as_ref())).transpose()?;
    let content_length = match (&erased, has_content) {
        (_, true) => thought.content.len() as u64,
        (Some((in_log, said)), false) if said.blanks("content") => in_log.content_length,
        _ => return Err(Damage::at(seq, ERASED)),
    };
    if has_content && Sha::of(thought.content.as_bytes()) != thought.content_hash {
        return Err(Damage::at(seq, DIFFERS));
    }
    let metadata_commitment = match &erased {
        Some((in_log, _)) if metadata.is_none() => in_log.metadata_commitment,
        _ => committed(seq, metadata.as_deref(), salt.as_ref())?,
    };
    buffer.clear();
    ThoughtEntry {
        action_id: thought.action_id.as_ref().map(|id| id.as_str().into()),
        agent_id: thought.agent_id.as_str().into(),
        applies_to: texts(&thought.applies_to),
        brief_id: thought.brief_id.as_ref().map(|id| id.as_str().into()),
        chain_hash: thought.chain_hash,
        content_hash: thought.content_hash,
        content_length,
        context_id: thought.context_id,
        hash: thought.hash,
        id: thought.id.as_str().into(),
        idempotency_key: idempotency_key.as_deref().map(Into::into),
        metadata_commitment,
        parent_id: thought.parent_id.as_ref().map(|id| id.as_str().into()),
        position,
        prev_hash: thought.prev_hash,
        rejects: texts(&thought.rejects),
        seq,
        session_id: thought.session_id.as_str().into(),
        source: thought.source,
        step_index: thought.step_index,
        supersedes: texts(&thought.supersedes),
        task_id: thought.task_id.as_str().into(),
        timestamp: thought.timestamp.as_str().into(),
        kind: thought.kind,
    }
    .write(buffer);
    compare(seq, read.entry_hash.as_ref(), buffer)?;
    thought.metadata = parsed(seq, metadata.as_deref())?;
    if let Some((_, said)) = erased {
        thought.content.clear();
        thought.redacted = Some(said.redaction());
    }
    Ok(thought)
}

/// Checks the head of a snapshot.
pub(crate) fn context(read: ReadContext, buffer: &mut Vec<u8>) -> Read<ContextHead> {
    let ReadContext { mut head, position, content_length, metadata, salt, entry_hash } = read;
    let seq = head.seq;
    buffer.clear();
    SnapshotEntry {
        content_hash: head.content_hash,
        content_length,
        context_id: head.context_id,
        created_at: head.created_at.as_str().into(),
        metadata_commitment: committed(seq, metadata.as_deref(), salt.as_ref())?,
        node_count: head.node_count,
        position,
        roadmap_id: head.roadmap_id.as_str().into(),
        seq,
    }
    .write(buffer);
    compare(seq, entry_hash.as_ref(), buffer)?;
    head.metadata = parsed(seq, metadata.as_deref())?;
    Ok(head)
}

/// Checks an event of a session.
pub(crate) fn event(event: &EventText<'_>, session_id: &str, buffer: &mut Vec<u8>) -> Read<()> {
    if event.session_id != session_id {
        return Err(Damage::at(event.seq, format!("it is not an event of session `{session_id}`")));
    }
    buffer.clear();
    EventEntry {
        body_hash: Sha::of(event.body.as_bytes()),
        body_length: event.body.len() as u64,
        created_at: event.created_at.into(),
        event: event.kind.into(),
        event_v: event.v,
        idempotency_key: event.idempotency_key.map(Into::into),
        position: event.position,
        seq: event.seq,
        session_id: event.session_id.into(),
        turn: event.turn,
    }
    .write(buffer);
    compare(event.seq, event.entry_hash.try_into().ok().map(Sha).as_ref(), buffer)
}

/// Checks a stored brief; returns why its data is gone, if it was redacted.
pub(crate) fn brief(read: &ReadBrief, buffer: &mut Vec<u8>) -> Read<Option<Redaction>> {
    let seq = read.seq;
    let (data_hash, data_length, redaction) = match (&read.data, &read.leaves) {
        (Some(data), _) => (Sha::of(data.as_bytes()), data.len() as u64, None),
        (None, Some(leaves)) => {
            let (in_log, said) = redacted(seq, leaves, read.entry_hash.as_ref())?;
            (in_log.content_hash, in_log.content_length, Some(said.redaction()))
        }
        (None, None) => return Err(Damage::at(seq, ERASED)),
    };
    buffer.clear();
    BriefEntry {
        brief_id: read.id.as_str().into(),
        created_at: read.created_at.as_str().into(),
        data_hash,
        data_length,
        hash: read.hash,
        node: read.node.as_str().into(),
        seq,
        session_id: read.session_id.as_str().into(),
        turn: read.turn,
    }
    .write(buffer);
    compare(seq, read.entry_hash.as_ref(), buffer)?;
    Ok(redaction)
}

/// Checks a content that is stored under its digest.
pub(crate) fn body(digest: &Sha, data: String) -> Result<String, StoreError> {
    if Sha::of(data.as_bytes()) == *digest {
        Ok(data)
    } else {
        Err(StoreError::Damaged(format!("the content with digest {digest} does not match it")))
    }
}
