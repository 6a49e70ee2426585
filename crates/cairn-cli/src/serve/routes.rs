//! Every address that is served, what it needs, and what answers it. Nothing is served that is not listed here: the
//! description for programs and the table of who may do what are made from it.

use cairn::TokenScope;
use percent_encoding::percent_decode_str;

use super::reply::{Asked, Page, Shown};
use crate::error::CliError;
use crate::web;

/// The two methods there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    Get,
    Post,
}

#[cfg(test)]
impl Method {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Post => "POST",
        }
    }
}

/// What a request must bring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Needs {
    Nothing,
    Scope(TokenScope),
}

/// An address.
pub(crate) struct Route {
    pub(crate) method: Method,
    /// `{name}` stands for one part of a path.
    pub(crate) path: &'static str,
    pub(crate) needs: Needs,
    /// What it is, in a few words.
    pub(crate) about: &'static str,
    /// What may follow a question mark, and what for.
    pub(crate) query: &'static [(&'static str, &'static str)],
    pub(crate) answers: Answers,
}

/// What answers.
pub(crate) enum Answers {
    /// A page; its JSON twin stands at the same path with `.json` added.
    Page(PageOf),
    /// Bytes that are part of the program, of this type.
    Asset(&'static str, &'static [u8]),
    /// The description of the JSON twins.
    OpenApi,
    Mcp,
    Events,
    Health,
    Metrics,
    SignIn,
    SignOut,
    Verify,
}

/// A page as functions.
pub(crate) struct PageOf {
    pub(crate) html: fn(&Asked) -> Result<Shown, CliError>,
    pub(crate) json: fn(&Asked) -> Result<Vec<u8>, CliError>,
    /// The members of its data.
    pub(crate) data: &'static [&'static str],
}

impl PageOf {
    pub(crate) const fn new<P: Page>(data: &'static [&'static str]) -> PageOf {
        PageOf {
            html: |asked| P::read(asked).map(|data| P::show(&data, asked)),
            json: |asked| {
                serde_json::to_vec(&P::read(asked)?)
                    .map_err(|_| CliError::failed("the answer cannot be written as JSON"))
            },
            data,
        }
    }
}

const READ: Needs = Needs::Scope(TokenScope::Read);

pub(crate) const fn page<P: Page>(
    path: &'static str,
    about: &'static str,
    query: &'static [(&'static str, &'static str)],
    data: &'static [&'static str],
) -> Route {
    Route {
        method: Method::Get,
        path,
        needs: READ,
        about,
        query,
        answers: Answers::Page(PageOf::new::<P>(data)),
    }
}

const fn route(
    method: Method,
    path: &'static str,
    needs: Needs,
    about: &'static str,
    answers: Answers,
) -> Route {
    Route { method, path, needs, about, query: &[], answers }
}

/// What is no page.
static SERVICES: [Route; 9] = [
    route(Method::Post, "/mcp", READ, "the Model Context Protocol, streamable HTTP", Answers::Mcp),
    route(
        Method::Get,
        "/events",
        READ,
        "what is recorded, as it is recorded (server-sent events)",
        Answers::Events,
    ),
    route(Method::Get, "/healthz", Needs::Nothing, "whether the server is able to record", Answers::Health),
    route(Method::Get, "/metrics", READ, "figures in the Prometheus text form", Answers::Metrics),
    route(Method::Get, "/openapi.json", READ, "this description", Answers::OpenApi),
    route(Method::Post, "/sign-in", Needs::Nothing, "sign in to the viewer with a token", Answers::SignIn),
    route(Method::Post, "/sign-out", Needs::Nothing, "sign out of the viewer", Answers::SignOut),
    route(Method::Post, "/verify", READ, "verify the whole log now", Answers::Verify),
    route(
        Method::Get,
        "/assets/icon.svg",
        Needs::Nothing,
        "the icon",
        Answers::Asset("image/svg+xml", include_bytes!("../web/assets/icon.svg")),
    ),
];

/// Style and scripts: the same for everyone, with or without a token.
static ASSETS: [Route; 4] = [
    route(
        Method::Get,
        "/assets/style.css",
        Needs::Nothing,
        "the stylesheet",
        Answers::Asset("text/css; charset=utf-8", web::STYLE.as_bytes()),
    ),
    route(
        Method::Get,
        "/assets/live.js",
        Needs::Nothing,
        "keeps a page up to date",
        Answers::Asset("text/javascript; charset=utf-8", include_bytes!("../web/assets/live.js")),
    ),
    route(
        Method::Get,
        "/assets/copy.js",
        Needs::Nothing,
        "lets what is meant to be copied be copied",
        Answers::Asset("text/javascript; charset=utf-8", include_bytes!("../web/assets/copy.js")),
    ),
    route(
        Method::Get,
        "/assets/proof.js",
        Needs::Nothing,
        "checks a proof in the browser",
        Answers::Asset("text/javascript; charset=utf-8", include_bytes!("../web/assets/proof.js")),
    ),
];

