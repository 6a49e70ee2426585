//! RFC 3161: asking for a time stamp, and reading what it is over and when it was made. Who signed it is for a
//! program with X.509 to say.

use cairn::Sha;

use super::der::{
    BOOLEAN, CONTEXT_0, GENERALIZED_TIME, INTEGER, NULL, OBJECT_ID, OCTET_STRING, Reader, SEQUENCE, SET,
    write, write_integer,
};

/// 2.16.840.1.101.3.4.2.1
const SHA_256: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01];
/// 1.2.840.113549.1.7.2
const SIGNED_DATA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x02];
/// 1.2.840.113549.1.9.16.1.4
const TIME_STAMP: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x10, 0x01, 0x04];

/// What a time stamp says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    /// What it is over.
    pub(super) digest: Sha,
    /// When it was made, in UTC.
    pub(super) at: String,
    /// The number that was in the request, as DER has it.
    nonce: Option<Vec<u8>>,
}

/// A request for a stamp over a digest, with certificates in the answer.
pub(super) fn request(digest: &Sha, nonce: u64) -> Vec<u8> {
    let algorithm = write(SEQUENCE, &[write(OBJECT_ID, SHA_256), write(NULL, b"")].concat());
    let imprint = write(SEQUENCE, &[algorithm, write(OCTET_STRING, &digest.0)].concat());
    let parts = [write_integer(1), imprint, write_integer(nonce), write(BOOLEAN, &[0xff])];
    write(SEQUENCE, &parts.concat())
}

/// Reads an answer.
pub(super) fn read(answer: &[u8]) -> Result<Stamp, String> {
    let mut whole = Reader::new(answer);
    let mut response = whole.inside(SEQUENCE, "the answer")?;
    let mut status = response.inside(SEQUENCE, "the status")?;
    let code = status.expect(INTEGER, "the status")?;
    // 0 is granted, 1 granted with changes.
    if !matches!(code, [0 | 1]) {
        let words = status.optional(SEQUENCE)?.map(|text| String::from_utf8_lossy(text).into_owned());
        let printable = |c: &char| !c.is_control() && *c != '\u{fffd}';
        let words: String = words.unwrap_or_default().chars().filter(printable).take(200).collect();
        let number = code.last().copied().unwrap_or_default();
        return Err(format!("it was not granted (status {number}) {words}").trim_end().to_string());
    }
    let mut token = response.inside(SEQUENCE, "the token")?;
    if token.expect(OBJECT_ID, "the type of the token")? != SIGNED_DATA {
        return Err("the token is not signed data".into());
    }
    let mut signed = token.inside(CONTEXT_0, "the signed data")?.inside(SEQUENCE, "the signed data")?;
    signed.expect(INTEGER, "the version of the signed data")?;
    signed.expect(SET, "the digest algorithms")?;
    let mut content = signed.inside(SEQUENCE, "the content")?;
    if content.expect(OBJECT_ID, "the type of the content")? != TIME_STAMP {
        return Err("what is signed is not a time stamp".into());
    }
    let content = content.inside(CONTEXT_0, "the content")?.expect(OCTET_STRING, "the content")?;
    if !whole.is_empty() {
        return Err("something follows the answer".into());
    }
    info(content)
}

/// Reads what is signed.
fn info(bytes: &[u8]) -> Result<Stamp, String> {
    let mut whole = Reader::new(bytes);
    let mut info = whole.inside(SEQUENCE, "the stamp")?;
    if info.expect(INTEGER, "the version of the stamp")? != [1] {
        return Err("the stamp is of another version than 1".into());
    }
    info.expect(OBJECT_ID, "the policy")?;
    let mut imprint = info.inside(SEQUENCE, "the imprint")?;
    let mut algorithm = imprint.inside(SEQUENCE, "the algorithm")?;
    if algorithm.expect(OBJECT_ID, "the algorithm")? != SHA_256 {
        return Err("the stamp is over another digest than SHA-256".into());
    }
    let digest = imprint.expect(OCTET_STRING, "the digest")?;
    let digest = Sha(digest.try_into().map_err(|_| "the digest has not 32 bytes".to_string())?);
    info.expect(INTEGER, "the serial number")?;
    let at = time(info.expect(GENERALIZED_TIME, "the time")?)?;
    info.optional(SEQUENCE)?;
    info.optional(BOOLEAN)?;
    let nonce = info.optional(INTEGER)?.map(<[u8]>::to_vec);
    Ok(Stamp { digest, at, nonce })
}

