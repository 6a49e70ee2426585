//! `cairn serve`, driven as agents and browsers do it, and as those do who mean no good.

mod agent;
mod clients;
mod conformance;
mod figures;
mod harness;
mod hostile;
mod names;
mod quiet;
#[cfg(unix)]
mod stop;
mod tls;
mod watching;
mod wire;
