//! The rules of entities, one test each.

use cairn_core::session::state::Misfit;
use cairn_core::session::{Status, Tier};
use serde_json::{Value, json};

use crate::growth::assert_at_most;
use crate::session_script::{Script, body};

fn started() -> Script {
    let mut script = Script::default();
    script.begin("hello");
    script
}

/// A session whose turn 1 registered `recipe_1` and ended.
fn with_recipe() -> Script {
    let mut script = started();
    script.read("recipe", "a", "Soup");
    script.end("here");
    script
}

#[test]
fn the_window_is_this_turn_and_the_two_before() {
    let mut script = with_recipe();
    script.turn().begin("third");
    assert_eq!(script.tier("recipe_1"), Some(Tier::Active), "exactly 2 turns ago");
    script.begin("fourth");
    assert_eq!(script.tier("recipe_1"), None, "3 turns ago");
}

#[test]
fn the_window_is_a_setting() {
    let mut script = Script::default();
    script.event("opened", json!({"settings": {"window": 0}}));
    script.begin("hello");
    script.read("recipe", "a", "Soup");
    assert_eq!(script.tier("recipe_1"), Some(Tier::Active));
    script.begin("next");
    assert_eq!(script.tier("recipe_1"), None);
}

#[test]
fn a_draft_with_a_body_stays_at_any_age_and_one_without_grows_old() {
    let mut script = started();
    script.generate("recipe", "Stew");
    script.op(json!({"op": "generate", "type": "recipe", "label": "Idea"}));
    assert_eq!(script.tier("gen_recipe_2"), Some(Tier::Active));
    script.turns(9);
    assert_eq!(script.tier("gen_recipe_1"), Some(Tier::Generated));
    assert_eq!(script.tier("gen_recipe_2"), None);
}

#[test]
fn a_retained_entity_stays_and_a_touch_makes_it_active_until_it_is_old_again() {
    let mut script = with_recipe();
    script.begin("keep it");
    script.op(json!({"op": "retain", "ref": "recipe_1", "reason": "for Sunday"}));
    assert_eq!(script.entity("recipe_1").turn_last_ref, 1, "retaining does not touch");
    assert_eq!(script.tier("recipe_1"), Some(Tier::Active));
    script.turns(3);
    assert_eq!(script.tier("recipe_1"), Some(Tier::Retained));
    script.begin("again");
    script.op(json!({"op": "touch", "ref": "recipe_1"}));
    assert_eq!(script.tier("recipe_1"), Some(Tier::Active));
    script.turns(3);
    assert_eq!(script.tier("recipe_1"), Some(Tier::Retained), "the reason lasts");
    assert_eq!(script.entity("recipe_1").retention_reason.as_deref(), Some("for Sunday"));
}

#[test]
fn demoting_takes_the_reason_and_inside_the_window_only_marks() {
    let mut script = with_recipe();
    script.begin("drop it");
    script.op(json!({"op": "retain", "ref": "recipe_1", "reason": "r"}));
    script.op(json!({"op": "demote", "ref": "recipe_1"}));
    let entity = script.entity("recipe_1");
    assert_eq!(
        (entity.retention_reason.as_deref(), entity.demoted, entity.turn_last_ref),
        (None, Some(2), 1)
    );
    assert_eq!(script.tier("recipe_1"), Some(Tier::Active));
    script.op(json!({"op": "touch", "ref": "recipe_1"}));
    assert_eq!(script.entity("recipe_1").demoted, None, "a reference takes the mark away");
    script.op(json!({"op": "demote", "ref": "recipe_1"}));
    script.turns(3);
    assert_eq!(script.tier("recipe_1"), None);
    let turn = &script.state.turns[1];
    assert_eq!(turn.retained[0].value, ("recipe_1".to_string(), "r".to_string()));
    assert_eq!(turn.demoted.len(), 2);
}

