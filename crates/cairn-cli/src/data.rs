//! The data of the answers, as programs read it: the same from a tool and from a command with `--json`.

use cairn::core::tree::{Forest, nest};
use cairn::{
    Cairn, Damage, Filter, Listing, MATCH_END, MATCH_START, PageEnd, Reason, Report, SearchHit,
    SearchResults, Summary, Thought,
};
use serde::Serialize;

/// Writes a page of a listing as JSON while it is read, and returns the damaged records in it.
pub(crate) fn write_page(
    cairn: &Cairn,
    filter: &Filter,
    out: &mut Vec<u8>,
) -> cairn::Result<serde_json::Result<Vec<Damage>>> {
    out.extend_from_slice(br#"{"records":["#);
    let (mut first, mut written) = (true, Ok(()));
    let PageEnd { damaged, next_cursor } = cairn.list_each(filter, &mut |thought| {
        if written.is_ok() {
            if !std::mem::take(&mut first) {
                out.push(b',');
            }
            written = serde_json::to_writer(&mut *out, &thought);
        }
    })?;
    let end = |out: &mut Vec<u8>| {
        out.push(b']');
        if !damaged.is_empty() {
            out.extend_from_slice(br#","damaged":"#);
            serde_json::to_writer(&mut *out, &damaged)?;
        }
        out.extend_from_slice(br#","next_cursor":"#);
        serde_json::to_writer(&mut *out, &next_cursor)?;
        out.push(b'}');
        Ok(())
    };
    Ok(written.and_then(|()| end(out)).map(|()| damaged))
}

/// The thoughts of a session, nested or in a row.
#[derive(Serialize)]
pub(crate) struct Tree<T> {
    session_id: String,
    count: usize,
    #[serde(flatten)]
    thoughts: T,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    damaged: Vec<Damage>,
}

/// Thoughts that are not nested.
#[derive(Serialize)]
pub(crate) struct Flat {
    tree: Vec<Summary>,
}

impl Tree<Forest> {
    pub(crate) fn nested(session_id: String, listing: Listing<Summary>) -> Tree<Forest> {
        let Listing { records, damaged } = listing;
        Tree { session_id, count: records.len(), thoughts: nest(records), damaged }
    }
}

impl Tree<Flat> {
    pub(crate) fn flat(session_id: String, listing: Listing<Summary>) -> Tree<Flat> {
        let Listing { records, damaged } = listing;
        Tree { session_id, count: records.len(), thoughts: Flat { tree: records }, damaged }
    }
}

/// The paths that led to an action.
#[derive(Serialize)]
pub(crate) struct Trails {
    action_id: String,
    has_reasoning: bool,
    trail_count: usize,
    trails: Vec<Vec<Summary>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    damaged: Vec<Damage>,
}

impl Trails {
    pub(crate) fn new(action_id: String, listing: Listing<Vec<Summary>>) -> Trails {
        let Listing { records: trails, damaged } = listing;
        Trails { action_id, has_reasoning: !trails.is_empty(), trail_count: trails.len(), trails, damaged }
    }
}

/// The path to a thought.
#[derive(Serialize)]
pub(crate) struct Path {
    path: Vec<Summary>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    damaged: Vec<Damage>,
}

impl From<Listing<Summary>> for Path {
    fn from(listing: Listing<Summary>) -> Path {
        Path { path: listing.records, damaged: listing.damaged }
    }
}

/// What a search found.
#[derive(Serialize)]
pub(crate) struct Found {
    count: usize,
    results: Vec<Hit>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    damaged: Vec<Damage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ranked_newest: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

#[derive(Serialize)]
struct Hit {
    #[serde(flatten)]
    record: Thought,
    rank: f64,
    snippet: String,
}

impl From<SearchHit> for Hit {
    fn from(hit: SearchHit) -> Hit {
        let snippet = hit.snippet.replace([MATCH_START, MATCH_END], "**");
        Hit { record: hit.thought, rank: hit.rank, snippet }
    }
}

impl From<SearchResults> for Found {
    fn from(found: SearchResults) -> Found {
        let SearchResults { results, damaged, ranked_newest, not_covered: behind } = found;
        let results: Vec<Hit> = results.into_iter().map(Hit::from).collect();
        let note = match behind {
            0 => ranked_newest.map(common_words),
            entries => Some(not_covered(entries)),
        };
        Found { count: results.len(), results, damaged, ranked_newest, note }
    }
}

/// Says that a search on a read-only database does not cover the newest entries.
pub(crate) fn not_covered(entries: u64) -> String {
    let newest = if entries == 1 { "entry is" } else { "entries are" };
    format!(
        "the search index cannot be brought up to date here: the newest {entries} {newest} not searched; list them instead"
    )
}

/// What to say of a search that ranked only some of its matches.
fn common_words(newest: u64) -> String {
    format!(
        "these words are very common: only the newest {newest} matches were ranked; add a rarer word to reach older \
         ones"
    )
}

/// What verification of the whole log found.
#[derive(Serialize)]
pub(crate) struct LogVerdict<'a> {
    valid: bool,
    message: String,
    log_size: u64,
    root: Option<cairn::Sha>,
    coverage: Option<&'a cairn::Coverage>,
    findings_total: u64,
    findings: &'a [cairn::Finding],
    notes: &'a [String],
}

impl<'a> LogVerdict<'a> {
    pub(crate) fn of(report: &'a Report) -> LogVerdict<'a> {
        LogVerdict {
            valid: report.valid(),
            message: report.message(),
            log_size: report.log_size,
            root: report.root,
            coverage: report.coverage.as_ref(),
            findings_total: report.findings_total,
            findings: &report.findings,
            notes: &report.notes,
        }
    }
}

/// What verification found, the first finding on top.
#[derive(Serialize)]
pub(crate) struct Verdict<'a> {
    valid: bool,
    records: u64,
    chain_length: u64,
    broken_at: Option<&'a str>,
    broken_at_step: Option<u64>,
    reason: Option<Reason>,
    expected: Option<&'a str>,
    actual: Option<&'a str>,
    message: String,
    findings_total: u64,
    /// What was not verified, in words.
    notes: &'a [String],
}

impl<'a> Verdict<'a> {
    pub(crate) fn of(report: &'a Report) -> Verdict<'a> {
        let first = report.findings.first();
        Verdict {
            valid: report.valid(),
            records: report.records,
            chain_length: report.chain_length,
            broken_at: first.and_then(|finding| finding.id.as_deref()),
            broken_at_step: first.and_then(|finding| finding.step_index),
            reason: first.map(|finding| finding.reason),
            expected: first.and_then(|finding| finding.expected.as_deref()),
            actual: first.and_then(|finding| finding.actual.as_deref()),
            message: report.message(),
            findings_total: report.findings_total,
            notes: &report.notes,
        }
    }
}
