//! Recomputing everything from what is stored.
//!
//! Nothing that is stored is believed: content is hashed again, links are made again, the bytes of each log entry are
//! derived from its row, and the tree is built again from their hashes.

mod against;
mod chain;
mod checkpoints;
mod context;
mod database;
mod fold;
mod record;
mod redaction;
mod time;
mod trust;
mod whole;
mod witnesses;

use std::collections::HashSet;
use std::ops::ControlFlow;

use cairn_core::Sha;
use serde::Serialize;

use crate::error::{Error, Result};
use crate::store::{ChainOf, Store, StoreError};

pub(crate) use crate::store::MAX_FINDINGS;
pub use crate::store::{Cause, Finding, Progress, Reason};

/// What to verify.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// Everything.
    All,
    /// The thoughts of one session.
    Session(String),
    /// The thoughts of one task.
    Task(String),
}

/// Is told how far long work has come, and says whether to go on.
pub type Watch<'w> = &'w (dyn Fn(Progress) -> ControlFlow<()> + Sync);

/// What verification found.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Thoughts checked.
    pub records: u64,
    /// Snapshots of roadmaps checked.
    pub contexts: u64,
    /// Events of sessions checked.
    pub events: u64,
    /// Stored briefs checked.
    pub briefs: u64,
    /// Records that were blanked by a redaction, in the order of the log: at most 100.
    pub redacted: Vec<RedactedRecord>,
    /// How many in all.
    pub redacted_total: u64,
    /// Length of what was checked: thoughts of a session or task, or entries of the whole log.
    pub chain_length: u64,
    /// Entries in the log.
    pub log_size: u64,
    /// The recomputed root of the log, if the whole log was checked and could be.
    pub root: Option<Sha>,
    /// What is wrong, in the order of the log: at most 100.
    pub findings: Vec<Finding>,
    /// How much is wrong in all.
    pub findings_total: u64,
    /// What checkpoints and heads seen outside say; of the whole log only.
    pub coverage: Option<Coverage>,
    /// What was not verified, in words.
    pub notes: Vec<String>,
}

impl Report {
    /// Whether nothing is wrong.
    pub fn valid(&self) -> bool {
        self.findings_total == 0
    }

    /// For a database that cannot be read to the end.
    fn damaged(what: &str) -> Report {
        let message = format!("the database is damaged and could not be read to the end: {what}");
        Report {
            records: 0,
            contexts: 0,
            events: 0,
            briefs: 0,
            redacted: Vec::new(),
            redacted_total: 0,
            chain_length: 0,
            log_size: 0,
            root: None,
            findings: vec![Finding::new(Reason::MissingRecord, "database", message)],
            findings_total: 1,
            coverage: None,
            notes: vec!["verification stopped there: everything else is unverified".to_string()],
        }
    }

    /// The verdict in one sentence.
    pub fn message(&self) -> String {
        let some = |count: u64, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
        let parts: Vec<String> = [
            (self.records, "thought"),
            (self.contexts, "snapshot"),
            (self.events, "event"),
            (self.briefs, "brief"),
        ]
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| some(*count, what))
        .collect();
        let checked = match &parts[..] {
            [most @ .., last] if !most.is_empty() => format!("{} and {last}", most.join(", ")),
            parts => parts.join(""),
        };
        match (&self.findings[..], self.findings_total) {
            ([], _) if checked.is_empty() => "nothing is recorded here, and nothing is wrong".to_string(),
            ([], _) => format!("{checked} recomputed, nothing was changed"),
            ([first, ..], 1) => first.message.clone(),
            ([first, ..], 2) => format!("{} (and 1 more finding)", first.message),
            ([first, ..], total) => format!("{} (and {} more findings)", first.message, total - 1),
        }
    }
}

/// How much damage is remembered to explain other findings, and how many of those wait to be explained.
const MOST_CAUSES: usize = 1 << 16;

/// Chains that a finding about missing entries names at most.
const MOST_NAMED: usize = 4;

/// Findings as they come in, from several threads at once.
#[derive(Default)]
pub(crate) struct Findings {
    list: Vec<Finding>,
    /// How many there are, those that are not in the list included.
    pub(crate) total: u64,
    causes: HashSet<Cause>,
    /// Those that other damage may explain.
    following: Vec<Finding>,
}

impl Findings {
    /// Adds one.
    pub(crate) fn add(&mut self, finding: Finding) {
        if !finding.follows_from.is_empty() {
            if self.following.len() < MOST_CAUSES {
                self.following.push(finding);
            }
            return;
        }
        if let Some(seq) = finding.seq {
            self.explain(Cause::Entry(seq));
        }
        self.explain(Cause::Table(finding.table));
        self.count(finding);
    }

    /// Notes damage, so that what follows from it is not reported.
    pub(crate) fn explain(&mut self, cause: Cause) {
        if self.causes.len() < MOST_CAUSES {
            self.causes.insert(cause);
        }
    }

    /// Whether there is one at this position of the log.
    fn is_at(&self, seq: u64) -> bool {
        self.causes.contains(&Cause::Entry(seq))
    }

