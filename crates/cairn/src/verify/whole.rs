//! Verifying the whole log: as many threads as there are cores, each over a range of it, in flat memory.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};

use cairn_core::Sha;
use cairn_core::log::{Edge, Node};

use super::checkpoints::{self, Outside};
use super::fold;
use super::record::Checker;
use super::redaction::{self, MAX_REDACTED, RedactedRecord};
use super::time::Times;
use super::{Cause, Finding, Findings, Progress, Reason, Report, Watch};
use crate::error::{Error, Result};
use crate::store::{Audit, LogHead, Store, StoreError, Totals};

/// Leaves are checked in chunks of this many, each a complete subtree.
const CHUNK_LEVEL: u8 = 12;
const CHUNK: u64 = 1 << CHUNK_LEVEL;

/// What a chunk adds to the tree.
enum Subtree {
    Complete {
        root: Sha,
        /// Whether something in it has a finding, so that what stands above it must differ.
        damaged: bool,
    },
    /// The last chunk, as single leaves.
    Leaves { leaves: Vec<Sha>, damaged: bool },
    /// An entry is missing, so there is no hash.
    Broken,
}

/// What was found in a part of the log.
struct Part {
    findings: Findings,
    counted: Totals,
    actions: u64,
    /// Where it begins.
    from: u64,
    times: Times,
    redacted: Vec<RedactedRecord>,
    redacted_total: u64,
    chunks: Vec<Subtree>,
}

