//! Snapshots of large roadmaps, and what it costs to compare two.

use std::path::Path;
use std::time::Instant;

use anyhow::Result;
use cairn::{Cairn, Options};
use serde_json::{Value, json};

use crate::stats::{Sample, number};
use crate::{Sizes, data, table};

/// What is measured of one size and form.
#[derive(Default)]
struct Costs {
    snapshot: Sample,
    unchanged: Sample,
    compare: Sample,
    parse: Sample,
    bytes: u64,
}

/// (g).
pub fn run(sizes: &Sizes) -> Result<()> {
    table::title('g', "snapshots of roadmaps: three connections a node");
    let folder = data::scratch()?;
    let roadmaps = folder.path().join("roadmaps");
    std::fs::create_dir(&roadmaps)?;
    let cairn = Options::new().open(folder.path().join("cairn.db"))?;
    let mut rows = Vec::new();
    let mut results = Vec::new();
    let [quarter, whole] = [sizes.plan / 4, sizes.plan];
    for (nodes, form) in [(quarter, "json"), (whole, "json"), (quarter, "yaml"), (whole, "yaml")] {
        // Every sixth or so large one also moves the write-ahead log into the file: enough rounds for a median without.
        let costs = measure(&cairn, &roadmaps, nodes, form, 3 * sizes.rounds)?;
        rows.push([
            format!("{} nodes as {form}", number(nodes as f64)),
            number(costs.bytes as f64 / 1e6),
            costs.snapshot.show(),
            costs.unchanged.show(),
            costs.compare.show(),
            costs.parse.show(),
        ]);
        results.push(costs);
    }
    let header =
        ["", "file, MB", "snapshot, ms", "ensure, unchanged, ms", "compare two, ms", "serde_json alone, ms"];
    table::print(header, &rows);
    for (quarter, whole) in [(0, 1), (2, 3)] {
        let form = if whole == 1 { "json" } else { "yaml" };
        table::at_most(&format!("snapshot as {form}"), &results[whole].snapshot, 300.0, " ms");
        table::at_most(&format!("compare as {form}"), &results[whole].compare, 150.0, " ms");
        // Four times the nodes: 4 is linear. Beyond the caches of the processor everything costs a little more.
        let growth = results[whole].snapshot.over(&results[quarter].snapshot);
        table::at_most(&format!("snapshot as {form}, four times the nodes"), &growth, 6.0, " times");
        let growth = results[whole].compare.over(&results[quarter].compare);
        table::at_most(&format!("compare as {form}, four times the nodes"), &growth, 6.0, " times");
    }
    Ok(())
}

fn measure(cairn: &Cairn, roadmaps: &Path, nodes: usize, form: &str, rounds: usize) -> Result<Costs> {
    let mut costs = Costs::default();
    let id = format!("plan-{form}-{nodes}");
    let file = roadmaps.join(format!("{id}.{form}"));
    let mut before = None;
    for round in 0..=rounds {
        let plan = plan(nodes, round);
        let json = serde_json::to_vec(&plan)?;
        std::fs::write(&file, if form == "json" { json.clone() } else { yaml(&plan).into_bytes() })?;
        costs.bytes = std::fs::metadata(&file)?.len();
        let start = Instant::now();
        let context = cairn.context_ensure(&id, None)?.context.context_id;
        let snapshot = start.elapsed();
        // The index of nodes is made behind the answer; it must not disturb what is measured next.
        cairn.context_search(&cairn::NodeQuery { query: "label".into(), ..Default::default() })?;
        let start = Instant::now();
        assert!(cairn.context_ensure(&id, None)?.is_existing);
        let unchanged = start.elapsed();
        if let Some(before) = before.replace(context) {
            let start = Instant::now();
            let changes = cairn.context_compare(before, Some(context))?.diff.total_changes();
            costs.compare.add_ms(start.elapsed());
            assert!(changes > 0);
            costs.snapshot.add_ms(snapshot);
            costs.unchanged.add_ms(unchanged);
            let start = Instant::now();
            assert!(serde_json::from_slice::<Value>(&json)?.is_object());
            costs.parse.add_ms(start.elapsed());
        }
    }
    Ok(costs)
}

/// A plan whose every tenth node is called something else in every round.
fn plan(nodes: usize, round: usize) -> Value {
    let node = |n: usize| {
        json!({
            "id": format!("node-{n}"),
            "label": match n % 10 {
                0 => format!("Node {n} in round {round}"),
                _ => format!("A label of ordinary length for node {n}"),
            },
            "scope": "What belongs to it, in a sentence of a few words.",
            "phase": format!("phase-{}", n * 8 / nodes),
            "dependencies": if n > 0 { vec![format!("node-{}", n - 1)] } else { Vec::new() },
        })
    };
    let connection = |n: usize| {
        let (from, step) = (n / 3, [1, 7, 61][n % 3]);
        json!({"from": format!("node-{from}"), "to": format!("node-{}", (from + step).min(nodes - 1)), "type": "leads"})
    };
    json!({
        "title": "A large plan",
        "phases": (0..8).map(|n| json!({"id": format!("phase-{n}"), "title": format!("Phase {n}")})).collect::<Vec<_>>(),
        "nodes": (0..nodes).map(node).collect::<Vec<_>>(),
        "connections": (0..nodes * 3).map(connection).collect::<Vec<_>>(),
    })
}

/// Block style, as people write it.
fn yaml(plan: &Value) -> String {
    let mut text = format!("title: {}\n", plan["title"]);
    for list in ["phases", "nodes", "connections"] {
        text.push_str(&format!("{list}:\n"));
        for item in plan[list].as_array().into_iter().flatten() {
            for (place, (key, value)) in item.as_object().into_iter().flatten().enumerate() {
                text.push_str(&format!("  {} {key}: {value}\n", if place == 0 { "-" } else { " " }));
            }
        }
    }
    text
}
