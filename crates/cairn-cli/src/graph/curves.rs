//! The lines between the boxes of a picture, as the curves of SVG paths.

use std::fmt::Write;

use super::layout::{Layout, Point, Size};

/// Room between two lines that leave or reach the same side of a box.
const APART: f64 = 14.0;

/// For each edge the path from what is needed to what needs it.
pub(super) fn curves(edges: &[(usize, usize)], places: &Layout, sizes: &[Size]) -> Vec<String> {
    let ends = ends(edges, places, sizes);
    let one = |(index, &(from, to)): (usize, &(usize, usize))| {
        let (start, end) = ends[index];
        let mut path = String::new();
        if from == to {
            let x = places.boxes[from].x + sizes[from].width / 2.0;
            let y = places.boxes[from].y + sizes[from].height / 2.0;
            let _ = write!(path, "M{x:.1} {:.1}c26 -14 26 30 0 14", y - 7.0);
            return path;
        }
        let _ = write!(path, "M{:.1} {:.1}", start.x, start.y);
        let mut at = start;
        // A line up is part of a circle; it passes the same points the other way round.
        let way: Vec<(Point, Point)> = match end.y > start.y {
            true => places.ways[index].clone(),
            false => places.ways[index].iter().rev().map(|&(top, bottom)| (bottom, top)).collect(),
        };
        for (enter, leave) in way {
            curve(&mut path, at, enter);
            let _ = write!(path, "L{:.1} {:.1}", leave.x, leave.y);
            at = leave;
        }
        curve(&mut path, at, end);
        path
    };
    edges.iter().enumerate().map(one).collect()
}

/// Leaves and arrives upright.
fn curve(path: &mut String, from: Point, to: Point) {
    let middle = (from.y + to.y) / 2.0;
    let _ = write!(path, "C{:.1} {middle:.1} {:.1} {middle:.1} {:.1} {:.1}", from.x, to.x, to.x, to.y);
}

/// Where each line begins and ends: side by side, in the order of what is at their other ends.
fn ends(edges: &[(usize, usize)], places: &Layout, sizes: &[Size]) -> Vec<(Point, Point)> {
    let is_down = |&(from, to): &(usize, usize)| places.boxes[to].y > places.boxes[from].y;
    // The lines at the top and at the bottom of each box: which way they go, the line, whether it begins here.
    let mut sides: Vec<[Vec<(f64, usize, bool)>; 2]> =
        sizes.iter().map(|_| [Vec::new(), Vec::new()]).collect();
    for (index, edge) in edges.iter().enumerate().filter(|(_, (from, to))| from != to) {
        let (from, to) = *edge;
        let way = &places.ways[index];
        let (upper, lower) = if is_down(edge) { (from, to) } else { (to, from) };
        let below = way.first().map_or(places.boxes[lower].x, |(top, _)| top.x);
        let above = way.last().map_or(places.boxes[upper].x, |(_, bottom)| bottom.x);
        sides[upper][1].push((below, index, upper == from));
        sides[lower][0].push((above, index, lower == from));
    }
    let origin = Point { x: 0.0, y: 0.0 };
    let mut ends = vec![(origin, origin); edges.len()];
    for (item, both) in sides.into_iter().enumerate() {
        for (side, mut lines) in both.into_iter().enumerate() {
            lines.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
            let gaps = (lines.len().max(2) - 1) as f64;
            let apart = APART.min(sizes[item].width * 0.7 / gaps);
            let left = places.boxes[item].x - apart * (lines.len() as f64 - 1.0) / 2.0;
            let y = places.boxes[item].y + if side == 1 { sizes[item].height } else { 0.0 };
            for (at, (_, index, begins)) in lines.into_iter().enumerate() {
                let point = Point { x: left + apart * at as f64, y };
                match begins {
                    true => ends[index].0 = point,
                    false => ends[index].1 = point,
                }
            }
        }
    }
    ends
}

#[cfg(test)]
mod tests {
    use super::super::layout::layout;
    use super::*;

    #[test]
    fn lines_to_one_box_arrive_side_by_side() {
        let sizes: Vec<Size> = (0..4).map(|_| Size { width: 100.0, height: 40.0 }).collect();
        let edges = [(0, 3), (1, 3), (2, 3), (3, 3), (3, 0)];
        let places = layout(&sizes, &edges);
        let ends = ends(&edges, &places, &sizes);
        let mut arrivals: Vec<f64> = ends[..3].iter().map(|(_, end)| end.x).collect();
        arrivals.sort_by(f64::total_cmp);
        assert!(arrivals.windows(2).all(|pair| pair[1] - pair[0] > 5.0), "{arrivals:?}");
        assert!(arrivals.iter().all(|x| (x - places.boxes[3].x).abs() < 50.0));
        assert_eq!(curves(&edges, &places, &sizes).len(), 5);
    }
}