/// Every address, pages first.
pub(crate) fn offered() -> impl Iterator<Item = &'static Route> {
    web::pages().chain(&SERVICES).chain(&ASSETS)
}

impl Route {
    /// The path of the JSON twin, if it is a page.
    pub(crate) fn twin(&self) -> Option<String> {
        match (&self.answers, self.path) {
            (Answers::Page(_), "/") => Some("/index.json".to_string()),
            (Answers::Page(_), path) => Some(format!("{path}.json")),
            _ => None,
        }
    }
}

/// What a path leads to.
pub(crate) enum Found {
    /// A route, what stands in the places of its pattern, and whether its JSON twin is meant.
    Route {
        route: &'static Route,
        params: Vec<(&'static str, String)>,
        twin: bool,
    },
    /// It can be asked for, but by these methods only.
    OtherMethod(&'static str),
    Nothing,
}

/// Finds the route for a path as it stands in the request. An id may end in `.json`: in a link its dots are written
/// `%2E`, which this sees before they are read.
pub(crate) fn find(method: &hyper::Method, path: &str) -> Found {
    let exact = || offered().filter_map(|route| Some((route, places(route.path, path)?, false)));
    let stem = if path == "/index.json" { Some("/") } else { path.strip_suffix(".json") };
    let twins = || {
        let pages = || offered().filter(|route| route.twin().is_some());
        stem.into_iter().flat_map(move |stem| {
            pages().filter_map(move |route| Some((route, places(route.path, stem)?, true)))
        })
    };
    // A twin is meant unless something has exactly this name.
    let literal = exact().find(|(route, ..)| !route.path.contains('{'));
    let mut allowed = None;
    for (route, params, twin) in literal.into_iter().chain(twins()).chain(exact()) {
        if fits(route.method, method) {
            return Found::Route { route, params, twin };
        }
        allowed = Some(if route.method == Method::Get { "GET, HEAD" } else { "POST" });
    }
    allowed.map_or(Found::Nothing, Found::OtherMethod)
}

fn fits(method: Method, asked: &hyper::Method) -> bool {
    match method {
        Method::Get => *asked == hyper::Method::GET || *asked == hyper::Method::HEAD,
        Method::Post => *asked == hyper::Method::POST,
    }
}

/// What stands in the places of a pattern, if a path follows it.
fn places(pattern: &'static str, path: &str) -> Option<Vec<(&'static str, String)>> {
    let mut params = Vec::new();
    let (mut expected, mut found) = (pattern.split('/'), path.split('/'));
    loop {
        match (expected.next(), found.next()) {
            (None, None) => return Some(params),
            (Some(expected), Some(found)) => {
                match expected.strip_prefix('{').and_then(|name| name.strip_suffix('}')) {
                    Some(_) if found.is_empty() => return None,
                    Some(name) => {
                        params.push((name, percent_decode_str(found).decode_utf8().ok()?.into_owned()))
                    }
                    None if expected == found => {}
                    None => return None,
                }
            }
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_routes_take_the_same_requests() {
        let routes: Vec<&Route> = offered().collect();
        for (index, route) in routes.iter().enumerate() {
            for other in &routes[index + 1..] {
                assert!((route.method, route.path) != (other.method, other.path), "{}", route.path);
            }
        }
    }

    #[test]
    fn an_id_that_ends_like_a_twin_has_a_page_of_its_own() {
        let asked = |path: &str| match find(&hyper::Method::GET, path) {
            Found::Route { params, twin, .. } => (params[0].1.clone(), twin),
            _ => panic!("{path} leads nowhere"),
        };
        assert_eq!(asked("/sessions/a.json"), ("a".to_string(), true));
        assert_eq!(asked("/sessions/a%2Ejson"), ("a.json".to_string(), false));
        assert_eq!(asked("/sessions/a%2Ejson.json"), ("a.json".to_string(), true));
        assert_eq!(asked("/sessions/a%2Fb"), ("a/b".to_string(), false));
    }
}
