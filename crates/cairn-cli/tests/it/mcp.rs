//! `cairn mcp`, driven over pipes as a client does it.

mod bad_input;
pub mod harness;
mod lifecycle;
mod lines;
mod memory;
mod plans;
mod proof;
mod redact;
mod reference;
mod tools;
mod verify;
