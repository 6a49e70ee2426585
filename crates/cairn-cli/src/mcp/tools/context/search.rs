//! `context_search`: nodes of the current snapshots by their words.

use cairn::{Cairn, NodeQuery};

use crate::data_plans::NodesFound;
use crate::mcp::args::{Arg, Given, Kind};
use crate::mcp::envelope::{Data, Failure};
use crate::mcp::tools::{Call, ROADMAP, Tool, sound};

pub static SEARCH: Tool = Tool {
    name: "context_search",
    title: "Search the plans",
    description: "Find nodes of the newest snapshot of each roadmap by their words, best match first. Use it to learn \
                  what the plan says about a topic without reading all of it.",
    args: &[
        Arg::new("query", Kind::Text, "words (all must match), \"a phrase\", prefix*, -not, OR").required(),
        Arg { required: false, about: "only this roadmap", ..ROADMAP },
        Arg::new("limit", Kind::Integer(1, 100), "default 20"),
    ],
    data: &["count", "results"],
    call: Call::Read(search),
};

fn search(cairn: &Cairn, given: Given) -> Result<Data, Failure> {
    let mut given = sound(given)?;
    let hits = cairn.context_search(&NodeQuery {
        query: given.text("query").unwrap_or_default(),
        roadmap_id: given.text("roadmap_id"),
        limit: given.integer("limit"),
    })?;
    Data::of(&NodesFound::from(hits))
}
