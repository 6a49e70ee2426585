//! Adding entries that were recorded elsewhere to a store, many in one transaction.

use cairn_core::entry::{Entry as Logged, Record};

use super::entry::Entry;
use super::rows::{Known, Rows};
use crate::redact::Erased;
use crate::store::{Needs, Store, StoreError, StoreWriter};

/// The most entries in one transaction.
const MAX_ENTRIES: usize = 2048;
/// The most bytes in one transaction, more or less.
const MAX_BYTES: usize = 16 << 20;
/// Entries that the derived tables take in at a time.
const CATCH_UP_ROWS: u64 = 4096;
/// How often a transaction is tried of which it is known that nothing was written.
const ATTEMPTS: usize = 3;

type Result<T> = std::result::Result<T, StoreError>;

/// Entries that are to be written in one transaction.
#[derive(Default)]
pub struct Load {
    entries: Vec<Entry>,
    bytes: usize,
}

impl Load {
    /// Adds an entry; returns whether there are enough of them now.
    pub fn push(&mut self, entry: Entry) -> bool {
        self.bytes += entry.weight();
        self.entries.push(entry);
        self.entries.len() >= MAX_ENTRIES || self.bytes >= MAX_BYTES
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }
}

/// Adds entries at the end of a log. Nobody else may write to it meanwhile; if somebody does, it says so and stops.
pub struct Adding {
    writer: Box<dyn StoreWriter>,
    /// Entries that were there before.
    prefix: u64,
    known: Known,
    /// What was there before, and is redacted in what was added.
    erased: Vec<Erased>,
}

impl Adding {
    /// Begins where the log of the store ends.
    pub fn to(store: &dyn Store) -> Result<Adding> {
        let prefix = store.head()?.size;
        Ok(Adding { writer: store.writer()?, prefix, known: Known::default(), erased: Vec::new() })
    }

    /// Entries that were there before.
    pub fn prefix(&self) -> u64 {
        self.prefix
    }

    /// Writes a load in one transaction. One that is known to have written nothing is tried again.
    pub fn write(&mut self, load: &Load) -> Result<()> {
        let mut attempt = 1;
        loop {
            match self.try_to_write(load) {
                Err(StoreError::Lost | StoreError::NotWritten) if attempt < ATTEMPTS => attempt += 1,
                done => return done,
            }
        }
    }

    fn try_to_write(&mut self, load: &Load) -> Result<()> {
        let Some(first) = load.entries.first().and_then(Entry::seq) else { return Ok(()) };
        let (prefix, mut erased) = (self.prefix, Vec::new());
        // If it fails, what was learned on the way may not be true.
        let mut known = std::mem::take(&mut self.known);
        self.writer.transaction(&Needs::default(), &mut |tx| {
            let mut rows = Rows::begin(tx, &mut known)?;
            if rows.next() != first {
                return Err(StoreError::Other("somebody else writes to the database; try again".into()));
            }
            for entry in &load.entries {
                rows.insert(entry)?;
                if let Some(Record { entry: Logged::Redaction(said), .. }) = &entry.record
                    && said.target_seq < prefix
                {
                    erased.extend(rows.erase(said)?.as_ref().map(|target| Erased::of([target])));
                }
            }
            rows.finish()
        })?;
        self.known = known;
        self.erased.append(&mut erased);
        Ok(())
    }

    /// Adds checkpoints, or signatures to those that are there.
    pub fn state(&mut self, checkpoints: &[(u64, String)]) -> Result<()> {
        self.writer.transaction(&Needs::default(), &mut |tx| {
            checkpoints.iter().try_for_each(|(size, note)| tx.insert_checkpoint(*size, note))
        })
    }

    /// Brings the derived tables up to date; `left` is told how many entries they do not cover yet.
    pub fn catch_up(&mut self, left: &dyn Fn(u64)) -> Result<()> {
        loop {
            match self.writer.catch_up(CATCH_UP_ROWS)? {
                0 => return Ok(()),
                entries => left(entries),
            }
        }
    }

    /// Ends it. Returns how many texts were erased that were there before, and what of them is still in the files.
    pub fn end(self, store: &dyn Store) -> (u64, Vec<String>) {
        let Adding { writer, erased, .. } = self;
        drop(writer);
        let mut remnants: Vec<String> = erased.iter().flat_map(|erased| erased.sweep(store).1).collect();
        remnants.dedup();
        (erased.len() as u64, remnants)
    }
}
