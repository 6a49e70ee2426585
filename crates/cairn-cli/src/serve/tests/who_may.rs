//! Every address for everyone who might ask, and every tool for every scope: made from the tables themselves, so that
//! nothing new is left out. `docs/serving.md` shows the same.

use std::fmt::Write;
use std::path::Path;

use serde_json::json;

use super::agent::{Agent, modern};
use super::wire::{Answer, Wire};
use super::*;
use crate::mcp::ToolSets;
use crate::serve::routes::Method;

/// Who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asking {
    Nobody,
    With(TokenScope),
    Revoked,
    Wrong,
    /// An administrator, by a name that is not the server's.
    OtherHost,
    /// An administrator, from a page that this server did not serve.
    ForeignPage,
    /// An administrator, from a page of this server.
    OwnPage,
}

const ALL: [Asking; 9] = [
    Asking::Nobody,
    Asking::With(TokenScope::Read),
    Asking::With(TokenScope::Write),
    Asking::With(TokenScope::Admin),
    Asking::Revoked,
    Asking::Wrong,
    Asking::OtherHost,
    Asking::ForeignPage,
    Asking::OwnPage,
];

/// What must come back.
#[derive(Debug, PartialEq, Eq)]
enum Expected {
    /// Whatever is answered to those who may: it may be that there is no such thing.
    LetIn,
    Status(u16),
}

fn expected(route: &Route, asking: Asking, access: Access) -> Expected {
    if matches!(asking, Asking::OtherHost | Asking::ForeignPage) {
        return Expected::Status(403);
    }
    // The form that signs in looks at the token in the form and at no other; here it is empty.
    if let Answers::SignIn = route.answers {
        return Expected::Status(401);
    }
    let Needs::Scope(needed) = route.needs else { return Expected::LetIn };
    match (asking, access) {
        (Asking::Nobody, Access::Open) => Expected::LetIn,
        (Asking::Nobody | Asking::Revoked | Asking::Wrong, _) => Expected::Status(401),
        (Asking::With(scope), _) if scope < needed => Expected::Status(403),
        _ => Expected::LetIn,
    }
}

/// Asks for an address, with something in each of its places.
fn ask(serving: &Serving, route: &Route, path: &str, headers: &[(&str, &str)]) -> Answer {
    let path = path.split('/').map(|part| if part.starts_with('{') { "1" } else { part });
    let path = path.collect::<Vec<_>>().join("/");
    let mut headers = headers.to_vec();
    let (form, ping) = modern(1, "tools/list", json!({}));
    let body = match route.answers {
        Answers::Mcp => {
            headers.extend(form.iter().map(|(name, value)| (name.as_str(), value.as_str())));
            ping.as_bytes()
        }
        _ => b"",
    };
    let mut wire = Wire::open(serving.addr);
    wire.request(route.method.as_str(), &path, &headers, body).unwrap();
    match route.answers {
        // A stream has no end to wait for.
        Answers::Events => {
            let (status, headers) = wire.head().unwrap();
            Answer { status, headers, body: Vec::new() }
        }
        _ => wire.answer().unwrap(),
    }
}

#[test]
fn every_address_lets_in_whom_it_should_and_nobody_else() {
    for access in [Access::Tokens, Access::Open] {
        let serving = Serving::start(access);
        let tokens = TokenScope::ALL.map(|scope| serving.token(scope, None));
        let revoked = serving.revoked_token();
        let own = format!("http://{}", serving.addr);
        let host = serving.addr.to_string();
        for route in offered() {
            for path in [Some(route.path.to_string()), route.twin()].into_iter().flatten() {
                for asking in ALL {
                    let token = match asking {
                        Asking::Nobody => None,
                        Asking::With(scope) => Some(&tokens[scope as usize]),
                        Asking::Revoked => Some(&revoked),
                        Asking::Wrong => Some(&NO_TOKEN.to_string()),
                        _ => Some(&tokens[2]),
                    };
                    let token = token.map(|token| format!("Bearer {token}"));
                    let mut headers = vec![(
                        "Host",
                        if asking == Asking::OtherHost { "rebound.example" } else { host.as_str() },
                    )];
                    headers.extend(token.iter().map(|token| ("Authorization", token.as_str())));
                    match asking {
                        Asking::ForeignPage => headers.push(("Origin", "http://foreign.example")),
                        Asking::OwnPage => headers.push(("Origin", own.as_str())),
                        _ => {}
                    }
                    let answer = ask(&serving, route, &path, &headers);
                    serving.site.attempts.forget();
                    let what =
                        format!("{} {path} {asking:?} {access:?}: {}", route.method.as_str(), answer.whole());
                    match expected(route, asking, access) {
                        Expected::Status(status) => assert_eq!(answer.status, status, "{what}"),
                        Expected::LetIn => {
                            assert!(![401, 403, 405, 429, 500, 503].contains(&answer.status), "{what}");
                        }
                    }
                    let asks = answer.header("www-authenticate").is_some();
                    assert_eq!(
                        asks,
                        answer.status == 401 && !matches!(route.answers, Answers::SignIn),
                        "{what}"
                    );
                }
            }
        }
    }
}

