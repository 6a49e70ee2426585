//! Wrong tokens, tokens in cookies, and that no token is told to anybody.

use std::time::{Duration, Instant};

use super::agent::Agent;
use super::wire::{self, ask, get};
use super::*;

fn with(serving: &Serving, token: &str) -> u16 {
    let token = format!("Bearer {token}");
    ask(serving.addr, "GET", "/openapi.json", &[("Authorization", &token)], b"").status
}

#[test]
fn whoever_guesses_has_to_wait_and_whoever_got_in_before_has_not() {
    let serving = Serving::start(Access::Tokens);
    let [used, unused] = [0; 2].map(|_| serving.token(TokenScope::Read, None));
    assert_eq!(with(&serving, &used), 200);
    for _ in 0..10 {
        assert_eq!(with(&serving, NO_TOKEN), 401);
    }
    let refused = ask(serving.addr, "GET", "/", &[("Authorization", &format!("Bearer {NO_TOKEN}"))], b"");
    assert_eq!((refused.status, refused.json()["error"]["code"].clone()), (429, "BUSY".into()));
    assert!(refused.header("retry-after").is_some());
    // Longer than a token is trusted without being looked up: a matter of time, and of nothing that could be waited for.
    std::thread::sleep(Duration::from_millis(1100));
    assert_eq!([with(&serving, &used), with(&serving, &unused)], [200, 429]);
    // What needs no token is not touched by it.
    assert_eq!(get(serving.addr, "/healthz").status, 200);
    assert_eq!(get(serving.addr, "/").status, 401);
}

#[cfg(target_os = "linux")]
#[test]
fn other_addresses_do_not_wait_for_one_that_guesses() {
    use std::io::{Read, Write};
    let serving = Serving::start(Access::Tokens);
    let from = |address: [u8; 4]| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let mut stream = runtime.block_on(async {
            let socket = tokio::net::TcpSocket::new_v4().unwrap();
            socket.bind((address, 0).into()).unwrap();
            socket.connect(serving.addr).await.unwrap().into_std().unwrap()
        });
        stream.set_nonblocking(false).unwrap();
        let token = format!("Bearer {NO_TOKEN}");
        let headers = [("Authorization", token.as_str()), ("Connection", "close")];
        stream.write_all(&wire::written("GET", "/", &headers, b"")).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer["HTTP/1.1 ".len()..][..3].to_string()
    };
    for _ in 0..10 {
        assert_eq!(from([127, 0, 0, 2]), "401");
    }
    assert_eq!([from([127, 0, 0, 2]), from([127, 0, 0, 3])], ["429", "401"]);
}

