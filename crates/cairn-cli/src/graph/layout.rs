//! Where each box of a graph goes.
//!
//! Boxes stand in rows, each below everything it needs. Within a row they are ordered so that few lines cross,
//! and moved towards what they are connected with. All of it takes time linear in the size of the graph, but for
//! sorting; circles and boxes that need themselves are allowed.

use super::layers::{layers, without_circles};
use super::order::order;

/// Room between two boxes of a row.
const GAP_X: f64 = 28.0;
/// Room between two lines that pass through a row.
const GAP_LINE: f64 = 14.0;
/// Room between two rows.
const GAP_Y: f64 = 56.0;
/// Room between the rows into which one long row is broken.
const GAP_BROKEN: f64 = 24.0;
/// A row this wide is never broken.
const NARROW: f64 = 1800.0;
/// Times that boxes are moved towards their neighbours.
const PLACE_SWEEPS: usize = 10;
/// Rows that a line may pass through on a way of its own; a longer one goes straight.
const LONGEST_WAY: usize = 60;

pub(super) struct Size {
    pub(super) width: f64,
    pub(super) height: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Point {
    pub(super) x: f64,
    pub(super) y: f64,
}

pub(super) struct Layout {
    /// The centre of the top of each box.
    pub(super) boxes: Vec<Point>,
    /// For each edge, what it passes between its two boxes: the top and the bottom of each row.
    pub(super) ways: Vec<Vec<(Point, Point)>>,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// Lays out boxes of these sizes, connected from the one that is needed to the one that needs it.
pub(super) fn layout(sizes: &[Size], edges: &[(usize, usize)]) -> Layout {
    let down = without_circles(sizes.len(), edges);
    let layers = layers(sizes.len(), &down);
    let mut net = Net::new(sizes, &down, &layers);
    order(&mut net.rows, &net.above, &net.below);
    net.break_rows();
    net.place()
}

/// Boxes, and the points where long lines pass through a row, in rows.
struct Net {
    boxes: usize,
    width: Vec<f64>,
    height: Vec<f64>,
    above: Vec<Vec<usize>>,
    below: Vec<Vec<usize>>,
    rows: Vec<Vec<usize>>,
    /// For each edge the points it passes, from its first box on.
    ways: Vec<Vec<usize>>,
    /// Whether a row goes on with the one before it.
    broken: Vec<bool>,
}

impl Net {
    fn new(sizes: &[Size], edges: &[Option<(usize, usize)>], layers: &[usize]) -> Net {
        let boxes = sizes.len();
        let mut net = Net {
            boxes,
            width: sizes.iter().map(|size| size.width).collect(),
            height: sizes.iter().map(|size| size.height).collect(),
            above: vec![Vec::new(); boxes],
            below: vec![Vec::new(); boxes],
            rows: vec![Vec::new(); layers.iter().max().map_or(0, |last| last + 1)],
            ways: vec![Vec::new(); edges.len()],
            broken: Vec::new(),
        };
        for (index, &layer) in layers.iter().enumerate() {
            net.rows[layer].push(index);
        }
        // Many long lines would need more points than there are boxes by far: the short ones come first.
        let mut room = 4 * (boxes + edges.len());
        let span = |edge: &Option<(usize, usize)>| edge.map_or(0, |(from, to)| layers[to] - layers[from]);
        let mut by_length: Vec<usize> = (0..edges.len()).collect();
        by_length.sort_by_key(|&index| span(&edges[index]));
        for index in by_length {
            let Some((from, to)) = edges[index] else { continue };
            let points = span(&edges[index]) - 1;
            let mut last = from;
            if points <= LONGEST_WAY && points <= room {
                room -= points;
                for layer in layers[from] + 1..layers[to] {
                    let point = net.point(layer);
                    net.connect(last, point);
                    net.ways[index].push(point);
                    last = point;
                }
            }
            net.connect(last, to);
        }
        net
    }

    fn point(&mut self, layer: usize) -> usize {
        let point = self.width.len();
        self.width.push(0.0);
        self.height.push(0.0);
        self.above.push(Vec::new());
        self.below.push(Vec::new());
        self.rows[layer].push(point);
        point
    }

    fn connect(&mut self, from: usize, to: usize) {
        self.below[from].push(to);
        self.above[to].push(from);
    }

