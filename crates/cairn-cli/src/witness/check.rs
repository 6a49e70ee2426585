//! Asking every witness now, and holding what they say against the log.

use cairn::core::log::verify_consistency;
use cairn::{Cairn, Grown, SeenCopy};

use super::config::{Config, Place, Witness};
use super::files::Files;
use super::publish::{Published, Urgency, publish_to};
use super::read::{ask, outside_head};
use super::{Deadline, Failure, Head, PATIENCE_WHEN_ASKED, Status, timestamp};
use crate::error::CliError;
use crate::state::StateFolder;

/// What was found out about one witness.
pub(crate) struct Checked {
    pub(crate) witness: Witness,
    /// The newest head it has seen.
    pub(crate) newest: Option<Head>,
    /// How many of its heads were compared.
    pub(crate) heads: usize,
    pub(crate) verdict: Verdict,
    /// What else is to be said.
    pub(crate) remarks: Vec<String>,
}

/// How the log stands to what a witness has seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It extends every head.
    Agrees,
    /// It has seen nothing yet.
    Nothing,
    /// It could not be asked.
    NotAsked(String),
    /// It has also seen a copy that this machine knows, and that the log does not extend: `verify` calls that no finding.
    Copy(String),
    /// It has seen another past.
    Contradicts(String),
}

impl Verdict {
    /// In one word for programs.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Verdict::Agrees => "agrees",
            Verdict::Nothing => "nothing",
            Verdict::NotAsked(_) => "not_asked",
            Verdict::Copy(_) => "copy",
            Verdict::Contradicts(_) => "contradicts",
        }
    }

    /// What is to be said about it.
    pub(crate) fn words(&self) -> Option<&str> {
        match self {
            Verdict::Agrees | Verdict::Nothing => None,
            Verdict::NotAsked(words) | Verdict::Copy(words) | Verdict::Contradicts(words) => Some(words),
        }
    }
}

/// Asks every witness of a log. HTTP witnesses are asked for a signature, since they answer nothing else.
pub(crate) fn check(cairn: &Cairn, state: &StateFolder) -> Result<Vec<Checked>, CliError> {
    let origin = cairn.status()?.origin;
    let config = Config::load(state, &origin).map_err(CliError::failed)?;
    let files = Files::new(state, &origin);
    let online = |witness: &Witness| matches!(witness.place, Place::Http { .. });
    let asked_online = match cairn.newest_checkpoint()? {
        Some(stated) => {
            let http = config.witnesses.iter().filter(|witness| online(witness)).cloned().collect();
            publish_to(cairn, state, &stated, http, Urgency::Now).map_err(CliError::failed)?
        }
        None => Vec::new(),
    };
    let deadline = Deadline::after(PATIENCE_WHEN_ASKED);
    let mut all = Vec::new();
    for (witness, answer) in ask(config.witnesses, state, &origin, deadline) {
        let mut checked =
            Checked { witness, newest: None, heads: 0, verdict: Verdict::Nothing, remarks: Vec::new() };
        match answer {
            Ok(heads) => compare(cairn, heads, &mut checked)?,
            Err(error) => checked.verdict = Verdict::NotAsked(error),
        }
        let online = asked_online.iter().find(|published| published.witness.name == checked.witness.name);
        if let Some(published) = online {
            online_answer(published, &mut checked);
        }
        if let Place::Timestamp { ca, .. } = checked.witness.place.clone() {
            who_stamped(&files, &mut checked, ca.as_deref(), deadline);
        }
        lost(&files, &mut checked);
        all.push(checked);
    }
    Ok(all)
}

/// What an HTTP witness answered outweighs what was kept of earlier answers, if that agrees.
fn online_answer(published: &Published, checked: &mut Checked) {
    if matches!(checked.verdict, Verdict::Contradicts(_) | Verdict::Copy(_)) {
        return;
    }
    match &published.outcome {
        Ok(_) => {}
        Err(Failure::Contradiction(words)) => checked.verdict = Verdict::Contradicts(words.clone()),
        Err(Failure::Outage(words)) => checked.verdict = Verdict::NotAsked(words.clone()),
    }
}

/// Who made the newest stamp is for openssl to say.
fn who_stamped(files: &Files, checked: &mut Checked, ca: Option<&std::path::Path>, deadline: Deadline) {
    let Some(newest) = &checked.newest else { return };
    let name = checked.witness.name.clone();
    let by_hand = timestamp::openssl_command(files, &name, newest.size, ca);
    let verified = ca.and_then(|ca| timestamp::verify(files, &name, newest.size, ca, deadline));
    match verified {
        Some(Ok(())) => checked.remarks.push("openssl verified the newest stamp".into()),
        Some(Err(error)) => {
            checked.verdict =
                Verdict::Contradicts(format!("openssl does not accept the newest stamp: {error}"));
        }
        None => checked.remarks.push(format!("who made the stamp was not verified; this does it: {by_hand}")),
    }
}

/// A witness that no longer has what it once took is no contradiction, and no witness either.
fn lost(files: &Files, checked: &mut Checked) {
    let took = Status::load(files, &checked.witness.name).size;
    let has = checked.newest.as_ref().map(|head| head.size);
    if let (Some(took), Verdict::Agrees | Verdict::Nothing) = (took, &checked.verdict)
        && has.is_none_or(|has| has < took)
    {
        checked.remarks.push(format!("it took a head of {took} entries and does not have it any more"));
    }
}

/// Compares the heads of one witness with the log, as `verify` does.
fn compare(cairn: &Cairn, heads: Vec<Head>, checked: &mut Checked) -> Result<(), CliError> {
    checked.heads = heads.len();
    checked.newest = heads.last().cloned();
    let Some(newest) = &checked.newest else { return Ok(()) };
    checked.verdict = Verdict::Agrees;
    if let Some(stated) = cairn.newest_checkpoint()? {
        let Grown { old_size, old_root, proof, checkpoint: now, .. } =
            cairn.prove_growth(newest.size.min(stated.size))?;
        if !verify_consistency(old_size, now.size, &old_root, &now.root, &proof) {
            let words = "the log does not match its own checkpoint: run `cairn verify`";
            checked.verdict = Verdict::Contradicts(words.to_string());
            return Ok(());
        }
    }
    let heads = heads.into_iter().map(|head| outside_head(&checked.witness, head)).collect();
    for said in cairn.testimonies(heads)? {
        if let Some(finding) = said.findings.first() {
            checked.verdict = Verdict::Contradicts(finding.message.clone());
        } else if let Some(place) = said.copies.first() {
            let known = cairn.copies().iter().find(|copy| copy.place == *place).map(SeenCopy::words);
            let words = known.unwrap_or_else(|| format!("it has seen a copy of this log, `{place}`"));
            checked.verdict = Verdict::Copy(words);
        }
    }
    Ok(())
}
