//! The signer itself.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cairn::core::log::{Checkpoint, Growth};
use cairn::{KeyFolder, Signer};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::OwnedWriteHalf;
use tokio::net::{UnixListener, UnixStream};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::heads::Heads;
use super::socket;
use super::{MAX_GROWTH, MAX_LINE};

/// A connection on which nothing is asked for this long is closed.
const IDLE: Duration = Duration::from_secs(30);
/// A request that has begun must be there, and an answer be taken, within this time.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long, and how much, is listened to somebody who is being cut off.
const LAST_MOMENT: Duration = Duration::from_secs(1);
const MAX_REST: u64 = 1 << 20;
/// So many connections at once; others wait.
const CONNECTIONS: usize = 64;

/// How a signer runs.
pub(crate) struct Settings {
    pub(crate) socket: PathBuf,
    pub(crate) keys: PathBuf,
    pub(crate) heads: PathBuf,
    /// Who may ask.
    pub(crate) users: Vec<u32>,
}

/// Signs until it is told to end. `log` gets a line for whatever an operator should know.
pub(crate) fn serve(settings: Settings, log: fn(&str)) -> Result<(), String> {
    let desk = Desk {
        heads: Heads::open(&settings.heads, &settings.keys)?,
        keys: KeyFolder::new(&settings.keys),
        log,
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(4)
        .build()
        .map_err(|error| format!("cannot start: {error}"))?;
    runtime.block_on(async {
        let failed = |error: std::io::Error| format!("cannot start: {error}");
        let mut end = signal(SignalKind::terminate()).map_err(failed)?;
        let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
        let (listener, _socket) = socket::bind(&settings.socket)?;
        let listener = UnixListener::from_std(listener).map_err(failed)?;
        log(&format!("signing on {}", settings.socket.display()));
        let (desk, users) = (Arc::new(Mutex::new(desk)), Arc::new(settings.users));
        let room = Arc::new(Semaphore::new(CONNECTIONS));
        let accept = async {
            loop {
                let Ok(place) = room.clone().acquire_owned().await else { return };
                match listener.accept().await {
                    Ok((stream, _)) => {
                        let (desk, users) = (desk.clone(), users.clone());
                        tokio::spawn(async move {
                            serve_one(stream, &desk, &users, log).await;
                            drop(place);
                        });
                    }
                    // Out of file descriptors, say: it passes.
                    Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
                }
            }
        };
        tokio::select! {
            () = accept => {}
            _ = end.recv() => {}
            _ = interrupt.recv() => {}
        }
        log("stopped");
        Ok(())
    })
}

/// One connection: one request after the other.
async fn serve_one(stream: UnixStream, desk: &Arc<Mutex<Desk>>, users: &[u32], log: fn(&str)) {
    let peer = stream.peer_cred().map(|peer| peer.uid());
    let (input, mut output) = stream.into_split();
    let mut input = BufReader::new(input);
    match peer {
        Ok(uid) if users.contains(&uid) => {}
        other => {
            let who = other.map_or_else(|_| "an unknown user".to_string(), |uid| format!("user {uid}"));
            log(&format!("{who} asked and may not"));
            return part(input, output, &format!("ERROR {who} may not ask\n")).await;
        }
    }
    while let Ok(Some(request)) = timeout(IDLE, request(&mut input)).await {
        let stop = request.is_err();
        let desk = desk.clone();
        let answered = tokio::task::spawn_blocking(move || match (request, desk.lock()) {
            (Ok(request), Ok(desk)) => desk.answer(request),
            (Err(words), _) => error(words),
            (_, Err(_)) => error("an earlier request failed; restart the signer"),
        });
        let Ok(answer) = answered.await else { return };
        if stop {
            return part(input, output, &answer).await;
        }
        if !matches!(timeout(PATIENCE, output.write_all(answer.as_bytes())).await, Ok(Ok(()))) {
            return;
        }
    }
}

/// The last words to somebody. What they are still sending is let in for a moment: a connection that is closed with
/// something unread loses what was written to it.
async fn part(input: impl AsyncRead + Unpin, mut output: OwnedWriteHalf, words: &str) {
    let _ = timeout(LAST_MOMENT, async {
        output.write_all(words.as_bytes()).await?;
        output.shutdown().await?;
        tokio::io::copy(&mut input.take(MAX_REST), &mut tokio::io::sink()).await
    })
    .await;
}

/// What can be asked.
enum Request {
    Sign(String),
    Key(String),
    Make(String),
}

/// Reads a request; none at the end. After one that makes no sense, nothing more is read.
async fn request(input: &mut (impl AsyncBufRead + Unpin)) -> Option<Result<Request, &'static str>> {
    let mut line = Vec::new();
    let read = input.take(MAX_LINE).read_until(b'\n', &mut line).await.ok()?;
    if read == 0 {
        return None;
    }
    let line = match String::from_utf8(line) {
        Ok(line) => line,
        Err(_) => return Some(Err("a request is UTF-8")),
    };
    let Some(line) = line.strip_suffix('\n') else {
        return Some(Err("a request begins with a line of at most 512 bytes"));
    };
    Some(match line.split_once(' ') {
        Some(("KEY", origin)) => Ok(Request::Key(origin.to_string())),
        Some(("MAKE", origin)) => Ok(Request::Make(origin.to_string())),
        Some(("SIGN", length)) => match length.parse::<usize>() {
            Ok(length) if length <= MAX_GROWTH => {
                let mut bytes = vec![0; length];
                match timeout(PATIENCE, input.read_exact(&mut bytes)).await {
                    Ok(Ok(_)) => {
                        String::from_utf8(bytes).map(Request::Sign).map_err(|_| "a request is UTF-8")
                    }
                    _ => Err("the request was cut off"),
                }
            }
            _ => Err("after SIGN comes the number of bytes, at most 8192"),
        },
        _ => Err("a request is SIGN, KEY or MAKE"),
    })
}

