//! `cairn session`, `cairn brief` and `cairn why`.

use cairn::{BriefRequest, Cairn, NewSession, NewThought, ThoughtType};
use serde_json::{Value, json};

use super::harness::{Place, id, open};
use super::plans::{first_plan, second_plan, write_plan};
use crate::it::database;

/// A dinner in three turns, with two stored briefs and a decision that rests on the second and on a plan that has
/// changed since; and a session without a memory.
struct Dinner {
    place: Place,
    briefs: [String; 2],
}

/// The decision about the draft.
const DECISION: u64 = 2;

fn request(node: &str) -> BriefRequest {
    BriefRequest { session_id: "dinner".into(), node: node.into(), ..BriefRequest::default() }
}

fn begin(cairn: &Cairn, message: &str) {
    cairn.turn_begin("dinner", message, None).unwrap();
}

fn apply(cairn: &Cairn, ops: Value) {
    cairn.entity_apply("dinner", ops.as_array().cloned().unwrap(), None, None).unwrap();
}

fn note(cairn: &Cairn, note: Value) {
    cairn.turn_note("dinner", note.as_object().cloned().unwrap()).unwrap();
}

fn dinner() -> Dinner {
    let place = Place::new();
    let (cairn, at) = open(&place.path("cairn.db"));
    write_plan(&place, "import", &first_plan());
    cairn.context_create("import", None).unwrap();
    cairn.record(NewThought::new(ThoughtType::Plan, "elsewhere").session("other").agent("bob")).unwrap();
    at(1);
    let session = NewSession { session_id: Some("dinner".into()), types: None, window: Some(1) };
    cairn.session_open(session).unwrap();
    begin(&cairn, "Something vegetarian\nfor tonight");
    let soup =
        json!({"op": "read", "type": "recipe", "id": "r1", "label": "Lentil soup", "body": {"minutes": 35}});
    apply(&cairn, json!([soup, {"op": "read", "type": "recipe", "id": "r2"}]));
    apply(&cairn, json!([{"op": "retain", "ref": "recipe_2", "reason": "for Sunday"}]));
    note(
        &cairn,
        json!({"constraints": [{"key": "diet", "value": "vegetarian"}], "goal": "Find recipes",
                        "decision": "plan_direct", "phase": "exploring"}),
    );
    let step = json!({"step_num": 1, "type": "read", "description": "Read recipes", "outcome": "2 found",
                      "status": "failed", "note": "one has no name"});
    cairn.turn_step("dinner", step).unwrap();
    cairn.turn_end("dinner", "Soup, or something else?", Some("offered soup".into()), None).unwrap();
    at(2);
    begin(&cairn, "Milder");
    let first = cairn.brief_build(&request("think"), true).unwrap().brief_id.unwrap().to_string();
    apply(
        &cairn,
        json!([{"op": "generate", "type": "recipe", "label": "Mild soup", "body": {"minutes": 35}}]),
    );
    note(
        &cairn,
        json!({"pending": {"type": "propose", "context": "Save it?", "questions": ["Under which name?"]}}),
    );
    let second = cairn.brief_build(&request("think"), true).unwrap().brief_id.unwrap().to_string();
    let decision =
        NewThought::new(ThoughtType::Decision, "Save the draft (keys)").session("dinner").agent("ada");
    let decision = NewThought { brief_id: Some(second.clone()), context_id: Some(1), ..decision };
    cairn.record(decision.action("save-1")).unwrap();
    cairn.turn_end("dinner", "Like this?", None, Some("waiting".into())).unwrap();
    at(3);
    begin(&cairn, "And dessert?");
    write_plan(&place, "import", &second_plan());
    cairn.context_create("import", None).unwrap();
    cairn.close();
    Dinner { place, briefs: [first, second] }
}

impl Dinner {
    fn fine(&self, args: &[&str]) -> String {
        self.place.on_story(args).fine()
    }

    fn json(&self, args: &[&str]) -> Value {
        self.place.on_story(&[&["--json"], args].concat()).json()
    }

