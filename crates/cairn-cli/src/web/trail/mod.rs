//! Why agents did what they did: sessions, their trees, single thoughts, search.

mod home;

use crate::serve::{Route, page};

pub(super) static PAGES: [Route; 1] = [page::<home::Home>(
    "/",
    "the sessions, newest first, and how the log stands",
    &[("before", "a position in the log: only sessions that were last added to before it")],
    &["status", "integrity", "sessions", "next"],
)];
