//! Tool sets: a client pays for every tool it is told about, so it can ask for some only.

use std::str::FromStr;

use super::tools::{MEMORY, PROOF, REDACT, SNAPSHOT, TRAIL, Tool};

/// The sets there are, and `all`, which is all but `redact`: what erases is offered only to who names it.
const NAMES: [&str; 6] = ["trail", "snapshot", "memory", "proof", "redact", "all"];

/// One of the sets that has tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Set {
    /// Thoughts.
    Trail,
    /// Plans and their snapshots.
    Snapshot,
    /// Working memory and briefs.
    Memory,
    /// The log itself.
    Proof,
}

impl Set {
    /// Whether any of its tools is among these.
    pub fn is_among(self, tools: &[&Tool]) -> bool {
        let ours: &[&Tool] = match self {
            Set::Trail => &TRAIL,
            Set::Snapshot => &SNAPSHOT,
            Set::Memory => &MEMORY,
            Set::Proof => &PROOF,
        };
        tools.iter().any(|tool| ours.iter().any(|known| known.name == tool.name))
    }
}

/// Which tools to offer: `trail`, `snapshot`, `memory`, `proof`, `redact`, `all`, separated by commas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolSets {
    trail: bool,
    snapshot: bool,
    memory: bool,
    proof: bool,
    redact: bool,
}

impl Default for ToolSets {
    fn default() -> ToolSets {
        ToolSets { trail: true, snapshot: true, memory: true, proof: true, redact: false }
    }
}

impl ToolSets {
    /// The tools to offer.
    pub fn tools(&self) -> Vec<&'static Tool> {
        let sets = [
            (self.trail, &TRAIL[..]),
            (self.snapshot, &SNAPSHOT[..]),
            (self.memory, &MEMORY[..]),
            (self.proof, &PROOF[..]),
            (self.redact, &REDACT[..]),
        ];
        sets.into_iter().filter(|(chosen, _)| *chosen).flat_map(|(_, tools)| tools).copied().collect()
    }
}

/// A word that names no set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownSet(String);

impl std::fmt::Display for UnknownSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "there is no tool set `{}`; there are {}", self.0, NAMES.join(", "))
    }
}

impl std::error::Error for UnknownSet {}

impl FromStr for ToolSets {
    type Err = UnknownSet;

    fn from_str(text: &str) -> Result<ToolSets, UnknownSet> {
        let mut sets = ToolSets { trail: false, snapshot: false, memory: false, proof: false, redact: false };
        for name in text.split(',').map(str::trim) {
            match name {
                "all" => sets = ToolSets { redact: sets.redact, ..ToolSets::default() },
                "trail" => sets.trail = true,
                "snapshot" => sets.snapshot = true,
                "memory" => sets.memory = true,
                "proof" => sets.proof = true,
                "redact" => sets.redact = true,
                unknown => return Err(UnknownSet(unknown.to_string())),
            }
        }
        Ok(sets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_named_and_separated_by_commas() {
        for (text, count) in [
            ("all", 44),
            ("trail", 14),
            ("snapshot", 13),
            ("snapshot, trail", 27),
            ("trail,trail", 14),
            ("trail,all", 44),
            ("memory", 14),
            ("memory,proof", 17),
            ("proof", 3),
            ("redact", 1),
            ("trail,redact", 15),
            ("redact,all", 45),
            ("all,redact", 45),
        ] {
            assert_eq!(text.parse::<ToolSets>().unwrap().tools().len(), count, "{text}");
        }
        assert_eq!(ToolSets::default(), "all".parse().unwrap());
    }

    #[test]
    fn an_unknown_set_is_told_with_those_there_are() {
        let error = "trail,trial".parse::<ToolSets>().unwrap_err().to_string();
        assert_eq!(
            error,
            "there is no tool set `trial`; there are trail, snapshot, memory, proof, redact, all"
        );
        assert!("".parse::<ToolSets>().is_err());
    }
}
