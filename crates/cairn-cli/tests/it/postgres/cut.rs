//! A way to the server that can be cut at the worst moment: around a commit.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

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
    /// Nobody gets through.
    Closed,
    /// Once, instead of handing on anything.
    AtOnce,
}

/// A socket that leads to the one of a server.
pub struct Way {
    folder: TempDir,
    cut: Arc<Mutex<Cut>>,
}

/// As it goes over the wire.
const COMMIT: &[u8] = b"COMMIT\0";

impl Way {
    pub fn to(cluster: &Cluster) -> Way {
        let folder = tempfile::Builder::new().prefix("cairn-way").tempdir_in("/tmp").unwrap();
        let listener = UnixListener::bind(folder.path().join(".s.PGSQL.5432")).unwrap();
        let (cut, server) = (Arc::new(Mutex::new(Cut::Never)), cluster.socket().join(".s.PGSQL.5432"));
        let cuts = cut.clone();
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if *cuts.lock().unwrap() == Cut::Closed {
                    continue;
                }
                let (cuts, server) = (cuts.clone(), server.clone());
                std::thread::spawn(move || lead(client, &server, &cuts));
            }
        });
        Way { folder, cut }
    }

    pub fn socket(&self) -> PathBuf {
        self.folder.path().to_path_buf()
    }

    pub fn cut(&self, when: Cut) {
        *self.cut.lock().unwrap() = when;
    }

    /// When it will be cut; never, if it has been.
    pub fn pending(&self) -> Cut {
        *self.cut.lock().unwrap()
    }
}

fn lead(client: UnixStream, server: &Path, cut: &Arc<Mutex<Cut>>) {
    let Ok(server) = UnixStream::connect(server) else { return };
    let (mut from_client, mut to_server) = (client.try_clone().unwrap(), server.try_clone().unwrap());
    let (mut from_server, mut to_client) = (server, client);
    // Whether what the server says next is not for the client. It has what was sent before, and goes on with it.
    let committing = Arc::new(Mutex::new(false));
    let answers = std::thread::spawn({
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
    let mut bytes = vec![0; 1 << 20];
    while let Ok(count @ 1..) = from_client.read(&mut bytes) {
        let bytes = &bytes[..count];
        let place = bytes.windows(COMMIT.len()).position(|window| window == COMMIT);
        let mut when = cut.lock().unwrap();
        match (*when, place) {
            (Cut::AtOnce, _) => {
                *when = Cut::Never;
                break;
            }
            (Cut::BeforeCommit | Cut::BeforeCommitForGood, Some(place)) => {
                *when = if *when == Cut::BeforeCommit { Cut::Never } else { Cut::Closed };
                // The message begins with its kind and its length.
                let _ = to_server.write_all(&bytes[..place - 5]);
                break;
            }
            (Cut::Closed, _) => break,
            (Cut::AfterCommit | Cut::AfterCommitForGood, Some(_)) => {
                *when = if *when == Cut::AfterCommit { Cut::Never } else { Cut::Closed };
                *committing.lock().unwrap() = true;
            }
            _ => {}
        }
        drop(when);
        if to_server.write_all(bytes).is_err() {
            break;
        }
    }
    let _ = to_server.shutdown(Shutdown::Both);
    let _ = from_client.shutdown(Shutdown::Both);
    let _ = answers.join();
}
