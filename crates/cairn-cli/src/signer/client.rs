//! Asking a signer.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::time::Duration;

use cairn::core::entry::KeyStatement;
use cairn::core::log::{Checkpoint, CheckpointNote, Growth};
use cairn::core::note::{Signature, VerifyingKey};
use cairn::{GrowthProof, Signer};

use super::MAX_LINES;

/// How long it is waited for.
const PATIENCE: Duration = Duration::from_secs(2);
/// The size it remembers is told in the first answer; more are needed only if others have something signed.
const ROUNDS: usize = 4;
/// The longest line of an answer.
const MAX_LINE: u64 = 2048;

/// Has checkpoints signed over a Unix socket.
pub(crate) struct SocketSigner {
    path: PathBuf,
    /// The sizes that the signer is known to remember.
    known: Mutex<HashMap<String, u64>>,
}

/// What a signer answers.
enum Answer {
    Lines(Vec<String>),
    Refused { size: u64, words: String },
}

impl SocketSigner {
    /// Asks the signer that listens on this socket.
    pub(crate) fn new(path: impl Into<PathBuf>) -> SocketSigner {
        SocketSigner { path: path.into(), known: Mutex::default() }
    }

    fn ask(&self, request: &str) -> Result<Answer, String> {
        let shown = self.path.display();
        let failed = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut => {
                format!("the signer at `{shown}` did not answer in time")
            }
            _ => format!("the signer at `{shown}` cannot be asked: {error}"),
        };
        let mut stream = self.connect()?;
        stream.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
        stream.set_write_timeout(Some(PATIENCE)).map_err(failed)?;
        // One who may not ask is told so, and perhaps not listened to.
        let sent = stream.write_all(request.as_bytes());
        let mut input = BufReader::new(stream);
        let mut line = || {
            let mut line = String::new();
            input.by_ref().take(MAX_LINE).read_line(&mut line).map_err(failed)?;
            let cut_off = || format!("the signer at `{shown}` broke off its answer");
            line.strip_suffix('\n').map(str::to_string).ok_or_else(cut_off)
        };
        let first = line().map_err(|error| sent.map_err(failed).err().unwrap_or(error))?;
        let (word, rest) = first.split_once(' ').unwrap_or((&first, ""));
        let strange = || format!("the signer at `{shown}` answered `{first}`");
        match word {
            "OK" => {
                let count = rest.parse().ok().filter(|count| *count <= MAX_LINES).ok_or_else(strange)?;
                (0..count).map(|_| line()).collect::<Result<_, _>>().map(Answer::Lines)
            }
            "REFUSED" => {
                let (size, words) = rest.split_once(' ').unwrap_or((rest, ""));
                let size = size.parse().map_err(|_| strange())?;
                Ok(Answer::Refused { size, words: words.to_string() })
            }
            "ERROR" => Err(format!("the signer at `{shown}` says: {rest}")),
            _ => Err(strange()),
        }
    }

    /// Connecting waits for as long as the queue of the signer is full, so it is waited for from outside.
    fn connect(&self) -> Result<UnixStream, String> {
        let (sender, receiver) = channel();
        let path = self.path.clone();
        std::thread::spawn(move || drop(sender.send(UnixStream::connect(path))));
        let shown = self.path.display();
        match receiver.recv_timeout(PATIENCE) {
            Ok(connected) => connected.map_err(|error| format!("there is no signer at `{shown}`: {error}")),
            Err(_) => Err(format!("the signer at `{shown}` did not answer in time")),
        }
    }

    fn known(&self, origin: &str) -> u64 {
        self.known.lock().ok().and_then(|known| known.get(origin).copied()).unwrap_or(0)
    }

    fn learn(&self, origin: &str, size: u64) {
        if let Ok(mut known) = self.known.lock() {
            known.insert(origin.to_string(), size);
        }
    }
}

impl Signer for SocketSigner {
    fn sign(&self, checkpoint: &Checkpoint, growth: &mut GrowthProof<'_>) -> Result<Vec<Signature>, String> {
        let (origin, size) = (checkpoint.origin(), checkpoint.size());
        let mut old = self.known(origin).min(size);
        for _ in 0..ROUNDS {
            let proof = growth(old).map_err(|error| error.to_string())?;
            let report = Growth::new(old, proof, CheckpointNote::from(checkpoint.clone()))
                .map_err(|error| error.to_string())?
                .to_string();
            match self.ask(&format!("SIGN {}\n{report}", report.len()))? {
                Answer::Lines(lines) => {
                    self.learn(origin, size);
                    let unreadable = |error| format!("the signer's signature cannot be read: {error}");
                    return lines.iter().map(|line| line.parse().map_err(unreadable)).collect();
                }
                Answer::Refused { size: its, words } if its > size => {
                    return Err(format!(
                        "the signer has signed {its} entries of this log, and it has {size}: an older state of the \
                         database was put back ({words})"
                    ));
                }
                Answer::Refused { size: its, words } if its == old => {
                    return Err(format!(
                        "the signer has signed another past of this log, at {its} entries ({words})"
                    ));
                }
                Answer::Refused { size: its, .. } => old = its,
            }
        }
        Err("others keep having this log signed; it will be tried again".to_string())
    }

    fn keys(&self, origin: &str) -> Result<Vec<VerifyingKey>, String> {
        self.keys_after("KEY", origin)
    }

    fn first_key(&self, origin: &str) -> Result<VerifyingKey, String> {
        let made = self.keys_after("MAKE", origin)?.into_iter().next();
        made.ok_or_else(|| "the signer made no key".to_string())
    }

    /// A signer serves callers that must not have the key, so it never signs for a key of theirs.
    fn sign_change(&self, _: &KeyStatement<'_>) -> Result<Vec<Signature>, String> {
        Err(format!(
            "the signer at `{}` signs checkpoints alone; change the key as the user who runs it, with its key files",
            self.path.display()
        ))
    }
}

impl SocketSigner {
    /// The keys that the signer answers with.
    fn keys_after(&self, word: &str, origin: &str) -> Result<Vec<VerifyingKey>, String> {
        if origin.contains(['\n', '\r']) {
            return Err("a log's name has no line break".to_string());
        }
        match self.ask(&format!("{word} {origin}\n"))? {
            Answer::Lines(lines) => {
                let unreadable = |error| format!("the signer's key cannot be read: {error}");
                lines.iter().map(|line| line.parse().map_err(unreadable)).collect()
            }
            Answer::Refused { words, .. } => Err(format!("the signer does not say its key: {words}")),
        }
    }
}
