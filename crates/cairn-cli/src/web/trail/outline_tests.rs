use cairn::Timestamp;
use cairn::core::id::{ActionId, AgentId, TaskId};

use super::*;

/// A thought: its type's first letter, `!` if it led to an action, and the number of its parent.
fn session(thoughts: &[(&str, Option<usize>)]) -> Vec<Summary> {
    let id = |n: usize| ThoughtId::new(n.to_string()).unwrap();
    let kind = |letter: &str| {
        ThoughtType::ALL.into_iter().find(|kind| kind.as_str().starts_with(&letter[..1])).unwrap()
    };
    let one = |(n, (letter, parent)): (usize, &(&str, Option<usize>))| Summary {
        id: id(n),
        kind: kind(letter),
        content: String::new(),
        step_index: n as u64,
        task_id: TaskId::new("t").unwrap(),
        agent_id: AgentId::new("a").unwrap(),
        parent_id: parent.map(id),
        action_id: letter.ends_with('!').then(|| ActionId::new("x").unwrap()),
        context_id: None,
        brief_id: None,
        timestamp: Timestamp::parse("2026-04-17T00:00:00Z").unwrap(),
        sealed: false,
        redacted: None,
    };
    thoughts.iter().enumerate().map(one).collect()
}

/// `0 1[2 3] 4`: a line with what stands aside in brackets; `0(1|2 3)`: a fork; `~` marks what was abandoned and `+5`
/// what is elsewhere.
fn drawn(line: &Line) -> String {
    let branch =
        |branch: &Branch| format!("{}{}", if branch.abandoned { "~" } else { "" }, drawn(&branch.line));
    let joined = |branches: &[Branch]| branches.iter().map(branch).collect::<Vec<_>>().join("|");
    let step = |step: &Step| match &step.asides[..] {
        [] => step.thought.id.to_string(),
        asides => format!("{}[{}]", step.thought.id, joined(asides)),
    };
    let mut text = line.steps.iter().map(step).collect::<Vec<_>>().join(" ");
    let more =
        |more: &Option<More>| more.as_ref().map(|more| format!("+{}", more.thoughts)).unwrap_or_default();
    if let Some(fork) = &line.fork {
        text += &format!("({}{})", joined(&fork.branches), more(&fork.next));
    }
    text + &more(&line.more)
}

fn whole(thoughts: &[(&str, Option<usize>)]) -> String {
    drawn(&Outline::new(&session(thoughts)).page(None, None).unwrap())
}

fn count(line: &Line) -> usize {
    let of = |branches: &[Branch]| branches.iter().map(|branch| count(&branch.line)).sum::<usize>();
    line.steps.iter().map(|step| 1 + of(&step.asides)).sum::<usize>()
        + line.fork.as_ref().map_or(0, |fork| of(&fork.branches))
}

#[test]
fn what_was_given_up_for_a_later_path_stands_aside() {
    let story = [
        ("p", None),
        ("a", Some(0)),
        ("a", Some(1)),
        ("r", Some(2)),
        ("a", Some(1)),
        ("d!", Some(4)),
        ("r", Some(5)),
    ];
    assert_eq!(whole(&story), "0 1[~2 3] 4 5 6");
}

#[test]
fn a_branch_with_an_action_or_one_that_was_added_to_last_is_not_abandoned() {
    // Both led to actions.
    assert_eq!(whole(&[("p", None), ("d!", Some(0)), ("d!", Some(0))]), "0(1|2)");
    // The action is in a branch of the branch.
    let below = [("p", None), ("p", Some(0)), ("d!", Some(1)), ("p", Some(0)), ("d", Some(3))];
    assert_eq!(whole(&below), "0(1 2|3 4)");
    // The first goes on after the second.
    let taken_up = [("p", None), ("p", Some(0)), ("p", Some(0)), ("a", Some(2)), ("a", Some(1))];
    assert_eq!(whole(&taken_up), "0(1 4|2 3)");
    // Both go on at the same time, and only the second after the first has ended.
    let side_by_side =
        [("p", None), ("p", Some(0)), ("p", Some(0)), ("a", Some(1)), ("a", Some(2)), ("a", Some(4))];
    assert_eq!(whole(&side_by_side), "0(1 3|2 4 5)");
    // The second does not go on.
    assert_eq!(whole(&[("p", None), ("p", Some(0)), ("p", Some(0))]), "0(1|2)");
    assert_eq!(whole(&[("p", None), ("p", Some(0)), ("p!", Some(0))]), "0[~1] 2");
}

