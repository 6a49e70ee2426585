//! The verifications of a server: of the whole log one at a time for everyone who asks, and none for a caller that has
//! left.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use cairn::{Cairn, Error, Outside, Report, Result, Scope, StoreError, Timestamp};
use tokio::sync::{Mutex as Turn, Semaphore};

use crate::witness;

/// A verification of the whole log that came to an end.
pub(crate) struct Verified {
    /// When it began: it did not see what was recorded later.
    pub(crate) at: Timestamp,
    pub(crate) took: Duration,
    pub(crate) outcome: Result<Report>,
}

/// Runs verifications, and shares their answers.
pub(crate) struct Verifications {
    cairn: Cairn,
    /// Held while the whole log is verified.
    turn: Arc<Turn<()>>,
    /// One session or task at a time.
    part: Arc<Semaphore>,
    known: Arc<Known>,
}

#[derive(Default)]
struct Known {
    /// Verifications of the whole log that have begun.
    begun: AtomicU64,
    /// Verifications of a session or a task that have begun.
    parts: AtomicU64,
    /// Callers that wait for the whole log.
    waiting: AtomicUsize,
    /// The number of the last one that ended, and its answer.
    newest: Mutex<Option<(u64, Arc<Verified>)>>,
}

impl Verifications {
    pub(crate) fn new(cairn: Cairn) -> Verifications {
        Verifications {
            cairn,
            turn: Arc::default(),
            part: Arc::new(Semaphore::new(1)),
            known: Arc::default(),
        }
    }

    /// How many have begun since the program started.
    pub(crate) fn begun(&self) -> u64 {
        self.known.begun.load(Ordering::SeqCst) + self.known.parts.load(Ordering::SeqCst)
    }

    /// Verifies what `scope` names.
    pub(crate) async fn report(&self, scope: Scope) -> Result<Report> {
        match scope {
            Scope::All => self.whole().await.outcome.clone(),
            part => self.part(part).await,
        }
    }

    /// Verifies the whole log, or waits for a verification that began after this call. So the answer covers everything
    /// that was acknowledged before the call, however many callers share it.
    pub(crate) async fn whole(&self) -> Arc<Verified> {
        let _waiting = Waiting::new(&self.known);
        let before = self.known.begun.load(Ordering::SeqCst);
        let turn = self.turn.clone().lock_owned().await;
        if let Some(verified) = self.known.after(before) {
            return verified;
        }
        let (at, began) = (self.cairn.now(), Instant::now());
        let (cairn, known) = (self.cairn.clone(), self.known.clone());
        let run = tokio::task::spawn_blocking(move || {
            // Held until the work is done, also if the caller has left.
            let _turn = turn;
            known.verify(&cairn)
        });
        run.await.unwrap_or_else(|_| {
            let outcome = Err(Error::Store(StoreError::Other("internal error".to_string())));
            Arc::new(Verified { at, took: began.elapsed(), outcome })
        })
    }

    async fn part(&self, scope: Scope) -> Result<Report> {
        let turn = self.part.clone().acquire_owned().await;
        let leaving = Leaving::default();
        let (cairn, known, left) = (self.cairn.clone(), self.known.clone(), leaving.0.clone());
        let run = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            let watch = |_| go_on(!left.load(Ordering::SeqCst));
            if left.load(Ordering::SeqCst) {
                return Err(StoreError::GivenUp.into());
            }
            known.parts.fetch_add(1, Ordering::SeqCst);
            cairn.verify_while(&scope, Outside::default(), &watch)
        });
        run.await.unwrap_or_else(|_| Err(StoreError::Other("internal error".to_string()).into()))
    }
}

impl Known {
    /// The newest answer, if its verification began after `before` others had.
    fn after(&self, before: u64) -> Option<Arc<Verified>> {
        let newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        newest.as_ref().filter(|(number, _)| *number > before).map(|(_, verified)| verified.clone())
    }

    /// Verifies, as long as anyone waits for the answer.
    fn verify(&self, cairn: &Cairn) -> Arc<Verified> {
        let waited_for = || self.waiting.load(Ordering::SeqCst) > 0;
        let (at, began) = (cairn.now(), Instant::now());
        if !waited_for() {
            let outcome = Err(StoreError::GivenUp.into());
            return Arc::new(Verified { at, took: Duration::ZERO, outcome });
        }
        let number = self.begun.fetch_add(1, Ordering::SeqCst) + 1;
        let outcome = verify(cairn, &|| go_on(waited_for()));
        let given_up = matches!(outcome, Err(Error::Store(StoreError::GivenUp)));
        let verified = Arc::new(Verified { at, took: began.elapsed(), outcome });
        if !given_up {
            let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
            *newest = Some((number, verified.clone()));
        }
        verified
    }
}

