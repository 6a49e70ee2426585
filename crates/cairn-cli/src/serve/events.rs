//! `/events`: tells browsers what is recorded, as it is recorded, by this process or another.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use cairn::{Cairn, EntryHead};
use futures::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use serde::Serialize;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{Mutex, broadcast};

use super::reply::{Problem, Reply};
use super::revoked::Until;
use super::{Site, Who};
use crate::error::CliError;
use crate::mcp::Change;

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
    /// Streams of browsers that are open.
    open: Arc<AtomicUsize>,
    /// All who want to know what is recorded, browsers and agents.
    watching: Arc<AtomicUsize>,
    /// The size of the log up to which they were told; none while nobody watches.
    known: Mutex<Option<u64>>,
}

impl Default for Events {
    fn default() -> Events {
        Events {
            told: broadcast::channel(64).0,
            open: Arc::default(),
            watching: Arc::default(),
            known: Mutex::default(),
        }
    }
}

/// Somebody wants to know what is recorded, for as long as this is kept.
pub(super) struct Watching(Arc<AtomicUsize>);

impl Drop for Watching {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
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

    /// Has the log looked at. Whatever is recorded once this has returned is told.
    pub(super) async fn watch_too(&self, site: &Arc<Site>) -> Watching {
        self.watching.fetch_add(1, Ordering::SeqCst);
        let watching = Watching(self.watching.clone());
        let mut known = self.known.lock().await;
        if known.is_none() {
            let cairn = site.cairn.clone();
            // If it cannot be read now, it is when the log is looked at for the first time.
            *known = tokio::task::spawn_blocking(move || cairn.log_size().ok()).await.ok().flatten();
        }
        watching
    }
}

/// Looks at the log while somebody watches, and tells them what is new.
pub(super) async fn watch(site: Arc<Site>) {
    loop {
        tokio::select! {
            () = site.stopping.cancelled() => return,
            () = tokio::time::sleep(EVERY) => {}
        }
        let mut known = site.events.known.lock().await;
        if site.events.watching.load(Ordering::SeqCst) == 0 {
            *known = None;
            continue;
        }
        let (cairn, before) = (site.cairn.clone(), *known);
        let looking = tokio::task::spawn_blocking(move || new_entries(&cairn, before));
        // What cannot be read now is told the next time.
        let Ok(Ok((size, new))) = looking.await else { continue };
        *known = Some(size);
        drop(known);
        if let Some(new) = new {
            tell(&site, size, new);
        }
    }
}

/// What was recorded since the log had `before` entries, if anything was; nothing is listed if it is too much.
fn new_entries(cairn: &Cairn, before: Option<u64>) -> cairn::Result<(u64, Option<Vec<EntryHead>>)> {
    let size = cairn.log_size()?;
    let Some(before) = before.filter(|before| *before < size) else { return Ok((size, None)) };
    let new = size - before;
    let entries = if new <= TOLD { cairn.entries_since(before, new)? } else { Vec::new() };
    Ok((size, Some(entries)))
}

/// Tells browsers and agents.
fn tell(site: &Arc<Site>, size: u64, new: Vec<EntryHead>) {
    let whole = !new.is_empty();
    if !whole {
        site.mcp.changed(None, Change::Thought);
    }
    let mut changes = BTreeMap::new();
    for entry in new {
        let Some(session) = entry.session_id else { continue };
        let is_event = ["event", "brief"].contains(&entry.kind.as_str());
        // A thought changes all that an event changes, and more.
        *changes.entry(session).or_insert(true) &= is_event;
    }
    for (session, only_events) in &changes {
        site.mcp.changed(Some(session), if *only_events { Change::Event } else { Change::Thought });
    }
    let sessions = changes.into_keys().collect();
    let _ = site.events.told.send(message("grew", &Grown { size, sessions, whole }));
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
    until: Until,
    _watching: Watching,
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.site.events.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Opens a stream.
pub(super) async fn answer(site: &Arc<Site>, who: &Who) -> Result<Reply, Problem> {
    let told = site.events.told.subscribe();
    let watching = site.events.watch_too(site).await;
    if site.events.open.fetch_add(1, Ordering::Relaxed) >= MOST_STREAMS {
        site.events.open.fetch_sub(1, Ordering::Relaxed);
        return Err(CliError::busy("too many are watching; reload the page to see what is new").into());
    }
    let first: Option<Arc<str>> = Some("retry: 2000\nevent: open\ndata: {}\n\n".into());
    let watcher =
        Watcher { told, first, site: site.clone(), until: site.revoked.until(who), _watching: watching };
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
        () = watcher.until.revoked() => None,
        () = tokio::time::sleep(SIGN_OF_LIFE) => Some(": still here\n\n".into()),
        told = watcher.told.recv() => match told {
            Ok(told) => Some(told),
            // Too slow to hear everything: it should look at the whole again.
            Err(RecvError::Lagged(_)) => Some("event: missed\ndata: {}\n\n".into()),
            Err(RecvError::Closed) => None,
        },
    }
}