    /// What is said of a refusal, to people and to programs.
    fn refusal(&self, args: &[&str], code: &str) -> String {
        let run = self.place.on_story(args);
        assert_eq!((run.code, run.out.as_str()), (1, ""), "{args:?}: {}", run.err);
        assert_eq!(self.json(args)["error"]["code"], code, "{args:?}");
        run.err
    }
}

#[test]
fn sessions_are_listed_newest_first_with_and_without_a_memory() {
    let dinner = dinner();
    let expected = "\
session  turn  thoughts  events  newest (UTC)
dinner   3     1         12      2026-04-17 12:03
other    –     1         0       2026-04-17 12:00
";
    assert_eq!(dinner.fine(&["session", "list"]), expected);
    let run = dinner.place.on_story(&["session", "list", "-n", "1"]);
    assert_eq!((run.out.lines().count(), run.err.as_str()), (2, "The newest 1; `--limit N` shows more\n"));
    let data = dinner.json(&["session", "list"]);
    assert_eq!(data["count"], 2);
    assert_eq!(data["sessions"][0]["session_id"], "dinner");
    assert_eq!(data["sessions"][0]["events"], 12);
    assert_eq!(dinner.place.on_story(&["session", "list", "-n", "0"]).code, 2);
}

#[test]
fn no_sessions_are_a_remark() {
    let place = Place::new();
    open(&place.path("cairn.db")).0.close();
    let run = place.on_story(&["session", "list"]);
    assert_eq!((run.code, run.out.as_str(), run.err.as_str()), (0, "", "No sessions yet.\n"));
    assert_eq!(place.on_story(&["--json", "session", "list"]).json(), json!({"count": 0, "sessions": []}));
}

#[test]
fn a_session_is_one_page() {
    let expected = "\
session dinner
  turn     3, open
  window   1 turn
  log      newest event is entry 17

entities
  generated (drafts that are not saved)
    gen_recipe_1  generated  Mild soup  turn 2
  retained (older, kept for a reason)
    recipe_2  read  (no label)  turn 1, kept: for Sunday
  1 more is in no brief any more; `--part entities` shows everything

conversation
  turn 1  2026-04-17 12:01
    user      Something vegetarian …
    assistant offered soup
  turn 2  2026-04-17 12:02
    user      Milder
    assistant Like this?
  turn 3  2026-04-17 12:03
    user      And dessert?
    not answered yet
  the user stated
    - diet = vegetarian  (since turn 1)
  waiting for the user (propose): Save it?
    - Under which name?

what was done
  turn 1  plan_direct  exploring
    goal: Find recipes
    1. read failed: Read recipes
       → 2 found
       note: one has no name
    kept: recipe_2
  turn 2
    blocked: waiting
";
    assert_eq!(dinner().fine(&["session", "show", "dinner"]), expected);
}

#[test]
fn a_session_can_be_seen_as_it_was_and_in_parts() {
    let dinner = dinner();
    let then = dinner.fine(&["session", "show", "dinner", "--turn", "1", "--part", "entities"]);
    assert!(then.contains("  turn     1, ended\n"), "{then}");
    let active = "  active (referenced lately)
    recipe_1  read  Lentil soup  turn 1, id r1
    recipe_2  read  (no label)   turn 1, id r2, kept: for Sunday
";
    assert!(then.ends_with(active), "{then}");
    let all = dinner.fine(&["session", "show", "dinner", "--part", "entities"]);
    assert!(all.contains("forgotten (in no brief any more)\n    recipe_1  read  Lentil soup"), "{all}");
    let said = dinner.fine(&["session", "show", "dinner", "--part", "conversation"]);
    assert!(said.contains("user      Something vegetarian\n              for tonight\n"), "{said}");
    assert!(said.contains("assistant Soup, or something else?\n    in short  offered soup\n"), "{said}");
    assert!(!said.contains("entities") && !said.contains("what was done"), "{said}");
    let before = dinner.fine(&["session", "show", "dinner", "--turn", "0"]);
    assert!(before.contains("turn     none has begun") && before.contains("none yet"), "{before}");
}