#[test]
fn saving_with_a_ref_promotes_that_draft() {
    let mut script = started();
    script.generate("recipe", "Stew");
    script.generate("recipe", "Stew");
    let result = script.op(
        json!({"op": "create", "type": "recipe", "id": "x", "from": "gen_recipe_2", "label": "Hot Stew"}),
    );
    assert!(result.applied && result.promoted);
    let entity = script.entity("gen_recipe_2");
    assert_eq!(
        (entity.saved_id.as_deref(), entity.status, entity.turn_promoted, entity.label.as_str()),
        (Some("x"), Status::Created, Some(1), "Hot Stew")
    );
    assert_eq!(script.tier("gen_recipe_2"), Some(Tier::Active), "it is no draft any more");
    assert_eq!(script.read("recipe", "x", "Hot Stew"), "gen_recipe_2", "one storage id has one ref");
}

#[test]
fn saving_without_a_ref_promotes_the_one_draft_of_that_type_and_label() {
    let mut script = started();
    script.generate("recipe", " Lemon Stew");
    script.generate("plan", "Lemon Stew");
    let result = script.op(json!({"op": "create", "type": "recipe", "id": "x", "label": "lemon STEW "}));
    assert_eq!(result.entity_ref.as_deref(), Some("gen_recipe_1"));
    assert!(result.promoted);
    let result = script.op(json!({"op": "create", "type": "recipe", "id": "y", "label": "Lemon Stew"}));
    assert_eq!(result.entity_ref.as_deref(), Some("recipe_1"), "a saved draft is no candidate");
    let result = script.op(json!({"op": "create", "type": "plan", "id": "z"}));
    assert_eq!((result.entity_ref.as_deref(), result.promoted), (Some("plan_1"), false), "without a label");
}

#[test]
fn two_drafts_with_the_label_are_ambiguous_and_nothing_happens() {
    let mut script = started();
    script.generate("recipe", "Stew");
    script.generate("recipe", "stew");
    let before = script.events.len();
    let ops = json!({"ops": [
        {"op": "read", "type": "recipe", "id": "r"},
        {"op": "create", "type": "recipe", "id": "x", "label": "Stew"},
    ]});
    let Err(Misfit::Ambiguous { index, ambiguous }) = script.try_event("entities_applied", ops) else {
        panic!("ambiguous");
    };
    assert_eq!(index, 1);
    assert_eq!(ambiguous.candidates, ["gen_recipe_1", "gen_recipe_2"]);
    assert_eq!((script.events.len(), script.state.entities.len()), (before, 2));
}

#[test]
fn a_saved_ref_is_never_pointed_at_another_row() {
    let mut script = started();
    script.generate("recipe", "Stew");
    script.generate("recipe", "Pie");
    script.op(json!({"op": "create", "type": "recipe", "id": "x", "from": "gen_recipe_1"}));
    for (op, reason) in [
        (json!({"op": "create", "type": "recipe", "id": "y", "from": "gen_recipe_1"}), "another id"),
        (json!({"op": "create", "type": "recipe", "id": "x", "from": "gen_recipe_2"}), "gen_recipe_1"),
        (json!({"op": "create", "type": "plan", "id": "z", "from": "gen_recipe_2"}), "type `recipe`"),
    ] {
        let result = script.op(op);
        assert!(!result.applied && !result.promoted);
        assert!(result.reason.as_deref().unwrap().contains(reason), "{result:?}");
    }
    assert_eq!(script.entity("gen_recipe_1").saved_id.as_deref(), Some("x"));
    assert_eq!(script.entity("gen_recipe_2").saved_id, None);
    let again = script.op(json!({"op": "create", "type": "recipe", "id": "x", "from": "gen_recipe_1"}));
    assert!(again.applied && !again.promoted, "saving the same again is no promotion");
    script.read("recipe", "r", "Bread");
    let saved = script.op(json!({"op": "create", "type": "recipe", "id": "q", "from": "recipe_1"}));
    assert_eq!(saved.reason.as_deref(), Some("is no draft"));
}

