//! A plan as a picture on a page, and how far it may grow.

use maud::{Markup, PreEscaped, html};

use crate::graph::{Graph, svg_on_page};

/// More nodes than this nobody can follow, and a browser draws them slowly.
const MOST_NODES: usize = 2_000;

/// The picture in a frame that scrolls by itself. Each node leads to the address that `link` has for its index in the
/// graph. What [`svg_on_page`] returns is safe to show as it is: no label ends the text it stands in.
pub(super) fn picture(graph: &Graph<'_>, link: &dyn Fn(usize) -> String) -> Markup {
    if graph.nodes.is_empty() {
        return html! { p.faint { "There is nothing to draw: the plan has no nodes." } };
    }
    if graph.nodes.len() > MOST_NODES {
        return html! {
            p.hint {
                "This plan has " (graph.nodes.len()) " nodes, too many for a picture on a page; "
                code { "cairn roadmap graph --format svg" } " draws it into a file."
            }
        };
    }
    html! {
        a.skip href="#after-picture" { "Past the picture" }
        div.picture role="region" aria-label="The plan as a graph; every node leads to its description" tabindex="0" {
            (PreEscaped(svg_on_page(graph, link)))
        }
        div #after-picture {}
    }
}

/// Where the description of a node stands, by its index.
pub(super) fn anchor(index: usize) -> String {
    format!("node-{index}")
}
