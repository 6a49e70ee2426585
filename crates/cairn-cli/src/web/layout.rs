//! What every page has: its head, the way to the others, and the badge that says how the log stands.

use hyper::StatusCode;
use maud::{DOCTYPE, Markup, html};

use super::text::text;
use crate::serve::{Access, Asked, Badge, Live, Problem, Reply, Shown, reply};

/// A page.
pub(crate) fn html(status: StatusCode, shown: &Shown, asked: &Asked) -> Reply {
    let page = document(&shown.title, &shown.main, &shown.live, asked);
    reply(status, "text/html; charset=utf-8", page.into_string())
}

/// A page about something that could not be done. Whoever brought no token is asked for one.
pub(crate) fn problem(problem: &Problem, asked: &Asked) -> Reply {
    if problem.status == StatusCode::UNAUTHORIZED {
        return sign_in_page(problem, None, &asked.address(), asked);
    }
    let main = html! {
        h1 { (status_words(problem.status)) }
        p.lead { (text(&sentence(problem))) }
        @for hint in problem.error.hints() { p.hint { (text(hint)) } }
        p.faint { "Request " code { (asked.id) } }
    };
    let shown = Shown { title: status_words(problem.status).to_string(), main, live: Live::Nothing };
    html(problem.status, &shown, asked)
}

/// The form again, after a token that was not good.
pub(crate) fn sign_in(problem: &Problem, next: &str, asked: &Asked) -> Reply {
    sign_in_page(problem, Some(problem), next, asked)
}

fn sign_in_page(problem: &Problem, wrong: Option<&Problem>, next: &str, asked: &Asked) -> Reply {
    let main = html! {
        section.sign-in {
            h1 { "Sign in" }
            p { "This server asks for a token. Whoever runs it makes one with " code { "cairn token add" } "." }
            @if let Some(wrong) = wrong { p.wrong role="alert" { (text(&sentence(wrong))) } }
            form method="post" action="/sign-in" {
                input type="hidden" name="next" value=(text(next));
                label for="token" { "Token" }
                input #token type="password" name="token" autocomplete="current-password" required autofocus;
                button { "Sign in" }
            }
        }
    };
    let shown = Shown { title: "Sign in".to_string(), main, live: Live::Nothing };
    html(problem.status, &shown, asked)
}

fn sentence(problem: &Problem) -> String {
    let sentence = problem.error.sentence();
    let mut letters = sentence.chars();
    letters
        .next()
        .map(|first| first.to_uppercase().chain(letters).collect::<String>() + ".")
        .unwrap_or_default()
}

fn status_words(status: StatusCode) -> &'static str {
    match status {
        StatusCode::NOT_FOUND => "Not found",
        StatusCode::FORBIDDEN => "Not allowed",
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => "Not now",
        status if status.is_server_error() => "Something went wrong",
        _ => "That does not work",
    }
}

const NAVIGATION: [(&str, &str); 3] = [("/", "Sessions"), ("/roadmaps", "Roadmaps"), ("/log", "Log")];

/// The whole page.
pub(super) fn document(title: &str, main: &Markup, live: &Live, asked: &Asked) -> Markup {
    let below = |path: &str| asked.path.starts_with(path);
    let here = |path: &str| match path {
        "/" => asked.path == "/" || ["/sessions", "/thoughts", "/briefs"].into_iter().any(below),
        "/roadmaps" => ["/roadmaps", "/contexts", "/compare"].into_iter().any(below),
        other => below(other),
    };
    let admitted = asked.who.token.is_some() || asked.site.access == Access::Open;
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (text(title)) " · Cairn" }
                link rel="icon" href="/assets/icon.svg";
                link rel="stylesheet" href="/assets/style.css";
                script src="/assets/live.js" defer {}
                script src="/assets/copy.js" defer {}
                script src="/assets/proof.js" type="module" {}
            }
            body data-live=[watched(live)] data-session=[session(live)] {
                a.skip href="#main" { "To the content" }
                header.top {
                    a.brand href="/" { img src="/assets/icon.svg" alt="" width="24" height="24"; "Cairn" }
                    @if admitted {
                        nav aria-label="Pages" {
                            @for (path, name) in NAVIGATION {
                                a href=(path) aria-current=[here(path).then_some("page")] { (name) }
                            }
                        }
                        form.find action="/search" role="search" {
                            input type="search" name="q" placeholder="Search" aria-label="Search what was recorded" value=[asked.query("q").map(text)];
                        }
                        (badge(&asked.site.integrity.badge()))
                    }
                }
                main #main tabindex="-1" { (main) }
                footer {
                    span { "Cairn " (env!("CARGO_PKG_VERSION")) }
                    a href="/openapi.json" { "JSON" }
                    a href="/connect" { "Connect a client" }
                    @if asked.who.token.is_some() {
                        form method="post" action="/sign-out" { button.plain { "Sign out" } }
                    }
                }
            }
        }
    }
}

fn watched(live: &Live) -> Option<&'static str> {
    match live {
        Live::Nothing => None,
        Live::Log => Some("log"),
        Live::Session(_) => Some("session"),
    }
}

fn session(live: &Live) -> Option<&str> {
    match live {
        Live::Session(id) => Some(id),
        _ => None,
    }
}

/// How the log stands, in a few words; the page behind it says all of it.
fn badge(badge: &Badge) -> Markup {
    html! {
        a #badge.badge.(badge.class()) href="/integrity" title=(text(&badge.explained)) {
            span.sign aria-hidden="true" { (badge.sign()) }
            (badge.words)
        }
    }
}
