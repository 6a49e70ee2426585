//! Signing a change of the log's keys, so that nobody else can bring a key in or end one.

use cairn_core::entry::{KeyEntry, KeyOp, KeyStatement};
use cairn_core::log::Keyring;
use cairn_core::note::{Signature, VerifyingKey};

use super::keys::KeyChange;
use super::signer::Signer;
use crate::error::{Error, Result};
use crate::store::StoreError;

/// The word for a change of keys.
pub enum Endorsement {
    /// It is the first key of the log, which needs none.
    First,
    /// Every earlier key has ended, so that none can sign it: people learn of it from outside.
    Alone,
    /// A key signed it.
    Signed(Signature),
}

/// Has a change signed. `changes` are those of the log so far.
pub fn endorse(
    change: &KeyChange,
    origin: &str,
    signer: Option<&dyn Signer>,
    changes: &[KeyEntry<'_>],
) -> Result<Endorsement> {
    let Some(first) = changes.iter().find(|change| change.op == KeyOp::Add) else {
        return match change.op {
            KeyOp::Add => Ok(Endorsement::First),
            KeyOp::Retire | KeyOp::Revoke => Err(Error::Conflict("the log has no key yet".to_string())),
        };
    };
    let ours = signer.map(|signer| signer.keys(origin)).transpose().map_err(failed)?.unwrap_or_default();
    let ring = Keyring::follow(origin, first.vkey.parse().into_iter().chain(ours.iter().cloned()), changes);
    // The keys that count now, but for the one that changes.
    let present = ring.keys().iter().filter(|known| known.limit == u64::MAX && known.key != change.key);
    let present: Vec<&VerifyingKey> = present.map(|known| &known.key).collect();
    let in_log = |key: &VerifyingKey| {
        changes.iter().any(|change| change.op == KeyOp::Add && change.vkey == key.to_string())
    };
    // A key that replaces a revoked one ends that one before it stands in the log itself.
    let may_sign = |key: &&&VerifyingKey| ours.contains(key) && (change.op != KeyOp::Add || in_log(key));
    let (Some(by), Some(signer)) = (present.iter().find(may_sign), signer) else {
        if change.op == KeyOp::Add && present.is_empty() && ours.contains(&change.key) {
            return Ok(Endorsement::Alone);
        }
        let ids: Vec<String> = present.iter().map(|key| key.id().to_string()).collect();
        let by = if ids.is_empty() { "another key".to_string() } else { format!("key {}", ids.join(" or ")) };
        return Err(Error::Forbidden(format!(
            "a change of the log's keys has to be signed by {by}, and that key does not sign here"
        )));
    };
    let (vkey, last_trusted_size) = (change.key.to_string(), change.last_trusted_size);
    let statement = KeyStatement { origin, op: change.op, vkey: &vkey, last_trusted_size };
    let signatures = signer.sign_change(&statement).map_err(failed)?;
    let signature = signatures.into_iter().find(|signature| statement.is_signed_by(by, signature));
    signature
        .map(Endorsement::Signed)
        .ok_or_else(|| failed("the signer did not sign with its own key".into()))
}

fn failed(why: String) -> Error {
    StoreError::Other(format!("the change of keys was not signed: {why}")).into()
}
