//! The database behind Cairn's back, whichever it is: the few calls that tests make, in the words of `rusqlite`. Statements
//! are SQLite's; for PostgreSQL the few spellings that differ are changed.

use std::path::Path;

use rusqlite::types::{FromSql, ToSqlOutput, Value, ValueRef};
use tokio::runtime::Runtime;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Client, NoTls};

type Result<T> = std::result::Result<T, String>;

/// A connection with every right there is.
pub enum Sql {
    File(rusqlite::Connection),
    Server(Server),
}

pub struct Server {
    runtime: Runtime,
    client: Client,
}

/// A row, read to its end.
pub struct Row(Vec<Value>);

impl Row {
    pub fn get<T: FromSql>(&self, column: usize) -> Result<T> {
        T::column_result(ValueRef::from(&self.0[column])).map_err(|error| error.to_string())
    }
}

impl Sql {
    pub fn open(path: &Path) -> Sql {
        let Some((server, schema)) = super::schema_of(path) else {
            return Sql::File(rusqlite::Connection::open(path).unwrap());
        };
        let sql = Sql::on(server);
        sql.execute_batch(&format!("SET search_path = {schema}, cairn_test")).unwrap();
        sql
    }

    /// A connection to the server, before any schema is chosen.
    pub fn on(server: &str) -> Sql {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let client = runtime.block_on(async {
            let (client, connection) = tokio_postgres::connect(server, NoTls).await.unwrap();
            tokio::spawn(connection);
            client
        });
        let sql = Sql::Server(Server { runtime, client });
        sql.execute_batch("SET client_min_messages = error; SET lock_timeout = '60s'").unwrap();
        sql
    }

    pub fn execute_batch(&self, text: &str) -> Result<()> {
        match self {
            Sql::File(file) => file.execute_batch(text).map_err(|error| error.to_string()),
            Sql::Server(Server { runtime, client }) => {
                runtime.block_on(client.batch_execute(&in_postgres(text))).map_err(told)
            }
        }
    }

    pub fn execute(&self, text: &str, values: impl Params) -> Result<usize> {
        let values = values.values();
        match self {
            Sql::File(file) => {
                file.execute(text, rusqlite::params_from_iter(values)).map_err(|error| error.to_string())
            }
            Sql::Server(Server { runtime, client }) => {
                let text = in_postgres(text);
                let done = client.execute_raw(&text, values.into_iter().map(Sent));
                runtime.block_on(done).map(|rows| rows as usize).map_err(told)
            }
        }
    }

    /// All rows, each as `read` understands it.
    pub fn query<T>(
        &self,
        text: &str,
        values: impl Params,
        read: impl Fn(&Row) -> Result<T>,
    ) -> Result<Vec<T>> {
        let values = values.values();
        let rows: Vec<Row> = match self {
            Sql::File(file) => file
                .prepare(text)
                .and_then(|mut statement| {
                    let columns = statement.column_count();
                    let row = |row: &rusqlite::Row<'_>| (0..columns).map(|at| row.get(at)).collect();
                    statement
                        .query_map(rusqlite::params_from_iter(values), row)?
                        .map(|row| row.map(Row))
                        .collect()
                })
                .map_err(|error| error.to_string())?,
            Sql::Server(Server { runtime, client }) => {
                let sent: Vec<Sent> = values.into_iter().map(Sent).collect();
                let sent: Vec<&(dyn ToSql + Sync)> = sent.iter().map(|value| value as _).collect();
                let rows = runtime.block_on(client.query(&in_postgres(text), &sent)).map_err(told)?;
                rows.iter()
                    .map(|row| Row((0..row.len()).map(|at| row.get::<_, Got>(at).0).collect()))
                    .collect()
            }
        };
        rows.iter().map(read).collect()
    }

    pub fn query_row<T>(
        &self,
        text: &str,
        values: impl Params,
        read: impl Fn(&Row) -> Result<T>,
    ) -> Result<T> {
        self.query(text, values, read)?.into_iter().next().ok_or_else(|| "no row".to_string())
    }

