//! The tree of a session as lists: a line is one, and only where it forks is there one inside another.

use cairn::Summary;
use cairn::core::id::ThoughtId;
use maud::{Markup, html};

use super::Data;
use crate::term::grouped;
use crate::web::link;
use crate::web::trail::outline::{Branch, Fork, Line, More, Step};
use crate::web::trail::parts;

/// What the mark means, for those who point at it and in the legend.
const ABANDONED: &str = "Abandoned: nothing in it led to an action, and after its end another path began from the same \
                         thought that went on or led to one. Reflections alone, and analyses that a later decision took \
                         up, do not count.";

/// Every thought of a line and of what hangs on it.
pub(super) fn thoughts(line: &Line) -> Vec<&Summary> {
    let mut found = Vec::new();
    let mut waiting = vec![line];
    while let Some(line) = waiting.pop() {
        for step in &line.steps {
            found.push(&step.thought);
            waiting.extend(step.asides.iter().map(|branch| &branch.line));
        }
        waiting.extend(line.fork.iter().flat_map(|fork| &fork.branches).map(|branch| &branch.line));
    }
    found
}

/// A page of this session.
pub(super) fn address(session: &str, from: Option<&ThoughtId>, after: Option<u64>) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    if let Some(from) = from {
        query.append_pair("from", from.as_str());
    }
    if let Some(after) = after {
        query.append_pair("after", &after.to_string());
    }
    match query.finish() {
        query if query.is_empty() => session.to_string(),
        query => format!("{session}?{query}"),
    }
}

pub(super) fn show(data: &Data, line: &Line) -> Markup {
    let pen = Pen { data, here: link::session(&data.session_id) };
    html! {
        @if data.thoughts > 0 { (legend()) }
        @if let Some(More { from, after, .. }) = &data.newest {
            p.more { a.button.quiet href=(address(&pen.here, from.as_ref(), *after)) { "To the newest thoughts" } }
        }
        @if data.above > 0 || data.from.is_some() {
            p.elsewhere {
                @if data.above > 0 { (parts::thoughts(data.above as u64)) " above. " }
                @if let Some(parent) = line.steps.first().and_then(|step| step.thought.parent_id.as_ref()) {
                    a href=(address(&pen.here, Some(parent), None)) { "One up" } " · "
                }
                a href=(pen.here) { "From the beginning" }
            }
        }
        (pen.line(line))
    }
}

fn legend() -> Markup {
    html! {
        details.legend #legend {
            summary { "How to read this" }
            p { "A thought stands directly below the one it follows from. Where several follow from one, each path stands further in." }
            p {
                span.kind.plan { "plan" } " before the work · " span.kind.analysis { "analysis" } " facts and options · "
                span.kind.decision { "decision" } " a choice, with its reason · " span.kind.reflection { "reflection" } " what came of it"
            }
            p { span.abandoned-word { "abandoned" } " " (ABANDONED.trim_start_matches("Abandoned: ")) }
            p { "Times are UTC. Each text leads to the whole record with its proof." }
        }
    }
}

struct Pen<'d> {
    data: &'d Data,
    /// The address of the session.
    here: String,
}

impl Pen<'_> {
    fn line(&self, line: &Line) -> Markup {
        html! {
            ol.line {
                @for step in &line.steps { (self.step(step)) }
                @if let Some(fork) = &line.fork { (self.fork(fork, line.steps.is_empty())) }
                @if let Some(more) = &line.more { li.elsewhere { (self.more(more, "")) } }
            }
        }
    }

    fn step(&self, step: &Step) -> Markup {
        let thought = &step.thought;
        html! {
            li.step.(thought.kind.as_str()) id={ "step-" (thought.step_index) } {
                (parts::thought(thought, &self.data.plans, self.data.mark(thought)))
            }
            @for aside in &step.asides { li.fork { (self.abandoned(aside)) } }
        }
    }

    fn fork(&self, fork: &Fork, of_session: bool) -> Markup {
        let (one, many) = if of_session { ("Beginning", "beginnings") } else { ("Path", "paths") };
        html! {
            li.fork {
                @if fork.of > fork.branches.len() {
                    p.branch-name { (grouped(fork.of as u64)) " " (many) " from here" }
                }
                ul.branches {
                    @for (place, branch) in fork.branches.iter().enumerate() {
                        @if branch.abandoned {
                            li { (self.abandoned(branch)) }
                        } @else {
                            li.branch {
                                @if fork.of > 1 { p.branch-name { (one) " " (grouped((fork.first + place) as u64)) " of " (grouped(fork.of as u64)) } }
                                (self.line(&branch.line))
                            }
                        }
                    }
                }
                @if let Some(next) = &fork.next { p.elsewhere { (self.more(next, &format!(" in further {many}"))) } }
            }
        }
    }

    /// A path that was given up: there to be read, but quieter than the rest.
    fn abandoned(&self, branch: &Branch) -> Markup {
        let first = branch.line.steps.first().map(|step| step.thought.step_index).unwrap_or_default();
        html! {
            details.abandoned id={ "path-" (first) } open {
                summary title=(ABANDONED) {
                    span.abandoned-word { "abandoned" } " path, " (parts::thoughts(branch.thoughts))
                }
                (self.line(&branch.line))
            }
        }
    }

    fn more(&self, more: &More, which: &str) -> Markup {
        html! {
            a href=(address(&self.here, more.from.as_ref(), more.after)) {
                (grouped(more.thoughts)) " more " @if more.thoughts == 1 { "thought" } @else { "thoughts" } (which) " →"
            }
        }
    }
}
