//! Keys of b-trees, of indexes and tables alike: swapped, removed, repeated, on pages that stay well formed.

use super::{Change, Tree, leaves_no_trace};
use crate::deceive::btree::{Image, Kind};
use crate::deceive::seeded::Seeded;

pub(super) fn changes(image: &Image, trees: &[Tree], amount: usize, random: &mut Seeded) -> Vec<Change> {
    let mut changes = Vec::new();
    for Tree { name, root } in trees {
        // Tokens are access, not evidence.
        if *name != "token" && !name.starts_with("sqlite_autoindex_token") {
            let all = of_tree(image, name, *root, random);
            changes.extend(random.some(all, amount));
        }
    }
    changes
}

fn of_tree(image: &Image, name: &str, root: usize, random: &mut Seeded) -> Vec<Change> {
    let mut changes = Vec::new();
    for page in image.tree(root) {
        let (kind, cells) = (image.kind(page), image.cells(page));
        let place = format!("{name}, page {page}");
        for first in 0..cells.len() {
            if !leaves_no_trace(name) {
                changes.push(on_cells(format!("{place}: key {first} removed"), page, move |cells| {
                    cells.remove(first);
                }));
            }
            changes.push(on_cells(format!("{place}: key {first} repeated"), page, move |cells| {
                cells.insert(first, cells[first].clone());
            }));
            if cells.len() < 2 {
                continue;
            }
            // The next one, and any other.
            let next = (first + 1) % cells.len();
            let other = (first + 1 + random.index(cells.len() - 1)) % cells.len();
            for second in [next, other] {
                changes.push(on_cells(
                    format!("{place}: key {second} replaced by {first}"),
                    page,
                    move |cells| cells[second] = cells[first].clone(),
                ));
                changes.push(on_cells(
                    format!("{place}: keys {first} and {second} exchanged"),
                    page,
                    move |cells| cells.swap(first, second),
                ));
                changes.extend(columns_exchanged(image, &place, page, kind, first, second, &cells));
            }
        }
    }
    changes
}

/// Exchanges one column of two records at a time, and the row ids of rows, where they are equally long.
fn columns_exchanged(
    image: &Image,
    place: &str,
    page: usize,
    kind: Kind,
    first: usize,
    second: usize,
    cells: &[Vec<u8>],
) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut exchange = |what: String, a: std::ops::Range<usize>, b: std::ops::Range<usize>| {
        if a.len() == b.len() && cells[first][a.clone()] != cells[second][b.clone()] {
            let name = format!("{place}: {what} of keys {first} and {second} exchanged");
            changes.push(on_cells(name, page, move |cells| {
                let (old, new) = (cells[first][a.clone()].to_vec(), cells[second][b.clone()].to_vec());
                cells[first][a.clone()].copy_from_slice(&new);
                cells[second][b.clone()].copy_from_slice(&old);
            }));
        }
    };
    let [a, b] = [first, second].map(|cell| image.columns(kind, &cells[cell]));
    for (index, (a, b)) in a.into_iter().flatten().zip(b.into_iter().flatten()).enumerate() {
        if a.serial == b.serial {
            exchange(format!("column {index}"), a.place, b.place);
        }
    }
    if kind == Kind::LeafTable {
        let [a, b] = [first, second].map(|cell| image.rowid(&cells[cell]));
        exchange("row ids".to_string(), a, b);
    }
    changes
}

fn on_cells(name: String, page: usize, change: impl Fn(&mut Vec<Vec<u8>>) + Send + Sync + 'static) -> Change {
    Change::edit(name, move |image| {
        let mut cells = image.cells(page);
        change(&mut cells);
        image.set_cells(page, &cells)
    })
}
