//! One entry of a bundle: what its bytes say, and what comes with them.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cairn_core::Sha;
use cairn_core::entry::{
    BriefEntry, ContinuationEntry, Entry as Logged, EventEntry, Genesis, KeyEntry, RedactionEntry,
    ReviewEntry, Salt, SnapshotEntry, ThoughtEntry,
};
use cairn_core::thought::SEALED;
use serde_json::{Map, Value};

use crate::seal;

/// An entry of the log with what it stands for.
pub struct Entry {
    /// The exact bytes, as text.
    pub bytes: String,
    /// What they say.
    pub leaf: Leaf,
    /// That it stands in the tree; only in a partial bundle.
    pub proof: Option<Vec<Sha>>,
}

/// What the bytes of an entry say, and what comes with them.
pub enum Leaf {
    /// The first entry.
    Genesis(Genesis<'static>),
    /// A thought.
    Thought(Box<ThoughtEntry<'static>>, ThoughtParts),
    /// A snapshot.
    Snapshot(SnapshotEntry<'static>, SnapshotParts),
    /// An event, its body, and the contents that it is the first to name.
    Event(EventEntry<'static>, Option<String>, BTreeMap<Sha, String>),
    /// A brief, and what is stored of it.
    Brief(BriefEntry<'static>, Option<String>),
    /// A change of keys.
    Key(KeyEntry<'static>),
    /// A redaction.
    Redaction(RedactionEntry<'static>),
    /// A review, its text and the salt of the text's commitment.
    Review(ReviewEntry<'static>, Option<String>, Option<Salt>),
    /// A continuation of another log.
    Continuation(ContinuationEntry<'static>),
    /// Something that no entry says.
    Unknown,
}

impl Leaf {
    /// About how many bytes come with the entry's own.
    pub fn weight(&self) -> usize {
        let of = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        match self {
            Leaf::Thought(_, parts) => of(&parts.content) + of(&parts.metadata),
            Leaf::Snapshot(_, parts) => of(&parts.data) + of(&parts.metadata),
            Leaf::Event(_, body, bodies) => of(body) + bodies.values().map(String::len).sum::<usize>(),
            Leaf::Brief(_, data) => of(data),
            Leaf::Review(_, text, _) => of(text),
            _ => 0,
        }
    }
}

/// What a thought's entry stands for.
pub struct ThoughtParts {
    /// The text.
    pub content: Option<String>,
    /// Canonical JSON.
    pub metadata: Option<String>,
    /// The salt of the metadata's commitment.
    pub salt: Option<Salt>,
    /// The key of a sealed content.
    pub seal_key: Option<Vec<u8>>,
}

impl ThoughtParts {
    /// Whether the content is sealed.
    pub fn is_sealed(&self) -> bool {
        self.content.as_deref().is_some_and(seal::is_sealed)
    }
}

/// What a snapshot's entry stands for.
pub struct SnapshotParts {
    /// The content.
    pub data: Option<String>,
    /// Canonical JSON.
    pub metadata: Option<String>,
    /// The salt of the metadata's commitment.
    pub salt: Option<Salt>,
}

impl Entry {
    /// Reads the fields of a line. What is wrong with the line as such is an error; bytes that no entry has are
    /// [`Leaf::Unknown`].
    pub fn read(mut line: Map<String, Value>) -> Result<Entry, String> {
        let bytes = text(&mut line, "leaf")?.ok_or("`leaf` is null")?;
        let proof = match line.remove("proof") {
            None => None,
            Some(value) => Some(hashes(&value).ok_or("`proof` is not a list of hashes in base64")?),
        };
        let leaf = read_leaf(&bytes, &mut line)?;
        match (&leaf, line.keys().next()) {
            (Leaf::Unknown, _) | (_, None) => Ok(Entry { bytes, leaf, proof }),
            (_, Some(key)) => Err(format!("`{key}` does not belong to an entry of its kind")),
        }
    }

    /// The position in the log that the bytes name.
    pub fn seq(&self) -> Option<u64> {
        Some(match &self.leaf {
            Leaf::Genesis(leaf) => leaf.seq,
            Leaf::Thought(leaf, _) => leaf.seq,
            Leaf::Snapshot(leaf, _) => leaf.seq,
            Leaf::Event(leaf, ..) => leaf.seq,
            Leaf::Brief(leaf, _) => leaf.seq,
            Leaf::Key(leaf) => leaf.seq,
            Leaf::Redaction(leaf) => leaf.seq,
            Leaf::Review(leaf, ..) => leaf.seq,
            Leaf::Continuation(leaf) => leaf.seq,
            Leaf::Unknown => return None,
        })
    }
}

/// Reads the bytes of an entry, and takes what comes with them out of the line.
fn read_leaf(bytes: &str, line: &mut Map<String, Value>) -> Result<Leaf, String> {
    let mut leaf = match Logged::parse(bytes.as_bytes()).map(Logged::into_owned) {
        None => Leaf::Unknown,
        Some(Logged::Genesis(entry)) => Leaf::Genesis(entry),
        Some(Logged::Thought(entry)) => Leaf::Thought(Box::new(entry), ThoughtParts::none()),
        Some(Logged::Snapshot(entry)) => Leaf::Snapshot(entry, SnapshotParts::none()),
        Some(Logged::Event(entry)) => Leaf::Event(entry, None, BTreeMap::new()),
        Some(Logged::Brief(entry)) => Leaf::Brief(entry, None),
        Some(Logged::Key(entry)) => Leaf::Key(entry),
        Some(Logged::Redaction(entry)) => Leaf::Redaction(entry),
        Some(Logged::Review(entry)) => Leaf::Review(entry, None, None),
        Some(Logged::Continuation(entry)) => Leaf::Continuation(entry),
    };
    match &mut leaf {
        Leaf::Thought(_, parts) => {
            parts.content = text(line, "content")?;
            parts.metadata = text(line, "metadata")?;
            parts.salt = salt(line)?;
            if parts.content.as_deref().is_some_and(|content| content.starts_with(SEALED)) {
                parts.seal_key = hex(line, "seal_key")?;
            }
        }
        Leaf::Snapshot(_, parts) => {
            *parts = SnapshotParts {
                data: text(line, "data")?,
                metadata: text(line, "metadata")?,
                salt: salt(line)?,
            };
        }
        Leaf::Event(_, body, bodies) => {
            *body = text(line, "body")?;
            *bodies = named(line)?;
        }
        Leaf::Brief(_, data) => *data = text(line, "data")?,
        Leaf::Review(_, words, words_salt) => {
            *words = text(line, "text")?;
            *words_salt = salt(line)?;
        }
        _ => {}
    }
    Ok(leaf)
}

impl ThoughtParts {
    fn none() -> ThoughtParts {
        ThoughtParts { content: None, metadata: None, salt: None, seal_key: None }
    }
}

impl SnapshotParts {
    fn none() -> SnapshotParts {
        SnapshotParts { data: None, metadata: None, salt: None }
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
