//! `/connect`: what to put where, so that a client records here.

use std::collections::BTreeMap;

use maud::{Markup, html};
use serde::Serialize;
use serde_json::{Value, json};

use crate::error::CliError;
use crate::serve::{Access, Asked, Live, Page, Shown};
use crate::web::text::text;

/// Stands for the reader's own token.
const TOKEN: &str = "YOUR_TOKEN";

pub(super) struct Connect;

/// How to connect to the server that is asked.
#[derive(Serialize)]
pub(super) struct HowTo {
    /// Where it speaks MCP, by the name that it was reached by.
    url: String,
    needs_token: bool,
    clients: Vec<Client>,
}

/// One client, and what it needs to be told.
#[derive(Serialize)]
struct Client {
    name: &'static str,
    /// The server as a program that the client starts.
    stdio: Vec<Snippet>,
    /// This server.
    http: Vec<Snippet>,
}

/// Something to copy.
#[derive(Serialize)]
struct Snippet {
    /// Where it goes.
    to: &'static str,
    text: String,
}

impl Page for Connect {
    type Data = HowTo;

    fn read(asked: &Asked) -> Result<HowTo, CliError> {
        Ok(HowTo::of(asked))
    }

    fn show(data: &HowTo, _asked: &Asked) -> Shown {
        let main = html! { h1 { "Connect a client" } (show(data)) };
        Shown { title: "Connect a client".to_string(), main, live: Live::Nothing }
    }
}

impl HowTo {
    pub(super) fn of(asked: &Asked) -> HowTo {
        let scheme = if asked.site.encrypted { "https" } else { "http" };
        let url = format!("{scheme}://{}/mcp", asked.host);
        let needs_token = asked.site.access == Access::Tokens;
        HowTo { clients: clients(&url, needs_token), url, needs_token }
    }
}

/// A server as the files of most clients name it; what is not said is left out.
#[derive(Serialize, Default, Clone)]
struct Server {
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    args: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    env: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    headers: Option<Value>,
}

impl Server {
    fn of_type(&self, kind: &'static str) -> Server {
        Server { kind: Some(kind), ..self.clone() }
    }
}

fn clients(url: &str, needs_token: bool) -> Vec<Client> {
    let snippet = |to, text: String| Snippet { to, text };
    let bearer = format!("Bearer {TOKEN}");
    let program = Server { command: Some("cairn"), args: vec!["mcp".to_string()], ..Server::default() };
    let headers = needs_token.then(|| json!({ "Authorization": bearer }));
    let remote = Server { url: Some(url.to_string()), headers, ..Server::default() };
    let header =
        if needs_token { format!(" \\\n  --header \"Authorization: {bearer}\"") } else { String::new() };
    let plain = url.starts_with("http://").then_some("--allow-http");
    // A space inside an argument is lost on some systems, so it comes from the environment.
    let authorised = needs_token.then_some(["--header", "Authorization:${CAIRN_AUTHORIZATION}"]);
    let bridge = ["-y", "mcp-remote", url].into_iter().chain(plain).chain(authorised.into_iter().flatten());
    let bridge = Server {
        command: Some("npx"),
        args: bridge.map(str::to_string).collect(),
        env: needs_token.then(|| json!({ "CAIRN_AUTHORIZATION": bearer })),
        ..Server::default()
    };
    let token_from = if needs_token { "\nbearer_token_env_var = \"CAIRN_TOKEN\"" } else { "" };
    vec![
        Client {
            name: "Claude Code",
            stdio: vec![
                snippet("In a terminal, in the folder of the project", "cairn init".to_string()),
                snippet("Or for all projects", "claude mcp add --scope user cairn -- cairn mcp".to_string()),
            ],
            http: vec![
                snippet("In a terminal", format!("claude mcp add --transport http cairn {url}{header}")),
                snippet("Or in .mcp.json", file("mcpServers", &remote.of_type("http"))),
            ],
        },
        Client {
            name: "Claude Desktop",
            stdio: vec![snippet("In claude_desktop_config.json", file("mcpServers", &program))],
            http: vec![snippet(
                "In claude_desktop_config.json; it starts programs only, so one is put between (needs Node.js)",
                file("mcpServers", &bridge),
            )],
        },
        Client {
            name: "Cursor",
            stdio: vec![snippet("In .cursor/mcp.json", file("mcpServers", &program))],
            http: vec![snippet("In .cursor/mcp.json", file("mcpServers", &remote))],
        },
        Client {
            name: "VS Code",
            stdio: vec![snippet("In .vscode/mcp.json", file("servers", &program.of_type("stdio")))],
            http: vec![snippet("In .vscode/mcp.json", file("servers", &remote.of_type("http")))],
        },
        Client {
            name: "Codex",
            stdio: vec![snippet("In a terminal", "codex mcp add cairn -- cairn mcp".to_string())],
            http: vec![snippet(
                if needs_token {
                    "In ~/.codex/config.toml; the token stands in the environment, as CAIRN_TOKEN"
                } else {
                    "In ~/.codex/config.toml"
                },
                format!("[mcp_servers.cairn]\nurl = {}{token_from}", json!(url)),
            )],
        },
    ]
}