#[test]
fn a_revoked_token_ends_within_seconds() {
    let serving = Serving::start(Access::Tokens);
    let new = NewToken { name: "t".to_string(), scope: TokenScope::Read, agent_id: None };
    let added = serving.site.cairn.token_add(new).unwrap();
    assert_eq!(with(&serving, &added.token), 200);
    serving.site.cairn.token_revoke(&added.info.id).unwrap();
    let revoked = Instant::now();
    loop {
        // How long the answer takes says nothing about the token.
        let asked = revoked.elapsed();
        if with(&serving, &added.token) != 200 {
            break;
        }
        assert!(asked < Duration::from_secs(2), "a revoked token still works");
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(with(&serving, &added.token), 401);
}

#[test]
fn a_stream_ends_when_its_token_is_revoked() {
    let serving = Serving::start(Access::Tokens);
    let new = NewToken { name: "t".to_string(), scope: TokenScope::Read, agent_id: None };
    let added = serving.site.cairn.token_add(new).unwrap();
    let bearer = format!("Bearer {}", added.token);
    let mut events = wire::Wire::open(serving.addr);
    events.request("GET", "/events", &[("Authorization", &bearer)], b"").unwrap();
    assert_eq!(events.head().unwrap().0, 200);
    let mut listening = Agent::with_token(serving.addr, &added.token);
    let tree = serde_json::json!({ "resourceSubscriptions": ["cairn://session/s/tree"] });
    listening.send("subscriptions/listen", serde_json::json!({ "notifications": tree })).unwrap();
    let mut listening = listening.into_wire();
    assert_eq!(listening.head().unwrap().0, 200);
    serving.site.cairn.token_revoke(&added.info.id).unwrap();
    for stream in [&mut events, &mut listening] {
        while stream.chunk().unwrap().is_some() {}
    }
}

#[test]
fn when_a_token_was_used_is_noted() {
    let serving = Serving::start(Access::Tokens);
    let token = serving.token(TokenScope::Read, None);
    assert_eq!(with(&serving, &token), 200);
    let began = Instant::now();
    while serving.site.cairn.tokens().unwrap()[0].last_used_at.is_none() {
        assert!(began.elapsed() < Duration::from_secs(60), "no use is noted");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn signing_in_puts_the_token_where_no_script_finds_it() {
    let serving = Serving::start(Access::Tokens);
    let token = serving.token(TokenScope::Read, None);
    let sign_in = |token: &str, next: &str| {
        let body = format!("token={token}&next={next}");
        let form = ("Content-Type", "application/x-www-form-urlencoded");
        ask(serving.addr, "POST", "/sign-in", &[form, ("Accept", "text/html")], body.as_bytes())
    };
    let answer = sign_in(&token, "%2Fsessions");
    assert_eq!((answer.status, answer.header("location")), (303, Some("/sessions")));
    let cookie = answer.header("set-cookie").unwrap();
    let parts: Vec<&str> = cookie.split("; ").collect();
    assert_eq!(parts[0], format!("cairn_token={token}"));
    for part in ["Path=/", "HttpOnly", "SameSite=Lax"] {
        assert!(parts.contains(&part), "{cookie}");
    }
    assert!(!parts.contains(&"Secure"), "without encryption the browser would not send it back: {cookie}");
    // Nobody is sent to another server by signing in here.
    for next in
        ["https%3A%2F%2Fevil.example", "%2F%2Fevil.example", "%2F%5Cevil.example", "%2F%09%2Fevil.example"]
    {
        assert_eq!(sign_in(&token, next).header("location"), Some("/"), "{next}");
    }
    let wrong = sign_in(NO_TOKEN, "%2F");
    assert_eq!((wrong.status, wrong.header("set-cookie")), (401, None));
    let out = ask(serving.addr, "POST", "/sign-out", &[], b"");
    assert!(out.header("set-cookie").unwrap().starts_with("cairn_token=; ") && out.status == 303);
    assert!(out.header("set-cookie").unwrap().contains("Max-Age=0"));
}

/// The five tools, with the name of the argument that holds the text.
const RECORDING: [(&str, &str); 5] = [
    ("thought_record", "content"),
    ("thought_plan", "plan_description"),
    ("thought_analysis", "analysis"),
    ("thought_decision", "decision"),
    ("thought_reflection", "reflection"),
];

#[test]
fn a_token_of_an_agent_records_as_nobody_else() {
    let serving = Serving::start(Access::Tokens);
    let mut bound = Agent::with_token(serving.addr, &serving.token(TokenScope::Admin, Some("builder")));
    for (tool, text) in RECORDING {
        let arguments = |more: serde_json::Value| {
            let mut arguments = serde_json::json!({ "session_id": "s", text: "x" });
            if tool == "thought_record" {
                arguments["type"] = "plan".into();
            }
            arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            arguments
        };
        for named in [
            serde_json::json!({ "agent_id": "other" }),
            serde_json::json!({ "agentId": "other" }),
            serde_json::json!({ "metadata": { "agent_id": "other" } }),
            serde_json::json!({ "agent_id": "builder", "metadata": { "agent_id": "other" } }),
            serde_json::json!({ "agent_id": ["builder"] }),
        ] {
            assert_eq!(bound.refused(tool, arguments(named.clone())), "FORBIDDEN", "{tool} {named}");
        }
        for named in [
            serde_json::json!({}),
            serde_json::json!({ "agent_id": null }),
            serde_json::json!({ "agent_id": "builder" }),
            serde_json::json!({ "agentId": "builder" }),
            serde_json::json!({ "metadata": { "agent_id": "builder", "branch": "main" } }),
        ] {
            assert_eq!(bound.data(tool, arguments(named))["agent_id"], "builder", "{tool}");
        }
    }
    let thoughts = serving.site.cairn.list(&cairn::Filter::default()).unwrap().records;
    assert!(thoughts.iter().all(|thought| thought.agent_id.as_str() == "builder"), "{thoughts:?}");
    // Who answers for a redaction stays in the log for ever, so that is not anybody's to say either.
    let id = thoughts[0].id.to_string();
    let redact = |by: &str| serde_json::json!({ "id": id, "reason": "leaked", "by": by });
    assert_eq!(bound.refused("thought_redact", redact("other")), "FORBIDDEN");
    let mut unsaid = redact("");
    unsaid.as_object_mut().unwrap().remove("by");
    assert_eq!(bound.data("thought_redact", unsaid)["by"], "builder");
}

#[test]
fn a_token_of_nobody_records_as_it_says() {
    let serving = Serving::start(Access::Tokens);
    let mut agent = Agent::with_token(serving.addr, &serving.token(TokenScope::Write, None));
    let named = serde_json::json!({ "session_id": "s", "decision": "x", "agent_id": "anyone" });
    assert_eq!(agent.data("thought_decision", named)["agent_id"], "anyone");
    let unnamed = serde_json::json!({ "session_id": "s", "decision": "x" });
    assert_eq!(agent.data("thought_decision", unnamed)["agent_id"], "modern-client");
}

#[test]
fn a_cookie_says_nothing_where_nobody_needs_a_token() {
    let serving = Serving::start(Access::Open);
    let cookie = format!("cairn_token={NO_TOKEN}");
    for _ in 0..12 {
        assert_eq!(ask(serving.addr, "GET", "/", &[("Cookie", &cookie)], b"").status, 200);
    }
}

#[test]
fn whoever_signs_in_is_sent_on_to_the_page_that_was_asked_for() {
    let serving = Serving::start(Access::Tokens);
    let next = |method: &str, path: &str| {
        let page = ask(serving.addr, method, path, &[("Accept", "text/html")], b"");
        assert_eq!(page.status, 401);
        let text = page.text();
        let value = text.split("name=\"next\" value=\"").nth(1).unwrap().split('"').next().unwrap();
        value.replace("&amp;", "&")
    };
    assert_eq!(next("GET", "/compare?from=1&to=2"), "/compare?from=1&to=2");
    assert_eq!(next("GET", "/search?q=a+%22b%22&token=secret"), "/search?q=a+%22b%22");
    assert_eq!(next("POST", "/verify"), "/");
}

#[test]
fn the_form_to_sign_in_is_short() {
    let serving = Serving::start(Access::Tokens);
    let form = [("Content-Type", "application/x-www-form-urlencoded")];
    let body = format!("token={}", "a".repeat(64 << 10));
    assert_eq!(ask(serving.addr, "POST", "/sign-in", &form, body.as_bytes()).status, 413);
}