#[test]
fn numbers_are_never_used_again_after_drop_and_clear() {
    let mut script = started();
    script.read("recipe", "a", "A");
    script.generate("recipe", "D");
    script.op(json!({"op": "drop", "ref": "recipe_1"}));
    assert_eq!(script.read("recipe", "b", "B"), "recipe_2");
    script.op(json!({"op": "clear"}));
    assert!(script.state.entities.is_empty());
    assert_eq!(script.read("recipe", "b", "B"), "recipe_3");
    assert_eq!(script.generate("recipe", "D"), "gen_recipe_2");
    assert_eq!(script.read("plan", "a", "P"), "plan_1", "each type counts for itself");
}

#[test]
fn what_was_dropped_is_met_nowhere_and_the_others_stay_in_order() {
    let mut script = started();
    for id in ["a", "b", "c", "d", "e"] {
        script.read("recipe", id, id);
        script.generate("plan", "Week");
    }
    let listed = |script: &Script| -> Vec<String> {
        script.state.entities.iter().map(|entity| entity.entity_ref.clone()).collect()
    };
    // One after the other, past the point at which the list is tidied up.
    for number in [2, 4, 1, 3] {
        for entity_ref in [format!("recipe_{number}"), format!("gen_plan_{number}")] {
            let before = listed(&script);
            assert!(script.op(json!({"op": "drop", "ref": entity_ref})).applied);
            let after: Vec<String> = before.into_iter().filter(|known| *known != entity_ref).collect();
            assert_eq!(listed(&script), after);
            assert_eq!(script.state.entities.len(), after.len());
            assert!(script.state.entities.get(&entity_ref).is_none());
            assert!(!script.op(json!({"op": "touch", "ref": entity_ref})).applied);
            let text = json!({"op": "touch_text", "text": format!("{entity_ref} recipe_5")});
            assert_eq!(script.op(text).linked, ["recipe_5"]);
        }
    }
    assert_eq!(listed(&script), ["recipe_5", "gen_plan_5"]);
    let saved = script.op(json!({"op": "create", "type": "plan", "id": "p", "label": "week"}));
    assert_eq!(saved.entity_ref.as_deref(), Some("gen_plan_5"), "the others are no candidates");
    assert_eq!(script.read("recipe", "a", "A"), "recipe_6", "the id of a dropped one is as good as new");
    assert_eq!(listed(&script), ["recipe_5", "gen_plan_5", "recipe_6"]);
}

/// Moving the rest of the list for each of them takes minutes here.
#[test]
fn a_long_list_of_drops_does_not_cost_its_square() {
    let dropped = |count: usize| {
        let mut script = started();
        let ops = |op: &dyn Fn(usize) -> Value| json!({"ops": (1..=count).map(op).collect::<Vec<_>>()});
        script.event(
            "entities_applied",
            ops(&|number| json!({"op": "read", "type": "row", "id": number.to_string()})),
        );
        let drops = ops(&|number| json!({"op": "drop", "ref": format!("row_{number}")}));
        assert!(script.event("entities_applied", drops).iter().all(|result| result.applied));
        assert!(script.state.entities.is_empty());
    };
    assert_at_most(30, || dropped(2_000), || dropped(20_000));
}

#[test]
fn a_type_that_looks_like_a_draft_has_refs_of_its_own() {
    let mut script = started();
    let draft = script.generate("recipe", "Stew");
    let saved = script.read("gen_recipe", "a", "Odd");
    assert_ne!(draft, saved);
    assert!(script.entity(&draft).is_draft() && !script.entity(&saved).is_draft());
    assert_eq!(script.tier(&saved), Some(Tier::Active));
}

