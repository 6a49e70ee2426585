//! `roadmap_register`: write a plan.

use cairn::{Cairn, NewRoadmap};

use crate::mcp::args::{Arg, Given, Kind};
use crate::mcp::envelope::{Data, Failure};
use crate::mcp::tools::{Call, Effect, ROADMAP, Tool, sound};

pub static REGISTER: Tool = Tool {
    name: "roadmap_register",
    title: "Write a roadmap",
    description: "Write a plan as a roadmap, whole or not at all; cycles, dangling references and duplicate ids are \
                  refused. Use it when you have made or reworked a plan that others should follow.",
    args: &[
        Arg { about: "letters, digits, . _ -", ..ROADMAP },
        Arg::new("title", Kind::Label, "").required(),
        Arg::new("nodes", Kind::List, "{id, label, scope?, phase?, dependencies?: [id]}").required(),
        Arg::new("connections", Kind::List, "{from, to, id?, type?}: to depends on from"),
        Arg::new("phases", Kind::List, "{id, title?}, in order"),
        Arg::new("description", Kind::Text, ""),
        Arg::new("overwrite", Kind::Flag, "replace one that is there; default false"),
    ],
    data: &["id", "form", "file", "replaced", "title", "description", "nodes", "connections", "phases"],
    call: Call::Write(register, Effect::Replace),
};

fn register(cairn: &Cairn, given: Given) -> Result<Data, Failure> {
    let mut given = sound(given)?;
    let registered = cairn.roadmaps().register(NewRoadmap {
        roadmap_id: given.text("roadmap_id").unwrap_or_default(),
        title: given.text("title").unwrap_or_default(),
        description: given.text("description"),
        nodes: given.list("nodes").unwrap_or_default(),
        connections: given.list("connections").unwrap_or_default(),
        phases: given.list("phases").unwrap_or_default(),
        overwrite: given.flag("overwrite").unwrap_or(false),
    })?;
    Data::of(&registered)
}
