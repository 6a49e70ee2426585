//! Checking one record of a database: whether its row gives the entry that the log was built from, and the entry itself.

use std::collections::HashMap;

use cairn_core::Sha;
use cairn_core::entry::{
    Blanked, Entry, EntryKind, Malformed, Record, RedactionEntry, ThoughtEntry, Unsound,
};
use cairn_core::log::{NodeSource, ProofError, TILE_WIDTH, inclusion, leaf_hash, subtree, verify_inclusion};
use cairn_core::thought::{TaskLink, chain_hash, task_hash};

use super::database::Database;
use super::time::Times;
use super::{Cause, Finding, Reason};
use crate::check::{Before, Known, Result, Wrong, about, check, table, what, wrong};
use crate::store::{Audit, LogHead, StoreError, Stored, Totals};
use crate::tree::audited;

/// The fields of a thought that its `hash` covers.
const OF_HASH: &str = "content, id, prev_hash, task_id, timestamp and type";

/// Checks records one after the other.
pub struct Checker<'a> {
    audit: &'a dyn Audit,
    head: &'a LogHead,
    /// The last entry that the derived tables cover.
    derived_through: i64,
    /// The records before the one that is checked.
    pub before: Database<'a>,
    /// The times of thoughts.
    pub times: Times,
    /// Rows seen, sound or not.
    pub counted: Totals,
    /// Thoughts seen that the derived list of actions must name.
    pub actions: u64,
    /// Damage seen that explains other findings.
    pub causes: Vec<Cause>,
    /// Entries whose stored hash is wrong, while their row gives the right one.
    pub corrected: HashMap<u64, Sha>,
    leaf: Vec<u8>,
    link: Vec<u8>,
}

