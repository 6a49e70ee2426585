//! `cairn serve`, driven as agents and browsers do it, and as those do who mean no good.

mod abandoned;
pub(super) mod agent;
mod clients;
mod conformance;
mod figures;
pub(super) mod harness;
mod hostile;
mod names;
mod quiet;
mod replica;
#[cfg(unix)]
mod stop;
mod tls;
mod watching;
pub(super) mod wire;
