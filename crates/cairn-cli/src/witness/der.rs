//! The little of ASN.1's Distinguished Encoding Rules that time stamps need. Strict: what DER forbids is refused.

pub(super) const BOOLEAN: u8 = 0x01;
pub(super) const INTEGER: u8 = 0x02;
pub(super) const OCTET_STRING: u8 = 0x04;
pub(super) const NULL: u8 = 0x05;
pub(super) const OBJECT_ID: u8 = 0x06;
pub(super) const GENERALIZED_TIME: u8 = 0x18;
pub(super) const SEQUENCE: u8 = 0x30;
pub(super) const SET: u8 = 0x31;
/// `[0]`, with something in it.
pub(super) const CONTEXT_0: u8 = 0xa0;

/// Writes one element.
pub(super) fn write(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![tag];
    match content.len() {
        short @ 0..=127 => bytes.push(short as u8),
        long => {
            let length = long.to_be_bytes();
            let first = length.iter().position(|&byte| byte != 0).unwrap_or(0);
            bytes.push(0x80 | (length.len() - first) as u8);
            bytes.extend_from_slice(&length[first..]);
        }
    }
    bytes.extend_from_slice(content);
    bytes
}

/// Writes a positive number.
pub(super) fn write_integer(number: u64) -> Vec<u8> {
    let bytes = number.to_be_bytes();
    let first = bytes.iter().position(|&byte| byte != 0).unwrap_or(7);
    let mut content = bytes[first..].to_vec();
    // A first bit of 1 would make it negative.
    if content[0] & 0x80 != 0 {
        content.insert(0, 0);
    }
    write(INTEGER, &content)
}

/// Reads elements one after another.
pub(super) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader(bytes)
    }

    /// The next element, which must have this tag.
    pub(super) fn expect(&mut self, tag: u8, what: &str) -> Result<&'a [u8], String> {
        match self.next()? {
            Some((found, content)) if found == tag => Ok(content),
            Some((found, _)) => Err(format!("{what} has the tag {found:#04x}, {tag:#04x} is expected")),
            None => Err(format!("{what} is missing")),
        }
    }

    /// The next element, if it has this tag.
    pub(super) fn optional(&mut self, tag: u8) -> Result<Option<&'a [u8]>, String> {
        if self.0.first() == Some(&tag) { Ok(self.next()?.map(|(_, content)| content)) } else { Ok(None) }
    }

    /// What is inside the next element, which must have this tag.
    pub(super) fn inside(&mut self, tag: u8, what: &str) -> Result<Reader<'a>, String> {
        self.expect(tag, what).map(Reader)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn next(&mut self) -> Result<Option<(u8, &'a [u8])>, String> {
        let Some((&tag, rest)) = self.0.split_first() else { return Ok(None) };
        if tag & 0x1f == 0x1f {
            return Err("a tag has more than one byte".into());
        }
        let cut = || "an element is cut off".to_string();
        let (&first, rest) = rest.split_first().ok_or_else(cut)?;
        let (length, rest) = match first {
            0..=127 => (usize::from(first), rest),
            // 0x80 would be a length without end, more than four bytes no message of ours.
            0x81..=0x84 => {
                let (bytes, rest) = rest.split_at_checked(usize::from(first & 0x7f)).ok_or_else(cut)?;
                let length = bytes.iter().fold(0, |length, &byte| length << 8 | usize::from(byte));
                if bytes[0] == 0 || length < 128 {
                    return Err("a length is longer than it need be".into());
                }
                (length, rest)
            }
            _ => return Err("a length is not written as DER writes it".into()),
        };
        let (content, rest) = rest.split_at_checked(length).ok_or_else(cut)?;
        self.0 = rest;
        Ok(Some((tag, content)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for length in [0, 1, 127, 128, 255, 256, 65_536] {
            let content = vec![7; length];
            let bytes = write(OCTET_STRING, &content);
            let mut reader = Reader::new(&bytes);
            assert_eq!(reader.expect(OCTET_STRING, "it").unwrap(), content);
            assert!(reader.is_empty());
            for end in 0..bytes.len().min(300) {
                assert!(Reader::new(&bytes[..end]).expect(OCTET_STRING, "it").is_err());
            }
        }
        assert_eq!(write_integer(0), [2, 1, 0]);
        assert_eq!(write_integer(127), [2, 1, 127]);
        assert_eq!(write_integer(128), [2, 2, 0, 128]);
        assert_eq!(write_integer(u64::MAX), [[2, 9, 0].as_slice(), &[255; 8]].concat());
    }

    #[test]
    fn what_der_forbids_is_refused() {
        for bytes in [
            &[0x30, 0x80, 0, 0][..],
            &[0x30, 0x81, 0x01, 0],
            &[0x30, 0x82, 0x00, 0x80],
            &[0x30, 0x85, 1, 1, 1, 1, 1],
            &[0x30, 0xff],
            &[0x1f, 0x81, 0x00],
            &[0x30, 0x84, 0xff, 0xff, 0xff, 0xff],
            &[0x30],
        ] {
            assert!(Reader::new(bytes).expect(0x30, "it").is_err(), "{bytes:x?}");
        }
    }
}
