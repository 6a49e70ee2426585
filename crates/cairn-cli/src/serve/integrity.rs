//! Whether what is stored is what was recorded: verified when the server starts, every now and then, and on demand.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use cairn::{Cairn, Outside, Report, Scope, THIS_MACHINE, Timestamp};
use serde::Serialize;
use tokio::sync::Notify;

use super::Site;
use crate::error::CliError;
use crate::term::count;
use crate::witness;

/// Between two verifications, if something was recorded in between.
const AFTER_GROWTH: Duration = Duration::from_secs(60);
/// Between two verifications in any case: what is stored may have been changed without anything recorded.
const AT_LEAST: Duration = Duration::from_secs(600);
/// A verification may take this part of the time at most.
const SHARE: u32 = 20;

/// What is known about the whole log.
#[derive(Default)]
pub(crate) struct Integrity {
    newest: Mutex<Newest>,
    asked: Notify,
}

#[derive(Default, Clone)]
pub(crate) struct Newest {
    /// The last one that came to an end.
    pub(crate) checked: Option<Arc<Checked>>,
    /// Since when one is running.
    pub(crate) running: Option<Timestamp>,
}

/// A verification that came to an end.
pub(crate) struct Checked {
    /// When it began: what was stored later, it did not see.
    pub(crate) at: Timestamp,
    pub(crate) took: Duration,
    /// What it found, or why it could not.
    pub(crate) outcome: Result<Report, String>,
}

impl Integrity {
    pub(crate) fn newest(&self) -> Newest {
        self.newest.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone()
    }

    /// Has the log verified now, or right after the verification that is running.
    pub(crate) fn ask(&self) {
        self.asked.notify_one();
    }

    fn set(&self, change: impl FnOnce(&mut Newest)) {
        change(&mut self.newest.lock().unwrap_or_else(|poisoned| poisoned.into_inner()));
    }
}

/// Verifies the whole log, against what is remembered of it and what its witnesses have seen.
fn verify(cairn: &Cairn) -> Result<Report, String> {
    let (heads, remarks) = witness::seen_by_witnesses(cairn);
    let outside = Outside { heads, ..Outside::default() };
    let mut report = cairn.verify_against(&Scope::All, outside, &|_| {});
    if let Ok(report) = &mut report {
        report.notes.extend(remarks);
    }
    report.map_err(|error| CliError::from(error).sentence())
}

#[cfg(test)]
impl Integrity {
    /// Verifies once, now, and takes the report as a test would have it.
    pub(crate) fn verify_now(&self, cairn: &Cairn, change: impl FnOnce(&mut Report)) {
        let (at, began) = (cairn.now(), Instant::now());
        let mut outcome = verify(cairn);
        if let Ok(report) = &mut outcome {
            change(report);
        }
        let checked = Arc::new(Checked { at, took: began.elapsed(), outcome });
        self.set(|newest| *newest = Newest { checked: Some(checked), running: None });
    }
}

/// Verifies, again and again.
pub(super) async fn watch(site: Arc<Site>) {
    loop {
        let at = site.cairn.now();
        site.integrity.set(|newest| newest.running = Some(at.clone()));
        let began = Instant::now();
        let cairn = site.cairn.clone();
        let verifying = tokio::task::spawn_blocking(move || verify(&cairn));
        let outcome = verifying.await.unwrap_or_else(|_| Err("internal error".to_string()));
        let took = began.elapsed();
        let size = outcome.as_ref().map_or(0, |report| report.log_size);
        let checked = Arc::new(Checked { at, took, outcome });
        site.integrity.set(|newest| *newest = Newest { checked: Some(checked), running: None });
        site.events.verified();
        if !wait(&site, began, took * SHARE, size).await {
            return;
        }
    }
}