    /// Breaks rows that would make the picture far wider than high.
    fn break_rows(&mut self) {
        let area: f64 =
            (0..self.boxes).map(|item| (self.width[item] + GAP_X) * (self.height[item] + GAP_Y)).sum();
        let widest = (area.sqrt() * 1.6).max(NARROW);
        let (mut rows, mut broken) = (Vec::new(), Vec::new());
        for row in std::mem::take(&mut self.rows) {
            let (mut part, mut used, mut first) = (Vec::new(), 0.0, true);
            for item in row {
                let needed = self.width[item] + if item < self.boxes { GAP_X } else { GAP_LINE };
                if used + needed > widest && !part.is_empty() {
                    rows.push(std::mem::take(&mut part));
                    broken.push(!std::mem::take(&mut first));
                    used = 0.0;
                }
                part.push(item);
                used += needed;
            }
            rows.push(part);
            broken.push(!first);
        }
        (self.rows, self.broken) = (rows, broken);
    }

    fn place(self) -> Layout {
        let mut x = vec![0.0; self.width.len()];
        for row in &self.rows {
            let mut right = 0.0;
            for &item in row {
                x[item] = right + self.width[item] / 2.0;
                right += self.width[item] + GAP_X;
            }
            // Rows start out centred below each other.
            row.iter().for_each(|&item| x[item] -= right / 2.0);
        }
        for sweep in 0..PLACE_SWEEPS {
            let count = self.rows.len();
            for step in 0..count {
                let down = sweep % 2 == 0;
                let row = &self.rows[if down { step } else { count - 1 - step }];
                // The last sweeps look both ways, which evens out what the others did.
                let both = sweep + 2 >= PLACE_SWEEPS;
                self.settle(row, &mut x, down || both, !down || both);
            }
        }
        self.centre_loose_rows(&mut x);
        self.finish(&x)
    }

    /// Boxes that are connected with nothing have not moved: they go below the middle of those that have.
    fn centre_loose_rows(&self, x: &mut [f64]) {
        let is_loose = |&item: &usize| self.above[item].is_empty() && self.below[item].is_empty();
        let middle = |items: &mut dyn Iterator<Item = f64>| {
            let (left, right) = items
                .fold((f64::INFINITY, f64::NEG_INFINITY), |(left, right), x| (left.min(x), right.max(x)));
            (left + right) / 2.0
        };
        let (loose, bound): (Vec<_>, Vec<_>) = self.rows.iter().partition(|row| row.iter().all(is_loose));
        if bound.is_empty() {
            return;
        }
        let target = middle(&mut bound.into_iter().flatten().map(|&item| x[item]));
        for row in loose {
            let shift = target - middle(&mut row.iter().map(|&item| x[item]));
            row.iter().for_each(|&item| x[item] += shift);
        }
    }

    /// Moves each item of a row as near to its neighbours as the others allow.
    fn settle(&self, row: &[usize], x: &mut [f64], above: bool, below: bool) {
        let mut offset = 0.0;
        let mut offsets = Vec::with_capacity(row.len());
        // Groups of items that push against each other: where they want to be, their weight, how many.
        let mut groups: Vec<(f64, f64, usize)> = Vec::with_capacity(row.len());
        for (at, &item) in row.iter().enumerate() {
            if at > 0 {
                let before = row[at - 1];
                let gap = if item < self.boxes || before < self.boxes { GAP_X } else { GAP_LINE };
                offset += (self.width[before] + self.width[item]) / 2.0 + gap;
            }
            offsets.push(offset);
            let ups = self.above[item].iter().filter(|_| above);
            let near: Vec<usize> = ups.chain(self.below[item].iter().filter(|_| below)).copied().collect();
            let wish = match near.len() {
                0 => x[item],
                count => near.iter().map(|&other| x[other]).sum::<f64>() / count as f64,
            };
            // A line that passes should be straight; a box without neighbours has no say.
            let weight = match (item < self.boxes, near.is_empty()) {
                (false, _) => 4.0,
                (true, false) => 1.0,
                (true, true) => 0.05,
            };
            let mut group = (wish - offset, weight, 1);
            while let Some(&(wish, weight, count)) = groups.last().filter(|last| last.0 > group.0) {
                groups.pop();
                let sum = weight + group.1;
                group = ((wish * weight + group.0 * group.1) / sum, sum, count + group.2);
            }
            groups.push(group);
        }
        let mut at = 0;
        for (start, _, count) in groups {
            for _ in 0..count {
                x[row[at]] = start + offsets[at];
                at += 1;
            }
        }
    }

