//! Ends what goes on for long when the token that it was begun with is revoked.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::{Site, Who};

/// How often it is looked up which tokens were revoked, while something goes on.
const EVERY: Duration = Duration::from_secs(1);

/// The ids of tokens that were revoked.
#[derive(Default)]
pub struct Revoked(watch::Sender<HashSet<String>>);

/// Waits for the token of one request.
pub struct Until {
    id: Option<String>,
    revoked: watch::Receiver<HashSet<String>>,
}

impl Revoked {
    /// For what `who` has begun.
    pub fn until(&self, who: &Who) -> Until {
        Until { id: who.token.as_ref().map(|token| token.id.clone()), revoked: self.0.subscribe() }
    }
}

impl Until {
    /// Returns when the token is no longer good; never, if there was none.
    pub async fn revoked(&mut self) {
        let Some(id) = &self.id else { return std::future::pending().await };
        if self.revoked.wait_for(|revoked| revoked.contains(id)).await.is_err() {
            std::future::pending().await
        }
    }
}

/// Looks the tokens up, as long as somebody waits for that.
pub(super) async fn watch(site: Arc<Site>) {
    loop {
        tokio::select! {
            () = site.stopping.cancelled() => return,
            () = tokio::time::sleep(EVERY) => {}
        }
        if site.revoked.0.receiver_count() == 0 {
            continue;
        }
        let cairn = site.cairn.clone();
        // What cannot be read now is read the next time.
        let Ok(Ok(tokens)) = tokio::task::spawn_blocking(move || cairn.tokens()).await else { continue };
        let revoked: HashSet<String> =
            tokens.into_iter().filter(|token| token.revoked_at.is_some()).map(|token| token.id).collect();
        site.revoked.0.send_if_modified(|known| {
            let changed = *known != revoked;
            *known = revoked;
            changed
        });
    }
}
