//! A session tree as it is drawn: lines, what was given up beside them, and forks.
//!
//! Most thoughts have one successor, so a thought that follows from the one above it stands directly below it. Where
//! several follow from one, they are branches. If all of them but one were abandoned, that one goes on in the line and
//! the others stand aside; otherwise each has a line of its own, further in.
//!
//! A branch is *abandoned* if none of its thoughts led to an action, and after its last one another branch began from the
//! same thought that goes on (has more than one thought) or led to an action. Branches that grow at the same time are
//! work side by side. Two things look abandoned and are not: reflections alone, which look back instead of leading
//! somewhere, and analyses alone before a branch that begins with a decision, which takes them up. Roots are never
//! abandoned: they are different questions.

use cairn::core::id::ThoughtId;
use cairn::core::tree::parents;
use cairn::{Summary, ThoughtType};
use serde::Serialize;

/// Thoughts on a page.
pub(super) const PAGE: usize = 200;
/// Branches of one fork on a page.
const BRANCHES: usize = 100;
/// Abandoned branches that may stand beside one thought, and what is shown of each.
const ASIDES: usize = 8;
const ASIDE: usize = 12;
/// Forks inside forks; what is deeper has a page of its own.
const DEPTH: usize = 4;
/// How far above the newest thought a page begins that leads to it.
const BEFORE_NEWEST: usize = 50;

/// Thoughts that follow from each other, and where the line ends.
#[derive(Debug, Default, PartialEq, Serialize)]
pub(super) struct Line {
    pub(super) steps: Vec<Step>,
    /// Several lines follow from the last step; or, without any step, the session has several roots.
    pub(super) fork: Option<Fork>,
    /// The line goes on elsewhere.
    pub(super) more: Option<More>,
}

impl Line {
    fn shows(&self, id: &ThoughtId) -> bool {
        let within = |branches: &[Branch]| branches.iter().any(|branch| branch.line.shows(id));
        self.steps.iter().any(|step| step.thought.id == *id || within(&step.asides))
            || self.fork.as_ref().is_some_and(|fork| within(&fork.branches))
    }
}

#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Step {
    #[serde(flatten)]
    pub(super) thought: Summary,
    /// What was tried from here and abandoned, before the line went on.
    pub(super) asides: Vec<Branch>,
}

#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Branch {
    pub(super) abandoned: bool,
    /// Thoughts in it.
    pub(super) thoughts: u64,
    pub(super) line: Line,
}

#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Fork {
    /// How many branches there are, and which is the first that is shown, from 1.
    pub(super) of: usize,
    pub(super) first: usize,
    pub(super) branches: Vec<Branch>,
    /// Where those are that are not shown.
    pub(super) next: Option<More>,
}

/// Where to go on: a page of this session that begins at a thought, or with those of its branches (or of the roots)
/// that come after a step of the session.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct More {
    pub(super) from: Option<ThoughtId>,
    pub(super) after: Option<u64>,
    /// Thoughts that are there.
    pub(super) thoughts: u64,
}

/// What is known of a thought together with everything that follows from it.
#[derive(Clone, Copy)]
struct Sum {
    thoughts: u64,
    /// The place of the newest.
    newest: usize,
    acted: bool,
    only_reflections: bool,
    only_analyses: bool,
    abandoned: bool,
}

/// The shape of a whole session.
pub(super) struct Outline<'t> {
    thoughts: &'t [Summary],
    roots: Vec<usize>,
    below: Vec<Vec<usize>>,
    above: Vec<Option<usize>>,
    sums: Vec<Sum>,
}

