//! `/healthz`: whether the server is able to record.

use std::sync::Arc;
use std::time::Duration;

use hyper::StatusCode;
use serde_json::json;

use super::Site;
use super::reply::{Reply, json_reply};
use crate::error::CliError;

/// A writer that does not answer within this time is not able to record.
const PATIENCE: Duration = Duration::from_secs(3);

pub(super) async fn answer(site: &Arc<Site>) -> Reply {
    let unable = |why: &str| {
        json_reply(StatusCode::SERVICE_UNAVAILABLE, &json!({ "ok": false, "writable": false, "why": why }))
    };
    if site.stopping.is_cancelled() {
        return unable("the server is stopping");
    }
    let cairn = site.cairn.clone();
    let asking = tokio::task::spawn_blocking(move || cairn.ready_to_write());
    match tokio::time::timeout(PATIENCE, asking).await {
        Ok(Ok(Ok(()))) => json_reply(
            StatusCode::OK,
            &json!({ "ok": true, "writable": true, "version": env!("CARGO_PKG_VERSION") }),
        ),
        Ok(Ok(Err(error))) => unable(&CliError::from(error).sentence()),
        Ok(Err(_)) => unable("internal error"),
        Err(_) => unable("the writer does not answer"),
    }
}
