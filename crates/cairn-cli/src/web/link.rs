//! Addresses of pages. Labels and ids may hold anything, so every part of a path is written with escapes.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// What stands in a path as it is. Not the dot: an id that ends in `.json` is no JSON twin.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'~');

pub(crate) fn part(id: &str) -> String {
    utf8_percent_encode(id, PLAIN).to_string()
}

pub(crate) fn session(id: &str) -> String {
    format!("/sessions/{}", part(id))
}

pub(crate) fn thought(id: &str) -> String {
    format!("/thoughts/{}", part(id))
}

pub(crate) fn action(id: &str) -> String {
    format!("/actions/{}", part(id))
}

pub(crate) fn brief(id: &str) -> String {
    format!("/briefs/{}", part(id))
}

pub(crate) fn roadmap(id: &str) -> String {
    format!("/roadmaps/{}", part(id))
}

pub(crate) fn context(id: u64) -> String {
    format!("/contexts/{id}")
}

/// Two snapshots of one roadmap, compared.
pub(crate) fn compare(from: u64, to: u64) -> String {
    format!("/compare?from={from}&to={to}")
}

pub(crate) fn turns(session: &str) -> String {
    format!("/sessions/{}/turns", part(session))
}

pub(crate) fn turn(session: &str, turn: u64) -> String {
    format!("/sessions/{}/turns/{turn}", part(session))
}

pub(crate) fn entry(seq: u64) -> String {
    format!("/log/{seq}")
}
