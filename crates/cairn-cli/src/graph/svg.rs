//! A graph as an SVG picture: no script, no font to fetch, light and dark. Alone it has all it needs; as part of a page
//! it takes its colours from there, and its nodes lead to places on that page.

use std::fmt::Write;

use cairn::core::preview::preview;

use super::curves::curves;
use super::layout::{Point, Size, layout};
use super::letters::{fitted, text_width, wrapped};
use super::{Edge, Graph, GraphNode, Mark, clean, name};

/// Colours for phases; where there are more phases, they come again.
const PHASE_COLORS: usize = 8;
const LABEL_SIZE: f64 = 13.0;
const ID_SIZE: f64 = 10.5;
const LINE_HEIGHT: f64 = 17.0;
const PADDING_X: f64 = 14.0;
const PADDING_Y: f64 = 10.0;
const NARROWEST_BOX: f64 = 96.0;
/// Room for a line of a label.
const LABEL_WIDTH: f64 = 176.0;
const LABEL_LINES: usize = 4;
const MARGIN: f64 = 24.0;
const LEGEND_ROW: f64 = 24.0;
/// The legend needs some room even where the plan does not.
const NARROWEST_PICTURE: f64 = 360.0;
/// Characters that a tooltip shows of a text.
const TOOLTIP: usize = 600;

const STYLE: &str = include_str!("svg.css");

/// Draws a graph as a file of its own.
pub(crate) fn svg(graph: &Graph<'_>) -> String {
    draw(graph, None)
}

/// Draws a graph as part of a page, which has the rules of `svg.css` in its own stylesheet and a title of its own: pages
/// may hold no style. Each node leads to the address that `link` has for its index.
pub(crate) fn svg_on_page(graph: &Graph<'_>, link: &dyn Fn(usize) -> String) -> String {
    draw(graph, Some(link))
}

fn draw(graph: &Graph<'_>, link: Option<&dyn Fn(usize) -> String>) -> String {
    let cards: Vec<Card> = graph.nodes.iter().map(Card::new).collect();
    let sizes: Vec<Size> = cards.iter().map(Card::size).collect();
    let ends: Vec<(usize, usize)> = graph.edges.iter().map(|edge| (edge.from, edge.to)).collect();
    let places = layout(&sizes, &ends);
    let width = places.width.max(NARROWEST_PICTURE);
    let title = preview(&clean(graph.title), 200).into_owned();
    let head = head(graph, link.is_none().then(|| fitted(&title, width, 18.0)).as_deref(), width);
    let (whole_width, whole_height) = (width + 2.0 * MARGIN, places.height + head.height + 2.0 * MARGIN);
    // A picture that holds links is no image to a screen reader: it would pass them over.
    let (role, named) = match link {
        None => ("img", format!("<title>{}</title>\n<style>{STYLE}</style>\n", escaped(&title))),
        Some(_) => ("group", String::new()),
    };
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"cairn-plan\" role=\"{role}\" \
         aria-label=\"{}\" viewBox=\"0 0 {whole_width:.0} {whole_height:.0}\" width=\"{whole_width:.0}\" \
         height=\"{whole_height:.0}\">\n{named}<defs>\n",
        escaped(&title)
    );
    for mark in [Mark::Same, Mark::Added, Mark::Removed] {
        let name = mark.name();
        let _ = writeln!(
            text,
            "<marker id=\"cairn-{name}\" class=\"head {name}\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" \
             markerUnits=\"userSpaceOnUse\" markerWidth=\"9\" markerHeight=\"9\" orient=\"auto-start-reverse\"><path d=\"M0 1L10 5L0 9z\"/></marker>"
        );
    }
    text.push_str("</defs>\n<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n");
    text.push_str(&head.drawn);
    let left = MARGIN + (width - places.width) / 2.0;
    let _ = writeln!(text, "<g transform=\"translate({left:.1} {:.1})\">", MARGIN + head.height);
    for (edge, curve) in graph.edges.iter().zip(curves(&ends, &places, &sizes)) {
        line(&mut text, graph, edge, &curve);
    }
    for (index, (card, place)) in cards.iter().zip(&places.boxes).enumerate() {
        match link {
            None => card.draw(&mut text, graph, *place),
            Some(link) => {
                let _ = writeln!(text, "<a href=\"{}\">", escaped(&link(index)));
                card.draw(&mut text, graph, *place);
                text.push_str("</a>\n");
            }
        }
    }
    text + "</g>\n</svg>\n"
}

/// A node as a box.
struct Card<'a> {
    node: &'a GraphNode<'a>,
    lines: Vec<String>,
    id: String,
    width: f64,
}

