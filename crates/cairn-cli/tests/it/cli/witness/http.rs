//! Heads that `aics-witness` signs, an implementation of tlog-witness that is not ours; and servers that only pretend.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use cairn::core::log::CheckpointNote;
use cairn::core::note::{Cosigned, Verdict, VerifyingKey, WitnessKey};

use super::bench::Bench;
use super::server::{Reply, serve};

/// A key of type 4 that nobody has.
pub const KEY: &str = "witness.example/w1+24b5d9fe+BP0XJDhaoMdbZPt4zWAvodmR/ev3axPFjtcC6sg16fYY";

/// `aics-witness`, serving on a free port until it is dropped.
struct Witness {
    folder: PathBuf,
    server: Option<Child>,
    url: String,
    key: String,
}

impl Witness {
    fn of_log(bench: &Bench, key: &VerifyingKey) -> Witness {
        let folder = bench.path("witness");
        fs::create_dir(&folder).unwrap();
        let mut witness = Witness { folder, server: None, url: String::new(), key: String::new() };
        witness.key = witness.output("init", &["--name", "witness.example/w1"]).trim_end().to_string();
        witness.output("add-log", &["--origin", key.name(), "--vkey", &key.to_string()]);
        witness.start("127.0.0.1:0");
        witness
    }

    fn command(&self, name: &str) -> Command {
        let python = std::env::var_os("CAIRN_TEST_ORACLES_PYTHON").unwrap_or_else(|| {
            panic!("CAIRN_TEST_ORACLES_PYTHON is not set; a witness by others is needed: run scripts/test")
        });
        let mut command = Command::new(python);
        command.args(["-m", "aics_witness", name, "--config"]).arg(self.folder.join("witness.json"));
        command
    }

