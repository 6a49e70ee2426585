//! Telling witnesses while a server runs.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use cairn::Cairn;

use super::publish_newest;
use crate::state::StateFolder;

/// How often it is looked whether a witness is due.
const EVERY: Duration = Duration::from_secs(60);

/// A thread that hands the newest checkpoint to the witnesses whose time it is. Nobody waits for it but the end of the
/// program, and that not for long.
pub(crate) struct Publisher {
    stop: Sender<()>,
    thread: Option<JoinHandle<()>>,
}

impl Publisher {
    /// Starts it.
    pub(crate) fn start(cairn: Cairn) -> Publisher {
        let (stop, stopped) = channel();
        let work = move || {
            let state = StateFolder::find();
            loop {
                let waited = stopped.recv_timeout(EVERY);
                publish_newest(&cairn, state.as_ref());
                if !matches!(waited, Err(RecvTimeoutError::Timeout)) {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("cairn-witnesses".into()).spawn(work);
        Publisher { stop, thread: thread.ok() }
    }

    /// Hands on what is newest, and ends.
    pub(crate) fn stop(self) {
        let _ = self.stop.send(());
        if let Some(thread) = self.thread {
            let _ = thread.join();
        }
    }
}
