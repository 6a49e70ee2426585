//! `docs/mcp-reference.md` is written from what the server says of itself.

use std::fmt::Write;

use serde_json::{Value, json};

use super::harness::Server;

fn rendered() -> String {
    let mut server = Server::start();
    let tools = server.request("tools/list", json!({}))["result"]["tools"].take();
    let mut page = String::from(
        "# MCP reference\n\nThe tools, prompts and resources of `cairn mcp`, as a client sees them. Written by a test; \
         `CAIRN_UPDATE_DOCS=1` rewrites it.\n\n\
         Every answer is `{\"ok\": true, \"data\": …}` or `{\"ok\": false, \"error\": {\"code\", \"message\", \
         \"details\"}}`, as structured content and as text. Codes: `INVALID_PARAMS` (each problem in \
         `details.issues`), `NOT_FOUND`, `CONFLICT`, `AMBIGUOUS_LABEL` (`details.candidates`), \
         `BUDGET_TOO_SMALL` (`details.item`, `details.needed`), `TOO_LARGE`, `FORBIDDEN`, `BUSY`, `DAMAGED` (`details.seq`: what is stored there does not match the log), `HANDLER_ERROR`. Arguments may also be \
         spelled in camelCase (`sessionId`).\n",
    );
    describe(&tools, &mut page);
    page.push_str("\nOnly with `--tools redact`, named beside other sets:\n");
    let mut erasing = Server::with_args(&["--tools", "redact"]).initialized();
    describe(&erasing.request("tools/list", json!({}))["result"]["tools"], &mut page);
    prompts(&mut server, &mut page);
    resources(&mut server, &mut page);
    page
}

fn describe(tools: &Value, page: &mut String) {
    for tool in tools.as_array().unwrap() {
        let hints = &tool["annotations"];
        let effect = match (&hints["readOnlyHint"], &hints["destructiveHint"]) {
            (Value::Bool(true), _) => "reads",
            (_, Value::Bool(true)) => "may overwrite",
            _ => "records",
        };
        write!(page, "\n## `{}`\n\n{} ({effect})\n\n", text(&tool["name"]), text(&tool["description"]))
            .unwrap();
        let schema = &tool["inputSchema"];
        page.push_str(match schema["properties"].as_object().unwrap().is_empty() {
            true => "No arguments.\n",
            false => "| argument | type | |\n|---|---|---|\n",
        });
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        for (name, argument) in schema["properties"].as_object().unwrap() {
            let kind = match argument["enum"].as_array() {
                Some(words) => words.iter().map(text).collect::<Vec<_>>().join(" · "),
                None => text(&argument["type"]),
            };
            let needed = if required.contains(&json!(name)) { "required; " } else { "" };
            let about = format!("{needed}{}", text(&argument["description"]).replace('|', "\\|"));
            writeln!(page, "| `{name}` | {kind} | {} |", about.trim_end_matches("; ")).unwrap();
        }
        let data = tool["outputSchema"]["properties"]["data"]["properties"].as_object().unwrap();
        let members: Vec<String> = data.keys().map(|name| format!("`{name}`")).collect();
        let members = if members.is_empty() { "as of `thought_record`".into() } else { members.join(", ") };
        write!(page, "\nData: {members}\n").unwrap();
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_string()
}

fn prompts(server: &mut Server, page: &mut String) {
    page.push_str(
        "\n## Prompts\n\nArguments are texts. The result of the first four carries `hash`, `turn` and `seq` of the \
         brief in `_meta`. An error is one of the protocol: -32602, with a message in words.\n",
    );
    let prompts = server.request("prompts/list", json!({}))["result"]["prompts"].take();
    for prompt in prompts.as_array().unwrap() {
        write!(page, "\n### `{}`\n\n{}\n\n", text(&prompt["name"]), text(&prompt["description"])).unwrap();
        page.push_str("| argument | |\n|---|---|\n");
        for argument in prompt["arguments"].as_array().unwrap() {
            let needed = if argument["required"] == true { "required; " } else { "" };
            writeln!(page, "| `{}` | {needed}{} |", text(&argument["name"]), text(&argument["description"]))
                .unwrap();
        }
    }
}

fn resources(server: &mut Server, page: &mut String) {
    page.push_str(
        "\n## Resources\n\n`resources/list` names the trees of the 50 newest sessions and the roadmaps. Ids are \
         percent-encoded. Those that can be watched are told of with `notifications/resources/updated` when this \
         server records something of the session: after `resources/subscribe`, or through `subscriptions/listen`. \
         Over HTTP only the latter is there, and tells what any process records.\n\n\
         | address | type | |\n|---|---|---|\n",
    );
    let templates =
        server.request("resources/templates/list", json!({}))["result"]["resourceTemplates"].take();
    for template in templates.as_array().unwrap() {
        let part = |key: &str| text(&template[key]);
        writeln!(page, "| `{}` | {} | {} |", part("uriTemplate"), part("mimeType"), part("description"))
            .unwrap();
    }
}

#[test]
fn the_reference_is_what_the_server_says() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/mcp-reference.md");
    let page = rendered();
    if std::env::var_os("CAIRN_UPDATE_DOCS").is_some() {
        std::fs::write(path, &page).unwrap();
    }
    let current = std::fs::read_to_string(path).unwrap_or_default();
    assert!(current == page, "docs/mcp-reference.md is not current; CAIRN_UPDATE_DOCS=1 rewrites it");
}