#[test]
fn a_session_as_json_is_its_state() {
    let dinner = dinner();
    let state = dinner.json(&["session", "show", "dinner"]);
    assert_eq!((&state["turn"], &state["open"]), (&json!(3), &json!(true)));
    assert_eq!(state["entities"]["tiers"]["retained"], json!(["recipe_2"]));
    let part = dinner.json(&["session", "show", "dinner", "--part", "conversation", "--turn", "2"]);
    assert_eq!((&part["turn"], &part["pending"]["type"]), (&json!(2), &json!("propose")));
    assert_eq!(part["recent_turns"].as_array().unwrap().len(), 2);
}

#[test]
fn what_happened_is_told_in_words() {
    let dinner = dinner();
    let expected = "\
seq  turn  time (UTC)        what happened
3    0     2026-04-17 12:01  session opened
4    1     2026-04-17 12:01  turn began; user: Something vegetarian
5    1     2026-04-17 12:01  2 operations: read recipe r1 “Lentil soup”; read recipe r2
6    1     2026-04-17 12:01  kept recipe_2: for Sunday
7    1     2026-04-17 12:01  noted decision plan_direct; goal: Find recipes; phase exploring; diet…
8    1     2026-04-17 12:01  step 1, read (failed): Read recipes → 2 found
9    1     2026-04-17 12:01  turn ended; assistant: offered soup
10   2     2026-04-17 12:02  turn began; user: Milder
12   2     2026-04-17 12:02  drafted recipe “Mild soup”
13   2     2026-04-17 12:02  noted waiting for the user (propose): Save it?
16   2     2026-04-17 12:02  turn ended (blocked: waiting); assistant: Like this?
17   3     2026-04-17 12:03  turn began; user: And dessert?
";
    assert_eq!(dinner.fine(&["session", "events", "dinner"]), expected);
    let page = dinner.place.on_story(&["session", "events", "dinner", "--after", "5", "--limit", "2"]);
    assert_eq!((page.out.lines().count(), page.err.as_str()), (3, "There is more: add `--after 7`\n"));
    let data = dinner.json(&["session", "events", "dinner", "--after", "16"]);
    assert_eq!((&data["count"], &data["next_after"]), (&json!(1), &Value::Null));
    assert_eq!(data["events"][0]["body"], json!({"message": "And dessert?"}));
    assert_eq!(dinner.json(&["session", "events", "dinner", "-n", "1"])["next_after"], 3);
    // Entry 14 is a brief, and entry 1 of another session.
    for (after, first) in [("1", 3), ("14", 16)] {
        assert_eq!(
            dinner.json(&["session", "events", "dinner", "--after", after])["events"][0]["seq"],
            first
        );
    }
    let last = i64::MAX.to_string();
    assert_eq!(dinner.json(&["session", "events", "dinner", "--after", &last])["count"], 0);
    let none = dinner.place.on_story(&["session", "events", "dinner", "--after", "99"]);
    assert_eq!(
        (none.code, none.out.as_str(), none.err.as_str()),
        (0, "", "Nothing happened after entry 99.\n")
    );
}

#[test]
fn every_operation_has_its_words() {
    let place = Place::new();
    let (cairn, _) = open(&place.path("cairn.db"));
    cairn.session_open(NewSession { session_id: Some("dinner".into()), ..NewSession::default() }).unwrap();
    let link = json!([{"type": "user", "id": "u1"}]);
    for ops in [
        json!([{"op": "update", "type": "recipe", "id": "r1", "links": link}]),
        json!([{"op": "generate", "type": "recipe"}]),
        json!([{"op": "edit", "ref": "gen_recipe_1", "body": {}, "label": "B"}]),
        json!([{"op": "create", "type": "recipe", "id": "r2", "from": "gen_recipe_1"}]),
        json!([{"op": "user", "type": "recipe", "id": "r3", "action": "mentioned"}]),
        json!([{"op": "touch", "ref": "recipe_1"}]),
        json!([{"op": "touch_text", "text": "see recipe_1"}]),
        json!([{"op": "demote", "ref": "recipe_1"}]),
        json!([{"op": "label", "ref": "user_1", "label": "Ada"}]),
        json!([{"op": "delete", "ref": "recipe_1"}]),
        json!([{"op": "drop", "ref": "recipe_1"}]),
        json!([{"op": "clear"}]),
    ] {
        apply(&cairn, ops);
    }
    cairn.turn_begin("dinner", "hi", None).unwrap();
    note(&cairn, json!({"pending": null, "constraints": [{"key": "diet"}], "routing": {"to": "x"}}));
    cairn.turn_end("dinner", "ho", None, None).unwrap();
    cairn
        .summary_apply("dinner", cairn::core::session::event::SummaryKind::History, 1, 1, "greetings")
        .unwrap();
    cairn.close();
    let told = place.on_story(&["session", "events", "dinner", "--after", "1"]).fine();
    let told: Vec<&str> = told.lines().skip(1).map(|line| line.rsplit("  ").next().unwrap()).collect();
    let expected = [
        "updated recipe r1 with 1 other",
        "drafted recipe",
        "edited draft gen_recipe_1 “B”",
        "saved recipe r2 from gen_recipe_1",
        "the user mentioned recipe r3",
        "referenced recipe_1",
        "referenced what is named in “see recipe_1”",
        "let recipe_1 go",
        "labelled user_1 “Ada”",
        "deleted recipe_1",
        "forgot recipe_1",
        "forgot everything",
        "turn began; user: hi",
        "noted diet no longer holds; no longer waiting for the user; routing",
        "turn ended; assistant: ho",
        "summary of what was said in turn 1: greetings",
    ];
    assert_eq!(told, expected);
    let page = place.on_story(&["session", "show", "dinner"]).fine();
    assert!(page.contains("turn 1 in short: greetings\n"), "{page}");
}

