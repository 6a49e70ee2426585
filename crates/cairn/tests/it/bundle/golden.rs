//! A bundle with all that can happen to a log, which every release must be able to verify and to import.

use std::io::Cursor;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cairn::bundle::Selection;
use cairn::core::entry::{KeyOp, KeyStatement, ReviewVerdict};
use cairn::core::log::Checkpoint;
use cairn::core::note::{Signature, SigningKey, VerifyingKey};
use cairn::{
    BriefRequest, Cairn, GrowthProof, KeyChange, NewReview, NewSession, NewThought, Options, Signer, Source,
    ThoughtType, Timestamp,
};
use serde_json::{Value, json};

use super::forge::{Bundle, SCRIPT, both, export, python, verify};
use super::redacted::with_keys;
use crate::harness::Folder;
use crate::redact::redact;

/// Made once, by the test that is ignored below; never written again.
const GOLDEN: &[u8] = include_bytes!("../../fixtures/bundle-2.cairn.jsonl");
/// The seeds of its keys: the first, and the one that replaced it.
const SEEDS: [[u8; 32]; 2] = [[21; 32], [22; 32]];

fn key(origin: &str, number: usize) -> SigningKey {
    SigningKey::from_seed(origin, SEEDS[number]).unwrap()
}

fn public(origin: &str, number: usize) -> VerifyingKey {
    key(origin, number).verifying_key().clone()
}

/// Signs with each of the keys.
struct Keys(Vec<SigningKey>);

impl Signer for Keys {
    fn sign(&self, checkpoint: &Checkpoint, _: &mut GrowthProof<'_>) -> Result<Vec<Signature>, String> {
        Ok(self.0.iter().map(|key| key.sign(&checkpoint.body())).collect())
    }

    fn keys(&self, _: &str) -> Result<Vec<VerifyingKey>, String> {
        Ok(self.0.iter().map(|key| key.verifying_key().clone()).collect())
    }

    fn first_key(&self, _: &str) -> Result<VerifyingKey, String> {
        Ok(self.0[0].verifying_key().clone())
    }

    fn sign_change(&self, statement: &KeyStatement<'_>) -> Result<Vec<Signature>, String> {
        Ok(self.0.iter().map(|key| key.sign(&statement.text())).collect())
    }
}

/// The log of the golden bundle, but for what is random in it.
fn made(folder: &Folder) -> Cairn {
    let roadmaps = folder.path().join("roadmaps");
    std::fs::create_dir(&roadmaps).unwrap();
    let (ids, seconds) = (Arc::new(AtomicU64::new(1)), Arc::new(AtomicU64::new(0)));
    let open = |keys: Vec<SigningKey>| {
        let (ids, seconds) = (ids.clone(), seconds.clone());
        let clock = move || {
            let now = seconds.fetch_add(1, Ordering::Relaxed);
            Timestamp::parse(format!("2026-04-17T00:{:02}:{:02}.000Z", now / 60, now % 60)).unwrap()
        };
        let options = Options::new().automatic_checkpoints(false).clock(clock);
        let options = options.ids(move || format!("r{}", ids.fetch_add(1, Ordering::Relaxed)));
        let options = if keys.is_empty() { options } else { options.signer(Keys(keys)) };
        options.roadmaps(&roadmaps).open(folder.database("cairn.db")).unwrap()
    };
    let log = open(Vec::new());
    let origin = log.status().unwrap().origin;
    log.close();

    let log = open(vec![key(&origin, 0)]);
    let think = |text: &str| NewThought::new(ThoughtType::Plan, text).session("s").task("t").agent("ada");
    let first = log.record(think("plan: 😀 \u{fb33}\u{1f600} \"quoted\"\n\u{1}\u{7f}")).unwrap();
    let metadata =
        |of: &str| json!({"of": of, "n": 1.5, "\u{1f600}": [null, true]}).as_object().unwrap().clone();
    let told = think("a name 𝔑 that must go").parent(&first.id).action("call-1").idempotency_key("k1");
    let told = log.record(told.metadata(metadata("a name"))).unwrap();
    log.record(think("a sealed 😀 secret").seal().metadata(metadata("sealed"))).unwrap();
    let gone = log.record(think("a sealed secret that must go").seal().metadata(metadata("gone"))).unwrap();
    let plan = json!({"title": "Plan 😀", "nodes": [{"id": "a", "label": "A"}, {"id": "b", "label": "B"}]});
    std::fs::write(roadmaps.join("plan.json"), plan.to_string()).unwrap();
    let context = log.context_create("plan", Some(metadata("plan"))).unwrap().context;
    let decide = |text: &str| NewThought { kind: ThoughtType::Decision, ..think(text) };
    let based = decide("based on it").task("u").applies_to("src/auth/**").applies_to("area:\"😀\"");
    let based = log.record(NewThought { context_id: Some(context.context_id), ..based }).unwrap();
    log.session_open(NewSession { session_id: Some("s".into()), ..NewSession::default() }).unwrap();
    log.turn_begin("s", "What is there? 😀", None).unwrap();
    let read = json!({"op": "read", "type": "recipe", "id": "soup", "body": {"for": "two 😀"}});
    log.entity_apply("s", vec![read], None, None).unwrap();
    let request = || BriefRequest { session_id: "s".into(), node: "act".into(), ..BriefRequest::default() };
    let [kept, brief] =
        [0, 1].map(|_| log.brief_build(&request(), true).unwrap().brief_id.unwrap().to_string());
    log.record(NewThought { brief_id: Some(kept), ..think("as the brief says") }).unwrap();
    log.add_review(NewReview {
        target: first.id.to_string(),
        verdict: ReviewVerdict::Objected,
        text: "not like this 😀".into(),
        actor: "ann".into(),
    })
    .unwrap();
    log.checkpoint().unwrap();
    for id in [told.id.as_str(), gone.id.as_str(), &brief] {
        redact(&log, id).unwrap();
    }
    let change = |op, number, last_trusted_size| {
        let reason = Some("every year".to_string());
        KeyChange { op, key: public(&origin, number), last_trusted_size, reason }
    };
    log.change_key(change(KeyOp::Add, 1, None)).unwrap();
    log.close();

    let log = open(vec![key(&origin, 0), key(&origin, 1)]);
    let bridge = log.checkpoint().unwrap();
    log.change_key(change(KeyOp::Retire, 0, Some(bridge.size))).unwrap();
    log.close();

    let log = open(vec![key(&origin, 1)]);
    let last = decide("after the change of keys").parent(&told.id).supersedes(&based.id).rejects(&told.id);
    log.record_as(Source::Person, last).unwrap();
    log
}