/// `20260417093000Z`, perhaps with parts of a second.
fn time(bytes: &[u8]) -> Result<String, String> {
    let wrong = || "the time is not written as YYYYMMDDhhmmssZ".to_string();
    let text = std::str::from_utf8(bytes).map_err(|_| wrong())?;
    let (digits, parts) =
        text.strip_suffix('Z').and_then(|text| text.split_at_checked(14)).ok_or_else(wrong)?;
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(wrong());
    }
    let d = |range: std::ops::Range<usize>| &digits[range];
    let text =
        format!("{}-{}-{}T{}:{}:{}{parts}Z", d(0..4), d(4..6), d(6..8), d(8..10), d(10..12), d(12..14));
    let time: jiff::Timestamp = text.parse().map_err(|_| wrong())?;
    Ok(time.to_string())
}

impl Stamp {
    /// Whether it answers this request.
    pub(super) fn answers(&self, digest: &Sha, nonce: u64) -> Result<(), String> {
        if self.digest != *digest {
            return Err("the stamp is over something else".into());
        }
        let expected = write_integer(nonce);
        match &self.nonce {
            Some(found) if write(INTEGER, found) == expected => Ok(()),
            _ => Err("the stamp does not repeat the number of the request: it may be an old one".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u8, digest: &Sha, nonce: u64, time: &str) -> Vec<u8> {
        let imprint = {
            let algorithm = write(SEQUENCE, &[write(OBJECT_ID, SHA_256), write(NULL, b"")].concat());
            write(SEQUENCE, &[algorithm, write(OCTET_STRING, &digest.0)].concat())
        };
        let parts = [
            write_integer(1),
            write(OBJECT_ID, &[0x2a, 3]),
            imprint,
            write_integer(9),
            write(GENERALIZED_TIME, time.as_bytes()),
            write_integer(nonce),
        ];
        let info = write(OCTET_STRING, &write(SEQUENCE, &parts.concat()));
        let content = write(SEQUENCE, &[write(OBJECT_ID, TIME_STAMP), write(CONTEXT_0, &info)].concat());
        let signed = write(SEQUENCE, &[write_integer(3), write(SET, b""), content].concat());
        let token = write(SEQUENCE, &[write(OBJECT_ID, SIGNED_DATA), write(CONTEXT_0, &signed)].concat());
        write(SEQUENCE, &[write(SEQUENCE, &write(INTEGER, &[status])), token].concat())
    }

    #[test]
    fn a_stamp_is_read_and_compared_with_its_request() {
        let digest = Sha::of(b"note");
        for nonce in [0, 1, 127, 128, u64::MAX] {
            let stamp = read(&answer(0, &digest, nonce, "20260417093000.5Z")).unwrap();
            assert_eq!(stamp.at, "2026-04-17T09:30:00.5Z");
            assert_eq!(stamp.answers(&digest, nonce), Ok(()));
            assert!(stamp.answers(&digest, nonce ^ 1).is_err());
            assert!(stamp.answers(&Sha::of(b"other"), nonce).is_err());
        }
    }

    #[test]
    fn what_is_no_stamp_is_refused_with_a_reason() {
        let digest = Sha::of(b"note");
        let good = answer(0, &digest, 7, "20260417093000Z");
        for end in 0..good.len() {
            assert!(read(&good[..end]).is_err());
        }
        for place in 0..good.len() {
            for bit in 0..8 {
                let mut changed = good.clone();
                changed[place] ^= 1 << bit;
                // No change may panic; those in the time or the digest are read.
                let _ = read(&changed);
            }
        }
        assert!(
            read(&answer(2, &digest, 7, "20260417093000Z")).unwrap_err().starts_with("it was not granted")
        );
        for time in ["", "Z", "20260417093000", "2026041709300Z", "20261399093000Z", "2026041709300éZ"] {
            assert!(read(&answer(0, &digest, 7, time)).is_err(), "{time}");
        }
    }
}
