//! What waits to be written to the client.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Serialize;
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::envelope::LongAnswer;

/// Above this many waiting bytes, no further request is read until the client has taken some.
const ROOM: usize = 64 << 20;
/// How long a client that does not read may hold up the end.
const LAST_WRITE: Duration = Duration::from_secs(5);
const KEPT_CAPACITY: usize = 1 << 20;

/// Lines for the client. One task writes them, everything that is ready at once in one go.
pub struct Outbox {
    shared: Arc<Shared>,
    writer: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    /// Something was put into `waiting`, or `closed` was set.
    filled: Notify,
    /// `waiting` was emptied, or `gone` was set.
    emptied: Notify,
    closed: AtomicBool,
    /// The client no longer takes anything.
    gone: AtomicBool,
}

/// Messages in order: long answers with what came before each, then lines.
#[derive(Default)]
struct Waiting {
    long: Vec<(Vec<u8>, LongAnswer)>,
    lines: Vec<u8>,
}

impl Waiting {
    fn len(&self) -> usize {
        let long = self.long.iter().map(|(lines, answer)| lines.len() + answer.len());
        self.lines.len() + long.sum::<usize>()
    }
}

impl Outbox {
    /// Starts the task that writes to `output`.
    pub fn new(output: impl AsyncWrite + Send + Unpin + 'static) -> Outbox {
        let shared = Arc::new(Shared::default());
        let writer = tokio::spawn(write(shared.clone(), output));
        Outbox { shared, writer: Some(writer) }
    }

    /// Adds a message as one line. It is written as soon as the client takes it.
    pub fn put(&self, message: &impl Serialize) -> io::Result<()> {
        self.put_with(|out| serde_json::to_writer(out, message))
    }

    /// Adds whatever `write` appends as one line.
    pub fn put_with(&self, write: impl FnOnce(&mut Vec<u8>) -> serde_json::Result<()>) -> io::Result<()> {
        if self.is_gone() {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let mut waiting = self.waiting();
        let before = waiting.lines.len();
        if let Err(error) = write(&mut waiting.lines) {
            waiting.lines.truncate(before);
            return Err(error.into());
        }
        waiting.lines.push(b'\n');
        drop(waiting);
        self.shared.filled.notify_one();
        Ok(())
    }

    /// Adds an answer that is made into a line only while it is written.
    pub fn put_long(&self, answer: LongAnswer) -> io::Result<()> {
        if self.is_gone() {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let mut waiting = self.waiting();
        let before = std::mem::take(&mut waiting.lines);
        waiting.long.push((before, answer));
        drop(waiting);
        self.shared.filled.notify_one();
        Ok(())
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.shared.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the client has closed its end.
    pub fn is_gone(&self) -> bool {
        self.shared.gone.load(Ordering::Relaxed)
    }

    /// Returns at once unless the client is far behind with reading.
    pub async fn room(&self) {
        while !self.is_gone() && self.shared.waiting.lock().is_ok_and(|waiting| waiting.len() > ROOM) {
            self.shared.emptied.notified().await;
        }
    }

    /// Returns when the client has closed its end.
    pub async fn gone(&self) {
        while !self.is_gone() {
            self.shared.emptied.notified().await;
        }
    }

    /// Writes what is left.
    pub async fn close(&mut self) {
        self.shared.closed.store(true, Ordering::Relaxed);
        self.shared.filled.notify_one();
        if let Some(writer) = self.writer.take() {
            let _ = tokio::time::timeout(LAST_WRITE, writer).await;
        }
    }
}

async fn write(shared: Arc<Shared>, mut output: impl AsyncWrite + Unpin) {
    let mut lines = Vec::new();
    loop {
        lines.clear();
        lines.shrink_to(KEPT_CAPACITY);
        let mut long = Vec::new();
        if let Ok(mut waiting) = shared.waiting.lock() {
            std::mem::swap(&mut waiting.lines, &mut lines);
            long = std::mem::take(&mut waiting.long);
        }
        if !lines.is_empty() || !long.is_empty() {
            let written = async {
                for (before, answer) in long {
                    output.write_all(&before).await?;
                    answer.write(&mut output).await?;
                }
                output.write_all(&lines).await?;
                output.flush().await
            };
            let failed = written.await.is_err();
            shared.gone.store(failed, Ordering::Relaxed);
            shared.emptied.notify_one();
            if failed {
                return;
            }
        } else if shared.closed.load(Ordering::Relaxed) {
            return;
        } else {
            shared.filled.notified().await;
            // Whatever else is ready now is written with it.
            tokio::task::yield_now().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt;

    #[tokio::test]
    async fn everything_put_before_the_end_is_written() {
        let (output, mut input) = tokio::io::duplex(16);
        let mut outbox = Outbox::new(output);
        for number in 0..100 {
            outbox.put(&number).unwrap();
        }
        let reader = tokio::spawn(async move {
            let mut text = String::new();
            input.read_to_string(&mut text).await.unwrap();
            text
        });
        outbox.close().await;
        let text = reader.await.unwrap();
        assert_eq!(text, (0..100).map(|number| format!("{number}\n")).collect::<String>());
    }

    #[tokio::test]
    async fn a_client_that_is_gone_is_noticed() {
        let (output, input) = tokio::io::duplex(16);
        drop(input);
        let outbox = Outbox::new(output);
        outbox.put(&1).unwrap();
        outbox.gone().await;
        assert!(outbox.put(&2).is_err());
    }
}