#[test]
fn known_link_targets_are_left_alone_and_first_sight_touches() {
    let mut script = with_recipe();
    script.turn().begin("third");
    let result = script.op(json!({
        "op": "read", "type": "plan", "id": "p", "label": "Week",
        "links": [{"type": "recipe", "id": "a", "label": "Other"}, {"type": "tag", "id": "t", "label": "Hot"}],
        "nested": [{"type": "meal", "id": "m"}, {"type": "recipe", "id": "a"}],
    }));
    assert_eq!(result.linked, ["recipe_1", "tag_1", "meal_1", "recipe_1"]);
    let known = script.entity("recipe_1");
    assert_eq!((known.turn_last_ref, known.label.as_str(), known.status), (1, "Soup", Status::Read));
    assert_eq!(known.events.len(), 1);
    let (tag, meal) = (script.entity("tag_1"), script.entity("meal_1"));
    assert_eq!((tag.turn_last_ref, tag.status, tag.label.as_str()), (3, Status::Linked, "Hot"));
    assert_eq!((meal.turn_last_ref, meal.status, meal.label.as_str()), (3, Status::Read, "meal_1"));
}

#[test]
fn an_update_sets_its_status_and_a_read_without_a_label_keeps_the_label() {
    let mut script = with_recipe();
    script.begin("second");
    let result = script.op(json!({"op": "update", "type": "recipe", "id": "a", "detail": "full"}));
    assert_eq!(result.entity_ref.as_deref(), Some("recipe_1"));
    let entity = script.entity("recipe_1");
    assert_eq!((entity.status, entity.label.as_str(), entity.turn_last_ref), (Status::Updated, "Soup", 2));
    assert_eq!(entity.last_full, Some(2));
    script.op(json!({"op": "read", "type": "recipe", "id": "a", "detail": "summary"}));
    let entity = script.entity("recipe_1");
    assert_eq!((entity.status, entity.label.as_str(), entity.last_full), (Status::Read, "Soup", Some(2)));
    let result = script.op(json!({"op": "read", "type": "recipe", "id": "new"}));
    assert_eq!(result.entity_ref.as_deref(), Some("recipe_2"));
    assert_eq!(script.entity("recipe_2").label, "recipe_2");
}

#[test]
fn the_body_of_a_saved_draft_stays_until_its_row_changes() {
    let mut script = started();
    script.generate("recipe", "Stew");
    script.op(json!({"op": "create", "type": "recipe", "id": "x", "from": "gen_recipe_1"}));
    script.end("saved").turn();
    assert!(script.entity("gen_recipe_1").body.is_some());
    script.op(json!({"op": "update", "type": "recipe", "id": "x"}));
    assert!(script.entity("gen_recipe_1").body.is_none());
}

#[test]
fn the_row_of_a_saved_draft_is_kept_like_any_other_row() {
    let mut script = started();
    script.generate("recipe", "Stew");
    script.op(json!({"op": "create", "type": "recipe", "id": "x", "from": "gen_recipe_1"}));
    script.op(json!({"op": "read", "type": "recipe", "id": "x", "body": body("{\"row\":1}")}));
    script.turn();
    assert!(script.entity("gen_recipe_1").body.is_some());
}

#[test]
fn a_row_that_changed_without_its_content_is_no_longer_known() {
    for op in [
        json!({"op": "update", "type": "recipe", "id": "a"}),
        json!({"op": "user", "type": "recipe", "id": "a", "action": "updated"}),
    ] {
        let mut script = started();
        script.op(json!({"op": "read", "type": "recipe", "id": "a", "body": body("{}")}));
        script.op(json!({"op": "read", "type": "recipe", "id": "a"}));
        assert!(script.entity("recipe_1").body.is_some(), "reading again changes nothing");
        script.op(op);
        assert!(script.entity("recipe_1").body.is_none());
    }
}

