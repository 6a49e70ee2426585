//! Requests that nobody should send: each gets a clear answer or a closed connection, and the server goes on.

use std::io;
use std::time::{Duration, Instant};

use serde_json::json;

use super::agent::{FORMS, modern};
use super::harness::Server;
use super::wire::{Answer, Wire, ask, get, written};

const KINDS: [&str; 2] = ["application/json", "application/json, text/event-stream"];

fn post(server: &Server, kind: &str, accept: Option<&str>, body: &[u8]) -> Answer {
    let mut headers = vec![("Content-Type", kind)];
    headers.extend(accept.map(|accept| ("Accept", accept)));
    ask(server.addr, "POST", "/mcp", &headers, body)
}

/// Whatever was sent before, others are answered.
#[track_caller]
fn goes_on(server: &Server) {
    assert_eq!(get(server.addr, "/healthz").status, 200);
}

#[test]
fn what_is_no_message_is_refused_in_words() {
    let server = Server::start();
    let [kind, both] = KINDS;
    for (body, status, code) in [
        (&b"{\"jsonrpc\":\"2.0\",\"id\":1,\"meth"[..], 400, -32700),
        (b"", 202, 0),
        (b"\xff\xfe", 400, -32700),
        (b"[]", 400, -32600),
        (b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", 400, -32600),
        (b"null", 400, -32600),
        (b"{}", 400, -32600),
        (b"{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}", 400, -32600),
        (b"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}", 400, -32600),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":[]}", 400, -32602),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"thought_get\",\"inputResponses\":1}}",
            400,
            -32602,
        ),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"no/such\"}", 200, -32601),
        (b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/no/such\"}", 202, 0),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", 202, 0),
    ] {
        let answer = post(&server, kind, Some(both), body);
        let what = String::from_utf8_lossy(body);
        assert_eq!(answer.status, status, "{what}: {}", answer.whole());
        if code != 0 {
            assert_eq!(answer.json()["error"]["code"], code, "{what}: {}", answer.whole());
            assert_eq!(answer.json()["jsonrpc"], "2.0");
        }
    }
    let deep = [b"[".repeat(100_000), b"{\"a\":".repeat(100_000)];
    for body in deep {
        assert_eq!(post(&server, kind, Some(both), &body).status, 400);
    }
    goes_on(&server);
}

#[test]
fn other_forms_than_json_are_refused() {
    let server = Server::start();
    let [kind, both] = KINDS;
    let ping = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    for other in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "",
        "application/jsonp",
    ] {
        assert_eq!(post(&server, other, Some(both), ping).status, 415, "{other}");
    }
    assert_eq!(post(&server, "application/json; charset=utf-8", Some(both), ping).status, 200);
    assert_eq!(post(&server, "Application/JSON", Some(both), ping).status, 200);
    for accept in [None, Some("text/html"), Some("application/json"), Some("")] {
        let answer = post(&server, kind, accept, ping);
        assert_eq!(answer.status, 406, "{accept:?}");
        assert!(answer.json()["error"]["message"].as_str().unwrap().contains("Accept"));
    }
    assert_eq!(post(&server, kind, Some("*/*"), ping).status, 200);
}

#[test]
fn a_body_that_is_too_long_is_refused_however_it_comes() {
    let server = Server::start();
    let long = vec![b' '; 5 << 20];
    let answer = post(&server, KINDS[0], Some(KINDS[1]), &long);
    assert_eq!((answer.status, answer.json()["error"]["data"]["code"].clone()), (413, json!("TOO_LARGE")));
    // Without a length.
    let mut wire = Wire::open(server.addr);
    let mut request = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n".to_vec();
    for (name, value) in FORMS {
        request.extend(format!("{name}: {value}\r\n").bytes());
    }
    request.extend(b"\r\n");
    for _ in 0..5 {
        request.extend(b"100000\r\n");
        request.extend(vec![b' '; 1 << 20]);
        request.extend(b"\r\n");
    }
    request.extend(b"0\r\n\r\n");
    wire.send(request).unwrap();
    assert_eq!(wire.answer().unwrap().status, 413);
    // So long that nobody waits for it.
    let mut wire = Wire::open(server.addr);
    let head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n";
    wire.send(head).unwrap();
    assert_eq!(wire.answer().unwrap().status, 413);
    // A client that is asked first need not send it at all.
    let mut wire = Wire::open(server.addr);
    wire.send(head.replace("\r\n\r\n", "\r\nExpect: 100-continue\r\n\r\n")).unwrap();
    assert_eq!(wire.answer().unwrap().status, 413);
    goes_on(&server);
}

