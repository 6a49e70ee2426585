//! Comparing a log with a copy of it, field by field. A backup, a clone or a bundle tells what a hash alone cannot.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::ops::ControlFlow;

use cairn_core::entry::{Column, Malformed, Record};
use cairn_core::preview::preview;
use serde::Serialize;

use super::{MAX_FINDINGS, Progress};
use crate::bundle::each_entry;
use crate::check::what;
use crate::error::{Error, Result};
use crate::handle::Cairn;
use crate::store::Store;

/// Entries compared at a time.
const CHUNK: u64 = 1024;
/// How much of a value is shown, in characters.
const MAX_VALUE: usize = 200;

/// A field in which a log and a copy of it differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CopyDifference {
    /// Position in the log.
    pub seq: u64,
    /// The record, in words.
    pub record: String,
    /// The field; `entry` if one of them lacks the entry.
    pub field: String,
    /// Its value in the log.
    pub here: String,
    /// Its value in the copy.
    pub there: String,
}

/// A log beside a copy of it.
#[derive(Debug, Clone, Default, Serialize)]
pub struct CopyComparison {
    /// Entries that both have.
    pub compared: u64,
    /// Entries that the log has beyond the copy.
    pub only_here: u64,
    /// Entries that the copy has beyond the log.
    pub only_there: u64,
    /// The fields that differ, in the order of the log: at most 100.
    pub differences: Vec<CopyDifference>,
    /// How many in all.
    pub differences_total: u64,
}

type Rows = BTreeMap<u64, std::result::Result<Record<'static>, Malformed>>;

impl Cairn {
    /// Compares the log with that of another database, as far as both reach.
    pub fn compare_with(
        &self,
        other: &Cairn,
        progress: &(dyn Fn(Progress) + Sync),
    ) -> Result<CopyComparison> {
        let (here, there) = (&*self.inner.store, &*other.inner.store);
        let (head, copy) = (here.head()?, there.head()?);
        if head.origin != copy.origin {
            let message = format!("it holds another log, `{}`, and this is `{}`", copy.origin, head.origin);
            return Err(Error::invalid("against", message));
        }
        let total = head.size.min(copy.size);
        let mut found = CopyComparison {
            only_here: head.size.saturating_sub(copy.size),
            only_there: copy.size.saturating_sub(head.size),
            ..CopyComparison::default()
        };
        for from in (0..total).step_by(CHUNK as usize) {
            let to = total.min(from + CHUNK);
            let (ours, theirs) = (rows(here, from, to)?, rows(there, from, to)?);
            (from..to).for_each(|seq| found.compare(seq, ours.get(&seq), theirs.get(&seq)));
            progress(Progress { done: to, total, what: "entries" });
        }
        Ok(found)
    }

    /// Compares the log with a bundle of it, or of a part of it.
    pub fn compare_with_bundle(&self, bundle: impl BufRead) -> Result<CopyComparison> {
        let store = &*self.inner.store;
        let head = store.head()?;
        let mut found = CopyComparison::default();
        let mut waiting = Rows::new();
        let mut compare = |waiting: &mut Rows| {
            if let (Some((first, _)), Some((last, _))) = (waiting.first_key_value(), waiting.last_key_value())
            {
                let ours = rows(store, *first, last.saturating_add(1).min(head.size))?;
                waiting.iter().for_each(|(seq, theirs)| match *seq < head.size {
                    true => found.compare(*seq, ours.get(seq), Some(theirs)),
                    false => found.only_there += 1,
                });
            }
            waiting.clear();
            Ok::<_, Error>(())
        };
        let origin = each_entry(bundle, &mut |record| {
            waiting.insert(record.entry.seq(), Ok(record));
            if waiting.len() as u64 >= CHUNK { compare(&mut waiting) } else { Ok(()) }
        })?;
        compare(&mut waiting)?;
        if origin != head.origin {
            let message = format!("it is of another log, `{origin}`, and this is `{}`", head.origin);
            return Err(Error::invalid("against", message));
        }
        Ok(found)
    }
}

impl CopyComparison {
    /// Whether everything that both have is the same.
    pub fn is_same(&self) -> bool {
        self.differences_total == 0
    }

    fn compare(
        &mut self,
        seq: u64,
        here: Option<&std::result::Result<Record<'static>, Malformed>>,
        there: Option<&std::result::Result<Record<'static>, Malformed>>,
    ) {
        self.compared += 1;
        if here == there {
            return;
        }
        let named = [here, there].into_iter().flatten().find_map(|row| row.as_ref().ok());
        let record = named.map_or(format!("log entry {seq}"), |record| what(&record.entry));
        let (ours, theirs) = (fields(here), fields(there));
        for field in ours.keys().chain(theirs.keys().filter(|field| !ours.contains_key(*field))) {
            let (here, there) = (ours.get(field), theirs.get(field));
            if here != there {
                self.differences_total += 1;
                if self.differences.len() < MAX_FINDINGS {
                    let shown = |value: Option<&String>| match value {
                        Some(value) => preview(value, MAX_VALUE).into_owned(),
                        None => "nothing".to_string(),
                    };
                    self.differences.push(CopyDifference {
                        seq,
                        record: record.clone(),
                        field: field.to_string(),
                        here: shown(here),
                        there: shown(there),
                    });
                }
            }
        }
    }
}

fn rows(store: &dyn Store, from: u64, to: u64) -> Result<Rows> {
    let mut rows = Rows::new();
    if from < to {
        store.records(from, to, &mut |stored| {
            rows.insert(stored.seq, stored.record.map(Record::into_owned));
            ControlFlow::Continue(())
        })?;
    }
    Ok(rows)
}

/// The values of a row by their names. Without a row there is none, so the entry itself differs.
fn fields(row: Option<&std::result::Result<Record<'static>, Malformed>>) -> BTreeMap<&'static str, String> {
    let mut fields = BTreeMap::new();
    let record = match row {
        None => {
            fields.insert("entry", "missing".to_string());
            return fields;
        }
        Some(Err(malformed)) => {
            fields.insert(malformed.field, "a value that was never written there".to_string());
            return fields;
        }
        Some(Ok(record)) => record,
    };
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    fields.insert("kind", record.entry.kind().to_string());
    record.entry.columns(&mut |name, value| {
        let value = match value {
            Column::Null => return,
            Column::Number(number) => number.to_string(),
            Column::Text(text) => text.into_owned(),
            Column::Bytes(bytes) => hex(&bytes),
        };
        fields.insert(name, value);
    });
    let text = record.entry.text_mark().map(|mark| mark.field);
    fields.extend(text.zip(record.parts.text.as_ref().map(|text| text.to_string())));
    fields.extend(record.parts.metadata.as_ref().map(|text| ("metadata", text.to_string())));
    fields.extend(record.parts.salt.as_ref().map(|salt| ("salt", hex(salt))));
    fields
}
