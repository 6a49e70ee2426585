//! The texts that entries stand for. They are stored beside the entry, so that a redaction can blank them.

use super::field::Text;
use super::{Entry, RedactionEntry, Salt, commitment};
use crate::hash::Sha;

/// A record: its entry, and the texts that the entry stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record<'a> {
    /// The entry.
    pub entry: Entry<'a>,
    /// The texts.
    pub parts: Parts<'a>,
}

/// The texts of a record, as they are stored.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parts<'a> {
    /// The content of a thought, the data of a snapshot or a brief, the body of an event, the text of a review.
    pub text: Option<Text<'a>>,
    /// Canonical JSON.
    pub metadata: Option<Text<'a>>,
    /// The salt of whatever the entry commits to with one.
    pub salt: Option<Salt>,
}

impl Parts<'_> {
    /// Borrows from nothing any more.
    pub fn into_owned(self) -> Parts<'static> {
        let owned = |text: Text<'_>| Text::from(text.into_owned());
        Parts { text: self.text.map(owned), metadata: self.metadata.map(owned), salt: self.salt }
    }

    /// About how many bytes they have.
    pub fn len(&self) -> usize {
        self.text.as_ref().map_or(0, |text| text.len()) + self.metadata.as_ref().map_or(0, |text| text.len())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.text.is_none() && self.metadata.is_none()
    }
}

/// How an entry stands for its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextMark {
    /// The name of the text, which is also that of its column.
    pub field: &'static str,
    /// The hash, or the salted commitment.
    pub hash: Sha,
    /// Bytes of text.
    pub length: u64,
    /// Whether the hash is salted.
    pub salted: bool,
    /// Whether the hash is a column as well.
    pub stored: bool,
}

/// A text is gone that no redaction took, or parts do not belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unsound {
    /// A text is gone.
    #[error("`{0}` is gone, and no redaction says so")]
    Gone(&'static str),
    /// A text is there that a redaction took.
    #[error("`{0}` is there, although it was redacted")]
    StillThere(&'static str),
    /// A text is not the one that is stored under its hash.
    #[error("`{0}` is not the text of its hash")]
    Differs(&'static str),
    /// The salt is missing, or there is one for nothing.
    #[error("`salt` does not belong to the texts beside it")]
    Salt,
    /// A redacted event keeps another body than its redaction says.
    #[error("`body` is not what the redaction left of it")]
    Remains,
}

/// Whether a text of a complete record is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blanked {
    /// Everything is there.
    No,
    /// A redaction took it.
    Yes,
}

impl Entry<'_> {
    /// How it stands for its text; none if it has no text.
    pub fn text_mark(&self) -> Option<TextMark> {
        let (field, hash, length) = match self {
            Entry::Thought(entry) => ("content", entry.content_hash, entry.content_length),
            Entry::Snapshot(entry) => ("data", entry.content_hash, entry.content_length),
            Entry::Event(entry) => ("body", entry.body_commitment, entry.body_length),
            Entry::Brief(entry) => ("data", entry.data_hash, entry.data_length),
            Entry::Review(entry) => ("text", entry.text_commitment, entry.text_length),
            Entry::Genesis(_) | Entry::Key(_) | Entry::Redaction(_) | Entry::Continuation(_) => return None,
        };
        let salted = matches!(self, Entry::Event(_) | Entry::Review(_));
        let stored = matches!(self, Entry::Thought(_) | Entry::Snapshot(_));
        Some(TextMark { field, hash, length, salted, stored })
    }

    /// The id of its record: of an event, and of an entry without one, the position in the log.
    pub fn id(&self) -> String {
        match self {
            Entry::Thought(entry) => entry.id.to_string(),
            Entry::Snapshot(entry) => entry.context_id.to_string(),
            Entry::Brief(entry) => entry.brief_id.to_string(),
            Entry::Review(entry) => entry.review_id.to_string(),
            Entry::Event(_)
            | Entry::Genesis(_)
            | Entry::Key(_)
            | Entry::Redaction(_)
            | Entry::Continuation(_) => self.seq().to_string(),
        }
    }

    /// The mark of its metadata; the outer none if its kind has no metadata.
    pub fn metadata_mark(&self) -> Option<Option<Sha>> {
        match self {
            Entry::Thought(entry) => Some(entry.metadata_commitment),
            Entry::Snapshot(entry) => Some(entry.metadata_commitment),
            _ => None,
        }
    }

    /// Lets it stand for another text, by its hash.
    pub fn set_text_hash(&mut self, hash: Sha) {
        if let Some(mark) = self.text_mark() {
            self.stand_for(&TextMark { hash, ..mark }, self.metadata_mark().flatten());
        }
    }

    /// Lets it stand for a text and for metadata.
    pub(super) fn stand_for(&mut self, mark: &TextMark, metadata: Option<Sha>) {
        let (hash, length) = match self {
            Entry::Thought(entry) => {
                entry.metadata_commitment = metadata;
                (&mut entry.content_hash, &mut entry.content_length)
            }
            Entry::Snapshot(entry) => {
                entry.metadata_commitment = metadata;
                (&mut entry.content_hash, &mut entry.content_length)
            }
            Entry::Event(entry) => (&mut entry.body_commitment, &mut entry.body_length),
            Entry::Brief(entry) => (&mut entry.data_hash, &mut entry.data_length),
            Entry::Review(entry) => (&mut entry.text_commitment, &mut entry.text_length),
            Entry::Genesis(_) | Entry::Key(_) | Entry::Redaction(_) | Entry::Continuation(_) => return,
        };
        (*hash, *length) = (mark.hash, mark.length);
    }
}

