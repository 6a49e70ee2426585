//! `thought_search`: full text in content and metadata.

use cairn::{Cairn, SearchQuery};

use super::{Call, Tool, sound, type_filter};
use crate::data::Found;
use crate::mcp::args::{Arg, Given, Kind};
use crate::mcp::envelope::{Data, Failure};

pub static SEARCH: Tool = Tool {
    name: "thought_search",
    title: "Search thoughts",
    description: "Find records by the words in their content and metadata, best match first, each with a snippet. \
                  Search before you decide: the question may be settled.",
    args: &[
        Arg::new("query", Kind::Text, "words (all must match), \"a phrase\", prefix*, -not, OR").required(),
        Arg::new("session_id", Kind::Label, "only this session"),
        Arg::new("task_id", Kind::Label, "only this task"),
        type_filter(),
        Arg::new("limit", Kind::Integer(1, 100), "default 20"),
    ],
    data: &["count", "results", "damaged", "ranked_newest", "note"],
    call: Call::Read(search),
};

fn search(cairn: &Cairn, given: Given) -> Result<Data, Failure> {
    let mut given = sound(given)?;
    let found = cairn.search(&SearchQuery {
        query: given.text("query").unwrap_or_default(),
        session_id: given.text("session_id"),
        task_id: given.text("task_id"),
        kind: given.thought_type("type"),
        limit: given.integer("limit"),
    })?;
    Data::of(&Found::from(found))
}
