//! The demo's story on a server: `cairn demo` tells it in a file.

use std::path::Path;
use std::sync::{Arc, Mutex};

use cairn::{Cairn, Filter, KeyFolder, NewThought, Options, Timestamp};

use crate::it::database;

/// Records what the demo left in `file` in the database that stands for it, with the same ids, times and plans.
pub fn retell(file: &Path) {
    let demo = Cairn::open(file).unwrap();
    let roadmaps = file.with_file_name("roadmaps");
    std::fs::remove_dir_all(&roadmaps).unwrap();
    std::fs::create_dir(&roadmaps).unwrap();

    let next = Arc::new(Mutex::new((Timestamp::parse("2026-04-17T09:30:00.000Z").unwrap(), String::new())));
    let (clock, ids) = (next.clone(), next.clone());
    let state = file.with_extension("state");
    let options = Options::new().signer(KeyFolder::new(state.join("keys"))).heads(state.join("heads"));
    let options = options.clock(move || clock.lock().unwrap().0.clone());
    let cairn = database::open(options.ids(move || ids.lock().unwrap().1.clone()), file);

    let mut plans = demo.context_history("checkout", None).unwrap();
    // Freezes the plans that were frozen before a position of the log.
    let mut freeze_before = |seq: u64| {
        while plans.last().is_some_and(|plan| plan.seq < seq) {
            let plan = plans.pop().unwrap();
            let content = demo.context(plan.context_id).unwrap().unwrap().snapshot.content;
            std::fs::write(roadmaps.join("checkout.json"), serde_json::to_vec(&content).unwrap()).unwrap();
            next.lock().unwrap().0 = plan.created_at;
            assert!(!cairn.context_ensure("checkout", None).unwrap().is_existing);
        }
    };
    for thought in demo.list(&Filter::default()).unwrap().records {
        freeze_before(thought.seq);
        *next.lock().unwrap() = (thought.timestamp, thought.id.to_string());
        let draft = NewThought::new(thought.kind, thought.content)
            .task(thought.task_id.as_str())
            .session(thought.session_id.as_str())
            .agent(thought.agent_id.as_str());
        cairn
            .record(NewThought {
                parent_id: thought.parent_id.map(|id| id.to_string()),
                action_id: thought.action_id.map(|id| id.to_string()),
                context_id: thought.context_id,
                ..draft
            })
            .unwrap();
    }
    freeze_before(u64::MAX);
    cairn.checkpoint().unwrap();
    cairn.close();
}
