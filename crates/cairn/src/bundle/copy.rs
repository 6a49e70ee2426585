//! Copying a whole log into another database, of whichever kind.
//!
//! One thread reads one consistent state of the source, another writes what it read, some thousand entries in one
//! transaction: memory stays flat, and whoever is interrupted goes on with what was committed. The source is verified
//! before anything is written, the copy when everything is.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::mpsc::{SyncSender, sync_channel};

use cairn_core::Sha;
use cairn_core::entry::{Entry, Record};
use cairn_core::log::root;
use cairn_core::time::Timestamp;

use super::adding::{Adding, Load};
use super::stored::{self, Bodies};
use super::target::Target;
use crate::error::{Error, OpenError};
use crate::handle::Cairn;
use crate::options::Durability;
use crate::store::{Audit, Birth, LogHead, Store, StoreError};
use crate::tree;
use crate::verify::{self, Outside, Progress, Report, Scope};

/// Entries that are read or compared at a time.
const CHUNK: u64 = 4096;
/// Checkpoints in one transaction.
const CHECKPOINTS: usize = 512;

/// What was copied.
#[derive(Debug, Clone)]
pub struct Copied {
    /// The name of the log.
    pub origin: String,
    /// Entries of the source that are in the copy now.
    pub size: u64,
    /// The root of the log at that size, in both.
    pub root: Sha,
    /// Entries that were added.
    pub added: u64,
    /// Checkpoints of the source, which the copy has as well.
    pub checkpoints: u64,
    /// Entries that were recorded in the source since the copy was begun.
    pub newer: u64,
    /// Texts that were in the copy before, and that the log says were redacted since: they were erased there as well.
    pub erased: u64,
    /// What of those texts is still in the files, in words; empty if nothing was found.
    pub remnants: Vec<String>,
    /// What was found in the copy afterwards.
    pub report: Report,
}

/// Why a log was not copied. What was added before stays, and doing it again goes on from there.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// It will not be done.
    #[error("{0}")]
    Refused(String),
    /// Something is wrong with the source; nothing was written.
    #[error("the source is not what was recorded: {}", .0.message())]
    Source(Box<Report>),
    /// Something is wrong with the copy.
    #[error("the copy does not verify: {}", .0.message())]
    Copy(Box<Report>),
    /// The target cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The source could not be read.
    #[error("the source could not be read: {0}")]
    Reading(Error),
    /// The target could not be written.
    #[error("the copy could not be written: {0}")]
    Writing(Error),
}

pub(super) type Result<T> = std::result::Result<T, CopyError>;

fn reading(error: impl Into<Error>) -> CopyError {
    CopyError::Reading(error.into())
}

pub(super) fn writing(error: impl Into<Error>) -> CopyError {
    CopyError::Writing(error.into())
}

pub(super) fn refused<T>(message: impl Into<String>) -> Result<T> {
    Err(CopyError::Refused(message.into()))
}

