//! `thought_tree`: the thoughts of a session, each below the one it follows from.

use cairn::Cairn;

use super::{Call, Tool, sound};
use crate::data::Tree;
use crate::mcp::args::{Arg, Given, Kind};
use crate::mcp::envelope::{Data, Failure};

pub static TREE: Tool = Tool {
    name: "thought_tree",
    title: "Show a session's tree",
    description: "Show the thoughts of a session, nested below their parents, with previews of 100 characters. \
                  Branches deeper than 40 levels go on in `continued`, below their parent_id.",
    args: &[
        Arg::new("session_id", Kind::Label, "").required(),
        Arg::new("include_content", Kind::Flag, "whole texts instead of previews; default false"),
        Arg::new("include_children", Kind::Flag, "nested; default true. false: a flat list"),
    ],
    data: &["session_id", "count", "tree", "continued", "damaged"],
    call: Call::Read(tree),
};

fn tree(cairn: &Cairn, given: Given) -> Result<Data, Failure> {
    let mut given = sound(given)?;
    let session = given.text("session_id").unwrap_or_default();
    let thoughts = cairn.tree(&session, given.flag("include_content").unwrap_or(false))?;
    if given.flag("include_children").unwrap_or(true) {
        Data::of(&Tree::nested(session, thoughts))
    } else {
        Data::of(&Tree::flat(session, thoughts))
    }
}
