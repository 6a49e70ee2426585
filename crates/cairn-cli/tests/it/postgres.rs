//! The program on PostgreSQL, with servers of the tests' own: killed, replaced, cut off, full, encrypted.
//!
//! They are started from the binaries in `CAIRN_TEST_POSTGRES_BIN`, else from where Debian puts them; without any, these
//! tests say so and end.

mod cluster;
mod cut;
mod encrypted;
mod failover;
mod four_servers;
mod load;
mod lost;
mod roles;
mod trouble;
