//! `/metrics`: what the server does, in the text form that Prometheus reads.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use cairn::ReplicaState;
use hyper::StatusCode;

use super::Site;
use super::reply::{Reply, reply};

/// Upper ends of the latency buckets, in seconds.
const BUCKETS: [f64; 12] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 2.5, 10.0];

/// Counts and times.
pub(crate) struct Metrics {
    started: Instant,
    in_flight: AtomicI64,
    /// By route and status.
    requests: Mutex<BTreeMap<(&'static str, u16), Times>>,
    calls: Mutex<BTreeMap<(&'static str, &'static str), Times>>,
    /// The size of the newest checkpoint, and since when it is known here: checkpoints do not say when they were made.
    checkpoint: Mutex<Option<(u64, Instant)>>,
}

#[derive(Default, Clone)]
struct Times {
    count: u64,
    seconds: f64,
    buckets: [u64; BUCKETS.len()],
}

impl Times {
    fn add(&mut self, took: Duration) {
        let seconds = took.as_secs_f64();
        self.count += 1;
        self.seconds += seconds;
        if let Some(bucket) = BUCKETS.iter().position(|end| seconds <= *end) {
            self.buckets[bucket] += 1;
        }
    }
}

impl std::ops::AddAssign<&Times> for Times {
    fn add_assign(&mut self, other: &Times) {
        self.count += other.count;
        self.seconds += other.seconds;
        self.buckets.iter_mut().zip(other.buckets).for_each(|(bucket, more)| *bucket += more);
    }
}

/// A request that is being answered.
pub(crate) struct Busy<'m>(&'m Metrics);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Metrics {
    pub(crate) fn new() -> Metrics {
        Metrics {
            started: Instant::now(),
            in_flight: AtomicI64::new(0),
            requests: Mutex::default(),
            calls: Mutex::default(),
            checkpoint: Mutex::default(),
        }
    }

    pub(crate) fn busy(&self) -> Busy<'_> {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        Busy(self)
    }

    /// Notes a reply to a request.
    pub(crate) fn answered(&self, route: &'static str, status: StatusCode, took: Duration) {
        if let Ok(mut requests) = self.requests.lock() {
            requests.entry((route, status.as_u16())).or_default().add(took);
        }
    }

    /// Notes a call of a tool.
    pub(crate) fn called(&self, tool: &'static str, outcome: &'static str, took: Duration) {
        if let Ok(mut calls) = self.calls.lock() {
            calls.entry((tool, outcome)).or_default().add(took);
        }
    }

    /// How long the checkpoint of this size has been the newest, as far as it was looked at.
    fn age_of_checkpoint(&self, size: u64) -> Duration {
        let mut known = self.checkpoint.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        match *known {
            Some((of, since)) if of == size => since.elapsed(),
            _ => {
                *known = Some((size, Instant::now()));
                Duration::ZERO
            }
        }
    }
}

