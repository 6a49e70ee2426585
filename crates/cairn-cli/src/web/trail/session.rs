//! `/sessions/{id}`: the tree of a session.

mod tree;

use cairn::{Damage, Summary, ThoughtType, Timestamp, TypeCounts};
use maud::{Markup, html};
use serde::Serialize;

use super::outline::{Line, More, Outline, PAGE};
use super::parts::{self, Plan, plural};
use super::standing::{Changed, more_changed};
use crate::error::CliError;
use crate::serve::{Asked, Live, Page, Shown};
use crate::term::{count, grouped};
use crate::web::link;
use crate::web::piece::damaged_records;
use crate::web::text::text;

/// Decisions that are named above the tree: the newest.
const DECISIONS: usize = 6;
/// Authors that are named.
const AGENTS: usize = 5;
/// Actions that are named.
const ACTIONS: usize = 8;

pub(super) struct Session;

#[derive(Serialize)]
pub(super) struct Data {
    session_id: String,
    /// How many there are.
    thoughts: u64,
    types: TypeCounts,
    /// Who thought them: the most recent first, not all of many.
    agents: Vec<String>,
    /// What they led to: the newest first, not all of many.
    actions: Vec<String>,
    more_actions: bool,
    first_at: Option<Timestamp>,
    last_at: Option<Timestamp>,
    /// Whether it has a working memory.
    has_turns: bool,
    /// The newest decisions, in the order of recording.
    decisions: Vec<Summary>,
    /// The plans that the thoughts on the page stood on.
    plans: Vec<Plan>,
    /// The thought that the page begins with, if it is not the whole tree, and how many stand above it.
    from: Option<String>,
    above: usize,
    /// The step that it begins after.
    after: Option<u64>,
    /// Where the newest thoughts are, if this page may not reach them.
    newest: Option<More>,
    tree: Option<Line>,
    /// Thoughts on the page that are not as they were recorded.
    changed: Vec<String>,
    /// Whether more was found to have changed than is named, so that others may have.
    more_changed: bool,
    /// Thoughts of the session that cannot be shown.
    damaged: Vec<Damage>,
    /// Instead of the tree: the thoughts of one type.
    list: Option<OfType>,
}

/// The thoughts of one type, in the order of recording.
#[derive(Serialize)]
struct OfType {
    #[serde(rename = "type")]
    kind: ThoughtType,
    thoughts: Vec<Summary>,
    /// What to ask for `after` to get those that follow.
    next: Option<u64>,
}

impl Page for Session {
    type Data = Data;

    fn read(asked: &Asked) -> Result<Data, CliError> {
        let (cairn, session_id) = (asked.cairn(), asked.param("id"));
        let thoughts = cairn.tree(session_id, false)?;
        let has_turns = match cairn.session_events(session_id, 0, Some(1)) {
            Err(cairn::Error::NotFound { .. }) if thoughts.is_empty() && thoughts.damaged.is_empty() => {
                return Err(CliError::not_found(format!("there is no session `{session_id}`"))
                    .hint("the list of sessions is at `/`"));
            }
            events => events.is_ok(),
        };
        let mut data = Data::about(session_id, &thoughts, has_turns);
        data.damaged = thoughts.damaged.clone();
        let after = asked.query_number("after")?;
        data.after = after;
        match asked.query("type") {
            Some(kind) => {
                let kind = kind.parse().map_err(|error| CliError::refused(format!("type: {error}")))?;
                data.list = Some(OfType::read(&thoughts, kind, after));
            }
            None => data.read_tree(&thoughts, asked.query("from"), after)?,
        }
        let listed = data.list.iter().flat_map(|list| &list.thoughts);
        let drawn = data.tree.iter().flat_map(tree::thoughts);
        let shown: Vec<&Summary> = data.decisions.iter().chain(listed).chain(drawn).collect();
        let plans = Plan::of_all(cairn, shown.iter().copied());
        let changed = Changed::of(asked);
        data.more_changed = changed.more;
        let is_changed = |id: &&str| !changed.with(id).is_empty();
        let changed = shown.iter().map(|thought| thought.id.as_str()).filter(is_changed);
        let changed: Vec<String> = changed.map(str::to_string).collect();
        (data.plans, data.changed) = (plans, changed);
        Ok(data)
    }

    fn show(data: &Data, _asked: &Asked) -> Shown {
        let id = &data.session_id;
        let main = html! {
            p.crumbs { a href="/" { "Sessions" } " › " (text(id)) }
            h1 { (text(id)) }
            div data-part="about" { (about(data)) }
            nav.tabs data-part="views" aria-label="Views of this session" {
                a href=(link::session(id)) aria-current=[data.list.is_none().then_some("page")] { "Tree" }
                @for (kind, number) in parts::of_each(&data.types).into_iter().filter(|(_, number)| *number > 0) {
                    a href={ (link::session(id)) "?type=" (kind.as_str()) }
                        aria-current=[data.list.as_ref().is_some_and(|list| list.kind == kind).then_some("page")] {
                        (grouped(number)) " " (plural(kind, number))
                    }
                }
                @if data.has_turns { a href={ (link::session(id)) "/turns" } { "Turns and briefs" } }
            }
            div data-part="tree" {
                @if data.more_changed { (more_changed()) }
                (damaged_records(&data.damaged))
                @match (&data.list, &data.tree) {
                    (Some(list), _) => (list.show(data)),
                    (None, Some(line)) => (tree::show(data, line)),
                    (None, None) => (html! {}),
                }
            }
        };
        Shown { title: id.clone(), main, live: Live::Session(id.clone()) }
    }
}

