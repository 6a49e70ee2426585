//! Unpaired surrogates: JSON can write half a character (`\ud800`), no text can hold it.

/// Returns `text` with each unpaired surrogate escape replaced by `\u0000`, or none if there is none.
///
/// NUL is refused wherever a text is stored, at the place where it stands, so the caller learns which argument
/// is at fault instead of that the message as a whole cannot be read.
pub fn replaced(text: &[u8]) -> Option<Vec<u8>> {
    let mut out: Option<Vec<u8>> = None;
    let mut at = 0;
    while let Some(found) = text[at..].iter().position(|&byte| byte == b'\\') {
        at += found;
        let width = match unit(text, at) {
            Some(0xd800..=0xdbff) if matches!(unit(text, at + 6), Some(0xdc00..=0xdfff)) => 12,
            Some(0xd800..=0xdfff) => {
                let out = out.get_or_insert_with(|| text.to_vec());
                out[at..at + 6].copy_from_slice(br"\u0000");
                6
            }
            Some(_) => 6,
            None => 2,
        };
        at = (at + width).min(text.len());
    }
    out
}

/// The code unit of the escape `\u` with four digits at `at`, if one stands there.
fn unit(text: &[u8], at: usize) -> Option<u32> {
    let digits = text.get(at..at + 6)?.strip_prefix(br"\u")?;
    digits.iter().try_fold(0, |unit, &digit| Some(unit * 16 + char::from(digit).to_digit(16)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(text: &str) -> Option<String> {
        replaced(text.as_bytes()).map(|bytes| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn a_pair_is_left_alone() {
        assert_eq!(after(r#""\ud83d\ude00 \u0041 \\ud800 \n é""#), None);
    }

    #[test]
    fn each_half_without_its_other_half_becomes_nul() {
        assert_eq!(after(r#""a\ud800""#).unwrap(), r#""a\u0000""#);
        assert_eq!(after(r#""\uDC00\uD83D""#).unwrap(), r#""\u0000\u0000""#);
        assert_eq!(after(r#""\ud83d\ud83d\ude00""#).unwrap(), r#""\u0000\ud83d\ude00""#);
        assert_eq!(after(r#""\\\ud800x""#).unwrap(), r#""\\\u0000x""#);
    }

    #[test]
    fn an_escape_that_is_cut_off_is_left_alone() {
        for text in ["\\", r"\u", r"\ud80", r"\ud8zz", "x\\"] {
            assert_eq!(after(text), None, "{text}");
        }
    }
}
