//! `/compare`: what changed from one snapshot of a roadmap to another, as a picture and in words.

use std::collections::HashMap;

use cairn::core::roadmap::Snapshot;
use cairn::core::roadmap::diff::Diff;
use cairn::{Comparison, Context, ContextHead};
use maud::{Markup, html};
use serde::Serialize;

use super::differences::{Anchors, counted, differences};
use super::picture::{anchor, picture};
use crate::data_plans::ComparisonData;
use crate::error::CliError;
use crate::graph::{Graph, Mark};
use crate::serve::{Asked, Live, Page, Shown};
use crate::term::count;
use crate::web::link;
use crate::web::piece::{hash, short_hash, time};
use crate::web::text::text;

pub(super) struct Compare;

#[derive(Serialize)]
pub(super) struct Data {
    #[serde(flatten)]
    comparison: ComparisonData,
    from: ContextHead,
    to: ContextHead,
    #[serde(skip)]
    old: Snapshot,
    #[serde(skip)]
    new: Snapshot,
    #[serde(skip)]
    diff: Diff,
}

impl Page for Compare {
    type Data = Data;

    fn read(asked: &Asked) -> Result<Data, CliError> {
        let cairn = asked.cairn();
        let from = asked.query_number("from")?.ok_or_else(|| {
            CliError::refused("from: the number of a snapshot is missing")
                .hint("choose two snapshots on the page of a roadmap, below `/roadmaps`")
        })?;
        let whole = |id: u64| {
            cairn.context(id)?.ok_or_else(|| {
                CliError::not_found(format!("there is no snapshot {id}"))
                    .hint("`/roadmaps` leads to all there are")
            })
        };
        let old = whole(from)?;
        let to = match asked.query_number("to")? {
            Some(to) => to,
            None => cairn
                .context_latest(old.head.roadmap_id.as_str())?
                .map_or(from, |newest| newest.head.context_id),
        };
        let new = whole(to)?;
        let (one, other) = (&old.head.roadmap_id, &new.head.roadmap_id);
        if one != other {
            return Err(CliError::refused(format!(
                "snapshot {from} is of roadmap `{one}`, and snapshot {to} of `{other}`: only snapshots of one roadmap can be compared"
            ))
            .hint(format!("`{}` and `{}` list the snapshots of each", link::roadmap(one.as_str()), link::roadmap(other.as_str()))));
        }
        let content = |context: Context| match context.snapshot {
            Some(snapshot) => Ok((context.head, snapshot.content)),
            None => Err(CliError::refused(format!(
                "the content of snapshot {} was redacted, so that nothing can be compared with it",
                context.head.context_id
            ))
            .hint(format!("`{}` says by whom and when", link::context(context.head.context_id)))),
        };
        let ((old_head, old), (new_head, new)) = (content(old)?, content(new)?);
        let diff = Diff::between(&old, &new);
        let comparison = Comparison {
            roadmap_id: old_head.roadmap_id.clone(),
            context_id1: from,
            context_id2: to,
            created_at1: old_head.created_at.clone(),
            created_at2: new_head.created_at.clone(),
            diff: diff.clone(),
        };
        Ok(Data { comparison: comparison.into(), from: old_head, to: new_head, old, new, diff })
    }

    fn show(data: &Data, _asked: &Asked) -> Shown {
        let (from, to, roadmap) = (data.from.context_id, data.to.context_id, data.from.roadmap_id.as_str());
        let title = format!("Snapshots {from} and {to} of {roadmap}");
        let graph = Graph::compared(&data.old, &data.new);
        let main = html! {
            p.crumbs {
                a href="/roadmaps" { "Roadmaps" } " › " a href=(link::roadmap(roadmap)) { (text(roadmap)) } " › comparison"
            }
            h1 { (text(&data.new.title)) }
            (sides(data))
            @if data.diff.identical() {
                section.recheck.good {
                    p { strong { "Identical" } ": both hold the same plan, with the hash " (hash(&data.to.content_hash)) "." }
                }
            } @else {
                p.summary {
                    strong { (count(data.diff.total_changes() as u64, "change")) } " "
                    (counted(&data.diff.counts(), data.diff.title_changed))
                }
                (drawn(data, &graph))
                (differences(&data.diff, &data.old, &data.new, &anchors(&graph)))
            }
            p.ways { a.button.quiet href=(link::compare(to, from)) { "The other way round" } }
        };
        Shown { title, main, live: Live::Nothing }
    }
}

fn sides(data: &Data) -> Markup {
    let side = |sign: &str, class: &str, head: &ContextHead| {
        html! {
            li.(class) {
                span.sign.(class) aria-hidden="true" { (sign) } " "
                a href=(link::context(head.context_id)) { "Snapshot " (head.context_id) }
                " " (time(&head.created_at)) " " (short_hash(&head.content_hash))
            }
        }
    };
    html! { ul.bare.sides { (side("−", "removed", &data.from)) (side("+", "added", &data.to)) } }
}

/// A node that changed leads to what is said about it, one that did not to its description in the newer plan.
fn drawn(data: &Data, graph: &Graph<'_>) -> Markup {
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (index, node) in data.new.nodes.iter().enumerate() {
        places.entry(&node.id).or_insert(index);
    }
    picture(graph, &|index| {
        let node = &graph.nodes[index];
        match node.mark {
            Mark::Same => {
                let place = places.get(node.node.id.as_str()).copied().unwrap_or_default();
                format!("{}#{}", link::context(data.to.context_id), anchor(place))
            }
            _ => format!("#{}", anchor(index)),
        }
    })
}

/// Where each changed node is drawn, by what became of it and its id; of several with one id, the first.
fn anchors(graph: &Graph<'_>) -> Anchors {
    let mut anchors = HashMap::new();
    for (index, node) in graph.nodes.iter().enumerate() {
        anchors.entry((node.mark.name(), node.node.id.clone())).or_insert(index);
    }
    anchors
}
