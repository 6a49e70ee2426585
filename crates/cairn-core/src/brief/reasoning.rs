//! Layer 3 in a brief: what was decided, done and found out.

use std::sync::Arc;

use super::candidate::{Candidate, Key, Part, Rank};
use super::conversation::summaries;
use super::text::{count, first_line, headed, one_line, push};
use super::{Node, TraceThought};
use crate::session::SessionState;
use crate::session::event::{Step, StepKind, StepStatus, SummaryKind};
use crate::session::state::{Noted, Turn};

/// Turns whose curation Understand sees.
const CURATED: usize = 10;
/// Turns before the current one that Think sees in full.
const IN_FULL: usize = 2;
/// Older turns that Think sees, one line each.
const ROLLED_UP: usize = 20;
/// Earlier results that Act sees the names of.
const ARCHIVED: usize = 20;

/// What is said if nothing is shown.
pub fn empty(node: Node) -> &'static str {
    match node {
        Node::Understand => "Nothing has been kept or let go yet.",
        Node::Think => "Nothing has been decided or done yet.",
        Node::Act => "No step has been taken yet.",
        Node::Reply => "Nothing has been done yet.",
    }
}

/// What a node sees.
pub fn for_node(state: &SessionState, node: Node, thoughts: &[TraceThought]) -> Vec<Candidate> {
    match node {
        Node::Understand => understand(state),
        Node::Think => think(state, thoughts),
        Node::Act => act(state),
        Node::Reply => reply(state),
    }
}

/// A line of the trace.
fn line(rank: Rank, turn: u64, text: String, events: Vec<u64>) -> Candidate {
    Candidate::new(Part::Reasoning, Key::new(rank, 0, turn), text, events)
}

fn understand(state: &SessionState) -> Vec<Candidate> {
    let curated = state.turns.iter().rev().filter(|turn| is_curated(turn)).take(CURATED);
    let mut turns: Vec<&Arc<Turn>> = curated.collect();
    turns.reverse();
    turns.into_iter().flat_map(|turn| curation(turn)).collect()
}

fn is_curated(turn: &Turn) -> bool {
    !turn.retained.is_empty() || !turn.demoted.is_empty()
}

/// What was kept and let go in a turn.
fn curation(turn: &Turn) -> impl Iterator<Item = Candidate> + use<'_> {
    let number = turn.turn;
    let kept = turn.retained.iter().map(move |Noted { value: (entity_ref, reason), seq }| {
        let text = headed(format!("- T{number} kept {}:", one_line(entity_ref)), &one_line(reason));
        line(Rank::Reasoning, number, text, vec![*seq]).about(entity_ref)
    });
    let let_go = turn.demoted.iter().map(move |Noted { value: entity_ref, seq }| {
        let text = format!("- T{number} let go of {}", one_line(entity_ref));
        line(Rank::Reasoning, number, text, vec![*seq]).about(entity_ref)
    });
    kept.chain(let_go)
}

fn think(state: &SessionState, thoughts: &[TraceThought]) -> Vec<Candidate> {
    let mut items: Vec<Candidate> =
        summaries(state, SummaryKind::Reasoning, Part::ReasoningSummary).collect();
    // The current turn as well: whoever plans again must see what was done already.
    let in_full = state.turns.len().saturating_sub(1 + IN_FULL);
    roll_up(state, &state.turns[..in_full], &mut items);
    for index in in_full..state.turns.len() {
        let turn = &state.turns[index];
        let begin = turn.user.seq;
        let end = state.turns.get(index + 1).map_or(u64::MAX, |next| next.user.seq);
        let first = thoughts.partition_point(|thought| thought.seq < begin);
        let own = thoughts[first..].iter().take_while(|thought| thought.seq < end);
        whole_turn(turn, own, &mut items);
        if index + 1 == state.turns.len() {
            items.extend(curation(turn));
        }
        where_it_stands(turn, &mut items);
    }
    items
}

