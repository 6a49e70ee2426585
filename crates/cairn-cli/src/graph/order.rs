//! In which order the boxes of a row stand, so that few lines cross.

/// Times that the order of the rows is improved, down and up.
const SWEEPS: usize = 12;

/// Moves what is connected below each other, and keeps the order in which the fewest lines cross.
pub(super) fn order(rows: &mut Vec<Vec<usize>>, above: &[Vec<usize>], below: &[Vec<usize>]) {
    let mut best = (crossings(rows, above), rows.clone());
    for sweep in 0..SWEEPS {
        let place = &mut places(rows, above.len());
        let down = sweep % 2 == 0;
        let count = rows.len();
        for step in 1..count {
            let index = if down { step } else { count - 1 - step };
            let row = &mut rows[index];
            let near = if down { above } else { below };
            let mean = |item: usize| {
                let sum: usize = near[item].iter().map(|&other| place[other]).sum();
                match near[item].len() {
                    0 => place[item] as f64,
                    count => sum as f64 / count as f64,
                }
            };
            let mut keyed: Vec<(f64, usize)> = row.iter().map(|&item| (mean(item), item)).collect();
            keyed.sort_by(|one, other| one.0.total_cmp(&other.0));
            for (at, (_, item)) in keyed.into_iter().enumerate() {
                row[at] = item;
                place[item] = at;
            }
        }
        let crossings = crossings(rows, above);
        if crossings < best.0 {
            best = (crossings, rows.clone());
        }
        if best.0 == 0 {
            break;
        }
    }
    *rows = best.1;
}

fn places(rows: &[Vec<usize>], items: usize) -> Vec<usize> {
    let mut places = vec![0; items];
    for row in rows {
        for (at, &item) in row.iter().enumerate() {
            places[item] = at;
        }
    }
    places
}

/// Lines that cross between neighbouring rows, counted as one counts inversions.
fn crossings(rows: &[Vec<usize>], above: &[Vec<usize>]) -> u64 {
    let places = places(rows, above.len());
    let mut crossings = 0;
    for (index, row) in rows.iter().enumerate().skip(1) {
        let before = rows[index - 1].len();
        // How many lines so far begin at or before a place: a Fenwick tree.
        let mut tree = vec![0u64; before + 1];
        let mut lines = 0;
        for &item in row {
            let mut starts: Vec<usize> = above[item].iter().map(|&other| places[other]).collect();
            starts.retain(|&start| start < before);
            for &start in &starts {
                let (mut at, mut not_after) = (start + 1, 0);
                while at > 0 {
                    not_after += tree[at];
                    at &= at - 1;
                }
                crossings += lines - not_after;
            }
            for start in starts {
                lines += 1;
                let mut at = start + 1;
                while at <= before {
                    tree[at] += 1;
                    at += at & at.wrapping_neg();
                }
            }
        }
    }
    crossings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_need_not_cross_do_not() {
        let mut rows = vec![vec![0, 1, 2], vec![3, 4, 5]];
        let below = [vec![5], vec![4], vec![3], vec![], vec![], vec![]];
        let above = [vec![], vec![], vec![], vec![2], vec![1], vec![0]];
        assert_eq!(crossings(&rows, &above), 3);
        order(&mut rows, &above, &below);
        assert_eq!((crossings(&rows, &above), rows), (0, vec![vec![0, 1, 2], vec![5, 4, 3]]));
    }
}
