//! Witnesses: C2SP tlog-cosignature v1, Ed25519 signatures over a checkpoint and the time it was seen.

use std::fmt;
use std::str::FromStr;

use super::key::{COSIGNATURE, KeyError, KeyId, NamedKey};
use super::signature::Signature;

/// The public key of a witness. Its text is a `vkey` of type 4.
#[derive(Clone, PartialEq, Eq)]
pub struct WitnessKey(NamedKey);

/// What the signature lines of a checkpoint say about one witness.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cosigned {
    /// The witness saw this checkpoint, and none that contradicts it, at this time (in seconds since 1970). With
    /// several lines of it, the latest.
    At(u64),
    /// There is no line of this key.
    NotSigned,
    /// A line with the name and id of this key was not made by it over this checkpoint.
    Forged,
}

impl WitnessKey {
    /// Whose key it is.
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// Tells it apart from other keys of that name.
    pub fn id(&self) -> KeyId {
        self.0.id()
    }

    /// Looks for this witness among `signatures` over the checkpoint with this `body`.
    pub fn verdict(&self, body: &str, signatures: &[Signature]) -> Cosigned {
        let mut verdict = Cosigned::NotSigned;
        for signature in signatures.iter().filter(|line| line.name() == self.name() && line.id() == self.id())
        {
            verdict = match (self.time(body, signature.bytes()), verdict) {
                (None, _) => return Cosigned::Forged,
                (Some(time), Cosigned::At(other)) => Cosigned::At(time.max(other)),
                (Some(time), _) => Cosigned::At(time),
            };
        }
        verdict
    }

    /// Returns the time that these bytes prove, if they are this witness's over `body`.
    fn time(&self, body: &str, bytes: &[u8]) -> Option<u64> {
        let (time, signature) = bytes.split_first_chunk::<8>()?;
        let time = u64::from_be_bytes(*time);
        let message = format!("cosignature/v1\ntime {time}\n{body}");
        (time <= i64::MAX as u64 && self.0.accepts(message.as_bytes(), signature)).then_some(time)
    }
}

impl FromStr for WitnessKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<WitnessKey, KeyError> {
        NamedKey::parse(text, COSIGNATURE).map(WitnessKey)
    }
}

impl fmt::Display for WitnessKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for WitnessKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use ed25519_dalek::Signer;

    use super::*;

    const BODY: &str =
        "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n";

    /// A witness that says what it is told to.
    struct Witness(ed25519_dalek::SigningKey);

    impl Witness {
        fn key(&self) -> WitnessKey {
            WitnessKey(NamedKey::new("witness.example/w1", COSIGNATURE, self.0.verifying_key()).unwrap())
        }

        fn cosign(&self, body: &str, time: u64) -> Signature {
            let message = format!("cosignature/v1\ntime {time}\n{body}");
            let bytes = [time.to_be_bytes().as_slice(), &self.0.sign(message.as_bytes()).to_bytes()].concat();
            Signature::new(self.key().name(), self.key().id(), bytes)
        }
    }

    fn witness() -> Witness {
        Witness(ed25519_dalek::SigningKey::from_bytes(&[9; 32]))
    }

    #[test]
    fn a_witness_key_is_read_and_written() {
        let key = witness().key();
        assert_eq!(key.to_string().parse(), Ok(key.clone()));
        assert_eq!(
            key.to_string().parse::<super::super::VerifyingKey>(),
            Err(KeyError::Type { expected: 1, found: 4 })
        );
        let signs = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
        assert_eq!(signs.parse::<WitnessKey>(), Err(KeyError::Type { expected: 4, found: 1 }));
    }

    #[test]
    fn a_cosignature_proves_body_and_time() {
        let (witness, key) = (witness(), witness().key());
        assert_eq!(key.verdict(BODY, &[]), Cosigned::NotSigned);
        for time in [0, 1_679_315_147, i64::MAX as u64] {
            let line: Signature = witness.cosign(BODY, time).to_string().parse().unwrap();
            assert_eq!(key.verdict(BODY, std::slice::from_ref(&line)), Cosigned::At(time));
            assert_eq!(key.verdict(&BODY.replace("163", "164"), &[line]), Cosigned::Forged);
        }
        let late = witness.cosign(BODY, 1 << 63);
        assert_eq!(key.verdict(BODY, &[late]), Cosigned::Forged);
        let lines = [witness.cosign(BODY, 7), witness.cosign(BODY, 9), witness.cosign(BODY, 8)];
        assert_eq!(key.verdict(BODY, &lines), Cosigned::At(9));
    }

    #[test]
    fn every_changed_byte_is_noticed_and_other_keys_are_ignored() {
        let (witness, key) = (witness(), witness().key());
        let good = witness.cosign(BODY, 1_679_315_147);
        for place in 0..good.bytes().len() {
            let mut bytes = good.bytes().to_vec();
            bytes[place] ^= 1;
            let changed = Signature::new(good.name(), good.id(), bytes);
            assert_eq!(key.verdict(BODY, &[good.clone(), changed]), Cosigned::Forged);
        }
        for length in [0, 7, 8, 64, 71, 73] {
            let bytes = [good.bytes(), &[0]].concat()[..length].to_vec();
            let changed = Signature::new(good.name(), good.id(), bytes);
            assert_eq!(key.verdict(BODY, &[changed]), Cosigned::Forged);
        }
        let other_id = Signature::new(good.name(), KeyId([0; 4]), good.bytes().to_vec());
        let other_name = Signature::new("other", good.id(), good.bytes().to_vec());
        assert_eq!(key.verdict(BODY, &[other_id, other_name]), Cosigned::NotSigned);
    }
}
