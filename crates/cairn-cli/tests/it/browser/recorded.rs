//! What the viewer is looked at with: recorded through the program, as its users would.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::hostile;
use crate::it::database::{args, copy, named, on_postgres};
use crate::it::mcp::harness::Server;

/// Branches of the long session, and thoughts on each.
const BRANCHES: usize = 20;
const DEEP: usize = 100;

pub struct Recorded {
    folder: TempDir,
    /// Lets its bearer read.
    pub token: String,
    /// Ids and words that the scripts look for.
    pub known: Value,
}

impl Recorded {
    pub fn record() -> Recorded {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("cairn.db");
        run(Command::new(env!("CARGO_BIN_EXE_cairn")).arg("demo").arg("--dir").arg(folder.path()));
        let state = database.with_extension("state");
        std::fs::create_dir(&state).unwrap();
        // The demo keeps its key beside the database: from now on it is the key of these tests.
        for part in ["keys", "heads"] {
            std::fs::rename(folder.path().join(part), state.join(part)).unwrap();
        }
        if on_postgres() {
            // The demo tells its story in a file.
            let mut copy = Command::new(env!("CARGO_BIN_EXE_cairn"));
            run(copy
                .arg("copy")
                .arg("--from")
                .arg(&database)
                .arg("--to")
                .arg(named(&database))
                .env("CAIRN_STATE", &state));
            std::fs::remove_file(&database).unwrap();
        }

        let mut server = Server::in_folder(folder, &[]).initialized();
        let (first, second) = plans(&mut server);
        let (decision, brief) = memory(&mut server, &first);
        let long = long_session(&mut server);
        hostile::record(&mut server);
        let secret =
            json!({ "analysis": "the customer is Jane Doe", "session_id": "support", "agent_id": "clerk" });
        let secret = server.data("thought_analysis", secret)["id"].as_str().unwrap().to_string();
        let live = json!({ "plan_description": "wait for what comes", "session_id": "live" });
        let live = server.data("thought_plan", live)["id"].clone();
        path_given_up(&mut server);
        let folder = server.end().folder;
        run(on(&database).args([
            "redact",
            &secret,
            "--reason",
            "asked for by the customer",
            "--by",
            "ada",
            "--yes",
        ]));
        hostile::record_with_own_ids(&database);
        run(on(&database).arg("checkpoint"));
        let token =
            run(on(&database).args(["token", "add", "reader", "--scope", "read"])).trim_end().to_string();
        let known = json!({
            "demo": "slow-checkout",
            "demo_action": "commit-4f2a91c",
            "contexts": [first, second],
            "memory": MEMORY,
            "decision": decision,
            "brief": brief,
            "long": LONG,
            "long_last": long,
            "long_count": 1 + BRANCHES * DEEP,
            "live": "live",
            "live_first": live,
            "given_up": GIVEN_UP,
            "redacted": secret,
            "hostile": hostile::LABEL,
            "hostile_roadmap": hostile::ROADMAP,
            "hostile_markup": hostile::MARKUP,
        });
        Recorded { folder, token, known }
    }

    pub fn database(&self) -> PathBuf {
        self.folder.path().join("cairn.db")
    }

    /// The database once more, in a folder of its own, with the same key.
    pub fn copy(&self) -> TempDir {
        let folder = tempfile::tempdir().unwrap();
        copy(&self.database(), &folder.path().join("cairn.db"));
        folder
    }
}

fn on(database: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cairn"));
    command.args(args(database)).env("CAIRN_STATE", database.with_extension("state"));
    command
}

#[track_caller]
fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A plan in two states.
fn plans(server: &mut Server) -> (Value, Value) {
    let node = |id: &str, label: &str, phase: &str, needs: &[&str]| json!({ "id": id, "label": label, "phase": phase, "dependencies": needs });
    let before = json!([
        node("menu", "Write the menu", "prepare", &[]),
        node("shop", "Buy vegetables", "prepare", &["menu"]),
        node("wine", "Choose a wine", "prepare", &["menu"]),
        node("soup", "Cook the soup", "cook", &["shop"]),
        node("bread", "Bake bread", "cook", &["shop"]),
        node("table", "Lay the table", "serve", &["soup", "bread", "wine"]),
    ]);
    let after = json!([
        node("menu", "Write the menu", "prepare", &[]),
        node("shop", "Buy vegetables and bread", "prepare", &["menu"]),
        node("wine", "Choose a wine", "prepare", &["menu"]),
        node("soup", "Cook the soup", "cook", &["shop"]),
        node("salad", "Make a salad", "cook", &["shop"]),
        node("table", "Lay the table", "serve", &["soup", "salad", "wine"]),
    ]);
    let phases = json!([
        { "id": "prepare", "title": "Prepare" }, { "id": "cook", "title": "Cook" }, { "id": "serve", "title": "Serve" },
    ]);
    let mut freeze = |title: &str, nodes: &Value| {
        let plan = json!({ "roadmap_id": "dinner", "title": title, "nodes": nodes, "phases": phases, "overwrite": true });
        server.data("roadmap_register", plan);
        server.data("context_ensure", json!({ "roadmap_id": "dinner" }))["context"]["context_id"].clone()
    };
    (freeze("Dinner for four", &before), freeze("Dinner for five", &after))
}