/// Verifies everything.
pub fn verify(store: &dyn Store, outside: &Outside, watch: Watch<'_>) -> Result<Report> {
    let threads = std::thread::available_parallelism().map_or(1, |cores| cores.get().min(8));
    let mut audits = store.audits(threads + 4)?;
    let audit = audits.swap_remove(0);
    let head = audit.head()?;
    let (derived_through, listed_actions) = audit.derived()?;
    let mut findings = Findings::default();
    // A size that somebody made up must not keep anybody waiting: a little beyond the newest entry, nothing can be.
    let end = audit.newest()?.map_or(0, |newest| newest.saturating_add(1)).saturating_add(CHUNK);
    let within = LogHead { size: head.size.min(end), ..head.clone() };
    // A part that cannot be read is a finding, and does not keep the others from being checked.
    let mut unread = None;
    let (parts, unchecked) =
        check_parts(audits, &within, derived_through, watch, &mut findings, &mut unread)?;

    let mut tree = Some(Edge::empty()).filter(|_| unread.is_none());
    let mut damaged = false;
    let (mut counted, mut actions) = (Totals::default(), 0);
    let mut times = Times::default();
    let (mut redacted, mut redacted_total) = (Vec::new(), 0);
    for part in parts {
        redacted.extend(part.redacted);
        redacted_total += part.redacted_total;
        findings.append(part.findings);
        counted.add(&part.counted);
        actions += part.actions;
        times.append(part.from, part.times);
        for subtree in part.chunks {
            tree = read(&mut unread, add_to_tree(tree, subtree, &*audit, &mut damaged, &mut findings))?
                .flatten();
        }
    }
    let root = tree.map(|tree| tree.root());
    if let Some(root) = root.filter(|root| *root != head.root && !damaged) {
        let message = "the stored root of the log is not the root of its entries";
        findings.add(Finding::new(Reason::LeafMismatch, "log", message).field("root", root, head.root));
    }
    if unread.is_none() {
        read(&mut unread, check_totals(&*audit, &head, &counted, &mut findings))?;
        check_derived(&head, derived_through, listed_actions, actions, &mut findings);
    }
    read(&mut unread, audit.heads_schema_and_documents(&mut |finding| findings.add(finding)))?;

    redacted.truncate(MAX_REDACTED);
    let mut notes = Vec::from_iter(redaction::note(&redacted, redacted_total));
    let behind = head.size.saturating_sub(1).saturating_sub(u64::try_from(derived_through).unwrap_or(0));
    if behind > 0 {
        let newest = if behind == 1 { "entry".to_string() } else { format!("{behind} entries") };
        notes.push(format!("the search indexes do not cover the newest {newest} yet"));
    }
    notes.extend(unchecked);
    notes.extend(times.note_of());
    // Without a tree there is nothing that a statement about it could be held against.
    let coverage = match root {
        Some(_) => read(&mut unread, checkpoints::check(&*audit, &head, outside, &mut findings))?,
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
    derived_through: i64,
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
                check_part(&*audit, head, derived_through, first..last, &advance)
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

/// Checks the entries and tree nodes of some chunks.
fn check_part(
    audit: &dyn Audit,
    head: &LogHead,
    derived_through: i64,
    chunks: std::ops::Range<u64>,
    advance: &dyn Fn(u64) -> std::result::Result<(), StoreError>,
) -> std::result::Result<Part, StoreError> {
    let mut checker = Checker::new(audit, &head.origin, derived_through);
    checker.redactions.counted_at = Some(head.size);
    let mut findings = Findings::default();
    let mut subtrees = Vec::new();
    let from = chunks.start * CHUNK;
    for chunk in chunks {
        let from = chunk * CHUNK;
        let to = (from + CHUNK).min(head.size);
        subtrees.push(match check_entries(audit, &mut checker, from, to, &mut findings)? {
            None => Subtree::Broken,
            Some(leaves) => check_nodes(audit, from, leaves, &mut findings)?,
        });
        checker.causes.drain(..).for_each(|cause| findings.explain(cause));
        advance(to - from)?;
    }
    Ok(Part {
        findings,
        counted: Totals {
            thoughts: checker.thoughts,
            contexts: checker.contexts.seen,
            events: checker.memory.events,
            bodies: checker.memory.bodies,
            briefs: checker.memory.briefs,
            redactions: checker.redactions.entries,
            seals: checker.redactions.keys,
            reviews: checker.reviews,
            ..Totals::default()
        },
        actions: checker.actions,
        from,
        times: checker.times,
        redacted: checker.redactions.list,
        redacted_total: checker.redactions.total,
        chunks: subtrees,
    })
}

/// Checks every entry of a range; returns their hashes if all of them are there.
fn check_entries(
    audit: &dyn Audit,
    checker: &mut Checker<'_>,
    from: u64,
    to: u64,
    findings: &mut Findings,
) -> std::result::Result<Option<Vec<Sha>>, StoreError> {
    let mut leaves = Vec::with_capacity((to - from) as usize);
    let mut failed = Ok(());
    let mut expected = from;
    audit.scan(from, to, &mut |scanned| {
        if failed.is_err() {
            return;
        }
        if scanned.seq > expected {
            findings.explain(Cause::MissingEntries);
            findings.add(missing(expected, scanned.seq));
        } else if scanned.seq < expected {
            let message = format!("log entry {} is stored twice, or out of order", scanned.seq);
            findings.add(Finding::new(Reason::Order, "entry", message).at(scanned.seq));
        }
        expected = scanned.seq.max(expected.saturating_sub(1)) + 1;
        match checker.check(&scanned) {
            Ok((leaf, finding)) => {
                leaves.extend(leaf);
                finding.into_iter().for_each(|finding| findings.add(finding));
            }
            Err(error) => failed = Err(error),
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

/// Builds the subtree over `leaves` and compares its inside with what is stored.
///
/// Above an entry with a finding every node differs, and above a node that differs as well: that is the same damage, and
/// the lowest of them names it.
fn check_nodes(
    audit: &dyn Audit,
    from: u64,
    leaves: Vec<Sha>,
    findings: &mut Findings,
) -> std::result::Result<Subtree, StoreError> {
    let mut levels: Vec<Vec<Sha>> = vec![Vec::new(); usize::from(CHUNK_LEVEL) + 1];
    let mut edge = Edge::empty();
    for leaf in &leaves {
        edge.push(*leaf, &mut |node| levels[usize::from(node.level)].push(node.hash));
    }
    let mut below: Vec<bool> = (from..).take(leaves.len()).map(|seq| findings.is_at(seq)).collect();
    let mut damaged = below.contains(&true);
    let mut lowest: Vec<(Node, Option<Sha>)> = Vec::new();
    for (level, hashes) in (0u8..).zip(&levels).skip(1) {
        let first = from >> level;
        let mut stored: Vec<Option<Sha>> = vec![None; hashes.len()];
        audit.nodes(level, first, first + hashes.len() as u64, &mut |index, hash| {
            if let Some(slot) = stored.get_mut((index - first) as usize) {
                *slot = hash.try_into().ok().map(Sha);
            }
        })?;
        let differ: Vec<bool> =
            hashes.iter().zip(&stored).map(|(hash, stored)| *stored != Some(*hash)).collect();
        // A node that differs under one that does not was changed itself. Under one that differs as well, the entries
        // were.
        for (node, stored) in lowest {
            let of_entries = differ.get((node.index / 2 - first) as usize) == Some(&true);
            damaged |= of_entries;
            findings.add(if of_entries {
                entries_differ(&node, stored)
            } else {
                node_differs(&node, stored)
            });
        }
        lowest = (0..hashes.len())
            .filter(|at| differ[*at] && !below[2 * at] && !below[2 * at + 1])
            .map(|at| (Node { level, index: first + at as u64, hash: hashes[at] }, stored[at]))
            .collect();
        below = differ;
    }
    lowest.into_iter().for_each(|(node, stored)| findings.add(node_differs(&node, stored)));
    Ok(match leaves.len() as u64 {
        CHUNK => Subtree::Complete { root: edge.root(), damaged },
        _ => Subtree::Leaves { leaves, damaged },
    })
}

/// Says that a node is not that of the entries below it.
fn node_differs(node: &Node, stored: Option<Sha>) -> Finding {
    let message =
        format!("node {} of level {} of the log's tree is not that of its entries", node.index, node.level);
    of_node(node, message).field("hash", node.hash, shown(stored))
}

/// Says that entries are not those that the tree was built from.
fn entries_differ(node: &Node, stored: Option<Sha>) -> Finding {
    let first = node.index << node.level;
    let last = first + (1 << node.level) - 1;
    let message = format!("the log's tree was built from others than log entries {first} to {last}");
    Finding { table: "entry", ..of_node(node, message).field("hash", shown(stored), node.hash) }
}

fn of_node(node: &Node, message: String) -> Finding {
    let finding = Finding::new(Reason::LeafMismatch, "node", message).at(node.index << node.level);
    finding.unless(Cause::Index("node"))
}

fn shown(stored: Option<Sha>) -> String {
    stored.map_or("no hash".to_string(), |hash| hash.to_string())
}

/// Adds a chunk to the tree and compares the nodes above it; none once a chunk is broken.
fn add_to_tree(
    tree: Option<Edge>,
    subtree: Subtree,
    audit: &dyn Audit,
    damaged: &mut bool,
    findings: &mut Findings,
) -> Result<Option<Edge>> {
    let Some(mut tree) = tree else { return Ok(None) };
    let mut above = Vec::new();
    match subtree {
        Subtree::Broken => return Ok(None),
        Subtree::Complete { root, damaged: below } => {
            *damaged |= below;
            tree.push_subtree(CHUNK_LEVEL, root, &mut |node| above.push(node))
                .map_err(|error| StoreError::Other(error.to_string()))?;
        }
        Subtree::Leaves { leaves, damaged: below } => {
            *damaged |= below;
            leaves.into_iter().for_each(|leaf| tree.push(leaf, &mut |_| {}));
        }
    }
    for node in above {
        let stored = audit.node(node.level, node.index)?;
        if stored != Some(node.hash) && !*damaged {
            findings.add(node_differs(&node, stored));
        }
    }
    Ok(Some(tree))
}

/// Whether there are rows beyond those that belong to the log.
fn check_totals(audit: &dyn Audit, head: &LogHead, counted: &Totals, findings: &mut Findings) -> Result<()> {
    let totals = audit.totals()?;
    // A complete node stands over each aligned group of two, four, eight … leaves.
    let expected_nodes: u64 = (1..64).map(|level| head.size >> level).sum();
    for (table, expected, actual) in [
        ("entry", head.size, totals.entries),
        ("node", expected_nodes, totals.nodes),
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

fn check_derived(head: &LogHead, through: i64, listed: u64, actions: u64, findings: &mut Findings) {
    if through < 0 || through as u64 >= head.size.max(1) {
        let message = format!("the derived tables claim to cover entry {through} of {}", head.size);
        let newest = head.size.saturating_sub(1);
        let finding = Finding::new(Reason::IndexMismatch, "derived", message);
        findings.add(finding.field("through", format!("at most {newest}"), through));
    }
    if listed != actions {
        let message = format!("{actions} thoughts led to an action, and {listed} are listed");
        let finding = Finding::new(Reason::IndexMismatch, "action", message).field("count", actions, listed);
        findings.add(finding.unless(Cause::Table("action")).unless(Cause::Index("action")));
    }
}