/// Decision, goal, steps, thoughts and what stopped it.
fn whole_turn<'a>(turn: &Turn, thoughts: impl Iterator<Item = &'a TraceThought>, items: &mut Vec<Candidate>) {
    let number = turn.turn;
    let mut push = |text, seq| items.push(line(Rank::Reasoning, number, text, vec![seq]));
    if let Some(decision) = &turn.decision {
        push(format!("- T{number} decision: {}", decision.value.as_str()), decision.seq);
    }
    if let Some(goal) = &turn.goal {
        push(headed(format!("- T{number} goal:"), &goal.value), goal.seq);
    }
    for step in &turn.steps {
        push(whole_step(number, &step.value), step.seq);
    }
    for thought in thoughts {
        let text = first_line(&thought.first_line);
        push(headed(format!("- T{number} thought, {}:", thought.kind), text), thought.seq);
    }
    if let Some(reason) = &turn.blocked_reason {
        push(headed(format!("- T{number} blocked:"), &reason.value), reason.seq);
    }
}

/// Phase, and what the user let know.
fn where_it_stands(turn: &Turn, items: &mut Vec<Candidate>) {
    let number = turn.turn;
    if let Some(phase) = &turn.phase {
        let text = format!("- T{number} phase: {}", phase.value.as_str());
        items.push(line(Rank::Reasoning, number, text, vec![phase.seq]));
    }
    if let Some(expressed) = &turn.user_expressed {
        let text = headed(format!("- T{number} user expressed:"), &expressed.value);
        items.push(line(Rank::Reasoning, number, text, vec![expressed.seq]));
    }
}

/// One line for each turn that no summary tells of.
fn roll_up(state: &SessionState, turns: &[Arc<Turn>], items: &mut Vec<Candidate>) {
    let worth_telling = |turn: &&Arc<Turn>| {
        (turn.goal.is_some() || turn.blocked_reason.is_some() || !turn.steps.is_empty())
            && !state.is_covered(SummaryKind::Reasoning, turn.turn)
    };
    let told: Vec<&Arc<Turn>> = turns.iter().filter(worth_telling).collect();
    let (untold, told) = told.split_at(told.len().saturating_sub(ROLLED_UP));
    if !untold.is_empty() {
        let text = format!("- {} not listed", count(untold.len(), "earlier turn", "earlier turns"));
        items.push(line(Rank::OlderReasoning, 0, text, Vec::new()));
    }
    for turn in told {
        let goal = turn.goal.as_ref().map_or("no goal noted", |goal| first_line(&goal.value));
        let mut text = format!("- T{}: {goal} ({})", turn.turn, outcomes(&turn.steps));
        if let Some(reason) = &turn.blocked_reason {
            text.push_str(&format!("; blocked: {}", first_line(&reason.value)));
        }
        let notes = turn.goal.iter().chain(&turn.blocked_reason).map(|noted| noted.seq);
        let mut events: Vec<u64> = notes.chain(turn.steps.iter().map(|step| step.seq)).collect();
        events.sort_unstable();
        events.dedup();
        items.push(line(Rank::OlderReasoning, turn.turn, text, events));
    }
}

/// `3 steps done, 1 blocked`.
fn outcomes(steps: &[Noted<Step>]) -> String {
    let of = |status| steps.iter().filter(|step| step.value.status == status).count();
    let mut parts = Vec::new();
    match of(StepStatus::Done) {
        0 if !steps.is_empty() => {}
        0 => return "no steps".to_string(),
        done => parts.push(format!("{} done", count(done, "step", "steps"))),
    }
    for (status, word) in [(StepStatus::Blocked, "blocked"), (StepStatus::Failed, "failed")] {
        match of(status) {
            0 => {}
            number if parts.is_empty() => parts.push(format!("{} {word}", count(number, "step", "steps"))),
            number => parts.push(format!("{number} {word}")),
        }
    }
    parts.join(", ")
}

fn kind(step: &Step) -> &'static str {
    match step.kind {
        StepKind::Read => "read",
        StepKind::Analyze => "analyze",
        StepKind::Generate => "generate",
        StepKind::Write => "write",
    }
}

fn status(step: &Step) -> &'static str {
    match step.status {
        StepStatus::Done => "done",
        StepStatus::Blocked => "blocked",
        StepStatus::Failed => "failed",
    }
}

/// `T3.2 generate recipes`.
fn step_name(turn: u64, step: &Step) -> String {
    let name = format!("T{turn}.{} {}", step.step_num, kind(step));
    match one_line(&step.subdomain) {
        none if none.is_empty() => name,
        subdomain => format!("{name} {subdomain}"),
    }
}

