//! A running server and a client that says exactly what it is told to.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use serde_json::{Value, json};

use crate::it::database::args;

const PATIENCE: Duration = Duration::from_secs(60);

pub struct Server {
    pub folder: tempfile::TempDir,
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    next_id: u64,
}

impl Server {
    /// A server that nothing was said to yet.
    pub fn silent() -> Server {
        Server::with_args(&[])
    }

    pub fn with_args(args: &[&str]) -> Server {
        Server::in_folder(tempfile::tempdir().unwrap(), args)
    }

    /// A server on the database `cairn.db` of this folder, with its state beside it.
    pub fn in_folder(folder: tempfile::TempDir, args: &[&str]) -> Server {
        let mut child = command(&folder.path().join("cairn.db"))
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let stdin = child.stdin.take();
        let stdout = BufReader::with_capacity(1 << 20, child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            stdout.lines().map_while(Result::ok).try_for_each(|line| sender.send(line).map_err(drop))
        });
        Server { folder, child, stdin, lines, next_id: 0 }
    }

    /// A server that was initialized, under a revision that has `initialize`.
    pub fn start() -> Server {
        Server::silent().initialized()
    }

    /// A server on the database that another one left behind.
    pub fn restart(end: End) -> Server {
        Server::in_folder(end.folder, &[]).initialized()
    }

    pub fn initialized(mut self) -> Server {
        let server = &mut self;
        let answer = server.request("initialize", initialize("2025-11-25"));
        assert_eq!(answer["result"]["protocolVersion"], "2025-11-25", "{answer}");
        server.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        self
    }

    pub fn send(&mut self, line: impl AsRef<[u8]>) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(line.as_ref()).unwrap();
        stdin.write_all(b"\n").unwrap();
    }

    /// Sends something without ending the line.
    pub fn send_part(&mut self, part: &str) {
        self.stdin.as_mut().unwrap().write_all(part.as_bytes()).unwrap();
    }

    pub fn receive(&mut self) -> Value {
        let line = self.lines.recv_timeout(PATIENCE).expect("an answer");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    pub fn request(&mut self, method: &str, params: Value) -> Value {
        self.next_id += 1;
        let id = self.next_id;
        self.send(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string());
        let answer = self.receive();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// Calls a tool and returns its envelope, which stands in the answer twice.
    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.request("tools/call", json!({ "name": tool, "arguments": arguments }));
        envelope(&answer)
    }

    /// Calls a tool that succeeds.
    pub fn data(&mut self, tool: &str, arguments: Value) -> Value {
        let mut envelope = self.call(tool, arguments);
        assert_eq!(envelope["ok"], true, "{envelope}");
        envelope["data"].take()
    }

    /// The problems that a call is refused for, each as `path: message`.
    pub fn issues(&mut self, tool: &str, arguments: Value) -> Vec<String> {
        issues(&self.call(tool, arguments))
    }

    /// Whether it still answers.
    pub fn is_alive(&mut self) -> bool {
        self.request("ping", json!({}))["result"] == json!({})
    }

    /// Sends signals, the input left open, and returns how the server ended.
    #[cfg(unix)]
    pub fn signalled(self, signals: &[rustix::process::Signal]) -> End {
        let process = rustix::process::Pid::from_raw(self.child.id() as i32).unwrap();
        for signal in signals {
            rustix::process::kill_process(process, *signal).unwrap();
        }
        self.ended()
    }

    /// Closes the input, and returns how the server ended, and what it said until then.
    pub fn end(mut self) -> End {
        drop(self.stdin.take());
        self.ended()
    }

    fn ended(mut self) -> End {
        let mut answers = Vec::new();
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => answers.push(serde_json::from_str(&line).unwrap()),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("the server does not end"),
            }
        }
        let status = self.child.wait().unwrap();
        End { status, answers, folder: self.folder }
    }
}

pub struct End {
    pub status: ExitStatus,
    pub answers: Vec<Value>,
    pub folder: tempfile::TempDir,
}

pub fn command(database: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cairn"));
    command.args(args(database)).arg("mcp");
    // Keys and heads of a test belong to the test.
    command.env("CAIRN_STATE", database.with_extension("state"));
    command
}

pub fn initialize(version: &str) -> Value {
    json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": { "name": "raw-client", "version": "1" } })
}

/// What every request carries under revision 2026-07-28.
pub fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "modern-client", "version": "1" },
    })
}

pub fn envelope(answer: &Value) -> Value {
    let result = &answer["result"];
    let envelope = &result["structuredContent"];
    assert_eq!(envelope["ok"].as_bool(), result["isError"].as_bool().map(|is_error| !is_error), "{answer}");
    let text: Value = serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(&text, envelope);
    assert_eq!(result["content"].as_array().unwrap().len(), 1);
    envelope.clone()
}

pub fn issues(envelope: &Value) -> Vec<String> {
    assert_eq!(envelope["error"]["code"], "INVALID_PARAMS", "{envelope}");
    let issues = envelope["error"]["details"]["issues"].as_array().unwrap();
    let text = |issue: &Value, key: &str| issue[key].as_str().unwrap().to_string();
    issues.iter().map(|issue| format!("{}: {}", text(issue, "path"), text(issue, "message"))).collect()
}
