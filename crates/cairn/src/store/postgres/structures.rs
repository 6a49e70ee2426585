//! Every index beside the table it covers.
//!
//! Readers go through indexes, so each index must name every row of its table once, under the key of that row, and nothing
//! else. Three queries tell that of a b-tree: the index is read from its beginning and from its end, which shows its keys,
//! their order and their number; and each row of the table, read in the table's own order, is looked up by its key. A GIN
//! index is asked for every word that the table holds. Each query is planned first: an answer counts only if PostgreSQL
//! gets it from the index in question.
//!
//! Where the extension `amcheck` is installed and may be called, it looks at the pages as well.

use tokio_postgres::{Row, SimpleQueryMessage, SimpleQueryRow};

use super::Result;
use super::connect::Link;
use super::error::{is_lost, store_error};
use super::schema::{EXPECTED, OBJECTS};
use super::stored::get;
use crate::store::{Finding, Reason, StoreError};

type Visit<'a> = &'a mut dyn FnMut(Finding);

/// Leaves PostgreSQL one way to answer each query. Settings that a server does not know are left out.
const ONE_WAY: &str = "SELECT set_config(name, wanted, true) FROM pg_settings JOIN (VALUES
    ('enable_seqscan', 'off'), ('enable_sort', 'off'), ('enable_incremental_sort', 'off'), ('enable_hashjoin', 'off'),
    ('enable_mergejoin', 'off'), ('enable_material', 'off'), ('enable_tidscan', 'off'), ('enable_memoize', 'off'), ('enable_indexscan', 'on'),
    ('enable_indexonlyscan', 'on'), ('enable_nestloop', 'on'), ('enable_hashagg', 'on'), ('jit', 'off'),
    ('max_parallel_workers_per_gather', '0'), ('work_mem', '65536')) AS settings (name, wanted) USING (name)";

/// The indexes of the schema, each with its definition as `objects.sql` gives it.
fn list() -> String {
    format!(
        "SELECT i.relname::text, o.definition, c.relname::text, m.amname::text, x.indisunique, x.indcheckxmin,
           ARRAY(SELECT quote_ident(attname) FROM unnest(x.indkey) WITH ORDINALITY AS k (number, place)
             JOIN pg_attribute ON attrelid = x.indrelid AND attnum = k.number ORDER BY k.place),
           pg_get_expr(x.indpred, x.indrelid)
         FROM (\n{OBJECTS}\n) AS o
           JOIN pg_class i ON o.name = 'index ' || i.relname AND i.relnamespace = current_schema()::regnamespace
           JOIN pg_index x ON x.indexrelid = i.oid JOIN pg_class c ON c.oid = x.indrelid JOIN pg_am m ON m.oid = i.relam
         ORDER BY c.relname, i.relname"
    )
}

/// The functions of `amcheck` that this role may call. A function of that name from elsewhere is not called.
const AMCHECK: &str = "SELECT p.proname::text, format('%I.%I', n.nspname, p.proname)
  FROM pg_extension e JOIN pg_depend d ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
    JOIN pg_proc p ON d.classid = 'pg_proc'::regclass AND p.oid = d.objid JOIN pg_namespace n ON n.oid = p.pronamespace
  WHERE e.extname = 'amcheck' AND p.probin = '$libdir/amcheck'
    AND (p.proname, p.pronargs) IN (('bt_index_check', 2), ('gin_index_check', 1), ('verify_heapam', 6))
    AND has_schema_privilege(n.oid, 'USAGE') AND has_function_privilege(p.oid, 'EXECUTE')";