#[test]
fn findings_and_reflections_are_not_abandoned_by_the_decision_that_takes_them_up() {
    let star = [("p", None), ("a", Some(0)), ("a", Some(0)), ("d!", Some(0)), ("r", Some(0))];
    assert_eq!(whole(&star), "0(1|2|3|4)");
    let looking_back = [("p", None), ("r", Some(0)), ("p", Some(0)), ("d!", Some(2))];
    assert_eq!(whole(&looking_back), "0(1|2 3)");
    // But a decision that another one replaced is.
    assert_eq!(whole(&[("p", None), ("d", Some(0)), ("d!", Some(0))]), "0[~1] 2");
    // And so is an option for a later option.
    assert_eq!(whole(&[("p", None), ("a", Some(0)), ("a", Some(0)), ("d", Some(2))]), "0[~1] 2 3");
}

#[test]
fn roots_are_different_questions() {
    assert_eq!(whole(&[("p", None), ("p", None), ("d!", Some(1))]), "(0|1 2)");
    assert_eq!(whole(&[]), "");
}

#[test]
fn every_thought_of_a_large_session_is_on_exactly_one_way_through_its_pages() {
    let chain: Vec<_> = (0..10_000usize).map(|n| ("a", n.checked_sub(1))).collect();
    let roots: Vec<_> = (0..10_000usize).map(|_| ("a", None)).collect();
    let star: Vec<_> = (0..10_000usize).map(|n| ("a", (n > 0).then_some(0))).collect();
    // A trunk, and a second branch at each of its thoughts.
    let forks: Vec<_> = (0..10_000usize).map(|n| ("p", n.checked_sub(1).map(|n| n & !1))).collect();
    let binary: Vec<_> = (0..10_000usize).map(|n| ("d!", n.checked_sub(1).map(|n| n / 2))).collect();
    for thoughts in [chain, roots, star, forks, binary] {
        let thoughts = session(&thoughts);
        let outline = Outline::new(&thoughts);
        let mut seen = vec![0; thoughts.len()];
        let mut pages = vec![(None, None)];
        while let Some((from, after)) = pages.pop() {
            let line = outline.page(from.as_ref().map(|id: &ThoughtId| id.as_str()), after).unwrap();
            assert!(count(&line) <= PAGE);
            let repeated = from.as_ref().filter(|_| after.is_some()).cloned();
            visit(&line, &mut seen, &mut pages);
            if let Some(repeated) = repeated {
                seen[repeated.as_str().parse::<usize>().unwrap()] -= 1;
            }
        }
        assert!(seen.iter().all(|&times| times == 1), "{:?}", seen.iter().position(|&times| times != 1));
        let More { from, after, .. } = outline.newest().unwrap();
        let line = outline.page(from.as_ref().map(|id| id.as_str()), after).unwrap();
        let (mut near, mut pages) = (vec![0; thoughts.len()], Vec::new());
        visit(&line, &mut near, &mut pages);
        assert_eq!(near[9_999], 1);
    }
}

type Place = (Option<ThoughtId>, Option<u64>);

fn visit(line: &Line, seen: &mut [i32], pages: &mut Vec<Place>) {
    for step in &line.steps {
        seen[step.thought.id.as_str().parse::<usize>().unwrap()] += 1;
        step.asides.iter().for_each(|branch| visit(&branch.line, seen, pages));
    }
    if let Some(fork) = &line.fork {
        fork.branches.iter().for_each(|branch| visit(&branch.line, seen, pages));
        pages.extend(fork.next.clone().map(|more| (more.from, more.after)));
    }
    if let Some(more) = &line.more {
        // A page that begins with the last thought of this one shows that again.
        if line.steps.last().is_some_and(|step| Some(&step.thought.id) == more.from.as_ref()) {
            seen[line.steps.last().unwrap().thought.id.as_str().parse::<usize>().unwrap()] -= 1;
        }
        pages.push((more.from.clone(), more.after));
    }
}
