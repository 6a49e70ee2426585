//! Signing by a process of another user: whoever records can have checkpoints signed and cannot reach the key.
//!
//! The signer signs what extends its own last head of a log and nothing else, so it is a witness as well. What is
//! said over its socket, a Unix socket, is text:
//!
//! ```text
//! SIGN <bytes>            then so many bytes: a report of growth with an unsigned checkpoint
//! KEY <origin>
//!
//! OK <lines>              then so many lines: signature lines, or the public key
//! REFUSED <size> <words>  its head has this size, and the log does not extend it
//! ERROR <words>
//! ```

mod client;
mod heads;
mod server;
mod socket;
mod users;

pub(crate) use client::SocketSigner;
pub(crate) use server::{Settings, serve};
pub(crate) use users::parse_user;

/// The longest line of a request: `KEY` and an origin.
const MAX_LINE: u64 = 512;
/// The longest report of growth: 63 hashes and a body.
const MAX_GROWTH: usize = 8 << 10;
/// The most lines of an answer.
const MAX_LINES: usize = 16;
