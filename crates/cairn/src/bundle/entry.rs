//! One entry of a bundle: its bytes, its record, and the contents and key that come with it.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cairn_core::Sha;
use cairn_core::entry::{Entry as Logged, Parts, Record, Salt};
use serde_json::{Map, Value};

use crate::seal;

/// An entry of the log with everything that a line of a bundle holds.
pub struct Entry {
    /// The exact bytes, as text.
    pub bytes: String,
    /// The entry and its texts; none if no entry has such bytes.
    pub record: Option<Record<'static>>,
    /// The contents that an event is the first to name.
    pub bodies: BTreeMap<Sha, String>,
    /// The key of a sealed content.
    pub seal_key: Option<Vec<u8>>,
    /// That it stands in the tree; only in a partial bundle.
    pub proof: Option<Vec<Sha>>,
}

/// Whether the content of a thought is sealed.
pub fn is_sealed(record: &Record<'_>) -> bool {
    matches!(record.entry, Logged::Thought(_)) && record.parts.text.as_deref().is_some_and(seal::is_sealed)
}

/// Whether entries like this one come with a salt.
pub fn has_salt(entry: &Logged<'_>) -> bool {
    entry.metadata_mark().is_some() || entry.text_mark().is_some_and(|mark| mark.salted)
}

impl Entry {
    /// Reads the fields of a line; fails if the line itself is malformed.
    pub fn read(mut line: Map<String, Value>) -> Result<Entry, String> {
        let bytes = text(&mut line, "leaf")?.ok_or("`leaf` is null")?;
        let proof = match line.remove("proof") {
            None => None,
            Some(value) => Some(hashes(&value).ok_or("`proof` is not a list of hashes in base64")?),
        };
        let mut read = Entry { bytes, record: None, bodies: BTreeMap::new(), seal_key: None, proof };
        let Some(entry) = Logged::parse(read.bytes.as_bytes()).map(Logged::into_owned) else {
            return Ok(read);
        };
        let mut parts = Parts::default();
        if let Some(mark) = entry.text_mark() {
            parts.text = text(&mut line, mark.field)?.map(Into::into);
        }
        if entry.metadata_mark().is_some() {
            parts.metadata = text(&mut line, "metadata")?.map(Into::into);
        }
        if has_salt(&entry) {
            parts.salt = salt(&mut line)?;
        }
        if matches!(entry, Logged::Event(_)) {
            read.bodies = named(&mut line)?;
        }
        let record = Record { entry, parts };
        if is_sealed(&record) {
            read.seal_key = hex(&mut line, "seal_key")?;
        }
        read.record = Some(record);
        match line.keys().next() {
            None => Ok(read),
            Some(key) => Err(format!("`{key}` does not belong to an entry of its kind")),
        }
    }

    /// The position in the log that the bytes name.
    pub fn seq(&self) -> Option<u64> {
        self.record.as_ref().map(|record| record.entry.seq())
    }

    /// About how many bytes it has.
    pub fn weight(&self) -> usize {
        let parts = self.record.as_ref().map_or(0, |record| record.parts.len());
        self.bytes.len() + parts + self.bodies.values().map(String::len).sum::<usize>()
    }
}

/// Takes a text, or null, out of a line.
fn text(line: &mut Map<String, Value>, key: &str) -> Result<Option<String>, String> {
    match line.remove(key) {
        Some(Value::String(text)) => Ok(Some(text)),
        Some(Value::Null) => Ok(None),
        Some(_) => Err(format!("`{key}` is neither a text nor null")),
        None => Err(format!("`{key}` is missing")),
    }
}

/// Takes bytes, in lower-case hex digits, or null out of a line.
fn hex(line: &mut Map<String, Value>, key: &str) -> Result<Option<Vec<u8>>, String> {
    let Some(text) = text(line, key)? else { return Ok(None) };
    let digit = |digit: u8| match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    };
    let pairs = text.as_bytes().chunks(2).map(|pair| match pair {
        [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
        _ => None,
    });
    let bytes =
        pairs.collect::<Option<Vec<u8>>>().ok_or(format!("`{key}` is not in lower-case hex digits"))?;
    Ok(Some(bytes))
}

fn salt(line: &mut Map<String, Value>) -> Result<Option<Salt>, String> {
    match hex(line, "salt")?.map(Salt::try_from) {
        None => Ok(None),
        Some(salt) => salt.map(Some).map_err(|_| "`salt` does not have 32 bytes".to_string()),
    }
}

fn named(line: &mut Map<String, Value>) -> Result<BTreeMap<Sha, String>, String> {
    let wrong = || "`bodies` is not an object of texts by their digests".to_string();
    let Some(Value::Object(map)) = line.remove("bodies") else { return Err(wrong()) };
    map.into_iter()
        .map(|(digest, value)| match value {
            Value::String(text) => Ok((digest.parse().map_err(|_| wrong())?, text)),
            _ => Err(wrong()),
        })
        .collect()
}

/// Reads a list of hashes in base64.
pub fn hashes(value: &Value) -> Option<Vec<Sha>> {
    let hash = |value: &Value| {
        let bytes = STANDARD.decode(value.as_str()?).ok()?;
        bytes.try_into().ok().map(Sha)
    };
    value.as_array()?.iter().map(hash).collect()
}
