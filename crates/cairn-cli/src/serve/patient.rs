//! A connection that is given up when the client no longer takes what it is sent.
//!
//! Whoever asks for a large answer and does not read it would otherwise keep it in memory for ever.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

/// Writes end in an error after so long a time without any progress.
pub struct Patient<S> {
    stream: S,
    patience: Duration,
    /// When it ends; only looked at while a write waits.
    until: Pin<Box<Sleep>>,
    waiting: bool,
}

impl<S> Patient<S> {
    /// Must be called inside a runtime.
    pub fn new(stream: S, patience: Duration) -> Patient<S> {
        Patient { stream, patience, until: Box::pin(tokio::time::sleep(patience)), waiting: false }
    }

    /// Passes on what a write came to, unless it has waited for too long.
    fn within<T>(&mut self, context: &mut Context<'_>, outcome: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if outcome.is_ready() {
            self.waiting = false;
            return outcome;
        }
        if !self.waiting {
            self.waiting = true;
            self.until.as_mut().reset(Instant::now() + self.patience);
        }
        match self.until.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.within(context, outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.within(context, outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.stream).poll_flush(context);
        self.within(context, outcome)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.stream).poll_shutdown(context);
        self.within(context, outcome)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[tokio::test]
    async fn only_a_write_without_progress_is_given_up() {
        // A busy machine takes longer than a nap lasts. With more patience the same delay matters less.
        for patience in [1, 4, 16, 64].map(Duration::from_secs) {
            let (ours, mut theirs) = tokio::io::duplex(16);
            let mut ours = Patient::new(ours, patience);
            // A client that takes a little at a time is waited for, longer than for one that takes nothing.
            let slow = tokio::spawn(async move {
                let mut taken = [0; 16];
                for _ in 0..6 {
                    tokio::time::sleep(patience / 5).await;
                    theirs.read_exact(&mut taken).await.unwrap();
                }
                theirs
            });
            if ours.write_all(&[1; 6 * 16]).await.is_err() {
                slow.abort();
                continue;
            }
            let theirs = slow.await.unwrap();
            let error = ours.write_all(&[1; 64]).await.unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::TimedOut);
            drop(theirs);
            return;
        }
        panic!("a client that takes a little at a time is given up");
    }
}
