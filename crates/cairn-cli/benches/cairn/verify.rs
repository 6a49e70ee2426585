//! Verifying a large file, against the time to read and hash the same bytes.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use cairn::{Options, Scope};
use rusqlite::{Connection, OpenFlags, Row};
use sha2::{Digest, Sha256};

use crate::stats::{Sample, number};
use crate::{Sizes, data, machine, table};

/// The argument with which this program verifies a file in a process of its own.
pub const CHILD: &str = "--verify-only";

/// (c).
pub fn run(sizes: &Sizes) -> Result<()> {
    table::title('c', &format!("verifying {} records", number(sizes.large as f64)));
    let indexed = data::large(sizes.large, sizes.chain)?;
    let unindexed = data::unindexed(sizes.large, sizes.chain)?;
    let [mut whole, mut records, mut one, mut two] = <[Sample; 4]>::default();
    // Once for the system's cache.
    limit(&indexed, 2, sizes.large)?;
    for _ in 0..sizes.rounds.min(3) {
        two.add(limit(&indexed, 2, sizes.large)?.as_secs_f64());
        records.add(verified(&unindexed)?.as_secs_f64());
        one.add(limit(&indexed, 1, sizes.large)?.as_secs_f64());
        whole.add(verified(&indexed)?.as_secs_f64());
    }
    let rows = [
        ("limit: read and hash, one thread", &one),
        ("limit: read and hash, two threads", &two),
        ("verify without a search index", &records),
        ("verify with its search index", &whole),
    ]
    .map(|(what, seconds)| {
        let rate = sizes.large as f64 / seconds.median();
        [what.to_string(), seconds.show(), number(rate), two.over(seconds).show(), one.over(seconds).show()]
    });
    table::print(["", "s", "records/s", "of two threads", "of one thread"], &rows);

    let (start, peak) = peak_memory(&indexed)?;
    let small = data::large(sizes.large / 10, sizes.chain / 10)?;
    let (_, small_peak) = peak_memory(&small)?;
    println!(
        "         memory: {} MB at the start, at most {} MB; with a tenth of the records at most {} MB",
        number(start),
        number(peak),
        number(small_peak)
    );
    table::at_least("verify without a search index against two threads", &two.over(&records), 0.5);
    table::at_least("verify with its search index against two threads", &two.over(&whole), 0.5);
    let mut memory = Sample::default();
    memory.add(peak);
    table::at_most("memory", &memory, 64.0, " MB");
    Ok(())
}

/// Verifies all of it; returns how long that took.
pub fn verified(path: &Path) -> Result<Duration> {
    let cairn = Options::new().create(false).open(path)?;
    let started = Instant::now();
    let report = cairn.verify(&Scope::All)?;
    let taken = started.elapsed();
    ensure!(report.valid(), "the file does not verify: {:?}", report.findings.first());
    Ok(taken)
}

/// Verifies in this process, which does nothing else, and prints its memory before and at most.
pub fn child(path: &str) -> Result<()> {
    let start = machine::memory("self", "VmRSS")?;
    verified(Path::new(path))?;
    println!("{start} {}", machine::memory("self", "VmHWM")?);
    Ok(())
}

/// Verifies in a process of its own; returns its memory at the start and at most, in megabytes.
pub fn peak_memory(path: &Path) -> Result<(f64, f64)> {
    let output = Command::new(std::env::current_exe()?).arg(CHILD).arg(path).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout)?;
    let (start, peak) = text.trim().split_once(' ').context("two numbers")?;
    Ok((start.parse()?, peak.parse()?))
}

/// Reads every column of every entry and thought, and hashes content, both links and the entry's bytes, as
/// verification must.
pub fn limit(path: &Path, threads: u64, records: u64) -> Result<Duration> {
    let started = Instant::now();
    let share = (records + 1).div_ceil(threads);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|number| scope.spawn(move || read_and_hash(path, number * share, (number + 1) * share)))
            .collect();
        let mut rows = 0;
        for worker in workers {
            rows += worker.join().expect("no reader panics")?;
        }
        ensure!(rows == records, "{rows} rows instead of {records}");
        Ok(started.elapsed())
    })
}

fn read_and_hash(path: &Path, from: u64, to: u64) -> Result<u64> {
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let range = " WHERE seq >= ?1 AND seq < ?2 ORDER BY seq";
    let mut entries = connection.prepare(&format!("SELECT * FROM entry{range}"))?;
    let mut thoughts = connection.prepare(&format!("SELECT * FROM thought{range}"))?;
    let leaf_column = entries.column_index("leaf")?;
    let column = |name: &str| thoughts.column_index(name);
    let content_column = column("content")?;
    // The task chain's link is made of these; what stands between them is about as long as the padding.
    let link_columns = [column("id")?, column("type")?, column("timestamp")?, content_column];
    let (columns, entry_columns) = (thoughts.column_count(), entries.column_count());
    let mut entries = entries.query([from, to])?;
    let mut thoughts = thoughts.query([from, to])?;
    let mut link = Vec::new();
    let mut found = 0;
    let mut sum = 0u64;
    // Entry 0 records no thought.
    if from == 0 {
        entries.next()?;
    }
    while let (Some(entry), Some(thought)) = (entries.next()?, thoughts.next()?) {
        sum = sum.wrapping_add(read_all(entry, entry_columns)?).wrapping_add(read_all(thought, columns)?);
        hash(bytes(thought, content_column)?);
        link.clear();
        link.resize(64 + 80, b' ');
        for column in link_columns {
            link.extend_from_slice(bytes(thought, column)?);
        }
        hash(&link);
        hash(&link[..128]);
        hash(bytes(entry, leaf_column)?);
        found += 1;
    }
    std::hint::black_box(sum);
    Ok(found)
}

fn hash(bytes: &[u8]) {
    std::hint::black_box(Sha256::digest(bytes));
}

fn bytes<'r>(row: &'r Row<'_>, column: usize) -> Result<&'r [u8]> {
    Ok(row.get_ref(column)?.as_bytes_or_null()?.unwrap_or_default())
}

/// Touches every column, so that nothing is skipped.
fn read_all(row: &Row<'_>, columns: usize) -> Result<u64> {
    let mut sum = 0;
    for column in 0..columns {
        sum += match row.get_ref(column)? {
            rusqlite::types::ValueRef::Integer(number) => number as u64,
            rusqlite::types::ValueRef::Text(bytes) | rusqlite::types::ValueRef::Blob(bytes) => {
                bytes.len() as u64
            }
            _ => 0,
        };
    }
    Ok(sum)
}
