//! Tools for snapshots of roadmaps: what the plan looked like, and what has changed since.

mod compare;
mod create;
mod drift;
mod ensure;
mod get;
mod history;
mod latest;
mod search;
mod verify;

pub use compare::COMPARE;
pub use create::CREATE;
pub use drift::DRIFT;
pub use ensure::ENSURE;
pub use get::GET;
pub use history::HISTORY;
pub use latest::LATEST;
pub use search::SEARCH;
pub use verify::VERIFY;

use crate::mcp::args::{Arg, Kind};

/// Which snapshot.
const CONTEXT: Arg = Arg::new("context_id", SNAPSHOT_ID, "").required();
/// What to keep with a snapshot.
const METADATA: Arg = Arg::new("metadata", Kind::Object, "kept with a new snapshot, up to 64 KiB");

/// Snapshots are numbered from 1.
const SNAPSHOT_ID: Kind = Kind::Integer(1, u64::MAX);
