//! Blanked events: nothing that was said is left, and everything that later events build on is.

use cairn_core::Sha;
use cairn_core::session::event::{
    EntitiesApplied, Event, Note, Pending, PendingKind, StatedConstraint, Step, StepKind, StepStatus,
    SummaryApplied, SummaryKind, TurnBegan, TurnEnded,
};
use cairn_core::session::op::{Body, Detail, EntityOp, Row, Stored, UserAction};
use cairn_core::session::{REDACTED, RecordedEvent, SessionState};
use cairn_core::time::Timestamp;
use serde_json::json;

const SECRET: &str = "hunter2";

fn secret() -> String {
    format!("the {SECRET} of it")
}

fn row(kind: &str, id: &str) -> Row {
    Row { kind: kind.into(), id: id.into(), label: Some(secret()) }
}

fn body() -> Body {
    Body { sha256: Sha::of(b"body"), bytes: 4 }
}

/// An event of each kind that has a text, with a secret in every one.
fn events() -> Vec<Event> {
    let stored = |op: fn(Stored) -> EntityOp, id| {
        op(Stored {
            row: row("file", id),
            detail: Some(Detail::Full),
            body: Some(body()),
            links: vec![row("firm", "f1")],
            nested: vec![row("part", "x")],
        })
    };
    let of = |entity_ref: &str| entity_ref.to_string();
    let label = || Some(secret());
    let ops = vec![
        stored(EntityOp::Read, "a"),
        EntityOp::Generate { kind: of("memo"), label: label(), body: Some(body()) },
        EntityOp::Generate { kind: of("memo"), label: Some(format!("{SECRET} 2")), body: None },
        EntityOp::Create { kind: of("memo"), id: of("m1"), label: label(), from: None },
        EntityOp::Create { kind: of("memo"), id: of("m2"), label: Some(format!("{SECRET} 2")), from: None },
        EntityOp::Create { kind: of("memo"), id: of("m3"), label: None, from: Some(secret()) },
        stored(EntityOp::Update, "b"),
        EntityOp::User { kind: of("file"), id: of("c"), label: label(), action: UserAction::Mentioned },
        EntityOp::TouchText { text: format!("{SECRET} file_1, gen_memo_1 {SECRET}_1") },
        EntityOp::Retain { entity_ref: of("file_1"), reason: secret() },
        EntityOp::Label { entity_ref: of("file_2"), label: secret() },
        EntityOp::Touch { entity_ref: secret() },
        EntityOp::Demote { entity_ref: of("file_1") },
        EntityOp::Edit { entity_ref: secret(), body: body(), label: label() },
    ];
    vec![
        Event::TurnBegan(TurnBegan { message: secret() }),
        Event::EntitiesApplied(EntitiesApplied { ops }),
        Event::StepTaken(Step {
            step_num: 1,
            kind: StepKind::Write,
            subdomain: secret(),
            description: secret(),
            outcome: secret(),
            entities_involved: vec![of("file_1"), secret()],
            note: label(),
            status: StepStatus::Failed,
        }),
        Event::TurnNoted(Note {
            goal: label(),
            user_expressed: label(),
            engagement: label(),
            constraints: vec![
                StatedConstraint { key: of("diet"), value: json!([secret()]), expires: Some(3) },
                StatedConstraint { key: of("size"), value: json!(null), expires: None },
            ],
            pending: Some(Some(Pending {
                kind: PendingKind::Clarify,
                context: secret(),
                questions: vec![secret()],
            })),
            routing: json!({"to": {"deep": secret()}}).as_object().cloned(),
            ..Note::default()
        }),
        Event::TurnEnded(TurnEnded { reply: secret(), reply_summary: label(), blocked_reason: label() }),
        Event::SummaryApplied(SummaryApplied {
            of: SummaryKind::History,
            from_turn: 1,
            to_turn: 1,
            text: secret(),
        }),
    ]
}

fn recorded(seq: usize, event: Event) -> RecordedEvent {
    let at = Timestamp::parse("2026-04-17T00:00:00Z").unwrap();
    RecordedEvent { seq: seq as u64 + 1, at, event }
}

/// The parts of a state that later events build on.
fn structure(state: &SessionState) -> Vec<String> {
    let of = |entity: &cairn_core::session::Entity| {
        let entity_ref = &entity.entity_ref;
        format!(
            "{entity_ref} {:?} {:?} {:?} {}",
            entity.status, entity.saved_id, entity.body, entity.turn_last_ref
        )
    };
    let constraints = state.constraints.iter().map(|constraint| constraint.key.clone());
    let turn = format!("{} {} {} {}", state.turn, state.open, state.seq, state.length);
    state.entities.iter().map(of).chain(constraints).chain([turn]).collect()
}

#[test]
fn nothing_that_was_said_is_left_and_the_session_folds_as_before() {
    let (mut whole, mut blank) = (SessionState::default(), SessionState::default());
    for (seq, event) in events().into_iter().enumerate() {
        let before = whole.clone();
        let results = whole.apply(&recorded(seq, event.clone())).unwrap();
        let stays = event.blanked(&results, &|text| before.entities.get(text).is_some());
        let text = stays.body().to_string();
        assert!(event.body().to_string().contains(SECRET) && !text.contains(SECRET), "{text}");
        assert!(text.contains(REDACTED), "{text}");
        assert_eq!(stays.bodies(), event.bodies());
        assert_eq!(Event::parse(stays.kind(), 1, &text).unwrap(), stays, "it can be read back");
        blank.apply(&recorded(seq, stays.clone())).unwrap();
        assert_eq!(structure(&blank), structure(&whole), "{text}");
        let again = stays.blanked(&results, &|text| before.entities.get(text).is_some());
        assert_eq!(again, stays, "what is blank stays as it is");
    }
}