/// Waits until it is time again; false if the server stops.
async fn wait(site: &Arc<Site>, began: Instant, rest: Duration, size: u64) -> bool {
    loop {
        tokio::select! {
            () = site.stopping.cancelled() => return false,
            () = site.integrity.asked.notified() => return true,
            () = tokio::time::sleep(Duration::from_secs(5)) => {}
        }
        let waited = began.elapsed();
        if waited >= AT_LEAST.max(rest) {
            return true;
        }
        if waited < AFTER_GROWTH.max(rest) {
            continue;
        }
        let cairn = site.cairn.clone();
        let now = tokio::task::spawn_blocking(move || cairn.log_size()).await;
        // Of a log that can no longer be read, it must not be said any longer that it holds.
        if !matches!(now, Ok(Ok(now)) if now == size) {
            return true;
        }
    }
}

/// How the log stands, in a form that fits on every page.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Badge {
    pub(crate) state: State,
    /// A few words.
    pub(crate) words: String,
    /// What was verified, up to where, and what was not.
    pub(crate) explained: String,
    pub(crate) verified_at: Option<Timestamp>,
    /// Entries that were verified.
    pub(crate) entries: Option<u64>,
    /// Whether a verification is running.
    pub(crate) running: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    /// Nothing is known yet.
    Unknown,
    /// What was verified holds.
    Verified,
    /// Something is not as it was recorded.
    Changed,
    /// It could not be verified.
    Failed,
}

impl Badge {
    pub(crate) fn class(&self) -> &'static str {
        match self.state {
            State::Unknown => "unknown",
            State::Verified => "verified",
            State::Changed => "changed",
            State::Failed => "failed",
        }
    }

    pub(crate) fn sign(&self) -> &'static str {
        match self.state {
            State::Unknown => "…",
            State::Verified => "✓",
            State::Changed => "✗",
            State::Failed => "!",
        }
    }
}

impl Integrity {
    pub(crate) fn badge(&self) -> Badge {
        let newest = self.newest();
        let running = newest.running.is_some();
        let Some(checked) = newest.checked else {
            return Badge {
                state: State::Unknown,
                words: "Verifying".to_string(),
                explained: "The log is being verified for the first time since the server started."
                    .to_string(),
                verified_at: None,
                entries: None,
                running,
            };
        };
        let at = checked.at.clone();
        let (state, words, explained) = match &checked.outcome {
            Ok(report) if report.valid() => {
                let words = format!("Verified {}", count(report.log_size, "entry"));
                (State::Verified, words, format!("Verified at {at}: {}. {}", report.message(), reach(report)))
            }
            Ok(report) => {
                let words = format!("Changed: {}", count(report.findings_total, "finding"));
                (State::Changed, words, format!("Verified at {at}: {}", report.message()))
            }
            Err(why) => (State::Failed, "Not verifiable".to_string(), format!("Tried at {at}: {why}")),
        };
        let entries = checked.outcome.as_ref().ok().map(|report| report.log_size);
        Badge { state, words, explained, verified_at: Some(at), entries, running }
    }
}

/// How far signatures and witnesses reach, and what was not verified. Entries are counted: the first is entry 0, so the
/// number of one would say one too many.
fn reach(report: &Report) -> String {
    let mut sentences = Vec::new();
    if let Some(coverage) = &report.coverage {
        sentences.push(match &coverage.signed_by {
            Some(by) => format!("Signed by {by}: the first {}.", count(coverage.signed, "entry")),
            None => "Not signed.".to_string(),
        });
        sentences.push(match &coverage.outside {
            Some(seen) if seen.witness == THIS_MACHINE => format!(
                "Remembered on this machine: the first {}; no outside witness yet.",
                count(seen.size, "entry")
            ),
            Some(seen) => {
                format!("Seen outside by {}: the first {}.", seen.witness, count(seen.size, "entry"))
            }
            None => "No head is remembered outside the database.".to_string(),
        });
        sentences.extend(coverage.copies.iter().map(|copy| format!("Note: {}.", copy.words())));
    }
    sentences.extend(report.notes.iter().map(|note| format!("Not verified: {note}.")));
    sentences.join(" ")
}
