//! From the start of a server to its first answer, and its memory.

use std::path::Path;
use std::process::Command;

use anyhow::Result;
use serde_json::json;

use crate::calls::requests;
use crate::peer::Peer;
use crate::server::{self, Server};
use crate::stats::Sample;
use crate::text::{self, SESSIONS};
use crate::{Sizes, data, table};

#[derive(Default)]
struct Starts {
    ready: Sample,
    first_call: Sample,
    idle: Sample,
    used: Sample,
}

/// (e).
pub fn run(sizes: &Sizes, peer: Option<&Peer>) -> Result<()> {
    table::title('e', "start to first answer, and resident memory");
    let folder = data::scratch()?;
    let existing = folder.path().join("existing.db");
    data::copy(&data::chain(sizes.chain)?, &existing)?;
    let peers = folder.path().join("existing-peer.db");
    if let Some(peer) = peer {
        peer.chain(&existing, &text::task_name(SESSIONS), &peers)?;
    }
    let [mut new, mut old, mut theirs] = <[Starts; 3]>::default();
    for round in 0..sizes.starts {
        let fresh = folder.path().join(format!("{round}.db"));
        measure(|| server::ours(&fresh), &mut new)?;
        measure(|| server::ours(Path::new(&existing)), &mut old)?;
        if let Some(peer) = peer {
            measure(|| peer.command(&peers), &mut theirs)?;
        }
    }
    let row = |name: &str, starts: &Starts| {
        [
            name.to_string(),
            starts.ready.show(),
            starts.first_call.show(),
            starts.idle.show(),
            starts.used.show(),
        ]
    };
    let mut rows = vec![row("cairn mcp, new file", &new), row("cairn mcp, existing file", &old)];
    if peer.is_some() {
        rows.push(row("Node, existing file", &theirs));
    }
    let header = ["", "to initialize, ms", "to first call, ms", "idle, MB", "after 1,000 calls, MB"];
    table::print(header, &rows);
    table::at_most("to the first answer, new file", &new.ready, 20.0, " ms");
    table::at_most("to the first answer, existing file", &old.ready, 20.0, " ms");
    table::at_most("to the answer of the first call, existing file", &old.first_call, 20.0, " ms");
    table::at_most("idle memory", &old.idle, 16.0, " MB");
    Ok(())
}

fn measure(command: impl Fn() -> Command, starts: &mut Starts) -> Result<()> {
    let mut server = Server::start(command())?;
    starts.ready.add_ms(server.ready);
    let thought = json!({"type": "plan", "task_id": "start", "agent_id": "bench", "content": "First of all"});
    server.call("thought_record", &thought)?;
    starts.first_call.add_ms(server.age());
    starts.idle.add(server.memory()?);
    server.in_flight(&requests(0, 1000), 64)?;
    starts.used.add(server.memory()?);
    server.stop()
}