impl<'a> Checker<'a> {
    /// Starts with nothing remembered.
    pub fn new(audit: &'a dyn Audit, head: &'a LogHead, derived_through: i64) -> Checker<'a> {
        Checker {
            audit,
            head,
            derived_through,
            before: Database::new(audit),
            times: Times::default(),
            counted: Totals::default(),
            actions: 0,
            causes: Vec::new(),
            corrected: HashMap::new(),
            leaf: Vec::new(),
            link: Vec::new(),
        }
    }

    /// Checks one record; returns the hash of its entry, as far as that is known, and the first thing wrong.
    pub fn check(&mut self, stored: Stored<'_>) -> Result<(Option<Sha>, Option<Finding>)> {
        let Stored { seq, leaf_hash: kept, keys, record, .. } = stored;
        let mut record = match record {
            Ok(record) => record,
            Err(malformed) => {
                self.causes.extend([Cause::MissingEntries, Cause::Table("action")]);
                return Ok((kept, Some(unreadable(seq, stored.kind, malformed))));
            }
        };
        self.count(&record.entry);
        self.before.keys = keys;
        let said = self.before.redactions.of(self.audit, seq, &record)?;
        let found = match record.complete(said.as_ref()) {
            Ok(blanked) => {
                let hash = self.derive(&record);
                match kept == Some(hash) {
                    true => self.sound(&record, said, blanked)?,
                    false => Some(self.changed(&record, kept, hash)?),
                }
            }
            Err(unsound) => Some(self.unsound(&mut record, kept, unsound, said.as_ref())?),
        };
        self.before.remember(&record.entry);
        let Some(finding) = found else { return Ok((kept, None)) };
        if finding.follows_from.is_empty() {
            self.explain(&record.entry);
        }
        // Where the hash beside the row was changed, the row still gives the right one.
        let hash = self.derive(&record);
        if kept == Some(hash) || !self.is_in_tree(seq, &hash)? {
            return Ok((kept, Some(finding)));
        }
        self.corrected.insert(seq, hash);
        Ok((Some(hash), Some(finding)))
    }

    fn count(&mut self, entry: &Entry<'_>) {
        let counted = match entry {
            Entry::Thought(thought) => {
                self.times.see(thought.seq, &thought.timestamp);
                &mut self.counted.thoughts
            }
            Entry::Snapshot(_) => &mut self.counted.contexts,
            Entry::Event(_) => &mut self.counted.events,
            Entry::Brief(_) => &mut self.counted.briefs,
            Entry::Review(_) => &mut self.counted.reviews,
            Entry::Redaction(_) => {
                self.counted.redactions += 1;
                &mut self.counted.entries
            }
            Entry::Genesis(_) | Entry::Key(_) | Entry::Continuation(_) => &mut self.counted.entries,
        };
        *counted += 1;
    }

    fn derive(&mut self, record: &Record<'_>) -> Sha {
        self.leaf.clear();
        record.entry.write(&mut self.leaf);
        leaf_hash(&self.leaf)
    }

    /// Checks the entry of a record that matches the log.
    fn sound(
        &mut self,
        record: &Record<'_>,
        said: Option<RedactionEntry<'static>>,
        blanked: Blanked,
    ) -> Result<Option<Finding>> {
        let Record { entry, parts } = record;
        if let Entry::Genesis(genesis) = entry
            && (genesis.origin != self.head.origin || genesis.seq != 0)
        {
            let message = "the database names another log than the first entry of the log does";
            let finding = Finding::new(Reason::LeafMismatch, "log", message).at(genesis.seq);
            return Ok(Some(finding.field("origin", &genesis.origin, &self.head.origin)));
        }
        let found = check(&mut self.before, entry, parts, &mut self.link)?;
        if found.is_some() {
            return Ok(found);
        }
        if let (Some(said), Blanked::Yes) = (said, blanked) {
            let sealed = entry.kind() == EntryKind::Thought && parts.text.is_some();
            self.before.redactions.count(entry.seq(), said, sealed);
        }
        match entry {
            Entry::Thought(thought) => Ok(self.unlisted(thought)?.map(|wrong| wrong.finding(entry))),
            _ => Ok(None),
        }
    }

    /// A thought that led to an action and is not in the list of those.
    fn unlisted(&mut self, thought: &ThoughtEntry<'_>) -> Result<Option<Wrong>> {
        let Some(action_id) = &thought.action_id else { return Ok(None) };
        if thought.seq as i64 > self.derived_through {
            return Ok(None);
        }
        self.actions += 1;
        let listed = self.audit.action_is_listed(action_id, thought.seq)?;
        let unlisted = wrong(Reason::IndexMismatch, "action", "action_id", action_id, "not listed");
        Ok((!listed).then(|| unlisted.unless([Cause::Index("action")])))
    }

    /// Names the field in which a row differs from its entry, as far as other hashes tell.
    fn changed(&mut self, record: &Record<'_>, kept: Option<Sha>, derived: Sha) -> Result<Finding> {
        let entry = &record.entry;
        let seq = entry.seq();
        let Some(kept) = kept else {
            let other = wrong(Reason::LeafMismatch, table(entry.kind()), "leaf_hash", derived, "not a hash");
            return Ok(other.finding(entry));
        };
        if self.is_in_tree(seq, &derived)? {
            let other = wrong(Reason::LeafMismatch, table(entry.kind()), "leaf_hash", derived, kept);
            return Ok(other.finding(entry));
        }
        let mut told = String::new();
        if let Entry::Thought(thought) = entry {
            for (reason, field, other) in self.alternatives(thought, record)? {
                let alternative = Record { entry: Entry::Thought(other), parts: record.parts.clone() };
                if self.derive(&alternative) == kept
                    && let Some(difference) = alternative.entry.difference(entry)
                {
                    let other = wrong(reason, "thought", field, difference.expected, difference.actual);
                    return Ok(other.finding(entry));
                }
            }
            if self.before.keys.parent_seq.is_some() && thought.parent_id.is_none() {
                let missing =
                    wrong(Reason::MissingRecord, "thought", "parent_id", "an earlier thought", "missing");
                let causes =
                    self.before.keys.parent_seq.and_then(|seq| u64::try_from(seq).ok()).map(Cause::Entry);
                let causes = causes.into_iter().chain([Cause::MissingEntries]);
                return Ok(missing.unless(causes).finding(entry));
            }
            told = self.vouched(thought, record);
        }
        let message = format!(
            "{} was changed: what is stored gives the leaf hash {derived}, and the log has {kept}{told}",
            what(entry)
        );
        let finding = Finding::new(Reason::LeafMismatch, table(entry.kind()), message);
        Ok(about(finding, entry).field("leaf_hash", kept, derived))
    }

    /// The thought with one of its links made anew from the others.
    fn alternatives<'t>(
        &mut self,
        thought: &ThoughtEntry<'t>,
        record: &Record<'_>,
    ) -> Result<Vec<(Reason, &'static str, ThoughtEntry<'t>)>> {
        let mut made = Vec::new();
        if let Known::Is(prev_hash) = self.before.task_hash(thought)? {
            made.push((Reason::PrevHashMismatch, "prev_hash", ThoughtEntry { prev_hash, ..thought.clone() }));
        }
        let parent = match &thought.parent_id {
            None => Some(None),
            Some(_) => match self.before.parent(thought)? {
                Known::Is(parent) => Some(Some(parent.chain_hash)),
                _ => None,
            },
        };
        if let Some(parent) = parent {
            let chain_hash = chain_hash(&thought.content_hash, parent.as_ref());
            made.push((
                Reason::ChainHashMismatch,
                "chain_hash",
                ThoughtEntry { chain_hash, ..thought.clone() },
            ));
        }
        if let Some(hash) = self.task_link(thought, record) {
            made.push((Reason::HashMismatch, "hash", ThoughtEntry { hash, ..thought.clone() }));
        }
        Ok(made)
    }

    fn task_link(&mut self, thought: &ThoughtEntry<'_>, record: &Record<'_>) -> Option<Sha> {
        let link = TaskLink {
            content: record.parts.text.as_deref()?,
            id: &thought.id,
            prev_hash: thought.prev_hash,
            task_id: &thought.task_id,
            timestamp: &thought.timestamp,
            kind: thought.kind.as_str(),
        };
        Some(task_hash(&link, &mut self.link))
    }

    /// Says which fields of a changed thought its other hashes can tell apart.
    fn vouched(&mut self, thought: &ThoughtEntry<'_>, record: &Record<'_>) -> String {
        match self.task_link(thought, record) {
            Some(hash) if hash == thought.hash => {
                format!(
                    "; its `hash` still fits {OF_HASH}: they were changed only if `hash` was changed with them"
                )
            }
            Some(_) => {
                format!("; its `hash` does not fit either, so it is one of {OF_HASH}, or `hash` itself")
            }
            None => String::new(),
        }
    }

    /// Names a text that is missing, or that is not the one of its hash.
    fn unsound(
        &mut self,
        record: &mut Record<'_>,
        kept: Option<Sha>,
        unsound: Unsound,
        said: Option<&RedactionEntry<'_>>,
    ) -> Result<Finding> {
        let kind = record.entry.kind();
        let of_text = if kind == EntryKind::Snapshot { "snapshot" } else { table(kind) };
        let erased = "nothing: it was erased without a redaction record";
        let other = match unsound {
            Unsound::Gone(field) => wrong(Reason::MissingRecord, of_text, field, "a text", erased),
            Unsound::StillThere(field) => {
                wrong(Reason::LeafMismatch, of_text, field, "nothing", "what was there before")
            }
            Unsound::Salt => wrong(
                Reason::LeafMismatch,
                table(kind),
                "salt",
                "a salt exactly if there is metadata",
                "otherwise",
            ),
            Unsound::Remains => {
                let remains = said.and_then(|said| said.remains).unwrap_or(Sha::ZERO);
                let actual = Sha::of(record.parts.text.as_deref().unwrap_or_default().as_bytes());
                wrong(Reason::ContentHashMismatch, of_text, "body", remains, actual)
            }
            Unsound::Differs(_) => {
                let actual = Sha::of(record.parts.text.as_deref().unwrap_or_default().as_bytes());
                let column = record.entry.text_mark().map_or(Sha::ZERO, |mark| mark.hash);
                // The log says which of the two is wrong.
                record.entry.set_text_hash(actual);
                let column_changed = record.complete(said).is_ok() && kept == Some(self.derive(record));
                record.entry.set_text_hash(column);
                let (expected, actual) = if column_changed { (actual, column) } else { (column, actual) };
                wrong(Reason::ContentHashMismatch, of_text, "content_hash", expected, actual)
            }
        };
        let finding = other.finding(&record.entry);
        let what = what(&record.entry);
        Ok(match unsound {
            Unsound::StillThere(field) => Finding {
                message: format!("`{field}` of {what}, which was redacted, is still there"),
                ..finding
            },
            Unsound::Differs(field) if finding.expected != finding.actual => Finding {
                message: format!(
                    "`{field}` of {what} does not match its recorded hash: expected {}, found {}",
                    finding.expected.as_deref().unwrap_or_default(),
                    finding.actual.as_deref().unwrap_or_default()
                ),
                ..finding
            },
            _ => finding,
        })
    }

    /// Notes findings that the damage of a record explains: counts of its chains, links of its successors.
    fn explain(&mut self, entry: &Entry<'_>) {
        let mut of = |table, label: &str| self.causes.push(Cause::Of(table, label.to_string()));
        match entry {
            Entry::Thought(thought) => {
                of("task", &thought.task_id);
                of("session", &thought.session_id);
                self.causes.push(Cause::Table("action"));
            }
            Entry::Event(event) => of("session", &event.session_id),
            Entry::Brief(brief) => of("session", &brief.session_id),
            Entry::Snapshot(snapshot) => of("roadmap", &snapshot.roadmap_id),
            Entry::Genesis(_)
            | Entry::Key(_)
            | Entry::Redaction(_)
            | Entry::Review(_)
            | Entry::Continuation(_) => {}
        }
    }

    /// Whether the tree was built from an entry of this hash, as far as the stored tree tells: a tile, or the root.
    fn is_in_tree(&self, seq: u64, hash: &Sha) -> Result<bool> {
        let mut nodes = audited(self.audit, self.head.size);
        let block = seq / TILE_WIDTH;
        let tile = self.audit.tile(1, block / TILE_WIDTH)?.unwrap_or_default();
        let Some(stored) = tile.as_chunks::<32>().0.get((block % TILE_WIDTH) as usize) else {
            // The stored hashes of the others stand in for them; this one is not among those that are asked for.
            return match inclusion(seq, self.head.size, &mut nodes) {
                Ok(proof) => Ok(verify_inclusion(hash, seq, self.head.size, &proof, &self.head.root)),
                Err(ProofError::Source(StoreError::Damaged(_))) => Ok(false),
                Err(ProofError::Source(error)) => Err(error),
                Err(_) => Ok(false),
            };
        };
        let mut leaves = Vec::with_capacity(TILE_WIDTH as usize);
        for leaf in block * TILE_WIDTH..(block + 1) * TILE_WIDTH {
            leaves.push(match nodes.node(0, leaf) {
                _ if leaf == seq => *hash,
                Ok(hash) => hash,
                Err(StoreError::Damaged(_)) => return Ok(false),
                Err(error) => return Err(error),
            });
        }
        Ok(subtree(leaves).0 == *stored)
    }
}

/// Names a column that holds a value that was never written there.
fn unreadable(seq: u64, kind: Option<EntryKind>, malformed: Malformed) -> Finding {
    let table = kind.map_or("entry", table);
    let field = malformed.field;
    let label = match field {
        "task_id" | "session_id" | "roadmap_id" => Some(&field[..field.len() - 3]),
        _ => None,
    };
    match label {
        Some(label) => {
            let message = format!("the label of the {label} of log entry {seq} is missing");
            let finding = Finding::new(Reason::MissingRecord, table, message).at(seq);
            finding.field(field, format!("the label of its {label}"), "missing")
        }
        None => {
            let message = format!("`{field}` of {table} {seq} holds a value that was never written there");
            let finding = Finding::new(Reason::LeafMismatch, table, message).at(seq);
            finding.field(field, "a value of its type", "a value of another type")
        }
    }
}