    fn output(&self, name: &str, args: &[&str]) -> String {
        let output = self.command(name).args(args).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn start(&mut self, address: &str) {
        let said = self.folder.join("said");
        let mut command = self.command("serve");
        command.args(["--listen", address]).stdout(Stdio::null()).stderr(File::create(&said).unwrap());
        self.server = Some(command.spawn().unwrap());
        let begun = Instant::now();
        loop {
            let text = fs::read_to_string(&said).unwrap();
            assert!(begun.elapsed() < Duration::from_secs(60), "the witness does not listen: {text}");
            if let Some((_, rest)) = text.split_once("listening on ")
                && let Some((url, _)) = rest.split_once(' ')
            {
                self.url = url.to_string();
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn stop(&mut self) {
        if let Some(mut server) = self.server.take() {
            server.kill().unwrap();
            server.wait().unwrap();
        }
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The notes that were kept, newest last.
fn kept(bench: &Bench) -> Vec<CheckpointNote> {
    let Ok(logs) = fs::read_dir(bench.path("state/witnessed")) else { return Vec::new() };
    let folder = logs.flatten().next().unwrap().path().join("http");
    let mut notes: Vec<CheckpointNote> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap().parse().unwrap())
        .collect();
    notes.sort_by_key(|note| note.checkpoint().size());
    notes
}

#[test]
fn a_witness_of_others_signs_growth_and_finds_rollback_and_fork() {
    let bench = Bench::new();
    let key = bench.key();
    let witness = Witness::of_log(&bench, &key);
    bench.fine(&["witness", "add", "http", &witness.url, "--key", &witness.key]);
    bench.publish();
    let sizes = [bench.newest().size, bench.think("a").size];
    bench.publish();
    // The same once more: it signs again, at a later time.
    bench.publish();
    let notes = kept(&bench);
    assert_eq!(notes.iter().map(|note| note.checkpoint().size()).collect::<Vec<_>>(), sizes);
    let their: WitnessKey = witness.key.parse().unwrap();
    for note in &notes {
        assert!(matches!(note.cosigned(&their), Cosigned::At(_)), "{note}");
        assert_eq!(note.verdict(&key), Verdict::Signed);
    }
    assert_eq!(bench.verdicts(), ["agrees"]);

    bench.save();
    let size = bench.think("two").size;
    bench.publish();
    bench.restore();
    // Without the network: by what was kept.
    let data = bench.json(&["verify"]);
    let message = data["findings"][0]["message"].as_str().unwrap();
    assert!(message.starts_with("witness `http` (http http://127.0.0.1:"), "{message}");
    assert!(message.contains(&format!("saw {size} entries")), "{message}");
    assert_eq!(bench.verdicts(), ["contradicts"]);
    let publish = bench.run(&["witness", "publish"]);
    let words = format!("it has seen {size} entries");
    assert!(publish.code == 1 && publish.out.contains(&words), "{}", publish.out);

    // Even where nothing was kept, the witness itself tells: of another branch of the same size, and of a longer one.
    fs::remove_dir_all(bench.path("state/witnessed")).unwrap();
    bench.think("other two");
    let check = bench.run(&["witness", "check"]);
    assert!(check.code == 1 && check.out.starts_with("contradicts"), "{}", check.out);
    bench.think("other three");
    let publish = bench.run(&["witness", "publish"]);
    assert!(publish.code == 1 && publish.out.contains("rewritten, or is"), "{}", publish.out);
    let verify = bench.run(&["verify"]);
    assert!(verify.out.contains("contradicts this log"), "{}", verify.out);
}

#[test]
fn a_checkpoint_is_printed_with_the_signature_of_its_witness() {
    let bench = Bench::new();
    let key = bench.key();
    let mut witness = Witness::of_log(&bench, &key);
    bench.fine(&["witness", "add", "http", &witness.url, "--key", &witness.key]);
    let their: WitnessKey = witness.key.parse().unwrap();
    let both = |text: &str| {
        let note: CheckpointNote = text.parse().unwrap();
        assert_eq!(note.signatures().len(), 2, "{text}");
        assert_eq!(note.verdict(&key), Verdict::Signed, "{text}");
        assert!(matches!(note.cosigned(&their), Cosigned::At(_)), "{text}");
        note.checkpoint().clone()
    };
    let first = both(&bench.fine(&["checkpoint"]));
    assert_eq!((first.size(), first.root()), (bench.newest().size, bench.newest().root));
    // At once, though it has signed one within the hour; and the same for programs.
    let size = bench.think("two").size;
    let data = bench.json(&["checkpoint"]);
    assert_eq!((both(data["note"].as_str().unwrap()).size(), &data["size"]), (size, &size.into()));
    assert_eq!(bench.json(&["witness", "list"])["witnesses"][0]["status"]["size"], size);

    // Without it the checkpoint stands, and it is said who was not told.
    witness.stop();
    let size = bench.think("three").size;
    let run = bench.run(&["checkpoint"]);
    assert!(run.code == 0 && run.err.contains("the witness http was not told: "), "{}", run.err);
    let note: CheckpointNote = run.out.parse().unwrap();
    assert_eq!((note.checkpoint().size(), note.verdict(&key)), (size, Verdict::Signed));
    assert_eq!(note.cosigned(&their), Cosigned::NotSigned);
}

#[test]
fn a_witness_that_went_away_and_came_back_is_published_to_again() {
    let bench = Bench::new();
    let mut witness = Witness::of_log(&bench, &bench.key());
    bench.fine(&["witness", "add", "http", &witness.url, "--key", &witness.key]);
    bench.publish();
    witness.stop();
    bench.think("two");
    let run = bench.run(&["witness", "publish"]);
    assert!(run.code == 1 && run.out.contains("Connection refused"), "{}", run.out);
    assert_eq!(bench.verdicts(), ["not_asked"]);
    let verify = bench.run(&["verify"]);
    assert!(verify.code == 0 && verify.out.contains("failed the last time"), "{}", verify.out);
    let address = witness.url.trim_start_matches("http://").to_string();
    witness.start(&address);
    // What it had signed is not known here any more: it says itself from where to prove.
    for folder in fs::read_dir(bench.path("state/witnesses")).unwrap().flatten() {
        if folder.path().is_dir() {
            fs::remove_dir_all(folder.path()).unwrap();
        }
    }
    bench.publish();
    assert_eq!(kept(&bench).len(), 2);
    assert_eq!(bench.verdicts(), ["agrees"]);
}

#[test]
fn a_witness_that_does_not_know_the_log_says_so() {
    let bench = Bench::new();
    let other = Bench::new();
    let witness = Witness::of_log(&bench, &other.key());
    bench.fine(&["witness", "add", "http", &witness.url, "--key", &witness.key]);
    let run = bench.run(&["witness", "publish"]);
    assert!(run.code == 1 && run.out.contains("it does not know this log"), "{}", run.out);
}

#[test]
fn answers_that_make_no_sense_are_told_and_nothing_is_kept() {
    let bench = Bench::new();
    // Its name and id, and no signature.
    let line = "— witness.example/w1 JLXZ/gAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA==\n";
    let answers: [(u16, Vec<u8>, &str); 10] = [
        (200, b"".to_vec(), "its answer is no signature"),
        (200, b"hello\n".to_vec(), "its answer is no signature"),
        (200, vec![0xff; 10], "its answer is not UTF-8"),
        (200, "— other AAAAAAAA\n".into(), "it did not sign with"),
        (200, line.into(), "its signature does not verify"),
        (200, vec![b'x'; 1 << 20], "answered with more than 65536 bytes"),
        (409, b"many\n".to_vec(), "does not say which"),
        (409, b"99999999999999999999999\n".to_vec(), "does not say which"),
        (500, b"oh no".to_vec(), "it answered with status 500: oh no"),
        (302, b"".to_vec(), "it answered with status 302"),
    ];
    for (index, (status, body, words)) in answers.into_iter().enumerate() {
        let url = serve(move |path, _| {
            assert_eq!(path, "/w/add-checkpoint");
            Reply::Answer(status, body.clone())
        });
        let name = format!("w{index}");
        bench.fine(&["witness", "add", "http", &format!("{url}/w/"), "--key", KEY, "--name", &name]);
        let run = bench.run(&["--json", "witness", "publish"]);
        let data = run.json();
        let one = &data["witnesses"].as_array().unwrap()[0];
        assert_eq!((run.code, &one["taken"]), (1, &false.into()), "{one}");
        assert!(one["error"].as_str().unwrap().contains(words), "{words}: {one}");
        bench.fine(&["witness", "remove", &name]);
    }
    assert!(!bench.path("state/witnessed").exists());
}

#[test]
fn addresses_and_keys_are_looked_at_before_they_are_kept() {
    let bench = Bench::new();
    for url in ["ftp://x", "http://", "witness.example", "https://user:secret@w.example", "http://a b"] {
        assert_eq!(bench.run(&["witness", "add", "http", url, "--key", KEY]).code, 1, "{url}");
    }
    let signs = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
    let run = bench.run(&["witness", "add", "http", "http://127.0.0.1:1", "--key", signs]);
    assert!(run.code == 1 && run.err.contains("the key is of type 1, 4 is expected"), "{}", run.err);
}
