//! One statement that writes rows of several tables.

use tokio_postgres::types::ToSql;

/// Writes rows of one table, as part of a statement: `{rows}` stands for them, `{if}` for the condition under which they
/// are written.
pub struct Part<'p> {
    pub sql: &'p str,
    /// Of the columns.
    pub types: &'p [&'static str],
}

/// A statement and its values.
pub struct Statement<'b> {
    pub sql: String,
    pub values: Vec<&'b (dyn ToSql + Sync)>,
    /// Whether all of it depends on its first part.
    is_conditional: bool,
    /// Whether one entry is written, as when one caller waits for each. Its rows then go as they are, which is quicker than
    /// lists of one.
    is_single: bool,
}

impl<'b> Statement<'b> {
    pub fn new(is_single: bool) -> Statement<'b> {
        Statement { sql: String::new(), values: Vec::with_capacity(48), is_conditional: false, is_single }
    }

    /// Begins with a part that returns a row, or none, and then nothing that follows is written.
    pub fn begin(&mut self, part: &str, values: &[&'b (dyn ToSql + Sync)]) {
        self.sql = format!("WITH head AS ({part})");
        self.values.extend(values);
        self.is_conditional = true;
    }

    /// Adds a part, if it has rows.
    pub fn add(&mut self, name: &str, part: &Part<'_>, columns: &[&'b dyn List]) {
        let rows = columns[0].rows();
        if rows == 0 {
            return;
        }
        let is_single = self.is_single && rows == 1;
        let (from, list, to) = if is_single { ("(VALUES (", "", "))") } else { ("unnest(", "[]", ")") };
        let mut source = from.to_string();
        for (kind, column) in part.types.iter().zip(columns) {
            let comma = if source.len() == from.len() { "" } else { ", " };
            self.values.push(if is_single { column.first() } else { column.all() });
            source += &format!("{comma}${}::{kind}{list}", self.values.len());
        }
        source += to;
        let condition = if self.is_conditional { "EXISTS (SELECT 1 FROM head)" } else { "true" };
        let part = part.sql.replace("{rows}", &source).replace("{if}", condition);
        let with = if self.sql.is_empty() { "WITH" } else { "," };
        self.sql += &format!("{with} {name} AS ({part})");
    }

    /// The whole of it, if it has parts. It returns the row of the part that it began with, or one of its own.
    pub fn end(mut self) -> Option<Statement<'b>> {
        if self.sql.is_empty() {
            return None;
        }
        self.sql += if self.is_conditional { " SELECT 1 FROM head" } else { " SELECT 1" };
        Some(self)
    }
}

/// The values of a column, of all rows that wait.
pub trait List {
    fn rows(&self) -> usize;
    fn first(&self) -> &(dyn ToSql + Sync);
    fn all(&self) -> &(dyn ToSql + Sync);
}

impl<T: ToSql + Sync> List for Vec<T> {
    fn rows(&self) -> usize {
        self.len()
    }

    fn first(&self) -> &(dyn ToSql + Sync) {
        &self[0]
    }

    fn all(&self) -> &(dyn ToSql + Sync) {
        self
    }
}
