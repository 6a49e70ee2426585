//! A pipeline of four nodes that keeps its working memory in Cairn: `cargo run -p cairn --example pipeline [FILE]`.
//!
//! No model takes part. Where one would be asked, each node gets its brief and looks for a word in the message; what
//! matters here is who records what, and who is told what. `examples/pipeline/pipeline.py` does the same over MCP.

use std::error::Error;

use cairn::{BriefRequest, Cairn, NewSession, NewThought, Scope, ThoughtType};
use serde_json::{Value, json};

const SESSION: &str = "dinner";

/// What the toy domain has in storage: id, name, minutes, whether it is vegetarian.
const RECIPES: [(&str, &str, u64, bool); 4] = [
    ("r1", "Lentil soup", 35, true),
    ("r2", "Shakshuka", 25, true),
    ("r3", "Roast chicken", 80, false),
    ("r4", "Mushroom risotto", 40, true),
];

const MESSAGES: [&str; 3] = [
    "Something vegetarian for tonight, please",
    "A milder soup would be nice. Keep the shakshuka for Sunday",
    "Good, save it",
];

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let path = std::env::args_os().nth(1).map_or_else(|| folder.path().join("cairn.db"), Into::into);
    let cairn = Cairn::open(path)?;
    cairn.session_open(NewSession {
        session_id: Some(SESSION.to_string()),
        types: Some(vec!["recipe".to_string()]),
        window: None,
    })?;
    let mut pipeline = Pipeline { cairn, briefs: Vec::new(), decision: None };
    for message in MESSAGES {
        pipeline.turn(message)?;
    }
    for (node, text) in &pipeline.briefs {
        println!("=== {node}\n{text}");
    }
    pipeline.verify()
}

struct Pipeline {
    cairn: Cairn,
    /// What each node was told in the newest turn.
    briefs: Vec<(&'static str, String)>,
    /// The newest decision, and the brief it was based on.
    decision: Option<(String, String)>,
}

/// What the user wants.
#[derive(Clone, Copy, PartialEq)]
enum Intent {
    Find,
    Draft,
    Save,
}

impl Pipeline {
    fn turn(&mut self, message: &str) -> Result<(), Box<dyn Error>> {
        self.briefs.clear();
        self.cairn.turn_begin(SESSION, message, None)?;
        let intent = self.understand(message)?;
        let goal = self.think(intent)?;
        let outcome = self.act(intent, goal)?;
        self.reply(intent, &outcome)
    }

    /// Decides what the user means, and what must be kept in mind.
    fn understand(&mut self, message: &str) -> Result<Intent, Box<dyn Error>> {
        self.brief("understand", false)?;
        if message.contains("vegetarian") {
            self.note(json!({"constraints": [{"key": "diet", "value": "vegetarian"}]}))?;
        }
        if message.contains("Keep the shakshuka") {
            self.apply(json!([{"op": "retain", "ref": "recipe_2", "reason": "for Sunday"}]))?;
        }
        Ok(match message {
            message if message.contains("save") => Intent::Save,
            message if message.contains("milder") => Intent::Draft,
            _ => Intent::Find,
        })
    }

    /// Plans, and records the plan as a decision that names the brief it was based on.
    fn think(&mut self, intent: Intent) -> Result<&'static str, Box<dyn Error>> {
        let brief_id = self.brief("think", true)?.ok_or("a stored brief has an id")?;
        let (goal, phase) = match intent {
            Intent::Find => ("Find vegetarian recipes", "exploring"),
            Intent::Draft => ("Draft a milder lentil soup", "narrowing"),
            Intent::Save => ("Save the draft that the user approved", "executing"),
        };
        self.note(json!({"decision": "plan_direct", "goal": goal, "phase": phase}))?;
        let decision = NewThought::new(ThoughtType::Decision, goal).session(SESSION).agent("pipeline");
        let decision = self.cairn.record(NewThought { brief_id: Some(brief_id.clone()), ..decision })?;
        self.decision = Some((decision.id.to_string(), brief_id));
        Ok(goal)
    }