impl<'a> Card<'a> {
    fn new(node: &'a GraphNode<'a>) -> Card<'a> {
        let lines = wrapped(&name(node.node), LABEL_WIDTH, LABEL_SIZE, LABEL_LINES);
        let widest = lines.iter().map(|line| text_width(line, LABEL_SIZE)).fold(0.0, f64::max);
        let id = fitted(&clean(&node.node.id), LABEL_WIDTH, ID_SIZE);
        let widest = widest.max(text_width(&id, ID_SIZE));
        Card { node, lines, id, width: (widest + 2.0 * PADDING_X).max(NARROWEST_BOX) }
    }

    fn size(&self) -> Size {
        let height = self.lines.len() as f64 * LINE_HEIGHT + ID_SIZE + 4.0 + 2.0 * PADDING_Y;
        Size { width: self.width, height }
    }

    fn draw(&self, text: &mut String, graph: &Graph<'_>, top: Point) {
        let Size { width, height } = self.size();
        let (left, mark) = (top.x - width / 2.0, self.node.mark);
        let color = self.node.phase.map_or("no".to_string(), |phase| (phase % PHASE_COLORS).to_string());
        let _ = writeln!(
            text,
            "<g class=\"node p{color} {}\"><title>{}</title><rect x=\"{left:.1}\" y=\"{:.1}\" \
             width=\"{width:.1}\" height=\"{height:.1}\" rx=\"9\"/>",
            mark.name(),
            escaped(&self.tooltip(graph)),
            top.y
        );
        let mut y = top.y + PADDING_Y + LABEL_SIZE;
        for line in &self.lines {
            let _ = writeln!(
                text,
                "<text class=\"label\" x=\"{:.1}\" y=\"{y:.1}\">{}</text>",
                top.x,
                escaped(line)
            );
            y += LINE_HEIGHT;
        }
        let _ = writeln!(
            text,
            "<text class=\"id\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            top.x,
            y - 1.0,
            escaped(&self.id)
        );
        if mark != Mark::Same {
            let _ = writeln!(
                text,
                "<circle class=\"badge\" cx=\"{left:.1}\" cy=\"{0:.1}\" r=\"9\"/><text class=\"sign\" \
                 x=\"{left:.1}\" y=\"{1:.1}\">{2}</text>",
                top.y,
                top.y + 4.5,
                mark.sign()
            );
        }
        text.push_str("</g>\n");
    }

    /// What there is to say about the node, one line each.
    fn tooltip(&self, graph: &Graph<'_>) -> String {
        let node = self.node.node;
        let cut = |text: &str| preview(&clean(text), TOOLTIP).into_owned();
        let mut lines = vec![format!("{}: {}", cut(&node.id), cut(&node.label))];
        lines.extend(node.scope.as_deref().map(cut));
        lines.extend(self.node.phase.map(|phase| format!("phase: {}", cut(graph.phases[phase].name()))));
        if !node.dependencies.is_empty() {
            lines.push(format!("needs: {}", cut(&node.dependencies.join(", "))));
        }
        if self.node.mark != Mark::Same {
            lines.push(self.node.mark.name().to_string());
        }
        lines.join("\n")
    }
}

/// Title, if it is to be there, and legend.
struct Head {
    drawn: String,
    height: f64,
}

fn head(graph: &Graph<'_>, title: Option<&str>, width: f64) -> Head {
    let (mut drawn, below) = match title {
        Some(title) => {
            let y = MARGIN + 16.0;
            let title = escaped(title);
            (format!("<text class=\"title\" x=\"{MARGIN}\" y=\"{y:.1}\">{title}</text>\n"), 34.0)
        }
        None => (String::new(), 0.0),
    };
    let mut used = vec![false; graph.phases.len()];
    graph.nodes.iter().filter_map(|node| node.phase).for_each(|phase| used[phase] = true);
    let phases = graph.phases.iter().enumerate().filter(|(phase, _)| used[*phase]);
    let phases = phases.map(|(phase, stage)| {
        (format!("node p{}", phase % PHASE_COLORS), preview(&clean(stage.name()), 40).into_owned(), "")
    });
    let marks = Mark::CHANGES.into_iter().filter(|_| graph.compared);
    let marks = marks.map(|mark| (format!("node pno {}", mark.name()), mark.name().to_string(), mark.sign()));
    let (mut x, mut y) = (MARGIN, MARGIN + below);
    for (class, name, sign) in phases.chain(marks) {
        let needed = 24.0 + text_width(&name, 12.0) + 20.0;
        if x > MARGIN && x + needed > MARGIN + width {
            (x, y) = (MARGIN, y + LEGEND_ROW);
        }
        let _ = write!(
            drawn,
            "<g class=\"{class}\"><rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"18\" height=\"14\" rx=\"4\"/>"
        );
        if !sign.is_empty() {
            let _ =
                write!(drawn, "<text class=\"key\" x=\"{:.1}\" y=\"{:.1}\">{sign}</text>", x + 9.0, y + 11.5);
        }
        let _ = writeln!(
            drawn,
            "<text class=\"legend\" x=\"{:.1}\" y=\"{:.1}\">{}</text></g>",
            x + 24.0,
            y + 11.5,
            escaped(&name)
        );
        x += needed;
    }
    let rows = if x > MARGIN { y + LEGEND_ROW - MARGIN } else { below };
    Head { drawn, height: rows + 16.0 }
}

