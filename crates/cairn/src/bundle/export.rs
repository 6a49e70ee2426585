//! Writing a bundle from one consistent state of the log.

use std::collections::HashSet;
use std::io::Write;
use std::ops::ControlFlow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cairn_core::Sha;
use cairn_core::entry::{Entry, EntryKind, KeyEntry, Record};
use cairn_core::log::{Checkpoint, CheckpointNote, inclusion};
use cairn_core::note::VerifyingKey;

use super::entry::{has_salt, is_sealed};
use super::members::Members;
use super::stored::{self, Bodies};
use super::write::Lines;
use super::{ExportOptions, Exported, FORMAT, Selection, select};
use crate::error::{Error, Result};
use crate::handle::Cairn;
use crate::store::{Audit, Damage, LogHead, StoreError, Stored};
use crate::tree::{Nodes, audited};
use crate::verify::{Checker, Progress};

/// Entries read at a time, so that a failure to write ends the reading soon.
const CHUNK: u64 = 4096;

impl Cairn {
    /// Writes a bundle of the log, or of a part of it, while others go on writing.
    pub fn export(
        &self,
        options: &ExportOptions,
        out: &mut dyn Write,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Exported> {
        let audit = self.inner.store.audit()?;
        let stated = stated(&*audit)?;
        Export::new(&*audit, &stated, options, out).run(progress)
    }
}

/// The head of the log that a bundle stands on.
struct Stated {
    head: LogHead,
    note: String,
    /// Entries of the log that follow it.
    following: u64,
}

/// The head that a bundle stands on: the newest stored checkpoint. It is the end of the log, unsigned, if there is no
/// checkpoint, or if a redaction follows the newest: the text is gone, and only the later entry explains that.
fn stated(audit: &dyn Audit) -> Result<Stated> {
    let head = audit.head()?;
    let mut newest = None;
    audit.checkpoints(&mut |_, note| newest = Some(note.to_string()))?;
    let mut redacted_at = None;
    audit.statements(EntryKind::Redaction, &mut |seq, _| redacted_at = redacted_at.max(Some(seq)))?;
    let note = newest.and_then(|note| note.parse::<CheckpointNote>().ok());
    let usable = note.filter(|note| {
        let size = note.checkpoint().size();
        size <= head.size && redacted_at.is_none_or(|seq| seq < size)
    });
    if let Some(note) = usable {
        let (size, root) = (note.checkpoint().size(), note.checkpoint().root());
        if cairn_core::log::root(size, &mut audited(audit, size))? != root {
            return Err(damaged(format!(
                "the checkpoint at {size} does not match the log; run `cairn verify`"
            )));
        }
        let following = head.size - size;
        return Ok(Stated { head: LogHead { size, root, ..head }, note: note.to_string(), following });
    }
    let note = Checkpoint::new(&head.origin, head.size, head.root)
        .map_err(|error| StoreError::Other(error.to_string()))?
        .body();
    Ok(Stated { head, note, following: 0 })
}

struct Export<'a> {
    audit: &'a dyn Audit,
    stated: &'a Stated,
    options: &'a ExportOptions,
    lines: Lines<'a>,
    nodes: Nodes<'a>,
    /// Nothing is written that does not match the log.
    checker: Checker<'a>,
    /// Follows the records of the selection, so that none is left out.
    members: Members<'a>,
    /// Contents written already; only in a partial bundle, where the first event to name one may not be in it.
    bodies: HashSet<Sha>,
    entries: u64,
    redacted: u64,
    sealed: u64,
    checkpoints: u64,
}

