//! A panic in a tool is a bug, and no reason to leave a client without an answer or to end the server.

use std::io::Write;
use std::panic::AssertUnwindSafe;

use futures::FutureExt;

use super::envelope::Failure;

/// Has every panic told in one line on standard error, without a trace.
pub fn tell_in_one_line() {
    std::panic::set_hook(Box::new(|info| {
        let payload = info.payload();
        let fixed = payload.downcast_ref::<&str>().copied();
        let message =
            fixed.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("panic");
        let message = message.replace('\n', " ");
        let place = info.location().map(|place| format!(" at {}:{}", place.file(), place.line()));
        // Not `eprintln!`: that panics itself if standard error is closed.
        let _ = writeln!(std::io::stderr(), "cairn: internal error: {message}{}", place.unwrap_or_default());
    }));
}

/// Runs a tool's work, and turns a panic into its answer.
pub async fn caught<T>(tool: &str, work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|_| Err(internal(tool)))
}

/// The answer to a call that ended in a panic. Whether it recorded anything cannot be known here.
pub fn internal(tool: &str) -> Failure {
    let advice = "this is a bug in Cairn; the server goes on. If the call was to record something, look whether it \
                  is there before trying again";
    Failure::new("HANDLER_ERROR", format!("internal error in {tool}: {advice}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_answered() {
        let failure = caught::<()>("thought_get", async { panic!("secret detail") }).await.unwrap_err();
        assert_eq!(failure.code, "HANDLER_ERROR");
        assert!(failure.message.starts_with("internal error in thought_get"), "{}", failure.message);
        assert!(!failure.message.contains("secret"));
    }

    #[tokio::test]
    async fn what_does_not_panic_passes() {
        assert_eq!(caught("t", async { Ok(1) }).await, Ok(1));
    }
}