    /// Does it, and records what it touched and what came of it.
    fn act(&mut self, intent: Intent, goal: &str) -> Result<String, Box<dyn Error>> {
        self.brief("act", false)?;
        let (kind, ops, refs, outcome) = match intent {
            Intent::Find => {
                let found: Vec<_> = RECIPES.iter().filter(|recipe| recipe.3).collect();
                let read = |(id, name, minutes, _): &(&str, &str, u64, bool)| {
                    let body = json!({"name": name, "minutes": minutes});
                    json!({"op": "read", "type": "recipe", "id": id, "label": name, "detail": "full", "body": body})
                };
                let names: Vec<&str> = found.iter().map(|recipe| recipe.1).collect();
                let ops: Vec<Value> = found.iter().map(|recipe| read(recipe)).collect();
                (
                    "read",
                    json!(ops),
                    json!(["recipe_1", "recipe_2", "recipe_3"]),
                    format!("found {}", names.join(", ")),
                )
            }
            Intent::Draft => {
                let body = json!({"name": "Mild lentil soup", "minutes": 35, "without": ["chili"]});
                let ops = json!([{"op": "touch", "ref": "recipe_1"}, {"op": "generate", "type": "recipe", "body": body}]);
                ("generate", ops, json!(["recipe_1", "gen_recipe_1"]), "drafted Mild lentil soup".to_string())
            }
            Intent::Save => {
                let ops = json!([{"op": "create", "type": "recipe", "id": "r5", "from": "gen_recipe_1"}]);
                ("write", ops, json!(["gen_recipe_1"]), "saved Mild lentil soup as r5".to_string())
            }
        };
        self.apply(ops)?;
        self.cairn.turn_step(
            SESSION,
            json!({"step_num": 1, "type": kind, "subdomain": "recipes", "description": goal, "outcome": outcome,
                   "entities_involved": refs}),
        )?;
        Ok(outcome)
    }

    /// Answers.
    fn reply(&mut self, intent: Intent, outcome: &str) -> Result<(), Box<dyn Error>> {
        if intent == Intent::Draft {
            self.note(json!({"pending": {"type": "propose", "context": "Save the mild lentil soup?"}}))?;
        }
        self.brief("reply", false)?;
        let reply = format!("I {outcome}.");
        self.cairn.turn_end(SESSION, &reply, None, None)?;
        Ok(())
    }

    /// Builds the brief for a node: what a model would be sent. Returns its id if it is to be stored.
    fn brief(&mut self, node: &'static str, store: bool) -> Result<Option<String>, Box<dyn Error>> {
        let request = BriefRequest {
            session_id: SESSION.to_string(),
            node: node.to_string(),
            ..BriefRequest::default()
        };
        let built = self.cairn.brief_build(&request, store)?;
        self.briefs.push((node, built.brief.text));
        Ok(built.brief_id.map(|id| id.to_string()))
    }

    fn note(&self, note: Value) -> Result<(), Box<dyn Error>> {
        self.cairn.turn_note(SESSION, note.as_object().cloned().unwrap_or_default())?;
        Ok(())
    }

    fn apply(&self, ops: Value) -> Result<(), Box<dyn Error>> {
        self.cairn.entity_apply(SESSION, ops.as_array().cloned().unwrap_or_default(), None, None)?;
        Ok(())
    }

    /// Shows that the newest decision rests on a brief that anyone can build again.
    fn verify(self) -> Result<(), Box<dyn Error>> {
        let (decision, brief) = self.decision.ok_or("every turn records a decision")?;
        let stored = self.cairn.get(&decision)?.and_then(|thought| thought.brief_id);
        assert_eq!(stored.map(|id| id.to_string()), Some(brief.clone()));
        let verdict = self.cairn.brief_verify(&brief)?;
        let report = self.cairn.verify(&Scope::All)?;
        println!("=== verify");
        println!("the brief behind the newest decision: {}", verdict.message);
        println!(
            "everything: {}",
            if report.valid() { "nothing was changed" } else { "something was changed" }
        );
        if verdict.valid == Some(true) && report.valid() {
            Ok(())
        } else {
            Err("not what was recorded".into())
        }
    }
}
