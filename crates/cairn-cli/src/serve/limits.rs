//! How long the server waits for others, and how many it takes on at once.

use std::time::Duration;

/// What a client may take, and how much of it there may be.
#[derive(Debug, Clone)]
pub(crate) struct Limits {
    /// Connections at once. An idle one costs some 20 kB.
    pub(crate) connections: usize,
    /// Connections at once from one address: a quarter of all, so that no address takes them all. A proxy in front is one
    /// address.
    pub(crate) connections_per_address: usize,
    /// How long a client may take to say what it wants, and to encrypt its connection.
    pub(crate) first_words: Duration,
    /// How long it may take to send the rest.
    pub(crate) whole_body: Duration,
    /// How long it may take nothing of what it is sent.
    pub(crate) taking: Duration,
    /// How long, after it was asked to stop, the server waits for requests that it has begun.
    pub(crate) last_requests: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            connections: 4096,
            connections_per_address: 1024,
            first_words: Duration::from_secs(10),
            whole_body: Duration::from_secs(30),
            taking: Duration::from_secs(30),
            last_requests: Duration::from_secs(3),
        }
    }
}