impl Parts<'_> {
    /// The marks that an entry of these texts has. `mark` names the text; for a blanked text, the redaction that took
    /// it says what stood for it.
    pub fn marks(
        &self,
        mark: TextMark,
        has_metadata: bool,
        redaction: Option<&RedactionEntry<'_>>,
    ) -> Result<(TextMark, Option<Sha>, Blanked), Unsound> {
        let Parts { text, metadata, salt } = self;
        let field = mark.field;
        let blanks = |field| redaction.is_some_and(|redaction| redaction.blanks(field));
        let mut blanked = if blanks("seal_key") { Blanked::Yes } else { Blanked::No };
        let hash = match (text, salt) {
            (Some(text), _) if !mark.salted => Some(Sha::of(text.as_bytes())),
            (Some(text), Some(salt)) => Some(commitment(salt, text.as_bytes())),
            _ => None,
        };
        let text = match (hash, text) {
            (Some(_), _) if blanks(field) => return Err(Unsound::StillThere(field)),
            (Some(hash), Some(_)) if mark.stored && hash != mark.hash => return Err(Unsound::Differs(field)),
            (Some(hash), Some(text)) => TextMark { hash, length: text.len() as u64, ..mark },
            // The content of a snapshot is shared by its hash, and may be left unread.
            (None, None) if mark.stored && mark.length > 0 => mark,
            (_, left) => {
                let took = |said: &&RedactionEntry<'_>| {
                    said.blanks(field) && (!mark.stored || said.content_hash == mark.hash)
                };
                let redaction = redaction.filter(took).ok_or(Unsound::Gone(field))?;
                if mark.salted && salt.is_some() {
                    return Err(Unsound::StillThere("salt"));
                }
                if left.as_ref().map(|text| Sha::of(text.as_bytes())) != redaction.remains {
                    return Err(Unsound::Remains);
                }
                blanked = Blanked::Yes;
                TextMark { hash: redaction.content_hash, length: redaction.content_length, ..mark }
            }
        };
        let metadata = match (metadata, salt) {
            (Some(_), _) if !has_metadata => return Err(Unsound::Salt),
            // Whether the salt of the text is there was looked at with it.
            _ if !has_metadata && (mark.salted || salt.is_none()) => None,
            (None, None) if blanks("metadata") => {
                blanked = Blanked::Yes;
                redaction.and_then(|redaction| redaction.metadata_commitment)
            }
            (None, None) => None,
            _ if blanks("metadata") => return Err(Unsound::StillThere("metadata")),
            (Some(metadata), Some(salt)) if has_metadata => Some(commitment(salt, metadata.as_bytes())),
            _ => return Err(Unsound::Salt),
        };
        Ok((text, metadata, blanked))
    }
}

impl Record<'_> {
    /// Whether a text is gone or sealed, so that a redaction may have taken it.
    pub fn is_blank(&self) -> bool {
        self.entry.text_mark().is_some_and(|mark| {
            let gone = match &self.parts.text {
                None => mark.length == 0,
                Some(text) => text.starts_with(crate::thought::SEALED),
            };
            gone || (mark.salted && self.parts.salt.is_none())
        })
    }

    /// Fills the fields of the entry that stand for texts.
    pub fn complete(&mut self, redaction: Option<&RedactionEntry<'_>>) -> Result<Blanked, Unsound> {
        let Some(mark) = self.entry.text_mark() else {
            return if self.parts == Parts::default() { Ok(Blanked::No) } else { Err(Unsound::Salt) };
        };
        let has_metadata = self.entry.metadata_mark().is_some();
        let (text, metadata, blanked) = self.parts.marks(mark, has_metadata, redaction)?;
        self.entry.stand_for(&text, metadata);
        Ok(blanked)
    }

    /// Borrows from nothing any more.
    pub fn into_owned(self) -> Record<'static> {
        Record { entry: self.entry.into_owned(), parts: self.parts.into_owned() }
    }
}