/// Compares every index with its table. Returns notes on the indexes that could not be compared because PostgreSQL chose not
/// to read them, which is no sign of a change.
pub async fn check(link: &Link, visit: Visit<'_>) -> Result<Vec<String>> {
    let mut notes = Vec::new();
    let mut amcheck = Vec::new();
    for row in link.all(AMCHECK, &[]).await? {
        amcheck.push((get::<String>(&row, 0)?, get::<String>(&row, 1)?));
    }
    let may_call =
        |name: &str| amcheck.iter().find(|(known, _)| known == name).map(|(_, call)| call.as_str());
    link.all(ONE_WAY, &[]).await?;
    let mut before = "";
    for row in link.all(&list(), &[]).await? {
        let Some(index) = Index::read(&row)? else { continue };
        if before != index.table {
            before = index.table;
            if let Some(verify_heapam) = may_call("verify_heapam") {
                table(link, index.table, verify_heapam, visit).await?;
            }
        }
        let (compared, checker) = match index.method {
            Method::Tree => (tree(link, &index).await, "bt_index_check"),
            Method::Words => (words(link, &index).await, "gin_index_check"),
        };
        let found = match compared {
            Err(NotCompared::Unused) if index.young => return Err(index.too_young()),
            Err(NotCompared::Unused) => {
                notes.push(index.not_compared());
                None
            }
            compared => index.found(compared)?,
        };
        let found = match may_call(checker).filter(|_| !index.young && found.is_none()) {
            Some(checker) => index.found(pages(link, &index, checker).await)?,
            None => found,
        };
        found.map(&mut *visit);
    }
    Ok(notes)
}

#[derive(Clone, Copy)]
enum Method {
    Tree,
    Words,
}

struct Index {
    name: String,
    table: &'static str,
    method: Method,
    unique: bool,
    /// Older transactions may not read it yet.
    young: bool,
    /// Its columns, quoted where they need it.
    keys: Vec<String>,
    /// Which rows it covers: a condition in parentheses.
    covers: String,
}

impl Index {
    /// Reads a row of [`list`]; none if the index is not one that this program makes, which the schema's check reports.
    fn read(row: &Row) -> Result<Option<Index>> {
        let (name, definition): (String, &str) = (get(row, 0)?, get(row, 1)?);
        let line = format!("index {name}\t{definition}");
        let table = format!("table {}\t", get::<&str>(row, 2)?);
        let table = EXPECTED
            .lines()
            .find_map(|line| line.strip_prefix("table ").filter(|_| line.starts_with(&table)));
        let table = table.and_then(|line| line.split_once('\t')).map(|(table, _)| table);
        let (Some(table), true) = (table, EXPECTED.lines().any(|expected| expected == line)) else {
            return Ok(None);
        };
        Ok(Some(Index {
            name,
            table,
            method: if get::<&str>(row, 3)? == "gin" { Method::Words } else { Method::Tree },
            unique: get(row, 4)?,
            young: get(row, 5)?,
            keys: get(row, 6)?,
            covers: get::<Option<&str>>(row, 7)?.unwrap_or("(true)").to_string(),
        }))
    }

    /// The key as a row, each column with a prefix.
    fn key(&self, prefix: &str) -> String {
        let columns: Vec<String> = self.keys.iter().map(|key| format!("{prefix}{key}")).collect();
        format!("ROW({})", columns.join(", "))
    }

