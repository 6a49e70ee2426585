//! Tools for working memory: turns, the things a session works with, and the briefs made of both.

mod apply;
mod begin;
mod brief_build;
mod brief_compare;
mod brief_get;
mod brief_verify;
mod end;
mod entity;
mod list;
mod note;
mod open;
mod state;
mod step;
mod summary;

pub use apply::APPLY;
pub use begin::BEGIN;
pub use brief_build::BUILD;
pub use brief_compare::COMPARE;
pub use brief_get::GET;
pub use brief_verify::VERIFY;
pub use end::END;
pub use entity::ENTITY;
pub use list::LIST;
pub use note::NOTE;
pub use open::OPEN;
pub use state::STATE;
pub use step::STEP;
pub use summary::SUMMARY;

use crate::mcp::args::{Arg, Given, Kind};

/// Which session.
const SESSION: Arg = Arg::new("session_id", Kind::Label, "").required();
/// Which turn to look back at.
const TURN: Arg = Arg::new("turn", Kind::Integer(0, u64::MAX), "default: now");
/// Which brief.
const BRIEF: Arg = Arg::new("brief_id", Kind::Label, "").required();
const KEY: Arg = Arg::new("idempotency_key", Kind::Text, "");

fn session(given: &mut Given) -> String {
    given.text("session_id").unwrap_or_default()
}
