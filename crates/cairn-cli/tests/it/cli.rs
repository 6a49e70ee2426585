//! The program, run as a person or a script runs it.

mod broken;
mod bundle;
mod copies;
mod demo;
mod harness;
mod hostile;
mod init;
mod memory;
mod no_writes;
mod plan_changes;
mod plans;
mod proof;
mod read;
mod record;
mod redact;
mod served;
#[cfg(unix)]
mod signer;
mod token;
mod usage;
mod verify;
mod witness;
