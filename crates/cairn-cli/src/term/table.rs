//! Rows in columns: narrow columns as wide as they need, the last one takes what is left.

use super::{Palette, columns, cut, pad};

const GAP: &str = "  ";
/// Columns that the last column should have; if it has less, others are left out.
const ROOM_FOR_TEXT: usize = 20;

/// A table under construction. The first column is never cut and never left out: it holds the id.
pub(crate) struct Table<const N: usize> {
    heads: [&'static str; N],
    widest: [usize; N],
    /// The order in which columns are left out when there is too little room.
    dispensable: &'static [usize],
    rows: Vec<[String; N]>,
}

impl<const N: usize> Table<N> {
    pub(crate) fn new(
        heads: [&'static str; N],
        widest: [usize; N],
        dispensable: &'static [usize],
    ) -> Table<N> {
        Table { heads, widest, dispensable, rows: Vec::new() }
    }

    pub(crate) fn row(&mut self, cells: [String; N]) {
        self.rows.push(cells);
    }

    /// Lays the table out in `width` columns; `paint` colours a padded cell, given row and column.
    pub(crate) fn render(
        &self,
        width: usize,
        palette: Palette,
        paint: impl Fn(usize, usize, &str) -> String,
    ) -> String {
        let mut widths = [0; N];
        for cells in self.rows.iter().map(|row| row.each_ref().map(String::as_str)).chain([self.heads]) {
            for (column, cell) in cells.iter().enumerate() {
                widths[column] = widths[column].max(columns(cell)).min(self.widest[column]);
            }
        }
        let mut shown: Vec<usize> = (0..N).collect();
        for column in self.dispensable {
            if room(width, &widths, &shown) >= ROOM_FOR_TEXT.min(widths[N - 1]) {
                break;
            }
            shown.retain(|kept| kept != column);
        }
        widths[N - 1] = room(width, &widths, &shown).max(1);
        let mut text = String::new();
        let head =
            shown.iter().map(|&column| (column, palette.faint(&fill(self.heads[column], column, &widths))));
        line(&mut text, head);
        for (index, row) in self.rows.iter().enumerate() {
            let cells = shown
                .iter()
                .map(|&column| (column, paint(index, column, &fill(&row[column], column, &widths))));
            line(&mut text, cells);
        }
        text
    }
}

/// What is left for the last column.
fn room<const N: usize>(width: usize, widths: &[usize; N], shown: &[usize]) -> usize {
    let others: usize =
        shown.iter().filter(|&&column| column < N - 1).map(|&column| widths[column] + GAP.len()).sum();
    width.saturating_sub(others)
}

fn fill<const N: usize>(cell: &str, column: usize, widths: &[usize; N]) -> String {
    match column {
        0 => pad(cell, widths[0]),
        _ if column == N - 1 => cut(cell, widths[column]),
        _ => pad(&cut(cell, widths[column]), widths[column]),
    }
}

fn line(text: &mut String, cells: impl Iterator<Item = (usize, String)>) {
    for (column, cell) in cells {
        if column > 0 {
            text.push_str(GAP);
        }
        text.push_str(&cell);
    }
    text.truncate(text.trim_end_matches(' ').len());
    text.push('\n');
}
