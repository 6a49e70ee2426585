//! Reading the lines of a bundle: one at a time, none longer than allowed, nothing but canonical JSON.

use std::io::{BufRead, Read};

use cairn_core::Sha;
use cairn_core::canonical;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::{FORMAT, MAX_LINE, Selection};

/// Why reading stopped.
#[derive(Debug)]
pub enum Stop {
    /// The line of this number, from 1, is not one of a bundle.
    Malformed(u64, String),
    /// The file could not be read.
    Io(std::io::Error),
}

/// What a line says.
pub enum Line {
    /// An entry of the log: the fields of the line.
    Entry(Map<String, Value>),
    /// The note of a checkpoint.
    Checkpoint(String),
    /// Public keys, for information.
    Keys,
    /// The last line, and the hash of everything before it.
    Manifest(Manifest, Sha),
}

/// The first line.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    #[serde(rename = "format")]
    _format: String,
    /// Whether it holds the whole log.
    pub full: bool,
    /// The name of the log.
    pub origin: String,
    /// The root at that size.
    pub root: Sha,
    #[serde(deserialize_with = "null_or")]
    selection: Option<Selection>,
    /// The size of the log that it stands on.
    pub size: u64,
}

impl Header {
    /// What it holds.
    pub fn selection(&self) -> Selection {
        self.selection.clone().unwrap_or_default()
    }
}

/// What the last line says of the others.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Lines that hold an entry.
    pub entries: u64,
    /// Redactions among them.
    pub redacted: u64,
    /// The hash of every byte before the last line.
    pub sha256: Sha,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CheckpointLine {
    checkpoint: String,
}

/// A field that may be null must be there.
fn null_or<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Selection>, D::Error> {
    Option::deserialize(deserializer)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct KeysLine {
    #[serde(rename = "keys")]
    _keys: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ManifestLine {
    manifest: Manifest,
}

/// The lines of a bundle, one after the other.
pub struct Lines<R> {
    source: R,
    hasher: Sha256,
    line: Vec<u8>,
    /// The line read last, from 1.
    pub number: u64,
}

impl<R: BufRead> Lines<R> {
    /// Starts before the first line.
    pub fn new(source: R) -> Lines<R> {
        Lines { source, hasher: Sha256::new(), line: Vec::new(), number: 0 }
    }

    /// Reads the first line.
    pub fn header(&mut self) -> Result<Header, Stop> {
        let value = self.value()?.ok_or_else(|| self.malformed("is missing: the file is empty"))?;
        let ours = value.get("format").and_then(Value::as_str).is_some_and(|format| format == FORMAT);
        if !ours {
            return Err(self.malformed(format!("does not say `{FORMAT}`: this is no bundle, or a newer one")));
        }
        let header: Header = self.typed(value)?;
        let named = matches!(header.selection, Some(Selection::Session(_) | Selection::Task(_)));
        if header.full == named || (header.selection.is_some() && !named) || header.size == 0 {
            return Err(self.malformed("contradicts itself"));
        }
        self.take_in();
        Ok(header)
    }

    /// Reads a line after the first; none at the end of the file.
    pub fn next(&mut self) -> Result<Option<Line>, Stop> {
        let Some(value) = self.value()? else { return Ok(None) };
        let Value::Object(mut map) = value else { return Err(self.malformed("is not an object")) };
        let line = if map.contains_key("leaf") {
            Line::Entry(std::mem::take(&mut map))
        } else if map.contains_key("checkpoint") {
            Line::Checkpoint(self.typed::<CheckpointLine>(Value::Object(map))?.checkpoint)
        } else if map.contains_key("keys") {
            self.typed::<KeysLine>(Value::Object(map))?;
            Line::Keys
        } else if map.contains_key("manifest") {
            let sha256 = Sha(self.hasher.clone().finalize().into());
            Line::Manifest(self.typed::<ManifestLine>(Value::Object(map))?.manifest, sha256)
        } else {
            return Err(self.malformed("is none of the lines of a bundle"));
        };
        self.take_in();
        Ok(Some(line))
    }

    fn value(&mut self) -> Result<Option<Value>, Stop> {
        self.line.clear();
        self.number += 1;
        let limit = MAX_LINE as u64 + 1;
        (&mut self.source).take(limit).read_until(b'\n', &mut self.line).map_err(Stop::Io)?;
        let length = self.line.len();
        match self.line.last() {
            None => return Ok(None),
            _ if length > MAX_LINE => {
                return Err(self.malformed(format!("is longer than {MAX_LINE} bytes")));
            }
            Some(b'\n') => {}
            Some(_) => return Err(self.malformed("is cut short")),
        }
        let text = &self.line[..length - 1];
        let value =
            canonical::parse(text).map_err(|error| self.malformed(format!("is not JSON: {error}")))?;
        match canonical::to_bytes(&value) {
            Ok(bytes) if bytes == text => Ok(Some(value)),
            _ => Err(self.malformed("is not canonical JSON")),
        }
    }

    fn typed<T: for<'de> Deserialize<'de>>(&self, value: Value) -> Result<T, Stop> {
        serde_json::from_value(value).map_err(|error| self.malformed(format!("is not understood: {error}")))
    }

    /// Only lines that were understood count towards the hash; whatever stops the reading is a finding by itself.
    fn take_in(&mut self) {
        self.hasher.update(&self.line);
    }

    /// Says what is wrong with the line read last.
    pub fn malformed(&self, what: impl Into<String>) -> Stop {
        Stop::Malformed(self.number, what.into())
    }
}
