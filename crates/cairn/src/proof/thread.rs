//! When checkpoints are made: after so many entries, some time after the first that none covers, and at the end.

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::Stated;
use super::make::Maker;
use crate::error::{Error, Result};
use crate::store::StoreError;

/// A checkpoint is made after this many entries,
const ENTRIES: u64 = 256;
/// or this long after the first entry that no checkpoint covers.
const AGE: Duration = Duration::from_secs(60);

/// What the thread is told.
pub(crate) enum Message {
    /// The log has this many entries.
    Grown(u64),
    /// Somebody waits for a checkpoint.
    Now(oneshot::Sender<Result<Stated>>),
    Stop,
}

/// The thread that makes checkpoints, beside the one that records and never in its way.
pub(crate) struct Checkpoints {
    messages: Sender<Message>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Checkpoints {
    /// Starts the thread; `messages` is the other end of `queue`. Without `automatic`, checkpoints are made only when
    /// somebody asks.
    pub fn start(
        maker: Maker,
        messages: Sender<Message>,
        queue: Receiver<Message>,
        automatic: bool,
    ) -> Checkpoints {
        let work = move || Work { maker, automatic, stated: None, since: None, size: 0 }.run(&queue);
        let thread = std::thread::Builder::new().name("cairn-checkpoints".into()).spawn(work);
        Checkpoints { messages, thread: Mutex::new(thread.ok()) }
    }

    /// Makes a checkpoint of the log as it is.
    pub fn now(&self) -> Result<Stated> {
        let (reply, answer) = oneshot::channel();
        let _ = self.messages.send(Message::Now(reply));
        answer.blocking_recv().unwrap_or(Err(StoreError::Stopped.into()))
    }

    /// Covers what was recorded since the last checkpoint, and ends the thread.
    pub fn stop(&self) {
        let _ = self.messages.send(Message::Stop);
        if let Some(thread) = self.thread.lock().ok().and_then(|mut thread| thread.take()) {
            let _ = thread.join();
        }
    }
}

impl Drop for Checkpoints {
    fn drop(&mut self) {
        self.stop();
    }
}

struct Work {
    maker: Maker,
    automatic: bool,
    /// The size at the last checkpoint, as far as is known.
    stated: Option<u64>,
    /// When the first entry that none covers was written.
    since: Option<Instant>,
    /// Entries in the log, as far as is known.
    size: u64,
}

impl Work {
    fn run(mut self, queue: &Receiver<Message>) {
        loop {
            let patience = self.since.map_or(Duration::MAX, |since| AGE.saturating_sub(since.elapsed()));
            match queue.recv_timeout(patience) {
                Ok(Message::Grown(size)) => {
                    // While a checkpoint was being made, more may have come: one covers all of it.
                    self.size = size;
                    self.since.get_or_insert_with(Instant::now);
                    let known = *self.stated.get_or_insert_with(|| {
                        let stated = self.maker.stated_size();
                        if stated == 0 {
                            // Until the first checkpoint, nothing else outside tells that this was recorded. If it
                            // cannot be remembered, the checkpoint will say so.
                            let _ = self.maker.remember_unstated();
                        }
                        stated
                    });
                    if self.automatic && size.saturating_sub(known) >= ENTRIES {
                        self.make_quietly();
                    }
                }
                Ok(Message::Now(reply)) => drop(reply.send(self.make())),
                Err(RecvTimeoutError::Timeout) if self.automatic => self.make_quietly(),
                Err(RecvTimeoutError::Timeout) => self.since = None,
                Ok(Message::Stop) | Err(RecvTimeoutError::Disconnected) => {
                    if self.automatic && self.since.is_some() {
                        self.make_quietly();
                    }
                    return;
                }
            }
        }
    }

    fn make(&mut self) -> Result<Stated> {
        let made = self.maker.make();
        if let Ok(stated) = &made {
            self.stated = Some(stated.size);
            self.maker.note_failure(None);
            self.since = (self.size > stated.size).then(Instant::now);
        }
        made
    }

    /// Nobody waits for this one. What went wrong is told by whoever asks next; a log that contradicts itself is not
    /// written to any more.
    fn make_quietly(&mut self) {
        if let Err(error) = self.make() {
            // Tried again when the next is due.
            self.since = Some(Instant::now());
            self.stated = Some(self.size);
            self.maker.note_failure(Some(&error));
            if let Error::Store(StoreError::Damaged(what)) = &error {
                self.maker.writer.refuse(what);
            }
        }
    }
}
