//! Printing results.

use crate::stats::{Sample, number};

/// Prints the title of a part.
pub fn title(letter: char, text: &str) {
    println!("\n({letter}) {text}\n");
}

/// Prints rows below a header: the first column to the left, the others to the right.
pub fn print<const N: usize>(header: [&str; N], rows: &[[String; N]]) {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([header[column].chars().count()]).max().unwrap_or(0)
    };
    let line = |row: [&str; N]| {
        let cells: Vec<String> = row
            .iter()
            .enumerate()
            .map(|(column, cell)| {
                let width = width(column);
                if column == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
            })
            .collect();
        println!("  {}", cells.join("   ").trim_end());
    };
    line(header);
    for row in rows {
        line(row.each_ref().map(String::as_str));
    }
    println!();
}

/// Prints whether a value that should be large is.
pub fn at_least(what: &str, reached: &Sample, aim: f64) {
    verdict(what, reached.show(), format!("at least {}", number(aim)), reached.median() >= aim);
}

/// Prints whether a value that should be small is.
pub fn at_most(what: &str, reached: &Sample, aim: f64, unit: &str) {
    verdict(what, reached.show(), format!("at most {}{unit}", number(aim)), reached.median() <= aim);
}

fn verdict(what: &str, reached: String, aim: String, met: bool) {
    println!("  {} {what}: {reached}, aim {aim}", if met { "met   " } else { "MISSED" });
}
