//! Bundles of logs from which texts were taken: what is gone was redacted, and what was redacted is gone.

use cairn::bundle::{ExportOptions, Selection};
use cairn::{BriefRequest, Cairn, NewSession, NewThought, ThoughtType};
use serde_json::{Value, json};

use super::forge::{Bundle, both, export, session, task, verify};
use crate::harness::TestCairn;
use crate::redact::redact;

/// The thoughts `r1` (never redacted), `r2` (with metadata) and `r3`; the sealed `r4` (with metadata) and `r5`, which
/// are redacted, and `r6`, which is not; and a brief. Returns the id of the brief.
pub fn unredacted(db: &Cairn) -> String {
    let think =
        |text: &str| NewThought::new(ThoughtType::Plan, text).session("s").task("t").agent("ada").action("a");
    let metadata = || json!({"mail": "Zoltan.Quixley@example.org"}).as_object().unwrap().clone();
    db.record(think("kept 😀")).unwrap();
    db.record(think("Ask Zoltan Quixley 😀").metadata(metadata())).unwrap();
    db.record(think("Quixley's telephone number")).unwrap();
    db.record(think("Gummibaerchen for Quixley").seal().metadata(metadata())).unwrap();
    db.record(think("Gummibaerchen for nobody").seal()).unwrap();
    db.record(think("sealed and kept").seal().metadata(metadata())).unwrap();
    db.session_open(NewSession { session_id: Some("s".into()), ..NewSession::default() }).unwrap();
    db.turn_begin("s", "What is there?", None).unwrap();
    let request = BriefRequest { session_id: "s".into(), node: "act".into(), ..BriefRequest::default() };
    db.brief_build(&request, true).unwrap().brief_id.unwrap().to_string()
}

/// Takes the texts out.
pub fn redact_all(db: &Cairn, brief: &str) {
    for id in ["r2", "r3", "r4", "r5", brief] {
        redact(db, id).unwrap();
    }
}

fn redacted() -> (TestCairn, String) {
    let db = TestCairn::new();
    let brief = unredacted(&db);
    redact_all(&db, &brief);
    (db, brief)
}

pub fn with_keys(cairn: &Cairn, selection: Selection) -> Vec<u8> {
    let _ = cairn.checkpoint();
    let mut out = Vec::new();
    cairn.export(&ExportOptions { selection, with_keys: true }, &mut out, &mut |_| {}).unwrap();
    out
}

#[test]
fn what_was_redacted_is_null_and_listed_and_both_accept_it() {
    let (db, brief) = redacted();
    let bytes = with_keys(&db, Selection::All);
    assert_eq!(both(&bytes, &[]), [""; 0]);
    let report = verify(&bytes, &[]);
    let listed: Vec<(&str, &str)> =
        report.redacted.iter().map(|of| (of.kind.as_str(), of.id.as_str())).collect();
    let expected =
        [("thought", "r2"), ("thought", "r3"), ("thought", "r4"), ("thought", "r5"), ("brief", &brief)];
    assert_eq!((listed, report.redacted_total, report.sealed), (expected.to_vec(), 5, 0));

    let bundle = Bundle::of(&bytes);
    let of = |seq: u64| {
        let redaction =
            (0..).map(|at| bundle.leaf(at)).find(|leaf| leaf["target_seq"] == json!(seq)).unwrap();
        assert!(
            redaction["content_hash"] == bundle.leaf(seq)["content_hash"]
                || redaction["target_kind"] == "brief"
        );
        (redaction["target_kind"].clone(), redaction["fields"].clone())
    };
    let parts = |seq: u64| {
        let line = &bundle.lines[bundle.line_of(seq)];
        ["content", "metadata", "salt", "seal_key"]
            .map(|part| line.get(part).is_some_and(|part| !part.is_null()))
    };
    assert_eq!((of(2), parts(2)), ((json!("thought"), json!(["content", "metadata"])), [false; 4]));
    assert_eq!((of(3), parts(3)), ((json!("thought"), json!(["content"])), [false; 4]));
    let sealed = [true, false, false, false];
    assert_eq!((of(4), parts(4)), ((json!("thought"), json!(["seal_key", "metadata"])), sealed));
    assert_eq!((of(5), parts(5)), ((json!("thought"), json!(["seal_key"])), sealed));
    assert_eq!(parts(6), [true; 4]);
    let seq = bundle.first("brief");
    assert_eq!(of(seq), (json!("brief"), json!(["data"])));
    assert_eq!(bundle.lines[bundle.line_of(seq)]["data"], Value::Null);

    // The one key that is left is said to be missing, and nothing else.
    let closed = export(&db, Selection::All);
    assert_eq!(both(&closed, &[]), [""; 0]);
    let report = verify(&closed, &[]);
    assert_eq!(report.sealed, 1);
    assert!(report.notes.iter().any(|note| note.starts_with("1 content is sealed")), "{:?}", report.notes);
    let options = ExportOptions::default();
    assert_eq!(db.export(&options, &mut Vec::new(), &mut |_| {}).unwrap().sealed, 1);
    for selection in [session("s"), task("t")] {
        for bytes in [export(&db, selection.clone()), with_keys(&db, selection)] {
            assert_eq!(both(&bytes, &[]), [""; 0]);
            assert!(verify(&bytes, &[]).redacted_total >= 4);
        }
    }
}

