//! The schema: recognising our files, making new ones, bringing old ones up to date, refusing the rest.

use std::path::Path;

use cairn_core::entry::{Entry, Genesis};
use cairn_core::log::{Edge, leaf_hash};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, TransactionBehavior, params};

use super::error::{is_read_only, store_error};
use super::{fts5, record};
use crate::store::{Birth, OpenError};

/// "CARN": how `file` and other tools can tell whose database it is.
pub const APPLICATION_ID: i32 = 0x4341_524e;

/// The first brings an empty file to [`FIRST`], each of the others to the next version. Never edited once released.
const MIGRATIONS: [&str; 1] = [include_str!("../../../migrations/sqlite/0011_cairn.sql")];

/// The oldest version that can be read. Those before it were never released.
const FIRST: i64 = 11;

/// The version this program writes.
pub const VERSION: i64 = FIRST + MIGRATIONS.len() as i64 - 1;

/// Why a file cannot be used.
pub enum PrepareError {
    /// SQLite reported something.
    Sql(rusqlite::Error),
    /// The file is something else; what it seems to be.
    NotOurs(&'static str),
    /// The file was written by a later version.
    Newer(i64),
    /// The file was written by an earlier version, and cannot be brought up to date here.
    Older(i64),
    /// A write was interrupted, and must be taken back by somebody who may write.
    Interrupted,
    /// The file is empty, and it was not asked to be made.
    Empty,
    /// The file has no tables, and is neither empty nor being made.
    Hollow,
}

impl From<rusqlite::Error> for PrepareError {
    fn from(error: rusqlite::Error) -> PrepareError {
        PrepareError::Sql(error)
    }
}

impl PrepareError {
    /// Names the file.
    pub fn at(self, path: &Path) -> OpenError {
        let path = path.to_path_buf();
        match self {
            PrepareError::NotOurs(found) => OpenError::NotOurs { path, found: found.to_string() },
            PrepareError::Newer(found) => OpenError::Newer { path, found, known: VERSION },
            PrepareError::Older(found) => OpenError::Older { path, found, known: VERSION },
            PrepareError::Interrupted => OpenError::Interrupted { path },
            PrepareError::Empty => OpenError::Missing { path },
            PrepareError::Hollow => OpenError::Hollow { path },
            PrepareError::Sql(error) => match error.sqlite_error_code() {
                Some(ErrorCode::NotADatabase) => {
                    OpenError::NotOurs { path, found: "it is not an SQLite file".to_string() }
                }
                _ if is_read_only(&error) => OpenError::ReadOnly { path },
                _ => OpenError::Store { path, source: store_error(error) },
            },
        }
    }
}

/// Makes sure that the file is ours and current. A new file gets its schema and its first entry.
pub fn prepare(connection: &mut Connection, birth: Option<&Birth>) -> Result<(), PrepareError> {
    let version = recognise(connection)?;
    if version == VERSION {
        return Ok(());
    }
    if version == 0 && birth.is_none() {
        return Err(PrepareError::Empty);
    }
    let begun = connection
        .pragma_update(None, "journal_mode", "WAL")
        .and_then(|()| connection.transaction_with_behavior(TransactionBehavior::Immediate));
    let transaction = match begun {
        Err(error) if version > 0 && is_read_only(&error) => return Err(PrepareError::Older(version)),
        begun => begun?,
    };
    // Another process may have been faster.
    let version = recognise(&transaction)?;
    for (makes, migration) in (FIRST..).zip(MIGRATIONS) {
        if makes > version {
            transaction.execute_batch(migration)?;
        }
    }
    if version == 0 {
        begin_log(&transaction, birth.ok_or(PrepareError::Empty)?)?;
    }
    fts5::note_parts(&transaction, &fts5::SEARCH)?;
    fts5::note_parts(&transaction, &fts5::RAG_SEARCH)?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    transaction.commit()?;
    Ok(())
}

/// The schema version of one of our files, 0 for an empty file.
pub fn recognise(connection: &Connection) -> Result<i64, PrepareError> {
    let number = |pragma: &str| connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
    // Tables first: they come in one commit with the other two, so a file that is made meanwhile is never taken for that
    // of another program.
    let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    let application = number("application_id")?;
    let version = number("user_version")?;
    if application == i64::from(APPLICATION_ID) {
        match version {
            newer if newer > VERSION => Err(PrepareError::Newer(newer)),
            older if older < FIRST => Err(PrepareError::Older(older)),
            known => Ok(known),
        }
    } else if application == 0 && tables == 0 {
        Ok(0)
    } else {
        Err(PrepareError::NotOurs("it is an SQLite database of another program"))
    }
}

fn begin_log(connection: &Connection, birth: &Birth) -> rusqlite::Result<()> {
    let genesis = Entry::Genesis(Genesis {
        origin: birth.origin.as_str().into(),
        seq: 0,
        timestamp: birth.timestamp.as_str().into(),
    });
    let mut leaf = Vec::new();
    genesis.write(&mut leaf);
    let hash = leaf_hash(&leaf);
    let mut edge = Edge::empty();
    edge.push(hash, &mut |_| {});
    record::insert_statement(connection, &genesis, &hash)?;
    connection.execute(
        "INSERT INTO log (one, origin, size, root, edge) VALUES (1, ?1, 1, ?2, ?3)",
        params![birth.origin, edge.root().0, edge.to_bytes()],
    )?;
    connection.execute(
        "INSERT INTO derived (one, chained, through, segments, rag_segments) VALUES (1, 0, 0, x'', x'')",
        [],
    )?;
    Ok(())
}

/// One row of `sqlite_schema`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// `table`, `index`, `view` or `trigger`.
    pub kind: String,
    /// Its own name.
    pub name: String,
    /// The table it belongs to.
    pub table: String,
    /// The text that made it; indexes that SQLite makes itself have none.
    pub sql: Option<String>,
    /// Whether it has a b-tree.
    pub rooted: bool,
}

