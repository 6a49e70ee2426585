//! Roadmaps and their snapshots.

mod answers;
mod changes;
mod hostile;

use std::path::PathBuf;

use serde_json::Value;

use super::harness::{Server, issues};

const IMPORT: &str = "\
title: Import
description: Rows of a file become rows of a table
phases:
  - id: build
    title: Build it
  - id: ship
nodes:
  - id: parse
    label: Parse the file
    scope: one row at a time
    phase: build
  - id: batch
    label: Batch the inserts
    phase: build
    dependencies: [parse]
    owner: ada
  - id: release
    label: Release it
    phase: ship
connections:
  - from: batch
    to: release
";

/// A server beside a folder of roadmaps. No answer may say where that is.
struct Plans {
    server: Server,
}

impl Plans {
    fn start() -> Plans {
        Plans { server: Server::start() }
    }

    /// A server that finds the roadmap `import`.
    fn with_import() -> Plans {
        let plans = Plans::start();
        plans.write("import.yaml", IMPORT);
        plans
    }

    fn folder(&self) -> PathBuf {
        self.server.folder.path().join("roadmaps")
    }

    fn write(&self, file: &str, text: impl AsRef<[u8]>) {
        std::fs::create_dir_all(self.folder()).unwrap();
        std::fs::write(self.folder().join(file), text).unwrap();
    }

    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let envelope = self.server.call(tool, arguments);
        let place = self.server.folder.path().to_str().unwrap();
        assert!(!envelope.to_string().contains(place), "{envelope}");
        envelope
    }

    #[track_caller]
    fn data(&mut self, tool: &str, arguments: Value) -> Value {
        let mut envelope = self.call(tool, arguments);
        assert_eq!(envelope["ok"], true, "{envelope}");
        envelope["data"].take()
    }

    #[track_caller]
    fn issues(&mut self, tool: &str, arguments: Value) -> Vec<String> {
        issues(&self.call(tool, arguments))
    }

    /// Calls a tool that fails, and returns its code and message.
    #[track_caller]
    fn error(&mut self, tool: &str, arguments: Value) -> (String, String) {
        let envelope = self.call(tool, arguments);
        assert_eq!(envelope["ok"], false, "{envelope}");
        let text = |key: &str| envelope["error"][key].as_str().unwrap().to_string();
        (text("code"), text("message"))
    }
}

fn keys(value: &Value) -> Vec<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

/// What summaries and histories show of a hash.
fn cut(hash: &Value) -> String {
    let hash = hash.as_str().unwrap();
    assert_eq!(hash.len(), 64);
    format!("{}…", &hash[..16])
}
