//! What it costs to be able to prove: automatic checkpoints while others record, a checkpoint and proofs of a large
//! log, and verifying one with thousands of signatures.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use cairn::{Cairn, HeadFolder, KeyFolder, KeySigner, Options};

use crate::stats::{Sample, number};
use crate::text::Draft;
use crate::{Sizes, callers, data, table, verify};

/// Entries between two checkpoints.
const APART: usize = 256;

/// (i).
pub fn run(sizes: &Sizes) -> Result<()> {
    table::title('i', &format!("signed checkpoints and proofs, of {} records", number(sizes.large as f64)));
    beside_appends(sizes)?;
    of_a_large_log(sizes)?;
    verifying(sizes)
}

/// Appends with and without automatic checkpoints, in turns.
fn beside_appends(sizes: &Sizes) -> Result<()> {
    let (_, count) = sizes.appends[2];
    let [mut with, mut without, mut made] = <[Sample; 3]>::default();
    for round in 0..2 * sizes.rounds {
        // Who is first changes: the disk may be slower for the second.
        let order = if round % 2 == 0 { [true, false] } else { [false, true] };
        for automatic in order {
            let folder = data::scratch()?;
            let state = folder.path().join("state");
            let cairn = Options::new()
                .signer(KeyFolder::new(state.join("keys")))
                .heads(state.join("heads"))
                .automatic_checkpoints(automatic)
                .open(folder.path().join("cairn.db"))?;
            // The first thought starts the writer, and the first checkpoint makes the key.
            cairn.record(Draft::new(0).thought(None))?;
            cairn.checkpoint()?;
            let times = callers::tasks(&cairn, 256, Draft::many(0, count).into_iter())?;
            let rate = count as f64 / times.total.as_secs_f64();
            if automatic {
                with.add(rate);
                made.add(cairn.checkpoints(u64::MAX >> 1)?.len() as f64);
            } else {
                without.add(rate);
            }
            cairn.close();
        }
    }
    let rows = [
        ["none".to_string(), without.show(), String::new()],
        ["automatic".to_string(), with.show(), number(made.median())],
    ];
    table::print(["checkpoints", "256 callers/s", "made"], &rows);
    table::at_least("appends with automatic checkpoints", &with.over(&without), 0.85);
    println!();
    Ok(())
}

/// A checkpoint after 256 more thoughts, and proofs, on a copy of the large file.
fn of_a_large_log(sizes: &Sizes) -> Result<()> {
    let folder = data::scratch()?;
    let path = folder.path().join("cairn.db");
    data::copy(&data::signed(sizes.large, sizes.chain)?, &path)?;
    let heads = folder.path().join("heads");
    let cairn = open(&path, &heads)?;
    remember_all(&cairn, &path, &heads)?;
    let [mut checkpoint, mut inclusion, mut growth] = <[Sample; 3]>::default();
    let mut first = sizes.large;
    for _ in 0..8 * sizes.rounds {
        callers::tasks(&cairn, APART, Draft::many(first, APART).into_iter())?;
        first += APART as u64;
        let started = Instant::now();
        let stated = cairn.checkpoint()?;
        checkpoint.add_ms(started.elapsed());
        ensure!(!stated.signed_by.is_empty(), "the checkpoint is not signed");
        // Spread over the log, and never the same again.
        for number in 0..50 {
            let seq = (number * 7_919 + first * 31) * 104_729 % stated.size;
            let started = Instant::now();
            let proof = cairn.prove(seq)?;
            inclusion.add_ms(started.elapsed());
            ensure!(proof.receipt.is_some(), "entry {seq} has no receipt");
            let started = Instant::now();
            cairn.prove_growth(seq.max(1))?;
            growth.add_ms(started.elapsed());
        }
    }
    cairn.close();
    let row = |name: &str, times: &Sample| {
        [name.to_string(), number(times.median()), number(times.quantile(0.99)), number(times.max())]
    };
    let rows = [
        row("checkpoint after 256 more", &checkpoint),
        row("proof that an entry is in it", &inclusion),
        row("proof that it has grown", &growth),
    ];
    table::print(["", "p50 ms", "p99 ms", "most, ms"], &rows);
    table::at_most("a checkpoint, two syncs in it", &checkpoint, 5.0, " ms");
    table::at_most("a proof of inclusion", &inclusion, 1.0, " ms");
    table::at_most("a proof of growth", &growth, 1.0, " ms");
    println!();
    Ok(())
}

fn open(path: &Path, heads: &Path) -> Result<Cairn> {
    let options = || Options::new().create(false).automatic_checkpoints(false);
    let origin = options().open(path)?.status()?.origin;
    Ok(options().signer(KeySigner::new(data::key(&origin)?)).heads(heads).open(path)?)
}

/// As if every checkpoint had been remembered when it was made. One by one that would take minutes.
fn remember_all(cairn: &Cairn, path: &Path, heads: &Path) -> Result<()> {
    let newest = cairn.checkpoint()?;
    let file = HeadFolder::new(heads).path(&newest.origin);
    let mut text = format!("cairn-head/1\norigin {}\ndatabase {}\n", newest.origin, path.display());
    text.push_str(&format!("key {}\n", data::key(&newest.origin)?.verifying_key()));
    for stated in cairn.checkpoints(u64::MAX >> 1)?.iter().rev() {
        text.push_str(&format!("head {} {} 2026-04-17T09:30:00.000Z\n", stated.size, stated.root));
    }
    std::fs::write(file, text).context("heads")
}

/// Everything that (c) verifies, with a signed checkpoint every 256 entries.
fn verifying(sizes: &Sizes) -> Result<()> {
    let signed = data::signed(sizes.large, sizes.chain)?;
    let plain = data::large(sizes.large, sizes.chain)?;
    let unindexed = data::signed_unindexed(sizes.large, sizes.chain)?;
    let [mut limit, mut with, mut without, mut records] = <[Sample; 4]>::default();
    // Once for the system's cache.
    verify::limit(&plain, 2, sizes.large)?;
    verify::verified(&signed)?;
    for _ in 0..sizes.rounds.min(3) {
        limit.add(verify::limit(&plain, 2, sizes.large)?.as_secs_f64());
        with.add(verify::verified(&signed)?.as_secs_f64());
        without.add(verify::verified(&plain)?.as_secs_f64());
        records.add(verify::verified(&unindexed)?.as_secs_f64());
    }
    let rows = [
        ("limit: read and hash, two threads", &limit),
        ("verify with signatures, without a search index", &records),
        ("verify with signatures and its search index", &with),
        ("verify without signatures, with its search index", &without),
    ]
    .map(|(what, seconds)| [what.to_string(), seconds.show(), limit.over(seconds).show()]);
    table::print(["", "s", "of the limit"], &rows);
    let (start, peak) = verify::peak_memory(&signed)?;
    let small = data::signed(sizes.large / 10, sizes.chain / 10)?;
    let (_, small_peak) = verify::peak_memory(&small)?;
    println!(
        "         memory: {} MB at the start, at most {} MB; with a tenth of the records at most {} MB",
        number(start),
        number(peak),
        number(small_peak)
    );
    table::at_least("verify without a search index against two threads", &limit.over(&records), 0.4);
    table::at_least("verify with its search index against two threads", &limit.over(&with), 0.4);
    let mut memory = Sample::default();
    memory.add(peak);
    table::at_most("memory", &memory, 64.0, " MB");
    Ok(())
}