#[test]
fn refs_named_in_a_text_are_touched_as_whole_words() {
    let mut script = started();
    for id in ["a", "b", "c"] {
        script.read("recipe", id, id);
    }
    script.read("meal-plan", "m", "Week");
    script.read("plan", "p", "Plan");
    script.generate("recipe", "Stew");
    script.turn().begin("third");
    let text = "Use recipe_1, not recipe_22 or xrecipe_2; (gen_recipe_1) meal-plan_1を。 recipe_3x recipe_9 recipe_1";
    let result = script.op(json!({"op": "touch_text", "text": text}));
    assert_eq!(result.linked, ["recipe_1", "meal-plan_1", "gen_recipe_1"]);
    let touched: Vec<bool> = script.state.entities.iter().map(|entity| entity.turn_last_ref == 3).collect();
    assert_eq!(touched, [true, false, false, true, false, true]);
    assert!(script.op(json!({"op": "touch_text", "text": ""})).applied);
}

#[test]
fn what_the_user_does_has_a_status_of_its_own_and_touches() {
    let mut script = with_recipe();
    script.begin("second");
    for (action, status) in [
        ("created", Status::UserCreated),
        ("updated", Status::UserUpdated),
        ("deleted", Status::UserDeleted),
        ("mentioned", Status::UserMentioned),
    ] {
        let result = script.op(json!({"op": "user", "type": "recipe", "id": "a", "action": action}));
        assert_eq!(result.entity_ref.as_deref(), Some("recipe_1"));
        assert_eq!((script.entity("recipe_1").status, script.entity("recipe_1").turn_last_ref), (status, 2));
    }
    script.op(json!({"op": "user", "type": "recipe", "id": "n", "label": "New", "action": "created"}));
    assert_eq!(script.entity("recipe_2").label, "New");
}

#[test]
fn only_saved_things_can_be_deleted_and_they_stay_listed() {
    let mut script = started();
    script.read("recipe", "a", "Soup");
    script.generate("recipe", "Stew");
    let refused = script.op(json!({"op": "delete", "ref": "gen_recipe_1"}));
    assert!(!refused.applied && refused.reason.unwrap().contains("drop it"));
    assert_eq!(script.entity("gen_recipe_1").events.len(), 1, "what is not applied leaves no trace");
    script.begin("second");
    assert!(script.op(json!({"op": "delete", "ref": "recipe_1"})).applied);
    let entity = script.entity("recipe_1");
    assert_eq!((entity.status, entity.turn_last_ref), (Status::Deleted, 2));
}

#[test]
fn editing_a_draft_and_labelling_do_not_touch() {
    let mut script = started();
    script.generate("recipe", "Stew");
    script.read("tag", "t", "tag");
    script.begin("second");
    assert!(
        script.op(json!({"op": "edit", "ref": "gen_recipe_1", "body": body("{}"), "label": "Pie"})).applied
    );
    assert!(script.op(json!({"op": "label", "ref": "tag_1", "label": "Hot"})).applied);
    let draft = script.entity("gen_recipe_1");
    assert_eq!(
        (draft.turn_last_ref, draft.label.as_str(), draft.body.as_ref().unwrap().bytes),
        (1, "Pie", 2)
    );
    assert_eq!((script.entity("tag_1").turn_last_ref, script.entity("tag_1").label.as_str()), (1, "Hot"));
    let refused = script.op(json!({"op": "edit", "ref": "tag_1", "body": body("{}")}));
    assert!(!refused.applied);
}

#[test]
fn an_unknown_ref_is_not_applied_and_no_error() {
    let mut script = started();
    for op in [
        json!({"op": "touch", "ref": "recipe_1"}),
        json!({"op": "delete", "ref": "recipe_1"}),
        json!({"op": "retain", "ref": "recipe_1", "reason": "r"}),
        json!({"op": "demote", "ref": "recipe_1"}),
        json!({"op": "edit", "ref": "recipe_1", "body": body("{}")}),
        json!({"op": "label", "ref": "recipe_1", "label": "l"}),
        json!({"op": "drop", "ref": "recipe_1"}),
    ] {
        let result = script.op(op);
        assert_eq!((result.applied, result.entity_ref.as_deref()), (false, Some("recipe_1")));
        assert!(result.reason.unwrap().contains("not known"));
    }
    assert!(script.state.turns[0].retained.is_empty() && script.state.turns[0].demoted.is_empty());
}
