//! `thought_search`: full text in content and metadata.

use cairn::{Cairn, MATCH_END, MATCH_START, SearchHit, SearchQuery, Thought};
use serde::Serialize;

use super::{Call, Tool, sound, type_filter};
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
    data: &["count", "results", "ranked_newest", "note"],
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
    let results: Vec<Hit> = found.results.into_iter().map(Hit::from).collect();
    let note = found.ranked_newest.map(|newest| {
        format!(
            "these words are very common: only the newest {newest} matches were ranked; add a rarer word to reach \
             older ones"
        )
    });
    Data::of(&Found { count: results.len(), results, ranked_newest: found.ranked_newest, note })
}

#[derive(Serialize)]
struct Found {
    count: usize,
    results: Vec<Hit>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ranked_newest: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

#[derive(Serialize)]
struct Hit {
    #[serde(flatten)]
    record: Thought,
    rank: f64,
    snippet: String,
}

impl From<SearchHit> for Hit {
    fn from(hit: SearchHit) -> Hit {
        let snippet = hit.snippet.replace([MATCH_START, MATCH_END], "**");
        Hit { record: hit.thought, rank: hit.rank, snippet }
    }
}
