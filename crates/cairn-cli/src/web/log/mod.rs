//! The log itself: entries, checkpoints, and whether it is what was recorded.

mod about;
mod entry;
mod findings;
mod integrity;
mod overview;
mod stated;
#[cfg(test)]
mod tests;

use crate::serve::{Route, page};

pub(super) static PAGES: [Route; 3] = [
    page::<overview::Overview>(
        "/log",
        "the log: size, root, checkpoints, keys, witnesses, and its entries, newest first",
        &[("before", "a position in the log: only entries before it")],
        &[
            "origin",
            "size",
            "root",
            "uncovered",
            "checkpoints",
            "checkpoint_failure",
            "key_changes",
            "standing",
            "remembered",
            "copies",
            "witnesses",
            "entries",
            "next",
        ],
    ),
    page::<entry::Entry>(
        "/log/{seq}",
        "one entry of the log: its exact bytes, and the proof that it is in the log",
        &[],
        &["entry", "size", "proof", "keys", "unproven"],
    ),
    page::<integrity::IntegrityPage>(
        "/integrity",
        "what was verified, when, how far it reaches, what was found, and what was not verified",
        &[],
        &["badge", "size", "recorded_since", "running_since", "verified"],
    ),
];
