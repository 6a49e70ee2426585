//! The bytes of an entry, read back: every field, and nothing that writing the fields again would not give.

use cairn_core::Sha;
use cairn_core::canonical::MAX_INTEGER;
use cairn_core::entry::{
    BriefEntry, ContinuationEntry, EventEntry, Genesis, KeyEntry, KeyOp, RedactionEntry, SnapshotEntry,
    ThoughtEntry, VERSION,
};
use serde::Deserialize;
use serde::de::{Deserializer, Error as _};

/// Declares the fields of an entry as they are read back: all of them, no others.
macro_rules! leaf {
    ($(#[$doc:meta])* $name:ident { $($(#[$attribute:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            $($(#[$attribute])* #[allow(missing_docs, reason = "they are those of the entry")] pub $field: $type,)*
            /// Says which of the structures it is.
            #[serde(rename = "kind")]
            _kind: String,
            /// The version of the format.
            #[serde(rename = "v")]
            version: Number,
        }
    };
}

leaf!(
    /// See [`Genesis`].
    GenesisLeaf { origin: String, seq: Number, timestamp: String, }
);
leaf!(
    /// See [`ThoughtEntry`].
    ThoughtLeaf {
        action_id: Option<String>,
        agent_id: String,
        brief_id: Option<String>,
        chain_hash: Sha,
        content_hash: Sha,
        content_length: Number,
        context_id: Option<Number>,
        hash: Sha,
        id: String,
        idempotency_key: Option<String>,
        metadata_commitment: Option<Sha>,
        parent_id: Option<String>,
        position: Number,
        prev_hash: Sha,
        seq: Number,
        session_id: String,
        step_index: Number,
        task_id: String,
        timestamp: String,
        #[serde(rename = "type")]
        kind: String,
    }
);
leaf!(
    /// See [`SnapshotEntry`].
    SnapshotLeaf {
        content_hash: Sha,
        content_length: Number,
        context_id: Number,
        created_at: String,
        metadata_commitment: Option<Sha>,
        node_count: Number,
        position: Number,
        roadmap_id: String,
        seq: Number,
    }
);
leaf!(
    /// See [`EventEntry`].
    EventLeaf {
        body_hash: Sha,
        body_length: Number,
        created_at: String,
        event: String,
        event_v: Number,
        idempotency_key: Option<String>,
        position: Number,
        seq: Number,
        session_id: String,
        turn: Number,
    }
);
leaf!(
    /// See [`BriefEntry`].
    BriefLeaf {
        brief_id: String,
        created_at: String,
        data_hash: Sha,
        data_length: Number,
        hash: Sha,
        node: String,
        seq: Number,
        session_id: String,
        turn: Number,
    }
);
leaf!(
    /// See [`KeyEntry`].
    KeyLeaf {
        created_at: String,
        last_trusted_size: Option<Number>,
        op: String,
        reason: Option<String>,
        seq: Number,
        vkey: String,
    }
);
leaf!(
    /// See [`RedactionEntry`].
    RedactionLeaf {
        actor: String,
        content_hash: Sha,
        created_at: String,
        fields: Vec<String>,
        reason: String,
        seq: Number,
        target_id: String,
        target_kind: String,
        target_seq: Number,
    }
);
leaf!(
    /// See [`ContinuationEntry`].
    ContinuationLeaf {
        actor: String,
        created_at: String,
        origin: String,
        reason: String,
        root: Sha,
        seq: Number,
        size: Number,
    }
);

/// An integer that every JSON implementation reads back unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Number(pub u64);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Number, D::Error> {
        let number = u64::deserialize(deserializer)?;
        if number > MAX_INTEGER {
            return Err(D::Error::custom("a number is too large"));
        }
        Ok(Number(number))
    }
}

/// Reads bytes, and says no unless writing the same fields gives the same bytes.
pub fn parse<'b, T: Deserialize<'b>>(bytes: &'b str, write: impl Fn(&T, &mut Vec<u8>) -> bool) -> Option<T> {
    let leaf: T = serde_json::from_str(bytes).ok()?;
    let mut again = Vec::with_capacity(bytes.len());
    (write(&leaf, &mut again) && again == bytes.as_bytes()).then_some(leaf)
}

