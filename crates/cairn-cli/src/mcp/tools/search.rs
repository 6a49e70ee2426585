//! `thought_search`: full text in content and metadata.

use cairn::{Cairn, MATCH_END, MATCH_START, SearchHit, SearchQuery};
use serde_json::Value;

use super::{Call, Tool, object, sound, to_json, type_filter};
use crate::mcp::args::{Arg, Given, Kind};
use crate::mcp::envelope::Failure;

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
    data: &["count", "results", "ranked_newest", "note"],
    call: Call::Read(search),
};

fn search(cairn: &Cairn, given: Given) -> Result<Value, Failure> {
    let mut given = sound(given)?;
    let found = cairn.search(&SearchQuery {
        query: given.text("query").unwrap_or_default(),
        session_id: given.text("session_id"),
        task_id: given.text("task_id"),
        kind: given.thought_type("type"),
        limit: given.integer("limit"),
    })?;
    let results = found.results.into_iter().map(hit).collect::<Result<Vec<Value>, Failure>>()?;
    let mut data = object([("count", results.len().into()), ("results", results.into())]);
    if let Some(newest) = found.ranked_newest {
        data["ranked_newest"] = newest.into();
        data["note"] = format!(
            "these words are very common: only the newest {newest} matches were ranked; add a rarer word to reach \
             older ones"
        )
        .into();
    }
    Ok(data)
}

fn hit(hit: SearchHit) -> Result<Value, Failure> {
    let mut record = to_json(hit.thought)?;
    record["rank"] = hit.rank.into();
    record["snippet"] = hit.snippet.replace([MATCH_START, MATCH_END], "**").into();
    Ok(record)
}