#[test]
fn a_brief_is_its_text_and_the_rest_is_a_remark() {
    let dinner = dinner();
    let run = dinner.place.on_story(&["brief", "build", "dinner", "think"]);
    assert_eq!(run.code, 0);
    let data = dinner.json(&["brief", "build", "dinner", "think"]);
    assert_eq!(run.out, data["text"].as_str().unwrap());
    assert!(run.out.starts_with("## Entity Context\n") && run.out.contains("User (turn 3): And dessert?"));
    let tokens = data["report"]["tokens"].as_u64().unwrap();
    assert!(run.err.starts_with(&format!("think, turn 3: {tokens} tokens (est-1), ")), "{}", run.err);
    assert!(data.get("brief_id").is_none());
    let task = dinner.json(&["brief", "build", "dinner", "act", "--turn", "1", "--task", "Cook"]);
    assert_eq!((&task["turn"], &task["node"]), (&json!(1), &json!("act")));
    assert!(task["text"].as_str().unwrap().ends_with("Cook\n"), "{task}");
    let options = ["--layout", "cache", "--depth", "2", "--counter", "0.5"];
    let other = dinner.json(&[&["brief", "build", "dinner", "reply"], &options[..]].concat());
    assert_eq!(other["layout"], "cache");
    assert_ne!(other["counter"], "est-1");
}

#[test]
fn a_budget_is_kept_and_what_it_left_out_is_said() {
    let dinner = dinner();
    let whole = dinner.json(&["brief", "build", "dinner", "think"])["report"]["tokens"].as_u64().unwrap();
    let budget = (whole - 20).to_string();
    let run = dinner.place.on_story(&["brief", "build", "dinner", "think", "--budget", &budget]);
    assert_eq!(run.code, 0, "{}", run.err);
    assert!(run.err.contains(" left out for the budget ("), "{}", run.err);
    assert!(run.out.contains(" not shown: budget)\n"), "{}", run.out);
    let error = dinner.refusal(&["brief", "build", "dinner", "think", "--budget", "5"], "BUDGET_TOO_SMALL");
    assert!(error.starts_with("error: a budget of 5 tokens is too small"), "{error}");
    assert!(error.contains("hint: raise `--budget`"), "{error}");
}