    /// Reads the whole index in one direction: how many entries, and how many that are not behind the one before them.
    fn read_through(&self, direction: Direction, at_most: i64) -> String {
        let (sign, order) = match (direction, self.unique) {
            (Direction::Forward, true) => (">", ""),
            (Direction::Forward, false) => (">=", ""),
            (Direction::Backward, true) => ("<", " DESC"),
            (Direction::Backward, false) => ("<=", " DESC"),
        };
        let keys = self.keys.join(", ");
        let by = self.keys.iter().map(|key| format!("{key}{order}")).collect::<Vec<_>>().join(", ");
        let numbered =
            |what: &str| (0..self.keys.len()).map(|i| format!("{what}{i}")).collect::<Vec<_>>().join(", ");
        let pairs: Vec<String> = (self.keys.iter().enumerate())
            .map(|(i, key)| format!("{key} AS k{i}, lag({key}) OVER way AS p{i}"))
            .collect();
        // Links between pages that lead in a circle do not keep anybody: there is nothing to see beyond `at_most`.
        format!(
            "SELECT count(*), count(*) FILTER (WHERE NOT ROW({k}) {sign} ROW({p})) FROM (
               SELECT {pairs} FROM (SELECT {keys} FROM {table} WHERE {covers} ORDER BY {by} LIMIT {at_most}) AS entries
               WINDOW way AS (ORDER BY {by})) AS pairs",
            k = numbered("k"),
            p = numbered("p"),
            pairs = pairs.join(", "),
            table = self.table,
            covers = self.covers,
        )
    }

    /// Ways to say that `b` has the key of `a`. PostgreSQL may answer the first ones through another index that has one of
    /// the columns, and does so where the table is empty and all ways cost the same. The last one is slow where many keys
    /// begin alike. The rows it finds are wanted in the order of the key, which no other index provides.
    fn same_key(&self) -> Vec<String> {
        let equal = |keys: &[String]| -> String {
            keys.iter().map(|key| format!("b.{key} = a.{key}")).collect::<Vec<_>>().join(" AND ")
        };
        let mut ways = vec![equal(&self.keys)];
        if let [first @ .., last] = &self.keys[..]
            && !first.is_empty()
        {
            ways.push(format!("{} AND b.{last} >= a.{last} AND b.{last} <= a.{last}", equal(first)));
        }
        let (a, b) = (self.key("a."), self.key("b."));
        ways.push(format!("{b} >= {a} AND {b} <= {a}"));
        ways
    }

    /// Looks each row up by its key: how many rows, how many are not found, and how often another one is.
    fn look_up(&self, same: &str) -> String {
        let (table, covers, keys) = (self.table, &self.covers, self.keys.join(", "));
        let through = format!(
            "(SELECT ctid AS place, {keys} FROM {table} AS b WHERE {same} AND {covers} ORDER BY {keys} OFFSET 0) AS hit"
        );
        // `OFFSET 0` keeps the table's side from being read through an index, and both sides from being joined otherwise.
        if self.unique {
            return format!(
                "SELECT count(*), count(*) FILTER (WHERE own = 0), count(*) FILTER (WHERE found > own)
                 FROM (SELECT ctid AS place, {keys} FROM {table} OFFSET 0) AS a, LATERAL (
                   SELECT count(*) AS found, count(*) FILTER (WHERE hit.place = a.place) AS own
                   FROM {through} OFFSET 0) AS looked_up
                 WHERE {covers}"
            );
        }
        format!(
            "SELECT coalesce(sum(n), 0)::bigint, coalesce(sum(abs(n - own)), 0)::bigint,
               coalesce(sum(found - own), 0)::bigint
             FROM (SELECT {keys}, count(place) AS n FROM (SELECT ctid AS place, {keys} FROM {table} OFFSET 0) AS stored
               WHERE {covers} GROUP BY {keys}) AS a, LATERAL (
               SELECT count(*) AS found, count(DISTINCT hit.place) FILTER (WHERE {hit} = {a}) AS own
               FROM {through} OFFSET 0) AS looked_up",
            a = self.key("a."),
            hit = self.key("hit."),
        )
    }

    /// Asks a GIN index for each word that the table holds: how many places words have, how many are not found, and how
    /// many are found where the word is not.
    fn ask_for_words(&self) -> String {
        let (table, words) = (self.table, &self.keys[0]);
        let word = r"('''' || replace(replace(lexeme, '\', '\\'), '''', '''''') || '''')::tsquery";
        format!(
            "SELECT coalesce(sum(n), 0)::bigint, coalesce(sum(abs(n - own)), 0)::bigint,
               coalesce(sum(found - own), 0)::bigint
             FROM (SELECT {word} AS word, count(*) AS n
               FROM (SELECT ctid, {words} FROM {table} OFFSET 0) AS stored, unnest(stored.{words}) GROUP BY lexeme) AS a,
               LATERAL (SELECT count(*) AS found, count(*) FILTER (WHERE b.{words} @@ a.word) AS own
                 FROM {table} AS b WHERE b.{words} @@ a.word OFFSET 0) AS looked_up"
        )
    }

    fn finding(&self, message: String) -> Finding {
        Finding::new(Reason::IndexMismatch, self.table, message)
    }

    fn too_young(&self) -> StoreError {
        StoreError::Other(format!(
            "the index {} was built while older transactions were running, and cannot be compared with its table before \
             they end; try again after a pause",
            self.name
        ))
    }

    fn not_compared(&self) -> String {
        let Index { name, table, .. } = self;
        format!(
            "the index {name} was not compared with table {table}: PostgreSQL does not read the table through it"
        )
    }

    /// The finding of a comparison. Damage that PostgreSQL reports is one.
    fn found(&self, compared: Compared<Option<Finding>>) -> Result<Option<Finding>> {
        let Index { name, table, .. } = self;
        match compared {
            Ok(found) => Ok(found),
            Err(NotCompared::Unused) => Ok(None),
            Err(NotCompared::Damaged(told)) => {
                let message =
                    format!("PostgreSQL reports that index {name} of table {table} is damaged: {told}");
                Ok(Some(self.finding(message).field("index", "sound", name)))
            }
            Err(NotCompared::Failed(error)) => Err(error),
        }
    }

    /// That rows and index differ; none if they do not.
    fn differs(&self, seen: &Seen) -> Option<Finding> {
        let Index { name, table, .. } = self;
        let what = match self.method {
            Method::Tree => "rows",
            Method::Words => "words",
        };
        let (all, hidden, strange) = (seen.rows, seen.hidden, seen.strange);
        let mut wrong = Vec::new();
        if hidden > 0 {
            wrong.push(format!("{hidden} of {all} {what} are not found through it"));
        }
        if strange > 0 {
            wrong.push(format!("it leads to a wrong row {strange} times"));
        }
        if seen.entries != all && wrong.is_empty() {
            let (entries, more) = (seen.entries.min(all), seen.entries > all);
            wrong.push(match more {
                true => format!("it has more entries than the {all} rows"),
                false => format!("read from one end to the other it has {entries} of {all} rows"),
            });
        }
        if seen.disordered > 0 && wrong.is_empty() {
            wrong.push(format!("its entries are out of order at {} places", seen.disordered));
        }
        (!wrong.is_empty()).then(|| {
            let message = format!(
                "the index {name} does not agree with table {table}: {}; `REINDEX INDEX` by the tables' owner makes it anew",
                wrong.join(", ")
            );
            self.finding(message).field("index", "as the table's rows", name)
        })
    }
}

