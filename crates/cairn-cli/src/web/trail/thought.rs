//! `/thoughts/{id}`: one record, whole, and the proof that it is in the log.

use cairn::core::id::ThoughtId;
use cairn::{BranchThought, Cairn, Proof, Redaction, Sha, Source, Thought};
use maud::{Markup, html};
use serde::Serialize;

use super::parts::{self, Plan, Trail};
use super::proof::{self, SigningKey, Unproven};
use super::standing::{Changed, Wrong, more_changed};
use crate::error::CliError;
use crate::serve::{Asked, Live, Page, Shown};
use crate::web::link;
use crate::web::text::text;

/// Thoughts that are named as following directly.
const CHILDREN: u64 = 20;
/// Characters of a brief that are shown; the rest is one click away.
const BRIEF: usize = 20_000;

pub(super) struct ThoughtPage;

#[derive(Serialize)]
pub(super) struct Data {
    pub(super) thought: Thought,
    /// From the root to it.
    trail: Trail,
    /// What follows from it directly: the first of them.
    children: Vec<BranchThought>,
    more_children: bool,
    /// What `chain_hash` covers besides the content; none for a root.
    parent_chain_hash: Option<Sha>,
    plan: Option<SeenPlan>,
    brief: Option<SeenBrief>,
    plans: Vec<Plan>,
    pub(super) proof: Option<Proof>,
    /// The keys that the log names for the signatures of the checkpoint.
    pub(super) keys: Vec<SigningKey>,
    /// What the newest verification found wrong with it.
    changed: Vec<Wrong>,
    /// Whether more was found than is named, so that it may have been changed even so.
    more_changed: bool,
    /// Why there is no proof.
    pub(super) unproven: Option<Unproven>,
}

/// The plan that it stood on.
#[derive(Serialize)]
struct SeenPlan {
    title: Option<String>,
    #[serde(flatten)]
    plan: Plan,
}

/// What it was told before.
#[derive(Serialize)]
struct SeenBrief {
    brief_id: String,
    node: Option<String>,
    turn: Option<u64>,
    text: Option<String>,
    redacted: Option<Redaction>,
}

impl Page for ThoughtPage {
    type Data = Data;

    fn read(asked: &Asked) -> Result<Data, CliError> {
        let cairn = asked.cairn();
        let id = cairn.resolve(asked.param("id"))?;
        let not_found = || CliError::not_found(format!("no thought `{id}`"));
        let thought = cairn.get(id.as_str())?.ok_or_else(not_found)?;
        let below = cairn.branch(thought.session_id.as_str(), Some(id.as_str()), None, CHILDREN)?;
        let trail = Trail::of(cairn.trail(id.as_str(), None)?);
        let parent =
            thought.parent_id.as_ref().map(|parent| cairn.get(parent.as_str())).transpose()?.flatten();
        let (proof, keys, unproven) = match proof::of(cairn, thought.seq)? {
            Ok((proof, keys)) => (Some(proof), keys, None),
            Err(unproven) => (None, Vec::new(), Some(unproven)),
        };
        let changed = Changed::of(asked);
        Ok(Data {
            plans: Plan::of_all(
                cairn,
                trail.thoughts.iter().chain(below.thoughts.iter().map(|child| &child.thought)),
            ),
            trail,
            children: below.thoughts,
            more_children: below.next.is_some(),
            parent_chain_hash: parent.map(|parent| parent.chain_hash),
            plan: thought.context_id.and_then(|id| SeenPlan::of(cairn, id)),
            brief: thought.brief_id.as_ref().and_then(|id| SeenBrief::of(cairn, id.as_str())),
            more_changed: changed.more,
            changed: changed.with(thought.id.as_str()),
            proof,
            keys,
            unproven,
            thought,
        })
    }

