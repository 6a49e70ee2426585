//! `cairn witness`: each kind, with a log that is cut short, one that is rewritten, and places that are out of order.

mod bench;
#[cfg(unix)]
mod document;
mod git;
mod http;
mod outage;
mod places;
mod server;
mod timestamp;
