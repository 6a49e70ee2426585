//! In which row each box of a graph stands.

/// The edges turned so that none leads back up; those from a box to itself are left out.
pub(super) fn without_circles(count: usize, edges: &[(usize, usize)]) -> Vec<Option<(usize, usize)>> {
    let out = lists(count, edges.iter().copied());
    // 0: not seen, 1: on the way down to the current box, 2: done.
    let mut state = vec![0u8; count];
    let mut place = vec![0usize; count];
    let mut next = 0;
    // In the order in which boxes are finished, what a box leads to is finished before it.
    for start in 0..count {
        let mut path = vec![(start, 0)];
        while let Some((at, tried)) = path.pop() {
            if tried == 0 {
                if state[at] != 0 {
                    continue;
                }
                state[at] = 1;
            }
            match out[at].get(tried) {
                Some(&to) => {
                    path.push((at, tried + 1));
                    if state[to] == 0 {
                        path.push((to, 0));
                    }
                }
                None => {
                    state[at] = 2;
                    place[at] = next;
                    next += 1;
                }
            }
        }
    }
    let turned = |&(from, to): &(usize, usize)| match place[from].cmp(&place[to]) {
        std::cmp::Ordering::Greater => Some((from, to)),
        std::cmp::Ordering::Less => Some((to, from)),
        std::cmp::Ordering::Equal => None,
    };
    edges.iter().map(turned).collect()
}

/// For each box the row it stands in: as far down as the longest way to it.
pub(super) fn layers(count: usize, edges: &[Option<(usize, usize)>]) -> Vec<usize> {
    let out = lists(count, edges.iter().flatten().copied());
    let mut waiting_for = vec![0usize; count];
    for &(_, to) in edges.iter().flatten() {
        waiting_for[to] += 1;
    }
    let mut layer = vec![0usize; count];
    let mut order: Vec<usize> = (0..count).filter(|&index| waiting_for[index] == 0).collect();
    let roots = order.len();
    let mut at = 0;
    while at < order.len() {
        let from = order[at];
        for &to in &out[from] {
            layer[to] = layer[to].max(layer[from] + 1);
            waiting_for[to] -= 1;
            if waiting_for[to] == 0 {
                order.push(to);
            }
        }
        at += 1;
    }
    // What needs nothing stands just above the first that needs it, not at the top.
    // What nothing needs either stands below all others, where it is in nobody's way.
    let last = layer.iter().max().map_or(0, |last| last + 1);
    let below = if edges.iter().flatten().next().is_some() { last } else { 0 };
    for &root in &order[..roots] {
        layer[root] = out[root].iter().map(|&to| layer[to] - 1).min().unwrap_or(below);
    }
    layer
}

fn lists(count: usize, edges: impl Iterator<Item = (usize, usize)>) -> Vec<Vec<usize>> {
    let mut lists = vec![Vec::new(); count];
    for (from, to) in edges {
        lists[from].push(to);
    }
    lists
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_circle_is_opened_at_one_edge() {
        let edges = without_circles(3, &[(0, 1), (1, 2), (2, 0), (1, 1)]);
        assert_eq!(edges, [Some((0, 1)), Some((1, 2)), Some((0, 2)), None]);
        assert_eq!(layers(3, &edges), [0, 1, 2]);
    }

    #[test]
    fn boxes_without_edges_stand_below_the_others() {
        assert_eq!(layers(4, &[Some((1, 2)), None]), [2, 0, 1, 2]);
        assert_eq!(layers(2, &[]), [0, 0]);
    }
}
