//! `thought_record_list`: records in the order of recording.

use cairn::{Cairn, Filter};

use super::{Call, Tool, sound, type_filter};
use crate::data;
use crate::mcp::args::{Arg, Given, Kind};
use crate::mcp::envelope::{Data, Failure, unwritable};

pub static RECORD_LIST: Tool = Tool {
    name: "thought_record_list",
    title: "List thoughts",
    description: "List whole records in the order they were recorded; all filters must match. Pass next_cursor as \
                  cursor for more.",
    args: &[
        Arg::new("task_id", Kind::Label, "only this task"),
        Arg::new("session_id", Kind::Label, "only this session"),
        type_filter(),
        Arg::new("agent_id", Kind::Label, "only by this agent"),
        Arg::new("limit", Kind::Integer(1, u64::MAX), "at most so many; default: all, up to 10,000 or 8 MiB"),
        Arg::new("cursor", Kind::Label, "next_cursor of the page before"),
    ],
    data: &["records", "damaged", "next_cursor"],
    call: Call::Read(list),
};

fn list(cairn: &Cairn, given: Given) -> Result<Data, Failure> {
    let mut given = sound(given)?;
    let filter = Filter {
        task_id: given.text("task_id"),
        session_id: given.text("session_id"),
        kind: given.thought_type("type"),
        agent_id: given.text("agent_id"),
        limit: given.integer("limit"),
        cursor: given.text("cursor"),
    };
    Data::with(|out| data::write_page(cairn, &filter, out)?.map(drop).map_err(unwritable))
}
