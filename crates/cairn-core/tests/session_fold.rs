//! Random sessions: folding never panics, and keeps what the rules promise.

use std::collections::{BTreeMap, BTreeSet};

use cairn_core::session::{RecordedEvent, SessionState, Tier};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::session_script::{body, fold, recorded};

fn kind() -> impl Strategy<Value = String> {
    prop_oneof!["[ab]", Just("gen_a".to_string()), Just("a_1".to_string())]
}

fn id() -> impl Strategy<Value = String> {
    (0..4u8).prop_map(|n| n.to_string())
}

fn label() -> impl Strategy<Value = Option<String>> {
    option::of(prop_oneof!["[xy]", " [XY]", ".{0,3}"])
}

/// Most of them exist at some time.
fn entity_ref() -> impl Strategy<Value = String> {
    prop_oneof![(kind(), 1..4u8).prop_map(|(kind, n)| format!("{kind}_{n}")), "gen_[ab]_[1-3]"]
}

fn content() -> impl Strategy<Value = Option<Value>> {
    option::of((0..3u8).prop_map(|n| body(&format!("{{\"n\":{n}}}"))))
}

fn rows() -> impl Strategy<Value = Value> {
    let row =
        (kind(), id(), label()).prop_map(|(kind, id, label)| json!({"type": kind, "id": id, "label": label}));
    vec(row, 0..3).prop_map(Value::from)
}

pub fn op() -> impl Strategy<Value = Value> {
    let detail = option::of(prop_oneof![Just("full"), Just("summary")]);
    let stored = (any::<bool>(), kind(), id(), label(), detail, content(), rows(), rows()).prop_map(
        |(update, kind, id, label, detail, body, links, nested)| {
            let op = if update { "update" } else { "read" };
            json!({"op": op, "type": kind, "id": id, "label": label, "detail": detail, "body": body,
                   "links": links, "nested": nested})
        },
    );
    let generate = (kind(), label(), content()).prop_map(
        |(kind, label, body)| json!({"op": "generate", "type": kind, "label": label, "body": body}),
    );
    let create = (kind(), id(), label(), option::of(entity_ref())).prop_map(
        |(kind, id, label, from)| json!({"op": "create", "type": kind, "id": id, "label": label, "from": from}),
    );
    let action = prop_oneof![Just("created"), Just("updated"), Just("deleted"), Just("mentioned")];
    let user = (kind(), id(), label(), action).prop_map(
        |(kind, id, label, action)| json!({"op": "user", "type": kind, "id": id, "label": label, "action": action}),
    );
    let named = (prop_oneof![Just("touch"), Just("demote"), Just("delete"), Just("drop")], entity_ref())
        .prop_map(|(op, entity_ref)| json!({"op": op, "ref": entity_ref}));
    let retain =
        (entity_ref(), ".{0,5}").prop_map(|(r, reason)| json!({"op": "retain", "ref": r, "reason": reason}));
    let text = (entity_ref(), ".{0,9}", entity_ref())
        .prop_map(|(a, between, b)| json!({"op": "touch_text", "text": format!("{a} {between}{b}")}));
    let edit = (entity_ref(), label())
        .prop_map(|(r, label)| json!({"op": "edit", "ref": r, "body": body("{}"), "label": label}));
    let relabel = (entity_ref(), ".{0,3}").prop_map(|(r, l)| json!({"op": "label", "ref": r, "label": l}));
    prop_oneof![
        6 => stored, 4 => generate, 4 => create, 2 => user, 4 => named, 2 => retain, 2 => text, 1 => edit,
        1 => relabel, 1 => Just(json!({"op": "clear"})),
    ]
}

fn event() -> impl Strategy<Value = (&'static str, Value)> {
    let text = || ".{0,6}";
    let step = (1..4u64, text(), option::of(text()), vec(entity_ref(), 0..2), 0..3usize).prop_map(
        |(number, outcome, note, refs, status)| {
            let status = ["done", "blocked", "failed"][status];
            json!({"step_num": number, "type": "read", "subdomain": "s", "description": "d", "outcome": outcome,
                   "note": note, "entities_involved": refs, "status": status})
        },
    );
    let pending = option::of((text(), vec(text(), 0..2)))
        .prop_map(|asked| asked.map(|(c, q)| json!({"type": "clarify", "context": c, "questions": q})));
    let note = (option::of(text()), option::of(text()), pending, option::of((0..3u8, 0..9u64))).prop_map(
        |(goal, expressed, pending, stated)| {
            let stated: Vec<Value> = stated
                .into_iter()
                .map(|(key, last)| json!({"key": key.to_string(), "value": last % 3, "expires": last}))
                .collect();
            json!({"goal": goal, "user_expressed": expressed, "engagement": expressed, "pending": pending,
                   "decision": "propose", "phase": "executing", "constraints": stated})
        },
    );
    let summary = (any::<bool>(), 0..6u64, 0..6u64, text()).prop_map(|(history, from, to, text)| {
        let kind = if history { "history" } else { "reasoning" };
        json!({"kind": kind, "from_turn": from, "to_turn": to, "text": text})
    });
    prop_oneof![
        4 => text().prop_map(|message| ("turn_began", json!({"message": message}))),
        8 => vec(op(), 0..5).prop_map(|ops| ("entities_applied", json!({"ops": ops}))),
        3 => step.prop_map(|step| ("step_taken", step)),
        3 => note.prop_map(|note| ("turn_noted", note)),
        3 => (text(), option::of(text()))
            .prop_map(|(full, short)| ("turn_ended", json!({"reply": full, "reply_summary": short}))),
        1 => summary.prop_map(|summary| ("summary_applied", summary)),
        1 => (0..4u64).prop_map(|window| ("opened", json!({"settings": {"window": window}}))),
    ]
}

