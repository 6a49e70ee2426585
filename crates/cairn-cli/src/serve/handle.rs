//! From a request to its reply: where it leads, whether it may, what it is answered, and a line about it.

use std::convert::Infallible;
use std::fmt;
use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::FutureExt;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::header::{
    ACCEPT, ALLOW, CACHE_CONTROL, CONTENT_LENGTH, HOST, HeaderName, HeaderValue, RETRY_AFTER,
    WWW_AUTHENTICATE,
};
use hyper::http::request::Parts;
use hyper::{Method, Request, StatusCode};

use super::reply::{Asked, Problem, Reply, reply};
use super::routes::{Answers, Found, Route, find};
use super::{RequestId, Site, Who, access, events, health, mcp, metrics, sign_in};
use crate::error::CliError;
use crate::web;

/// The longest body of a request.
pub(super) const MOST_BYTES: usize = 4 << 20;
/// The longest that one may be which brings no token: the form to sign in.
const MOST_OF_FORM: usize = 16 << 10;
/// How much of a longer one is read before that is said.
const MOST_READ: usize = 32 << 20;

/// What is told of a request besides its status: filled in as it becomes known.
#[derive(Default)]
pub(super) struct Note {
    /// For a call over MCP, which.
    pub(super) what: Option<String>,
    token: Option<String>,
}

/// Answers a request. Whatever goes wrong, there is a reply, and a line that names it.
pub async fn handle(
    request: Request<Incoming>,
    from: SocketAddr,
    to: Option<SocketAddr>,
    site: Arc<Site>,
) -> Result<Reply, Infallible> {
    let began = Instant::now();
    let id = site.log.next_request();
    let (parts, body) = request.into_parts();
    let _busy = site.metrics.busy();
    let mut note = Note::default();
    let mut served: Option<&'static Route> = None;
    let answering = answer(&parts, body, from, to, &site, id, &mut note, &mut served);
    let outcome = AssertUnwindSafe(answering).catch_unwind().await;
    let outcome = outcome.unwrap_or_else(|_| {
        let error = CliError::failed("internal error: this is a bug in Cairn; the server goes on");
        Err(Problem::new(StatusCode::INTERNAL_SERVER_ERROR, error))
    });
    let mut reply = outcome.unwrap_or_else(|problem| refusal(&parts, &problem, id, &site));
    if parts.method == Method::HEAD {
        *reply.body_mut() = http_body_util::Empty::new().boxed();
    }
    harden(&mut reply, id);
    let took = began.elapsed();
    site.metrics.answered(served.map_or("none", |route| route.path), reply.status(), took);
    let line = Line { method: &parts.method, route: served, note: &note, status: reply.status(), took, from };
    site.log.request(id, &line);
    Ok(reply)
}

#[expect(clippy::too_many_arguments, reason = "the pieces of one request, each used once")]
async fn answer(
    parts: &Parts,
    body: Incoming,
    from: SocketAddr,
    to: Option<SocketAddr>,
    site: &Arc<Site>,
    id: RequestId,
    note: &mut Note,
    served: &mut Option<&'static Route>,
) -> Result<Reply, Problem> {
    let path = parts.uri.path();
    access::expected_place(&parts.headers, &parts.uri, to, &site.hosts)?;
    let (route, params, twin) = match find(&parts.method, path) {
        Found::Route { route, params, twin } => (route, params, twin),
        Found::OtherMethod(allowed) => {
            let error = CliError::refused(format!("{} is not answered here, only {allowed}", parts.method));
            let mut reply = refusal(parts, &Problem::new(StatusCode::METHOD_NOT_ALLOWED, error), id, site);
            reply.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
            return Ok(reply);
        }
        Found::Nothing => {
            return Err(CliError::not_found("there is no such page").hint("start at `/`").into());
        }
    };
    *served = Some(route);
    let who = access::admit(site, &parts.headers, from.ip(), route.needs).await?;
    note.token = who.token.as_ref().map(|token| token.id.clone());
    match &route.answers {
        Answers::Asset(kind, bytes) => {
            let mut reply = reply(StatusCode::OK, kind, Bytes::from_static(bytes));
            reply.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=300"));
            Ok(reply)
        }
        Answers::Page(page) => {
            let asked = asked(parts, site, who, id, params);
            let work = move |asked: &Asked| match twin {
                true => (page.json)(asked).map(|body| reply(StatusCode::OK, "application/json", body)),
                false => (page.html)(asked).map(|shown| web::html(StatusCode::OK, &shown, asked)),
            };
            Ok(blocking(asked, work).await?)
        }
        Answers::OpenApi => Ok(super::reply::json_reply(StatusCode::OK, &web::openapi())),
        Answers::Health => Ok(health::answer(site).await),
        Answers::Metrics => Ok(metrics::answer(site).await),
        Answers::Events => events::answer(site, &who).await,
        Answers::SignIn => {
            let body = whole(&parts.headers, body, MOST_OF_FORM, site.limits.whole_body).await?;
            sign_in::answer(site, &body, from.ip(), asked(parts, site, who, id, params)).await
        }
        Answers::SignOut => Ok(sign_in::sign_out(site)),
        Answers::Verify => {
            site.integrity.ask();
            Ok(sign_in::see_other("/integrity"))
        }
        Answers::Mcp => {
            let body = whole(&parts.headers, body, MOST_BYTES, site.limits.whole_body).await?;
            Ok(site.mcp.answer(&parts.headers, &body, who, site, note).await)
        }
    }
}

