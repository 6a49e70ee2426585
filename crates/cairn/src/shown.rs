//! Thoughts as readers get them: what is sealed is opened, unless it was redacted.

use cairn_core::thought::Thought;
use cairn_core::tree::Summary;

use crate::error::Result;
use crate::handle::Cairn;
use crate::redact::Said;
use crate::seal;
use crate::store::StoreError;

/// Opens what a store marked as sealed, with its key; without one, says why there is none.
pub(crate) fn opened(
    mut thought: Thought,
    key: Option<Vec<u8>>,
    redaction: impl FnOnce(u64) -> std::result::Result<Option<Vec<u8>>, StoreError>,
) -> Result<Thought> {
    if !seal::is_sealed(&thought.content) {
        thought.sealed = false;
        return Ok(thought);
    }
    let damaged =
        |what: &str| StoreError::Damaged(format!("the sealed content of thought `{}` {what}", thought.id));
    match key {
        Some(key) => {
            let content = seal::open(thought.id.as_str(), &thought.content, &key);
            thought.content = content.ok_or_else(|| damaged("does not open with its key"))?;
        }
        None => {
            let said = redaction(thought.seq)?.and_then(|leaf| Said::read(&leaf));
            thought.redacted = Some(said.ok_or_else(|| damaged("has lost its key"))?.redaction());
            thought.content.clear();
        }
    }
    Ok(thought)
}

impl Cairn {
    /// A thought of the store as readers get it.
    pub(crate) fn shown(&self, thought: Thought) -> Result<Thought> {
        if !thought.sealed {
            return Ok(thought);
        }
        let store = &self.inner.store;
        let key = store.seal_key(thought.seq)?;
        opened(thought, key, |seq| store.redaction(seq))
    }

    /// The same for one without its hashes. A cut text cannot be opened, so the whole is read.
    pub(crate) fn shown_summary(&self, mut summary: Summary) -> Result<Summary> {
        if !summary.sealed {
            return Ok(summary);
        }
        if let Some(thought) = self.get(summary.id.as_str())? {
            summary.content = thought.content;
            summary.sealed = thought.sealed;
            summary.redacted = thought.redacted;
        }
        Ok(summary)
    }
}
