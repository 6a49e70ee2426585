//! Waits for records to reach the disk, all of them in one task.
//!
//! The library commits many records at once, and then reports them one by one from its own thread. If each
//! report woke the task of its call, each would cost a system call to wake the runtime: here only the first of
//! a batch does, and the answers to the batch are ready together, to be written together.

use std::panic::AssertUnwindSafe;

use cairn::{Cairn, NewThought, Result, Thought};
use futures::FutureExt;
use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};
use tokio::sync::{mpsc, oneshot};

type Waiting = BoxFuture<'static, ()>;

/// Records thoughts.
pub struct Recorder {
    waiting: mpsc::UnboundedSender<Waiting>,
}

impl Recorder {
    /// Starts the task. Must be called inside a runtime.
    pub fn new() -> Recorder {
        let (waiting, arriving) = mpsc::unbounded_channel();
        tokio::spawn(wait(arriving));
        Recorder { waiting }
    }

    /// Records a thought, or returns none if the library panicked.
    pub async fn record(&self, cairn: &Cairn, thought: NewThought) -> Option<Result<Thought>> {
        let (reply, answer) = oneshot::channel();
        let recorded = AssertUnwindSafe(cairn.record_async(thought)).catch_unwind();
        let waiting = recorded.map(|outcome| outcome.map_or((), |recorded| drop(reply.send(recorded))));
        self.waiting.send(waiting.boxed()).ok()?;
        answer.await.ok()
    }
}

async fn wait(mut arriving: mpsc::UnboundedReceiver<Waiting>) {
    let mut waiting = FuturesUnordered::new();
    loop {
        tokio::select! {
            arrived = arriving.recv() => match arrived {
                Some(record) => waiting.push(record),
                None => break,
            },
            Some(()) = waiting.next() => {}
        }
    }
    while waiting.next().await.is_some() {}
}