#[test]
fn a_key_must_open_its_content() {
    let (db, _) = redacted();
    let bytes = with_keys(&db, Selection::All);
    let mut bundle = Bundle::of(&bytes);
    let line = bundle.line_of(6);
    bundle.lines[line]["seal_key"] = json!("07".repeat(32));
    let other = ["content_hash_mismatch (table seal, log entry 6, r6, key)"];
    assert_eq!(both(&bundle.bytes(), &[]), other);
    bundle.lines[line]["seal_key"] = json!("0707");
    assert_eq!(both(&bundle.bytes(), &[]), other, "too short for a key");
}

/// A change of the bundle, and what both must find.
type Case = (&'static str, fn(&mut Bundle), &'static [&'static str]);

#[test]
fn whatever_else_is_missing_or_still_there_is_named_by_both() {
    let (db, _) = redacted();
    let mut good = Bundle::of(&with_keys(&db, Selection::All));
    // Whoever rewrites the entries rewrites what nobody signed.
    let size = format!("\n{}\n", good.lines[0]["size"]);
    good.lines
        .retain(|line| line.get("checkpoint").is_none_or(|note| note.as_str().unwrap().contains(&size)));
    fn set(bundle: &mut Bundle, seq: u64, part: &str, value: Value) {
        let line = bundle.line_of(seq);
        bundle.lines[line][part] = value;
    }
    /// The redaction of what stands at a position.
    fn of(bundle: &Bundle, target: u64) -> u64 {
        (0..).find(|seq| bundle.leaf(*seq)["target_seq"] == json!(target)).unwrap()
    }
    fn say(bundle: &mut Bundle, target: u64, field: &str, value: Value) {
        let seq = of(bundle, target);
        bundle.set_leaf(seq, |leaf| leaf[field] = value);
    }
    const MISSING_METADATA: &str = "missing_record (table thought, log entry 2, r2, metadata)";
    const UNREADABLE: &[&str] = &[
        "missing_record (table thought, log entry 2, r2, content)",
        "leaf_mismatch (table entry, log entry 10)",
        "missing_record (table manifest, redacted)",
    ];
    let cases: &[Case] = &[
        (
            "text without a redaction",
            |b| set(b, 1, "content", Value::Null),
            &["missing_record (table thought, log entry 1, r1, content)"],
        ),
        (
            "metadata without a redaction",
            |b| {
                set(b, 6, "metadata", Value::Null);
                set(b, 6, "salt", Value::Null);
            },
            &["missing_record (table thought, log entry 6, r6, metadata)"],
        ),
        (
            "a sealed text without a redaction",
            |b| {
                let line = b.line_of(6);
                b.lines[line]["content"] = Value::Null;
                b.lines[line].as_object_mut().unwrap().remove("seal_key");
            },
            &["missing_record (table thought, log entry 6, r6, content)"],
        ),
        (
            "the sealed text of one whose key was redacted",
            |b| {
                let line = b.line_of(4);
                b.lines[line]["content"] = Value::Null;
                b.lines[line].as_object_mut().unwrap().remove("seal_key");
            },
            &["missing_record (table thought, log entry 4, r4, content)"],
        ),
        (
            "metadata that was redacted",
            |b| {
                set(b, 2, "metadata", json!("{}"));
                set(b, 2, "salt", json!("00".repeat(32)));
            },
            &["leaf_mismatch (table thought, log entry 2, r2, metadata)"; 2],
        ),
        (
            "another hash",
            |b| say(b, 2, "content_hash", json!("00".repeat(32))),
            &["leaf_mismatch (table redaction, log entry 10, content_hash)"],
        ),
        (
            "another id",
            |b| say(b, 2, "target_id", json!("r3")),
            &["leaf_mismatch (table redaction, log entry 10, target_id)"],
        ),
        (
            "another kind",
            |b| say(b, 2, "target_kind", json!("brief")),
            &["leaf_mismatch (table redaction, log entry 10, target_kind)"],
        ),
        ("a kind that there is not", |b| say(b, 2, "target_kind", json!("idea")), UNREADABLE),
        ("a time that is none", |b| say(b, 2, "created_at", json!("2026-13-01T00:00:00.000Z")), UNREADABLE),
        (
            "too few fields",
            |b| say(b, 2, "fields", json!(["content"])),
            &[MISSING_METADATA, "leaf_mismatch (table redaction, log entry 10, fields)"],
        ),
        (
            "too many fields",
            |b| say(b, 3, "fields", json!(["content", "metadata"])),
            &["leaf_mismatch (table redaction, log entry 11, fields)"],
        ),
        (
            "no fields",
            |b| say(b, 3, "fields", json!([])),
            &[
                "missing_record (table thought, log entry 3, r3, content)",
                "leaf_mismatch (table redaction, log entry 11, fields)",
            ],
        ),
        (
            "a key where there was none",
            |b| say(b, 3, "fields", json!(["seal_key"])),
            &["missing_record (table thought, log entry 3, r3, content)"],
        ),
        (
            "a text where a key was",
            |b| say(b, 5, "fields", json!(["content"])),
            &["leaf_mismatch (table thought, log entry 5, r5, content)"],
        ),
        (
            "fields of a brief",
            |b| say(b, 9, "fields", json!(["content"])),
            &[
                "missing_record (table brief, log entry 9, BRIEF, data)",
                "leaf_mismatch (table redaction, log entry 14, fields)",
            ],
        ),
        (
            "a redaction of what is all there",
            |b| {
                say(b, 2, "target_id", json!("r1"));
                say(b, 2, "target_seq", json!(1));
            },
            &[
                "leaf_mismatch (table thought, log entry 1, r1, content)",
                "missing_record (table thought, log entry 2, r2, content)",
            ],
        ),
        (
            "a redaction of what no redaction is of",
            |b| say(b, 2, "target_seq", json!(7)),
            &[
                "missing_record (table thought, log entry 2, r2, content)",
                "missing_record (table redaction, log entry 10, target_seq)",
            ],
        ),
        (
            "a redaction of something later",
            |b| say(b, 2, "target_seq", json!(11)),
            &[
                "missing_record (table thought, log entry 2, r2, content)",
                "order (table redaction, log entry 10, target_seq)",
            ],
        ),
        (
            "two of one",
            |b| {
                let (line, mut leaf) = (b.line_of(of(b, 3)), b.leaf(of(b, 2)));
                leaf["seq"] = json!(11);
                let bytes = cairn::core::canonical::to_bytes(&leaf).unwrap();
                b.lines[line]["leaf"] = json!(String::from_utf8(bytes).unwrap());
            },
            &[
                "missing_record (table thought, log entry 3, r3, content)",
                "order (table redaction, log entry 11, target_seq)",
            ],
        ),
    ];
    let brief = good.leaf(9)["brief_id"].as_str().unwrap().to_string();
    assert_eq!(both(&good.clone().rebuilt(&[]).bytes(), &[]), [""; 0]);
    for (name, change, expected) in cases {
        let mut bundle = good.clone();
        change(&mut bundle);
        let bytes = bundle.rebuilt(&[]).bytes();
        let expected: Vec<String> = expected.iter().map(|place| place.replace("BRIEF", &brief)).collect();
        assert_eq!(both(&bytes, &[]), expected, "{name}");
    }
    // With its right key, which a copy from before would have.
    let before = TestCairn::new();
    before.record(NewThought::new(ThoughtType::Plan, "secret").session("s").agent("ada").seal()).unwrap();
    let kept = Bundle::of(&with_keys(&before, Selection::All)).lines[2]["seal_key"].clone();
    redact(&before, "r1").unwrap();
    let mut bundle = Bundle::of(&with_keys(&before, Selection::All));
    set(&mut bundle, 1, "seal_key", kept);
    assert_eq!(both(&bundle.bytes(), &[]), ["leaf_mismatch (table seal, log entry 1, r1, key)"]);
    // A brief whose text is still there.
    let before = TestCairn::new();
    let brief = unredacted(&before);
    let kept = Bundle::of(&with_keys(&before, Selection::All));
    let kept = kept.lines[kept.line_of(9)]["data"].clone();
    redact(&before, &brief).unwrap();
    let mut bundle = Bundle::of(&with_keys(&before, Selection::All));
    assert_eq!(both(&bundle.bytes(), &[]), [""; 0]);
    set(&mut bundle, 9, "data", kept);
    assert_eq!(
        both(&bundle.bytes(), &[]),
        [format!("leaf_mismatch (table brief, log entry 9, {brief}, data)")]
    );
    // Nothing says why it is gone.
    let line = bundle.line_of(of(&bundle, 9));
    set(&mut bundle, 9, "data", Value::Null);
    bundle.lines.remove(line);
    bundle
        .lines
        .retain(|line| line.get("checkpoint").is_none_or(|note| !note.as_str().unwrap().contains("\n10\n")));
    let found = both(&bundle.rebuilt(&[]).bytes(), &[]);
    assert_eq!(found, [format!("missing_record (table brief, log entry 9, {brief}, data)")]);
}
