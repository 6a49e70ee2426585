use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use cairn_core::Sha;
use cairn_core::log::{Checkpoint, CheckpointNote, Growth};
use cairn_core::note::{Cosigned, Signature, SigningKey, VerifyingKey, WitnessKey};

use crate::foreign_oracles::program;
use crate::vectors::Log;

/// `aics-witness`, serving on a free port of this machine until it is dropped.
struct Witness {
    folder: PathBuf,
    server: Child,
    address: String,
    key: WitnessKey,
}

fn command(folder: &Path, name: &str) -> Command {
    let mut command = program("CAIRN_TEST_ORACLES_PYTHON");
    command.args(["-m", "aics_witness", name, "--config"]).arg(folder.join("witness.json"));
    command
}

#[track_caller]
fn output(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

impl Witness {
    /// Starts one that knows the log of `key`.
    fn of_log(key: &VerifyingKey) -> Witness {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("witness-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        let vkey = output(command(&folder, "init").args(["--name", "witness.example/w1"]));
        let log = ["--origin", key.name(), "--vkey", &key.to_string()];
        output(command(&folder, "add-log").args(log));
        let said = folder.join("said");
        let server = command(&folder, "serve")
            .args(["--listen", "127.0.0.1:0"])
            .stdout(Stdio::null())
            .stderr(File::create(&said).unwrap())
            .spawn()
            .unwrap();
        let key = vkey.trim_end().parse().unwrap();
        let mut witness = Witness { folder, server, address: String::new(), key };
        let begun = Instant::now();
        while witness.address.is_empty() {
            let text = fs::read_to_string(&said).unwrap();
            assert!(begun.elapsed() < Duration::from_secs(60), "the witness does not listen: {text}");
            let rest = text.split_once("listening on http://").map_or("", |(_, rest)| rest);
            // Only once the line is complete.
            witness.address = rest.split_once(' ').map_or("", |(address, _)| address).to_string();
            std::thread::sleep(Duration::from_millis(10));
        }
        witness
    }

    /// Sends a body and returns status and answer.
    fn add_checkpoint(&self, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let head = format!(
            "POST /add-checkpoint HTTP/1.1\r\nHost: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            self.address,
            body.len()
        );
        stream.write_all((head + body).as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_string())
    }

    /// Sends growth that it cosigns, and returns the note with the cosignature.
    #[track_caller]
    fn cosigns(&self, growth: &Growth) -> CheckpointNote {
        let (status, answer) = self.add_checkpoint(&growth.to_string());
        assert_eq!(status, 200, "{answer}");
        let mut note = growth.checkpoint().clone();
        Signature::parse_lines(&answer).unwrap().into_iter().for_each(|line| note.add(line).unwrap());
        note
    }

    #[track_caller]
    fn refuses(&self, growth: &str, expected: u16) -> String {
        let (status, answer) = self.add_checkpoint(growth);
        assert_eq!(status, expected, "{answer}");
        answer
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

#[test]
fn a_witness_of_others_cosigns_growth_and_nothing_else() {
    let key = SigningKey::from_seed("cairn/test", [7; 32]).unwrap();
    let other = SigningKey::from_seed("cairn/other", [7; 32]).unwrap();
    let witness = Witness::of_log(key.verifying_key());
    let log = Log::new(40);
    let signed = |size: u64, root: Sha, key: &SigningKey| {
        Checkpoint::new(key.verifying_key().name(), size, root).unwrap().signed(&[key]).unwrap()
    };
    let growth = |old: u64, new: u64| {
        Growth::new(old, log.consistency(old, new), signed(new, log.root(new), &key)).unwrap()
    };

    let note = witness.cosigns(&growth(0, 5));
    assert_eq!(note.verify(key.verifying_key()).unwrap().size(), 5);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    let Cosigned::At(time) = note.cosigned(&witness.key) else { panic!("not cosigned: {note}") };
    assert!(now.abs_diff(time) < 60, "{time} is not now");
    let read: CheckpointNote = note.to_string().parse().unwrap();
    assert_eq!(read, note);

    // A replay learns the size from which the proof must start.
    assert_eq!(witness.refuses(&growth(0, 5).to_string(), 409), "5\n");
    assert_eq!(witness.refuses(&growth(3, 7).to_string(), 409), "5\n");
    for (old, new) in [(5, 5), (5, 6), (6, 8), (8, 33), (33, 40)] {
        let note = witness.cosigns(&growth(old, new));
        assert!(matches!(note.cosigned(&witness.key), Cosigned::At(_)), "{note}");
        assert_eq!(witness.refuses(&growth(old.min(new - 1), new).to_string(), 409), format!("{new}\n"));
    }

    // History that was rewritten, at the same size and beyond.
    let rewritten = Growth::new(40, vec![], signed(40, Sha::of(b"other"), &key)).unwrap();
    witness.refuses(&rewritten.to_string(), 422);
    let rewritten = Growth::new(40, vec![Sha::of(b"proof")], signed(41, Sha::of(b"other"), &key)).unwrap();
    witness.refuses(&rewritten.to_string(), 422);
    // Keys and logs it does not know, and what is no request.
    let unknown = Growth::new(40, vec![], signed(40, log.root(40), &other)).unwrap();
    witness.refuses(&unknown.to_string(), 404);
    let foreign = Checkpoint::new("cairn/test", 40, log.root(40)).unwrap().signed(&[&other]).unwrap();
    witness.refuses(&Growth::new(40, vec![], foreign).unwrap().to_string(), 403);
    witness.refuses(&growth(5, 6).to_string().replacen("old 5", "old 05", 1), 400);
    // None of this moved it.
    witness.cosigns(&growth(40, 40));
}