// Each writes what it read, and says whether there is such an entry.

impl GenesisLeaf {
    pub fn write(&self, out: &mut Vec<u8>) -> bool {
        Genesis { origin: &self.origin, timestamp: &self.timestamp }.write(out);
        self.version.0 == VERSION
    }
}

impl ThoughtLeaf {
    pub fn write(&self, out: &mut Vec<u8>) -> bool {
        ThoughtEntry {
            action_id: self.action_id.as_deref(),
            agent_id: &self.agent_id,
            brief_id: self.brief_id.as_deref(),
            chain_hash: self.chain_hash,
            content_hash: self.content_hash,
            content_length: self.content_length.0,
            context_id: self.context_id.map(|id| id.0),
            hash: self.hash,
            id: &self.id,
            idempotency_key: self.idempotency_key.as_deref(),
            metadata_commitment: self.metadata_commitment,
            parent_id: self.parent_id.as_deref(),
            position: self.position.0,
            prev_hash: self.prev_hash,
            seq: self.seq.0,
            session_id: &self.session_id,
            step_index: self.step_index.0,
            task_id: &self.task_id,
            timestamp: &self.timestamp,
            kind: &self.kind,
        }
        .write(out);
        self.version.0 == VERSION
    }
}

impl SnapshotLeaf {
    pub fn write(&self, out: &mut Vec<u8>) -> bool {
        SnapshotEntry {
            content_hash: self.content_hash,
            content_length: self.content_length.0,
            context_id: self.context_id.0,
            created_at: &self.created_at,
            metadata_commitment: self.metadata_commitment,
            node_count: self.node_count.0,
            position: self.position.0,
            roadmap_id: &self.roadmap_id,
            seq: self.seq.0,
        }
        .write(out);
        self.version.0 == VERSION
    }
}

impl EventLeaf {
    pub fn write(&self, out: &mut Vec<u8>) -> bool {
        EventEntry {
            body_hash: self.body_hash,
            body_length: self.body_length.0,
            created_at: &self.created_at,
            event: &self.event,
            event_v: self.event_v.0,
            idempotency_key: self.idempotency_key.as_deref(),
            position: self.position.0,
            seq: self.seq.0,
            session_id: &self.session_id,
            turn: self.turn.0,
        }
        .write(out);
        self.version.0 == VERSION
    }
}

impl BriefLeaf {
    pub fn write(&self, out: &mut Vec<u8>) -> bool {
        BriefEntry {
            brief_id: &self.brief_id,
            created_at: &self.created_at,
            data_hash: self.data_hash,
            data_length: self.data_length.0,
            hash: self.hash,
            node: &self.node,
            seq: self.seq.0,
            session_id: &self.session_id,
            turn: self.turn.0,
        }
        .write(out);
        self.version.0 == VERSION
    }
}

impl KeyLeaf {
    pub fn write(&self, out: &mut Vec<u8>) -> bool {
        let Some(op) = KeyOp::from_word(&self.op) else { return false };
        KeyEntry {
            created_at: &self.created_at,
            last_trusted_size: self.last_trusted_size.map(|size| size.0),
            op,
            reason: self.reason.as_deref(),
            seq: self.seq.0,
            vkey: &self.vkey,
        }
        .write(out);
        self.version.0 == VERSION
    }
}

impl RedactionLeaf {
    pub fn write(&self, out: &mut Vec<u8>) -> bool {
        let fields: Vec<&str> = self.fields.iter().map(String::as_str).collect();
        RedactionEntry {
            actor: &self.actor,
            content_hash: self.content_hash,
            created_at: &self.created_at,
            fields: &fields,
            reason: &self.reason,
            seq: self.seq.0,
            target_id: &self.target_id,
            target_kind: &self.target_kind,
            target_seq: self.target_seq.0,
        }
        .write(out);
        self.version.0 == VERSION
    }
}

impl ContinuationLeaf {
    pub fn write(&self, out: &mut Vec<u8>) -> bool {
        ContinuationEntry {
            actor: &self.actor,
            created_at: &self.created_at,
            origin: &self.origin,
            reason: &self.reason,
            root: self.root,
            seq: self.seq.0,
            size: self.size.0,
        }
        .write(out);
        self.version.0 == VERSION
    }
}
