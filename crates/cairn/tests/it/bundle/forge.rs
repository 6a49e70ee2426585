//! Bundles to be checked, and the tools of somebody who forges them.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cairn::bundle::{self, BundleReport, ExportOptions, Selection};
use cairn::core::canonical;
use cairn::core::log::{Checkpoint, Edge, leaf_hash};
use cairn::core::note::{SigningKey, VerifyingKey};
use cairn::{BriefRequest, Cairn, Finding, NewSession, NewThought, Sha, ThoughtType};
use serde_json::{Map, Value, json};

use crate::harness::TestCairn;

/// The key of a log, for tests.
pub fn key_of(origin: &str) -> SigningKey {
    SigningKey::from_seed(origin, [7; 32]).unwrap()
}

/// Every kind of record that has something to be checked, and three signed checkpoints.
pub fn filled() -> TestCairn {
    let db = TestCairn::new();
    std::fs::create_dir(db.folder().join("roadmaps")).unwrap();
    let think = |session: &str, task: &str, text: &str| {
        NewThought::new(ThoughtType::Decision, text).session(session).task(task).agent("ada")
    };
    let first = db.record(think("s", "t", "plan: 😀 \u{fb33}\u{1f600} \"quoted\"\n\u{1}\u{7f}")).unwrap();
    let metadata = json!({"branch": "main", "n": 1.5, "\u{1f600}": [null, true]});
    let child = think("s", "t", "child").parent(&first.id).action("commit-1").idempotency_key("k1");
    let child = db.record(child.metadata(metadata.as_object().unwrap().clone())).unwrap();
    let other = think("other", "t", "the same task in another session").supersedes(&first.id);
    db.record(other.applies_to("area:😀")).unwrap();
    state(&db);
    for (n, label) in ["One", "Two 😀"].into_iter().enumerate() {
        let plan =
            json!({"title": "Plan", "nodes": [{"id": "a", "label": label}, {"id": "b", "label": "B"}]});
        std::fs::write(db.folder().join("roadmaps/import.json"), plan.to_string()).unwrap();
        let metadata = json!({"n": n}).as_object().unwrap().clone();
        let context = db.context_create("import", Some(metadata)).unwrap().context;
        let mut draft = think("s", "u", &format!("based on plan {n}"));
        draft.context_id = Some(context.context_id);
        db.record(draft).unwrap();
    }
    for session in ["s", "memory"] {
        db.session_open(NewSession { session_id: Some(session.into()), ..NewSession::default() }).unwrap();
        db.turn_begin(session, "What is there? 😀", None).unwrap();
        let read =
            |id: &str, of: &str| json!({"op": "read", "type": "recipe", "id": id, "body": {"for": of}});
        db.entity_apply(session, vec![read("r1", "both"), read("r2", session)], None, None).unwrap();
        let request =
            BriefRequest { session_id: session.into(), node: "act".into(), ..BriefRequest::default() };
        let brief_id = db.brief_build(&request, true).unwrap().brief_id.map(|id| id.to_string());
        db.record(NewThought { brief_id, ..think(session, "t", "as the brief says") }).unwrap();
    }
    state(&db);
    let last = think("s", "t", "last").supersedes(&first.id).supersedes(&child.id).rejects(&child.id);
    db.record(last.applies_to("src/auth/**")).unwrap();
    state(&db);
    db
}

/// Signs the log as it is.
pub fn state(db: &TestCairn) {
    let (origin, report) = (db.status().unwrap().origin, db.check());
    let checkpoint = Checkpoint::new(&origin, report.log_size, report.root.unwrap()).unwrap();
    let note = checkpoint.signed(&[&key_of(&origin)]).unwrap().to_string();
    db.sql().execute("INSERT INTO checkpoint (size, note) VALUES (?1, ?2)", (report.log_size, note)).unwrap();
}

/// The bytes of a bundle.
/// Exports the log up to its end, if a checkpoint can be made of it.
pub fn export(cairn: &Cairn, selection: Selection) -> Vec<u8> {
    let _ = cairn.checkpoint();
    let mut out = Vec::new();
    let options = ExportOptions { selection, with_keys: false };
    let exported = cairn.export(&options, &mut out, &mut |_| {}).unwrap();
    assert_eq!(exported.bytes, out.len() as u64);
    out
}

pub fn session(name: &str) -> Selection {
    Selection::Session(name.to_string())
}

pub fn task(name: &str) -> Selection {
    Selection::Task(name.to_string())
}

/// What the library finds.
pub fn verify(bytes: &[u8], keys: &[VerifyingKey]) -> BundleReport {
    bundle::verify(BufReader::new(bytes), keys, &mut |_| {}).unwrap()
}