    fn finish(self, x: &[f64]) -> Layout {
        let left = (0..x.len()).map(|item| x[item] - self.width[item] / 2.0).fold(f64::INFINITY, f64::min);
        let left = if left.is_finite() { left } else { 0.0 };
        let right = (0..x.len()).map(|item| x[item] + self.width[item] / 2.0).fold(left, f64::max);
        let mut span = vec![(0.0, 0.0); x.len()];
        let (mut y, mut bottom) = (0.0, 0.0);
        for (row, &broken) in self.rows.iter().zip(&self.broken) {
            if bottom > 0.0 {
                y = bottom + if broken { GAP_BROKEN } else { GAP_Y };
            }
            bottom = y + row.iter().map(|&item| self.height[item]).fold(0.0, f64::max);
            row.iter().for_each(|&item| span[item] = (y, bottom));
        }
        let at = |item: usize, y: f64| Point { x: x[item] - left, y };
        let passes = |&item: &usize| (at(item, span[item].0), at(item, span[item].1));
        Layout {
            boxes: (0..self.boxes).map(|item| at(item, span[item].0)).collect(),
            ways: self.ways.iter().map(|way| way.iter().map(passes).collect()).collect(),
            width: (right - left).max(0.0),
            height: bottom,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn laid_out(count: usize, edges: &[(usize, usize)]) -> Layout {
        let sizes: Vec<Size> = (0..count).map(|_| Size { width: 100.0, height: 40.0 }).collect();
        layout(&sizes, edges)
    }

    fn assert_apart(layout: &Layout) {
        let mut boxes = layout.boxes.clone();
        boxes.sort_by(|one, other| (one.y, one.x).partial_cmp(&(other.y, other.x)).unwrap());
        for pair in boxes.windows(2) {
            assert!(pair[0].y != pair[1].y || pair[1].x - pair[0].x >= 100.0 + GAP_X - 0.01, "{pair:?}");
        }
        assert!(boxes.iter().all(|at| at.x >= 49.9 && at.x <= layout.width - 49.9));
    }

    #[test]
    fn what_is_needed_stands_above_what_needs_it() {
        let edges = [(0, 1), (0, 2), (1, 3), (2, 3), (0, 3), (4, 3)];
        let layout = laid_out(6, &edges);
        for (from, to) in edges {
            assert!(layout.boxes[from].y < layout.boxes[to].y);
        }
        assert_apart(&layout);
        // One that is needed late stands late; the long line has a way past the middle row.
        assert_eq!(layout.boxes[4].y, layout.boxes[1].y);
        assert_eq!(layout.ways[4].len(), 1);
    }

    #[test]
    fn circles_and_boxes_that_need_themselves_are_drawn() {
        let layout = laid_out(4, &[(0, 1), (1, 2), (2, 0), (3, 3)]);
        assert_apart(&layout);
        assert_eq!(laid_out(0, &[]).width, 0.0);
        assert_apart(&laid_out(1, &[]));
    }

    #[test]
    fn ten_thousand_boxes_of_any_shape_are_laid_out_soon() {
        const MANY: usize = 10_000;
        let started = std::time::Instant::now();
        let chain: Vec<_> = (1..MANY).map(|n| (n - 1, n)).collect();
        let star: Vec<_> = (1..MANY).map(|n| (0, n)).collect();
        let both: Vec<_> = chain.iter().chain(&star).copied().collect();
        let circle: Vec<_> = (0..MANY).map(|n| (n, (n + 1) % MANY)).collect();
        let tangle: Vec<_> = (1..MANY).flat_map(|n| [(n * 7919 % n, n), (n * 104_729 % n, n)]).collect();
        for edges in [vec![], chain, star, both, circle, tangle] {
            assert_apart(&laid_out(MANY, &edges));
        }
        // Without optimisation; a quadratic step would take minutes.
        assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
    }
}
