//! Waiting for an answer on a thread that may wait, whoever else runs on it.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

use tokio::runtime::Runtime;

/// Wakes the thread that waits.
struct Bell {
    rung: AtomicBool,
    thread: Thread,
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.rung.store(true, Ordering::Release);
        self.thread.unpark();
    }
}

/// Waits until `work` is done; what it starts runs on `runtime`.
///
/// A runtime's own way to wait refuses to be used from within another runtime's tasks. Callers are there, and wait for an
/// SQLite file just so. A caller's task has only so many steps before it must pause, which is not this one's concern.
pub fn wait<T>(runtime: &Runtime, work: impl Future<Output = T>) -> T {
    let _inside = runtime.enter();
    let mut work = pin!(tokio::task::unconstrained(work));
    let bell = Arc::new(Bell { rung: AtomicBool::new(false), thread: std::thread::current() });
    let waker = Waker::from(bell.clone());
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(done) = work.as_mut().poll(&mut context) {
            return done;
        }
        // The thread may have been woken for something else.
        while !bell.rung.swap(false, Ordering::Acquire) {
            std::thread::park();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn one_can_wait_within_another_runtime_and_while_waiting() {
        let build =
            || tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let (theirs, ours) = (build(), build());
        let nap = || async { tokio::time::sleep(Duration::from_millis(5)).await };
        let counted = theirs.block_on(async {
            (0..300)
                .map(|i| {
                    wait(&ours, async {
                        nap().await;
                        wait(&ours, nap());
                        i
                    })
                })
                .take(20)
                .sum::<i32>()
        });
        assert_eq!(counted, 190);
    }
}