fn asked(
    parts: &Parts,
    site: &Arc<Site>,
    who: Who,
    id: RequestId,
    params: Vec<(&'static str, String)>,
) -> Asked {
    let query = form_urlencoded::parse(parts.uri.query().unwrap_or_default().as_bytes());
    let query = query.map(|(name, value)| (name.into_owned(), value.into_owned())).collect();
    let host = parts.headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default().to_string();
    Asked { site: site.clone(), who, id, host, path: parts.uri.path().to_string(), params, query }
}

/// Does work that waits for the disk where it holds nobody up.
async fn blocking(
    asked: Asked,
    work: impl FnOnce(&Asked) -> Result<Reply, CliError> + Send + 'static,
) -> Result<Reply, CliError> {
    let turn = asked.site.readers.clone().acquire_owned().await;
    let worked = tokio::task::spawn_blocking(move || {
        // Given back when the work is done, also if the client has left long before.
        let _turn = turn;
        work(&asked)
    });
    let worked = worked.await;
    worked.unwrap_or_else(|_| {
        Err(CliError::failed("internal error: this is a bug in Cairn; the server goes on"))
    })
}

/// Reads a body that is not too long and does not come too slowly.
async fn whole(
    headers: &hyper::HeaderMap,
    body: Incoming,
    most: usize,
    within: Duration,
) -> Result<Bytes, Problem> {
    let too_large = || CliError::too_large(format!("the body is longer than {most} bytes")).into();
    let length = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    if length.is_some_and(|length| length > MOST_READ) {
        return Err(too_large());
    }
    match tokio::time::timeout(within, read(body, most)).await {
        Ok(Ok(Some(body))) => Ok(body),
        Ok(Ok(None)) => Err(too_large()),
        Ok(Err(_)) => Err(CliError::refused("the body ended before its end").into()),
        Err(_) => {
            let error = CliError::refused(format!("the body did not come within {within:?}"));
            Err(Problem::new(StatusCode::REQUEST_TIMEOUT, error))
        }
    }
}

/// The bytes of a body; none if there are too many. Of those some are still read, and forgotten: most clients read no
/// answer before they have said everything.
async fn read(mut body: Incoming, most: usize) -> hyper::Result<Option<Bytes>> {
    let (mut bytes, mut total) = (Vec::new(), 0);
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else { continue };
        total += data.len();
        if total > MOST_READ {
            break;
        }
        if total > most {
            bytes = Vec::new();
        } else {
            bytes.extend_from_slice(&data);
        }
    }
    Ok((total <= most).then(|| bytes.into()))
}

/// Tells of a problem in the way the client reads: a page to a browser, an error of its protocol to an agent, JSON to
/// everything else.
fn refusal(parts: &Parts, problem: &Problem, id: RequestId, site: &Arc<Site>) -> Reply {
    let accepts = parts.headers.get(ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
    let browser = accepts.contains("text/html") && !parts.uri.path().ends_with(".json");
    let mut reply = if parts.uri.path() == "/mcp" {
        mcp::problem(problem, id)
    } else if browser {
        let who = Who { scope: cairn::TokenScope::Read, token: None };
        let mut asked = asked(parts, site, who, id, Vec::new());
        if ![Method::GET, Method::HEAD].contains(&parts.method) {
            // Whoever signs in is sent on to a page, and there is none where something was to be done.
            (asked.path, asked.query) = ("/".to_string(), Vec::new());
        }
        web::problem(problem, &asked)
    } else {
        problem.json(id)
    };
    let headers = reply.headers_mut();
    if problem.status == StatusCode::UNAUTHORIZED {
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"cairn\""));
    }
    if [StatusCode::TOO_MANY_REQUESTS, StatusCode::SERVICE_UNAVAILABLE].contains(&problem.status) {
        headers.insert(RETRY_AFTER, HeaderValue::from_static("5"));
    }
    reply
}

/// What a page may load: what this server serves, and nothing that stands in the page itself.
const CONTENT_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
                              connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Adds what every reply has.
fn harden(reply: &mut Reply, id: RequestId) {
    let headers = reply.headers_mut();
    let fixed = [
        ("content-security-policy", CONTENT_POLICY),
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
        ("referrer-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
        ("cross-origin-opener-policy", "same-origin"),
    ];
    for (name, value) in fixed {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    if !headers.contains_key(CACHE_CONTROL) {
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    if let Ok(id) = HeaderValue::from_str(&id.to_string()) {
        headers.insert(HeaderName::from_static("x-request-id"), id);
    }
}

/// What is written about a request: nothing that a client chose, and no token.
struct Line<'a> {
    method: &'a Method,
    route: Option<&'static Route>,
    note: &'a Note,
    status: StatusCode,
    took: Duration,
    from: SocketAddr,
}

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let method = match *self.method {
            Method::GET => "GET",
            Method::HEAD => "HEAD",
            Method::POST => "POST",
            Method::DELETE => "DELETE",
            Method::PUT => "PUT",
            Method::OPTIONS => "OPTIONS",
            _ => "other",
        };
        let route = self.route.map_or("-", |route| route.path);
        write!(f, "method={method} route={route}")?;
        if let Some(what) = &self.note.what {
            write!(f, " call={what}")?;
        }
        write!(f, " status={} ms={:.2}", self.status.as_u16(), self.took.as_secs_f64() * 1e3)?;
        if let Some(token) = &self.note.token {
            write!(f, " token={token}")?;
        }
        write!(f, " from={}", self.from.ip())
    }
}