#[test]
#[ignore = "makes the golden bundle, once"]
fn make_the_golden_bundle() {
    let folder = Folder::new();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/bundle-2.cairn.jsonl");
    assert!(std::fs::metadata(file).is_ok_and(|found| found.len() == 0), "it is there already");
    std::fs::write(file, with_keys(&made(&folder), Selection::All)).unwrap();
}

#[test]
fn the_second_golden_bundle_is_verified_for_ever() {
    let origin = Bundle::of(GOLDEN).origin();
    for number in [0, 1] {
        let keys = [public(&origin, number)];
        assert_eq!(both(GOLDEN, &keys), [""; 0]);
        let report = verify(GOLDEN, &keys);
        let id = public(&origin, 1).id();
        assert!(report.signed_by[0].starts_with(&format!("{origin}+{id}")), "{:?}", report.signed_by);
        assert_eq!((report.records, report.contexts, report.events, report.briefs), (7, 1, 3, 2));
        assert_eq!((report.redacted_total, report.sealed, report.checkpoints), (3, 0, 6));
        assert_eq!(report.notes, [""; 0]);
    }
    assert_eq!(both(GOLDEN, &[]), [""; 0]);
    let stranger = SigningKey::from_seed(&origin, [23; 32]).unwrap().verifying_key().clone();
    assert!(!both(GOLDEN, &[stranger]).is_empty());
}

#[test]
fn the_second_golden_bundle_can_be_imported_and_comes_out_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("golden.db");
    let keys = [public(&Bundle::of(GOLDEN).origin(), 0)];
    let imported = Options::new().import(&path, &mut Cursor::new(GOLDEN), &keys, &|_| {}).unwrap();
    assert_eq!(imported.report.redacted_total, 3);
    let copy = Cairn::open(&path).unwrap();
    assert!(with_keys(&copy, Selection::All) == GOLDEN);
    assert_eq!(copy.get("r3").unwrap().unwrap().content, "a sealed 😀 secret");
    let without = export(&copy, Selection::All);
    assert_eq!(both(&without, &keys), [""; 0]);
    assert_eq!(verify(&without, &keys).sealed, 1);
}

/// What is written today differs from it in what is random alone.
#[test]
fn a_log_like_the_golden_one_still_looks_the_same() {
    let shape = |bytes: &[u8]| -> Vec<(Vec<String>, Value)> {
        let bundle = Bundle::of(bytes);
        let kind = |line: &Value| {
            let leaf: Option<Value> =
                line.get("leaf").and_then(|leaf| serde_json::from_str(leaf.as_str()?).ok());
            leaf.map_or(Value::Null, |leaf| {
                json!([leaf["kind"], leaf["created_at"], leaf["timestamp"], leaf["fields"]])
            })
        };
        let fields = |line: &Value| {
            let set = line.as_object().unwrap().iter().filter(|(_, value)| !value.is_null());
            set.map(|(name, _)| name.clone()).collect()
        };
        bundle.lines.iter().map(|line| (fields(line), kind(line))).collect()
    };
    let folder = Folder::new();
    let today = with_keys(&made(&folder), Selection::All);
    assert_eq!(shape(&today), shape(GOLDEN));
}

/// Without asserts, without docstrings, from a pipe, and in the Python of years ago.
#[test]
fn the_other_verifier_runs_anywhere() {
    use std::process::{Command, Stdio};
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bundle.jsonl");
    std::fs::write(&file, GOLDEN).unwrap();
    let keys = [public(&Bundle::of(GOLDEN).origin(), 0)];
    let expected = python(&file, &keys);
    assert_eq!(expected.0, 0, "{}", expected.1);
    for mode in ["-B", "-OO", "-I"] {
        let mut command = Command::new("python3");
        command.args([mode, SCRIPT, "-", "--key", &keys[0].to_string()]).stdout(Stdio::piped());
        // A pipe, which can be read once and not rewound.
        let mut cat = Command::new("cat").arg(&file).stdout(Stdio::piped()).spawn().unwrap();
        let run = command.stdin(cat.stdout.take().unwrap()).output().unwrap();
        assert!(cat.wait().unwrap().success() && run.status.success(), "{mode}");
        assert_eq!(String::from_utf8(run.stdout).unwrap(), expected.1, "{mode}");
    }
    let parse =
        "import ast, sys; ast.parse(open(sys.argv[1], encoding='utf-8').read(), feature_version=(3, 8))";
    let run = Command::new("python3").args(["-c", parse, SCRIPT]).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
}
