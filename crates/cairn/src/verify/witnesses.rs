//! The testimony of witnesses about a log. `verify`, `doctor` and `witness check` all ask here, so that they say the same.

use std::collections::BTreeSet;

use cairn_core::Sha;

use super::checkpoints::{Outside, OutsideHead, check_head};
use super::{Finding, Reason};
use crate::error::Result;
use crate::proof::SeenHead;
use crate::store::LogHead;

/// The testimony of one witness about a log.
#[derive(Debug, Clone)]
pub struct Testimony {
    /// Which witness.
    pub witness: String,
    /// The newest head it has seen that the log contains.
    pub newest: Option<OutsideHead>,
    /// Places of copies, known to this machine, whose heads it has seen and this log does not contain.
    pub copies: BTreeSet<String>,
    /// The heads that contradict the log, as findings.
    pub findings: Vec<Finding>,
}

/// Compares a log with the heads of each witness. A witness knows the name of a log and no place, so it may have seen
/// heads of several copies.
pub(crate) fn judge(
    head: &LogHead,
    outside: &Outside,
    root_at: &mut dyn FnMut(u64) -> Result<Sha>,
) -> Result<Vec<Testimony>> {
    let names: BTreeSet<&String> = outside.heads.iter().map(|seen| &seen.witness).collect();
    names.into_iter().map(|name| judge_one(name, head, outside, root_at)).collect()
}

fn judge_one(
    witness: &str,
    head: &LogHead,
    outside: &Outside,
    root_at: &mut dyn FnMut(u64) -> Result<Sha>,
) -> Result<Testimony> {
    let mut said = Testimony {
        witness: witness.to_string(),
        newest: None,
        copies: BTreeSet::new(),
        findings: Vec::new(),
    };
    let mut wrong: Vec<(&OutsideHead, Finding)> = Vec::new();
    for seen in outside.heads.iter().filter(|seen| seen.witness == witness) {
        match (check_head(head, seen, root_at)?, place_of_copy(outside, seen)) {
            (None, _) if said.newest.as_ref().is_none_or(|newest| newest.size <= seen.size) => {
                said.newest = Some(seen.clone());
            }
            (None, _) => {}
            (Some(_), Some(place)) => drop(said.copies.insert(place.to_string())),
            (Some(finding), None) => wrong.push((seen, finding)),
        }
    }
    let differs = wrong.iter().map(|(seen, _)| seen.size).filter(|size| *size <= head.size).min();
    said.findings = match (differs, &said.newest) {
        // It has seen both: this log, and another that has grown from the same past. Nothing here says that the other
        // is a copy, so this one may have been rewritten.
        (Some(differs), Some(newest)) if newest.size >= differs => {
            let message = format!(
                "{witness} has seen two logs of this name, which differ within the first {differs} entries: this one \
                 was rewritten, or it is one side of a fork"
            );
            vec![Finding::new(Reason::CheckpointMismatch, "log", message)]
        }
        _ => wrong.into_iter().map(|(_, finding)| finding).collect(),
    };
    Ok(said)
}

/// The place of the copy that a head is remembered of, if it was not seen in this place as well.
fn place_of_copy<'o>(outside: &'o Outside, seen: &OutsideHead) -> Option<&'o str> {
    let same = |head: &SeenHead| head.size == seen.size && head.root == seen.root;
    let mut places = outside.remembered.heads().filter(|(_, head)| same(head)).map(|(place, _)| place);
    let here = outside.here.as_deref();
    let first = places.next()?;
    (Some(first) != here && places.all(|place| Some(place) != here)).then_some(first)
}
