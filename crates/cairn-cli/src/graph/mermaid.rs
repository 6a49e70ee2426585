//! A graph as Mermaid text, which GitHub and many editors draw.

use std::fmt::Write;

use cairn::core::preview::preview;

use super::{Graph, GraphNode, Mark, clean, name};

/// Characters of a label; Mermaid refuses texts beyond 50,000 characters.
const LONGEST_LABEL: usize = 200;
/// Edges that Mermaid draws unless it is set up for more.
pub(crate) const MOST_EDGES: usize = 500;

/// Writes a graph as a Mermaid flowchart.
pub(crate) fn mermaid(graph: &Graph<'_>) -> String {
    let mut text = format!("---\ntitle: \"{}\"\n---\nflowchart TD\n", front_matter(graph.title));
    let in_phase = |phase: Option<usize>| {
        let nodes = graph.nodes.iter().enumerate();
        nodes.filter(move |(_, node)| node.phase == phase)
    };
    let mut by_phase: Vec<Vec<usize>> = vec![Vec::new(); graph.phases.len()];
    for (index, node) in graph.nodes.iter().enumerate() {
        if let Some(phase) = node.phase {
            by_phase[phase].push(index);
        }
    }
    for (phase, nodes) in by_phase.iter().enumerate().filter(|(_, nodes)| !nodes.is_empty()) {
        let _ = writeln!(text, "  subgraph p{phase}[\"{}\"]", escaped(&clean(graph.phases[phase].name())));
        for &index in nodes {
            text.push_str("  ");
            node(&mut text, index, &graph.nodes[index]);
        }
        text.push_str("  end\n");
    }
    for (index, without) in in_phase(None) {
        node(&mut text, index, without);
    }
    for edge in &graph.edges {
        let arrow = if edge.mark == Mark::Removed { "-.->" } else { "-->" };
        let _ = write!(text, "  n{} {arrow}", edge.from);
        if let Some(kind) = edge.kind.map(clean).filter(|kind| !kind.is_empty()) {
            let _ = write!(text, "|\"{}\"|", escaped(&kind));
        }
        let _ = writeln!(text, " n{}", edge.to);
    }
    if graph.compared {
        marks(&mut text, graph);
    }
    text
}

fn node(text: &mut String, index: usize, node: &GraphNode<'_>) {
    let sign = match node.mark {
        Mark::Same => String::new(),
        mark => format!("{} ", mark.sign()),
    };
    let _ = writeln!(text, "  n{index}[\"{}\"]", escaped(&(sign + &name(node.node))));
}

/// Colours, for light and dark pages alike.
fn marks(text: &mut String, graph: &Graph<'_>) {
    text.push_str(
        "  classDef added fill:#dafbe1,stroke:#1a7f37,color:#0f3d1e\n  \
         classDef removed fill:#ffebe9,stroke:#cf222e,color:#82071e,stroke-dasharray:5 4\n  \
         classDef changed fill:#fff8c5,stroke:#9a6700,color:#4d2d00\n",
    );
    for mark in Mark::CHANGES {
        let nodes = graph.nodes.iter().enumerate().filter(|(_, node)| node.mark == mark);
        let nodes: Vec<String> = nodes.map(|(index, _)| format!("n{index}")).collect();
        if !nodes.is_empty() {
            let _ = writeln!(text, "  class {} {}", nodes.join(","), mark.name());
        }
    }
    for (mark, color) in [(Mark::Added, "#1a7f37"), (Mark::Removed, "#cf222e")] {
        let edges = graph.edges.iter().enumerate().filter(|(_, edge)| edge.mark == mark);
        let edges: Vec<String> = edges.map(|(index, _)| index.to_string()).collect();
        if !edges.is_empty() {
            let _ = writeln!(text, "  linkStyle {} stroke:{color}", edges.join(","));
        }
    }
}

/// A label between double quotes. Whatever Mermaid, its Markdown or HTML could take for a sign becomes a number.
fn escaped(label: &str) -> String {
    let label = preview(label, LONGEST_LABEL);
    let mut text = String::with_capacity(label.len());
    // `1.` and `1)` begin a list, which Mermaid refuses to draw.
    let mut only_digits = true;
    for (at, c) in label.chars().enumerate() {
        let plain = match c {
            ' ' | ',' | ':' | '?' | '!' | '\'' | '…' => true,
            '.' | '(' | ')' | '-' => !only_digits && at > 0,
            _ => c.is_alphanumeric(),
        };
        only_digits &= c.is_ascii_digit();
        if plain {
            text.push(c);
        } else {
            let _ = write!(text, "#{};", u32::from(c));
        }
    }
    text
}

/// A text between double quotes in YAML.
fn front_matter(title: &str) -> String {
    let mut text = String::new();
    for c in preview(&clean(title), LONGEST_LABEL).chars() {
        match c {
            ' ' | ',' | ':' | '.' | '(' | ')' | '-' | '…' => text.push(c),
            _ if c.is_alphanumeric() => text.push(c),
            _ => drop(write!(text, "\\U{:08x}", u32::from(c))),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::samples::{node, plan};
    use super::*;

    #[test]
    fn a_plan_is_a_flowchart_with_its_phases() {
        let plan =
            plan(vec![node("a", Some("one"), &[]), node("b", Some("two"), &["a"]), node("c", None, &["b"])]);
        let expected = "---\n\
                        title: \"The plan\"\n\
                        ---\n\
                        flowchart TD\n  \
                          subgraph p0[\"Phase one\"]\n    \
                            n0[\"Label of a\"]\n  \
                          end\n  \
                          subgraph p1[\"Phase two\"]\n    \
                            n1[\"Label of b\"]\n  \
                          end\n  \
                          n2[\"Label of c\"]\n  \
                          n0 --> n1\n  \
                          n1 --> n2\n";
        assert_eq!(mermaid(&Graph::of(&plan)), expected);
    }

    #[test]
    fn changes_are_marked_by_sign_line_and_colour() {
        let old = plan(vec![node("a", None, &[]), node("b", None, &["a"])]);
        let mut new = plan(vec![node("a", None, &[]), node("c", None, &["a"])]);
        new.nodes[0].scope = Some("more".into());
        let text = mermaid(&Graph::compared(&old, &new));
        for line in [
            "  n0[\"#126; Label of a\"]\n",
            "  n1[\"#8722; Label of b\"]\n",
            "  n2[\"#43; Label of c\"]\n",
            "  n0 --> n2\n",
            "  n0 -.-> n1\n",
            "  class n2 added\n  class n1 removed\n  class n0 changed\n",
            "  linkStyle 0 stroke:#1a7f37\n  linkStyle 1 stroke:#cf222e\n",
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
    }

    #[test]
    fn no_label_breaks_out() {
        let hostile = "\"] --> x\n%%{init: {}}%% <script>`**a** #quot; end字\u{202e}";
        let mut plan = plan(vec![node("a", Some("p\"]\nend"), &[])]);
        plan.nodes[0].label = hostile.into();
        plan.title = format!("---\n\"{hostile}");
        let text = mermaid(&Graph::of(&plan));
        assert_eq!(text.lines().count(), 7, "{text}");
        assert_eq!(text.matches('"').count(), 6, "{text}");
        assert!(!text.contains(['%', '<', '`', '*', '\u{202e}']), "{text}");
        assert!(text.contains("end字"), "{text}");
        assert_eq!(escaped("1. Fetch (v1.2) - all"), "1#46; Fetch (v1.2) - all");
        assert_eq!(escaped(&"x".repeat(5000)).chars().count(), LONGEST_LABEL + 1);
    }
}
