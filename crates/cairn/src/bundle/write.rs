//! Writing the lines of a bundle.

use std::io::{self, Write};

use cairn_core::Sha;
use cairn_core::canonical::write_string;
use sha2::{Digest, Sha256};

use super::MAX_LINE;
use crate::error::{Error, Result};
use crate::store::StoreError;

/// Puts lines together, hashes them, and hands them on.
pub struct Lines<'w> {
    out: &'w mut dyn Write,
    hasher: Sha256,
    line: Vec<u8>,
    /// Bytes written.
    pub bytes: u64,
}

impl<'w> Lines<'w> {
    /// Starts with nothing written.
    pub fn new(out: &'w mut dyn Write) -> Lines<'w> {
        Lines { out, hasher: Sha256::new(), line: Vec::new(), bytes: 0 }
    }

    /// Begins a line.
    pub fn object(&mut self) -> Object<'_> {
        self.line.clear();
        Object::new(&mut self.line)
    }

    /// Writes the line that was put together.
    pub fn end(&mut self) -> Result<()> {
        self.line.push(b'\n');
        if self.line.len() > MAX_LINE {
            return Err(Error::TooLarge { field: "entry", actual: self.line.len(), limit: MAX_LINE });
        }
        self.hasher.update(&self.line);
        self.bytes += self.line.len() as u64;
        self.out.write_all(&self.line).map_err(io_error)
    }

    /// The hash of everything so far.
    pub fn sha256(&self) -> Sha {
        Sha(self.hasher.clone().finalize().into())
    }

    /// Hands on what is still held back.
    pub fn flush(&mut self) -> Result<()> {
        self.out.flush().map_err(io_error)
    }
}

/// An object that is written as it comes; the caller gives the keys in ascending order.
pub struct Object<'l> {
    line: &'l mut Vec<u8>,
    first: bool,
}

impl<'l> Object<'l> {
    fn new(line: &'l mut Vec<u8>) -> Object<'l> {
        line.push(b'{');
        Object { line, first: true }
    }

    fn key(&mut self, key: &str) -> &mut Vec<u8> {
        if !std::mem::take(&mut self.first) {
            self.line.push(b',');
        }
        write_string(key, self.line);
        self.line.push(b':');
        self.line
    }

    /// Adds a text.
    pub fn text(&mut self, key: &str, value: &str) -> &mut Self {
        write_string(value, self.key(key));
        self
    }

    /// Adds a text, or `null` for none.
    pub fn text_or_null(&mut self, key: &str, value: Option<&str>) -> &mut Self {
        match value {
            Some(value) => self.text(key, value),
            None => self.raw(key, "null"),
        }
    }

    /// Adds bytes as hex digits, or `null` for none.
    pub fn hex_or_null(&mut self, key: &str, value: Option<&[u8]>) -> &mut Self {
        let digits = value.map(|bytes| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>());
        self.text_or_null(key, digits.as_deref())
    }

    /// Adds a list of texts.
    pub fn texts<'t>(&mut self, key: &str, values: impl IntoIterator<Item = &'t str>) -> &mut Self {
        let out = self.key(key);
        out.push(b'[');
        for (index, value) in values.into_iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            write_string(value, out);
        }
        out.push(b']');
        self
    }

    /// Adds a number, a truth value or `null`, as it is written.
    pub fn raw(&mut self, key: &str, value: &str) -> &mut Self {
        self.key(key).extend_from_slice(value.as_bytes());
        self
    }

    /// Adds an object of its own.
    pub fn object(&mut self, key: &str, fill: impl FnOnce(&mut Object<'_>)) -> &mut Self {
        let mut inner = Object::new(self.key(key));
        fill(&mut inner);
        inner.end();
        self
    }

    /// Closes the object.
    pub fn end(&mut self) {
        self.line.push(b'}');
    }
}

fn io_error(error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::StorageFull => StoreError::DiskFull.into(),
        kind => StoreError::Other(format!("the bundle could not be written ({kind})")).into(),
    }
}
