//! Ways to change a file behind Cairn's back. Each has a name that says what it does, and does the same in every run on
//! the same file.

mod bytes;
mod keys;
mod pages;
mod rows;
mod schema;
mod words;

use std::fs;
use std::path::Path;

use rusqlite::Connection;
use rusqlite::config::DbConfig;

use super::btree::Image;
use super::seeded::Seeded;

/// A change, by its name.
pub(super) struct Change {
    pub(super) name: String,
    how: How,
}

type Edit = Box<dyn Fn(&mut Image) -> bool + Send + Sync>;
type Run = Box<dyn Fn(&Connection) -> rusqlite::Result<()> + Send + Sync>;

enum How {
    /// Changes bytes; says whether it could.
    Edit(Edit),
    /// Uses SQLite itself, with the triggers off.
    Sql(Run),
}

impl Change {
    fn edit(name: String, edit: impl Fn(&mut Image) -> bool + Send + Sync + 'static) -> Change {
        Change { name, how: How::Edit(Box::new(edit)) }
    }

    fn sql(
        name: String,
        run: impl Fn(&Connection) -> rusqlite::Result<()> + Send + Sync + 'static,
    ) -> Change {
        Change { name, how: How::Sql(Box::new(run)) }
    }

    /// Writes the changed file. Says whether there is a change: SQLite refuses some, and some change nothing.
    pub(super) fn make(&self, image: &[u8], file: &Path) -> bool {
        match &self.how {
            How::Edit(edit) => {
                let mut changed = Image::new(image.to_vec());
                if !edit(&mut changed) || changed.bytes == image {
                    return false;
                }
                fs::write(file, &changed.bytes).expect("the file can be written");
                true
            }
            How::Sql(run) => {
                fs::write(file, image).expect("the file can be written");
                let sql = behind(file);
                let done = run(&sql);
                sql.close().expect("nothing is left open");
                done.is_ok() && fs::read(file).expect("the file can be read") != image
            }
        }
    }
}

/// A connection that nothing holds back.
fn behind(file: &Path) -> Connection {
    let sql = Connection::open(file).expect("the unchanged file opens");
    sql.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false).expect("triggers can be off");
    sql.execute_batch("PRAGMA synchronous = OFF; PRAGMA writable_schema = ON; PRAGMA wal_autocheckpoint = 0")
        .expect("settings");
    sql
}

/// Whether a row of a table can go without a trace: of a checkpoint know those alone who have seen it, and a kept state is
/// made again from the events.
fn leaves_no_trace(table: &str) -> bool {
    ["checkpoint", "fold"].contains(&table)
}

/// How many changes of each family.
#[derive(Clone, Copy)]
pub(super) struct Amount {
    pub(super) bytes: usize,
    /// Not in gaps of pages and free pages, which nobody reads.
    pub(super) in_use: bool,
    pub(super) pages: usize,
    /// For each b-tree.
    pub(super) keys: usize,
    /// For each column of each table.
    pub(super) rows: usize,
}

/// All changes of a run.
pub(super) fn all(file: &Path, image: &[u8], amount: Amount, seed: u64) -> Vec<Change> {
    let image = Image::new(image.to_vec());
    let sql = Connection::open(file).expect("the unchanged file opens");
    let trees = trees(&sql);
    let mut random = Seeded(seed);
    let mut changes = bytes::changes(&image, &trees, amount, &mut random);
    changes.extend(pages::changes(&image, amount.pages, &mut random));
    changes.extend(keys::changes(&image, &trees, amount.keys, &mut random));
    changes.extend(schema::changes(&sql));
    changes.extend(words::changes(&sql));
    changes.extend(rows::changes(&sql, amount.rows, &mut random));
    changes
}

/// A b-tree: its name, and its first page.
struct Tree {
    name: String,
    root: usize,
}

fn trees(sql: &Connection) -> Vec<Tree> {
    let mut trees: Vec<Tree> = sql
        .prepare("SELECT name, rootpage FROM sqlite_schema WHERE rootpage > 0 ORDER BY name")
        .unwrap()
        .query_map([], |row| Ok(Tree { name: row.get(0)?, root: row.get(1)? }))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    trees.push(Tree { name: "sqlite_schema".to_string(), root: 1 });
    trees
}
