//! Verifying the whole log: as many threads as there are cores, each over a range of it, in flat memory.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};

use cairn_core::Sha;
use cairn_core::entry::{Entry, Record};
use cairn_core::log::{Edge, TILE_HEIGHT, TILE_WIDTH, subtree};

use super::checkpoints::{self, Outside};
use super::database::Database;
use super::fold;
use super::record::Checker;
use super::redaction::{self, MAX_REDACTED, RedactedRecord};
use super::time::Times;
use super::{Cause, Finding, Findings, Progress, Reason, Report, Watch};
use crate::check::Sharing;
use crate::error::{Error, Result};
use crate::store::{Audit, ChainKey, ChainSums, Derived, Keys, LogHead, Store, StoreError, Stored, Totals};
use crate::tree::recomputed;

/// Leaves are checked in chunks of this many.
const CHUNK: u64 = 16 * TILE_WIDTH;

/// What a block of at most [`TILE_WIDTH`] entries adds to the tree.
struct Block {
    hashes: Hashes,
    /// Whether an entry of it has a finding, so that what stands above it must differ.
    damaged: bool,
}

enum Hashes {
    /// The root over a complete block.
    Root(Sha),
    /// The entries of the last block.
    Leaves(Vec<Sha>),
}

/// What was found in a part of the log.
struct Part {
    findings: Findings,
    counted: Totals,
    actions: u64,
    sharing: Sharing,
    corrected: HashMap<u64, Sha>,
    chains: ChainSums,
    /// Where it begins.
    from: u64,
    times: Times,
    redacted: Vec<RedactedRecord>,
    redacted_total: u64,
    /// None once an entry is missing.
    blocks: Option<Vec<Block>>,
}

/// Verifies everything.
pub fn verify(store: &dyn Store, outside: &Outside, watch: Watch<'_>) -> Result<Report> {
    let threads = std::thread::available_parallelism().map_or(1, |cores| cores.get().min(8));
    let mut audits = store.audits(threads + 4)?;
    let audit = audits.swap_remove(0);
    let head = audit.head()?;
    let derived = audit.derived()?;
    let key = ChainKey::new();
    let mut findings = Findings::default();
    // A size that somebody made up must not keep anybody waiting: a little beyond the newest entry, nothing can be.
    let end = audit.newest()?.map_or(0, |newest| newest.saturating_add(1)).saturating_add(CHUNK);
    let within = LogHead { size: head.size.min(end), ..head.clone() };
    // A part that cannot be read is a finding, and does not keep the others from being checked.
    let mut unread = None;
    let (parts, unchecked) =
        check_parts(audits, &within, (derived, &key), watch, &mut findings, &mut unread)?;

    let mut tree = Some(Tree::default()).filter(|_| unread.is_none());
    let (mut counted, mut actions, mut chains) = (Totals::default(), 0, ChainSums::default());
    let mut times = Times::default();
    let (mut redacted, mut redacted_total) = (Vec::new(), 0);
    let mut sharing = Sharing::default();
    let mut corrected = HashMap::new();
    for part in parts {
        sharing.append(part.sharing);
        corrected.extend(part.corrected);
        redacted.extend(part.redacted);
        redacted_total += part.redacted_total;
        findings.append(part.findings);
        counted.add(&part.counted);
        actions += part.actions;
        chains.add(part.chains);
        times.append(part.from, part.times);
        tree = match (tree, part.blocks) {
            (Some(tree), Some(blocks)) => tree.add(blocks)?,
            _ => None,
        };
    }
    let root = tree.as_ref().map(|tree| tree.edge.root());
    if let Some(tree) = &tree {
        read(&mut unread, check_tree(&*audit, &head, derived.chained, tree, &mut findings))?;
    }
    if unread.is_none() {
        sharing.differing().for_each(|finding| findings.add(finding));
        read(&mut unread, check_totals(&*audit, &head, derived.chained, &counted, &mut findings))?;
        check_derived(&head, derived, actions, &mut findings);
        if read(&mut unread, audit.chain_sums(&key))?.flatten().is_some_and(|stored| stored != chains) {
            read(&mut unread, audit.chains(&mut |finding| findings.add(finding)))?;
        }
    }
    read(&mut unread, audit.heads_schema_and_documents(&mut |finding| findings.add(finding)))?;

    redacted.truncate(MAX_REDACTED);
    let mut notes = Vec::from_iter(redaction::note(&redacted, redacted_total));
    let behind = head.size.saturating_sub(1).saturating_sub(u64::try_from(derived.through).unwrap_or(0));
    if behind > 0 {
        let newest = if behind == 1 { "entry".to_string() } else { format!("{behind} entries") };
        notes.push(format!("the search indexes do not cover the newest {newest} yet"));
    }
    notes.extend(unchecked);
    notes.extend(times.note_of());
    // Without a tree there is nothing that a statement about it could be held against.
    let coverage = match tree {
        Some(tree) => {
            let mut nodes = recomputed(&*audit, head.size, tree.computed, corrected);
            read(&mut unread, checkpoints::check(&*audit, &mut nodes, &head, outside, &mut findings))?
        }
        None => None,
    };
    if let Some(what) = unread {
        let message = format!("the database is damaged and could not be read to the end: {what}");
        // Where SQLite or PostgreSQL says what is damaged, that is the finding.
        findings.add(Finding::new(Reason::MissingRecord, "database", message).unless(Cause::Structures));
        notes.push("a part of the database could not be read: what stands there is unverified".into());
    }
    match &coverage {
        Some(coverage) => notes.extend(coverage.notes(head.size)),
        None => {
            notes.push("entries are missing, so checkpoints and heads seen outside were not compared".into());
        }
    }
    let (findings, findings_total) = findings.sorted();
    let chain_length = head.size;
    Ok(Report {
        records: counted.thoughts,
        contexts: counted.contexts,
        events: counted.events,
        briefs: counted.briefs,
        redacted,
        redacted_total,
        chain_length,
        log_size: head.size,
        root,
        findings,
        findings_total,
        coverage,
        notes,
    })
}