/// What both verifiers find: `reason (place)` each, in order. They must agree in every one.
#[track_caller]
pub fn both(bytes: &[u8], keys: &[VerifyingKey]) -> Vec<String> {
    let report = verify(bytes, keys);
    let ours: Vec<String> = report.findings.iter().map(place).collect();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("bundle.jsonl");
    std::fs::write(&file, bytes).unwrap();
    let (code, out) = in_one_process(&file, keys);
    let theirs: Vec<String> = out
        .lines()
        .filter(|line| line.starts_with(|c: char| c.is_ascii_digit()) && line.contains(". "))
        .filter_map(|line| line.split_once(". ")?.1.split_once("): "))
        .map(|(place, _)| format!("{place})"))
        .collect();
    assert_eq!(ours, theirs, "{out}\n{:#?}", report.findings);
    assert_eq!(code, i32::from(!report.valid()), "{out}");
    ours
}

/// The other verifier.
pub const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/verify_bundle.py");

/// Runs the other verifier over and over in one process, since its start takes longer than what it does here.
const DRIVER: &str = r#"
import contextlib, importlib.util, io, json, sys
spec = importlib.util.spec_from_file_location("verify_bundle", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
for line in sys.stdin:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = module.main(json.loads(line))
    print(json.dumps([code, out.getvalue()]), flush=True)
"#;

/// What the other verifier says.
pub fn in_one_process(file: &Path, keys: &[VerifyingKey]) -> (i32, String) {
    static PYTHON: Mutex<Option<(Child, BufReader<ChildStdout>)>> = Mutex::new(None);
    let mut process = PYTHON.lock().unwrap_or_else(PoisonError::into_inner);
    let (child, output) = process.get_or_insert_with(|| {
        let mut command = Command::new("python3");
        command.args(["-B", "-OO", "-c", DRIVER, SCRIPT]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        (child, output)
    });
    let arguments: Vec<String> = [file.display().to_string()]
        .into_iter()
        .chain(keys.iter().map(|key| format!("--key={key}")))
        .collect();
    writeln!(child.stdin.as_mut().unwrap(), "{}", json!(arguments)).unwrap();
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    serde_json::from_str(&line).expect("a finding, not a traceback")
}

/// Runs the other verifier, as a person would.
pub fn python(file: &Path, keys: &[VerifyingKey]) -> (i32, String) {
    let keys = keys.iter().flat_map(|key| ["--key".to_string(), key.to_string()]);
    let run = Command::new("python3").args(["-B", "-O", SCRIPT]).arg(file).args(keys).output().unwrap();
    let errors = String::from_utf8_lossy(&run.stderr);
    assert_eq!(errors, "", "a finding, not a traceback");
    (run.status.code().unwrap(), String::from_utf8(run.stdout).unwrap())
}

fn place(finding: &Finding) -> String {
    let mut place = format!("{} (table {}", finding.reason, finding.table);
    if let Some(seq) = finding.seq {
        place.push_str(&format!(", log entry {seq}"));
    }
    for part in [&finding.id, &finding.field].into_iter().flatten() {
        place.push_str(&format!(", {part}"));
    }
    place + ")"
}

/// A bundle in the hands of a forger.
#[derive(Clone)]
pub struct Bundle {
    pub lines: Vec<Value>,
}

impl Bundle {
    pub fn of(bytes: &[u8]) -> Bundle {
        let text = std::str::from_utf8(bytes).unwrap();
        Bundle { lines: text.lines().map(|line| serde_json::from_str(line).unwrap()).collect() }
    }

    pub fn origin(&self) -> String {
        self.lines[0]["origin"].as_str().unwrap().to_string()
    }

    /// The number of the line that holds an entry.
    pub fn line_of(&self, seq: u64) -> usize {
        let holds = |line: &Value| {
            line.get("leaf").is_some_and(|leaf| {
                serde_json::from_str::<Value>(leaf.as_str().unwrap()).unwrap()["seq"] == json!(seq)
            })
        };
        self.lines.iter().position(holds).unwrap()
    }

    /// The first entry of a kind.
    pub fn first(&self, kind: &str) -> u64 {
        (0..).find(|seq| self.leaf(*seq)["kind"] == json!(kind)).unwrap()
    }

    pub fn leaf(&self, seq: u64) -> Value {
        serde_json::from_str(self.lines[self.line_of(seq)]["leaf"].as_str().unwrap()).unwrap()
    }

    /// Changes fields of the bytes of an entry.
    pub fn set_leaf(&mut self, seq: u64, change: impl FnOnce(&mut Value)) {
        let (line, mut leaf) = (self.line_of(seq), self.leaf(seq));
        change(&mut leaf);
        self.lines[line]["leaf"] = json!(String::from_utf8(canonical::to_bytes(&leaf).unwrap()).unwrap());
    }

    /// The bytes, with a manifest that fits them.
    pub fn bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for line in &self.lines {
            let mut line = line.clone();
            if line.get("manifest").is_some() {
                line["manifest"]["sha256"] = json!(Sha::of(&out).to_string());
            }
            canonical::write(&line, &mut out).unwrap();
            out.push(b'\n');
        }
        out
    }

    fn entries(&self) -> Vec<&str> {
        self.lines.iter().filter_map(|line| line.get("leaf")?.as_str()).collect()
    }

    /// Makes a bundle of the whole log one of a part: the entries at these places, with proofs under the root of all
    /// entries, and the last checkpoint alone.
    pub fn part(&self, selection: Value, places: &BTreeSet<usize>) -> Bundle {
        let leaves: Vec<Sha> = self.entries().iter().map(|leaf| leaf_hash(leaf.as_bytes())).collect();
        let mut header = self.lines[0].clone();
        header["full"] = json!(false);
        header["selection"] = selection;
        let mut contents: Map<String, Value> =
            self.lines.iter().filter_map(|line| line.get("bodies")?.as_object().cloned()).flatten().collect();
        let mut lines = vec![header];
        for place in places {
            let mut line = self.lines[1 + place].clone();
            if line.get("bodies").is_some() {
                let body: Value = line["body"]
                    .as_str()
                    .and_then(|body| serde_json::from_str(body).ok())
                    .unwrap_or_default();
                let named = body["ops"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter_map(|op| op["body"]["sha256"].as_str());
                line["bodies"] =
                    named.filter_map(|digest| contents.remove_entry(digest)).collect::<Map<_, _>>().into();
            }
            let proof: Vec<String> =
                proof(*place, &leaves).iter().map(|hash| STANDARD.encode(hash.0)).collect();
            line["proof"] = json!(proof);
            lines.push(line);
        }
        let redacted = lines.iter().filter(|line| line["leaf"].as_str().is_some_and(is_redaction)).count();
        lines.extend_from_slice(&self.lines[self.lines.len() - 3..]);
        let manifest = lines.last_mut().unwrap();
        manifest["manifest"] = json!({"entries": places.len(), "redacted": redacted, "sha256": ""});
        Bundle { lines }
    }

    /// Recomputes all that does not take a key: size, root, the last checkpoint (which `keys` sign), the manifest.
    pub fn rebuilt(mut self, keys: &[&SigningKey]) -> Bundle {
        let mut edge = Edge::empty();
        self.entries().iter().for_each(|leaf| edge.push(leaf_hash(leaf.as_bytes()), &mut |_| {}));
        let (size, root, origin) = (edge.size(), edge.root(), self.origin());
        self.lines[0]["size"] = json!(size);
        self.lines[0]["root"] = json!(root.to_string());
        let note = Checkpoint::new(&origin, size, root).unwrap().signed(keys).unwrap().to_string();
        let last = self.lines.len() - 3;
        self.lines[last]["checkpoint"] = json!(note);
        let redacted = self.entries().iter().filter(|leaf| is_redaction(leaf)).count();
        let manifest = self.lines.len() - 1;
        self.lines[manifest]["manifest"]["entries"] = json!(size);
        self.lines[manifest]["manifest"]["redacted"] = json!(redacted);
        self
    }
}

fn is_redaction(leaf: &str) -> bool {
    leaf.contains("\"kind\":\"redaction\"")
}

/// The root of some leaves (RFC 9162, 2.1.1).
fn root(leaves: &[Sha]) -> Sha {
    match leaves {
        [leaf] => *leaf,
        _ => {
            let (left, right) = leaves.split_at(leaves.len().next_power_of_two() / 2);
            Sha::of_parts(&[&[1], &root(left).0, &root(right).0])
        }
    }
}

/// The inclusion proof of a leaf (RFC 9162, 2.1.3.1).
fn proof(place: usize, leaves: &[Sha]) -> Vec<Sha> {
    if leaves.len() == 1 {
        return Vec::new();
    }
    let (left, right) = leaves.split_at(leaves.len().next_power_of_two() / 2);
    let (mut hashes, other) = match place.checked_sub(left.len()) {
        None => (proof(place, left), right),
        Some(place) => (proof(place, right), left),
    };
    hashes.push(root(other));
    hashes
}

/// The checkpoint of that number, from 0.
pub fn checkpoint(bundle: &mut Bundle, n: usize) -> &mut Value {
    let first = bundle.lines.iter().position(|line| line.get("checkpoint").is_some()).unwrap();
    &mut bundle.lines[first + n]["checkpoint"]
}
