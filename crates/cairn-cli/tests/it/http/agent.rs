//! An agent that calls tools over HTTP, in either of the two ways there are. The tests inside the program use it too.

use std::net::SocketAddr;

use serde_json::{Value, json};

use super::wire::{Answer, Wire};

pub const FORMS: [(&str, &str); 2] =
    [("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")];

/// What every request carries under revision 2026-07-28.
pub fn meta(name: &str) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": name, "version": "1" },
    })
}

/// A request under that revision: its headers, and its body.
pub fn modern(id: u64, method: &str, mut params: Value) -> (Vec<(String, String)>, String) {
    if params["_meta"].is_null() {
        params["_meta"] = meta("modern-client");
    }
    let name = params["name"].as_str().or_else(|| params["uri"].as_str()).map(ToString::to_string);
    let mut headers: Vec<(String, String)> =
        FORMS.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    headers.push(("MCP-Protocol-Version".into(), "2026-07-28".into()));
    headers.push(("Mcp-Method".into(), method.into()));
    headers.extend(name.map(|name| ("Mcp-Name".to_string(), name)));
    let body = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
    (headers, body.to_string())
}

/// Calls tools on one connection, one after the other.
pub struct Agent {
    wire: Wire,
    headers: Vec<(String, String)>,
    next_id: u64,
}

impl Agent {
    #[track_caller]
    pub fn new(addr: SocketAddr) -> Agent {
        Agent { wire: Wire::open(addr), headers: Vec::new(), next_id: 0 }
    }

    pub fn with_token(addr: SocketAddr, token: &str) -> Agent {
        Agent::new(addr).with_header("Authorization", &format!("Bearer {token}"))
    }

    pub fn with_header(mut self, name: &str, value: &str) -> Agent {
        self.headers.push((name.to_string(), value.to_string()));
        self
    }

    /// Sends a request under the newest revision.
    pub fn send(&mut self, method: &str, params: Value) -> std::io::Result<()> {
        self.next_id += 1;
        let (headers, body) = modern(self.next_id, method, params);
        let headers: Vec<(&str, &str)> = headers
            .iter()
            .chain(&self.headers)
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        self.wire.request("POST", "/mcp", &headers, body.as_bytes())
    }

    pub fn receive(&mut self) -> std::io::Result<Answer> {
        self.wire.answer()
    }

    #[track_caller]
    pub fn request(&mut self, method: &str, params: Value) -> Answer {
        self.send(method, params).unwrap();
        self.receive().unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    /// Calls a tool and returns its envelope.
    #[track_caller]
    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.request("tools/call", json!({ "name": tool, "arguments": arguments }));
        assert_eq!(answer.status, 200, "{}", answer.whole());
        answer.json()["result"]["structuredContent"].take()
    }

    /// Calls a tool that succeeds.
    #[track_caller]
    pub fn data(&mut self, tool: &str, arguments: Value) -> Value {
        let mut envelope = self.call(tool, arguments);
        assert_eq!(envelope["ok"], true, "{envelope}");
        envelope["data"].take()
    }

    /// What it is refused for.
    #[track_caller]
    pub fn refused(&mut self, tool: &str, arguments: Value) -> String {
        let envelope = self.call(tool, arguments);
        assert_eq!(envelope["ok"], false, "{envelope}");
        envelope["error"]["code"].as_str().unwrap().to_string()
    }

    /// The connection, once something has been asked for that is answered by a stream.
    pub fn into_wire(self) -> Wire {
        self.wire
    }
}
