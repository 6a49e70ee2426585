//! Checking one entry of the log and what it records.

use std::collections::HashMap;
use std::fmt::Display;

use cairn_core::Sha;
use cairn_core::entry::{
    Entry, EntryKind, Genesis, RedactionEntry, ThoughtEntry, from_column, metadata_commitment,
};
use cairn_core::log::{NodeSource, ProofError, TILE_WIDTH, inclusion, leaf_hash, subtree, verify_inclusion};
use cairn_core::thought::{TaskLink, ThoughtType, WrongLink, chain_hash, task_hash, wrong_links};
use serde_json::Value;

use super::context::Contexts;
use super::memory::Memory;
use super::redaction::{InLog, Redactions};
use super::review::check_review;
use super::time::Times;
use super::{Cause, Finding, Reason};
use crate::seal;
use crate::store::{Audit, LogHead, Scanned, StoreError, StoredEntry, StoredThought};
use crate::tree::audited;

type Result<T> = std::result::Result<T, StoreError>;

/// Makes a finding of reason, table, field, expected and actual value.
type MakeFinding<'f> = &'f dyn Fn(Reason, &'static str, &str, &dyn Display, &dyn Display) -> Finding;

/// Thoughts remembered as possible parents, by their position in the log.
const REMEMBERED_PARENTS: usize = 1 << 14;
/// Labels and task heads remembered; beyond this they are looked up again.
const REMEMBERED_LABELS: usize = 1 << 15;

/// Checks entries one after the other; remembers recent ones, since most links go to those.
pub struct Checker<'a> {
    audit: &'a dyn Audit,
    head: &'a LogHead,
    /// The last entry that the derived tables cover.
    derived_through: i64,
    parents: Vec<Parent>,
    task_heads: HashMap<i64, (i64, Sha)>,
    tasks: HashMap<i64, String>,
    sessions: HashMap<i64, String>,
    leaf: Vec<u8>,
    link: Vec<u8>,
    /// Checks snapshots, and whether those that thoughts name exist.
    pub contexts: Contexts,
    /// Checks events and briefs.
    pub memory: Memory,
    /// The times of thoughts.
    pub times: Times,
    /// Checks redactions, and the keys of sealed contents.
    pub redactions: Redactions,
    /// Thoughts seen.
    pub thoughts: u64,
    /// Reviews seen.
    pub reviews: u64,
    /// Thoughts seen that the derived list of actions must name.
    pub actions: u64,
    /// Damage seen that explains other findings.
    pub causes: Vec<Cause>,
}

#[derive(Clone, Default)]
struct Parent {
    seq: u64,
    session_no: i64,
    chain_hash: [u8; 32],
    id: String,
}

