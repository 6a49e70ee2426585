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
use super::{Finding, Findings, Progress, Reason, Report, Watch};
use crate::error::Result;
use crate::store::{Audit, LogHead, Store, StoreError, Totals};

/// Leaves are checked in chunks of this many, each a complete subtree.
const CHUNK_LEVEL: u8 = 12;
const CHUNK: u64 = 1 << CHUNK_LEVEL;

/// What a chunk adds to the tree.
enum Subtree {
    Complete(Sha),
    /// The last chunk, as single leaves.
    Leaves(Vec<Sha>),
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
    let audit = audits.pop().ok_or_else(|| StoreError::Other("no state was opened".into()))?;
    let head = audit.head()?;
    let (derived_through, listed_actions) = audit.derived()?;
    let mut findings = Findings::default();
    // A size that somebody made up must not keep anybody waiting: a little beyond the newest entry, nothing can be.
    let end = audit.newest()?.map_or(0, |newest| newest.saturating_add(1)).saturating_add(CHUNK);
    let within = LogHead { size: head.size.min(end), ..head.clone() };
    let parts = check_parts(audits, &within, derived_through, watch, &mut findings)?;

    let mut tree = Some(Edge::empty());
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
            tree = add_to_tree(tree, subtree, &*audit, &mut findings)?;
        }
    }
    let root = tree.map(|tree| tree.root());
    if let Some(root) = root.filter(|root| *root != head.root) {
        let message = "the stored root of the log is not the root of its entries";
        findings.add(Finding::new(Reason::LeafMismatch, "log", message).field("root", root, head.root));
    }
    check_totals(&*audit, &head, &counted, &mut findings)?;
    check_derived(&head, derived_through, listed_actions, actions, &mut findings);
    audit.heads_schema_and_documents(&mut |finding| findings.add(finding))?;

    redacted.truncate(MAX_REDACTED);
    let mut notes = Vec::from_iter(redaction::note(&redacted, redacted_total));
    let behind = head.size.saturating_sub(1).saturating_sub(u64::try_from(derived_through).unwrap_or(0));
    if behind > 0 {
        let newest = if behind == 1 { "entry".to_string() } else { format!("{behind} entries") };
        notes.push(format!("the search indexes do not cover the newest {newest} yet"));
    }
    notes.extend(times.note_of());
    // Without a tree there is nothing that a statement about it could be held against.
    let coverage = match root {
        Some(_) => Some(checkpoints::check(&*audit, &head, outside, &mut findings)?),
        None => None,
    };
    match &coverage {
        Some(coverage) => notes.extend(coverage.notes(head.size)),
        None => {
            notes.push("entries are missing, so checkpoints and heads seen outside were not compared".into())
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

/// Checks the entries in as many parts as there are cores, and what the database derives from them beside that.
fn check_parts(
    mut audits: Vec<Box<dyn Audit>>,
    head: &LogHead,
    derived_through: i64,
    watch: Watch<'_>,
    findings: &mut Findings,
) -> Result<Vec<Part>> {
    let [index, folds, structures] =
        [(); 3].map(|()| audits.pop().expect("one view for each, and one for each part"));
    let threads = audits.len() as u64;
    let chunks = head.size.div_ceil(CHUNK);
    let share = chunks.div_ceil(threads).max(1);
    let done = AtomicU64::new(0);
    let failed = |_| StoreError::Other("a verifying thread failed".into());
    std::thread::scope(|scope| {
        let index = scope.spawn(move || {
            let mut findings = Findings::default();
            index.search_index(&mut |finding| findings.add(finding))?;
            Ok::<_, StoreError>(findings)
        });
        let structures = scope.spawn(move || {
            let mut findings = Findings::default();
            structures.structures(&mut |finding| findings.add(finding))?;
            Ok::<_, StoreError>(findings)
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
        let parts = workers
            .into_iter()
            .map(|worker| worker.join().map_err(failed)?)
            .collect::<std::result::Result<_, StoreError>>()?;
        let _ = watch(Progress { done: head.size, total: head.size, what: "search index" });
        findings.append(index.join().map_err(failed)??);
        findings.append(structures.join().map_err(failed)??);
        findings.append(folds.join().map_err(failed)??);
        Ok(parts)
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
        if scanned.seq != expected {
            findings.add(missing(expected, scanned.seq));
        }
        expected = scanned.seq + 1;
        match checker.check(&scanned) {
            Ok((leaf, finding)) => {
                leaves.extend(leaf);
                finding.into_iter().for_each(|finding| findings.add(finding));
            }
            Err(error) => failed = Err(error),
        }
    })?;
    failed?;
    if expected != to {
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
    for (level, hashes) in (0u8..).zip(&levels).skip(1) {
        let first = from >> level;
        let mut expected = (first..).zip(hashes).peekable();
        audit.nodes(level, first, first + hashes.len() as u64, &mut |index, stored| {
            while let Some((_, hash)) = expected.next_if(|(next, _)| *next < index) {
                findings.add(node_differs(&Node { level, index: index - 1, hash: *hash }, None));
            }
            if let Some((_, hash)) = expected.next_if(|(next, _)| *next == index)
                && hash.0 != stored
            {
                let stored = stored.try_into().map_or("not a hash".to_string(), |hash| Sha(hash).to_string());
                findings.add(node_differs(&Node { level, index, hash: *hash }, Some(stored)));
            }
        })?;
        for (index, hash) in expected {
            findings.add(node_differs(&Node { level, index, hash: *hash }, None));
        }
    }
    Ok(if leaves.len() as u64 == CHUNK { Subtree::Complete(edge.root()) } else { Subtree::Leaves(leaves) })
}

fn node_differs(node: &Node, stored: Option<String>) -> Finding {
    let actual = stored.unwrap_or_else(|| "missing".to_string());
    let message = format!(
        "node {} of level {} of the log's tree should be {} and is {actual}",
        node.index, node.level, node.hash
    );
    Finding::new(Reason::LeafMismatch, "node", message)
        .at(node.index << node.level)
        .field("hash", node.hash, actual)
}

/// Adds a chunk to the tree and compares the nodes above it; none once a chunk is broken.
fn add_to_tree(
    tree: Option<Edge>,
    subtree: Subtree,
    audit: &dyn Audit,
    findings: &mut Findings,
) -> Result<Option<Edge>> {
    let Some(mut tree) = tree else { return Ok(None) };
    let mut above = Vec::new();
    match subtree {
        Subtree::Broken => return Ok(None),
        Subtree::Complete(root) => tree
            .push_subtree(CHUNK_LEVEL, root, &mut |node| above.push(node))
            .map_err(|error| StoreError::Other(error.to_string()))?,
        Subtree::Leaves(leaves) => leaves.into_iter().for_each(|leaf| tree.push(leaf, &mut |_| {})),
    }
    for node in above {
        let stored = audit.node(node.level, node.index)?;
        if stored != Some(node.hash) {
            findings.add(node_differs(&node, stored.map(|hash| hash.to_string())));
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
    ] {
        if actual != expected {
            let reason = if actual < expected { Reason::MissingRecord } else { Reason::LeafMismatch };
            let message =
                format!("the log accounts for {expected} rows of table {table}, which has {actual}");
            findings.add(Finding::new(reason, table, message).field("count", expected, actual));
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
        findings.add(Finding::new(Reason::IndexMismatch, "action", message).field("count", actions, listed));
    }
}
