//! A client of MCP servers over stdio that costs next to nothing itself, and the same for every server.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use crate::machine;

/// A server that was started and has answered `initialize`.
pub struct Server {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    started: Instant,
    line: Vec<u8>,
    /// From its start to its first answer.
    pub ready: Duration,
}

/// `cairn mcp` on a database.
pub fn ours(database: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cairn"));
    command.arg("mcp").env("CAIRN_DB", database).env("CAIRN_STATE", database.with_extension("state"));
    command
}

/// A request as one line.
pub fn request(id: usize, tool: &str, arguments: &Value) -> String {
    let params = json!({"name": tool, "arguments": arguments});
    format!("{}\n", json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}))
}

impl Server {
    /// Starts a server and greets it.
    pub fn start(mut command: Command) -> Result<Server> {
        let started = Instant::now();
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .with_context(|| format!("{command:?} does not start"))?;
        let input = child.stdin.take().context("no input")?;
        let output = BufReader::with_capacity(1 << 16, child.stdout.take().context("no output")?);
        let mut server = Server { child, input, output, started, line: Vec::new(), ready: Duration::ZERO };
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "bench", "version": "1"},
        });
        let greeting = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        server.send(&format!("{greeting}\n"))?;
        server.answer()?;
        server.ready = started.elapsed();
        server.send("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n")?;
        Ok(server)
    }

    /// How long ago it was started.
    pub fn age(&self) -> Duration {
        self.started.elapsed()
    }

    /// Resident memory in megabytes.
    pub fn memory(&self) -> Result<f64> {
        machine::memory(&self.child.id().to_string(), "VmRSS")
    }

    /// Sends requests one after the other; returns how long that took.
    pub fn one_by_one(&mut self, requests: &[String]) -> Result<Duration> {
        let started = Instant::now();
        for request in requests {
            self.send(request)?;
            self.answer()?;
        }
        Ok(started.elapsed())
    }

    /// Sends requests so that `depth` of them are always under way; returns how long that took.
    pub fn in_flight(&mut self, requests: &[String], depth: usize) -> Result<Duration> {
        let started = Instant::now();
        let (first, rest) = requests.split_at(depth.min(requests.len()));
        self.send(&first.concat())?;
        let mut rest = rest.iter();
        let mut open = first.len();
        let mut next = String::new();
        while open > 0 {
            next.clear();
            // Whatever has arrived is answered together: the client should not be what is measured.
            loop {
                self.answer()?;
                match rest.next() {
                    Some(request) => next.push_str(request),
                    None => open -= 1,
                }
                if !self.output.buffer().contains(&b'\n') {
                    break;
                }
            }
            self.send(&next)?;
        }
        Ok(started.elapsed())
    }

    /// Calls a tool; returns how long the answer took and its data, understood outside of that time.
    pub fn call(&mut self, tool: &str, arguments: &Value) -> Result<(Duration, Value)> {
        let request = request(1, tool, arguments);
        let started = Instant::now();
        self.send(&request)?;
        self.answer()?;
        let taken = started.elapsed();
        let mut answer: Value = serde_json::from_slice(&self.line)?;
        Ok((taken, answer["result"]["structuredContent"]["data"].take()))
    }

    /// Closes its input and waits until it has ended.
    pub fn stop(self) -> Result<()> {
        let Server { mut child, input, .. } = self;
        drop(input);
        ensure!(child.wait()?.success(), "the server ended with an error");
        Ok(())
    }

    fn send(&mut self, text: &str) -> Result<()> {
        Ok(self.input.write_all(text.as_bytes())?)
    }

    /// Reads one answer and makes sure that it is not an error.
    fn answer(&mut self) -> Result<()> {
        self.line.clear();
        self.output.read_until(b'\n', &mut self.line)?;
        // Only what stands outside of the texts tells, and those are long: look at both ends.
        let ends = [&self.line[..self.line.len().min(40)], &self.line[self.line.len().saturating_sub(60)..]];
        let has = |part: &str| ends.iter().any(|end| end.windows(part.len()).any(|at| at == part.as_bytes()));
        if !has("\"result\"") || has("\"isError\":true") {
            bail!("the server answered: {}", String::from_utf8_lossy(&self.line));
        }
        Ok(())
    }
}