impl<'a> Checker<'a> {
    /// Starts with nothing remembered.
    pub fn new(audit: &'a dyn Audit, head: &'a LogHead, derived_through: i64) -> Checker<'a> {
        Checker {
            audit,
            head,
            derived_through,
            parents: vec![Parent::default(); REMEMBERED_PARENTS],
            task_heads: HashMap::new(),
            tasks: HashMap::new(),
            sessions: HashMap::new(),
            leaf: Vec::new(),
            link: Vec::new(),
            contexts: Contexts::default(),
            memory: Memory::default(),
            times: Times::default(),
            redactions: Redactions::default(),
            thoughts: 0,
            reviews: 0,
            actions: 0,
            causes: Vec::new(),
        }
    }

    /// Checks one entry; returns the hash of its stored bytes, if there are any, and the first thing wrong.
    pub fn check(&mut self, scanned: &Scanned<'_>) -> Result<(Option<Sha>, Option<Finding>)> {
        let seq = scanned.seq;
        let Some(entry) = &scanned.entry else {
            let message = format!("thought {seq} has no entry in the log");
            return Ok((None, Some(Finding::new(Reason::MissingRecord, "entry", message).at(seq))));
        };
        let hash = leaf_hash(entry.leaf);
        let (thoughts, actions) = (self.thoughts, self.actions);
        let wrong = match (entry.kind.parse(), &scanned.thought) {
            _ if scanned.malformed.is_some() => malformed(scanned, entry),
            (Ok(EntryKind::Thought), Some(thought)) => self.check_thought(seq, thought, entry.leaf)?,
            (Ok(EntryKind::Thought), None) => Some(gone(seq, entry.leaf)),
            (Ok(EntryKind::Genesis), None) => self.check_genesis(seq, entry),
            (Ok(EntryKind::Snapshot), None) => self.contexts.check(self.audit, seq, entry.leaf)?,
            (Ok(EntryKind::Event), None) => self.memory.check_event(self.audit, seq, entry.leaf)?,
            (Ok(EntryKind::Brief), None) => {
                self.memory.check_brief(self.audit, seq, entry.leaf, &mut self.redactions)?
            }
            (Ok(EntryKind::Review), None) => {
                let wrong = check_review(self.audit, seq, entry.leaf)?;
                // A row that is gone is not counted among those that are there.
                self.reviews += u64::from(self.audit.review(seq)?.is_some());
                wrong
            }
            (Ok(EntryKind::Redaction), None) => self.redactions.check_entry(self.audit, seq, entry.leaf)?,
            (Ok(kind @ (EntryKind::Key | EntryKind::Continuation)), None) => {
                // One that names another place could pass for one that a checkpoint covers.
                let sound =
                    Entry::parse(entry.leaf).is_some_and(|entry| entry.kind() == kind && entry.seq() == seq);
                (!sound).then(|| {
                    let message = format!(
                        "log entry {seq} is of kind `{kind}` and does not hold what such an entry holds"
                    );
                    Finding::new(Reason::LeafMismatch, "entry", message).at(seq)
                })
            }
            (_, thought) => {
                let kind = entry.kind;
                let in_log = leaf_text(entry.leaf, "kind").unwrap_or_else(|| "nothing".to_string());
                let kept = if thought.is_some() { "a thought" } else { "nothing" };
                let message = format!("log entry {seq} is of kind `{kind}` and records {kept}");
                Some(Finding::new(Reason::LeafMismatch, "entry", message).at(seq).field("kind", in_log, kind))
            }
        };
        // Rows are counted whether or not they are sound: a damaged one is not missing as well.
        self.thoughts = thoughts + u64::from(scanned.thought.is_some());
        if let Some(finding) = &wrong {
            // The list of actions is made from the record that the log names.
            let listed = leaf_text(entry.leaf, "action_id").is_some() && seq as i64 <= self.derived_through;
            self.actions = actions + u64::from(listed);
            if finding.follows_from.is_empty() {
                self.explain(entry.leaf);
            }
        }
        let kept = entry.hash == hash.0;
        let wrong = match wrong {
            // Rows that agree with the bytes vouch for them.
            wrong if !kept && wrong.as_ref().is_none_or(|finding| !finding.follows_from.is_empty()) => {
                let message = format!("the stored hash of log entry {seq} is not the hash of its bytes");
                let finding = Finding::new(Reason::LeafMismatch, "entry", message).at(seq);
                Some(finding.field("hash", hash, stored(entry.hash)))
            }
            Some(finding)
                if finding.follows_from.is_empty() && (!kept || !self.is_in_tree(seq, &hash)?) =>
            {
                Some(Finding {
                    id: leaf_text(entry.leaf, "id"),
                    ..bytes_changed(seq, &hash, (!kept).then_some(entry.hash))
                })
            }
            wrong => wrong,
        };
        // Labels are found by an index, which may be what is damaged.
        let wrong = wrong.map(|finding| match finding.field.as_deref() {
            Some("hash" | "task_id" | "session_id") => {
                finding.unless(Cause::Index("task")).unless(Cause::Index("session"))
            }
            _ => finding,
        });
        Ok((Some(hash), wrong))
    }

    /// Notes what the damage of an entry explains: the counts of its chains, the links of its successors.
    fn explain(&mut self, leaf: &[u8]) {
        let Ok(leaf) = serde_json::from_slice::<Value>(leaf) else {
            self.causes.push(Cause::MissingEntries);
            return;
        };
        for (member, table) in [("task_id", "task"), ("session_id", "session"), ("roadmap_id", "roadmap")] {
            if let Some(label) = leaf[member].as_str() {
                self.causes.push(Cause::Of(table, label.to_string()));
            }
        }
    }

    /// Whether the tree was built from an entry of this hash, as far as the stored tree tells: a tile, or the root.
    fn is_in_tree(&self, seq: u64, hash: &Sha) -> Result<bool> {
        let mut nodes = audited(self.audit, self.head.size);
        let block = seq / TILE_WIDTH;
        let tile = self.audit.tile(1, block / TILE_WIDTH)?.unwrap_or_default();
        let Some(stored) = tile.as_chunks::<32>().0.get((block % TILE_WIDTH) as usize) else {
            let proof = inclusion(seq, self.head.size, &mut nodes).map_err(|error| match error {
                ProofError::Source(error) => error,
                other => StoreError::Damaged(other.to_string()),
            })?;
            return Ok(verify_inclusion(hash, seq, self.head.size, &proof, &self.head.root));
        };
        let mut leaves = Vec::with_capacity(TILE_WIDTH as usize);
        for leaf in block * TILE_WIDTH..(block + 1) * TILE_WIDTH {
            leaves.push(if leaf == seq { *hash } else { nodes.node(0, leaf)? });
        }
        Ok(subtree(leaves).0 == *stored)
    }

    fn check_genesis(&mut self, seq: u64, entry: &StoredEntry<'_>) -> Option<Finding> {
        self.leaf.clear();
        let timestamp = leaf_text(entry.leaf, "timestamp").unwrap_or_default();
        Genesis { origin: self.head.origin.as_str().into(), seq: 0, timestamp: timestamp.into() }
            .write(&mut self.leaf);
        (seq != 0 || self.leaf != entry.leaf).then(|| {
            let in_log = leaf_text(entry.leaf, "origin").unwrap_or_else(|| "something else".to_string());
            let message = "the database names another log than the first entry of the log does".to_string();
            Finding::new(Reason::LeafMismatch, "log", message).at(seq).field(
                "origin",
                in_log,
                &self.head.origin,
            )
        })
    }

    /// Checks a thought; what is wrong is said in the words of the log: what it records, and what is stored.
    fn check_thought(
        &mut self,
        seq: u64,
        thought: &StoredThought<'_>,
        leaf: &[u8],
    ) -> Result<Option<Finding>> {
        let mut said = None;
        let Some(finding) = self.check_links(seq, thought, leaf, &mut said)? else { return Ok(None) };
        let hashes = [
            Reason::ContentHashMismatch,
            Reason::ChainHashMismatch,
            Reason::HashMismatch,
            Reason::PrevHashMismatch,
        ];
        if !hashes.contains(&finding.reason) || finding.table != "thought" {
            return Ok(Some(finding));
        }
        let Some((field, in_log, in_row)) = self.first_changed(seq, thought, leaf, said.as_ref())? else {
            return Ok(Some(finding));
        };
        let what = format!("thought `{}`", thought.id);
        let message = match (finding.reason, &field[..]) {
            (Reason::ContentHashMismatch, "content_hash") => {
                format!(
                    "`content` of {what} does not match its recorded hash: expected {in_log}, found {in_row}"
                )
            }
            _ => Finding::differs(finding.reason, "thought", &what, &field, &in_log, &in_row).message,
        };
        Ok(Some(Finding { message, ..finding.field(&field, in_log, in_row) }))
    }

    /// The first field in which a row differs from its log entry, with both values.
    fn first_changed(
        &mut self,
        seq: u64,
        thought: &StoredThought<'_>,
        leaf: &[u8],
        said: Option<&RedactionEntry<'static>>,
    ) -> Result<Option<(String, String, String)>> {
        if let (Some(content), Some(in_log)) = (thought.content, leaf_text(leaf, "content_hash")) {
            let actual = Sha::of(content.as_bytes()).to_string();
            if actual != in_log {
                return Ok(Some(("content_hash".to_string(), in_log, actual)));
            }
        }
        let parent = match thought.parent_seq {
            Some(parent) => self.parent(parent, seq)?,
            None => None,
        };
        let (task, session) =
            (self.audit.task_name(thought.task_no)?, self.audit.session_name(thought.session_no)?);
        let (Some(task), Some(session)) = (task, session) else { return Ok(None) };
        Ok(self.entry_bytes_differ(seq, thought, leaf, &task, &session, parent.as_ref(), said))
    }

    fn check_links(
        &mut self,
        seq: u64,
        thought: &StoredThought<'_>,
        leaf: &[u8],
        redacted: &mut Option<RedactionEntry<'static>>,
    ) -> Result<Option<Finding>> {
        self.times.see(seq, thought.timestamp);
        let place = |reason, table, field: &str, expected: &dyn Display, actual: &dyn Display| {
            let what = format!("thought `{}`", thought.id);
            Finding {
                id: Some(thought.id.to_string()),
                step_index: u64::try_from(thought.step_index).ok(),
                ..Finding::differs(reason, table, &what, field, expected, actual).at(seq)
            }
        };
        let wrong = |reason, field, expected: &dyn Display, actual: &dyn Display| {
            Ok(Some(place(reason, "thought", field, expected, actual)))
        };
        // A wrong link may be due to the record it leads to, which then has a finding of its own.
        let follows = |finding: Finding, table| {
            let label = leaf_text(leaf, if table == "task" { "task_id" } else { "session_id" });
            let cause = label.map_or(Cause::MissingEntries, |label| Cause::Of(table, label));
            Some(finding.unless(cause).unless(Cause::Index("thought")))
        };
        let mut following = None;

        let content_hash = match thought.content {
            Some(content) => Sha::of(content.as_bytes()),
            None => thought.content_hash.try_into().map_or(Sha::ZERO, Sha),
        };
        if content_hash.0 != thought.content_hash {
            return wrong(
                Reason::ContentHashMismatch,
                "content_hash",
                &content_hash,
                &stored(thought.content_hash),
            );
        }
        let said = match thought.content {
            Some(content) if seal::is_sealed(content) => {
                let audit = self.audit;
                match self.redactions.check_seal(audit, seq, thought.id, content, &content_hash)? {
                    Ok(said) => said,
                    Err((reason, expected, actual)) => {
                        return Ok(Some(place(reason, "seal", "key", &expected, &actual)));
                    }
                }
            }
            Some(_) => None,
            None => match self.redactions.of(self.audit, seq, "content", &content_hash)? {
                Some(said) => Some(said),
                None => {
                    let actual = "nothing: it was erased without a redaction record";
                    return wrong(Reason::MissingRecord, "content", &"a text", &actual);
                }
            },
        };

        redacted.clone_from(&said);

        let parent = match thought.parent_seq {
            None => None,
            Some(parent_seq) => match self.parent(parent_seq, seq)? {
                None => {
                    let missing = place(
                        Reason::MissingRecord,
                        "thought",
                        "parent_id",
                        &"an earlier thought",
                        &"missing",
                    );
                    return Ok(follows(missing, "session"));
                }
                Some(parent) if parent.session_no != thought.session_no => {
                    let expected = format!("a thought of session number {}", thought.session_no);
                    let actual = format!("one of session number {}", parent.session_no);
                    return wrong(Reason::ChainHashMismatch, "parent_id", &expected, &actual);
                }
                Some(parent) => Some(parent),
            },
        };
        let above = parent.as_ref().map(|parent| Sha(parent.chain_hash));
        let link = chain_hash(&content_hash, above.as_ref());
        if link.0 != thought.chain_hash && !self.links_as_logged(&content_hash, parent.as_ref(), thought)? {
            self.remember(seq, thought);
            return wrong(Reason::ChainHashMismatch, "chain_hash", &link, &stored(thought.chain_hash));
        }

        let prev_hash = match thought.position {
            0 => Some(Sha::ZERO),
            position => self.predecessor(thought.task_no, position)?,
        };
        self.remember(seq, thought);
        if prev_hash.is_none_or(|hash| hash.0 != thought.prev_hash) {
            let differs = match prev_hash {
                Some(hash) => {
                    place(Reason::PrevHashMismatch, "thought", "prev_hash", &hash, &stored(thought.prev_hash))
                }
                None => {
                    let before = format!("a thought at position {} of its task", thought.position - 1);
                    place(Reason::MissingRecord, "thought", "position", &before, &"none")
                }
            };
            // If the link is what the log records, it is the predecessor that was changed.
            if leaf_text(leaf, "prev_hash") != Some(stored(thought.prev_hash)) {
                return Ok(Some(differs));
            }
            following = follows(differs, "task");
        }
        let prev_hash = thought.prev_hash.try_into().map_or(Sha::ZERO, Sha);
        let Some(task_id) = self.task_name(thought.task_no)? else {
            return wrong(Reason::MissingRecord, "task_id", &"the label of its task", &"missing");
        };
        // Of a blanked content it cannot be recomputed: the entry and the successor's `prev_hash` vouch for it.
        if let Some(content) = thought.content {
            let link = TaskLink {
                content,
                id: thought.id,
                prev_hash,
                task_id: &task_id,
                timestamp: thought.timestamp,
                kind: thought.kind,
            };
            let hash = task_hash(&link, &mut self.link);
            if hash.0 != thought.hash {
                self.tasks.insert(thought.task_no, task_id);
                return wrong(Reason::HashMismatch, "hash", &hash, &stored(thought.hash));
            }
        }
        let Some(session_id) = self.session_name(thought.session_no)? else {
            return wrong(Reason::MissingRecord, "session_id", &"the label of its session", &"missing");
        };
        let derived = self.entry_bytes_differ(
            seq,
            thought,
            leaf,
            &task_id,
            &session_id,
            parent.as_ref(),
            said.as_ref(),
        );
        self.tasks.insert(thought.task_no, task_id);
        self.sessions.insert(thought.session_no, session_id);
        if let Some((field, in_log, in_row)) = derived {
            return Ok(Some(place(Reason::LeafMismatch, "thought", &field, &in_log, &in_row)));
        }
        if let Some(said) = said {
            self.redactions.count(seq, said, thought.content.is_some());
        }
        if let Some(id) = thought.context_id
            && !self.contexts.is_before(self.audit, id, seq)?
        {
            let expected = format!("an earlier snapshot of the number {id}");
            let missing = place(Reason::MissingRecord, "thought", "context_id", &expected, &"none");
            following = Some(missing.unless(Cause::Table("context")).unless(Cause::Index("context")));
        }
        if let Some(id) = thought.brief_id
            && !self
                .audit
                .brief_place(id)?
                .is_some_and(|(place, session)| place < seq && session == thought.session_no)
        {
            let expected = "an earlier brief of the same session";
            let missing = place(Reason::MissingRecord, "thought", "brief_id", &expected, &"none");
            following = follows(missing.unless(Cause::Index("brief")), "session");
        }
        if thought.supersedes.or(thought.rejects).or(thought.applies_to).is_some()
            && let Some(finding) = self.wrong_link(seq, leaf, &place)?
        {
            following = Some(finding);
        }
        if let Some(action_id) = thought.action_id.filter(|_| seq as i64 <= self.derived_through) {
            self.actions += 1;
            if !self.audit.action_is_listed(action_id, seq)? {
                let unlisted = place(Reason::IndexMismatch, "action", "action_id", &action_id, &"not listed");
                return Ok(Some(unlisted.unless(Cause::Index("action"))));
            }
        }
        Ok(following)
    }

    /// The first link that leads elsewhere than it may: not to an earlier decision, or to a thought of another session.
    fn wrong_link(&self, seq: u64, leaf: &[u8], place: MakeFinding<'_>) -> Result<Option<Finding>> {
        let Some(Entry::Thought(entry)) = Entry::parse(leaf) else { return Ok(None) };
        let wrong = wrong_links(entry.kind, &entry.supersedes, &entry.rejects, &entry.applies_to);
        if let Some(WrongLink { field, why, .. }) = wrong.into_iter().next() {
            let expected = "what can be recorded there";
            return Ok(Some(place(Reason::LeafMismatch, "thought", field, &expected, &why)));
        }
        let supersedes = entry.supersedes.iter().map(|id| ("supersedes", id));
        for (field, id) in supersedes.chain(entry.rejects.iter().map(|id| ("rejects", id))) {
            let found = self.audit.thought_place(id)?.filter(|target| *target < seq);
            let target = found.map(|target| self.audit.leaf(target)).transpose()?.flatten();
            let target = match target.as_deref().and_then(Entry::parse) {
                Some(Entry::Thought(target)) if target.id == *id => target,
                _ => {
                    let expected = format!("an earlier thought `{id}`");
                    let missing = place(Reason::MissingRecord, "thought", field, &expected, &"none");
                    // Its own row or entry may be what is gone.
                    let causes = [Cause::Table("thought"), Cause::Index("thought"), Cause::MissingEntries];
                    let missing = causes.into_iter().fold(missing, Finding::unless);
                    return Ok(Some(found.map(Cause::Entry).into_iter().fold(missing, Finding::unless)));
                }
            };
            if field == "supersedes" && target.kind != ThoughtType::Decision {
                let actual = format!("`{id}` of type {}", target.kind);
                return Ok(Some(place(Reason::LeafMismatch, "thought", field, &"decisions", &actual)));
            }
            if field == "rejects" && target.session_id != entry.session_id {
                let actual = format!("`{id}` of session `{}`", target.session_id);
                let expected = "thoughts of the same session";
                return Ok(Some(place(Reason::LeafMismatch, "thought", field, &expected, &actual)));
            }
        }
        Ok(None)
    }

    /// Derives the entry's bytes from the row; if they are not those of the log, names a field that differs.
    #[expect(clippy::too_many_arguments, reason = "everything that the bytes are made of")]
    fn entry_bytes_differ(
        &mut self,
        seq: u64,
        thought: &StoredThought<'_>,
        leaf: &[u8],
        task_id: &str,
        session_id: &str,
        parent: Option<&Parent>,
        said: Option<&RedactionEntry<'static>>,
    ) -> Option<(String, String, String)> {
        let nothing_negative =
            [thought.position, thought.step_index, thought.context_id.unwrap_or(0)].iter().all(|n| *n >= 0);
        let sha = |bytes: &[u8]| bytes.try_into().map_or(Sha::ZERO, Sha);
        let salt = thought.salt.map(|salt| <[u8; 32]>::try_from(salt).unwrap_or_default());
        // What stands for blanked texts is known from the entry alone.
        let in_log = said.and_then(|_| InLog::read(leaf));
        let content_length = match (thought.content, &in_log) {
            (Some(content), _) => content.len() as u64,
            (None, in_log) => in_log.as_ref().map_or(0, |in_log| in_log.content_length),
        };
        let commitment = match &in_log {
            Some(in_log) => in_log.metadata_commitment,
            None => thought
                .metadata
                .zip(salt)
                .map(|(metadata, salt)| metadata_commitment(&salt, metadata.as_bytes())),
        };
        self.leaf.clear();
        let Ok(kind) = thought.kind.parse() else {
            let in_log = leaf_text(leaf, "type").unwrap_or_default();
            return Some(("type".to_string(), in_log, thought.kind.to_string()));
        };
        let Ok(source) = thought.source.parse() else {
            let in_log = leaf_text(leaf, "source").unwrap_or_default();
            return Some(("source".to_string(), in_log, thought.source.to_string()));
        };
        let lists = [
            ("applies_to", thought.applies_to),
            ("rejects", thought.rejects),
            ("supersedes", thought.supersedes),
        ];
        if let Some((field, column)) = lists.iter().find(|(_, column)| from_column(*column).is_none()) {
            let stored = column.unwrap_or_default().to_string();
            return Some((field.to_string(), "a list in canonical JSON".to_string(), stored));
        }
        let [applies_to, rejects, supersedes] =
            lists.map(|(_, column)| from_column(column).unwrap_or_default());
        ThoughtEntry {
            action_id: thought.action_id.map(Into::into),
            agent_id: thought.agent_id.into(),
            applies_to,
            brief_id: thought.brief_id.map(Into::into),
            chain_hash: sha(thought.chain_hash),
            content_hash: sha(thought.content_hash),
            content_length,
            context_id: thought.context_id.map(i64::unsigned_abs),
            hash: sha(thought.hash),
            id: thought.id.into(),
            idempotency_key: thought.idempotency_key.map(Into::into),
            metadata_commitment: commitment,
            parent_id: parent.map(|parent| parent.id.as_str().into()),
            position: thought.position.unsigned_abs(),
            prev_hash: sha(thought.prev_hash),
            rejects,
            seq,
            session_id: session_id.into(),
            source,
            step_index: thought.step_index.unsigned_abs(),
            supersedes,
            task_id: task_id.into(),
            timestamp: thought.timestamp.into(),
            kind,
        }
        .write(&mut self.leaf);
        if self.leaf != leaf || !nothing_negative {
            return Some(first_difference(leaf, &self.leaf));
        }
        if said.is_some() && (thought.metadata.is_some() || thought.salt.is_some()) {
            return Some((
                "metadata".to_string(),
                "nothing, since it was redacted".to_string(),
                "there".to_string(),
            ));
        }
        // A salt without metadata is in no commitment.
        (thought.metadata.is_some() != thought.salt.is_some()).then(|| {
            ("salt".to_string(), "a salt exactly if there is metadata".to_string(), "otherwise".to_string())
        })
    }

    /// Whether the link to the parent holds with what the log records of the parent, whose row may be what was changed.
    fn links_as_logged(
        &self,
        content_hash: &Sha,
        parent: Option<&Parent>,
        thought: &StoredThought<'_>,
    ) -> Result<bool> {
        let Some(parent) = parent else { return Ok(false) };
        let leaf = self.audit.leaf(parent.seq)?;
        let logged =
            leaf.and_then(|leaf| leaf_text(&leaf, "chain_hash")).and_then(|hash| hash.parse::<Sha>().ok());
        Ok(logged.is_some_and(|logged| chain_hash(content_hash, Some(&logged)).0 == thought.chain_hash))
    }

    /// Whatever stands at `parent_seq`, if that is before `seq`.
    fn parent(&mut self, parent_seq: i64, seq: u64) -> Result<Option<Parent>> {
        let Ok(parent_seq) = u64::try_from(parent_seq) else { return Ok(None) };
        if parent_seq >= seq {
            return Ok(None);
        }
        let slot = &mut self.parents[parent_seq as usize % REMEMBERED_PARENTS];
        if slot.seq == parent_seq && !slot.id.is_empty() {
            return Ok(Some(slot.clone()));
        }
        let found = self.audit.parent(parent_seq)?;
        Ok(found.map(|(id, session_no, hash)| Parent { seq: parent_seq, session_no, chain_hash: hash.0, id }))
    }

    /// The stored `hash` before a position of a task.
    fn predecessor(&mut self, task_no: i64, position: i64) -> Result<Option<Sha>> {
        match self.task_heads.get(&task_no) {
            Some((newest, hash)) if *newest == position - 1 => Ok(Some(*hash)),
            _ => match u64::try_from(position - 1) {
                Ok(before) => self.audit.task_hash(task_no, before),
                Err(_) => Ok(None),
            },
        }
    }

    fn remember(&mut self, seq: u64, thought: &StoredThought<'_>) {
        let slot = &mut self.parents[seq as usize % REMEMBERED_PARENTS];
        slot.seq = seq;
        slot.session_no = thought.session_no;
        slot.chain_hash = thought.chain_hash.try_into().unwrap_or_default();
        slot.id.clear();
        slot.id.push_str(thought.id);
        if self.task_heads.len() > REMEMBERED_LABELS {
            self.task_heads.clear();
        }
        let hash = thought.hash.try_into().map_or(Sha::ZERO, Sha);
        self.task_heads.insert(thought.task_no, (thought.position, hash));
    }

    /// Takes the label out of memory; the caller puts it back.
    fn task_name(&mut self, no: i64) -> Result<Option<String>> {
        if self.tasks.len() > REMEMBERED_LABELS {
            self.tasks.clear();
        }
        match self.tasks.remove(&no) {
            Some(name) => Ok(Some(name)),
            None => self.audit.task_name(no),
        }
    }

    fn session_name(&mut self, no: i64) -> Result<Option<String>> {
        if self.sessions.len() > REMEMBERED_LABELS {
            self.sessions.clear();
        }
        match self.sessions.remove(&no) {
            Some(name) => Ok(Some(name)),
            None => self.audit.session_name(no),
        }
    }
}

