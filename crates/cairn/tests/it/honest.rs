//! Honest histories never raise a finding. Random histories of everything that people and programs do with a database:
//! `verify` is silent, about the file itself and about every copy of it.
//!
//! `CAIRN_HONEST=200` runs so many histories; `CAIRN_HONEST_SEED=7` begins with this one.

#[path = "honest/history.rs"]
mod history;

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
