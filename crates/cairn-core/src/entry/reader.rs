//! Reads the bytes of an entry: exactly the canonical ones, and no others.

use std::borrow::Cow;

use super::field::{Field, Text};
use super::{EntryKind, VERSION};
use crate::canonical::{MAX_INTEGER, write_string};

/// A place in the bytes of an entry.
pub struct EntryReader<'a> {
    rest: &'a str,
    kind: EntryKind,
    pending: Pending,
    first: bool,
}

/// The members that every entry has and no declaration names, in their order.
#[derive(Clone, Copy, PartialEq)]
enum Pending {
    Kind,
    Version,
    None,
}

impl<'a> EntryReader<'a> {
    /// Starts at the first member of an entry of this kind.
    pub(super) fn new(bytes: &'a [u8], kind: EntryKind) -> Option<EntryReader<'a>> {
        let rest = std::str::from_utf8(bytes).ok()?.strip_prefix('{')?;
        Some(EntryReader { rest, kind, pending: Pending::Kind, first: true })
    }

    /// Reads a text that is one value and nothing else.
    pub(super) fn only<T: Field<'a>>(text: &'a str) -> Option<T> {
        let mut reader =
            EntryReader { rest: text, kind: EntryKind::Genesis, pending: Pending::None, first: true };
        T::read(&mut reader).filter(|_| reader.rest.is_empty())
    }

    /// Reads the member `key`, which is the next of those declared.
    pub(super) fn member<T: Field<'a>>(&mut self, key: &'static str) -> Option<T> {
        self.common(key)?;
        self.key(key)?;
        T::read(self)
    }

    /// Reads what is left of the members that every entry has, and the end.
    pub(super) fn end(&mut self) -> Option<()> {
        // Sorts behind every key.
        self.common("\u{7f}")?;
        (self.rest == "}").then_some(())
    }

    /// Reads the common members that stand before `key`.
    fn common(&mut self, key: &str) -> Option<()> {
        if self.pending == Pending::Kind && "kind" < key {
            self.key("kind")?;
            (EntryKind::read(self)? == self.kind).then_some(())?;
            self.pending = Pending::Version;
        }
        if self.pending == Pending::Version && "v" < key {
            self.key("v")?;
            (self.number()? == VERSION).then_some(())?;
            self.pending = Pending::None;
        }
        Some(())
    }

    fn key(&mut self, key: &str) -> Option<()> {
        if !std::mem::take(&mut self.first) {
            self.rest = self.rest.strip_prefix(',')?;
        }
        self.rest = self.rest.strip_prefix('"')?.strip_prefix(key)?.strip_prefix("\":")?;
        Some(())
    }

    /// Passes over these bytes if they are the next ones.
    pub(super) fn take(&mut self, bytes: &[u8]) -> bool {
        let found = self.rest.as_bytes().starts_with(bytes);
        if found {
            self.rest = &self.rest[bytes.len()..];
        }
        found
    }

    /// Reads a string.
    pub(super) fn text(&mut self) -> Option<Text<'a>> {
        let inside = self.rest.strip_prefix('"')?;
        let stop = inside.find(|c: char| c == '"' || c == '\\' || c < ' ')?;
        if inside.as_bytes()[stop] == b'"' {
            self.rest = &inside[stop + 1..];
            return Some(Cow::Borrowed(&inside[..stop]));
        }
        let mut escaped = false;
        let end = inside.bytes().position(|byte| {
            let ends = byte == b'"' && !escaped;
            escaped = byte == b'\\' && !escaped;
            ends
        })?;
        let quoted = &self.rest[..end + 2];
        let text: String = serde_json::from_str(quoted).ok()?;
        let mut again = Vec::with_capacity(quoted.len());
        write_string(&text, &mut again);
        self.rest = &inside[end + 1..];
        (again == quoted.as_bytes()).then_some(Cow::Owned(text))
    }

    /// Reads a whole number.
    pub(super) fn number(&mut self) -> Option<u64> {
        let length = self.rest.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, rest) = self.rest.split_at(length);
        self.rest = rest;
        let number = digits.parse().ok().filter(|number| *number <= MAX_INTEGER)?;
        (length == 1 || !digits.starts_with('0')).then_some(number)
    }
}
