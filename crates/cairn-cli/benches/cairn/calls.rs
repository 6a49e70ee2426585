//! Calls over stdio, against the smallest MCP server in Node.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use cairn::core::thought::{TaskLink, task_hash};
use serde_json::{Value, json};

use crate::peer::Peer;
use crate::server::{self, Server};
use crate::stats::Sample;
use crate::text::{self, Draft};
use crate::{Sizes, data, table};

const IN_FLIGHT: usize = 64;

#[derive(Default)]
struct Rates {
    sequential: Sample,
    in_flight: Sample,
}

/// (b).
pub fn run(sizes: &Sizes, peer: Option<&Peer>) -> Result<()> {
    table::title('b', "calls of thought_record over stdio, against the smallest MCP server in Node");
    let [mut ours, mut theirs] = <[Rates; 2]>::default();
    for _ in 0..sizes.rounds {
        let folder = data::scratch()?;
        measure(sizes, server::ours(&folder.path().join("cairn.db")), &mut ours)?;
        if let Some(peer) = peer {
            measure(sizes, peer.command(&folder.path().join("peer.db")), &mut theirs)?;
        }
    }
    let row = |name: &str, rates: &Rates| [name.to_string(), rates.sequential.show(), rates.in_flight.show()];
    let mut rows = vec![row("cairn mcp", &ours)];
    if peer.is_some() {
        let ratio = Rates {
            sequential: ours.sequential.over(&theirs.sequential),
            in_flight: ours.in_flight.over(&theirs.in_flight),
        };
        rows.push(row("Node", &theirs));
        rows.push(row("ratio", &ratio));
        table::print(["", "one after the other/s", "64 in flight/s"], &rows);
        table::at_least("one after the other", &ratio.sequential, 2.0);
        table::at_least("64 in flight", &ratio.in_flight, 8.0);
    } else {
        table::print(["", "one after the other/s", "64 in flight/s"], &rows);
    }
    Ok(())
}

fn measure(sizes: &Sizes, command: Command, rates: &mut Rates) -> Result<()> {
    let mut server = Server::start(command)?;
    keeps_the_contract(&mut server)?;
    let (one_by_one, in_flight) = sizes.calls;
    // Node compiles what is called often; it should have done so before the clock starts.
    server.in_flight(&requests(0, one_by_one / 4), IN_FLIGHT)?;
    let taken = server.one_by_one(&requests(one_by_one, one_by_one))?;
    rates.sequential.add(one_by_one as f64 / taken.as_secs_f64());
    let taken = server.in_flight(&requests(2 * one_by_one, in_flight), IN_FLIGHT)?;
    rates.in_flight.add(in_flight as f64 / taken.as_secs_f64());
    server.stop()
}

/// Calls with the arguments that both servers know.
pub fn requests(first: usize, count: usize) -> Vec<String> {
    let requests = Draft::many(first as u64, count).into_iter().enumerate();
    requests.map(|(id, draft)| server::request(id + 1, "thought_record", &arguments(draft))).collect()
}

fn arguments(draft: Draft) -> Value {
    json!({
        "type": draft.kind,
        "task_id": text::task_name(draft.session),
        "agent_id": text::agent_name(draft.session),
        "content": draft.content,
    })
}

/// A server that does not do the work is no measure: the second thought of a task must name the first.
fn keeps_the_contract(server: &mut Server) -> Result<()> {
    let mut prev_hash = cairn::Sha::ZERO;
    for _ in 0..2 {
        let draft = Draft::new(1);
        let (task_id, content, kind) = (text::task_name(draft.session), draft.content.clone(), draft.kind);
        let (_, data) = server.call("thought_record", &arguments(draft))?;
        let field = |name: &str| data[name].as_str().with_context(|| format!("no {name} in {data}"));
        let link = TaskLink {
            content: &content,
            id: field("id")?,
            prev_hash,
            task_id: &task_id,
            timestamp: field("timestamp")?,
            kind: kind.as_str(),
        };
        prev_hash = task_hash(&link, &mut Vec::new());
        ensure!(field("hash")? == prev_hash.to_string(), "the hash of {data} is wrong");
    }
    Ok(())
}