    fn show(data: &Data, _asked: &Asked) -> Shown {
        let thought = &data.thought;
        let session = link::session(thought.session_id.as_str());
        let main = html! {
            p.crumbs {
                a href="/" { "Sessions" } " › " a href=(session) { (text(thought.session_id.as_str())) } " › step " (thought.step_index)
            }
            @if !data.changed.is_empty() {
                div.wrong role="alert" {
                    p { b { "This is not what was recorded." } }
                    @for wrong in &data.changed { p.small { (text(&wrong.message)) } }
                }
            }
            @if data.changed.is_empty() && data.more_changed { (more_changed()) }
            article.record.(thought.kind.as_str()) {
                h1 { (parts::kind(thought.kind)) span.visually-hidden { " " (text(thought.id.as_str())) } }
                (said(thought))
                (facts(data))
            }
            (saw(data))
            @if let Some(metadata) = &thought.metadata {
                h2 { "Metadata" }
                pre tabindex="0" { (text(&serde_json::to_string_pretty(metadata).unwrap_or_default())) }
            }
            @if data.trail.length > 1 {
                h2 { "How it came to this" }
                (data.trail.show(&data.plans, Some(thought.id.as_str())))
            }
            div data-part="children" { (children(data)) }
            (proof::show(data))
            (hashes(data))
        };
        Shown {
            title: format!("{} in {}", thought.kind, thought.session_id),
            main,
            live: Live::Session(thought.session_id.to_string()),
        }
    }
}

fn said(thought: &Thought) -> Markup {
    html! {
        @if thought.redacted.is_some() {
            p.said.gone { (parts::words("", thought.redacted.as_ref())) }
            p.small.faint { "The text is gone for everybody; place, links and hashes stay, so that every chain and every proof still holds." }
        } @else if thought.content.is_empty() {
            p.said.gone { "(no text)" }
        } @else {
            div.said.whole #content { (text(&thought.content)) }
        }
        @if thought.sealed && thought.redacted.is_none() {
            p.small.faint { "Sealed: stored encrypted, with a key of its own. The hashes below are those of the encrypted text." }
        }
    }
}

fn facts(data: &Data) -> Markup {
    let thought = &data.thought;
    html! {
        dl.facts {
            dt { "Agent" } dd { (text(thought.agent_id.as_str())) }
            dt { "Time" } dd { time datetime=(text(thought.timestamp.as_str())) { (text(thought.timestamp.as_str())) } }
            dt { "Session" }
            dd { a href=(link::session(thought.session_id.as_str())) { (text(thought.session_id.as_str())) } ", step " (thought.step_index) }
            @if thought.task_id.as_str() != thought.session_id.as_str() {
                dt { "Task" } dd { (text(thought.task_id.as_str())) }
            }
            @if let Some(action) = &thought.action_id {
                dt { "Led to" } dd { a.chip.acted href=(link::action(action.as_str())) { "→ " (text(action.as_str())) } }
            }
            dt { "Follows from" }
            dd {
                @match &thought.parent_id {
                    Some(parent) => a href=(link::thought(parent.as_str())) { code { (text(parent.as_str())) } },
                    None => "nothing: it is a root",
                }
            }
            (others("Supersedes", &thought.supersedes))
            (others("Rejects", &thought.rejects))
            @if !thought.applies_to.is_empty() {
                dt { "Applies to" }
                @for subject in &thought.applies_to { dd { code { (text(subject.as_str())) } } }
            }
            dt { "Recorded by" }
            dd {
                @match thought.source {
                    Source::Agent => "an agent, through a tool",
                    Source::Captured => "nobody: Cairn captured it",
                    Source::Person => "a person",
                }
            }
            dt { "Id" } dd { code { (text(thought.id.as_str())) } }
        }
    }
}

/// Thoughts that this one names.
fn others(name: &str, ids: &[ThoughtId]) -> Markup {
    html! {
        @if !ids.is_empty() {
            dt { (name) }
            @for id in ids { dd { a href=(link::thought(id.as_str())) { code { (text(id.as_str())) } } } }
        }
    }
}