impl Data {
    fn about(session_id: &str, thoughts: &[Summary], has_turns: bool) -> Data {
        let mut types = TypeCounts::default();
        let (mut agents, mut actions, mut more_actions) = (Vec::<String>::new(), Vec::<String>::new(), false);
        for thought in thoughts.iter().rev() {
            *match thought.kind {
                ThoughtType::Plan => &mut types.plan,
                ThoughtType::Analysis => &mut types.analysis,
                ThoughtType::Decision => &mut types.decision,
                ThoughtType::Reflection => &mut types.reflection,
            } += 1;
            let agent = thought.agent_id.as_str();
            if agents.len() < AGENTS && !agents.iter().any(|known| known == agent) {
                agents.push(agent.to_string());
            }
            if let Some(action) = &thought.action_id
                && !actions.iter().any(|known| known == action.as_str())
            {
                more_actions = actions.len() == ACTIONS;
                if !more_actions {
                    actions.push(action.to_string());
                }
            }
        }
        let newest = thoughts.iter().rev().filter(|thought| thought.kind == ThoughtType::Decision);
        let mut decisions: Vec<Summary> = newest.take(DECISIONS).cloned().collect();
        decisions.reverse();
        Data {
            session_id: session_id.to_string(),
            thoughts: thoughts.len() as u64,
            types,
            agents,
            actions,
            more_actions,
            first_at: thoughts.first().map(|thought| thought.timestamp.clone()),
            last_at: thoughts.last().map(|thought| thought.timestamp.clone()),
            has_turns,
            decisions,
            plans: Vec::new(),
            from: None,
            above: 0,
            after: None,
            newest: None,
            tree: None,
            changed: Vec::new(),
            more_changed: false,
            damaged: Vec::new(),
            list: None,
        }
    }

    /// Says of a thought that it is not as it was recorded.
    fn mark(&self, thought: &Summary) -> Markup {
        html! {
            @if self.changed.iter().any(|id| id == thought.id.as_str()) {
                span.changed-word { "✗ changed after it was recorded" }
            }
        }
    }

    fn read_tree(
        &mut self,
        thoughts: &[Summary],
        from: Option<&str>,
        after: Option<u64>,
    ) -> Result<(), CliError> {
        let outline = Outline::new(thoughts);
        let not_here = || {
            let message = format!("there is no thought `{}` in this session", from.unwrap_or_default());
            CliError::not_found(message).hint("leave `from` out to see the whole session")
        };
        let line = outline.page(from, after).ok_or_else(not_here)?;
        self.above = line.steps.first().map_or(0, |first| outline.depth(&first.thought.id));
        self.from = from.map(str::to_string);
        self.newest = outline.newest();
        self.tree = Some(line);
        Ok(())
    }
}

/// What a reader in a hurry wants to know.
fn about(data: &Data) -> Markup {
    let named = |action: &String| {
        let of = |decision: &Summary| decision.action_id.as_ref().is_some_and(|id| id.as_str() == action);
        data.decisions.iter().any(of)
    };
    // Further pages begin with what they are there for.
    let first = data.list.is_none() && data.from.is_none() && data.after.is_none();
    let others: Vec<&String> = data.actions.iter().filter(|action| !named(action)).collect();
    html! {
        p.lead {
            @match (&data.first_at, &data.last_at) {
                (Some(first), Some(last)) => {
                    (parts::thoughts(data.thoughts)) " by " (text(&data.agents.join(", "))) ", " (parts::span(first, last)) "."
                }
                _ => "No thoughts yet; this session has only a memory.",
            }
        }
        @if first && !data.decisions.is_empty() {
            section.card.decided {
                h2 {
                    "Decided"
                    @if data.types.decision > data.decisions.len() as u64 {
                        span.faint.small { ": the newest " (data.decisions.len()) " of " (count(data.types.decision, "decision")) }
                    }
                }
                ul.list {
                    @for decision in &data.decisions { li.step.decision { (parts::thought(decision, &data.plans, data.mark(decision))) } }
                }
            }
        }
        @if first && !others.is_empty() {
            p.actions {
                span.faint { @if others.len() < data.actions.len() { "Also led to " } @else { "Led to " } }
                @for action in others { a.chip.acted href=(link::action(action)) { "→ " (text(action)) } " " }
                @if data.more_actions { span.faint { "and more" } }
            }
        }
    }
}

impl OfType {
    fn read(thoughts: &[Summary], kind: ThoughtType, after: Option<u64>) -> OfType {
        let mut wanted = thoughts
            .iter()
            .filter(|thought| thought.kind == kind && after.is_none_or(|after| thought.step_index > after));
        let shown: Vec<Summary> = wanted.by_ref().take(PAGE).cloned().collect();
        let next = wanted.next().and(shown.last()).map(|last| last.step_index);
        OfType { kind, thoughts: shown, next }
    }

    fn show(&self, data: &Data) -> Markup {
        let here = link::session(&data.session_id);
        html! {
            ul.list {
                @for thought in &self.thoughts {
                    li.step.(thought.kind.as_str()) {
                        (parts::thought(thought, &data.plans, html! {
                            (data.mark(thought))
                            a.where href=(tree::address(&here, Some(&thought.id), None)) { "what follows" }
                        }))
                    }
                }
            }
            @if self.thoughts.is_empty() { p.faint { "There are none." } }
            @if let Some(next) = self.next {
                p.more { a.button.quiet href={ (here) "?type=" (self.kind.as_str()) "&after=" (next) } { "More " (plural(self.kind, 2)) } }
            }
        }
    }
}

#[cfg(test)]
#[path = "session_tests.rs"]
mod tests;
