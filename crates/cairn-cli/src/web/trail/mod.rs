//! Why agents did what they did: sessions, their trees, single thoughts, search.

mod action;
mod connect;
mod home;
#[cfg(test)]
mod hostile_tests;
mod outline;
mod parts;
pub(super) mod proof;
mod search;
mod session;
mod standing;
mod thought;

use crate::serve::{Route, page};

pub(super) static PAGES: [Route; 6] = [
    page::<home::Home>(
        "/",
        "the sessions, newest first, and how the log stands",
        &[("before", "a position in the log: only sessions that were last added to before it")],
        &["status", "integrity", "decisions", "plans", "sessions", "next", "connect"],
    ),
    page::<session::Session>(
        "/sessions/{id}",
        "the tree of a session",
        &[
            ("from", "the id of a thought: only it and what follows from it"),
            (
                "after",
                "a step of the session: only branches (or roots, or thoughts of a type) that come after it",
            ),
            ("type", "plan, analysis, decision or reflection: a list of these instead of the tree"),
        ],
        &[
            "session_id",
            "thoughts",
            "types",
            "agents",
            "actions",
            "more_actions",
            "first_at",
            "last_at",
            "has_turns",
            "decisions",
            "plans",
            "from",
            "above",
            "after",
            "newest",
            "tree",
            "list",
            "changed",
            "more_changed",
        ],
    ),
    page::<thought::ThoughtPage>(
        "/thoughts/{id}",
        "one thought, whole, with the proof that it is in the log",
        &[],
        &[
            "thought",
            "trail",
            "children",
            "more_children",
            "parent_chain_hash",
            "plan",
            "brief",
            "plans",
            "proof",
            "keys",
            "unproven",
            "changed",
            "more_changed",
        ],
    ),
    page::<action::Action>(
        "/actions/{id}",
        "why an action was taken: the paths from a root to each thought that led to it",
        &[],
        &["action_id", "thoughts", "trails", "plans"],
    ),
    page::<search::Search>(
        "/search",
        "thoughts and nodes of current plans that hold what is looked for",
        &[
            ("q", "words (all must match), \"a phrase\", prefix*, -not, OR"),
            ("session", "only thoughts of this session"),
            ("type", "only thoughts of this type: plan, analysis, decision or reflection"),
            ("limit", "at most so many of each: 1 to 100, 20 if not given"),
        ],
        &["query", "refused", "results", "ranked_newest", "not_covered", "nodes", "plans"],
    ),
    page::<connect::Connect>(
        "/connect",
        "how to connect a client to this server",
        &[],
        &["url", "needs_token", "clients"],
    ),
];
