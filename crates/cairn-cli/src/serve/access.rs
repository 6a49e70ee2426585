//! Who may: the name that the server was reached by, the page that a request comes from, the token it brings.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use cairn::{Sha, Timestamp, TokenInfo, TokenScope};
use hyper::header::{AUTHORIZATION, COOKIE, HOST, ORIGIN};
use hyper::{HeaderMap, StatusCode, Uri};

use super::{Needs, Problem, Site};
use crate::error::CliError;

/// How long a token that was found good is taken for good without looking again: so long a revoked one still works.
const TRUSTED: Duration = Duration::from_secs(1);
/// Good tokens that are remembered.
const REMEMBERED: usize = 1024;
/// How often uses are noted in the database, for each token.
const NOTED_EVERY: Duration = Duration::from_secs(60);
/// The cookie that holds the token of whoever signed in to the viewer.
pub(crate) const COOKIE_NAME: &str = "cairn_token";

/// Whether a token is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Whoever can reach the server may do everything.
    Open,
    /// Each request must bring a token.
    Tokens,
}

/// Who asks.
#[derive(Debug, Clone)]
pub(crate) struct Who {
    pub(crate) scope: TokenScope,
    pub(crate) token: Option<Arc<TokenInfo>>,
}

impl Who {
    /// The agent that the token is bound to.
    pub(crate) fn agent(&self) -> Option<&str> {
        self.token.as_ref()?.agent_id.as_deref()
    }
}

/// Refuses a request that was sent to another name, or by a page that this server did not serve. A browser that was
/// led here by a name someone else controls is stopped by the first, a form on a foreign page by the second.
pub(crate) fn expected_place(
    headers: &HeaderMap,
    uri: &Uri,
    to: Option<SocketAddr>,
    hosts: &[String],
) -> Result<(), Problem> {
    let refused = |what: &str, found: &str, hint: &str| {
        let found = cairn::core::preview::preview(found, 80).escape_debug().to_string();
        let error = CliError::forbidden(format!("{what} `{found}` is not one of this server's")).hint(hint);
        Problem::new(StatusCode::FORBIDDEN, error)
    };
    let mut given = headers.get_all(HOST).iter();
    let (host, more) = (given.next().and_then(|host| host.to_str().ok()), given.next());
    // A request that names the server in its first line as well, as those to a proxy do, must mean this one there too.
    let meant = uri.authority().is_none_or(|authority| is_ours(authority.as_str(), to, hosts));
    let known = |host: &&str| more.is_none() && meant && is_ours(host, to, hosts);
    let Some(host) = host.filter(known) else {
        let hint = "reach it by its address, or start it with `--allow-host NAME`";
        return Err(refused("the host", host.unwrap_or_default(), hint));
    };
    let mut origins = headers.get_all(ORIGIN).iter();
    match (origins.next(), origins.next()) {
        (None, _) => Ok(()),
        (Some(origin), None) if is_same(origin.to_str().unwrap_or_default(), host) => Ok(()),
        (Some(origin), _) => {
            let hint = "only pages that this server served may call it from a browser";
            Err(refused("the origin", origin.to_str().unwrap_or_default(), hint))
        }
    }
}

/// Whether a page with this origin came from `host`. A proxy may have encrypted in between, so the scheme may differ.
fn is_same(origin: &str, host: &str) -> bool {
    let authority = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    authority.is_some_and(|authority| {
        let bare = |text: &str| {
            let text = text.to_ascii_lowercase();
            let text = text.strip_suffix(":80").or_else(|| text.strip_suffix(":443")).unwrap_or(&text);
            text.to_string()
        };
        bare(authority) == bare(host)
    })
}

/// Whether the server goes by this name. The port may be that of a proxy.
fn is_ours(host: &str, to: Option<SocketAddr>, hosts: &[String]) -> bool {
    let bare = |name: &str| name.trim_matches(['[', ']']).to_ascii_lowercase();
    let name = bare(without_port(host));
    if hosts.iter().any(|ours| bare(ours) == name) {
        return true;
    }
    match name.parse::<IpAddr>() {
        // Nobody can make an address lead elsewhere; it is ours if the connection came in by it.
        Ok(address) => {
            address.is_loopback() || to.is_some_and(|to| to.ip().to_canonical() == address.to_canonical())
        }
        Err(_) => name == "localhost",
    }
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !name.ends_with(':') => name,
        _ => host,
    }
}