fn stored(bytes: &[u8]) -> String {
    bytes.try_into().map_or("not a hash".to_string(), |hash| Sha(hash).to_string())
}

/// Names the place of a thought of which the log alone is left.
pub(super) fn gone(seq: u64, leaf: &[u8]) -> Finding {
    let parsed: Value = serde_json::from_slice(leaf).unwrap_or_default();
    let text = |member: &str| parsed[member].as_str().unwrap_or("?").to_string();
    let message = format!(
        "thought `{}` is gone: step {} of session `{}`, position {} of task `{}`, log entry {seq}",
        text("id"),
        parsed["step_index"],
        text("session_id"),
        parsed["position"],
        text("task_id")
    );
    Finding {
        id: parsed["id"].as_str().map(str::to_string),
        step_index: parsed["step_index"].as_u64(),
        ..Finding::new(Reason::MissingRecord, "thought", message).at(seq)
    }
}

/// Names a column that holds a value of another type than was written.
fn malformed(scanned: &Scanned<'_>, entry: &StoredEntry<'_>) -> Option<Finding> {
    let (table, column) = scanned.malformed?;
    let message =
        format!("`{column}` of {table} {} holds a value of another type than was written", scanned.seq);
    let finding = Finding::new(Reason::LeafMismatch, table, message).at(scanned.seq);
    let in_log = leaf_text(entry.leaf, column).unwrap_or_else(|| "a value of its type".to_string());
    Some(finding.field(column, in_log, "a value of another type"))
}