/// All of a step.
fn whole_step(turn: u64, step: &Step) -> String {
    let head = format!("- {}, {}:", step_name(turn, step), status(step));
    let mut text = headed(head, &step.description);
    if !step.outcome.is_empty() {
        text.push_str("\n  outcome:");
        push(&mut text, &step.outcome);
    }
    if !step.entities_involved.is_empty() {
        text.push_str("\n  entities:");
        push(&mut text, &one_line(&step.entities_involved.join(", ")));
    }
    if let Some(note) = &step.note {
        text.push_str("\n  note:");
        push(&mut text, note);
    }
    text
}

/// The goal of a turn.
fn goal(turn: &Turn) -> Option<Candidate> {
    let goal = turn.goal.as_ref()?;
    Some(line(Rank::Reasoning, turn.turn, headed("- Goal:", &goal.value), vec![goal.seq]))
}

fn act(state: &SessionState) -> Vec<Candidate> {
    let Some((current, before)) = state.turns.split_last() else { return Vec::new() };
    let mut items = Vec::new();
    let results = || {
        let newest_first = before.iter().rev();
        newest_first.flat_map(|turn| turn.steps.iter().rev().map(|step| (turn.turn, step)))
    };
    let older = before.iter().map(|turn| turn.steps.len()).sum::<usize>().saturating_sub(ARCHIVED);
    if older > 0 {
        let text = format!("- {} not listed", count(older, "earlier result", "earlier results"));
        items.push(line(Rank::OlderReasoning, 0, text, Vec::new()));
    }
    let mut archive: Vec<Candidate> = results()
        .take(ARCHIVED)
        .map(|(turn, step)| {
            let description = first_line(&step.value.description);
            let failed = match step.value.status {
                StepStatus::Done => String::new(),
                _ => format!(", {}", status(&step.value)),
            };
            let name = step_name(turn, &step.value);
            let text = headed(format!("- earlier: {name}{failed}:"), description);
            line(Rank::OlderReasoning, turn, text, vec![step.seq])
        })
        .collect();
    archive.reverse();
    items.append(&mut archive);
    items.extend(goal(current));
    for step in &current.steps {
        let text = whole_step(current.turn, &step.value);
        items.push(line(Rank::Reasoning, current.turn, text, vec![step.seq]));
    }
    // Each step of this turn tells its own note.
    if current.steps.is_empty()
        && let Some((turn, step)) = results().next()
        && let Some(note) = &step.value.note
    {
        let text = headed(format!("- Note from the step before (T{turn}.{}):", step.value.step_num), note);
        items.push(line(Rank::Reasoning, current.turn, text, vec![step.seq]));
    }
    items
}

fn reply(state: &SessionState) -> Vec<Candidate> {
    let Some(current) = state.turns.last() else { return Vec::new() };
    let mut items = Vec::new();
    let number = current.turn;
    items.extend(goal(current));
    for step in &current.steps {
        let Step { step_num, outcome, description, .. } = &step.value;
        let mut text = headed(format!("- Step {step_num}, {}:", status(&step.value)), description);
        if !outcome.is_empty() {
            text.push_str("\n  outcome:");
            push(&mut text, outcome);
        }
        items.push(line(Rank::Reasoning, number, text, vec![step.seq]));
    }
    let accomplished = match current.steps.is_empty() {
        true => "no steps in this turn".to_string(),
        false => outcomes(&current.steps),
    };
    let events = current.steps.iter().map(|step| step.seq).collect();
    items.push(line(Rank::Reasoning, number, format!("- Accomplished: {accomplished}"), events));
    // Noted in this turn, or, before anything is noted, in one of the two before it.
    let newest = || state.turns.iter().rev().take(1 + IN_FULL);
    if let Some(phase) = newest().find_map(|turn| turn.phase.as_ref()) {
        let text = format!("- Phase: {}", phase.value.as_str());
        items.push(line(Rank::Reasoning, number, text, vec![phase.seq]));
    }
    if let Some(expressed) = newest().find_map(|turn| turn.user_expressed.as_ref()) {
        let text = headed("- User expressed:", &expressed.value);
        items.push(line(Rank::Reasoning, number, text, vec![expressed.seq]));
    }
    items
}
