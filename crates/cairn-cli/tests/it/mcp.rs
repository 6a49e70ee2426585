//! `cairn mcp`, driven over pipes as a client does it.

mod bad_input;
mod harness;
mod lifecycle;
mod lines;
mod tools;
mod verify;