#[derive(Clone, Copy)]
enum Direction {
    Forward,
    Backward,
}

/// How an index and its table compare.
struct Seen {
    rows: i64,
    /// Rows that are not found through the index.
    hidden: i64,
    /// Finds of something else.
    strange: i64,
    /// Entries from one end of the index to the other.
    entries: i64,
    disordered: i64,
}

/// Why an index could not be compared.
enum NotCompared {
    /// PostgreSQL planned to answer in another way.
    Unused,
    /// PostgreSQL found it damaged.
    Damaged(String),
    Failed(StoreError),
}

impl From<tokio_postgres::Error> for NotCompared {
    fn from(error: tokio_postgres::Error) -> NotCompared {
        match error.as_db_error() {
            // Class XX: internal errors, damaged data, damaged indexes.
            Some(told) if told.code().code().starts_with("XX") && !is_lost(&error) => {
                NotCompared::Damaged(told.message().to_string())
            }
            _ => NotCompared::Failed(store_error(error)),
        }
    }
}

impl From<StoreError> for NotCompared {
    fn from(error: StoreError) -> NotCompared {
        NotCompared::Failed(error)
    }
}

type Compared<T> = std::result::Result<T, NotCompared>;

/// A query of one row of numbers, and steps that must be in its plan.
struct Planned {
    sql: String,
    steps: Vec<String>,
}

/// Runs queries in one go, and returns the numbers of each, if PostgreSQL planned them as they are meant: with their steps,
/// and no sorting. An error does not end the transaction, which has more to check.
async fn apart(link: &Link, method: Method, queries: &[Planned]) -> Compared<Vec<Vec<i64>>> {
    let both = |query: &Planned| format!("EXPLAIN (COSTS off) {sql}; {sql};", sql = query.sql);
    let batch: String = queries.iter().map(both).collect();
    let bitmaps = match method {
        Method::Tree => "off",
        Method::Words => "on",
    };
    let batch = format!("SAVEPOINT apart; SET LOCAL enable_bitmapscan = {bitmaps}; {batch} RELEASE apart");
    let told = link.client().simple_query(&batch).await;
    let told = match told {
        Ok(told) => told,
        Err(error) => {
            if !is_lost(&error) {
                link.client().batch_execute("ROLLBACK TO apart; RELEASE apart").await?;
            }
            return Err(error.into());
        }
    };
    // The rows of each statement. The first two are the savepoint and the setting.
    let mut answers = vec![Vec::new()];
    for message in &told {
        match message {
            SimpleQueryMessage::Row(row) => answers.last_mut().expect("begun with one").push(row),
            SimpleQueryMessage::CommandComplete(_) => answers.push(Vec::new()),
            _ => {}
        }
    }
    let mut numbers = Vec::new();
    for (query, answer) in queries.iter().zip(answers[2..].chunks(2)) {
        let [plan, rows] = answer else { return Err(NotCompared::Unused) };
        let has = |step: &str| {
            let step_of = |row: &&SimpleQueryRow| {
                row.get(0).map(|line| line.trim_start_matches([' ', '-', '>']).starts_with(step))
            };
            plan.iter().any(|row| step_of(row) == Some(true))
        };
        if !query.steps.iter().all(|step| has(step)) || has("Sort") || has("Incremental Sort") {
            return Err(NotCompared::Unused);
        }
        let row = rows.first().ok_or(NotCompared::Unused)?;
        numbers.push((0..row.len()).filter_map(|column| row.get(column)?.parse().ok()).collect());
    }
    Ok(numbers)
}

