//! Who wants to know when a session changes. What other processes record is seen only where somebody looks at the log
//! for it, as `cairn serve` does.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use rmcp::RoleServer;
use rmcp::model::ResourceUpdatedNotificationParam;
use rmcp::service::{Peer, SubscriptionContext, SubscriptionSink};

use super::Place;
use crate::mcp::tools::NODES;

/// The most addresses that one client watches at once.
pub const MOST: usize = 1000;
/// The most that all of them do. Over HTTP they share one server: one of them must not take the room of the others.
const MOST_OF_ALL: usize = 20 * MOST;

/// What was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// A thought: the tree is another, and the briefs too.
    Thought,
    /// An event of the session's memory: the briefs are others.
    Event,
}

/// Comes with a request, among its extensions, whose sender can be told nothing but its answer: over HTTP no
/// connection stays open on which something could be told later, except that of a `subscriptions/listen`.
#[derive(Debug, Clone, Copy)]
pub struct AnsweredOnce;

/// Everyone who watches an address.
#[derive(Default)]
pub struct Watchers {
    watches: Mutex<Vec<Watch>>,
    listeners: AtomicU64,
}

struct Watch {
    place: Place,
    /// As the client wrote it, which is how it knows it.
    uri: String,
    told: Told,
}

/// How a watcher is told.
#[derive(Clone)]
enum Told {
    /// Directly, after `resources/subscribe`.
    Subscriber(Peer<RoleServer>),
    /// Through a `subscriptions/listen` that is open.
    Listener(u64, SubscriptionSink),
}

impl Told {
    /// Which listener it is; none for those who have subscribed.
    fn listener(&self) -> Option<u64> {
        match self {
            Told::Subscriber(_) => None,
            Told::Listener(number, _) => Some(*number),
        }
    }

    /// Tells that something has changed. Whoever cannot be reached has left.
    async fn tell(&self, uri: String) {
        match self {
            Told::Subscriber(peer) => {
                let _ = peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri)).await;
            }
            Told::Listener(_, sink) => drop(sink.notify_resource_updated(uri).await),
        }
    }
}

impl Watchers {
    /// What an address names, if it is one of those whose changes are seen.
    pub fn watchable(uri: &str) -> Option<Place> {
        Place::parse(uri).filter(|place| match place {
            Place::Tree(_) => true,
            Place::SessionBrief(_, node) => NODES.contains(&node.as_str()),
            _ => false,
        })
    }

    /// Has `peer` told of changes, until it unsubscribes. False if there is no room.
    pub fn subscribe(&self, place: Place, uri: String, peer: Peer<RoleServer>) -> bool {
        self.with(|watches| {
            watches.retain(|watch| !watch.is_subscription_to(&uri));
            let room = watches.len() < MOST;
            if room {
                watches.push(Watch { place, uri, told: Told::Subscriber(peer) });
            }
            room
        })
    }

    /// No longer.
    pub fn unsubscribe(&self, uri: &str) {
        self.with(|watches| watches.retain(|watch| !watch.is_subscription_to(uri)));
    }

    /// Has a listener told of changes to the addresses it was promised, until it is cancelled. False, and at once, if there
    /// is no room: it must not wait for what it will never be told.
    pub async fn listen(&self, listener: &SubscriptionContext) -> bool {
        let number = self.listeners.fetch_add(1, Ordering::Relaxed);
        let uris = listener.accepted().resource_subscriptions.clone().unwrap_or_default();
        let told = Told::Listener(number, listener.sink().clone());
        let watch =
            |uri: String| Watchers::watchable(&uri).map(|place| Watch { place, uri, told: told.clone() });
        let _leaving = Leaving { watchers: self, number };
        let room = self.with(|watches| {
            let room = uris.len() <= MOST_OF_ALL.saturating_sub(watches.len());
            if room {
                watches.extend(uris.into_iter().filter_map(watch));
            }
            room
        });
        if room {
            listener.cancelled().await;
        }
        room
    }

    /// Tells everyone who watches `session`, or any session if it is not known which. Nobody waits for it. Must be
    /// called inside a runtime.
    pub fn changed(&self, session: Option<&str>, change: Change) {
        let told = self.with(|watches| -> Vec<(String, Told)> {
            let named = |id: &str| session.is_none_or(|session| session == id);
            let about = |watch: &&Watch| match &watch.place {
                Place::Tree(id) => named(id) && change == Change::Thought,
                Place::SessionBrief(id, _) => named(id),
                _ => false,
            };
            watches.iter().filter(about).map(|watch| (watch.uri.clone(), watch.told.clone())).collect()
        });
        let mut by_listener: BTreeMap<Option<u64>, Vec<(String, Told)>> = BTreeMap::new();
        for (uri, told) in told {
            by_listener.entry(told.listener()).or_default().push((uri, told));
        }
        // Each by itself: whoever is slow to take it keeps nobody else waiting.
        for told in by_listener.into_values() {
            tokio::spawn(async move {
                for (uri, told) in told {
                    told.tell(uri).await;
                }
            });
        }
    }

    fn with<T>(&self, work: impl FnOnce(&mut Vec<Watch>) -> T) -> T {
        work(&mut self.watches.lock().unwrap_or_else(|poisoned| poisoned.into_inner()))
    }
}

impl Watch {
    fn is_subscription_to(&self, uri: &str) -> bool {
        self.uri == uri && matches!(self.told, Told::Subscriber(_))
    }
}

/// Takes a listener off the list, however its request ends.
struct Leaving<'w> {
    watchers: &'w Watchers,
    number: u64,
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        let is_ours =
            |watch: &Watch| matches!(watch.told, Told::Listener(number, _) if number == self.number);
        self.watchers.with(|watches| watches.retain(|watch| !is_ours(watch)));
    }
}
