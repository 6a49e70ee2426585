//! The machine that everything runs on, and what the system says about a process.

use std::fs::File;
use std::io::Write;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::data;
use crate::stats::number;

/// Prints what the numbers depend on.
pub fn describe() -> Result<()> {
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    println!(
        "{cores} cores, SQLite {}, {} syncs of 4 KiB a second, load {}",
        rusqlite::version(),
        number(syncs_a_second()?),
        load()
    );
    Ok(())
}

/// Prints the load at the end: with other work beside it, only the ratios mean something.
pub fn describe_load() {
    println!("\nload at the end: {}", load());
}

fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().next().unwrap_or("unknown").to_string()
}

/// A disk that answers far more often than a few thousand times a second does not really sync.
fn syncs_a_second() -> Result<f64> {
    let path = data::folder()?.join("syncs");
    let mut file = File::create(&path)?;
    let started = Instant::now();
    let mut count = 0;
    while started.elapsed() < Duration::from_millis(500) {
        file.write_all(&[count as u8; 4096])?;
        file.sync_data()?;
        count += 1;
    }
    let rate = f64::from(count) / started.elapsed().as_secs_f64();
    std::fs::remove_file(path)?;
    Ok(rate)
}

/// A line of a process's status in megabytes: `VmRSS` is what is resident, `VmHWM` the most that ever was.
pub fn memory(process: &str, line: &str) -> Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let kilobytes: f64 = status
        .lines()
        .find_map(|found| found.strip_prefix(line)?.strip_prefix(':')?.trim().strip_suffix(" kB"))
        .with_context(|| format!("no {line} in the status of process {process}"))?
        .trim()
        .parse()?;
    Ok(kilobytes * 1024.0 / 1e6)
}
