//! `cairn mcp`: the MCP server on standard input and output.

mod args;
mod envelope;
mod lines;
mod message;
mod outbox;
mod panics;
mod recorder;
mod scan;
mod server;
mod sets;
mod stdio;
mod surrogates;
mod tools;
mod transport;

use anyhow::Context;
use cairn::Cairn;

pub use sets::ToolSets;

/// Serves until the client closes its end, then waits until everything recorded is on disk.
pub fn run(cairn: Cairn, tools: ToolSets) -> anyhow::Result<()> {
    panics::tell_in_one_line();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        // Two more for standard input and output, where these need threads.
        .max_blocking_threads(server::READERS + 2)
        .build()
        .context("cannot start the server's runtime")?;
    let quit = runtime.block_on(async {
        let server = server::Server::new(cairn.clone(), tools.tools());
        let transport = transport::LineTransport::new(stdio::input(), stdio::output());
        // Without the SDK's own opening: it ends the server if the first message is not the one it expects.
        rmcp::service::serve_directly(server, transport, None).waiting().await
    });
    // A long verification that nobody waits for any more must not hold up the end.
    runtime.shutdown_background();
    cairn.close();
    quit.context("the server stopped because of an internal error")?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};

    use super::tools::{Call, TOOLS, Tool};
    use super::*;

    static BROKEN: Tool =
        Tool { name: "broken", call: Call::Read(|_, _| panic!("broken\nto pieces")), ..*TOOLS[5] };
    static BROKEN_RECORD: Tool =
        Tool { name: "broken_record", call: Call::Record(|_, _| panic!("broken"), "text"), ..*TOOLS[0] };

    #[tokio::test]
    async fn a_tool_that_panics_is_answered_and_the_server_lives_on() {
        let folder = tempfile::tempdir().unwrap();
        let cairn = Cairn::open(folder.path().join("cairn.db")).unwrap();
        let server = server::Server::new(cairn, &[&BROKEN, &BROKEN_RECORD, TOOLS[1]]);
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let (input, output) = tokio::io::split(theirs);
        let transport = transport::LineTransport::new(Box::new(input), Box::new(output));
        let running = rmcp::service::serve_directly(server, transport, None);

        let (answers, mut requests) = tokio::io::split(ours);
        let mut answers = BufReader::new(answers).lines();
        let arguments = json!({ "plan_description": "go on", "session_id": "s", "agent_id": "a" });
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        for (tool, code) in [
            ("broken", json!("HANDLER_ERROR")),
            ("broken_record", json!("HANDLER_ERROR")),
            ("thought_plan", Value::Null),
        ] {
            let params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
            let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
            requests.write_all(format!("{request}\n").as_bytes()).await.unwrap();
            let answer: Value = serde_json::from_str(&answers.next_line().await.unwrap().unwrap()).unwrap();
            assert_eq!(answer["result"]["structuredContent"]["error"]["code"], code, "{answer}");
        }
        requests.shutdown().await.unwrap();
        assert_eq!(answers.into_inner().read(&mut [0]).await.unwrap(), 0);
        running.waiting().await.unwrap();
    }
}