/// The line from what is needed to what needs it.
fn line(text: &mut String, graph: &Graph<'_>, edge: &Edge<'_>, curve: &str) {
    let name = edge.mark.name();
    let said = |index: usize| preview(&clean(&graph.nodes[index].node.id), 100).into_owned();
    let mut title = format!("{} → {}", said(edge.from), said(edge.to));
    if let Some(kind) = edge.kind {
        let _ = write!(title, " ({})", preview(&clean(kind), 100));
    }
    let _ = writeln!(
        text,
        "<path class=\"edge {name}\" d=\"{curve}\" marker-end=\"url(#cairn-{name})\"><title>{}</title></path>",
        escaped(&title)
    );
}

/// Text as XML, whether between tags or in an attribute.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            _ => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::super::samples::{node, plan};
    use super::*;

    #[test]
    fn every_node_and_edge_is_drawn_and_named() {
        let plan =
            plan(vec![node("a", Some("one"), &[]), node("b", Some("two"), &["a"]), node("c", None, &["b"])]);
        let picture = svg(&Graph::of(&plan));
        assert_eq!(picture.matches("<path class=\"edge same\"").count(), 2);
        assert_eq!(picture.matches("class=\"label\"").count(), 3);
        assert!(
            picture.contains(
                "<g class=\"node p1 same\"><title>b: Label of b\nphase: Phase two\nneeds: a</title>"
            )
        );
        assert!(picture.contains(">Phase one</text>") && picture.contains(">The plan</text>"));
        assert!(picture.contains("prefers-color-scheme: dark"));
        assert!(!picture.contains("<script") && picture.matches("http").count() == 1);
    }

    #[test]
    fn changes_are_marked_and_explained() {
        let old = plan(vec![node("a", None, &[]), node("b", None, &["a"])]);
        let new = plan(vec![node("a", None, &[]), node("c", None, &["a"])]);
        let picture = svg(&Graph::compared(&old, &new));
        assert!(picture.contains("node pno removed\"><title>b: Label of b\nneeds: a\nremoved</title>"));
        assert!(picture.contains("class=\"edge added\"") && picture.contains("class=\"edge removed\""));
        assert!(picture.contains(">changed</text>"));
    }

    #[test]
    fn no_label_breaks_out_and_none_is_too_wide() {
        let mut plan = plan(vec![node("</title><script>alert(1)</script>", Some("\"'><x"), &[])]);
        plan.nodes[0].label =
            format!("<img src=x onerror='y'>\x1b[2J\u{0}\u{202e} {} {}", "字".repeat(300), "W".repeat(9000));
        plan.title = "</style><b>&amp;".into();
        let picture = svg(&Graph::of(&plan));
        assert!(!picture.contains("<script") && !picture.contains("<img") && !picture.contains("<x"));
        assert_eq!(picture.matches("</style>").count(), 1);
        assert!(picture.chars().all(|c| c == '\n' || !c.is_control() && c != '\u{202e}'));
        assert_eq!(picture.matches("class=\"label\"").count(), LABEL_LINES);
        assert!(Card::new(&Graph::of(&plan).nodes[0]).width <= LABEL_WIDTH + 2.0 * PADDING_X + 0.1);
    }

    #[test]
    fn on_a_page_it_has_no_style_and_its_nodes_lead_somewhere() {
        let plan = plan(vec![node("a", None, &[]), node("\"><script>", None, &["a"])]);
        let picture = svg_on_page(&Graph::of(&plan), &|index| format!("#node-{index}"));
        assert!(
            !picture.contains("style") && !picture.contains("<script") && picture.contains("role=\"group\"")
        );
        assert!(picture.contains("<a href=\"#node-1\">") && !picture.contains("class=\"title\""));
    }

    #[test]
    fn an_empty_plan_is_a_picture_too() {
        assert!(svg(&Graph::of(&plan(Vec::new()))).ends_with("</svg>\n"));
    }
}
