//! Honest histories never raise a finding. Random histories of everything that people and programs do with a database:
//! `verify` is silent, about the file itself and about every copy of it.
//!
//! `CAIRN_HONEST=200` runs so many histories; `CAIRN_HONEST_SEED=7` begins with this one.

#[path = "honest/history.rs"]
mod history;
#[path = "honest/upgrade.rs"]
mod upgrade;

use history::History;

use crate::harness::sqlites_own;

fn number(name: &str) -> Option<u64> {
    let value = std::env::var(name).ok().filter(|value| !value.is_empty())?;
    Some(value.parse().unwrap_or_else(|_| panic!("{name} is a number")))
}

#[test]
fn honest_histories_raise_no_finding() {
    sqlites_own!("copies of files");
    let first = number("CAIRN_HONEST_SEED").unwrap_or(1);
    for seed in first..first + number("CAIRN_HONEST").unwrap_or(6) {
        let mut history = History::begin(seed);
        for _ in 0..40 {
            history.go_on();
        }
        history.end();
    }
}

#[test]
fn files_of_every_older_version_verify_and_go_on() {
    sqlites_own!("its migrations");
    for version in 1..upgrade::NEWEST {
        for caught_up in [false, true] {
            upgrade::from(version, caught_up);
        }
    }
}