#[test]
fn a_stored_brief_can_be_shown_verified_and_named() {
    let dinner = dinner();
    let run = dinner.place.on_story(&["brief", "build", "dinner", "act", "--store", "--turn", "2"]);
    let brief = run.err.lines().last().unwrap().strip_prefix("Stored as brief ").unwrap().to_string();
    let page = dinner.fine(&["brief", "show", &brief]);
    assert!(page.starts_with(&format!("brief {brief}\n  node     act, turn 2 of dinner\n")), "{page}");
    assert!(page.contains("\n  asked    layout seed, no budget, counter est-1\n"), "{page}");
    assert!(page.ends_with(&format!("\n\n{}", run.out)), "{page}");
    let data = dinner.json(&["brief", "show", &brief]);
    assert_eq!((&data["brief_id"], &data["session_id"]), (&json!(brief), &json!("dinner")));
    assert_eq!(data["brief"]["text"], run.out);
    let verified = dinner.fine(&["brief", "verify", &brief]);
    assert!(
        verified.starts_with("built again from the events it is the same, byte for byte\n"),
        "{verified}"
    );
    let verdict = dinner.json(&["brief", "verify", &brief]);
    assert_eq!((&verdict["valid"], &verdict["rebuilt_hash"]), (&json!(true), &verdict["stored_hash"]));
    let args = ["record", "decision", "x", "-s", "dinner", "--brief", &brief];
    assert_eq!(dinner.json(&args)["brief_id"], json!(brief));
    let elsewhere = ["record", "decision", "x", "-s", "other", "--brief", &brief];
    assert!(dinner.refusal(&elsewhere, "INVALID_PARAMS").starts_with("error: --brief: "));
    dinner.refusal(&["record", "decision", "x", "-s", "dinner", "--brief", "nope"], "NOT_FOUND");
}

#[test]
fn stored_briefs_are_listed_newest_first() {
    let dinner = dinner();
    let [first, second] = &dinner.briefs;
    let expected = format!(
        "brief                                 node   turn  stored (UTC)      session\n\
         {second}  think  2     2026-04-17 12:02  dinner\n\
         {first}  think  2     2026-04-17 12:02  dinner\n"
    );
    assert_eq!(dinner.fine(&["brief", "list"]), expected);
    assert_eq!(dinner.fine(&["brief", "list", "--session", "dinner"]), expected);
    let run = dinner.place.on_story(&["brief", "list", "-n", "1"]);
    assert_eq!((run.out.lines().count(), run.err.as_str()), (2, "The newest 1; `--limit N` shows more\n"));
    let data = dinner.json(&["brief", "list"]);
    assert_eq!((&data["count"], &data["briefs"][0]["brief_id"]), (&json!(2), &json!(second)));
    assert_eq!(data["briefs"][0]["hash"], dinner.json(&["brief", "show", second])["hash"]);
    assert!(dinner.refusal(&["brief", "list", "-s", "nope"], "NOT_FOUND").contains("no session `nope`"));
    assert!(dinner.refusal(&["brief", "list", "-s", "other"], "NOT_FOUND").contains("no working memory"));
    let none = Place::new();
    open(&none.path("cairn.db")).0.close();
    let run = none.on_story(&["brief", "list"]);
    assert_eq!((run.code, run.out.as_str()), (0, ""));
    assert!(run.err.starts_with("No stored briefs yet"), "{}", run.err);
}

#[test]
fn a_brief_whose_events_were_changed_is_found_out() {
    let dinner = dinner();
    let change = "UPDATE event SET body = replace(body, 'Milder', 'Wilder')";
    assert!(database::tamper(&dinner.place.path("cairn.db"), change) > 0);
    let run = dinner.place.on_story(&["brief", "verify", &dinner.briefs[1]]);
    assert_eq!((run.code, run.err.as_str()), (1, ""));
    assert!(run.out.contains("is damaged"), "{}", run.out);
    let run = dinner.place.on_story(&["--json", "brief", "verify", &dinner.briefs[1]]);
    assert_eq!((run.code, &run.json()["valid"]), (1, &json!(false)));
}

#[test]
fn two_briefs_are_compared_by_section() {
    let dinner = dinner();
    let [first, second] = &dinner.briefs;
    let expected = format!(
        "\
--- {first}  think, turn 2 of dinner
+++ {second}  think, turn 2 of dinner

entities
+ - gen_recipe_1: Mild soup (not saved yet)

conversation
+ Waiting for the user since turn 2 (propose): Save it?
+ - question: Under which name?
"
    );
    assert_eq!(dinner.fine(&["brief", "diff", first, second]), expected);
    let data = dinner.json(&["brief", "diff", first, second]);
    assert_eq!((&data["identical"], &data["sections"][0]["id"]), (&json!(false), &json!("entities")));
    let same = dinner.fine(&["brief", "diff", first, first]);
    assert!(same.starts_with("The briefs are identical (hash "), "{same}");
    let run =
        dinner.place.on_story(&["--json", "brief", "build", "dinner", "think", "--store", "--turn", "2"]);
    let again = run.json()["brief_id"].as_str().unwrap().to_string();
    let back = dinner.fine(&["brief", "diff", &again, first]);
    assert!(back.contains("\n- - gen_recipe_1: Mild soup (not saved yet)\n"), "{back}");
}

