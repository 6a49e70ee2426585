//! A way to the server that can be cut at the worst moment: around a commit.

use std::collections::HashSet;
use std::io::{Read, Result, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tempfile::TempDir;

use super::cluster::Cluster;

/// When the way is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    Never,
    /// Once, instead of handing on the next commit: the server sees what came before it, and then the end.
    BeforeCommit,
    /// The same, and nobody gets through afterwards.
    BeforeCommitForGood,
    /// Once, when the server has answered the next commit, and before that is handed on.
    AfterCommit,
    /// The same, and nobody gets through afterwards.
    AfterCommitForGood,
    /// Once, instead of handing on the next statement that is a transaction by itself. It arrives after all, just before
    /// the next commit.
    Late,
    /// Nobody gets through.
    Closed,
    /// Once, instead of handing on anything.
    AtOnce,
}

/// A socket that leads to the one of a server.
pub struct Way {
    folder: TempDir,
    state: Arc<Mutex<State>>,
}

struct State {
    cut: Cut,
    /// What is handed on late, and where to.
    late: Option<(Vec<u8>, UnixStream)>,
    /// How many did not get through.
    refused: usize,
}

impl Way {
    pub fn to(cluster: &Cluster) -> Way {
        let folder = tempfile::Builder::new().prefix("cairn-way").tempdir_in("/tmp").unwrap();
        let listener = UnixListener::bind(folder.path().join(".s.PGSQL.5432")).unwrap();
        let server = cluster.socket().join(".s.PGSQL.5432");
        let state = Arc::new(Mutex::new(State { cut: Cut::Never, late: None, refused: 0 }));
        let shared = state.clone();
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let mut state = shared.lock().unwrap();
                if state.cut == Cut::Closed {
                    state.refused += 1;
                    continue;
                }
                drop(state);
                let (shared, server) = (shared.clone(), server.clone());
                std::thread::spawn(move || lead(client, &server, &shared));
            }
        });
        Way { folder, state }
    }

    pub fn socket(&self) -> PathBuf {
        self.folder.path().to_path_buf()
    }

    pub fn cut(&self, when: Cut) {
        self.state.lock().unwrap().cut = when;
    }

    /// How many connections did not get through, since nobody does.
    pub fn refused(&self) -> usize {
        self.state.lock().unwrap().refused
    }

    /// When it will be cut; never, if it has been.
    pub fn pending(&self) -> Cut {
        self.state.lock().unwrap().cut
    }
}

/// What the client has said so far, as far as it tells where it commits.
#[derive(Default)]
struct Said {
    /// Prepared statements that move the log on.
    moving: HashSet<Vec<u8>>,
    in_transaction: bool,
    /// Such a statement is under way outside of a transaction: with the end of this it is committed.
    by_itself: Vec<u8>,
}

impl Said {
    /// Takes a message in; whether it commits something.
    fn commits(&mut self, message: &[u8]) -> bool {
        let words = || message[5..].split(|byte| *byte == 0);
        let starts = |sql: &[u8]| message[5..].starts_with(sql);
        match message[0] {
            b'Q' if starts(b"BEGIN") => self.in_transaction = true,
            b'Q' if starts(b"ROLLBACK") => self.in_transaction = false,
            b'Q' if starts(b"COMMIT") => {
                self.in_transaction = false;
                return true;
            }
            b'P' => {
                let (name, sql) = (words().next().unwrap(), words().nth(1).unwrap());
                if sql.windows(19).any(|part| part == b"UPDATE log SET size") {
                    self.moving.insert(name.to_vec());
                }
            }
            // The portal, and the statement.
            b'B' if !self.in_transaction && self.moving.contains(words().nth(1).unwrap()) => {
                self.by_itself = message.to_vec();
                return false;
            }
            _ => {}
        }
        if !self.by_itself.is_empty() {
            self.by_itself.extend(message);
        }
        message[0] == b'S' && !self.by_itself.is_empty()
    }
}

/// One message of a client; the first has no kind.
fn message(from: &mut impl Read, is_first: bool) -> Result<Vec<u8>> {
    let head = if is_first { 4 } else { 5 };
    let mut message = vec![0; head];
    from.read_exact(&mut message)?;
    let length = u32::from_be_bytes(message[head - 4..].try_into().unwrap()) as usize;
    message.resize(head - 4 + length, 0);
    from.read_exact(&mut message[head..])?;
    Ok(message)
}

fn lead(client: UnixStream, server: &Path, state: &Mutex<State>) {
    let Ok(server) = UnixStream::connect(server) else { return };
    let (mut from_client, mut to_server) = (client.try_clone().unwrap(), server.try_clone().unwrap());
    let (mut from_server, mut to_client) = (server, client);
    // Whether what the server says next is not for the client. It has what was sent before, and goes on with it.
    let committing = Arc::new(Mutex::new(false));
    std::thread::spawn({
        let committing = committing.clone();
        move || {
            let mut bytes = [0; 1 << 16];
            while let Ok(count @ 1..) = from_server.read(&mut bytes) {
                if *committing.lock().unwrap() || to_client.write_all(&bytes[..count]).is_err() {
                    break;
                }
            }
            let _ = to_client.shutdown(Shutdown::Both);
            let _ = from_server.shutdown(Shutdown::Both);
        }
    });
    let (mut said, mut is_first) = (Said::default(), true);
    while let Ok(message) = message(&mut from_client, is_first) {
        let commits = !is_first && said.commits(&message);
        is_first = false;
        let mut state = state.lock().unwrap();
        match (state.cut, commits) {
            (Cut::AtOnce, _) | (Cut::BeforeCommit, true) => {
                state.cut = Cut::Never;
                break;
            }
            (Cut::BeforeCommitForGood, true) => {
                state.cut = Cut::Closed;
                break;
            }
            (Cut::Closed, _) => break,
            (Cut::AfterCommit, true) => {
                state.cut = Cut::Never;
                *committing.lock().unwrap() = true;
            }
            (Cut::AfterCommitForGood, true) => {
                state.cut = Cut::Closed;
                *committing.lock().unwrap() = true;
            }
            (Cut::Late, true) if !said.by_itself.is_empty() => {
                state.cut = Cut::Never;
                state.late = Some((said.by_itself, to_server));
                let _ = from_client.shutdown(Shutdown::Both);
                return;
            }
            (Cut::Late, _) if !said.by_itself.is_empty() => continue,
            (Cut::Never, true) if state.late.is_some() => {
                let (late, mut to_server) = state.late.take().unwrap();
                to_server.write_all(&late).unwrap();
                // It comes to wait for what is about to be committed. Should it come later on a slow machine, it comes after a
                // commit, where it must not be written either.
                std::thread::sleep(Duration::from_millis(300));
            }
            _ => {}
        }
        drop(state);
        if commits {
            said.by_itself.clear();
        }
        if to_server.write_all(&message).is_err() {
            break;
        }
    }
    let _ = to_server.shutdown(Shutdown::Both);
    let _ = from_client.shutdown(Shutdown::Both);
}