    fn count(&mut self, finding: Finding) {
        self.total += 1;
        // A little more than is reported, since those of another thread may belong before these.
        if self.list.len() < 2 * MAX_FINDINGS {
            self.list.push(finding);
        }
    }

    fn append(&mut self, other: Findings) {
        self.total += other.total;
        self.list.extend(other.list);
        self.causes.extend(other.causes);
        self.following.extend(other.following);
    }

    fn is_explained(&self, cause: &Cause) -> bool {
        match cause {
            Cause::Text(seq) => self.causes.contains(&Cause::Entry(*seq)),
            Cause::Of(..) => self.causes.contains(cause) || self.causes.contains(&Cause::MissingEntries),
            other => self.causes.contains(other),
        }
    }

    /// Adds to the first finding about missing entries which chains are too short.
    fn name_missing(&mut self, short: &[String]) {
        let is_missing = |finding: &&mut Finding| {
            finding.reason == Reason::MissingRecord && finding.table == "entry" && finding.id.is_none()
        };
        if let ([_, ..], Some(finding)) = (short, self.list.iter_mut().find(is_missing)) {
            let named = short[..short.len().min(MOST_NAMED)].join("; ");
            let more = if short.len() > MOST_NAMED { "; …" } else { "" };
            finding.message.push_str(&format!(": {named}{more}"));
        }
    }

    /// In log order, those without a place in it last. What other damage explains is left out.
    pub(crate) fn sorted(mut self) -> (Vec<Finding>, u64) {
        // Texts that an index does not match have one cause, that index.
        let mut texts: Vec<(Finding, u64)> = Vec::new();
        let mut following = std::mem::take(&mut self.following);
        let mut seen = HashSet::new();
        following.retain(|finding| match finding.follows_from[..] {
            [Cause::Text(seq), ..] => seen.insert((finding.table, seq)),
            _ => true,
        });
        // Those that another of them may explain come after it.
        following
            .sort_by_key(|finding| finding.follows_from.iter().any(|cause| matches!(cause, Cause::Table(_))));
        let (mut left_out, mut short) = (None, Vec::new());
        for finding in following {
            match &finding.follows_from[..] {
                causes if causes.iter().any(|cause| self.is_explained(cause)) => {
                    if finding.reason == Reason::MissingRecord && finding.field.as_deref() == Some("length") {
                        short.push(finding.message.clone());
                    }
                    left_out.get_or_insert(finding);
                }
                [Cause::Text(_), ..] => {
                    match texts.iter_mut().find(|(first, _)| first.table == finding.table) {
                        Some((_, more)) => *more += 1,
                        None => texts.push((finding, 0)),
                    }
                }
                _ => {
                    self.explain(Cause::Table(finding.table));
                    self.count(finding);
                }
            }
        }
        for (mut finding, more) in texts {
            if more > 0 {
                finding.message.push_str(&format!(" ({more} more like this)"));
            }
            self.count(finding);
        }
        self.name_missing(&short);
        // Damage is never passed over in silence, whatever was taken to explain it.
        if self.total == 0
            && let Some(finding) = left_out
        {
            self.count(finding);
        }
        self.list.sort_by_key(|finding| finding.seq.unwrap_or(u64::MAX));
        self.list.truncate(MAX_FINDINGS);
        (self.list, self.total)
    }
}

pub use against::{CopyComparison, CopyDifference};
pub use checkpoints::{Coverage, Outside, OutsideHead, OutsideKey, THIS_MACHINE};
/// Checks entries one after the other.
pub(crate) use record::Checker;
pub use redaction::RedactedRecord;
pub use witnesses::Testimony;
pub(crate) use witnesses::judge;

/// Verifies the log entry of one brief; says what is wrong with it.
pub(crate) use chain::verify_brief as verify_brief_entry;
/// Verifies one snapshot.
pub(crate) use context::verify as verify_context;
/// Whose signatures count.
pub(crate) use trust::{Trust, source};
/// Names entries that are not there.
pub(crate) use whole::missing as missing_entries;

/// Verifies what `scope` names.
pub(crate) fn verify(
    store: &dyn Store,
    scope: &Scope,
    outside: &Outside,
    progress: &(dyn Fn(Progress) + Sync),
) -> Result<Report> {
    verify_while(store, scope, outside, &|far| {
        progress(far);
        ControlFlow::Continue(())
    })
}

/// Verifies what `scope` names, as long as `watch` says to go on.
pub(crate) fn verify_while(
    store: &dyn Store,
    scope: &Scope,
    outside: &Outside,
    watch: Watch<'_>,
) -> Result<Report> {
    let verified = match scope {
        Scope::All => whole::verify(store, outside, watch),
        Scope::Session(name) => chain::verify(store, ChainOf::Session(name), watch),
        Scope::Task(name) => chain::verify(store, ChainOf::Task(name), watch),
    };
    match verified {
        // A file too damaged to be read to the end is a verdict, not a failure to reach one.
        Err(Error::Store(StoreError::Damaged(what))) => Ok(Report::damaged(&what)),
        other => other,
    }
}
