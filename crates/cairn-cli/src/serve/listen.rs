//! Connections: taking them, encrypting them, and letting go of those that are slow or too many.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

use super::handle::handle;
use super::patient::Patient;
use super::shares::Shares;
use super::{Site, Tls};

/// How long to wait when the system has no more connections to give.
const OUT_OF_CONNECTIONS: Duration = Duration::from_millis(100);

/// Said to an address that has too many connections open.
const TOO_MANY: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\nContent-Length: 45\r\n\
    Retry-After: 1\r\nConnection: close\r\n\r\ntoo many connections are open from this host\n";

/// Takes the address.
pub fn bind(addr: SocketAddr) -> anyhow::Result<TcpListener> {
    let socket = if addr.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() };
    let socket = socket.context("cannot make a socket")?;
    // A server that was stopped and started again must not wait for the connections of the first.
    #[cfg(unix)]
    let _ = socket.set_reuseaddr(true);
    let listening = socket.bind(addr).and_then(|()| socket.listen(1024));
    listening.with_context(|| format!("cannot listen on {addr}"))
}

/// Serves connections until the site stops, then waits a little for what was begun.
pub async fn serve(listener: TcpListener, tls: Option<Tls>, site: Arc<Site>) -> anyhow::Result<()> {
    raise_file_limit();
    let room = Arc::new(Semaphore::new(site.limits.connections));
    let shares = Arc::new(Shares::default());
    let connections = TaskTracker::new();
    let last_requests = site.limits.last_requests;
    loop {
        let place = tokio::select! {
            () = site.stopping.cancelled() => break,
            place = room.clone().acquire_owned() => place.context("the server is closed")?,
        };
        let (stream, from) = tokio::select! {
            () = site.stopping.cancelled() => break,
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                // Too many open files, or a client that left at once: neither is the end of the server.
                Err(_) => {
                    tokio::time::sleep(OUT_OF_CONNECTIONS).await;
                    continue;
                }
            },
        };
        let Some(share) = shares.take(from.ip(), site.limits.connections_per_address) else {
            // In the clear it can be said why; whether the client hears it is its own affair.
            if tls.is_none() {
                let _ = stream.try_write(TOO_MANY);
            }
            continue;
        };
        // Answers are written whole; waiting for more to send along costs 40 ms a call.
        let _ = stream.set_nodelay(true);
        let (tls, site) = (tls.clone(), site.clone());
        connections.spawn(async move {
            let to = stream.local_addr().ok();
            match tls {
                None => converse(stream, from, to, site).await,
                Some(tls) => {
                    let encrypting = tls.accept(stream);
                    if let Ok(Ok(stream)) = tokio::time::timeout(site.limits.first_words, encrypting).await {
                        converse(stream, from, to, site).await;
                    }
                }
            }
            drop((share, place));
        });
    }
    drop(listener);
    connections.close();
    let _ = tokio::time::timeout(last_requests, connections.wait()).await;
    Ok(())
}

/// Answers the requests of one connection, one after the other.
async fn converse(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    from: SocketAddr,
    to: Option<SocketAddr>,
    site: Arc<Site>,
) {
    let stopping = site.stopping.clone();
    let stream = Patient::new(stream, site.limits.taking);
    let first_words = site.limits.first_words;
    let service = service_fn(move |request| handle(request, from, to, site.clone()));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(first_words)
        .max_buf_size(64 << 10)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    tokio::select! {
        _ = connection.as_mut() => return,
        () = stopping.cancelled() => connection.as_mut().graceful_shutdown(),
    }
    // Whoever asked for something gets it; an error here is a client that has left.
    let _ = connection.await;
}

/// A thousand people who watch are a thousand open files, which is where many systems begin to refuse.
fn raise_file_limit() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, getrlimit, setrlimit};
        let mut limit = getrlimit(Resource::Nofile);
        limit.current = limit.maximum;
        let _ = setrlimit(Resource::Nofile, limit);
    }
}
