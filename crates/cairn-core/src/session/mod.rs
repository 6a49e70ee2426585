//! Sessions: what each stage of an agent's pipeline should know, and, later, exactly what it did know.
//!
//! A session is an append-only list of events. Its state is what folding them gives, so any past turn can be
//! rebuilt, and nothing is ever overwritten. No clock and no random number takes part.
//!
//! - [`event`]: what can happen, as it is recorded.
//! - [`op`]: operations on entities.
//! - [`entity`]: Layer 1, one thing a session knows of.
//! - [`entities`]: all of them, and what operations do to them.
//! - [`state`]: the fold, with Layer 2 (conversation) and Layer 3 (reasoning).
//! - [`kept`]: a state as text, so that a long session need not be folded from its beginning.

mod blank;
pub mod entities;
pub mod entity;
pub mod event;
pub mod kept;
pub mod op;
pub mod state;
mod wire;

pub use blank::REDACTED;
pub use entities::Entities;
pub use entity::{Entity, Status, Tier};
pub use event::Event;
pub use state::{RecordedEvent, SessionState, compaction_due};