/// Says that the bytes of an entry are not those that the log was built from.
fn bytes_changed(seq: u64, hash: &Sha, noted: Option<&[u8]>) -> Finding {
    let message = format!("the bytes of log entry {seq} were changed");
    let expected = noted.map_or("the hash that the tree of the log was built from".to_string(), stored);
    Finding::new(Reason::LeafMismatch, "entry", message).at(seq).field("leaf", expected, hash)
}

pub(super) fn leaf_number(leaf: &[u8], field: &str) -> Option<u64> {
    let value: Value = serde_json::from_slice(leaf).ok()?;
    value.get(field)?.as_u64()
}

pub(super) fn leaf_text(leaf: &[u8], field: &str) -> Option<String> {
    let value: Value = serde_json::from_slice(leaf).ok()?;
    Some(value.get(field)?.as_str()?.to_string())
}

/// The first field in which two entries differ, with both values.
pub(super) fn first_difference(in_log: &[u8], from_row: &[u8]) -> (String, String, String) {
    let parse = |bytes: &[u8]| serde_json::from_slice::<serde_json::Map<String, Value>>(bytes).ok();
    if let (Some(in_log), Some(from_row)) = (parse(in_log), parse(from_row)) {
        for (field, expected) in &in_log {
            if from_row.get(field) != Some(expected) {
                let show = |value: Option<&Value>| match value {
                    Some(Value::String(text)) => text.clone(),
                    Some(Value::Null) | None => "nothing".to_string(),
                    Some(other) => other.to_string(),
                };
                // The commitment is what differs; the metadata (or its salt) is what was changed.
                let name = if field == "metadata_commitment" { "metadata" } else { field };
                return (name.to_string(), show(Some(expected)), show(from_row.get(field)));
            }
        }
    }
    ("leaf".to_string(), leaf_hash(in_log).to_string(), leaf_hash(from_row).to_string())
}
