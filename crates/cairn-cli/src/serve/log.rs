//! One line for each request, on standard error.

use std::fmt;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};

use crate::clock::now;

/// Lines that may wait to be written. Whoever reads them slowly must not hold up the server.
const WAITING: usize = 4096;

/// Names one request in everything that is said of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RequestId {
    server: u32,
    number: u64,
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}-{:06}", self.server, self.number)
    }
}

/// Where the lines go.
pub(crate) struct Log {
    lines: Option<SyncSender<String>>,
    lost: AtomicU64,
    server: u32,
    requests: AtomicU64,
}

impl Log {
    /// Starts the thread that writes. Without `requests` only what went wrong is told.
    pub(crate) fn start(requests: bool) -> Log {
        let (lines, waiting) = sync_channel::<String>(WAITING);
        let writing = std::thread::Builder::new().name("cairn-log".into()).spawn(move || {
            let mut out = std::io::stderr();
            for line in waiting {
                let _ = out.write_all(line.as_bytes());
            }
        });
        let mut server = [0; 4];
        // Without random numbers the requests of two servers may have the same names, no more.
        let _ = getrandom::fill(&mut server);
        Log {
            lines: (requests && writing.is_ok()).then_some(lines),
            lost: AtomicU64::new(0),
            server: u32::from_ne_bytes(server),
            requests: AtomicU64::new(0),
        }
    }

    /// A name for a request that has just come in.
    pub(crate) fn next_request(&self) -> RequestId {
        RequestId { server: self.server, number: self.requests.fetch_add(1, Ordering::Relaxed) + 1 }
    }

    /// Writes a line about a request: `what` are words of the form `name=value`.
    pub(crate) fn request(&self, id: RequestId, what: &dyn fmt::Display) {
        let Some(lines) = &self.lines else { return };
        let lost = self.lost.swap(0, Ordering::Relaxed);
        let note = if lost > 0 { format!(" lines_lost={lost}") } else { String::new() };
        let line = format!("{:.3} request={id} {what}{note}\n", now());
        if let Err(TrySendError::Full(_)) = lines.try_send(line) {
            self.lost.fetch_add(lost + 1, Ordering::Relaxed);
        }
    }
}
