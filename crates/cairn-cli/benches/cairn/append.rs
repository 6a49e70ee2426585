//! Durable appends through the library against a bare loop, on new files and on a large one.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};
use cairn::{Cairn, SearchQuery};

use crate::bare::{self, Bare};
use crate::callers::{self, Times};
use crate::stats::{Sample, number};
use crate::text::{self, Draft};
use crate::{Sizes, data, table};

const CAIRN: &str = "cairn.db";
const BARE: &str = "bare.db";

/// Everything measured with one number of callers.
#[derive(Default)]
struct Measured {
    tasks: Sample,
    threads: Sample,
    bare: Sample,
    per_commit: Sample,
    p50: Sample,
    p99: Sample,
}

/// (a): on new files.
pub fn on_new_files(sizes: &Sizes) -> Result<()> {
    table::title('a', "durable appends through the library, against a bare loop that writes the same rows");
    let mut measured: [Measured; 3] = Default::default();
    for _ in 0..sizes.rounds {
        for ((callers, count), measured) in sizes.appends.into_iter().zip(&mut measured) {
            let folder = data::scratch()?;
            measure(folder.path(), callers, count, 0, measured)?;
            let drafts = Draft::many(0, count).into_iter();
            let (times, _) =
                append(&folder.path().join("threads.db"), |cairn| callers::threads(cairn, callers, drafts))?;
            measured.threads.add(count as f64 / times.total.as_secs_f64());
        }
    }
    print(sizes, &measured);
    let [one, _, many] = &measured;
    table::at_least("256 callers against the bare loop", &many.tasks.over(&many.bare), 0.5);
    table::at_least("the same with threads as callers", &many.threads.over(&many.bare), 0.5);
    table::at_least("256 callers against one", &many.tasks.over(&one.tasks), 8.0);
    catch_up_cost(sizes, many)
}

/// (f): the same on a large file, against a new one.
pub fn on_a_large_file(sizes: &Sizes) -> Result<()> {
    table::title('f', &format!("the same on a file of {} records", number(sizes.large as f64)));
    let large = data::scratch()?;
    data::copy(&data::large(sizes.large, sizes.chain)?, &large.path().join(CAIRN))?;
    data::copy(&data::large_bare(sizes.large, sizes.chain)?, &large.path().join(BARE))?;
    let mut on_new: [Measured; 3] = Default::default();
    let mut on_large: [Measured; 3] = Default::default();
    let mut first = sizes.large;
    for _ in 0..sizes.rounds {
        for (index, (callers, count)) in sizes.appends.into_iter().enumerate() {
            let new = data::scratch()?;
            measure(new.path(), callers, count, first, &mut on_new[index])?;
            measure(large.path(), callers, count, first, &mut on_large[index])?;
            first += count as u64;
        }
    }
    print(sizes, &on_large);
    for (index, (callers, _)) in sizes.appends.into_iter().enumerate() {
        let cost = on_new[index].tasks.over(&on_large[index].tasks);
        table::at_most(&format!("cost against a new file, {callers} callers"), &cost, 1.2, "");
    }
    let [_, _, many] = &on_large;
    table::at_least("256 callers against the bare loop on as many rows", &many.tasks.over(&many.bare), 0.5);
    Ok(())
}

/// One round on the files in a folder: Cairn, then the bare loop in transactions of the size that Cairn's had.
fn measure(folder: &Path, callers: usize, count: usize, first: u64, measured: &mut Measured) -> Result<()> {
    let drafts = Draft::many(first, count).into_iter();
    let (times, commits) = append(&folder.join(CAIRN), |cairn| callers::tasks(cairn, callers, drafts))?;
    let per_commit = count as f64 / f64::from(commits);
    measured.tasks.add(count as f64 / times.total.as_secs_f64());
    measured.per_commit.add(per_commit);
    measured.p50.add(times.calls.quantile(0.5));
    measured.p99.add(times.calls.quantile(0.99));

    let rows = bare::rows(Draft::many(first, count));
    let mut bare = Bare::open(&folder.join(BARE), &folder.join(CAIRN))?;
    let taken = bare.write(&rows, per_commit.round().max(1.0) as usize)?;
    measured.bare.add(count as f64 / taken.as_secs_f64());
    Ok(())
}

/// Opens, appends, closes; returns how long the appends took and in how many transactions they went.
fn append(path: &Path, run: impl FnOnce(&Cairn) -> Result<Times>) -> Result<(Times, u32)> {
    let cairn = Cairn::open(path)?;
    // The first thought starts the writer.
    cairn.record(Draft::new(0).thought(None))?;
    let before = transactions(path)?;
    let times = run(&cairn)?;
    let commits = transactions(path)?.wrapping_sub(before);
    cairn.close();
    Ok((times, commits.max(1)))
}

/// How many transactions were ever committed: the third word of the index of SQLite's write-ahead log.
fn transactions(path: &Path) -> Result<u32> {
    let mut name = path.as_os_str().to_owned();
    name.push("-shm");
    let mut word = [0; 4];
    File::open(name).and_then(|file| file.read_exact_at(&mut word, 8)).context("no index of the log")?;
    Ok(u32::from_ne_bytes(word))
}

fn print(sizes: &Sizes, measured: &[Measured; 3]) {
    let rows: Vec<[String; 8]> = sizes
        .appends
        .iter()
        .zip(measured)
        .map(|((callers, _), measured)| {
            [
                callers.to_string(),
                measured.tasks.show(),
                measured.threads.show(),
                measured.bare.show(),
                measured.tasks.over(&measured.bare).show(),
                number(measured.per_commit.median()),
                number(measured.p50.median()),
                number(measured.p99.median()),
            ]
        })
        .collect();
    let header =
        ["callers", "tasks/s", "threads/s", "bare/s", "tasks to bare", "per commit", "p50 ms", "p99 ms"];
    table::print(header, &rows);
}

/// The search index is not on the path of an append; this is what it costs later.
fn catch_up_cost(sizes: &Sizes, many: &Measured) -> Result<()> {
    let (_, count) = sizes.appends[2];
    let mut cost = Sample::default();
    let mut whole = Sample::default();
    for _ in 0..sizes.rounds {
        let folder = data::scratch()?;
        let cairn = Cairn::open(folder.path().join("search.db"))?;
        let times = callers::tasks(&cairn, 256, Draft::many(0, count).into_iter())?;
        let started = Instant::now();
        cairn.search(&SearchQuery { query: text::RARE.into(), ..SearchQuery::default() })?;
        let taken = started.elapsed();
        cost.add(taken.as_secs_f64() * 1e6 / count as f64);
        whole.add(count as f64 / (times.total + taken).as_secs_f64());
    }
    println!(
        "         catching up the search index, off this path: {} µs a record; all work counted, {}/s,",
        cost.show(),
        whole.show()
    );
    println!("         {} of the bare loop", whole.over(&many.bare).show());
    Ok(())
}
