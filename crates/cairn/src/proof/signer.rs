//! Who signs checkpoints.

use cairn_core::Sha;
use cairn_core::entry::KeyStatement;
use cairn_core::log::Checkpoint;
use cairn_core::note::{Signature, SigningKey, VerifyingKey};

/// Gives the proof that the log of a checkpoint extends the log as it was at an older size.
pub type GrowthProof<'a> = dyn FnMut(u64) -> crate::Result<Vec<Sha>> + 'a;

/// Someone who signs checkpoints. Called by one thread at a time, never by the one that records.
pub trait Signer: Send + Sync {
    /// Signs a checkpoint; more than one signature while keys are being changed. An error is a sentence for people.
    fn sign(&self, checkpoint: &Checkpoint, growth: &mut GrowthProof<'_>) -> Result<Vec<Signature>, String>;

    /// The keys that its signatures for a log verify with: the present one first, then the one that will replace it.
    /// None before there is one.
    fn keys(&self, origin: &str) -> Result<Vec<VerifyingKey>, String>;

    /// The first key of a log that has none; made now, if need be.
    fn first_key(&self, origin: &str) -> Result<VerifyingKey, String>;

    /// Signs a change of the log's keys with each of its keys.
    fn sign_change(&self, statement: &KeyStatement<'_>) -> Result<Vec<Signature>, String>;
}

/// A key that somebody handed over: from the environment, say.
pub struct KeySigner(SigningKey);

impl KeySigner {
    /// Signs with this key. Its name must be the log's origin.
    pub fn new(key: SigningKey) -> KeySigner {
        KeySigner(key)
    }
}

impl Signer for KeySigner {
    fn sign(&self, checkpoint: &Checkpoint, _: &mut GrowthProof<'_>) -> Result<Vec<Signature>, String> {
        let name = self.0.verifying_key().name();
        if name != checkpoint.origin() {
            return Err(format!("the key is for the log `{name}`, and this is `{}`", checkpoint.origin()));
        }
        Ok(vec![self.0.sign(&checkpoint.body())])
    }

    fn keys(&self, _: &str) -> Result<Vec<VerifyingKey>, String> {
        Ok(vec![self.0.verifying_key().clone()])
    }

    fn first_key(&self, origin: &str) -> Result<VerifyingKey, String> {
        let key = self.0.verifying_key();
        match key.name() == origin {
            true => Ok(key.clone()),
            false => Err(format!("the key is for the log `{}`, and this is `{origin}`", key.name())),
        }
    }

    fn sign_change(&self, statement: &KeyStatement<'_>) -> Result<Vec<Signature>, String> {
        Ok(vec![self.0.sign(&statement.text())])
    }
}