/// Where requests are answered, one at a time.
struct Desk {
    heads: Heads,
    keys: KeyFolder,
    log: fn(&str),
}

impl Desk {
    fn answer(&self, request: Request) -> String {
        match request {
            Request::Key(origin) => match self.keys.keys(&origin) {
                Ok(keys) => lines(keys.iter().map(ToString::to_string).collect()),
                Err(words) => error(&words),
            },
            Request::Make(origin) => match self.keys.first_key(&origin) {
                Ok(key) => lines(vec![key.to_string()]),
                Err(words) => error(&words),
            },
            Request::Sign(text) => match text.parse::<Growth>() {
                Ok(growth) => self.sign(&growth).unwrap_or_else(|words| error(&words)),
                Err(problem) => error(&problem.to_string()),
            },
        }
    }

    /// Signs a checkpoint that extends the last one. What cannot be signed is not remembered; what is signed is
    /// remembered before anybody gets it: if anything fails afterwards, the same checkpoint can be signed again, and no
    /// other of its size.
    fn sign(&self, growth: &Growth) -> Result<String, String> {
        let new = growth.checkpoint().checkpoint();
        let known = self.heads.read(new.origin())?;
        if let Some(words) = known.as_ref().and_then(|known| refusal(known, growth)) {
            let size = known.map_or(0, |known| known.size());
            (self.log)(&format!("refused {} at {}: {words}", new.origin(), new.size()));
            return Ok(format!("REFUSED {size} {words}\n"));
        }
        let signatures = self.keys.sign(new, &mut |_| Ok(Vec::new()))?;
        if known.is_none() {
            let (origin, size, root) = (new.origin(), new.size(), new.root());
            (self.log)(&format!("first sight of {origin}: {size} entries, root {root}, taken on trust"));
        }
        if known.as_ref() != Some(new) {
            self.heads.remember(new)?;
        }
        Ok(lines(signatures.iter().map(ToString::to_string).collect()))
    }
}

/// Why a checkpoint is not signed, if it is not.
fn refusal(known: &Checkpoint, growth: &Growth) -> Option<&'static str> {
    let new = growth.checkpoint().checkpoint();
    if new.size() < known.size() {
        return Some("the log is shorter than it was");
    }
    if new.size() == known.size() && new.root() != known.root() {
        return Some("the log had other entries at this size");
    }
    if growth.old_size() != known.size() {
        return Some("prove that the log extends this size");
    }
    (!growth.extends(&known.root())).then_some("the log does not extend what was signed")
}

fn lines(lines: Vec<String>) -> String {
    let count = lines.len();
    lines.into_iter().fold(format!("OK {count}\n"), |text, line| text + &line + "\n")
}

fn error(words: &str) -> String {
    format!("ERROR {}\n", words.replace(['\n', '\r'], " "))
}
