//! What Cairn costs, as ratios within one run.
//!
//! `cargo bench` measures everything, `cargo bench -- a d` some of it, `cargo bench -- --quick` small sizes only
//! (which says whether the benchmark works, not how fast Cairn is). Large files and the Node peer are kept in
//! `bench-data` in the target folder.

mod append;
mod bare;
mod callers;
mod calls;
mod data;
mod http;
mod machine;
mod memory;
mod peer;
mod plans;
mod postgres;
mod proof;
mod read;
mod server;
mod start;
mod stats;
mod table;
mod text;
mod verify;

use anyhow::{Result, bail};

/// How much is measured.
pub struct Sizes {
    /// How often everything is repeated, in turns.
    pub rounds: usize,
    /// Callers, and how many thoughts they record between them.
    pub appends: [(usize, usize); 3],
    /// Records in the large file.
    pub large: u64,
    /// Records in the long chain.
    pub chain: u64,
    /// How often each search runs.
    pub searches: usize,
    /// How many calls a server answers: one after the other, and many in flight.
    pub calls: (usize, usize),
    /// How often a server is started.
    pub starts: usize,
    /// Nodes of the large roadmap.
    pub plan: usize,
    /// Turns of a session, and of a long one.
    pub turns: [usize; 2],
    /// Seconds that clients record over HTTP: in each round of a comparison, and while others read.
    pub http: [u64; 2],
    /// Browsers that watch.
    pub watchers: usize,
    /// Records in the small and in the large database of PostgreSQL.
    pub shared: [u64; 2],
    /// Seconds for each way to put appends in order.
    pub ordering: f64,
}

const FULL: Sizes = Sizes {
    rounds: 5,
    appends: [(1, 2_000), (16, 10_000), (256, 40_000)],
    large: 1_000_000,
    chain: 10_000,
    searches: 25,
    calls: (3_000, 12_000),
    starts: 15,
    plan: 10_000,
    turns: [1_000, 10_000],
    http: [6, 60],
    watchers: 1_000,
    shared: [10_000, 5_000_000],
    ordering: 2.0,
};

const QUICK: Sizes = Sizes {
    rounds: 2,
    appends: [(1, 100), (16, 500), (256, 2_000)],
    large: 20_000,
    chain: 1_000,
    searches: 3,
    calls: (100, 500),
    starts: 3,
    plan: 1_000,
    turns: [50, 200],
    http: [1, 3],
    watchers: 100,
    shared: [2_000, 50_000],
    ordering: 0.3,
};

fn main() -> Result<()> {
    let mut letters = Vec::new();
    let mut sizes = &FULL;
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            // Cargo adds this one.
            "--bench" => {}
            "--quick" => sizes = &QUICK,
            verify::CHILD => return verify::child(args.next().as_deref().unwrap_or_default()),
            "a" | "b" | "c" | "d" | "e" | "f" | "g" | "h" | "i" | "j" | "k" => letters.push(arg),
            _ => bail!("give letters from a to k, or --quick; found `{arg}`"),
        }
    }
    let wanted = |letter: &str| letters.is_empty() || letters.iter().any(|given| given == letter);
    machine::describe()?;
    if wanted("a") {
        append::on_new_files(sizes)?;
    }
    let peer = if ["b", "d", "e", "j"].into_iter().any(wanted) { peer::find()? } else { None };
    if wanted("b") {
        calls::run(sizes, peer.as_ref())?;
    }
    if wanted("c") {
        verify::run(sizes)?;
    }
    if wanted("d") {
        read::run(sizes, peer.as_ref())?;
    }
    if wanted("e") {
        start::run(sizes, peer.as_ref())?;
    }
    if wanted("f") {
        append::on_a_large_file(sizes)?;
    }
    if wanted("g") {
        plans::run(sizes)?;
    }
    if wanted("h") {
        memory::run(sizes)?;
    }
    if wanted("i") {
        proof::run(sizes)?;
    }
    if wanted("j") {
        http::run(sizes, peer.as_ref())?;
    }
    if wanted("k") {
        postgres::run(sizes)?;
    }
    machine::describe_load();
    Ok(())
}