impl<'a> Export<'a> {
    fn new(
        audit: &'a dyn Audit,
        stated: &'a Stated,
        options: &'a ExportOptions,
        out: &'a mut dyn Write,
    ) -> Export<'a> {
        Export {
            audit,
            stated,
            options,
            lines: Lines::new(out),
            nodes: audited(audit, stated.head.size),
            // The list of actions is no part of a bundle.
            checker: Checker::new(audit, &stated.head, -1),
            members: Members::new(&options.selection),
            bodies: HashSet::new(),
            entries: 0,
            redacted: 0,
            sealed: 0,
            checkpoints: 0,
        }
    }

    fn full(&self) -> bool {
        self.options.selection == Selection::All
    }

    fn run(mut self, progress: &mut dyn FnMut(Progress)) -> Result<Exported> {
        let size = self.stated.head.size;
        // Before the first line is written: there may be nothing to export.
        let chosen = select::select(self.audit, &self.options.selection, size)?;
        self.header()?;
        match chosen {
            None => {
                for from in (0..size).step_by(CHUNK as usize) {
                    self.range(from, size.min(from + CHUNK))?;
                    progress(Progress { done: self.entries, total: size, what: "entries" });
                }
            }
            Some(chosen) => {
                for seq in &chosen {
                    self.range(*seq, seq + 1)?;
                    progress(Progress { done: self.entries, total: chosen.len() as u64, what: "entries" });
                }
            }
        }
        self.checkpoints()?;
        let keys = self.keys()?;
        let (entries, redacted) = (self.entries, self.redacted);
        let sha256 = self.lines.sha256();
        let mut line = self.lines.object();
        line.object("manifest", |manifest| {
            manifest
                .raw("entries", &entries.to_string())
                .raw("redacted", &redacted.to_string())
                .text("sha256", sha256.hex().as_str());
        });
        line.end();
        self.lines.end()?;
        self.lines.flush()?;
        let note: Option<CheckpointNote> = self.stated.note.parse().ok();
        let signed_by = |key: &String| {
            let key = key.parse::<VerifyingKey>().ok();
            note.as_ref().zip(key).is_some_and(|(note, key)| note.verify(&key).is_ok())
        };
        Ok(Exported {
            origin: self.stated.head.origin.clone(),
            size,
            root: self.stated.head.root,
            entries,
            redacted,
            sealed: self.sealed,
            checkpoints: self.checkpoints,
            following: self.stated.following,
            signed: note.as_ref().is_some_and(CheckpointNote::is_signed),
            signed_by: keys.into_iter().filter(signed_by).collect(),
            bytes: self.lines.bytes,
        })
    }

    fn header(&mut self) -> Result<()> {
        let (full, stated) = (self.full(), self.stated);
        let mut line = self.lines.object();
        line.text("format", FORMAT)
            .raw("full", if full { "true" } else { "false" })
            .text("origin", &stated.head.origin)
            .text("root", stated.head.root.hex().as_str());
        match &self.options.selection {
            Selection::All => line.raw("selection", "null"),
            Selection::Session(name) => line.object("selection", |of| {
                of.text("session", name);
            }),
            Selection::Task(name) => line.object("selection", |of| {
                of.text("task", name);
            }),
        };
        line.raw("size", &stated.head.size.to_string()).end();
        self.lines.end()
    }

    /// Writes the entries of a range.
    fn range(&mut self, from: u64, to: u64) -> Result<()> {
        let audit = self.audit;
        let mut next = from;
        let mut written = Ok(());
        audit.records(from, to, &mut |stored| {
            let seq = stored.seq;
            written = match seq == next {
                true => self.entry(stored),
                false => Err(damaged(format!("log entry {next} is missing"))),
            };
            next = seq + 1;
            if written.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        written?;
        if next == to { Ok(()) } else { Err(damaged(format!("log entry {next} is missing"))) }
    }

    fn entry(&mut self, stored: Stored<'_>) -> Result<()> {
        let (seq, full) = (stored.seq, self.full());
        if let (_, Some(finding)) = self.checker.check(stored.clone())? {
            return Err(Damage::at(seq, finding.message).into());
        }
        let bodies = if full { Bodies::First } else { Bodies::New(&mut self.bodies) };
        let entry = stored::entry(self.audit, stored, bodies)?;
        let Some(Record { entry: said, parts }) = &entry.record else {
            return Err(damaged(format!("log entry {seq} cannot be read")));
        };
        self.members.see(said)?;
        let proof = self.proof(seq)?;
        self.entries += 1;
        self.redacted += u64::from(said.kind() == EntryKind::Redaction);
        let sealed = entry.record.as_ref().is_some_and(is_sealed);
        self.sealed += u64::from(entry.seal_key.is_some() && !self.options.with_keys);
        let mut line = self.lines.object();
        if matches!(said, Entry::Event(_)) {
            line.object("bodies", |bodies| {
                for (digest, data) in &entry.bodies {
                    bodies.text(digest.hex().as_str(), data);
                }
            });
        }
        // Keys stand in the order of canonical JSON, and the text of a review has the last of them.
        let (text, is_last) = (said.text_mark().map(|mark| mark.field), matches!(said, Entry::Review(_)));
        if let Some(field) = text.filter(|_| !is_last) {
            line.text_or_null(field, parts.text.as_deref());
        }
        line.text("leaf", &entry.bytes);
        if said.metadata_mark().is_some() {
            line.text_or_null("metadata", parts.metadata.as_deref());
        }
        if let Some(proof) = &proof {
            line.texts("proof", proof.iter().map(String::as_str));
        }
        if has_salt(said) {
            line.hex_or_null("salt", parts.salt.as_ref().map(|salt| &salt[..]));
        }
        if sealed {
            line.hex_or_null("seal_key", entry.seal_key.as_deref().filter(|_| self.options.with_keys));
        }
        if let Some(field) = text.filter(|_| is_last) {
            line.text_or_null(field, parts.text.as_deref());
        }
        line.end();
        self.lines.end()
    }

    /// The proof of an entry, in a partial bundle.
    fn proof(&mut self, seq: u64) -> Result<Option<Vec<String>>> {
        if self.full() {
            return Ok(None);
        }
        let proof = inclusion(seq, self.stated.head.size, &mut self.nodes)
            .map_err(|error| damaged(error.to_string()))?;
        Ok(Some(proof.iter().map(|hash| STANDARD.encode(hash.0)).collect()))
    }

    /// Writes the checkpoints, the one that the bundle stands on last.
    fn checkpoints(&mut self) -> Result<()> {
        let size = self.stated.head.size as i64;
        let mut written = Ok(());
        if self.full() {
            self.audit.checkpoints(&mut |of, note| {
                if written.is_ok() && of < size {
                    self.checkpoints += 1;
                    self.lines.object().text("checkpoint", note).end();
                    written = self.lines.end();
                }
            })?;
            written?;
        }
        self.checkpoints += 1;
        self.lines.object().text("checkpoint", &self.stated.note).end();
        self.lines.end()
    }

    /// Writes the keys that the log names, and returns them.
    fn keys(&mut self) -> Result<Vec<String>> {
        let mut keys: Vec<String> = Vec::new();
        self.audit.statements(EntryKind::Key, &mut |seq, leaf| {
            if let Some(Entry::Key(KeyEntry { vkey, .. })) = Entry::parse(leaf)
                && seq < self.stated.head.size
                && !keys.iter().any(|key| *key == vkey)
            {
                keys.push(vkey.into_owned());
            }
        })?;
        self.lines.object().texts("keys", keys.iter().map(String::as_str)).end();
        self.lines.end()?;
        Ok(keys)
    }
}

fn damaged(what: String) -> Error {
    StoreError::Damaged(what).into()
}