fn go_on(wanted: bool) -> ControlFlow<()> {
    if wanted { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
}

/// Verifies the whole log, against what is remembered of it and what its witnesses have seen.
pub(crate) fn verify(cairn: &Cairn, watch: &(dyn Fn() -> ControlFlow<()> + Sync)) -> Result<Report> {
    let (heads, remarks) = witness::seen_by_witnesses(cairn);
    let outside = Outside { heads, ..Outside::default() };
    let mut report = cairn.verify_while(&Scope::All, outside, &|_| watch())?;
    report.notes.extend(remarks);
    Ok(report)
}

/// A caller that waits for the whole log; dropped when it has its answer, or leaves.
struct Waiting<'k>(&'k Known);

impl<'k> Waiting<'k> {
    fn new(known: &'k Known) -> Waiting<'k> {
        known.waiting.fetch_add(1, Ordering::SeqCst);
        Waiting(known)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Says, when it is dropped, that the caller has its answer or has left.
#[derive(Default)]
struct Leaving(Arc<AtomicBool>);

impl Drop for Leaving {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use cairn::{NewThought, ThoughtType};
    use futures::future::join_all;

    use super::*;

    fn log() -> (tempfile::TempDir, Cairn) {
        let folder = tempfile::tempdir().unwrap();
        let cairn = Cairn::open(folder.path().join("cairn.db")).unwrap();
        cairn.record(thought()).unwrap();
        (folder, cairn)
    }

    fn thought() -> NewThought {
        NewThought::new(ThoughtType::Plan, "x").session("s").task("t").agent("a")
    }

    /// From inside a runtime.
    fn record(cairn: &Cairn) {
        tokio::task::block_in_place(|| cairn.record(thought())).unwrap();
    }

    async fn until(condition: impl Fn() -> bool) {
        while !condition() {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn callers_that_wait_for_a_turn_share_one_answer_that_covers_what_they_recorded() {
        let (_folder, cairn) = tokio::task::block_in_place(log);
        let verifications = Arc::new(Verifications::new(cairn.clone()));
        // As if one were running.
        let running = verifications.turn.clone().lock_owned().await;
        let callers: Vec<_> = (0..50)
            .map(|_| {
                let verifications = verifications.clone();
                tokio::spawn(async move { verifications.whole().await })
            })
            .collect();
        until(|| verifications.known.waiting.load(Ordering::SeqCst) == 50).await;
        record(&cairn);
        drop(running);
        let answers = join_all(callers).await;
        for answer in &answers {
            let report = answer.as_ref().unwrap().outcome.as_ref().unwrap();
            assert!(report.valid() && report.records == 2, "{report:?}");
        }
        assert_eq!(verifications.begun(), 1);
        // One who asks now is not answered from before.
        record(&cairn);
        assert_eq!(verifications.whole().await.outcome.as_ref().unwrap().records, 3);
        assert_eq!(verifications.begun(), 2);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_verification_whose_callers_have_left_never_begins() {
        let (_folder, cairn) = tokio::task::block_in_place(log);
        let verifications = Arc::new(Verifications::new(cairn));
        let (running, part) =
            (verifications.turn.clone().lock_owned().await, verifications.part.clone().acquire_owned().await);
        for scope in [Scope::All, Scope::Session("s".to_string())] {
            let call = {
                let verifications = verifications.clone();
                tokio::spawn(async move { verifications.report(scope).await })
            };
            tokio::task::yield_now().await;
            call.abort();
            assert!(call.await.unwrap_err().is_cancelled());
        }
        drop((running, part));
        assert_eq!(verifications.known.waiting.load(Ordering::SeqCst), 0);
        assert_eq!(verifications.begun(), 0);
        let report = verifications.report(Scope::Session("s".to_string())).await.unwrap();
        assert!(report.valid() && verifications.begun() == 1);
    }

    #[test]
    fn a_verification_that_nobody_waits_for_stops() {
        let (_folder, cairn) = log();
        let stopped = verify(&cairn, &|| ControlFlow::Break(()));
        assert!(matches!(stopped, Err(Error::Store(StoreError::GivenUp))), "{stopped:?}");
        let watch = |_| ControlFlow::Break(());
        let stopped = cairn.verify_while(&Scope::Session("s".into()), Outside::default(), &watch);
        assert!(matches!(stopped, Err(Error::Store(StoreError::GivenUp))), "{stopped:?}");
    }
}
