//! What a log shows to somebody who remembers an older size of it: that it has only grown since.

use std::fmt;
use std::str::FromStr;

use super::checkpoint::CheckpointNote;
use super::lines::{self, LinesError};
use super::verify_consistency;
use crate::hash::Sha;
use crate::note::encoding::decimal;

/// A checkpoint with the proof that the log grew into it from an older size. Its text is the body of the request
/// `add-checkpoint` of C2SP tlog-witness; one whose checkpoint is unsigned asks a signer rather than a witness.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Growth {
    old_size: u64,
    proof: Vec<Sha>,
    checkpoint: CheckpointNote,
}

/// Why a report of growth cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GrowthError {
    /// The line `old` is missing or cannot be read.
    #[error("the first line is not `old` with a number without leading zeros")]
    OldSize,
    /// The rest cannot be read.
    #[error(transparent)]
    Lines(#[from] LinesError),
    /// It shrank instead.
    #[error("the older size, {old}, is larger than that of the checkpoint, {new}")]
    Shrinks {
        /// The size it should have grown from.
        old: u64,
        /// The size of the checkpoint.
        new: u64,
    },
    /// Hashes where there is nothing to prove.
    #[error("growth from size 0 or to the same size is proved by no hashes, {0} are given")]
    NothingToProve(usize),
}

impl Growth {
    /// Puts a report of growth together.
    pub fn new(old_size: u64, proof: Vec<Sha>, checkpoint: CheckpointNote) -> Result<Growth, GrowthError> {
        lines::check(&proof)?;
        let new = checkpoint.checkpoint().size();
        if old_size > new {
            return Err(GrowthError::Shrinks { old: old_size, new });
        }
        if (old_size == 0 || old_size == new) && !proof.is_empty() {
            return Err(GrowthError::NothingToProve(proof.len()));
        }
        Ok(Growth { old_size, proof, checkpoint })
    }

    /// The size it grew from.
    pub fn old_size(&self) -> u64 {
        self.old_size
    }

    /// The consistency proof between the two sizes.
    pub fn proof(&self) -> &[Sha] {
        &self.proof
    }

    /// The checkpoint it grew into, believed or not.
    pub fn checkpoint(&self) -> &CheckpointNote {
        &self.checkpoint
    }

    /// Tells whether the log that had `old_root` at the older size grew into this checkpoint.
    pub fn extends(&self, old_root: &Sha) -> bool {
        let new = self.checkpoint.checkpoint();
        verify_consistency(self.old_size, new.size(), old_root, &new.root(), &self.proof)
    }
}

impl FromStr for Growth {
    type Err = GrowthError;

    fn from_str(text: &str) -> Result<Growth, GrowthError> {
        let (old_size, rest) = text
            .strip_prefix("old ")
            .and_then(|line| line.split_once('\n'))
            .and_then(|(size, rest)| Some((decimal(size)?, rest)))
            .ok_or(GrowthError::OldSize)?;
        let (proof, checkpoint) = lines::parse(rest)?;
        Growth::new(old_size, proof, checkpoint)
    }
}

impl fmt::Display for Growth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "old {}", self.old_size)?;
        lines::write(f, &self.proof, &self.checkpoint)
    }
}

#[cfg(test)]
mod tests {
    use super::super::checkpoint::{Checkpoint, CheckpointError};
    use super::super::{empty_root, leaf_hash, node_hash};
    use super::*;

    /// The example of the specification.
    const SOFA: &str = "old 20852014
PlRNCrwHpqhGrupue0L7gxbjbMiKA9temvuZZDDpkaw=
jrJZDmY8Y7SyJE0MWLpLozkIVMSMZcD5kvuKxPC3swk=
5+pKlUdi2LeF/BcMHBn+Ku6yhPGNCswZZD1X/6QgPd8=
/6WVhPs2CwSsb5rYBH5cjHV/wSmA79abXAwhXw3Kj/0=

example.com/behind-the-sofa
20852163
CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=

— example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=
— example.com/behind-the-sofa opLqBQsREYCgu6xQkYQwJr9fo45a62DN9EdmHXnZdXNqlcVGlCum2Wks+49/V6267UEjw6QUXTS5Rovnzv++qbSzm9Q=
";

    #[test]
    fn the_example_of_the_specification_is_read_and_written() {
        let growth: Growth = SOFA.parse().unwrap();
        assert_eq!((growth.old_size(), growth.proof().len()), (20_852_014, 4));
        assert_eq!(growth.checkpoint().checkpoint().size(), 20_852_163);
        assert_eq!(growth.checkpoint().signatures().len(), 2);
        assert_eq!(growth.to_string(), SOFA);
    }

    #[test]
    fn growth_is_proved_from_the_right_root_only() {
        let (one, two) = (leaf_hash(b"1"), leaf_hash(b"2"));
        let checkpoint = CheckpointNote::from(Checkpoint::new("o", 2, node_hash(&one, &two)).unwrap());
        let growth = Growth::new(1, vec![two], checkpoint.clone()).unwrap();
        assert!(growth.extends(&one) && !growth.extends(&two));
        assert_eq!(growth.to_string().parse(), Ok(growth));
        let first = Growth::new(0, vec![], checkpoint.clone()).unwrap();
        assert!(first.extends(&empty_root()) && !first.extends(&one));
        assert_eq!(first.to_string(), format!("old 0\n\n{checkpoint}"));
        assert_eq!(first.to_string().parse(), Ok(first));
        let same = Growth::new(2, vec![], checkpoint).unwrap();
        assert!(same.extends(&node_hash(&one, &two)) && !same.extends(&one));
    }

    #[track_caller]
    fn refused(text: &str, expected: impl Into<GrowthError>) {
        assert_eq!(text.parse::<Growth>(), Err(expected.into()), "{text}");
    }

    #[test]
    fn what_is_no_growth_is_refused_with_a_reason() {
        for text in
            ["", "old", "old 1", "new 1\n", "old  1\n", "old 01\n", "old -1\n", "old 1\r\n", "OLD 1\n"]
        {
            refused(text, GrowthError::OldSize);
        }
        refused("old 1\n", LinesError::NoCheckpoint);
        refused("old 1\n\n", LinesError::Checkpoint(CheckpointError::NotThreeLines));
        refused("old 1\nhash\n\n", LinesError::Hash { number: 1 });
        refused(
            &SOFA.replacen("old 20852014", "old 20852164", 1),
            GrowthError::Shrinks { old: 20_852_164, new: 20_852_163 },
        );
        refused(&SOFA.replacen("old 20852014", "old 20852163", 1), GrowthError::NothingToProve(4));
        refused(&SOFA.replacen("old 20852014", "old 0", 1), GrowthError::NothingToProve(4));
        for end in 0..SOFA.len() {
            if let Some(part) = SOFA.get(..end) {
                // Cut before the signatures or between them, it is another report, without them.
                assert!(part.parse::<Growth>().is_err() || part.ends_with("=\n"), "{part}");
            }
        }
    }
}