/// What the agent had before it when it thought this.
fn saw(data: &Data) -> Markup {
    html! {
        @if data.thought.context_id.is_some() || data.thought.brief_id.is_some() {
            section.card.saw {
                h2 { "What did it see?" }
                @match (&data.plan, data.thought.context_id) {
                    (Some(SeenPlan { title, plan }), _) => p {
                        "The plan "
                        a href=(link::context(plan.context_id)) { (text(title.as_deref().unwrap_or(&plan.roadmap_id))) }
                        " (" (text(&plan.roadmap_id)) ", snapshot " (plan.context_id) ", captured " (parts::when(&plan.captured_at)) "). "
                        @match plan.superseded_by {
                            Some(newer) => span.outdated-word { "It was changed since: " a href=(link::context(newer)) { "snapshot " (newer) } " is the current one." },
                            None => "It is still the current one.",
                        }
                    },
                    (None, Some(id)) => p { "The plan in " a href=(link::context(id)) { "snapshot " (id) } "." },
                    (None, None) => (html! {}),
                }
                @if let Some(brief) = &data.brief { (brief.show()) }
            }
        }
    }
}

fn children(data: &Data) -> Markup {
    let here = link::session(data.thought.session_id.as_str());
    html! {
        @if !data.children.is_empty() {
            h2 { "What followed" }
            ul.list {
                @for child in &data.children {
                    li.step.(child.thought.kind.as_str()) {
                        (parts::thought(&child.thought, &data.plans, html! {
                            @if let Some(below) = child.descendants.filter(|below| *below > 0) {
                                span { (parts::thoughts(below)) " further on" }
                            }
                        }))
                    }
                }
            }
            p.more {
                a href={ (here) "?from=" (link::part(data.thought.id.as_str())) } {
                    @if data.more_children { "All that followed" } @else { "In the tree" } " →"
                }
            }
        }
    }
}

fn hashes(data: &Data) -> Markup {
    let thought = &data.thought;
    let leaf = data.proof.as_ref().map(|proof| proof.leaf_hash);
    let rows = [
        ("content_hash", "of the text", Some(thought.content_hash)),
        ("chain_hash", "of the text and the parent: the session tree", Some(thought.chain_hash)),
        ("prev_hash", "of the thought before it in its task", Some(thought.prev_hash)),
        ("hash", "of the record and prev_hash: the task chain", Some(thought.hash)),
        ("leaf hash", "of every field: the log", leaf),
    ];
    html! {
        h2 { "Hashes" }
        dl.facts.hashes {
            @for (name, about, hash) in rows {
                @if let Some(hash) = hash {
                    dt { (name) br; span.small { (about) } } dd.hash { (hash.to_string()) }
                }
            }
            dt { "Log entry" } dd { a href=(link::entry(thought.seq)) { (thought.seq) } }
        }
    }
}

impl SeenPlan {
    fn of(cairn: &Cairn, id: u64) -> Option<SeenPlan> {
        let snapshot = cairn.context(id).ok().flatten().and_then(|context| context.snapshot);
        let title = snapshot.map(|snapshot| snapshot.content.title.to_string());
        Some(SeenPlan { title, plan: Plan::of(cairn, id)? })
    }
}

impl SeenBrief {
    fn of(cairn: &Cairn, id: &str) -> Option<SeenBrief> {
        let stored = cairn.brief(id).ok()??;
        let member = |name: &str| stored.brief.get(name);
        Some(SeenBrief {
            node: member("node").and_then(|node| node.as_str()).map(str::to_string),
            turn: member("turn").and_then(|turn| turn.as_u64()),
            text: member("text").and_then(|text| text.as_str()).map(str::to_string),
            brief_id: stored.brief_id.to_string(),
            redacted: stored.redacted,
        })
    }

    fn show(&self) -> Markup {
        html! {
            p {
                "The "
                a href=(link::brief(&self.brief_id)) {
                    "brief"
                    @if let (Some(node), Some(turn)) = (&self.node, self.turn) { " for " (text(node)) " in turn " (turn) }
                }
                ", word for word what it was told:"
            }
            @match (&self.text, &self.redacted) {
                (Some(brief), _) => details #brief {
                    summary { "Show the brief" }
                    pre tabindex="0" { (text(&cairn::core::preview::preview(brief, BRIEF))) }
                },
                (None, redacted) => p.said { (parts::words("", redacted.as_ref())) },
            }
        }
    }
}
