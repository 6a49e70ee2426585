//! The signals that ask a program to end: SIGTERM, SIGINT and SIGHUP.
//!
//! The first one asks for a clean end, the second one ends the program at once.

use tokio_util::sync::CancellationToken;

/// A token that is cancelled by the first signal. The signals are waited for on a thread of their own, so that the second
/// one is noticed however busy the rest is.
pub(crate) fn told_to_stop() -> CancellationToken {
    let told = CancellationToken::new();
    let tell = told.clone();
    let (ready, listening) = std::sync::mpsc::channel();
    let waiting = std::thread::Builder::new().name("signals".into()).spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        // Without a runtime a signal ends the program as it does every other.
        let Ok(runtime) = runtime else { return };
        runtime.block_on(wait(tell, || drop(ready)));
    });
    if waiting.is_ok() {
        // Returns once the signals are caught, or cannot be.
        let _ = listening.recv() as Result<(), _>;
    }
    told
}

#[cfg(unix)]
async fn wait(told: CancellationToken, ready: impl FnOnce()) {
    use tokio::signal::unix::{SignalKind, signal};
    let hangup = Some(SignalKind::hangup()).filter(|kind| !is_ignored(*kind));
    let caught = [SignalKind::terminate(), SignalKind::interrupt()]
        .into_iter()
        .chain(hangup)
        .filter_map(|kind| Some((kind.as_raw_value(), signal(kind).ok()?)));
    let mut caught: Vec<_> = caught.collect();
    ready();
    loop {
        let next = caught.iter_mut().map(|(number, signal)| {
            Box::pin(async move {
                signal.recv().await;
                *number
            })
        });
        let next: Vec<_> = next.collect();
        if next.is_empty() {
            return;
        }
        let (number, ..) = futures::future::select_all(next).await;
        if told.is_cancelled() {
            std::process::exit(128 + number);
        }
        told.cancel();
    }
}

/// Whether the program was started so that it ignores a signal, as `nohup` does with SIGHUP; no where the system does not
/// tell.
#[cfg(unix)]
fn is_ignored(kind: tokio::signal::unix::SignalKind) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    mask >> (kind.as_raw_value() - 1) & 1 == 1
}

#[cfg(not(unix))]
async fn wait(told: CancellationToken, ready: impl FnOnce()) {
    ready();
    while tokio::signal::ctrl_c().await.is_ok() {
        if told.is_cancelled() {
            std::process::exit(130);
        }
        told.cancel();
    }
}
