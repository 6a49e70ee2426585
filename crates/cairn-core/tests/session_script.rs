//! Sessions for tests, told in the JSON that is recorded.

use cairn_core::Sha;
use cairn_core::brief::tokens::Counter;
use cairn_core::brief::{self, Brief, Layout, Material, Node, Options, TraceThought};
use cairn_core::session::entity::OpResult;
use cairn_core::session::event::VERSION;
use cairn_core::session::state::Misfit;
use cairn_core::session::{Entity, Event, RecordedEvent, SessionState, Tier};
use cairn_core::time::Timestamp;
use serde_json::{Value, json};

/// A session while it is told. Every third position of the log belongs to somebody else.
#[derive(Default, Clone)]
pub struct Script {
    pub events: Vec<RecordedEvent>,
    pub state: SessionState,
    pub thoughts: Vec<TraceThought>,
    pub bodies: Vec<(Sha, String)>,
}

pub fn recorded(seq: u64, kind: &str, body: &Value) -> RecordedEvent {
    let event = Event::parse(kind, VERSION, &body.to_string()).expect("the test's own event");
    RecordedEvent { seq, at: Timestamp::parse("2026-01-13T10:00:00.000Z").unwrap(), event }
}

/// What folding some events gives.
pub fn fold(events: &[RecordedEvent]) -> SessionState {
    let mut state = SessionState::default();
    for event in events {
        state.apply(event).expect("events that were recorded fit");
    }
    state
}

/// A body as an operation names it.
pub fn body(content: &str) -> Value {
    json!({"sha256": Sha::of(content.as_bytes()), "bytes": content.len()})
}

impl Script {
    pub fn next_seq(&self) -> u64 {
        let event = self.events.last().map_or(0, |event| event.seq);
        let thought = self.thoughts.last().map_or(0, |thought| thought.seq);
        let next = event.max(thought) + 1;
        if next.is_multiple_of(3) { next + 1 } else { next }
    }

    pub fn try_event(&mut self, kind: &str, body: Value) -> Result<Vec<OpResult>, Misfit> {
        let event = recorded(self.next_seq(), kind, &body);
        let mut state = self.state.clone();
        let results = state.apply(&event)?;
        self.state = state;
        self.events.push(event);
        Ok(results)
    }

    pub fn event(&mut self, kind: &str, body: Value) -> Vec<OpResult> {
        self.try_event(kind, body).expect("an event that fits")
    }

    /// A turn up to its end, with nothing done in it.
    pub fn turn(&mut self) -> &mut Script {
        self.begin("go on");
        self.end("done")
    }

    pub fn turns(&mut self, number: u64) -> &mut Script {
        for _ in 0..number {
            self.turn();
        }
        self
    }

    pub fn begin(&mut self, message: &str) -> &mut Script {
        self.event("turn_began", json!({"message": message}));
        self
    }

    pub fn end(&mut self, reply: &str) -> &mut Script {
        self.event("turn_ended", json!({"reply": reply}));
        self
    }

    pub fn note(&mut self, note: Value) -> &mut Script {
        self.event("turn_noted", note);
        self
    }

    pub fn step(&mut self, step: Value) -> &mut Script {
        self.event("step_taken", step);
        self
    }

    pub fn summary(&mut self, kind: &str, from: u64, to: u64, text: &str) -> &mut Script {
        self.event("summary_applied", json!({"kind": kind, "from_turn": from, "to_turn": to, "text": text}));
        self
    }

    pub fn think(&mut self, kind: &str, first_line: &str) -> &mut Script {
        let seq = self.next_seq();
        self.thoughts.push(TraceThought { seq, kind: kind.parse().unwrap(), first_line: first_line.into() });
        self
    }

    /// Applies one operation.
    pub fn op(&mut self, op: Value) -> OpResult {
        self.event("entities_applied", json!({"ops": [op]})).remove(0)
    }

    pub fn read(&mut self, kind: &str, id: &str, label: &str) -> String {
        self.op(json!({"op": "read", "type": kind, "id": id, "label": label})).entity_ref.unwrap()
    }

    /// A draft with a body.
    pub fn generate(&mut self, kind: &str, label: &str) -> String {
        let content = format!("{{\"name\":\"{label}\"}}");
        let body = self.keep(&content);
        self.op(json!({"op": "generate", "type": kind, "label": label, "body": body})).entity_ref.unwrap()
    }

    /// Keeps content for briefs.
    pub fn keep(&mut self, content: &str) -> Value {
        self.bodies.push((Sha::of(content.as_bytes()), content.to_string()));
        body(content)
    }

    pub fn entity(&self, entity_ref: &str) -> &Entity {
        self.state.entities.get(entity_ref).unwrap_or_else(|| panic!("{entity_ref} is known"))
    }

    pub fn tier(&self, entity_ref: &str) -> Option<Tier> {
        self.entity(entity_ref).tier(self.state.turn, self.state.settings.window)
    }

    pub fn try_brief(&self, options: &Options) -> Result<Brief, brief::BudgetTooSmall> {
        let seq = self.next_seq() - 1;
        build(&self.state, &self.thoughts, &self.bodies, seq, options)
    }

    pub fn brief(&self, options: &Options) -> Brief {
        self.try_brief(options).expect("a brief without a budget, or with enough")
    }

    /// The text of the usual brief for a node.
    pub fn text(&self, node: Node) -> String {
        self.brief(&options(node)).text
    }
}

pub fn build(
    state: &SessionState,
    thoughts: &[TraceThought],
    bodies: &[(Sha, String)],
    seq: u64,
    options: &Options,
) -> Result<Brief, brief::BudgetTooSmall> {
    let body = |digest: &Sha| bodies.iter().find(|(known, _)| known == digest).map(|(_, text)| text.as_str());
    brief::build(&Material { session_id: "s", state, seq, thoughts, body: &body }, options)
}

pub fn options(node: Node) -> Options {
    Options { node, budget: None, depth: None, layout: Layout::Seed, counter: Counter::Estimate, task: None }
}
