//! Files that take long to make, kept for the next run.

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};
use cairn::core::log::{Checkpoint, Edge};
use cairn::core::note::SigningKey;
use cairn::{Cairn, Durability, KeySigner, Options, SearchQuery, Sha};
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

/// The large file with a signed checkpoint every 256 entries, as if it had been signed from the first one on.
pub fn signed(records: u64, chain: u64) -> Result<PathBuf> {
    let plain = large(records, chain)?;
    kept(&format!("signed-{records}-{chain}"), |path| sign(&plain, path))
}

/// Likewise, of the one that nobody ever searched in.
pub fn signed_unindexed(records: u64, chain: u64) -> Result<PathBuf> {
    let plain = unindexed(records, chain)?;
    kept(&format!("signed-unindexed-{records}-{chain}"), |path| sign(&plain, path))
}

fn sign(plain: &Path, path: &Path) -> Result<()> {
    copy(plain, path)?;
    let options = || Options::new().create(false).automatic_checkpoints(false);
    let origin = options().open(path)?.status()?.origin;
    let mut connection = Connection::open(path)?;
    let transaction = connection.transaction()?;
    without_guards(&transaction, "checkpoint", "DELETE FROM checkpoint")?;
    sign_all(&transaction, &origin)?;
    transaction.commit()?;
    connection.close().map_err(|(_, error)| error)?;
    // The last one is made by the library, which introduces the key.
    let cairn = options().signer(KeySigner::new(key(&origin)?)).open(path)?;
    cairn.checkpoint()?;
    cairn.close();
    Ok(())
}

/// Does to a table what its triggers forbid.
fn without_guards(connection: &Connection, table: &str, statement: &str) -> Result<()> {
    let mut guards =
        connection.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = ?1")?;
    let guards: Vec<(String, String)> =
        guards.query_map([table], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?;
    for (name, _) in &guards {
        connection.execute_batch(&format!("DROP TRIGGER {name}"))?;
    }
    connection.execute_batch(statement)?;
    for (_, sql) in &guards {
        connection.execute_batch(sql)?;
    }
    Ok(())
}

/// The key that signs it; no secret.
pub fn key(origin: &str) -> Result<SigningKey> {
    Ok(SigningKey::from_seed(origin, [7; 32])?)
}

fn sign_all(connection: &Connection, origin: &str) -> Result<()> {
    let (key, mut edge) = (key(origin)?, Edge::empty());
    let mut hashes = connection.prepare("SELECT hash FROM entry ORDER BY seq")?;
    let mut hashes = hashes.query([])?;
    let mut insert = connection.prepare("INSERT INTO checkpoint (size, note) VALUES (?1, ?2)")?;
    while let Some(row) = hashes.next()? {
        edge.push(Sha(row.get(0)?), &mut |_| {});
        if edge.size() % 256 == 0 {
            let note = Checkpoint::new(origin, edge.size(), edge.root())?.signed(&[&key])?;
            insert.execute((edge.size(), note.to_string()))?;
        }
    }
    Ok(())
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