/// The schema of a file of the current version.
pub fn expected() -> rusqlite::Result<Vec<Object>> {
    let connection = Connection::open_in_memory()?;
    for migration in MIGRATIONS {
        connection.execute_batch(migration)?;
    }
    objects(&connection)
}

/// Everything in the schema of `connection`, whatever its name.
pub fn objects(connection: &Connection) -> rusqlite::Result<Vec<Object>> {
    // A name that is stored as a blob is another name.
    let text = |value: ValueRef<'_>| match value {
        ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
        other => format!("{other:?}"),
    };
    connection
        .prepare("SELECT type, name, tbl_name, sql, rootpage FROM sqlite_schema ORDER BY type, name")?
        .query_map([], |row| {
            Ok(Object {
                kind: text(row.get_ref(0)?),
                name: text(row.get_ref(1)?),
                table: text(row.get_ref(2)?),
                sql: match row.get_ref(3)? {
                    ValueRef::Null => None,
                    value => Some(text(value)),
                },
                rooted: !matches!(row.get_ref(4)?, ValueRef::Null | ValueRef::Integer(0)),
            })
        })?
        .collect()
}

/// Whether it is a table of statistics that `ANALYZE` makes: it can change how SQLite looks something up, and not what it
/// finds.
pub fn is_statistics(object: &Object) -> bool {
    let sql = match object.name.as_str() {
        "sqlite_stat1" => "CREATE TABLE sqlite_stat1(tbl,idx,stat)",
        "sqlite_stat4" => "CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)",
        _ => return false,
    };
    object.kind == "table"
        && object.table == object.name
        && object.sql.as_deref() == Some(sql)
        && object.rooted
}

/// The tables of the schema.
const TABLES: [&str; 26] = [
    "log",
    "entry",
    "tile",
    "task",
    "session",
    "thought",
    "derived",
    "task_thought",
    "session_thought",
    "action",
    "search",
    "roadmap",
    "snapshot",
    "context",
    "rag_documents",
    "rag_search",
    "event",
    "memory",
    "body",
    "brief",
    "checkpoint",
    "redaction",
    "review",
    "seal",
    "fold",
    "token",
];

/// The table that a table, an index or a part of a search index belongs to, by its name.
pub fn table_of(name: &str) -> &'static str {
    let name = name.strip_prefix("sqlite_autoindex_").unwrap_or(name);
    let of =
        |table: &&str| name.strip_prefix(*table).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'));
    TABLES.into_iter().filter(of).max_by_key(|table| table.len()).unwrap_or("database")
}