impl Cairn {
    /// Copies the whole log into the database at `to`, a file or an address, as it is when this is called: every entry,
    /// id, hash and key, its redactions and its checkpoints. Access tokens stay where they are, since they are no part of
    /// the log; what is derived is derived again.
    ///
    /// A target that is not there is made; a file has another name until it is whole and verified. A target that holds
    /// the first part of the same log is completed, which is also how a copy goes on that was interrupted. Nobody else
    /// may write to it meanwhile. Nothing is written to the source.
    pub fn copy(
        &self,
        to: impl AsRef<Path>,
        durability: Durability,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<Copied> {
        let source = &*self.inner.store;
        // Before it is verified: what is read later is then no newer than what was verified.
        let audit = source.audit().map_err(reading)?;
        let head = audit.head().map_err(reading)?;
        let mut target = Target::find(to.as_ref(), durability)?;
        if let Some(copy) = &target.store {
            is_another(source, &**copy)?;
            is_prefix(source, &head, &**copy)?;
        }
        self.verify_source(&head, &named("verifying the source", progress))?;
        let birth = birth(&*audit, &head)?;
        let is_new = target.store.is_none();
        let store = target.open(birth, durability)?;
        is_prefix(source, &head, &*store)?;

        let mut adding = Adding::to(&*store).map_err(writing)?;
        // A new log has its first entry from the beginning.
        let added = if is_new { head.size } else { head.size.saturating_sub(adding.prefix()) };
        let audit = stream(audit, &mut adding, head.size, &named("copying", progress))?;
        let checkpoints = state(&*audit, &head, &mut adding, &*store)?;
        drop(audit);
        let behind = |left| {
            progress(Progress {
                done: head.size.saturating_sub(left),
                total: head.size,
                what: "search index",
            })
        };
        adding.catch_up(&behind).map_err(writing)?;
        let (erased, remnants) = adding.end(&*store);

        let outside = self.outside_of_copy(&head)?;
        let progress = named("verifying the copy", progress);
        let report = verify::verify(&*store, &Scope::All, &outside, &progress).map_err(writing)?;
        if !report.valid() || (report.log_size, report.root) != (head.size, Some(head.root)) {
            return Err(CopyError::Copy(Box::new(report)));
        }
        drop(store);
        target.finish()?;
        let newer = source.head().map_or(0, |now| now.size.saturating_sub(head.size));
        let LogHead { origin, size, root } = head;
        Ok(Copied { origin, size, root, added, checkpoints, newer, erased, remnants, report })
    }

    /// Verifies the source as it is now, and that its head is the one that is to be copied or has grown from it.
    fn verify_source(&self, head: &LogHead, progress: &(dyn Fn(Progress) + Sync)) -> Result<()> {
        let report = self.verify_with(&Scope::All, progress).map_err(reading)?;
        if !report.valid() {
            return Err(CopyError::Source(Box::new(report)));
        }
        let store = &*self.inner.store;
        let then = root(head.size, &mut tree::nodes(store)).map_err(reading)?;
        match then == head.root {
            true => Ok(()),
            false => Err(reading(StoreError::Damaged("its stored root is not that of its entries".into()))),
        }
    }

    /// What the copy is held against: whose signatures count for the source, and what was seen of it that is copied.
    fn outside_of_copy(&self, head: &LogHead) -> Result<Outside> {
        let mut outside = Outside::default();
        self.add_remembered(&mut outside).map_err(reading)?;
        for seen in outside.remembered.places.values_mut() {
            seen.heads.retain(|seen| seen.size <= head.size);
        }
        Ok(outside)
    }
}

/// Tells how far it is under another name.
fn named<'p>(what: &'static str, progress: &'p (dyn Fn(Progress) + Sync)) -> impl Fn(Progress) + Sync + 'p {
    move |done| progress(Progress { what, ..done })
}

/// How a new database begins so that its first entry is that of the log.
fn birth(audit: &dyn Audit, head: &LogHead) -> Result<Birth> {
    let mut timestamp = None;
    audit
        .records(0, 1, &mut |stored| {
            if let Ok(Record { entry: Entry::Genesis(genesis), .. }) = stored.record {
                timestamp = Timestamp::parse(genesis.timestamp).ok();
            }
            ControlFlow::Break(())
        })
        .map_err(reading)?;
    match timestamp {
        Some(timestamp) => Ok(Birth { origin: head.origin.clone(), timestamp }),
        None => Err(reading(StoreError::Damaged("the log does not say when it was begun".into()))),
    }
}

/// Refuses the source as its own target.
fn is_another(source: &dyn Store, copy: &dyn Store) -> Result<()> {
    let place =
        |store: &dyn Store| store.place().map(|place| place.canonicalize().unwrap_or(place.to_path_buf()));
    match place(source).is_some_and(|here| place(copy) == Some(here)) {
        true => refused("the source and the target are the same database; name another one to copy to"),
        false => Ok(()),
    }
}

/// Whether what is in the copy is what the source begins with.
fn is_prefix(source: &dyn Store, head: &LogHead, copy: &dyn Store) -> Result<()> {
    let there = copy.head().map_err(writing)?;
    if there.origin != head.origin {
        return refused(format!(
            "the target holds another log, `{}`, and the source `{}`; name a target that does not exist yet, or one with \
             an older copy of this log",
            there.origin, head.origin
        ));
    }
    if there.size > head.size {
        return refused(format!(
            "the target has {} entries, more than the source with {}; to bring the source up to date, copy the other way \
             round",
            there.size, head.size
        ));
    }
    for from in (0..there.size).step_by(CHUNK as usize) {
        let to = there.size.min(from + CHUNK);
        let (ours, theirs) =
            (source.leaf_hashes(from, to).map_err(reading)?, copy.leaf_hashes(from, to).map_err(writing)?);
        let whole = ours.len() as u64 == to - from && ours.len() == theirs.len();
        let differs = ours.iter().zip(&theirs).position(|(ours, theirs)| ours != theirs);
        let differs = differs.or_else(|| (!whole).then(|| ours.len().min(theirs.len())));
        if let Some(at) = differs {
            return refused(format!(
                "log entry {} of the target is not that of the source: they have grown apart, and neither continues the \
                 other. Keep both, and copy to a target that does not exist yet",
                from + at as u64
            ));
        }
    }
    Ok(())
}

/// Adds what the copy does not have yet. Reads on a thread of its own, one load ahead; hands the audit back.
fn stream(
    audit: Box<dyn Audit>,
    adding: &mut Adding,
    size: u64,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Box<dyn Audit>> {
    let mut done = adding.prefix();
    std::thread::scope(|scope| {
        let (loads, queue) = sync_channel(1);
        let reader = scope.spawn(move || {
            let fed = feed(&*audit, done, size, &loads);
            fed.map(|()| audit)
        });
        // Whoever breaks off here lets go of the queue, and the reader ends.
        let mut written = Ok(());
        for load in queue {
            written = adding.write(&load);
            if written.is_err() {
                break;
            }
            done += load.len() as u64;
            progress(Progress { done, total: size, what: "" });
        }
        let read =
            reader.join().map_err(|_| reading(StoreError::Other("the reading thread failed".into())))?;
        written.map_err(writing)?;
        read.map_err(reading)
    })
}

/// Reads entries and sends them off, until somebody does not want them any more.
fn feed(audit: &dyn Audit, from: u64, size: u64, loads: &SyncSender<Load>) -> crate::Result<()> {
    let mut load = Load::default();
    let (mut next, mut failed, mut wanted) = (from, Ok(()), true);
    for from in (from..size).step_by(CHUNK as usize) {
        audit.records(from, size.min(from + CHUNK), &mut |stored| {
            let entry = match stored.seq == next {
                true => stored::entry(audit, stored, Bodies::First),
                false => Err(StoreError::Damaged(format!("log entry {next} is missing")).into()),
            };
            next += 1;
            match entry {
                Ok(entry) => {
                    if load.push(entry) {
                        wanted = loads.send(std::mem::take(&mut load)).is_ok();
                    }
                }
                Err(error) => failed = Err(error),
            }
            if failed.is_ok() && wanted { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        std::mem::replace(&mut failed, Ok(()))?;
        if !wanted {
            return Ok(());
        }
    }
    if next != size {
        return Err(StoreError::Damaged(format!("log entry {next} is missing")).into());
    }
    // If nobody wants the last ones, whoever wrote says why.
    let _ = loads.send(load);
    Ok(())
}

/// Adds the checkpoints, and sees that all of them are there; returns how many.
fn state(audit: &dyn Audit, head: &LogHead, adding: &mut Adding, copy: &dyn Store) -> Result<u64> {
    let (mut waiting, mut count, mut added) = (Vec::new(), 0, Ok(()));
    let mut add = |waiting: &mut Vec<(u64, String)>| {
        if waiting.is_empty() {
            return Ok(());
        }
        adding.state(waiting).map_err(writing)?;
        for (size, note) in waiting.drain(..) {
            // Signatures that the source does not have are no harm.
            let there = copy.checkpoint(size).map_err(writing)?;
            if there.is_none_or(|(at, there)| at != size || !there.starts_with(&note)) {
                return refused(format!(
                    "the target has another checkpoint of the first {size} entries than the source: both were written to. \
                     Keep both, and copy to a target that does not exist yet"
                ));
            }
        }
        Ok(())
    };
    audit
        .checkpoints(&mut |size, note| {
            if added.is_ok() && size.unsigned_abs() <= head.size {
                count += 1;
                waiting.push((size.unsigned_abs(), note.to_string()));
                if waiting.len() >= CHECKPOINTS {
                    added = add(&mut waiting);
                }
            }
        })
        .map_err(reading)?;
    added?;
    add(&mut waiting)?;
    Ok(count)
}
