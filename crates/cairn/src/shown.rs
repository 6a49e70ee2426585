//! Thoughts as readers get them: checked against the log, and opened where they are sealed.

use std::ops::ControlFlow;

use cairn_core::thought::Thought;

use crate::checked;
use crate::error::Result;
use crate::handle::Cairn;
use crate::read::Listing;
use crate::seal;
use crate::store::{Damage, Read, Thoughts};

/// Opens a sealed content with its key. A redacted one stays closed.
pub(crate) fn opened(mut thought: Thought, key: Option<Vec<u8>>) -> Read<Thought> {
    let damaged = |what: &str| Damage::at(thought.seq, format!("its sealed content {what}"));
    let key = key.ok_or_else(|| damaged("has lost its key"))?;
    let content = seal::open(thought.id.as_str(), &thought.content, &key);
    thought.content = content.ok_or_else(|| damaged("does not open with its key"))?;
    Ok(thought)
}

/// Whether a thought has to be opened before it is shown.
pub(crate) fn is_closed(thought: &Thought) -> bool {
    thought.sealed && thought.redacted.is_none()
}

impl Cairn {
    /// Opens a thought that passed its check.
    pub(crate) fn opened(&self, thought: Thought) -> Result<Read<Thought>> {
        if !is_closed(&thought) {
            return Ok(Ok(thought));
        }
        let key = self.inner.store.seal_key(thought.seq)?;
        Ok(opened(thought, key))
    }

    /// Visits thoughts as readers get them, until the visitor breaks off.
    pub(crate) fn visit_thoughts(
        &self,
        which: &Thoughts<'_>,
        visit: &mut dyn FnMut(Read<Thought>) -> ControlFlow<()>,
    ) -> Result<()> {
        let mut buffer = Vec::new();
        let mut failed = Ok(());
        self.inner.store.thoughts(which, &mut |stored| match checked::thought(stored, &mut buffer)
            .map(|thought| self.opened(thought))
        {
            Ok(Ok(thought)) => visit(thought),
            Ok(Err(error)) => {
                failed = Err(error);
                ControlFlow::Break(())
            }
            Err(damage) => visit(Err(damage)),
        })?;
        failed
    }

    /// The thoughts that `which` names and for which `asked` holds; `wanted` says in words what was asked for.
    pub(crate) fn thoughts(
        &self,
        which: &Thoughts<'_>,
        wanted: impl Fn() -> String,
        asked: impl Fn(&Thought) -> bool,
    ) -> Result<Listing<Thought>> {
        let mut listing = Listing::default();
        self.visit_thoughts(which, &mut |read| {
            let is_asked = |thought: Thought| match asked(&thought) {
                true => Ok(thought),
                false => Err(Damage::at(thought.seq, format!("it is not {}", wanted()))),
            };
            listing.add(read.and_then(is_asked));
            ControlFlow::Continue(())
        })?;
        Ok(listing)
    }
}