/// The token of a request: from a program in a header, from a browser in a cookie. Where nobody needs one, a cookie says
/// nothing: browsers send it to every server of the same name, and keep it for longer than the token may be good.
pub(crate) fn offered_token(headers: &HeaderMap, access: Access) -> Option<&str> {
    if let Some(header) = headers.get(AUTHORIZATION) {
        let value = header.to_str().unwrap_or_default();
        let (scheme, token) = value.split_once(' ').unwrap_or((value, ""));
        return Some(if scheme.eq_ignore_ascii_case("bearer") { token.trim() } else { "" });
    }
    if access == Access::Open {
        return None;
    }
    let cookies = headers.get_all(COOKIE).iter().filter_map(|cookie| cookie.to_str().ok());
    let pairs = cookies.flat_map(|cookies| cookies.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.into_iter().find(|(name, _)| *name == COOKIE_NAME).map(|(_, token)| token)
}

/// Tokens that were good when they were last looked up, and when each was last used.
#[derive(Default)]
pub(crate) struct Tokens {
    good: Mutex<HashMap<Sha, (Instant, Arc<TokenInfo>)>>,
    used: Mutex<HashMap<String, Use>>,
}

struct Use {
    at: jiff::Timestamp,
    noted: Option<Instant>,
    pending: bool,
}

/// Finds out who asks, and refuses whoever may not.
pub(crate) async fn admit(
    site: &Arc<Site>,
    headers: &HeaderMap,
    from: IpAddr,
    needs: Needs,
) -> Result<Who, Problem> {
    let Needs::Scope(needed) = needs else { return Ok(Who { scope: TokenScope::Read, token: None }) };
    let who = match (offered_token(headers, site.access), site.access) {
        (Some(token), _) => check(site, token, from).await?,
        (None, Access::Open) => Who { scope: TokenScope::Admin, token: None },
        (None, Access::Tokens) => {
            return Err(unauthorized("this server asks for a token").map_hint(
                "send `Authorization: Bearer TOKEN`, or sign in to the viewer; `cairn token add` makes one",
            ));
        }
    };
    if who.scope < needed {
        let message = format!("this token may {}, and this needs `{}`", who.scope.as_str(), needed.as_str());
        return Err(Problem::new(StatusCode::FORBIDDEN, CliError::forbidden(message)));
    }
    Ok(who)
}

fn unauthorized(message: &str) -> Problem {
    Problem::new(StatusCode::UNAUTHORIZED, CliError::forbidden(message))
}

impl Problem {
    fn map_hint(mut self, hint: &str) -> Problem {
        *self.error = self.error.hint(hint);
        self
    }
}

/// Whose token this is.
pub(crate) async fn check(site: &Arc<Site>, token: &str, from: IpAddr) -> Result<Who, Problem> {
    let digest = Sha::of(token.as_bytes());
    let known = site.tokens.known(&digest);
    if let Some((since, info)) = &known
        && since.elapsed() < TRUSTED
    {
        site.tokens.use_now(&info.id);
        return Ok(Who { scope: info.scope, token: Some(info.clone()) });
    }
    // Whoever got in before need not wait because somebody behind the same address is guessing.
    if let (None, Some(seconds)) = (known, site.attempts.must_wait(from)) {
        let error =
            CliError::busy(format!("too many wrong tokens from this address; wait {seconds} seconds"));
        return Err(Problem::new(StatusCode::TOO_MANY_REQUESTS, error));
    }
    let found = {
        let (cairn, token) = (site.cairn.clone(), token.to_string());
        tokio::task::spawn_blocking(move || cairn.token_check(&token)).await
    };
    let found = found.map_err(|_| CliError::failed("the token could not be checked"))?;
    match found.map_err(CliError::from)? {
        Some(info) if info.revoked_at.is_none() => {
            let info = Arc::new(info);
            site.tokens.found_good(digest, info.clone());
            site.tokens.use_now(&info.id);
            Ok(Who { scope: info.scope, token: Some(info) })
        }
        Some(_) => {
            site.tokens.found_bad(&digest);
            site.attempts.failed(from);
            Err(unauthorized("this token was revoked"))
        }
        None => {
            site.tokens.found_bad(&digest);
            site.attempts.failed(from);
            Err(unauthorized("no such token").map_hint("`cairn token list` shows those there are"))
        }
    }
}

impl Tokens {
    /// A token that was good when it was last looked up, and when that was.
    fn known(&self, digest: &Sha) -> Option<(Instant, Arc<TokenInfo>)> {
        self.good.lock().ok()?.get(digest).cloned()
    }

    fn found_good(&self, digest: Sha, info: Arc<TokenInfo>) {
        let Ok(mut good) = self.good.lock() else { return };
        if good.len() >= REMEMBERED
            && let Some(oldest) = good.iter().min_by_key(|(_, (since, _))| *since).map(|(digest, _)| *digest)
        {
            good.remove(&oldest);
        }
        good.insert(digest, (Instant::now(), info));
    }

    fn found_bad(&self, digest: &Sha) {
        let Ok(mut good) = self.good.lock() else { return };
        good.remove(digest);
    }

    fn use_now(&self, id: &str) {
        let Ok(mut used) = self.used.lock() else { return };
        let entry =
            used.entry(id.to_string()).or_insert(Use { at: crate::clock::now(), noted: None, pending: true });
        entry.at = crate::clock::now();
        entry.pending = true;
    }

    /// Uses that should be noted now.
    fn to_note(&self, all: bool) -> Vec<(String, jiff::Timestamp)> {
        let Ok(mut used) = self.used.lock() else { return Vec::new() };
        let due =
            |one: &Use| one.pending && (all || one.noted.is_none_or(|noted| noted.elapsed() >= NOTED_EVERY));
        let due = used.iter_mut().filter(|(_, one)| due(one));
        due.map(|(id, one)| {
            (one.noted, one.pending) = (Some(Instant::now()), false);
            (id.clone(), one.at)
        })
        .collect()
    }
}

/// Notes in the database when tokens were used, every now and then and at the end.
pub(crate) async fn note_uses(site: Arc<Site>) {
    loop {
        let stopping = tokio::time::timeout(Duration::from_secs(1), site.stopping.cancelled()).await.is_ok();
        let uses = site.tokens.to_note(stopping);
        if !uses.is_empty() {
            let cairn = site.cairn.clone();
            let noting = tokio::task::spawn_blocking(move || {
                for (id, at) in uses {
                    // When a token was used is good to know, and no reason to fail.
                    let _ = Timestamp::parse(format!("{at:.3}")).map(|at| cairn.token_used(&id, at));
                }
            });
            let _ = noting.await;
        }
        if stopping {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    fn place(host: &str, origin: Option<&str>) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, HeaderValue::from_str(host).unwrap());
        if let Some(origin) = origin {
            headers.insert(ORIGIN, HeaderValue::from_str(origin).unwrap());
        }
        reached(&headers, "/")
    }

    fn reached(headers: &HeaderMap, target: &str) -> bool {
        let to = Some("192.0.2.7:7411".parse().unwrap());
        let hosts = ["cairn.example", "198.51.100.1", "[2001:db8::7]"].map(ToString::to_string);
        expected_place(headers, &target.parse().unwrap(), to, &hosts).is_ok()
    }

    #[test]
    fn only_names_of_the_server_are_answered_to() {
        for host in
            ["localhost", "localhost:7411", "127.0.0.1:7411", "[::1]:7411", "192.0.2.7", "CAIRN.example:443"]
                .into_iter()
                // An address that is passed on to another one.
                .chain(["198.51.100.1:7411", "[2001:db8::7]:7411"])
        {
            assert!(place(host, None), "{host}");
        }
        for host in [
            "",
            "evil.example",
            "localhost.evil.example",
            "192.0.2.8",
            "cairn.example.evil",
            "127.0.0.1.nip.io",
        ] {
            assert!(!place(host, None), "{host}");
        }
    }

    #[test]
    fn the_first_line_must_name_the_server_too_if_it_names_one() {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, HeaderValue::from_static("localhost"));
        for (target, ours) in [
            ("http://localhost/", true),
            ("http://cairn.example:7411/log", true),
            ("http://evil.example/", false),
            ("http://localhost@evil.example/", false),
        ] {
            assert_eq!(reached(&headers, target), ours, "{target}");
        }
    }

    #[test]
    fn only_pages_of_the_server_may_call_it() {
        assert!(place("localhost:7411", Some("http://localhost:7411")));
        assert!(place("cairn.example", Some("https://cairn.example")));
        for origin in [
            "null",
            "http://evil.example",
            "http://localhost:3000",
            "http://localhost:7411.evil.example",
            "localhost:7411",
        ] {
            assert!(!place("localhost:7411", Some(origin)), "{origin}");
        }
    }

    #[test]
    fn a_token_is_found_in_a_header_or_a_cookie() {
        let mut headers = HeaderMap::new();
        let both = |headers: &HeaderMap| {
            [Access::Tokens, Access::Open].map(|access| offered_token(headers, access).map(str::to_string))
        };
        let some = |token: &str| Some(token.to_string());
        assert_eq!(both(&headers), [None, None]);
        headers.insert(COOKIE, HeaderValue::from_static("a=b; cairn_token=one; c=d"));
        assert_eq!(both(&headers), [some("one"), None]);
        headers.insert(AUTHORIZATION, HeaderValue::from_static("bearer two"));
        assert_eq!(both(&headers), [some("two"), some("two")]);
        headers.insert(AUTHORIZATION, HeaderValue::from_static("Basic two"));
        assert_eq!(both(&headers), [some(""), some("")]);
    }
}