/// A file that names one server.
fn file(servers: &'static str, server: &Server) -> String {
    let whole = BTreeMap::from([(servers, BTreeMap::from([("cairn", server)]))]);
    serde_json::to_string_pretty(&whole).unwrap_or_default()
}

/// What to do, for every client. The first is open.
pub(super) fn show(how_to: &HowTo) -> Markup {
    html! {
        p { "Two ways: the client starts Cairn itself (stdio), or it talks to this server (HTTP). Several clients may record into the same log at once." }
        @if how_to.needs_token {
            p.hint { "This server asks for a token. Whoever runs it makes one with " code { "cairn token add NAME --scope write" } "; put it in the place of " code { (TOKEN) } "." }
        }
        @for (place, client) in how_to.clients.iter().enumerate() {
            details.client id={ "client-" (place) } open[place == 0] {
                summary { h2 { (client.name) } }
                div.columns {
                    div {
                        h3 { "Over HTTP, to this server" }
                        @for snippet in &client.http { (copyable(snippet)) }
                    }
                    div {
                        h3 { "Over stdio, as a program" }
                        @for snippet in &client.stdio { (copyable(snippet)) }
                    }
                }
            }
        }
        p.small.faint {
            "Over stdio Cairn records into the database of the folder it is started in (" code { ".cairn/" } "), else into the user's own; "
            code { "cairn mcp --db FILE" } " names one. Where a client does not find " code { "cairn" } ", give its whole path."
        }
        h2 { "Or look at an example first" }
        (copyable(&Snippet {
            to: "In a terminal: a small story with a plan, a decision, an abandoned path and a proof, on a server of its own",
            text: "cairn demo --serve".to_string(),
        }))
    }
}

fn copyable(snippet: &Snippet) -> Markup {
    html! {
        figure.copyable {
            figcaption { (snippet.to) }
            pre tabindex="0" { code { (text(&snippet.text)) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_to_be_copied_is_what_the_clients_read() {
        for needs_token in [false, true] {
            for client in clients("http://localhost:7411/mcp", needs_token) {
                for Snippet { to, text } in client.stdio.iter().chain(&client.http) {
                    if to.contains(".json") {
                        let file: Value = serde_json::from_str(text).unwrap();
                        let servers = if client.name == "VS Code" { "servers" } else { "mcpServers" };
                        assert!(file[servers]["cairn"].is_object(), "{text}");
                    }
                }
                let http: String = client.http.iter().map(|snippet| snippet.text.as_str()).collect();
                assert!(http.contains("http://localhost:7411/mcp"));
                let has_token = http.contains(TOKEN) || http.contains("bearer_token_env_var");
                assert_eq!(has_token, needs_token, "{}", client.name);
            }
        }
    }
}
