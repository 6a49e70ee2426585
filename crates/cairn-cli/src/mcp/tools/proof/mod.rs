//! Tools for the log itself: state it, prove something by it, verify it.

mod checkpoint;
mod prove;
mod verify;

pub use checkpoint::CHECKPOINT;
pub use prove::PROVE;
pub use verify::VERIFY;