const GIVEN_UP: &str = "two-ways";

/// A session in which one way was tried and another taken: for those who record in it while they look at it.
fn path_given_up(server: &mut Server) {
    let mut think = |kind: &str, content: &str, parent: &Value| {
        let thought =
            json!({ "type": kind, "content": content, "session_id": GIVEN_UP, "parent_id": parent });
        server.data("thought_record", thought)["id"].clone()
    };
    let plan = think("plan", "find the quicker way", &Value::Null);
    think("analysis", "over the hill", &plan);
    let valley = think("analysis", "through the valley", &plan);
    think("decision", "take the valley", &valley);
}

const MEMORY: &str = "dinner-for-four";

/// A session with three turns; its decision names the brief and the plan that it was made on.
fn memory(server: &mut Server, context: &Value) -> (Value, Value) {
    server.data("session_open", json!({ "session_id": MEMORY, "types": ["recipe", "guest"] }));
    let turns = [
        (
            "What could I cook for four on Friday?",
            "Pumpkin soup or a stew: which?",
            "propose",
            "find two dishes",
            "exploring",
        ),
        (
            "Soup. Nora does not eat dairy.",
            "Pumpkin soup with coconut milk, then.",
            "plan_direct",
            "settle on one dish",
            "narrowing",
        ),
        (
            "Save it, and tell me what to buy.",
            "Saved. You need a pumpkin, coconut milk and ginger.",
            "plan_direct",
            "save the recipe and list what to buy",
            "executing",
        ),
    ];
    let entities = [
        json!([
            { "op": "read", "type": "recipe", "id": "r-7", "label": "Pumpkin soup", "body": { "serves": 4, "minutes": 45 } },
            { "op": "read", "type": "recipe", "id": "r-9", "label": "Lentil stew" },
            { "op": "read", "type": "guest", "id": "g-1", "label": "Nora" },
        ]),
        json!([
            { "op": "generate", "type": "recipe", "label": "Pumpkin soup without dairy", "body": { "serves": 4, "milk": "coconut" } },
            { "op": "retain", "ref": "guest_1", "reason": "does not eat dairy" },
        ]),
        json!([{ "op": "create", "type": "recipe", "id": "r-12", "from": "gen_recipe_1" }]),
    ];
    let mut named = (Value::Null, Value::Null);
    let mut parent = Value::Null;
    for (number, ((user, reply, decision, goal, phase), ops)) in turns.into_iter().zip(entities).enumerate() {
        server.data("turn_begin", json!({ "session_id": MEMORY, "message": user }));
        server.data("entity_apply", json!({ "session_id": MEMORY, "ops": ops }));
        let step = json!({ "step_num": 1, "type": "read", "description": goal, "outcome": "found what was needed", "entities_involved": ["recipe_1"] });
        server.data("turn_step", json!({ "session_id": MEMORY, "step": step }));
        let mut note = json!({ "session_id": MEMORY, "decision": decision, "goal": goal, "phase": phase });
        if number == 1 {
            note["constraints"] = json!([{ "key": "diet of Nora", "value": "no dairy" }]);
        }
        server.data("turn_note", note);
        let brief =
            server.data("brief_build", json!({ "session_id": MEMORY, "node": "think", "store": true }));
        let thought = json!({
            "type": if number == 1 { "decision" } else { "analysis" },
            "content": format!("Turn {}: {reply}", number + 1),
            "session_id": MEMORY, "agent_id": "cook", "parent_id": parent,
            "brief_id": brief["brief_id"], "context_id": context,
        });
        let thought = server.data("thought_record", thought);
        if number == 1 {
            named = (thought["id"].clone(), brief["brief_id"].clone());
        }
        parent = thought["id"].clone();
        server.data("turn_end", json!({ "session_id": MEMORY, "reply": reply, "reply_summary": reply }));
    }
    named
}

const LONG: &str = "long-haul";

/// Two thousand thoughts: a root, and branches that each lead far down. Those of one depth are sent at once.
fn long_session(server: &mut Server) -> Value {
    let root =
        json!({ "plan_description": "Look into everything", "session_id": LONG, "agent_id": "walker" });
    let root = server.data("thought_plan", root)["id"].clone();
    let mut ends = vec![root; BRANCHES];
    for depth in 0..DEEP {
        for (branch, end) in ends.iter().enumerate() {
            let thought = json!({
                "type": if depth % 10 == 9 { "decision" } else { "analysis" },
                "content": format!("branch {branch}, step {depth}: needle{branch}x{depth}"),
                "session_id": LONG, "agent_id": "walker", "parent_id": end,
            });
            let call = json!({ "name": "thought_record", "arguments": thought });
            server.send(
                json!({ "jsonrpc": "2.0", "id": branch, "method": "tools/call", "params": call }).to_string(),
            );
        }
        for _ in 0..BRANCHES {
            let answer = server.receive();
            let branch = answer["id"].as_u64().unwrap() as usize;
            ends[branch] = answer["result"]["structuredContent"]["data"]["id"].clone();
            assert!(ends[branch].is_string(), "{answer}");
        }
    }
    ends.pop().unwrap()
}