#[test]
fn headers_without_end_are_cut_off() {
    let server = Server::start();
    let many: String = (0..1000).map(|n| format!("X-{n}: y\r\n")).collect();
    let long = format!("X: {}\r\n", "y".repeat(1 << 20));
    for headers in
        [many, long, "no colon\r\n".to_string(), "X: \x01\r\n".to_string(), " folded\r\n".to_string()]
    {
        let mut wire = Wire::open(server.addr);
        let _ = wire.send(format!("GET / HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n"));
        match wire.answer() {
            Ok(answer) => assert!([400, 431].contains(&answer.status), "{}", answer.whole()),
            Err(error) => assert_ne!(error.kind(), io::ErrorKind::WouldBlock, "it hangs"),
        }
    }
    for text in
        ["GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "\0\0\0\0\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"]
    {
        let mut wire = Wire::open(server.addr);
        wire.send(text).unwrap();
        match wire.answer() {
            Ok(answer) => assert!([400, 505].contains(&answer.status), "{text:?}: {}", answer.whole()),
            Err(error) => assert_ne!(error.kind(), io::ErrorKind::WouldBlock, "{text:?}: it hangs"),
        }
    }
    goes_on(&server);
}

#[test]
fn absurd_paths_lead_nowhere() {
    let server = Server::start();
    let long = format!("/{}", "a".repeat(40_000));
    for path in [
        "/../",
        "/../../etc/passwd",
        "/..%2f..%2fetc%2fpasswd",
        "/%2e%2e/",
        "/./",
        "//",
        "//evil.example/",
        "/assets/../mcp",
        "/assets/%00",
        "/assets/style.css%00.png",
        "/%ff%fe",
        "/%",
        "/%zz",
        "/sessions/%ff",
        "/assets/",
        "/assets",
        "/\\",
        "/a;b=c",
        "/MCP",
        "/mcp/",
        "/index.json.json",
        "*",
        long.as_str(),
    ] {
        for method in ["GET", "POST"] {
            let mut wire = Wire::open(server.addr);
            wire.request(method, path, &[("Connection", "close")], b"").unwrap();
            match wire.answer() {
                Ok(answer) => {
                    let shown = &path[..path.len().min(40)];
                    assert!(
                        [400, 404, 405, 414, 431].contains(&answer.status),
                        "{method} {shown}: {}",
                        answer.whole()
                    );
                    assert!(!answer.whole().contains("root:"), "{shown}");
                }
                Err(error) => assert_ne!(error.kind(), io::ErrorKind::WouldBlock, "{path}: it hangs"),
            }
        }
    }
    // Longer than all that is read of a head.
    let mut wire = Wire::open(server.addr);
    let _ = wire.send(written("GET", &format!("/{}", "a".repeat(100_000)), &[], b""));
    match wire.answer() {
        Ok(answer) => assert!([400, 404, 414, 431].contains(&answer.status), "{}", answer.whole()),
        Err(error) => assert_ne!(error.kind(), io::ErrorKind::WouldBlock, "it hangs"),
    }
    goes_on(&server);
}

#[test]
fn other_methods_are_told_which_there_are() {
    let server = Server::start();
    for (path, allowed) in
        [("/", "GET, HEAD"), ("/healthz", "GET, HEAD"), ("/mcp", "POST"), ("/sign-in", "POST")]
    {
        for method in ["PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT", "BREW"] {
            if method == "CONNECT" {
                continue;
            }
            let answer = ask(server.addr, method, path, &[], b"");
            assert_eq!((answer.status, answer.header("allow")), (405, Some(allowed)), "{method} {path}");
            // Nobody else's page may call this.
            assert!(
                answer.headers.iter().all(|(name, _)| !name.starts_with("access-control")),
                "{method} {path}"
            );
        }
    }
    assert_eq!(ask(server.addr, "GET", "/mcp", &[], b"").status, 405);
    for path in ["/", "/index.json", "/metrics", "/assets/style.css", "/no/such"] {
        let (get, head) = (get(server.addr, path), ask(server.addr, "HEAD", path, &[], b""));
        assert_eq!(
            (get.status, get.header("content-type")),
            (head.status, head.header("content-type")),
            "{path}"
        );
        assert!(head.body.is_empty());
    }
}

#[test]
fn requests_on_one_connection_are_answered_in_their_order() {
    let server = Server::start();
    let mut wire = Wire::open(server.addr);
    let mut all = Vec::new();
    for id in 0..50 {
        let (headers, body) = modern(id, "tools/call", json!({ "name": "session_list", "arguments": {} }));
        let headers: Vec<(&str, &str)> =
            headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        all.extend(written("POST", "/mcp", &headers, body.as_bytes()));
        all.extend(written("GET", "/healthz", &[], b""));
    }
    let sending = std::thread::scope(|scope| {
        let mut other = Wire::open(server.addr);
        other.send(b"").unwrap();
        scope.spawn(move || drop(other));
        wire.send(&all)
    });
    sending.unwrap();
    for id in 0..50 {
        assert_eq!(wire.answer().unwrap().json()["id"], id);
        assert_eq!(wire.answer().unwrap().json()["ok"], true);
    }
}

#[test]
fn nothing_is_smuggled_past_a_proxy() {
    let server = Server::start();
    // Each of these could be read as one request or as two.
    let hidden = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let length = hidden.len() + 5;
    for headers in [
        format!("Content-Length: {length}\r\nTransfer-Encoding: chunked\r\n"),
        format!("Transfer-Encoding: chunked\r\nContent-Length: {length}\r\n"),
        "Content-Length: 5\r\nContent-Length: 6\r\n".to_string(),
        "Content-Length: 5, 6\r\n".to_string(),
        "Content-Length: +5\r\n".to_string(),
        "Content-Length: -1\r\n".to_string(),
        "Transfer-Encoding: xchunked\r\n".to_string(),
        "Transfer-Encoding: chunked, identity\r\n".to_string(),
        "Transfer-Encoding : chunked\r\n".to_string(),
    ] {
        let mut wire = Wire::open(server.addr);
        wire.send(format!("POST /sign-out HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n0\r\n\r\n{hidden}"))
            .unwrap();
        let said = String::from_utf8_lossy(&wire.rest()).into_owned();
        let statuses: Vec<&str> = said.lines().filter(|line| line.starts_with("HTTP/1.1 ")).collect();
        assert!(statuses.len() <= 1, "{headers}: {statuses:?}");
        assert!(!said.contains("cairn_up_seconds"), "{headers}: {said}");
    }
    goes_on(&server);
}

#[test]
fn two_names_or_two_origins_are_one_too_many() {
    let server = Server::start();
    let asked = |headers: &[(&str, &str)]| ask(server.addr, "GET", "/healthz", headers, b"").status;
    assert_eq!(asked(&[("Host", "localhost"), ("Host", "evil.example")]), 403);
    assert_eq!(asked(&[("Host", "evil.example"), ("Host", "localhost")]), 403);
    assert_eq!(asked(&[("Host", "")]), 403);
    let own = "http://localhost";
    assert_eq!(asked(&[("Origin", own)]), 200);
    assert_eq!(asked(&[("Origin", own), ("Origin", "http://evil.example")]), 403);
    assert_eq!(asked(&[("Origin", "http://evil.example"), ("Origin", own)]), 403);
    assert_eq!(asked(&[("Origin", "null")]), 403);
    let mut wire = Wire::open(server.addr);
    wire.send("GET /healthz HTTP/1.1\r\n\r\n").unwrap();
    assert!([400, 403].contains(&wire.answer().unwrap().status));
    // A path may be written with the server's name before it; then that is the name.
    let mut wire = Wire::open(server.addr);
    wire.send("GET http://evil.example/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    assert!([200, 400, 403].contains(&wire.answer().unwrap().status));
}

#[test]
fn thousands_of_connections_do_not_end_the_server() {
    let server = Server::start();
    let mut open = Vec::new();
    for _ in 0..5000 {
        match Wire::try_open(server.addr) {
            Ok(wire) => open.push(wire),
            // This test, too, has only so many files.
            Err(_) => break,
        }
    }
    assert!(open.len() > 200, "{}", open.len());
    let few = open.len() < 4000;
    if few {
        goes_on(&server);
    }
    drop(open);
    goes_on(&server);
}

#[test]
fn a_client_that_leaves_in_the_middle_leaves_nothing_behind() {
    let server = Server::start();
    let (headers, body) = modern(1, "tools/call", json!({ "name": "thought_verify", "arguments": {} }));
    let headers: Vec<(&str, &str)> =
        headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    for _ in 0..200 {
        let mut wire = Wire::open(server.addr);
        wire.request("POST", "/mcp", &headers, body.as_bytes()).unwrap();
    }
    goes_on(&server);
    let began = Instant::now();
    loop {
        let figures = get(server.addr, "/metrics").text();
        // The one that asks is among them.
        if figures.contains("\ncairn_requests_in_flight 1\n") {
            break;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "{figures}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A connection from another address of this machine.
#[cfg(target_os = "linux")]
fn from_elsewhere(server: &Server) -> Wire {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let stream = runtime.block_on(async {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind("127.0.0.2:0".parse().unwrap()).unwrap();
        socket.connect(server.addr).await.unwrap().into_std().unwrap()
    });
    stream.set_nonblocking(false).unwrap();
    Wire::over(stream).unwrap()
}

/// Status of an answer, if there is any: a connection too many is closed, and the word why may be lost with it.
#[cfg(target_os = "linux")]
fn status(mut wire: Wire) -> Option<u16> {
    wire.request("GET", "/healthz", &[("Connection", "close")], b"").ok()?;
    wire.answer().ok().map(|answer| answer.status)
}

#[test]
#[cfg(target_os = "linux")]
fn an_address_that_holds_its_share_of_connections_shuts_out_nobody_else() {
    let server = Server::with_args(&["--connections-per-address", "8"]);
    let mut held: Vec<Wire> = (0..8)
        .map(|_| {
            let mut wire = from_elsewhere(&server);
            wire.request("GET", "/events", &[], b"").unwrap();
            assert_eq!(wire.head().unwrap().0, 200);
            wire
        })
        .collect();
    for _ in 0..20 {
        assert!(matches!(status(from_elsewhere(&server)), None | Some(503)));
        assert_eq!(get(server.addr, "/healthz").status, 200);
    }
    // A place that is given back can be taken.
    held.pop();
    while status(from_elsewhere(&server)) != Some(200) {}
}