impl<'t> Outline<'t> {
    /// Takes all thoughts of a session in the order of recording.
    pub(super) fn new(thoughts: &'t [Summary]) -> Outline<'t> {
        let above = parents(thoughts);
        let mut below: Vec<Vec<usize>> = vec![Vec::new(); thoughts.len()];
        let mut roots = Vec::new();
        for (index, parent) in above.iter().enumerate() {
            match parent {
                Some(parent) => below[*parent].push(index),
                None => roots.push(index),
            }
        }
        let alone = |(index, thought): (usize, &Summary)| Sum {
            thoughts: 1,
            newest: index,
            acted: thought.action_id.is_some(),
            only_reflections: thought.kind == ThoughtType::Reflection,
            only_analyses: thought.kind == ThoughtType::Analysis,
            abandoned: false,
        };
        let mut sums: Vec<Sum> = thoughts.iter().enumerate().map(alone).collect();
        // From the newest to the oldest: when a thought's turn comes, all that follows from it was added up.
        for (index, parent) in above.iter().enumerate().rev() {
            if let Some(parent) = *parent {
                let of = sums[index];
                let sum = &mut sums[parent];
                sum.thoughts += of.thoughts;
                sum.newest = sum.newest.max(of.newest);
                sum.acted |= of.acted;
                sum.only_reflections &= of.only_reflections;
                sum.only_analyses &= of.only_analyses;
            }
        }
        let mut outline = Outline { thoughts, roots, below, above, sums };
        outline.find_abandoned();
        outline
    }

    fn find_abandoned(&mut self) {
        for branches in self.below.iter().filter(|branches| branches.len() > 1) {
            // Where the last of the branches began that count, apart from those a decision begins.
            let (mut later, mut decided) = (0, 0);
            for &branch in branches.iter().rev() {
                let sum = &mut self.sums[branch];
                let replaced = later > sum.newest || (decided > sum.newest && !sum.only_analyses);
                sum.abandoned = replaced && !sum.acted && !sum.only_reflections;
                if sum.acted || sum.thoughts > 1 {
                    let decision = self.thoughts[branch].kind == ThoughtType::Decision;
                    let began = if decision { &mut decided } else { &mut later };
                    *began = branch.max(*began);
                }
            }
        }
    }

    /// How many thoughts stand above one, up to its root.
    pub(super) fn depth(&self, id: &ThoughtId) -> usize {
        let mut at = self.find(id.as_str());
        std::iter::from_fn(|| {
            at = at.and_then(|index| self.above[index]);
            at
        })
        .count()
    }

    fn find(&self, id: &str) -> Option<usize> {
        self.thoughts.iter().position(|thought| thought.id.as_str() == id)
    }

    /// A page: the whole session, or what begins at a thought, or only the branches after a step. None if there is no
    /// such thought.
    pub(super) fn page(&self, from: Option<&str>, after: Option<u64>) -> Option<Line> {
        let mut budget = PAGE;
        let from = match from {
            Some(id) => Some(self.find(id)?),
            None => None,
        };
        Some(match (from, after) {
            (Some(at), None) => self.line(at, &mut budget, 0),
            (Some(at), Some(_)) => {
                budget -= 1;
                let fork = self.fork(Some(at), after, &mut budget, 0);
                Line { steps: vec![self.step(at)], fork: Some(fork), more: None }
            }
            (None, None) if self.roots.len() == 1 => self.line(self.roots[0], &mut budget, 0),
            (None, _) if self.roots.is_empty() => Line::default(),
            (None, _) => Line { fork: Some(self.fork(None, after, &mut budget, 0)), ..Line::default() },
        })
    }

    /// Where the newest thought is shown, if the page of the whole session may not reach it: as far above it as a page
    /// can begin and still show it.
    pub(super) fn newest(&self) -> Option<More> {
        if self.thoughts.len() <= PAGE {
            return None;
        }
        let newest = self.thoughts.len() - 1;
        let above = std::iter::successors(Some(newest), |&at| self.above[at]);
        let mut places: Vec<More> = above.take(BEFORE_NEWEST).map(|at| self.beside(at)).collect();
        while let Some(More { from, after, .. }) = places.last().filter(|_| places.len() > 1) {
            let page = self.page(from.as_ref().map(ThoughtId::as_str), *after);
            if page.is_some_and(|page| page.shows(&self.thoughts[newest].id)) {
                break;
            }
            places.truncate(places.len() / 2);
        }
        places.pop()
    }

    /// A page that begins at a thought, or, if many are before it, with those beside it.
    fn beside(&self, at: usize) -> More {
        let parent = self.above[at];
        let beside = parent.map_or(&self.roots, |parent| &self.below[parent]);
        let place = beside.partition_point(|&index| index < at);
        match place.checked_sub(BEFORE_NEWEST) {
            Some(before) => More {
                from: parent.map(|parent| self.thoughts[parent].id.clone()),
                after: Some(self.thoughts[beside[before]].step_index),
                thoughts: BEFORE_NEWEST as u64,
            },
            None => More {
                from: Some(self.thoughts[at].id.clone()),
                after: None,
                thoughts: self.sums[at].thoughts,
            },
        }
    }

    fn step(&self, at: usize) -> Step {
        Step { thought: self.thoughts[at].clone(), asides: Vec::new() }
    }

    /// The line that begins at a thought, of at most `budget` thoughts, branches included. Calls itself only where
    /// lines fork, and that not deeper than [`DEPTH`].
    fn line(&self, start: usize, budget: &mut usize, depth: usize) -> Line {
        let mut line = Line::default();
        let mut at = start;
        let from = |at: usize, thoughts| {
            Some(More { from: Some(self.thoughts[at].id.clone()), after: None, thoughts })
        };
        loop {
            if *budget == 0 {
                line.more = from(at, self.sums[at].thoughts);
                return line;
            }
            *budget -= 1;
            let mut step = self.step(at);
            let below = &self.below[at];
            match below[..] {
                [] => {
                    line.steps.push(step);
                    return line;
                }
                [next] => at = next,
                _ if *budget == 0 => {
                    line.steps.push(step);
                    line.more = from(at, self.sums[at].thoughts - 1);
                    return line;
                }
                _ => match self.goes_on(below).filter(|_| *budget > 2 * below.len()) {
                    Some(next) => {
                        let asides: Vec<usize> =
                            below.iter().copied().filter(|&branch| branch != next).collect();
                        let room = (*budget / 2 / asides.len()).clamp(1, ASIDE);
                        for branch in asides {
                            step.asides.push(self.branch(branch, room, budget, depth));
                        }
                        at = next;
                    }
                    None => {
                        line.steps.push(step);
                        line.fork = Some(self.fork(Some(at), None, budget, depth));
                        return line;
                    }
                },
            }
            line.steps.push(step);
        }
    }

    /// The one branch that was not abandoned, if the others may stand beside it.
    fn goes_on(&self, branches: &[usize]) -> Option<usize> {
        let mut left = branches.iter().copied().filter(|&branch| !self.sums[branch].abandoned);
        match (left.next(), left.next()) {
            (Some(only), None) if branches.len() <= ASIDES + 1 => Some(only),
            _ => None,
        }
    }

    /// The branches of a thought, or the roots, that come after a step: each gets its share of the budget.
    fn fork(&self, of: Option<usize>, after: Option<u64>, budget: &mut usize, depth: usize) -> Fork {
        let all = of.map_or(&self.roots, |of| &self.below[of]);
        let before = |&index: &usize| after.is_some_and(|after| self.thoughts[index].step_index <= after);
        let first = all.partition_point(before);
        let shown = (all.len() - first).min(BRANCHES).min(*budget);
        let (shown, rest) = all[first..].split_at(shown);
        let mut branches = Vec::with_capacity(shown.len());
        for (place, &branch) in shown.iter().enumerate() {
            let share = if depth < DEPTH { *budget / (shown.len() - place) } else { 1 };
            branches.push(self.branch(branch, share, budget, depth));
        }
        let next = shown.last().filter(|_| !rest.is_empty()).map(|&last| More {
            from: of.map(|of| self.thoughts[of].id.clone()),
            after: Some(self.thoughts[last].step_index),
            thoughts: rest.iter().map(|&branch| self.sums[branch].thoughts).sum(),
        });
        Fork { of: all.len(), first: first + 1, branches, next }
    }

    /// One branch, of at most `share` thoughts out of `budget`.
    fn branch(&self, start: usize, share: usize, budget: &mut usize, depth: usize) -> Branch {
        let mut left = share;
        let line = self.line(start, &mut left, depth + 1);
        *budget -= share - left;
        let Sum { abandoned, thoughts, .. } = self.sums[start];
        Branch { abandoned, thoughts, line }
    }
}

#[cfg(test)]
#[path = "outline_tests.rs"]
mod tests;