async fn tree(link: &Link, index: &Index) -> Compared<Option<Finding>> {
    let Index { name, table, .. } = index;
    let mut found = Err(NotCompared::Unused);
    for same in index.same_key() {
        let steps = vec![format!("Seq Scan on {table}"), format!("Index Scan using {name} on {table} b")];
        found = apart(link, index.method, &[Planned { sql: index.look_up(&same), steps }]).await;
        if !matches!(found, Err(NotCompared::Unused)) {
            break;
        }
    }
    let Some([rows, hidden, strange]) = numbers(found?.pop()) else { return Err(NotCompared::Unused) };
    let differs = index.differs(&Seen { rows, hidden, strange, entries: rows, disordered: 0 });
    if differs.is_some() {
        return Ok(differs);
    }
    let ways =
        [(Direction::Forward, ""), (Direction::Backward, "Backward ")].map(|(direction, way)| Planned {
            sql: index.read_through(direction, rows + 1),
            steps: vec![format!("Index Only Scan {way}using {name} on {table}")],
        });
    for read in apart(link, index.method, &ways).await? {
        let Some([entries, disordered]) = numbers(Some(read)) else { return Err(NotCompared::Unused) };
        let differs = index.differs(&Seen { rows, hidden, strange, entries, disordered });
        if differs.is_some() {
            return Ok(differs);
        }
    }
    Ok(None)
}

fn numbers<const COUNT: usize>(row: Option<Vec<i64>>) -> Option<[i64; COUNT]> {
    row?.try_into().ok()
}

async fn words(link: &Link, index: &Index) -> Compared<Option<Finding>> {
    let Index { name, table, .. } = index;
    let steps = vec![format!("Seq Scan on {table}"), format!("Bitmap Index Scan on {name}")];
    let sql = index.ask_for_words();
    let Some([rows, hidden, strange]) =
        numbers(apart(link, index.method, &[Planned { sql, steps }]).await?.pop())
    else {
        return Err(NotCompared::Unused);
    };
    Ok(index.differs(&Seen { rows, hidden, strange, entries: rows, disordered: 0 }))
}

/// Has `amcheck` look at the pages of an index.
async fn pages(link: &Link, index: &Index, checker: &str) -> Compared<Option<Finding>> {
    let all = match index.method {
        Method::Tree => ", true",
        Method::Words => "",
    };
    let sql = format!("SELECT {checker}(to_regclass('{}'){all})", index.name);
    apart(link, index.method, &[Planned { sql, steps: Vec::new() }]).await.map(|_| None)
}

/// Has `amcheck` look at the pages of a table.
async fn table(link: &Link, table: &'static str, checker: &str, visit: Visit<'_>) -> Result<()> {
    let sql = format!("SELECT blkno, msg FROM {checker}(relation => to_regclass('{table}')) LIMIT 1");
    link.client().batch_execute("SAVEPOINT pages").await.map_err(store_error)?;
    let told = link.client().query(&sql, &[]).await;
    link.client().batch_execute("ROLLBACK TO pages").await.map_err(store_error)?;
    for row in told.map_err(store_error)? {
        let (block, told): (i64, &str) = (get(&row, 0)?, get(&row, 1)?);
        let message =
            format!("PostgreSQL reports that table {table} is damaged in its block {block}: {told}");
        visit(Finding::new(Reason::IndexMismatch, table, message));
    }
    Ok(())
}
