//! The worked example in `docs/briefs.md` is what the program prints.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cairn::{BriefRequest, Cairn, NewSession, NewThought, Options, ThoughtType, Timestamp};
use serde_json::{Value, json};

const BEGIN: &str =
    "<!-- Made by a test: `CAIRN_UPDATE_DOCS=1 cargo test -p cairn-cli briefs_doc` writes it anew. -->\n";
const END: &str = "<!-- End of what the test made. -->";
/// What the document shows for the id of a stored brief, which is another one each time.
const BRIEF_ID: &str = "019d9b52-0f00-7c41-9b7e-52a1c0d4e8f3";

fn document() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/briefs.md")
}

/// A clock that goes on by a second with each look, and ids that count.
fn open(path: &Path) -> Cairn {
    let (time, ids) = (Arc::new(AtomicU64::new(0)), AtomicU64::new(1));
    Options::new()
        .clock(move || {
            let second = time.fetch_add(1, Ordering::SeqCst);
            Timestamp::parse(format!("2026-04-17T12:{:02}:{:02}.000Z", second / 60, second % 60)).unwrap()
        })
        .ids(move || format!("019d9b52-1000-7000-8000-{:012}", ids.fetch_add(1, Ordering::SeqCst)))
        .open(path)
        .unwrap()
}

/// Two turns about dinner, and a decision that names its brief and its plan; then a third turn, and another plan.
/// Returns the brief's id and the decision's.
fn play(path: &Path) -> (String, String) {
    let cairn = open(path);
    let apply = |ops: Value| {
        cairn.entity_apply("dinner", ops.as_array().cloned().unwrap(), None, None).unwrap();
    };
    let note = |note: Value| {
        cairn.turn_note("dinner", note.as_object().cloned().unwrap()).unwrap();
    };
    let roadmaps = path.with_file_name("roadmaps");
    std::fs::create_dir(&roadmaps).unwrap();
    let plan = |friday: &str| {
        let nodes =
            json!([{"id": "friday", "label": friday}, {"id": "sunday", "label": "Brunch with shakshuka"}]);
        let plan = json!({"title": "Meals of the week", "nodes": nodes});
        std::fs::write(roadmaps.join("week.json"), plan.to_string()).unwrap();
    };
    plan("Cook for two");
    cairn.context_create("week", None).unwrap();
    cairn.session_open(NewSession { session_id: Some("dinner".into()), ..NewSession::default() }).unwrap();
    cairn.turn_begin("dinner", "Something vegetarian for tonight, please", None).unwrap();
    note(json!({"constraints": [{"key": "diet", "value": "vegetarian"}]}));
    note(json!({"decision": "plan_direct", "goal": "Find vegetarian recipes", "phase": "exploring"}));
    let read = |id: &str, label: &str, minutes: u64| json!({"op": "read", "type": "recipe", "id": id, "label": label, "detail": "full", "body": {"minutes": minutes}});
    apply(json!([read("r1", "Lentil soup", 35), read("r2", "Shakshuka", 25)]));
    let step = json!({"step_num": 1, "type": "read", "description": "Read vegetarian recipes", "outcome": "2 found",
                      "entities_involved": ["recipe_1", "recipe_2"]});
    cairn.turn_step("dinner", step).unwrap();
    cairn.turn_end("dinner", "Lentil soup (35 min) or shakshuka (25 min)?", None, None).unwrap();
    cairn.turn_begin("dinner", "A milder soup. Keep the shakshuka for Sunday", None).unwrap();
    apply(json!([{"op": "retain", "ref": "recipe_2", "reason": "for Sunday"}]));
    apply(
        json!([{"op": "generate", "type": "recipe", "label": "Mild lentil soup", "body": {"without": ["chili"]}}]),
    );
    note(json!({"pending": {"type": "propose", "context": "Save the mild lentil soup?"}}));
    let request =
        BriefRequest { session_id: "dinner".into(), node: "think".into(), ..BriefRequest::default() };
    let brief = cairn.brief_build(&request, true).unwrap().brief_id.unwrap().to_string();
    let think = |kind, text: &str| NewThought::new(kind, text).session("dinner").agent("ada");
    let analysis =
        cairn.record(think(ThoughtType::Analysis, "What makes the soup hot is the chili alone")).unwrap();
    let decision = think(ThoughtType::Decision, "Propose the soup without chili before saving it");
    let decision =
        NewThought { brief_id: Some(brief.clone()), context_id: Some(1), ..decision.parent(&analysis.id) };
    let decision = cairn.record(decision).unwrap().id.to_string();
    cairn.turn_end("dinner", "Lentil soup without chili. Shall I save it?", None, None).unwrap();
    cairn.turn_begin("dinner", "Yes, and make it for six", None).unwrap();
    plan("Cook for six");
    cairn.context_create("week", None).unwrap();
    cairn.close();
    (brief, decision)
}

/// The commands, each with what it prints.
fn example() -> String {
    let folder = tempfile::tempdir().unwrap();
    let (brief, decision) = play(&folder.path().join("cairn.db"));
    let commands: [&[&str]; 6] = [
        &["session", "events", "dinner"],
        &["brief", "build", "dinner", "think", "--turn", "2"],
        &["brief", "build", "dinner", "act", "--turn", "2"],
        &["brief", "build", "dinner", "think", "--turn", "2", "--budget", "170"],
        &["why", &decision],
        &["brief", "verify", &brief],
    ];
    let mut page = String::from("```console\n");
    for args in commands {
        let output = Command::new(env!("CARGO_BIN_EXE_cairn"))
            .args(args)
            .args(["--db", "cairn.db"])
            .current_dir(folder.path())
            .env_clear()
            .env("COLUMNS", "90")
            .output()
            .unwrap();
        assert!(output.status.success(), "{args:?}");
        let printed = String::from_utf8(output.stdout).unwrap();
        page.push_str(&format!("$ cairn {}\n{printed}", args.join(" ")));
    }
    page.push_str("```\n");
    page.replace(&brief, BRIEF_ID)
}

#[test]
fn the_worked_example_is_what_the_program_prints() {
    let path = document();
    let written = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = written.split_once(BEGIN).expect("the document has a place for the example");
    let (_, after) = rest.split_once(END).expect("that place has an end");
    let now = format!("{before}{BEGIN}{}{END}{after}", example());
    if std::env::var_os("CAIRN_UPDATE_DOCS").is_some() {
        std::fs::write(&path, &now).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap();
    assert!(written == now, "docs/briefs.md is out of date: run this with CAIRN_UPDATE_DOCS=1\n{now}");
}