/// Takes what could be read; notes damage that kept it from being read.
fn read<T, E>(unread: &mut Option<String>, result: std::result::Result<T, E>) -> Result<Option<T>>
where
    Error: From<E>,
{
    match result.map_err(Error::from) {
        Ok(read) => Ok(Some(read)),
        Err(Error::Store(StoreError::Damaged(what))) => {
            unread.get_or_insert(what);
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Checks the entries in as many parts as there are cores, and what the database derives from them beside that. Returns
/// notes on structures that could not be checked with the parts.
fn check_parts(
    mut audits: Vec<Box<dyn Audit>>,
    head: &LogHead,
    (derived, key): (Derived, &ChainKey),
    watch: Watch<'_>,
    findings: &mut Findings,
    unread: &mut Option<String>,
) -> Result<(Vec<Part>, Vec<String>)> {
    let [index, folds, structures] =
        [(); 3].map(|()| audits.pop().expect("one view for each, and one for each part"));
    let threads = audits.len() as u64;
    let chunks = head.size.div_ceil(CHUNK);
    let share = chunks.div_ceil(threads).max(1);
    let done = AtomicU64::new(0);
    let failed = |_| StoreError::Other("a verifying thread failed".into());
    std::thread::scope(|scope| {
        // Findings made before damage ended a check are kept.
        let index = scope.spawn(move || {
            let mut findings = Findings::default();
            let done = index.search_index(&mut |finding| findings.add(finding));
            (findings, done.map(|()| Vec::new()))
        });
        let structures = scope.spawn(move || {
            let mut findings = Findings::default();
            let done = structures.structures(&mut |finding| {
                findings.explain(Cause::Structures);
                findings.explain(Cause::Index(finding.table));
                findings.add(finding);
            });
            (findings, done)
        });
        let folds = scope.spawn(move || fold::check(&*folds));
        let mut workers = Vec::new();
        for first in (0..chunks).step_by(share as usize) {
            let last = (first + share).min(chunks);
            let done = &done;
            let audit = audits.pop().expect("there are as many parts as views");
            workers.push(scope.spawn(move || {
                let advance = |entries| {
                    let done = done.fetch_add(entries, Ordering::Relaxed) + entries;
                    match watch(Progress { done, total: head.size, what: "entries" }) {
                        ControlFlow::Continue(()) => Ok(()),
                        ControlFlow::Break(()) => Err(StoreError::GivenUp),
                    }
                };
                check_part(&*audit, head, (derived, key), first..last, &advance)
            }));
        }
        let mut parts = Vec::new();
        for worker in workers {
            parts.extend(read(unread, worker.join().map_err(failed)?)?);
        }
        let _ = watch(Progress { done: head.size, total: head.size, what: "search index" });
        let mut unchecked = Vec::new();
        for beside in [index, structures] {
            let (found, done) = beside.join().map_err(failed)?;
            findings.append(found);
            unchecked.extend(read(unread, done)?.unwrap_or_default());
        }
        if let Some(found) = read(unread, folds.join().map_err(failed)?)? {
            findings.append(found);
        }
        Ok((parts, unchecked))
    })
}

/// Checks the entries of some chunks.
fn check_part(
    audit: &dyn Audit,
    head: &LogHead,
    (derived, key): (Derived, &ChainKey),
    chunks: std::ops::Range<u64>,
    advance: &dyn Fn(u64) -> std::result::Result<(), StoreError>,
) -> std::result::Result<Part, StoreError> {
    let mut checker = Checker::new(audit, head, derived.through);
    checker.before.redactions.counted_at = Some(head.size);
    let mut chains = ChainSums::default();
    let mut seen = |stored: &Stored<'_>| {
        let seq = i64::try_from(stored.seq).unwrap_or(i64::MAX);
        if let Ok(Record { entry: Entry::Thought(thought), .. }) = &stored.record
            && seq <= derived.chained
        {
            let Keys { task_no, session_no, .. } = stored.keys;
            chains.add_to_task(key, task_no, thought.position as i64, seq);
            chains.add_to_session(key, session_no, thought.step_index as i64, seq);
        }
    };
    let mut findings = Findings::default();
    let mut blocks = Some(Vec::new());
    let from = chunks.start * CHUNK;
    for chunk in chunks {
        let from = chunk * CHUNK;
        let to = (from + CHUNK).min(head.size);
        let leaves = check_entries(audit, &mut checker, from, to, &mut seen, &mut findings)?;
        blocks = blocks.zip(leaves).map(|(mut blocks, leaves)| {
            blocks.extend(in_blocks(from, &leaves, &findings));
            blocks
        });
        checker.causes.drain(..).for_each(|cause| findings.explain(cause));
        advance(to - from)?;
    }
    let Checker { before: Database { redactions, bodies, .. }, counted, times, actions, corrected, .. } =
        checker;
    Ok(Part {
        findings,
        counted: Totals { bodies, seals: redactions.keys, ..counted },
        actions,
        chains,
        from,
        times,
        redacted: redactions.list,
        redacted_total: redactions.total,
        sharing: redactions.sharing,
        corrected,
        blocks,
    })
}

/// Checks every entry of a range; returns their hashes if all of them are there.
fn check_entries(
    audit: &dyn Audit,
    checker: &mut Checker<'_>,
    from: u64,
    to: u64,
    seen: &mut dyn FnMut(&Stored<'_>),
    findings: &mut Findings,
) -> std::result::Result<Option<Vec<Sha>>, StoreError> {
    let mut leaves = Vec::with_capacity((to - from) as usize);
    let mut failed = Ok(());
    let mut expected = from;
    audit.records(from, to, &mut |stored| {
        let seq = stored.seq;
        if seq > expected {
            findings.explain(Cause::MissingEntries);
            findings.add(missing(expected, seq));
        } else if seq < expected {
            let message = format!("log entry {seq} is stored twice, or out of order");
            findings.add(Finding::new(Reason::Order, "entry", message).at(seq));
        }
        expected = seq.max(expected.saturating_sub(1)) + 1;
        seen(&stored);
        match checker.check(stored) {
            Ok((leaf, finding)) => {
                leaves.extend(leaf);
                finding.into_iter().for_each(|finding| findings.add(finding));
                ControlFlow::Continue(())
            }
            Err(error) => {
                failed = Err(error);
                ControlFlow::Break(())
            }
        }
    })?;
    failed?;
    if expected < to {
        findings.explain(Cause::MissingEntries);
        findings.add(missing(expected, to));
    }
    Ok((leaves.len() as u64 == to - from).then_some(leaves))
}

/// Names the entries of a range that is not there.
pub fn missing(from: u64, to: u64) -> Finding {
    let message = match to - from {
        1 => format!("log entry {from} is missing"),
        _ => format!("log entries {from} to {} are missing", to - 1),
    };
    Finding::new(Reason::MissingRecord, "entry", message).at(from)
}

/// The blocks of the entries from `from` on.
fn in_blocks(from: u64, leaves: &[Sha], findings: &Findings) -> Vec<Block> {
    let starts = (from..).step_by(TILE_WIDTH as usize);
    let blocks = starts.zip(leaves.chunks(TILE_WIDTH as usize));
    let block = |(from, leaves): (u64, &[Sha])| Block {
        damaged: (from..).take(leaves.len()).any(|seq| findings.is_at(seq)),
        hashes: match leaves.len() as u64 {
            TILE_WIDTH => Hashes::Root(subtree(leaves.to_vec())),
            _ => Hashes::Leaves(leaves.to_vec()),
        },
    };
    blocks.map(block).collect()
}

/// The tree, computed from the entries.
struct Tree {
    edge: Edge,
    /// The roots over complete blocks, which the tiles of level 1 should hold.
    computed: Vec<Sha>,
    /// Whether a block has a finding.
    damaged: Vec<bool>,
}

impl Default for Tree {
    fn default() -> Tree {
        Tree { edge: Edge::empty(), computed: Vec::new(), damaged: Vec::new() }
    }
}

impl Tree {
    fn add(mut self, blocks: Vec<Block>) -> Result<Option<Tree>> {
        for block in blocks {
            self.damaged.push(block.damaged);
            match block.hashes {
                Hashes::Root(root) => {
                    self.computed.push(root);
                    self.edge
                        .push_subtree(TILE_HEIGHT, root, &mut |_| {})
                        .map_err(|error| StoreError::Other(error.to_string()))?;
                }
                Hashes::Leaves(leaves) => {
                    leaves.into_iter().for_each(|leaf| self.edge.push(leaf, &mut |_| {}))
                }
            }
        }
        Ok(Some(self))
    }
}

/// Compares what is stored of the tree with what its entries give.
fn check_tree(
    audit: &dyn Audit,
    head: &LogHead,
    tiled: i64,
    tree: &Tree,
    findings: &mut Findings,
) -> std::result::Result<(), StoreError> {
    let root = tree.edge.root();
    let damaged = tree.damaged.contains(&true);
    let differing = check_tiles(audit, head, tiled, tree)?;
    if root == head.root {
        differing.tiles.into_iter().for_each(|finding| findings.add(finding));
        if audit.edge()? != tree.edge.to_bytes() {
            let message = "the stored edge of the log's tree is not that of its entries";
            findings.add(Finding::new(Reason::LeafMismatch, "log", message));
        }
    } else if !damaged {
        // Where a block is not the one that its tile was made of, the entries were changed, and not the root.
        match differing.blocks.is_empty() {
            true => {
                let message = "the stored root of the log is not the root of its entries";
                findings
                    .add(Finding::new(Reason::LeafMismatch, "log", message).field("root", root, head.root));
            }
            false => differing.blocks.into_iter().for_each(|finding| findings.add(finding)),
        }
    }
    Ok(())
}

/// What differs between tiles and entries, seen from both sides.
#[derive(Default)]
struct Differing {
    tiles: Vec<Finding>,
    blocks: Vec<Finding>,
}

fn check_tiles(
    audit: &dyn Audit,
    head: &LogHead,
    tiled: i64,
    tree: &Tree,
) -> std::result::Result<Differing, StoreError> {
    let mut differing = Differing::default();
    let complete = (covered(head, tiled) / TILE_WIDTH) as usize;
    let mut expected = tree.computed[..tree.computed.len().min(complete)].to_vec();
    for level in 1u8.. {
        for (index, hashes) in (0u64..).zip(expected.chunks(TILE_WIDTH as usize)) {
            let stored = audit.tile(level, index)?.unwrap_or_default();
            let stored = stored.as_chunks::<32>();
            let same = |at: usize| stored.0.get(at) == Some(&hashes[at].0);
            let Some(at) = (0..hashes.len()).find(|at| !same(*at)) else {
                if stored.0.len() > hashes.len() || !stored.1.is_empty() {
                    differing.tiles.push(tile_differs(level, index, hashes.len()));
                }
                continue;
            };
            differing.tiles.push(tile_differs(level, index, at));
            if level == 1 {
                let blocks = (at..hashes.len()).filter(|at| !same(*at));
                let first = |at: usize| index * TILE_WIDTH + at as u64;
                let undamaged = blocks.map(first).filter(|block| !tree.damaged[*block as usize]);
                differing.blocks.extend(undamaged.map(block_differs));
            }
        }
        expected =
            expected.chunks_exact(TILE_WIDTH as usize).map(|hashes| subtree(hashes.to_vec())).collect();
        if expected.is_empty() {
            break;
        }
    }
    Ok(differing)
}

/// How many entries the tiles cover.
fn covered(head: &LogHead, tiled: i64) -> u64 {
    u64::try_from(tiled).map_or(0, |through| head.size.min(through.saturating_add(1)))
}

/// How many tiles there are over so many entries.
fn tiles_of(entries: u64) -> u64 {
    let levels = (1..8).map(|level| entries >> (u32::from(TILE_HEIGHT) * level));
    levels.map(|hashes| hashes.div_ceil(TILE_WIDTH)).sum()
}

/// Says that a tile is not that of the entries below it.
fn tile_differs(level: u8, index: u64, at: usize) -> Finding {
    let message = format!(
        "tile {index} of level {level} of the log's tree is not that of its entries, from hash {at} on"
    );
    Finding::new(Reason::LeafMismatch, "tile", message).unless(Cause::Index("tile"))
}

/// Says that entries are not those that the tree was built from.
fn block_differs(block: u64) -> Finding {
    let (first, last) = (block * TILE_WIDTH, (block + 1) * TILE_WIDTH - 1);
    let message = format!("the log's tree was built from others than log entries {first} to {last}");
    Finding::new(Reason::LeafMismatch, "entry", message).at(first)
}

/// Whether there are rows beyond those that belong to the log.
fn check_totals(
    audit: &dyn Audit,
    head: &LogHead,
    tiled: i64,
    counted: &Totals,
    findings: &mut Findings,
) -> Result<()> {
    let totals = audit.totals()?;
    let tiles = tiles_of(covered(head, tiled));
    for (table, expected, actual) in [
        ("entry", counted.entries, totals.entries),
        ("tile", tiles, totals.tiles),
        ("thought", counted.thoughts, totals.thoughts),
        ("context", counted.contexts, totals.contexts),
        ("event", counted.events, totals.events),
        ("body", counted.bodies, totals.bodies),
        ("brief", counted.briefs, totals.briefs),
        ("redaction", counted.redactions, totals.redactions),
        ("seal", counted.seals, totals.seals),
        ("review", counted.reviews, totals.reviews),
    ] {
        if actual != expected {
            let reason = if actual < expected { Reason::MissingRecord } else { Reason::LeafMismatch };
            let message =
                format!("the log accounts for {expected} rows of table `{table}`, which has {actual}");
            let finding = Finding::new(reason, table, message).field("count", expected, actual);
            findings.add(finding.unless(Cause::Table(table)).unless(Cause::Index(table)));
        }
    }
    Ok(())
}

fn check_derived(head: &LogHead, derived: Derived, actions: u64, findings: &mut Findings) {
    for (field, covered) in [("through", derived.through), ("chained", derived.chained)] {
        if covered < 0 || covered as u64 >= head.size.max(1) {
            let message = format!("the derived tables claim to cover entry {covered} of {}", head.size);
            let newest = head.size.saturating_sub(1);
            let finding = Finding::new(Reason::IndexMismatch, "derived", message);
            findings.add(finding.field(field, format!("at most {newest}"), covered));
        }
    }
    let listed = derived.actions;
    if listed != actions {
        let message = format!("{actions} thoughts led to an action, and {listed} are listed");
        let finding = Finding::new(Reason::IndexMismatch, "action", message).field("count", actions, listed);
        findings.add(
            finding
                .unless(Cause::Table("action"))
                .unless(Cause::Index("action"))
                .unless(Cause::MissingEntries),
        );
    }
}
