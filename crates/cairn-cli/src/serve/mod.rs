//! `cairn serve`: agents over HTTP, and pages for people, from one process.

mod access;
mod attempts;
mod client;
mod events;
mod handle;
mod health;
mod integrity;
mod limits;
mod listen;
mod log;
mod mcp;
mod metrics;
mod patient;
mod reply;
mod revoked;
mod routes;
mod shares;
mod sign_in;
#[cfg(test)]
mod tests;
mod tls;

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context;
use cairn::Cairn;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::mcp::{Server, Tool, ToolSets, tell_panics_in_one_line};
use crate::signals::told_to_stop;
use crate::verifying::Verifications;

pub(crate) use access::{Access, Who};
pub(crate) use client::ClientName;
pub(crate) use integrity::{Badge, Integrity, State};
pub(crate) use limits::Limits;
pub(crate) use log::RequestId;
pub(crate) use reply::{Asked, Live, Page, Problem, Reply, Shown, reply};
pub(crate) use routes::{Answers, Needs, Route, offered, page};
#[cfg(test)]
pub(crate) use routes::{Found, PageOf, find};
pub(crate) use tls::Tls;

/// How a server is set up.
pub(crate) struct Settings {
    pub(crate) addr: SocketAddr,
    /// Names by which it is reached, beside its address and the names of this machine's loopback.
    pub(crate) hosts: Vec<String>,
    pub(crate) access: Access,
    pub(crate) tls: Option<Tls>,
    pub(crate) tools: ToolSets,
    /// Whether each request gets a line on standard error.
    pub(crate) log_requests: bool,
    pub(crate) limits: Limits,
}

/// What every request may need.
pub(crate) struct Site {
    pub(crate) cairn: Cairn,
    pub(crate) hosts: Vec<String>,
    pub(crate) access: Access,
    /// Whether connections are encrypted here.
    pub(crate) encrypted: bool,
    pub(crate) log: log::Log,
    pub(crate) metrics: metrics::Metrics,
    pub(crate) integrity: Integrity,
    pub(crate) events: events::Events,
    attempts: attempts::Attempts,
    tokens: access::Tokens,
    revoked: revoked::Revoked,
    health: health::Health,
    pub(crate) verifications: Arc<Verifications>,
    mcp: mcp::Endpoint,
    readers: Arc<tokio::sync::Semaphore>,
    limits: Limits,
    stopping: CancellationToken,
}

impl Site {
    /// Must be called inside a runtime.
    pub(crate) fn new(cairn: Cairn, settings: Settings, tools: &[&'static Tool]) -> Site {
        let server = Server::new(cairn.clone(), tools).told_by_others();
        Site {
            hosts: settings.hosts,
            access: settings.access,
            encrypted: settings.tls.is_some(),
            log: log::Log::start(settings.log_requests),
            metrics: metrics::Metrics::new(),
            integrity: Integrity::default(),
            events: events::Events::default(),
            attempts: attempts::Attempts::default(),
            tokens: access::Tokens::default(),
            verifications: server.verifications(),
            mcp: mcp::Endpoint::new(server),
            revoked: revoked::Revoked::default(),
            health: health::Health::default(),
            readers: Arc::new(tokio::sync::Semaphore::new(crate::mcp::READERS)),
            limits: settings.limits,
            stopping: CancellationToken::new(),
            cairn,
        }
    }
}

/// Serves until the program is told to stop, then finishes what was begun and waits until everything recorded is on
/// disk. `ready` is told the address once requests are taken.
pub(crate) fn run(cairn: Cairn, settings: Settings, ready: impl FnOnce(SocketAddr)) -> anyhow::Result<()> {
    tell_panics_in_one_line();
    let told = told_to_stop();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the server's runtime")?;
    let served = runtime.block_on(async {
        let listener = listen::bind(settings.addr)?;
        let addr = listener.local_addr().context("cannot tell the address")?;
        let (tls, tools) = (settings.tls.clone(), settings.tools.tools());
        let site = Arc::new(Site::new(cairn.clone(), settings, &tools));
        let stopping = site.stopping.clone();
        tokio::spawn(async move {
            told.cancelled().await;
            stopping.cancel();
        });
        ready(addr);
        work(listener, tls, site).await
    });
    // A long verification that nobody waits for any more must not hold up the end.
    runtime.shutdown_background();
    cairn.close();
    served
}

/// Serves, and does beside it what nobody asks for, until the site stops.
async fn work(listener: TcpListener, tls: Option<Tls>, site: Arc<Site>) -> anyhow::Result<()> {
    tokio::spawn(integrity::watch(site.clone()));
    tokio::spawn(events::watch(site.clone()));
    tokio::spawn(revoked::watch(site.clone()));
    let noting = tokio::spawn(access::note_uses(site.clone()));
    let served = listen::serve(listener, tls, site).await;
    let _ = noting.await;
    served
}
