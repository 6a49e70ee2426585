//! Many callers at once, each of whom waits for its thought to be on disk before it records the next.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::Result;
use cairn::Cairn;
use tokio::task::LocalSet;

use crate::stats::Sample;
use crate::text::{Draft, SESSIONS};

/// How long it took.
pub struct Times {
    /// All of it.
    pub total: Duration,
    /// Single calls, in milliseconds.
    pub calls: Sample,
}

/// What callers take their next thought from, and where they leave its id for the one that follows.
struct Work<I> {
    drafts: I,
    newest: Vec<Option<String>>,
    calls: Sample,
}

impl<I: Iterator<Item = Draft>> Work<I> {
    fn new(drafts: I) -> Work<I> {
        Work { drafts, newest: vec![None; SESSIONS + 1], calls: Sample::default() }
    }

    fn next(&mut self) -> Option<(usize, cairn::NewThought)> {
        let draft = self.drafts.next()?;
        let session = draft.session;
        Some((session, draft.thought(self.newest[session].as_deref())))
    }

    fn done(&mut self, session: usize, thought: &cairn::Thought, started: Instant) {
        self.newest[session] = Some(thought.id.to_string());
        self.calls.add_ms(started.elapsed());
    }
}

/// Callers as tasks on one thread, as in the MCP server.
pub fn tasks(cairn: &Cairn, callers: usize, drafts: impl Iterator<Item = Draft> + 'static) -> Result<Times> {
    let work = Rc::new(RefCell::new(Work::new(drafts)));
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let local = LocalSet::new();
    let started = Instant::now();
    let callers: Vec<_> = (0..callers)
        .map(|_| {
            let (cairn, work) = (cairn.clone(), Rc::clone(&work));
            local.spawn_local(async move {
                loop {
                    let next = work.borrow_mut().next();
                    let Some((session, thought)) = next else { return Ok::<_, cairn::Error>(()) };
                    let started = Instant::now();
                    let thought = cairn.record_async(thought).await?;
                    work.borrow_mut().done(session, &thought, started);
                }
            })
        })
        .collect();
    runtime.block_on(local.run_until(async {
        for caller in callers {
            caller.await??;
        }
        Ok::<_, anyhow::Error>(())
    }))?;
    let total = started.elapsed();
    let calls = std::mem::take(&mut work.borrow_mut().calls);
    Ok(Times { total, calls })
}

/// Callers as threads of the system.
pub fn threads(cairn: &Cairn, callers: usize, drafts: impl Iterator<Item = Draft> + Send) -> Result<Times> {
    let work = Mutex::new(Work::new(drafts));
    let lock = || work.lock().expect("no caller panics");
    let started = Instant::now();
    std::thread::scope(|scope| {
        let callers: Vec<_> = (0..callers)
            .map(|_| {
                scope.spawn(|| {
                    loop {
                        let next = lock().next();
                        let Some((session, thought)) = next else { return Ok::<_, cairn::Error>(()) };
                        let started = Instant::now();
                        let thought = cairn.record(thought)?;
                        lock().done(session, &thought, started);
                    }
                })
            })
            .collect();
        callers.into_iter().try_for_each(|caller| caller.join().expect("no caller panics"))
    })?;
    let total = started.elapsed();
    let calls = std::mem::take(&mut lock().calls);
    Ok(Times { total, calls })
}