#[test]
fn why_tells_path_brief_plan_and_what_changed() {
    let dinner = dinner();
    let page = dinner.fine(&["why", &id(DECISION)]);
    let brief = &dinner.briefs[1];
    let start = format!(
        "decision {}\n  2026-04-17 12:02  dinner  ada  → save-1\n  Save the draft (keys)\n\nwhat led to it\n  \
         Nothing: it names no thought that it follows from.\n\nthe brief it was based on\n  think, turn 2 of dinner, \
         hash ",
        id(DECISION)
    );
    assert!(page.starts_with(&start), "{page}");
    assert!(page.contains("\n  │ ## Entity Context\n  │ - recipe_1: Lentil soup\n"), "{page}");
    assert!(page.contains(&format!("\n  `cairn brief show {brief}` prints all of it\n")), "{page}");
    let plan = "the plan it was based on\n  context 1 of import, captured 2026-04-17 12:00, hash ";
    assert!(page.contains(plan), "{page}");
    let since =
        "what has changed since\n  Session dinner has gone on to turn 3.\n  plan import\n  --- context 1";
    assert!(page.contains(since), "{page}");
    assert!(page.contains("\n  ~ load   Load the rows → Load  (renamed)\n"), "{page}");
    let data = dinner.json(&["why", &id(DECISION)]);
    assert_eq!(data["thought"]["id"], id(DECISION));
    assert_eq!((&data["brief"]["brief_id"], &data["current_turn"]), (&json!(brief), &json!(3)));
    assert_eq!((&data["context"]["context_id"], &data["path"]), (&json!(1), &json!([])));
    assert_eq!(data["change"]["differences"]["context_id2"], 2);
}

#[test]
fn why_says_what_there_is_not() {
    let place = Place::with_story();
    let expected = format!(
        "\
decision {}
  2026-04-17 12:02  storage  ada  → commit-4f2a
  Use SQLite:
  one file

what led to it
  plan        019d9b50-1001  2026-04-17 12:00  ada
    Choose a database

the brief it was based on
  None: it was recorded without `--brief`.

the plan it was based on
  None: it was recorded without `--context`.

what has changed since
  Nobody can tell: it names neither a brief nor a plan.
",
        id(2)
    );
    let page = place.on_story(&["why", "019d9b50-1002"]).fine();
    assert_eq!(page, expected);
    let data = place.on_story(&["--json", "why", "019d9b50-1002"]).json();
    assert_eq!(
        (&data["brief"], &data["context"], &data["change"]),
        (&Value::Null, &Value::Null, &Value::Null)
    );
    assert_eq!(data["path"][0]["content"], "Choose a database");
    let run = place.on_story(&["why", "nope"]);
    assert_eq!(run.code, 1);
    assert!(run.err.starts_with("error: no thought `nope`\n"), "{}", run.err);
}

#[test]
fn show_and_doctor_tell_of_briefs() {
    let dinner = dinner();
    let brief = &dinner.briefs[1];
    let page = dinner.fine(&["show", &id(DECISION)]);
    let line = format!(
        "\n  brief      {brief} (think, turn 2 of dinner)\n             `cairn brief show {brief}` prints it\n"
    );
    assert!(page.contains(&line), "{page}");
    let doctor = dinner.json(&["doctor"]);
    let records =
        doctor["checks"].as_array().unwrap().iter().find(|check| check["name"] == "records").unwrap();
    let message = records["message"].as_str().unwrap();
    assert!(
        message.starts_with("2 thoughts in 2 sessions and 2 tasks, 12 events and 2 briefs, log"),
        "{message}"
    );
    let plain = Place::with_story().on_story(&["--json", "doctor"]).json().to_string();
    assert!(!plain.contains("0 events") && !plain.contains("0 briefs"), "{plain}");
}