#[test]
fn what_a_cookie_holds_counts_as_much_as_a_header() {
    let serving = Serving::start(Access::Tokens);
    for (token, status) in [(serving.token(TokenScope::Read, None), 200), (serving.revoked_token(), 401)] {
        let cookie = format!("cairn_token={token}");
        assert_eq!(wire::ask(serving.addr, "GET", "/", &[("Cookie", &cookie)], b"").status, status);
    }
}

#[test]
fn every_tool_may_be_called_by_whom_it_should_and_nobody_else() {
    let serving = Serving::start(Access::Tokens);
    let tools: ToolSets = "all,redact".parse().unwrap();
    for scope in TokenScope::ALL {
        let mut agent = Agent::with_token(serving.addr, &serving.token(scope, None));
        for tool in tools.tools() {
            let envelope = agent.call(tool.name, json!({}));
            let refused = envelope["error"]["code"] == "FORBIDDEN";
            assert_eq!(refused, scope < tool.needs(), "{} {scope}: {envelope}", tool.name);
        }
    }
}

#[test]
fn nothing_but_what_reads_is_open_to_a_token_that_may_read() {
    let tools: ToolSets = "all,redact".parse().unwrap();
    for tool in tools.tools() {
        let reads = tool.listed().annotations.and_then(|hints| hints.read_only_hint) == Some(true);
        assert_eq!(reads, tool.needs() == TokenScope::Read, "{}", tool.name);
        assert_eq!(tool.name == "thought_redact", tool.needs() == TokenScope::Admin, "{}", tool.name);
    }
    for route in offered().filter(|route| route.method == Method::Post) {
        let known = ["/mcp", "/sign-in", "/sign-out", "/verify"];
        assert!(known.contains(&route.path), "{} changes something: what does it need?", route.path);
    }
}

const BEGIN: &str = "<!-- From here on a test writes: CAIRN_UPDATE_DOCS=1 cargo test -p cairn-cli -->\n";
const END: &str = "<!-- To here -->\n";

/// The tables of who may do what.
fn tables() -> String {
    let mut page = String::from("\n| address | needs | |\n|---|---|---|\n");
    for route in offered() {
        let needs = match route.needs {
            Needs::Nothing => "nothing",
            Needs::Scope(scope) => scope.as_str(),
        };
        let twin = route.twin().map(|twin| format!("; as JSON `{twin}`")).unwrap_or_default();
        let _ = writeln!(
            page,
            "| `{} {}` | {needs} | {}{twin} |",
            route.method.as_str(),
            route.path,
            route.about
        );
    }
    page.push_str("\n| tools over MCP | need |\n|---|---|\n");
    let tools: ToolSets = "all,redact".parse().unwrap();
    for scope in TokenScope::ALL {
        let tools = tools.tools().into_iter().filter(|tool| tool.needs() == scope);
        let names: Vec<String> = tools.map(|tool| format!("`{}`", tool.name)).collect();
        let _ = writeln!(page, "| {} | {scope} |", names.join(", "));
    }
    page + "\n"
}

#[test]
fn the_document_shows_the_same_tables() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/serving.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).expect("the place where the tables begin");
    let (written, after) = rest.split_once(END).expect("the place where they end");
    if std::env::var_os("CAIRN_UPDATE_DOCS").is_some() {
        std::fs::write(&path, format!("{before}{BEGIN}{}{END}{after}", tables())).unwrap();
        return;
    }
    assert!(written == tables(), "docs/serving.md is out of date: run this with CAIRN_UPDATE_DOCS=1");
}