pub(super) async fn answer(site: &Arc<Site>) -> Reply {
    let cairn = site.cairn.clone();
    let reading =
        tokio::task::spawn_blocking(move || (cairn.status().ok(), cairn.newest_checkpoint().ok().flatten()));
    let (status, checkpoint) = reading.await.unwrap_or_default();
    let mut page = Text::default();
    page.one(
        "cairn_up_seconds",
        "gauge",
        "Seconds since the server started.",
        site.metrics.started.elapsed().as_secs_f64(),
    );
    page.one(
        "cairn_requests_in_flight",
        "gauge",
        "Requests that are being answered.",
        site.metrics.in_flight.load(Ordering::Relaxed) as f64,
    );
    page.one("cairn_event_streams", "gauge", "Browsers that watch.", site.events.open() as f64);
    page.head("cairn_http_requests_total", "counter", "Requests by route and status.");
    let requests = site.metrics.requests.lock().map(|map| map.clone()).unwrap_or_default();
    let mut by_route: BTreeMap<&str, Times> = BTreeMap::new();
    for ((route, status), times) in &requests {
        let labels = format!("route=\"{route}\",status=\"{status}\"");
        page.line("cairn_http_requests_total", &labels, times.count as f64);
        *by_route.entry(*route).or_default() += times;
    }
    page.head("cairn_http_request_seconds", "histogram", "Time to answer a request, by route.");
    for (route, times) in by_route {
        page.histogram("cairn_http_request_seconds", &format!("route=\"{route}\""), &times);
    }
    page.head("cairn_tool_call_seconds", "histogram", "Time to answer a call, by tool and outcome.");
    for ((tool, outcome), times) in site.metrics.calls.lock().map(|map| map.clone()).unwrap_or_default() {
        page.histogram("cairn_tool_call_seconds", &format!("tool=\"{tool}\",outcome=\"{outcome}\""), &times);
    }
    let activity = site.cairn.activity();
    page.one("cairn_write_queue", "gauge", "Writes that wait.", activity.queued as f64);
    page.one(
        "cairn_commits_total",
        "counter",
        "Transactions committed by this process.",
        activity.commits as f64,
    );
    page.one("cairn_committed_writes_total", "counter", "Writes in them.", activity.committed_writes as f64);
    page.one(
        "cairn_failed_commits_total",
        "counter",
        "Transactions that failed.",
        activity.failed_commits as f64,
    );
    page.one(
        "cairn_commit_seconds_total",
        "counter",
        "Time spent in transactions that were committed.",
        activity.commit_micros as f64 / 1e6,
    );
    if let Some(replica) = site.cairn.replica() {
        let used = replica.state == ReplicaState::Used;
        page.one(
            "cairn_replica_used",
            "gauge",
            "1 if the replica was read from when it was last needed.",
            f64::from(u8::from(used)),
        );
        page.one(
            "cairn_replica_reads_total",
            "counter",
            "Reads that the replica answered.",
            replica.reads as f64,
        );
        page.one(
            "cairn_replica_passed_over_total",
            "counter",
            "Reads that the replica was too far behind for, or did not answer.",
            replica.passed_over as f64,
        );
    }
    if let Some(status) = status {
        page.one("cairn_log_entries", "gauge", "Entries in the log.", status.entries as f64);
        page.one("cairn_thoughts", "gauge", "Thoughts.", status.thoughts as f64);
        page.one("cairn_sessions", "gauge", "Sessions.", status.sessions as f64);
        page.one("cairn_database_bytes", "gauge", "Size of the database.", status.bytes as f64);
        let covered = checkpoint.as_ref().map_or(0, |checkpoint| checkpoint.size);
        page.one(
            "cairn_checkpoint_entries",
            "gauge",
            "Entries that the newest checkpoint covers.",
            covered as f64,
        );
        if checkpoint.is_some() {
            page.one(
                "cairn_checkpoint_age_seconds",
                "gauge",
                "Seconds since these figures first had the newest checkpoint, which says itself no time.",
                site.metrics.age_of_checkpoint(covered).as_secs_f64(),
            );
        }
        page.one(
            "cairn_uncovered_entries",
            "gauge",
            "Entries that no checkpoint covers yet.",
            status.entries.saturating_sub(covered) as f64,
        );
    }
    page.one(
        "cairn_verifications_total",
        "counter",
        "Verifications that this process has begun, of the log or of a part of it.",
        site.verifications.begun() as f64,
    );
    if let Some(checked) = site.integrity.newest().checked {
        let valid = checked.outcome.as_ref().is_ok_and(cairn::Report::valid);
        page.one(
            "cairn_log_valid",
            "gauge",
            "1 if the last verification found nothing wrong.",
            f64::from(u8::from(valid)),
        );
        page.one(
            "cairn_verified_seconds",
            "gauge",
            "How long the last verification took.",
            checked.took.as_secs_f64(),
        );
    }
    reply(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", page.0)
}

#[derive(Default)]
struct Text(String);

impl Text {
    fn head(&mut self, name: &str, kind: &str, help: &str) {
        let _ = write!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    fn line(&mut self, name: &str, labels: &str, value: f64) {
        let _ = if labels.is_empty() {
            writeln!(self.0, "{name} {value}")
        } else {
            writeln!(self.0, "{name}{{{labels}}} {value}")
        };
    }

    fn one(&mut self, name: &str, kind: &str, help: &str, value: f64) {
        self.head(name, kind, help);
        self.line(name, "", value);
    }

    fn histogram(&mut self, name: &str, labels: &str, times: &Times) {
        let mut below = 0;
        for (end, count) in BUCKETS.iter().zip(times.buckets) {
            below += count;
            self.line(&format!("{name}_bucket"), &format!("{labels},le=\"{end}\""), below as f64);
        }
        self.line(&format!("{name}_bucket"), &format!("{labels},le=\"+Inf\""), times.count as f64);
        self.line(&format!("{name}_sum"), labels, times.seconds);
        self.line(&format!("{name}_count"), labels, times.count as f64);
    }
}
