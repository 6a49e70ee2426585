//! `thought_redact`: take the text out of a record.

use cairn::{Cairn, Redact};

use super::{Call, Effect, Tool, sound};
use crate::mcp::args::{Arg, Given, Kind};
use crate::mcp::envelope::{Data, Failure};

pub static REDACT: Tool = Tool {
    name: "thought_redact",
    title: "Redact a record",
    description: "Erase the text and metadata of a record, for ever: a person's data, a leaked secret. Its hashes stay; the log says by whom, when and why. Only if a person asks for it. The answer \
                  names copies that are left: also_in, remnants.",
    args: &[
        Arg::new("id", Kind::Label, "of a thought, brief or review; context:N; event:SEQ")
            .older(&["record_id", "recordId", "thought_id", "thoughtId"])
            .required(),
        Arg::new("reason", Kind::Label, "stays for ever").required(),
        Arg::new("by", Kind::Label, "who answers for it").required(),
    ],
    data: &[
        "id",
        "kind",
        "fields",
        "by",
        "at",
        "reason",
        "content_hash",
        "seq",
        "target_seq",
        "shared",
        "also_in",
        "vacuumed",
        "remnants",
    ],
    call: Call::Write(redact, Effect::Replace),
};

fn redact(cairn: &Cairn, given: Given) -> Result<Data, Failure> {
    let mut given = sound(given)?;
    let [target, reason, actor] = ["id", "reason", "by"].map(|name| given.text(name).unwrap_or_default());
    Data::of(&cairn.redact(&Redact { target, actor, reason })?)
}
