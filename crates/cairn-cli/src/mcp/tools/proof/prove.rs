//! `log_prove`: that a record is in the log, or that the log only grew.

use cairn::{Cairn, Error, Issue};

use crate::mcp::args::{Arg, Given, Kind};
use crate::mcp::envelope::{Data, Failure};
use crate::mcp::tools::{Call, Tool, sound};

const ANY: Kind = Kind::Integer(0, u64::MAX);

pub static PROVE: Tool = Tool {
    name: "log_prove",
    title: "Prove by the log",
    description: "Prove that a record is in the log (by its id or its seq), or that the log of old_size entries grew \
                  into the present one. Anyone who has the public key can check it. log_checkpoint covers new entries.",
    args: &[
        Arg::new("id", Kind::Label, "of a thought"),
        Arg::new("seq", ANY, "position in the log"),
        Arg::new("old_size", ANY, "prove growth from here"),
    ],
    data: &["seq", "leaf", "leaf_hash", "proof", "checkpoint", "receipt", "old_size", "old_root", "report"],
    call: Call::Read(prove),
};

fn prove(cairn: &Cairn, given: Given) -> Result<Data, Failure> {
    let mut given = sound(given)?;
    match (given.text("id"), given.integer("seq"), given.integer("old_size")) {
        (Some(id), None, None) => {
            let thought = cairn.get(&id)?.ok_or(Error::NotFound { what: "thought", id })?;
            Data::of(&cairn.prove(thought.seq)?)
        }
        (None, Some(seq), None) => Data::of(&cairn.prove(seq)?),
        (None, None, Some(old_size)) => Data::of(&cairn.prove_growth(old_size)?),
        _ => Err(Failure::invalid(vec![Issue::new("id", "give exactly one of id, seq and old_size")])),
    }
}
