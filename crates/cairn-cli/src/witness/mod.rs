//! Witnesses: places outside that keep the heads of a log, so that a log that was cut short, rewritten or put back
//! from an old copy is noticed.
//!
//! Which witnesses a log has, and what they have seen, stands in the client's state folder, never in the database:
//! whoever can change the one must not change the other with it. A witness that cannot be reached delays nothing for
//! longer than [`PATIENCE`], and fails nothing.

mod check;
mod command;
mod config;
mod der;
mod file;
mod files;
mod git;
mod http;
mod post;
mod publish;
mod publisher;
mod read;
mod run;
mod stamp;
mod status;
mod timestamp;
mod trailer;

use std::time::{Duration, Instant};

use cairn::Sha;
use cairn::core::log::CheckpointNote;
use serde::Serialize;

pub(crate) use check::{Checked, Verdict, check};
pub(crate) use config::{Config, Place, Witness};
pub(crate) use file::{absolute, same_disk, unsuitable};
pub(crate) use files::Files;
pub(crate) use git::{bad_ref, default_ref, repository};
pub(crate) use http::with_cosignatures;
pub(crate) use post::bad_url;
pub(crate) use publish::{Published, Urgency, publish, publish_newest};
pub(crate) use publisher::Publisher;
pub(crate) use read::seen_by_witnesses;
pub(crate) use status::{Status, age};
pub(crate) use trailer::trailer;

/// How long witnesses are waited for when nobody asked for them: all of them together.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);
/// How long they are waited for by somebody who did ask.
pub(crate) const PATIENCE_WHEN_ASKED: Duration = Duration::from_secs(10);
/// So many heads of one witness are compared; of the older ones every sixteenth.
const NEWEST: usize = 2048;
const OF_OLDER: usize = 16;

/// A head of the log, as a witness has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Head {
    /// Entries in the log.
    pub(crate) size: u64,
    /// Root of the tree over them.
    pub(crate) root: Sha,
    /// When it was seen, as text.
    pub(crate) at: String,
}

impl Head {
    /// The head that a note states, if it is of this log.
    fn of_note(note: &CheckpointNote, origin: &str, at: impl Into<String>) -> Option<Head> {
        let checkpoint = note.checkpoint();
        (checkpoint.origin() == origin).then(|| Head {
            size: checkpoint.size(),
            root: checkpoint.root(),
            at: at.into(),
        })
    }
}

/// Why a witness has not seen a head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Failure {
    /// It could not be asked, or did not answer properly.
    Outage(String),
    /// It has seen another past of this log.
    Contradiction(String),
}

impl Failure {
    /// In words.
    pub(crate) fn words(&self) -> &str {
        match self {
            Failure::Outage(words) | Failure::Contradiction(words) => words,
        }
    }
}

impl From<String> for Failure {
    fn from(words: String) -> Failure {
        Failure::Outage(words)
    }
}

/// Until when something is waited for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline(Instant);

impl Deadline {
    fn after(patience: Duration) -> Deadline {
        Deadline(Instant::now() + patience)
    }

    /// What is left of it; a moment at least, since no time at all means "for ever" in some places.
    fn left(self) -> Duration {
        self.0.saturating_duration_since(Instant::now()).max(Duration::from_millis(1))
    }

    fn is_over(self) -> bool {
        Instant::now() >= self.0
    }
}

/// The time, in UTC with milliseconds.
fn now() -> String {
    format!("{:.3}", crate::clock::now())
}

/// Does something beside everything else. Where no thread is to be had, it is not done, and whoever waits for it hears
/// nothing: that is an outage like any other.
fn in_background(work: impl FnOnce() + Send + 'static) {
    let _ = std::thread::Builder::new().spawn(work);
}

/// Oldest first, each once, and of very many only some.
fn thinned(mut heads: Vec<Head>) -> Vec<Head> {
    heads.sort_by(|a, b| a.size.cmp(&b.size).then_with(|| a.root.0.cmp(&b.root.0)));
    heads.dedup_by(|later, first| later.size == first.size && later.root == first.root);
    let older = heads.len().saturating_sub(NEWEST);
    let kept = heads.into_iter().enumerate().filter(|(index, _)| *index >= older || index % OF_OLDER == 0);
    kept.map(|(_, head)| head).collect()
}
