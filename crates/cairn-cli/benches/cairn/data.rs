//! Files that take long to make, kept for the next run.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};
use cairn::{Cairn, Durability, Options, SearchQuery};
use rusqlite::Connection;

use crate::callers;
use crate::text::{self, Draft};

/// Where all files of the benchmark are.
pub fn folder() -> Result<PathBuf> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().context("no target folder")?;
    let folder = target.join("bench-data");
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// A folder for one measurement, removed afterwards. On the same disk as the large files.
pub fn scratch() -> Result<tempfile::TempDir> {
    Ok(tempfile::tempdir_in(folder()?)?)
}

/// The file of many records with a long chain among them, indexed; made if there is none.
pub fn large(records: u64, chain: u64) -> Result<PathBuf> {
    kept(&format!("trail-{records}-{chain}"), |path| {
        eprintln!("making a file of {records} records, once");
        let started = Instant::now();
        fill(path, records, chain)?;
        eprintln!("made in {:.0} s", started.elapsed().as_secs_f64());
        Ok(())
    })
}

/// A file with the long chain only.
pub fn chain(length: u64) -> Result<PathBuf> {
    kept(&format!("chain-{length}"), |path| fill(path, length, length))
}

/// The large file with the derived tables of a new one, as if nobody had ever searched in it.
pub fn unindexed(records: u64, chain: u64) -> Result<PathBuf> {
    let indexed = large(records, chain)?;
    kept(&format!("unindexed-{records}-{chain}"), |path| {
        copy(&indexed, path)?;
        let folder = tempfile::tempdir()?;
        let new = folder.path().join("new.db");
        Cairn::open(&new)?.close();
        let connection = Connection::open(path)?;
        connection.execute("ATTACH ?1 AS new", [new.to_string_lossy()])?;
        for table in ["search_data", "search_idx", "search_docsize", "action", "derived"] {
            connection.execute_batch(&format!(
                "DELETE FROM main.{table}; INSERT INTO main.{table} SELECT * FROM new.{table};"
            ))?;
        }
        connection.close().map_err(|(_, error)| error)?;
        Ok(())
    })
}

/// The thoughts of the large file as the bare loop writes them.
pub fn large_bare(records: u64, chain: u64) -> Result<PathBuf> {
    let model = large(records, chain)?;
    kept(&format!("bare-{records}-{chain}"), |path| crate::bare::Bare::open(path, &model)?.fill_from(&model))
}

/// Copies a database that nobody has open, and waits until the copy is on disk: what the system still has to
/// write would slow down whatever is measured next.
pub fn copy(from: &Path, to: &Path) -> Result<()> {
    std::fs::copy(from, to)?;
    std::fs::File::open(to)?.sync_all()?;
    Ok(())
}

fn kept(name: &str, make: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
    let path = folder()?.join(format!("{name}-{}-{}.db", text::VERSION, schema()?));
    if !path.exists() {
        // Under another name until it is whole.
        let part = path.with_extension("part");
        for ending in ["part", "part-wal", "part-shm"] {
            let _ = std::fs::remove_file(path.with_extension(ending));
        }
        make(&part)?;
        std::fs::rename(&part, &path)?;
    }
    Ok(path)
}

/// A few digits that change with the schema: files of another one are of no use.
fn schema() -> Result<String> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("empty.db");
    Cairn::open(&path)?.close();
    let statements: String = Connection::open(&path)?.query_row(
        "SELECT group_concat(sql, ';' ORDER BY name) FROM sqlite_schema",
        [],
        |row| row.get(0),
    )?;
    Ok(cairn::Sha::of(statements.as_bytes()).to_string()[..8].to_string())
}

/// Records through the library; the thoughts of the chain stand apart by the same distance, as those of a task
/// that goes on for weeks do.
fn fill(path: &Path, records: u64, chain: u64) -> Result<()> {
    let cairn = Options::new().durability(Durability::Normal).open(path)?;
    let apart = records / chain;
    let drafts = (0..records).map(move |number| {
        let in_chain = number % apart == 0 && number / apart < chain;
        let draft = Draft::new(number);
        Draft { session: if in_chain { text::SESSIONS } else { draft.session }, ..draft }
    });
    callers::tasks(&cairn, 512, drafts)?;
    // A search brings the index up to date.
    cairn.search(&SearchQuery { query: text::RARE.into(), ..SearchQuery::default() })?;
    cairn.close();
    Ok(())
}