    /// Runs `attack` with nothing in its way; what protects the tables is put back afterwards, so that nothing but the
    /// change itself can be found.
    pub fn unprotected<T>(&self, attack: impl FnOnce(&Sql) -> T) -> T {
        match self {
            Sql::File(_) => {
                let list = "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'";
                let triggers: Vec<(String, String)> =
                    self.query(list, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
                triggers
                    .iter()
                    .for_each(|(name, _)| self.execute_batch(&format!("DROP TRIGGER {name}")).unwrap());
                let done = attack(self);
                triggers.iter().for_each(|(_, text)| self.execute_batch(text).unwrap());
                done
            }
            Sql::Server(_) => {
                self.execute_batch("SET session_replication_role = replica").unwrap();
                let done = attack(self);
                self.execute_batch("SET session_replication_role = origin").unwrap();
                done
            }
        }
    }
}

/// What the server says, which the driver keeps to itself.
fn told(error: tokio_postgres::Error) -> String {
    error.as_db_error().map_or_else(|| error.to_string(), |told| told.message().to_string())
}

/// The spellings that differ.
fn in_postgres(text: &str) -> String {
    let text = text
        .replace("BEGIN IMMEDIATE", "BEGIN; SELECT size FROM log FOR UPDATE")
        .replace(
            "CAST(substr(hash, 2) || substr(hash, 1, 1) AS BLOB)",
            "substr(hash, 2) || substr(hash, 1, 1)",
        )
        .replace(
            "CAST(replace(CAST(leaf AS TEXT), 'ada', 'adb') AS BLOB)",
            "convert_to(replace(convert_from(leaf, 'UTF8'), 'ada', 'adb'), 'UTF8')",
        );
    let mut out = String::with_capacity(text.len());
    let (mut before, mut quoted) = (' ', false);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match (letter, letters.peek()) {
            ('\'', _) => {
                quoted = !quoted;
                out.push(letter);
            }
            ('?', Some(next)) if !quoted && next.is_ascii_digit() => out.push('$'),
            ('x', Some('\'')) if !quoted && !before.is_alphanumeric() => {
                letters.next();
                let hex: String = letters.by_ref().take_while(|letter| *letter != '\'').collect();
                out.push_str(&format!("'\\x{hex}'::BYTEA"));
            }
            _ => out.push(letter),
        }
        before = letter;
    }
    out
}

/// Values for a statement.
pub trait Params {
    fn values(self) -> Vec<Value>;
}

fn owned(value: &dyn rusqlite::ToSql) -> Value {
    match value.to_sql().unwrap() {
        ToSqlOutput::Borrowed(value) => value.try_into().unwrap(),
        ToSqlOutput::Owned(value) => value,
        other => panic!("{other:?}"),
    }
}

impl Params for [&(dyn rusqlite::ToSql + Send + Sync); 0] {
    fn values(self) -> Vec<Value> {
        Vec::new()
    }
}

impl<T: rusqlite::ToSql> Params for [T; 1] {
    fn values(self) -> Vec<Value> {
        self.iter().map(|value| owned(value)).collect()
    }
}

impl Params for &[&dyn rusqlite::ToSql] {
    fn values(self) -> Vec<Value> {
        self.iter().map(|value| owned(*value)).collect()
    }
}

impl<A: rusqlite::ToSql, B: rusqlite::ToSql> Params for (A, B) {
    fn values(self) -> Vec<Value> {
        vec![owned(&self.0), owned(&self.1)]
    }
}

type Boxed = Box<dyn std::error::Error + Sync + Send>;

/// A value on its way to PostgreSQL, as the type that is wanted there.
#[derive(Debug)]
struct Sent(Value);

impl ToSql for Sent {
    fn to_sql(&self, wanted: &Type, out: &mut bytes::BytesMut) -> std::result::Result<IsNull, Boxed> {
        match (&self.0, wanted) {
            (Value::Null, _) => Ok(IsNull::Yes),
            (Value::Integer(number), &Type::INT4) => i32::try_from(*number)?.to_sql(wanted, out),
            (Value::Integer(number), _) => number.to_sql(wanted, out),
            (Value::Text(text), _) => text.to_sql(wanted, out),
            (Value::Blob(bytes), _) => bytes.to_sql(wanted, out),
            (other, _) => Err(format!("{other:?} for {wanted}").into()),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// A value from PostgreSQL, as SQLite would have it.
struct Got(Value);

impl<'a> tokio_postgres::types::FromSql<'a> for Got {
    fn from_sql(kind: &Type, raw: &'a [u8]) -> std::result::Result<Got, Boxed> {
        Ok(Got(match *kind {
            Type::INT8 => Value::Integer(i64::from_sql(kind, raw)?),
            Type::INT4 => Value::Integer(i32::from_sql(kind, raw)?.into()),
            Type::BOOL => Value::Integer(bool::from_sql(kind, raw)?.into()),
            Type::BYTEA => Value::Blob(raw.to_vec()),
            _ => Value::Text(String::from_sql(&Type::TEXT, raw)?),
        }))
    }

    fn from_sql_null(_: &Type) -> std::result::Result<Got, Boxed> {
        Ok(Got(Value::Null))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}
