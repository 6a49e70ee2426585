//! A second story, for the viewer: a pipeline that plans meals, with what each of its stages knew.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cairn::{BriefRequest, Cairn, NewSession, NewThought, Options, Result, ThoughtType, Timestamp};
use serde_json::{Value, json};

const SESSION: &str = "weekly-menu";
const AGENT: &str = "menu-agent";

/// Options under which it is the afternoon of the first story, and each record comes 20 seconds after the last.
pub(super) fn options() -> Options {
    let records = Arc::new(AtomicU64::new(0));
    Options::new().clock(move || {
        let seconds = 20 * records.fetch_add(1, Ordering::Relaxed);
        let (minutes, seconds) = (seconds / 60, seconds % 60);
        Timestamp::parse(format!("2026-04-17T{:02}:{:02}:{seconds:02}.000Z", 14 + minutes / 60, minutes % 60))
            .expect("a time of that day")
    })
}

/// Records it.
pub(super) fn record(cairn: &Cairn) -> Result<()> {
    let types = ["recipe", "item", "plan"].map(String::from).to_vec();
    cairn.session_open(NewSession { session_id: Some(SESSION.into()), types: Some(types), window: None })?;
    let note = |note: Value| cairn.turn_note(SESSION, note.as_object().cloned().unwrap_or_default());
    let apply = |operations: &[Value]| cairn.entity_apply(SESSION, operations.to_vec(), None, None);
    let step = |step: Value| cairn.turn_step(SESSION, step);

    cairn.turn_begin(SESSION, "What can I cook with the salmon, and something without meat?", None)?;
    note(json!({
        "decision": "plan_direct", "goal": "Find two dinners, one with salmon and one without meat",
        "phase": "exploring", "constraints": [{ "key": "allergy", "value": "no nuts" }],
    }))?;
    apply(&[
        json!({ "op": "read", "type": "item", "id": "inv-7", "label": "salmon, 400 g, use by Sunday" }),
        json!({ "op": "read", "type": "recipe", "id": "r-31", "label": "Salmon with dill potatoes", "detail": "full" }),
        json!({ "op": "read", "type": "recipe", "id": "r-12", "label": "Satay noodles", "detail": "summary" }),
        json!({ "op": "read", "type": "recipe", "id": "r-08", "label": "Lentil dal", "detail": "full" }),
    ])?;
    step(json!({
        "step_num": 1, "type": "read", "subdomain": "recipes", "description": "Search recipes with salmon, and without meat",
        "outcome": "3 recipes", "entities_involved": ["recipe_1", "recipe_2", "recipe_3"],
    }))?;
    step(json!({
        "step_num": 2, "type": "analyze", "description": "Check them against the allergy",
        "outcome": "Satay noodles have peanuts: left out", "note": "offer recipe_1 and recipe_3",
    }))?;
    cairn.turn_end(
        SESSION,
        "Salmon with dill potatoes, or a lentil dal. The satay has nuts, so I left it out.",
        Some("Offered salmon and dal".into()),
        None,
    )?;

    cairn.turn_begin(SESSION, "Both. Plan them for Friday and Saturday.", None)?;
    let request = BriefRequest {
        session_id: SESSION.into(),
        node: "think".into(),
        turn: None,
        budget: None,
        depth: None,
        layout: None,
        counter: None,
        task: Some("Decide how to plan both dinners".into()),
    };
    let brief = cairn.brief_build(&request, true)?;
    let thought = |kind, text: &str| NewThought::new(kind, text).session(SESSION).agent(AGENT);
    let weighed = cairn.record(NewThought {
        brief_id: brief.brief_id.as_ref().map(ToString::to_string),
        ..thought(ThoughtType::Analysis, "Salmon must be used by Sunday, dal keeps: salmon first")
    })?;
    cairn.record(NewThought {
        brief_id: brief.brief_id.map(|id| id.to_string()),
        action_id: Some("save-plan-1".into()),
        ..thought(ThoughtType::Decision, "Salmon on Friday, dal on Saturday").parent(&weighed.id)
    })?;
    note(json!({
        "decision": "plan_direct", "goal": "Save a plan for two evenings", "phase": "executing",
        "user_expressed": "wants both dinners",
    }))?;
    apply(&[
        json!({ "op": "generate", "type": "plan", "label": "Dinners", "body": { "friday": "recipe_1", "saturday": "recipe_3" } }),
        json!({ "op": "create", "type": "plan", "id": "p-1", "from": "gen_plan_1" }),
        json!({ "op": "retain", "ref": "recipe_1", "reason": "planned for Friday" }),
    ])?;
    step(json!({
        "step_num": 1, "type": "write", "subdomain": "plans", "description": "Save the plan", "outcome": "Saved as p-1",
        "entities_involved": ["gen_plan_1", "recipe_1", "recipe_3"],
    }))?;
    cairn.turn_end(
        SESSION,
        "Done: salmon on Friday, dal on Saturday.",
        Some("Saved the plan".into()),
        None,
    )?;

    cairn.turn_begin(SESSION, "Add what is missing to the shopping list.", None)?;
    note(json!({
        "decision": "clarify", "goal": "Know which list to use", "phase": "narrowing",
        "pending": { "type": "clarify", "context": "There are two shopping lists", "questions": ["The weekly one or the market one?"] },
    }))?;
    step(json!({
        "step_num": 1, "type": "read", "subdomain": "lists", "description": "Find the shopping list",
        "outcome": "Two lists", "status": "blocked",
    }))?;
    cairn.turn_end(
        SESSION,
        "Which list: the weekly one or the market one?",
        Some("Asked which list".into()),
        None,
    )?;
    Ok(())
}