#[test]
fn what_is_not_there_is_said_with_a_way_out() {
    let dinner = dinner();
    for args in [
        &["session", "show", "nope"][..],
        &["session", "events", "nope"],
        &["brief", "build", "nope", "think"],
    ] {
        let error = dinner.refusal(args, "NOT_FOUND");
        assert_eq!(error, "error: no session `nope`\n\nhint: `cairn session list` shows what there is\n");
    }
    for args in [&["session", "show", "other"][..], &["brief", "build", "other", "think", "--store"]] {
        let error = dinner.refusal(args, "NOT_FOUND");
        assert!(error.starts_with("error: session `other` has thoughts, but no working memory\n"), "{error}");
        assert!(error.contains("`cairn tree other`"), "{error}");
    }
    for args in [
        &["brief", "show", "nope"][..],
        &["brief", "verify", "nope"],
        &["brief", "diff", &dinner.briefs[0], "nope"],
    ] {
        let error = dinner.refusal(args, "NOT_FOUND");
        assert!(error.starts_with("error: no brief `nope`\n\nhint: "), "{error}");
    }
    for args in [&["session", "show", "dinner"][..], &["brief", "build", "dinner", "think"]] {
        let error = dinner.refusal(&[args, &["--turn", "9"]].concat(), "INVALID_PARAMS");
        assert_eq!(error, "error: --turn: session `dinner` is in turn 3; there is no turn 9\n");
    }
    let counter =
        dinner.refusal(&["brief", "build", "dinner", "think", "--counter", "many"], "INVALID_PARAMS");
    assert!(counter.starts_with("error: --counter: must be est-1, "), "{counter}");
}

#[test]
fn wrong_usage_is_told_from_what_is_missing() {
    let dinner = dinner();
    for args in [
        &["brief", "build", "dinner", "sleep"][..],
        &["brief", "build", "dinner"],
        &["brief", "build", "dinner", "think", "--depth", "3"],
        &["brief", "build", "dinner", "think", "--layout", "other"],
        &["brief", "build", "dinner", "think", "--budget", "0"],
        &["session", "show", "dinner", "--part", "all"],
        &["session", "events", "dinner", "--limit", "0"],
        &["session", "events", "dinner", "--after", "9223372036854775808"],
        &["brief", "diff", "one"],
        &["why"],
    ] {
        assert_eq!(dinner.place.on_story(args).code, 2, "{args:?}");
    }
    let error = dinner.place.on_story(&["--json", "brief", "build", "dinner", "sleep"]);
    assert_eq!((error.code, &error.json()["error"]["code"]), (2, &json!("INVALID_PARAMS")));
}

/// Clears the screen, rings, goes back, reverses, hides; wide letters and a tab.
const HOSTILE: &str = "evil\x1b[2J\x07\r\u{9b}31m\u{202e}\u{200b}\t字字字 end";

/// What an id or a label may hold of it.
const SLY: &str = "evil\u{202e}\u{200b}字字字 end";