/// Events of a session that were accepted one after the other: those that do not fit are left out, as a recorder does.
pub fn events(most: usize) -> impl Strategy<Value = Vec<RecordedEvent>> {
    vec(event(), 0..most).prop_map(|told| {
        let mut state = SessionState::default();
        let mut accepted = Vec::new();
        for (index, (kind, body)) in told.into_iter().enumerate() {
            let event = recorded(2 * index as u64 + 1, kind, &body);
            let mut next = state.clone();
            if next.apply(&event).is_ok() {
                state = next;
                accepted.push(event);
            }
        }
        accepted
    })
}

/// All of a state that anybody can see.
fn seen(state: &SessionState) -> String {
    let SessionState { settings, types, turn, open, seq, .. } = state;
    let entities: Vec<_> = state.entities.iter().collect();
    let layers = (&state.turns, &state.engagement, &state.pending, &state.constraints);
    format!(
        "{settings:?}{types:?}{turn}{open}{seq}{entities:?}{layers:?}{:?}{:?}",
        state.history, state.reasoning
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn one_by_one_and_in_pieces_is_the_same(events in events(40), cuts in vec(0..40usize, 0..4)) {
        let whole = seen(&fold(&events));
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(events.len())).collect();
        cuts.extend([0, events.len()]);
        cuts.sort_unstable();
        let mut state = SessionState::default();
        for piece in cuts.windows(2) {
            // A clone that goes on elsewhere must not change what it was cloned from.
            let mut elsewhere = state.clone();
            for event in &events[piece[0]..piece[1]] {
                state.apply(event).unwrap();
            }
            let _ = elsewhere.apply(&recorded(999, "entities_applied", &json!({"ops": [{"op": "clear"}]})));
        }
        prop_assert_eq!(seen(&state), whole);
    }

    #[test]
    fn a_state_knows_nothing_of_what_follows(events in events(40), cut in 0..40usize) {
        let cut = cut.min(events.len());
        let alone = fold(&events[..cut]);
        let mut on = alone.clone();
        for event in &events[cut..] {
            on.apply(event).unwrap();
        }
        prop_assert_eq!(seen(&alone), seen(&fold(&events[..cut])));
    }

    #[test]
    fn refs_are_unique_and_never_used_again(events in events(60)) {
        let mut state = SessionState::default();
        let (mut ever, mut listed) = (BTreeSet::new(), BTreeSet::new());
        for event in &events {
            state.apply(event).unwrap();
            let now: BTreeSet<String> = state.entities.iter().map(|e| e.entity_ref.clone()).collect();
            prop_assert_eq!(now.len(), state.entities.len());
            prop_assert!(now.difference(&listed).all(|new| !ever.contains(new)), "{:?}", now);
            ever.extend(now.iter().cloned());
            listed = now;
        }
    }

    #[test]
    fn one_storage_id_has_one_ref_and_a_ref_one_storage_id(events in events(60)) {
        let mut state = SessionState::default();
        let mut saved: BTreeMap<String, (String, String)> = BTreeMap::new();
        for event in &events {
            state.apply(event).unwrap();
            let mut ids = BTreeSet::new();
            for entity in state.entities.iter() {
                prop_assert!(entity.events.is_sorted() && entity.turn_created <= entity.turn_last_ref);
                let Some(id) = &entity.saved_id else { continue };
                let row = (entity.kind.clone(), id.clone());
                prop_assert!(ids.insert(row.clone()), "{:?} twice", row);
                let before = saved.entry(entity.entity_ref.clone()).or_insert_with(|| row.clone());
                prop_assert_eq!(before, &row);
            }
        }
    }

    #[test]
    fn every_entity_is_in_the_tier_that_the_rules_say(events in events(60)) {
        let state = fold(&events);
        for entity in state.entities.iter() {
            let draft = entity.saved_id.is_none() && entity.body.is_some();
            let in_window = state.turn - entity.turn_last_ref <= state.settings.window;
            let expected = match (draft, in_window, &entity.retention_reason) {
                (true, _, _) => Some(Tier::Generated),
                (false, true, _) => Some(Tier::Active),
                (false, false, Some(_)) => Some(Tier::Retained),
                (false, false, None) => None,
            };
            prop_assert_eq!(entity.tier(state.turn, state.settings.window), expected);
            prop_assert_eq!(entity.is_draft(), entity.saved_id.is_none() || entity.turn_promoted.is_some());
        }
    }
}
