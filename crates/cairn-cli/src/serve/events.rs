//! `/events`: tells browsers what is recorded, as it is recorded, by this process or another.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{HeaderMap, Response, StatusCode};
use serde::Serialize;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use super::Site;
use super::reply::{Problem, Reply};
use crate::error::CliError;

/// How often the log is looked at while somebody watches.
const EVERY: Duration = Duration::from_millis(250);
/// A sign of life, so that nothing between here and the browser takes the stream for dead.
const SIGN_OF_LIFE: Duration = Duration::from_secs(20);
/// Entries that are told one by one; of more at once only the size is told.
const TOLD: u64 = 500;
/// Streams at once.
const MOST_STREAMS: usize = 2048;

/// What has been recorded since the last time.
#[derive(Debug, Clone, Serialize)]
struct Grown {
    size: u64,
    /// Sessions in which something was recorded.
    sessions: BTreeSet<String>,
    /// Whether these are all.
    whole: bool,
}

/// Everyone who watches.
pub(crate) struct Events {
    told: broadcast::Sender<Arc<str>>,
    open: Arc<AtomicUsize>,
}

impl Default for Events {
    fn default() -> Events {
        Events { told: broadcast::channel(64).0, open: Arc::default() }
    }
}

impl Events {
    /// Streams that are open.
    pub(crate) fn open(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    /// Tells everyone that the verdict over the log is a new one.
    pub(crate) fn verified(&self) {
        let _ = self.told.send("event: verified\ndata: {}\n\n".into());
    }
}

/// Looks at the log while somebody watches, and tells them what is new.
pub(super) async fn watch(site: Arc<Site>) {
    let mut known: Option<u64> = None;
    loop {
        tokio::select! {
            () = site.stopping.cancelled() => return,
            () = tokio::time::sleep(EVERY) => {}
        }
        if site.events.told.receiver_count() == 0 {
            known = None;
            continue;
        }
        let cairn = site.cairn.clone();
        let looking = tokio::task::spawn_blocking(move || -> cairn::Result<(u64, Option<Grown>)> {
            let size = cairn.log_size()?;
            let Some(known) = known.filter(|known| *known < size) else { return Ok((size, None)) };
            let new = size - known;
            let entries = if new <= TOLD { cairn.entries_since(known, new)? } else { Vec::new() };
            let sessions = entries.into_iter().filter_map(|entry| entry.session_id).collect();
            Ok((size, Some(Grown { size, sessions, whole: new <= TOLD })))
        });
        // What cannot be read now is told the next time.
        let Ok(Ok((size, grown))) = looking.await else { continue };
        known = Some(size);
        if let Some(grown) = grown {
            let _ = site.events.told.send(message("grew", &grown));
        }
    }
}

fn message(event: &str, data: &impl Serialize) -> Arc<str> {
    let data = serde_json::to_string(data).unwrap_or_default();
    format!("event: {event}\ndata: {data}\n\n").into()
}

/// One who watches, until it leaves.
struct Watcher {
    told: broadcast::Receiver<Arc<str>>,
    first: Option<Arc<str>>,
    site: Arc<Site>,
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.site.events.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Opens a stream.
pub(super) fn answer(site: &Arc<Site>, _headers: &HeaderMap) -> Result<Reply, Problem> {
    if site.events.open.fetch_add(1, Ordering::Relaxed) >= MOST_STREAMS {
        site.events.open.fetch_sub(1, Ordering::Relaxed);
        return Err(CliError::busy("too many are watching; reload the page to see what is new").into());
    }
    let told = site.events.told.subscribe();
    let first: Option<Arc<str>> = Some("retry: 2000\nevent: open\ndata: {}\n\n".into());
    let watcher = Watcher { told, first, site: site.clone() };
    let frames = stream::unfold(watcher, |mut watcher| async move {
        let text = next(&mut watcher).await?;
        Some((Ok(Frame::data(Bytes::copy_from_slice(text.as_bytes()))), watcher))
    });
    let mut reply = Response::new(StreamBody::new(frames).boxed());
    *reply.status_mut() = StatusCode::OK;
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    // Proxies that gather what they pass on would hold events back.
    reply.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    Ok(reply)
}

async fn next(watcher: &mut Watcher) -> Option<Arc<str>> {
    if let Some(first) = watcher.first.take() {
        return Some(first);
    }
    tokio::select! {
        () = watcher.site.stopping.cancelled() => None,
        () = tokio::time::sleep(SIGN_OF_LIFE) => Some(": still here\n\n".into()),
        told = watcher.told.recv() => match told {
            Ok(told) => Some(told),
            // Too slow to hear everything: it should look at the whole again.
            Err(RecvError::Lagged(_)) => Some("event: missed\ndata: {}\n\n".into()),
            Err(RecvError::Closed) => None,
        },
    }
}