#[test]
fn no_text_of_a_session_reaches_the_terminal_raw() {
    let place = Place::new();
    let (cairn, _) = open(&place.path("cairn.db"));
    let session = "s\u{202e}\u{200b}字";
    cairn.session_open(NewSession { session_id: Some(session.into()), ..NewSession::default() }).unwrap();
    cairn.turn_begin(session, &format!("{HOSTILE}\n{HOSTILE}"), None).unwrap();
    let ops = json!([
        {"op": "read", "type": "recipe", "id": SLY, "label": SLY.repeat(20), "body": {HOSTILE: HOSTILE}},
        {"op": "generate", "type": "recipe", "label": SLY, "body": {"name": HOSTILE}},
        {"op": "retain", "ref": "recipe_1", "reason": HOSTILE},
        {"op": "touch_text", "text": HOSTILE},
        {"op": "touch", "ref": SLY},
    ]);
    cairn.entity_apply(session, ops.as_array().cloned().unwrap(), None, None).unwrap();
    let note = json!({
        "goal": HOSTILE, "user_expressed": HOSTILE, "engagement": HOSTILE,
        "constraints": [{"key": HOSTILE, "value": HOSTILE}, {"key": "k", "value": {HOSTILE: HOSTILE}}],
        "pending": {"type": "clarify", "context": HOSTILE, "questions": [HOSTILE]},
    });
    cairn.turn_note(session, note.as_object().cloned().unwrap()).unwrap();
    let step = json!({"step_num": 1, "type": "write", "subdomain": HOSTILE, "description": HOSTILE, "outcome": HOSTILE,
                      "note": HOSTILE, "entities_involved": [HOSTILE]});
    cairn.turn_step(session, step).unwrap();
    let request = BriefRequest {
        session_id: session.into(),
        node: "act".into(),
        task: Some(HOSTILE.into()),
        ..BriefRequest::default()
    };
    let mut ids = Vec::new();
    for node in ["act", "think"] {
        let request = BriefRequest { node: node.into(), ..request.clone() };
        ids.push(cairn.brief_build(&request, true).unwrap().brief_id.unwrap().to_string());
    }
    let thought = NewThought::new(ThoughtType::Decision, HOSTILE).session(session).agent("a\u{202e}");
    cairn.record(NewThought { brief_id: Some(ids[0].clone()), ..thought }).unwrap();
    cairn.turn_end(session, HOSTILE, Some(HOSTILE.into()), Some(HOSTILE.into())).unwrap();
    cairn.close();
    let thought = id(0);
    let commands: [&[&str]; 15] = [
        &["session", "list"],
        &["session", "show", session],
        &["session", "show", session, "--part", "entities"],
        &["session", "show", session, "--part", "conversation"],
        &["session", "show", session, "--part", "reasoning"],
        &["session", "events", session],
        &["brief", "build", session, "understand"],
        &["brief", "build", session, "think"],
        &["brief", "build", session, "act", "--layout", "cache"],
        &["brief", "show", &ids[0]],
        &["brief", "diff", &ids[0], &ids[1]],
        &["brief", "verify", &ids[0]],
        &["why", &thought],
        &["show", &thought],
        &["doctor"],
    ];
    for args in commands {
        let run = place.on_story(args);
        assert_eq!(run.code, 0, "{args:?}: {run:?}");
        let acts = |c: char| c != '\n' && c != '\t' && c.is_control() || matches!(c, '\u{202e}' | '\u{200b}');
        assert!(!run.out.contains(acts) && !run.err.contains(acts), "{args:?}: {run:?}");
    }
    let run = place.on_story(&["session", "show", "no\u{202e}"]);
    assert!(run.err.starts_with("error: no session `no⟨U+202E⟩`\n"), "{run:?}");
    for args in [&["brief", "show", "no\x1b[2J"][..], &["why", "no\x1b[2J"]] {
        let run = place.on_story(args);
        assert_eq!(run.code, 1, "{args:?}");
        assert!(run.err.contains("␛[2J") && !run.err.contains('\x1b'), "{run:?}");
    }
    let json = place.on_story(&["--json", "session", "show", session, "--part", "reasoning"]);
    assert_eq!(json.json()["turn_summaries"][0]["think_goal"], HOSTILE);
}

#[test]
fn pages_keep_to_the_width() {
    let place = Place::new();
    let (cairn, _) = open(&place.path("cairn.db"));
    cairn.session_open(NewSession { session_id: Some("dinner".into()), ..NewSession::default() }).unwrap();
    begin(&cairn, &"字".repeat(200));
    apply(&cairn, json!([{"op": "read", "type": "recipe", "id": "r", "label": "字".repeat(100)}]));
    cairn.turn_end("dinner", &"word ".repeat(100), None, None).unwrap();
    cairn.close();
    for args in [
        &["session", "show", "dinner"][..],
        &["session", "show", "dinner", "--part", "entities"],
        &["session", "show", "dinner", "--part", "conversation"],
        &["session", "events", "dinner"],
    ] {
        let page = place.on_story(args).fine();
        let columns = |line: &str| line.chars().map(|c| if c == '字' { 2 } else { 1 }).sum::<usize>();
        assert!(page.lines().all(|line| columns(line) <= 100), "{args:?}: {page}");
    }
}
