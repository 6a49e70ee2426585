//! What somebody would record who wants a page to do more than show it.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use cairn::{KeyFolder, NewThought, Options, ThoughtType};
use serde_json::{Value, json};

use crate::it::database;
use crate::it::mcp::harness::Server;

/// Each would set `owned` in the window, or make an element of the class `owned`, if it were more than text.
pub const MARKUP: [&str; 9] = [
    "<script class=owned>window.owned=1</script>",
    "<img class=owned src=x onerror=window.owned=1>",
    "<svg class=owned onload=window.owned=1><a href=javascript:window.owned=1>x</a></svg>",
    "\"><b class=owned onmouseover=window.owned=1>x</b>",
    "' autofocus onfocus='window.owned=1' class='owned",
    "javascript:window.owned=1//",
    "data:text/html,<script>window.owned=1</script>",
    "]]></style></title></textarea><i class=owned></i><!-- <style class=owned>*{display:none}</style>",
    "<a class=owned href=//example.invalid/>x</a>&lt;b class=owned&gt;&#60;b&#62;{{7*7}}${7*7}",
];
/// Reorders, hides or splits what stands beside it; a label may hold these.
pub const ACTING: &str = "user\u{202e}nimda\u{2066}\u{200b}\u{feff}\u{2028}\u{e0041} end";
/// A text may hold these as well; a label may not.
pub const CONTROL: &str = "\u{1b}[2J\u{1b}]0;owned\u{7}\u{8}\r\u{9b}31m\u{7f}";
/// Hostile as a whole: goes wherever a label of 200 characters goes.
pub const LABEL: &str = "<img class=owned src=x onerror=window.owned=1>\"'><svg class=owned onload=window.owned=1>\u{202e}../%2e%2e/?a=b&c#d.json";
const TYPES: [&str; 4] = ["plan", "analysis", "decision", "reflection"];
pub const ROADMAP: &str = "hostile";

/// Records thoughts, a memory and a plan, all of them hostile.
pub fn record(server: &mut Server) {
    let mut parent = Value::Null;
    for (number, markup) in MARKUP.iter().enumerate() {
        let thought = json!({
            "type": TYPES[number % 4],
            "content": format!("{markup}\n{ACTING}\n{CONTROL}"),
            "session_id": LABEL,
            "task_id": format!("{markup}{ACTING}"),
            "agent_id": format!("{markup}{ACTING}"),
            "action_id": format!("{markup}{ACTING}"),
            "parent_id": if number % 3 == 2 { Value::Null } else { parent.clone() },
            "metadata": { format!("{markup}{ACTING}"): [markup, ACTING, CONTROL], "tool_calls": [markup] },
        });
        parent = server.data("thought_record", thought)["id"].clone();
        // Labels that look like addresses or file names are sessions of their own.
        server.data("thought_plan", json!({ "plan_description": markup, "session_id": markup }));
    }
    plan(server);
    memory(server);
}

fn plan(server: &mut Server) {
    let node = |number: usize, label: &str| {
        let needs: Vec<String> = (number > 0).then(|| MARKUP[number - 1].to_string()).into_iter().collect();
        json!({ "id": MARKUP[number], "label": format!("{label}{ACTING}"), "scope": format!("{label}{CONTROL}"),
                "phase": LABEL, "dependencies": needs })
    };
    let mut nodes: Vec<Value> =
        MARKUP.iter().enumerate().map(|(number, label)| node(number, label)).collect();
    let mut register = |title: &str, nodes: &[Value]| {
        let plan = json!({
            "roadmap_id": ROADMAP,
            "title": format!("{title}{ACTING}"),
            "description": format!("{title}{CONTROL}"),
            "nodes": nodes,
            "phases": [{ "id": LABEL, "title": LABEL }],
            "overwrite": true,
        });
        server.data("roadmap_register", plan);
        let metadata = json!({ LABEL: MARKUP });
        server.data("context_ensure", json!({ "roadmap_id": ROADMAP, "metadata": metadata }))["context"]
            ["context_id"]
            .clone()
    };
    let first = register(MARKUP[0], &nodes);
    nodes.pop();
    nodes[0]["label"] = json!(format!("{}{ACTING}", MARKUP[2]));
    nodes.push(json!({ "id": format!("{LABEL}new"), "label": MARKUP[1] }));
    register(MARKUP[1], &nodes);
    let decision =
        json!({ "decision": format!("{} names it", MARKUP[0]), "session_id": LABEL, "context_id": first });
    server.data("thought_decision", decision);
}

fn memory(server: &mut Server) {
    server.data("session_open", json!({ "session_id": LABEL }));
    for markup in &MARKUP[..3] {
        let hostile = format!("{markup}{ACTING}{CONTROL}");
        let label = format!("{markup}{ACTING}");
        server.data("turn_begin", json!({ "session_id": LABEL, "message": hostile }));
        let ops = json!([
            { "op": "read", "type": "recipe", "id": label, "label": label, "body": { hostile.clone(): hostile } },
            { "op": "generate", "type": "recipe", "label": label, "body": { "title": hostile } },
            { "op": "retain", "ref": "recipe_1", "reason": hostile },
        ]);
        server.data("entity_apply", json!({ "session_id": LABEL, "ops": ops }));
        let step = json!({ "step_num": 1, "type": "read", "description": hostile, "outcome": hostile, "subdomain": hostile, "note": hostile });
        server.data("turn_step", json!({ "session_id": LABEL, "step": step }));
        let note = json!({
            "session_id": LABEL, "goal": hostile, "user_expressed": hostile, "engagement": hostile,
            "constraints": [{ "key": hostile, "value": hostile }],
            "pending": { "type": "clarify", "context": hostile, "questions": [hostile] },
        });
        server.data("turn_note", note);
        let brief = server.data(
            "brief_build",
            json!({ "session_id": LABEL, "node": "think", "task": hostile, "store": true }),
        );
        let thought = json!({ "analysis": hostile, "session_id": LABEL, "brief_id": brief["brief_id"] });
        server.data("thought_analysis", thought);
        let end = json!({ "session_id": LABEL, "reply": hostile, "reply_summary": hostile, "blocked_reason": hostile });
        server.data("turn_end", end);
    }
}

/// Ids are minted, but who brings records from elsewhere brings their ids along: these are hostile too.
pub fn record_with_own_ids(file: &Path) {
    let state = file.with_extension("state");
    let next = AtomicUsize::new(0);
    let ids = move || {
        let number = next.fetch_add(1, Ordering::SeqCst);
        format!("{}{number}", MARKUP[number % MARKUP.len()])
    };
    let options = Options::new().signer(KeyFolder::new(state.join("keys"))).heads(state.join("heads"));
    let cairn = database::open(options.ids(ids), file);
    let mut parent = None;
    for markup in MARKUP {
        let thought =
            NewThought::new(ThoughtType::Analysis, markup).session(format!("{LABEL}.json")).agent(ACTING);
        let id = cairn.record(NewThought { parent_id: parent.take(), ..thought }).unwrap().id;
        parent = Some(id.to_string());
    }
    cairn.checkpoint().unwrap();
    cairn.close();
}
