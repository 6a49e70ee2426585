//! `/healthz`: whether the server is able to record.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::StatusCode;
use serde_json::json;
use tokio::sync::Mutex;

use super::Site;
use super::reply::{Reply, json_reply};
use crate::error::CliError;

/// A writer that does not answer within this time is not able to record.
const PATIENCE: Duration = Duration::from_secs(3);
/// How long an answer holds. Anybody may ask, and the writer has other work.
const HOLDS: Duration = Duration::from_millis(500);

/// What the writer answered, and when. One asks at a time; the others wait for the same answer.
#[derive(Clone, Default)]
pub struct Health(Arc<Mutex<Option<Answer>>>);

type Answer = (Instant, Result<(), String>);

pub(super) async fn answer(site: &Arc<Site>) -> Reply {
    let unable = |why: &str| {
        json_reply(StatusCode::SERVICE_UNAVAILABLE, &json!({ "ok": false, "writable": false, "why": why }))
    };
    if site.stopping.is_cancelled() {
        return unable("the server is stopping");
    }
    match tokio::time::timeout(PATIENCE, ask(site)).await {
        Ok(Ok(())) => {
            let mut well = json!({ "ok": true, "writable": true, "version": env!("CARGO_PKG_VERSION") });
            // Where it is, is nobody's business here.
            if let Some(replica) = site.cairn.replica() {
                well["replica"] = json!(replica.state);
            }
            json_reply(StatusCode::OK, &well)
        }
        Ok(Err(why)) => unable(&why),
        Err(_) => unable("the writer does not answer"),
    }
}

async fn ask(site: &Arc<Site>) -> Result<(), String> {
    let mut newest = site.health.0.clone().lock_owned().await;
    if let Some((at, answer)) = &*newest
        && at.elapsed() < HOLDS
    {
        return answer.clone();
    }
    let cairn = site.cairn.clone();
    // Goes on when nobody waits for it any more: whoever asks next waits for this one.
    let asking = tokio::task::spawn_blocking(move || {
        let answer = cairn.ready_to_write().map_err(|error| CliError::from(error).sentence());
        *newest = Some((Instant::now(), answer.clone()));
        answer
    });
    asking.await.unwrap_or_else(|_| Err("internal error".to_string()))
}
