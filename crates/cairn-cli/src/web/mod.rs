//! The viewer: pages for people, each with a JSON twin for programs.
//!
//! Everything that is recorded is hostile until shown otherwise. Pages are made with `maud`, which escapes whatever it
//! inserts, and what comes from a record goes through [`text`], which makes characters visible that would reorder or
//! hide others. No page holds a script or a style of its own: the browser is told to obey none.

mod layout;
mod link;
#[cfg(test)]
mod live_tests;
mod log;
mod memory;
mod openapi;
mod piece;
mod plans;
#[cfg(test)]
pub(crate) mod testing;
mod text;
mod trail;

use crate::serve::Route;

pub(crate) use layout::{html, problem, sign_in};
pub(crate) use openapi::openapi;

/// Every page.
pub(crate) fn pages() -> impl Iterator<Item = &'static Route> {
    trail::PAGES.iter().chain(&plans::PAGES).chain(&memory::PAGES).chain(&log::PAGES)
}

/// The one stylesheet.
pub(crate) const STYLE: &str = concat!(
    include_str!("assets/style.css"),
    include_str!("assets/trail.css"),
    include_str!("assets/plans.css"),
    include_str!("assets/memory.css"),
    include_str!("assets/log.css"),
);
