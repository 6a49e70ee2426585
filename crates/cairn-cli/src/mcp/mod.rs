//! The MCP server, and `cairn mcp`, which serves it on standard input and output. `cairn serve` serves it over HTTP.

mod args;
mod completion;
mod envelope;
#[cfg(debug_assertions)]
mod fixtures;
mod instructions;
mod lines;
mod message;
mod outbox;
mod panics;
mod permit;
mod prompts;
mod recorder;
mod requests;
mod resources;
mod scan;
mod server;
mod sets;
mod stdio;
mod surrogates;
#[cfg(test)]
pub(crate) mod testing;
mod tools;
mod transport;

use anyhow::Context;
use cairn::Cairn;
use rmcp::ServiceExt;

use crate::signals::told_to_stop;

pub use envelope::write as write_message;
#[cfg(debug_assertions)]
pub use fixtures::WithFixtures;
pub use message::{Incoming, read as read_message};
pub use panics::tell_in_one_line as tell_panics_in_one_line;
pub use permit::Permit;
pub use resources::{AnsweredOnce, Change};
pub use server::{READERS, Server};
pub use sets::ToolSets;
#[cfg(test)]
pub use tools::Call;
pub use tools::Tool;

/// Serves until the client closes its end or a signal asks the program to stop, then waits until everything recorded is
/// on disk.
pub fn run(cairn: Cairn, tools: ToolSets) -> anyhow::Result<()> {
    panics::tell_in_one_line();
    let told = told_to_stop();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        // Two more for verifications, of the log and of a part of it, and two for standard input and output, where
        // these need threads.
        .max_blocking_threads(server::READERS + server::WRITERS + 2 + 2)
        .build()
        .context("cannot start the server's runtime")?;
    let quit = runtime.block_on(async {
        let server = server::Server::new(cairn.clone(), &tools.tools());
        let transport = transport::LineTransport::new(stdio::input(), stdio::output());
        // On the heap: the SDK moves the future of a request several times.
        let server = server.into_dyn();
        // Without the SDK's own opening: it ends the server if the first message is not the one it expects.
        rmcp::service::serve_directly_with_ct(server, transport, None, told).waiting().await
    });
    // A long verification that nobody waits for any more must not hold up the end.
    runtime.shutdown_background();
    cairn.close();
    quit.context("the server stopped because of an internal error")?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    use serde_json::{Value, json};
    use tokio::io::{
        AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
    };

    use super::tools::{Call, Effect, TRAIL, Tool};
    use super::*;

    static BROKEN: Tool =
        Tool { name: "broken", call: Call::Read(|_, _| panic!("broken\nto pieces")), ..*TRAIL[5] };
    static BROKEN_RECORD: Tool =
        Tool { name: "broken_record", call: Call::Record(|_, _| panic!("broken"), "text"), ..*TRAIL[0] };
    static BROKEN_WRITE: Tool =
        Tool { name: "broken_write", call: Call::Write(|_, _| panic!("broken"), Effect::Add), ..*TRAIL[5] };

    const PATIENCE: Duration = Duration::from_secs(60);

    /// The other end of a server with these tools.
    struct Client {
        folder: tempfile::TempDir,
        requests: WriteHalf<DuplexStream>,
        answers: Lines<BufReader<ReadHalf<DuplexStream>>>,
        running: rmcp::service::RunningService<rmcp::RoleServer, server::Server>,
    }

    fn meta() -> Value {
        json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        })
    }

    impl Client {
        fn start(tools: &[&'static Tool]) -> Client {
            let folder = tempfile::tempdir().unwrap();
            let cairn = Cairn::open(folder.path().join("cairn.db")).unwrap();
            let server = server::Server::new(cairn, tools);
            let (ours, theirs) = tokio::io::duplex(1 << 16);
            let (input, output) = tokio::io::split(theirs);
            let transport = transport::LineTransport::new(Box::new(input), Box::new(output));
            let running = rmcp::service::serve_directly(server, transport, None);
            let (answers, requests) = tokio::io::split(ours);
            Client { folder, requests, answers: BufReader::new(answers).lines(), running }
        }

        async fn send(&mut self, id: u64, tool: &str, arguments: &Value) {
            let params = json!({ "name": tool, "arguments": arguments, "_meta": meta() });
            self.say(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })).await;
        }

        async fn say(&mut self, message: &Value) {
            self.requests.write_all(format!("{message}\n").as_bytes()).await.unwrap();
        }

        async fn receive(&mut self) -> Value {
            serde_json::from_str(&self.answers.next_line().await.unwrap().unwrap()).unwrap()
        }

        /// Ends the input, waits for the end of the server, and returns what it said until then.
        async fn end(mut self) -> String {
            self.requests.shutdown().await.unwrap();
            let ended = async {
                let mut rest = String::new();
                self.answers.into_inner().read_to_string(&mut rest).await.unwrap();
                self.running.waiting().await.unwrap();
                rest
            };
            let rest = tokio::time::timeout(PATIENCE, ended).await.expect("the server does not end");
            drop(self.folder);
            rest
        }
    }

    #[tokio::test]
    async fn a_tool_that_panics_is_answered_and_the_server_lives_on() {
        let mut client = Client::start(&[&BROKEN, &BROKEN_RECORD, &BROKEN_WRITE, TRAIL[1]]);
        let arguments = json!({ "plan_description": "go on", "session_id": "s", "agent_id": "a" });
        for (tool, code) in [
            ("broken", json!("HANDLER_ERROR")),
            ("broken_record", json!("HANDLER_ERROR")),
            ("broken_write", json!("HANDLER_ERROR")),
            ("thought_plan", Value::Null),
        ] {
            client.send(1, tool, &arguments).await;
            let answer = client.receive().await;
            assert_eq!(answer["result"]["structuredContent"]["error"]["code"], code, "{answer}");
        }
        assert_eq!(client.end().await, "");
    }

    type Work = fn(&Cairn, args::Given) -> Result<envelope::Data, envelope::Failure>;

    static OPEN: [AtomicBool; 2] = [const { AtomicBool::new(false) }; 2];

    fn opens(gate: usize) -> Result<envelope::Data, envelope::Failure> {
        OPEN[gate].store(true, Ordering::SeqCst);
        envelope::Data::of(&json!({}))
    }

    fn waits(gate: usize) -> Result<envelope::Data, envelope::Failure> {
        let open = || OPEN[gate].load(Ordering::SeqCst);
        let began = std::time::Instant::now();
        while !open() {
            assert!(began.elapsed() < PATIENCE, "nobody came to open the gate");
            std::thread::sleep(Duration::from_millis(1));
        }
        envelope::Data::of(&json!({}))
    }

    const fn reads(name: &'static str, work: Work) -> Tool {
        Tool { name, call: Call::Read(work), title: "", description: "", args: &[], data: &[] }
    }

    const fn writes(name: &'static str, work: Work) -> Tool {
        Tool { call: Call::Write(work, Effect::Add), ..reads(name, work) }
    }

    #[tokio::test]
    async fn calls_that_read_and_calls_that_write_do_not_wait_for_each_other() {
        static READS: [Tool; 2] = [reads("slow_read", |_, _| waits(0)), reads("read", |_, _| opens(1))];
        static WRITES: [Tool; 2] = [writes("slow_write", |_, _| waits(1)), writes("write", |_, _| opens(0))];
        for (slow, quick) in [("slow_read", "write"), ("slow_write", "read")] {
            let mut client = Client::start(&[&READS[0], &READS[1], &WRITES[0], &WRITES[1]]);
            for id in 0..20 {
                client.send(id, slow, &json!({})).await;
            }
            client.send(20, quick, &json!({})).await;
            for _ in 0..=20 {
                let answer = client.receive().await;
                assert_eq!(answer["result"]["structuredContent"]["ok"], true, "{answer}");
            }
            assert_eq!(client.end().await, "");
        }
    }

    fn plan() -> Value {
        json!({ "plan_description": "p", "session_id": "s", "agent_id": "a" })
    }

    #[tokio::test]
    async fn the_end_of_input_ends_the_server_at_once() {
        let client = Client::start(&TRAIL);
        assert_eq!(client.end().await, "");
        let mut client = Client::start(&TRAIL);
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": { "name": "c", "version": "1" } });
        client.say(&json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params })).await;
        assert_eq!(client.receive().await["result"]["protocolVersion"], "2025-11-25");
        client.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
        assert_eq!(client.end().await, "");
    }

    #[tokio::test]
    async fn the_server_ends_at_once_after_its_last_answer() {
        let mut client = Client::start(&TRAIL);
        for id in 0..500 {
            client.send(id, "thought_plan", &plan()).await;
        }
        for _ in 0..500 {
            client.receive().await;
        }
        assert_eq!(client.end().await, "");
    }

    #[tokio::test]
    async fn a_cancelled_call_does_not_hold_up_the_end() {
        let mut client = Client::start(&TRAIL);
        client.send(1, "thought_plan", &plan()).await;
        let params = json!({ "requestId": 1, "reason": "changed my mind" });
        client.say(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params })).await;
        client.end().await;
    }

    #[tokio::test]
    async fn a_listener_does_not_hold_up_the_end() {
        let mut client = Client::start(&TRAIL);
        let notifications = json!({ "resourceSubscriptions": ["cairn://session/s/tree"] });
        let params = json!({ "notifications": notifications, "_meta": meta() });
        for id in 1..=2 {
            let listen =
                json!({ "jsonrpc": "2.0", "id": id, "method": "subscriptions/listen", "params": params });
            client.say(&listen).await;
            let answer = client.receive().await;
            assert_eq!(answer["method"], "notifications/subscriptions/acknowledged", "{answer}");
        }
        client.end().await;
    }
}
