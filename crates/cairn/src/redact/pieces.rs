//! Pieces of a text that was erased, to look for in the files afterwards.

use serde_json::Value;

use crate::store::Pieces;

/// Bytes of a piece. Long enough to be no coincidence, short enough to fit between the ends of two pages.
const PIECE: usize = 32;
/// A shorter one would be found everywhere.
const SHORTEST: usize = 6;
/// A shorter word of the index would be.
const SHORTEST_WORD: usize = 8;
/// How many of each kind are looked for.
const MOST: usize = 16;

/// Pieces of a content, which `indexed` says was searchable.
pub fn add_text(pieces: &mut Pieces, text: &str, indexed: bool) {
    pieces.texts.extend(sample(text.as_bytes()));
    if indexed {
        add_words(pieces, text);
    }
}

/// Pieces of the texts in metadata, given as canonical JSON.
pub fn add_metadata(pieces: &mut Pieces, metadata: &str) {
    add_values(pieces, &texts(metadata));
    add_words(pieces, metadata);
}

/// Pieces of texts that stood in JSON.
pub fn add_values(pieces: &mut Pieces, values: &[String]) {
    let every = values.len().div_ceil(MOST).max(1);
    for value in values.iter().step_by(every) {
        // As it stands between the quotation marks, where some characters are escaped.
        let escaped = Value::String(value.clone()).to_string();
        let inside = &escaped[1..escaped.len() - 1];
        pieces.texts.extend(sample(inside.as_bytes()).into_iter().take(2));
    }
}

/// The longest words, since those are the ones that few other texts have.
fn add_words(pieces: &mut Pieces, text: &str) {
    let mut words: Vec<String> = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.len() >= SHORTEST_WORD && word.len() <= 256)
        .map(str::to_lowercase)
        .collect();
    words.sort_unstable_by(|a, b| b.len().cmp(&a.len()).then(a.cmp(b)));
    words.dedup();
    words.truncate(MOST);
    pieces.words.extend(words);
}

/// Up to [`MOST`] pieces, spread over the whole.
fn sample(bytes: &[u8]) -> Vec<Vec<u8>> {
    if bytes.len() < SHORTEST {
        return Vec::new();
    }
    if bytes.len() <= PIECE {
        return vec![bytes.to_vec()];
    }
    let room = bytes.len() - PIECE;
    let pieces = (bytes.len() / PIECE).clamp(2, MOST);
    (0..pieces).map(|i| room * i / (pieces - 1)).map(|at| bytes[at..at + PIECE].to_vec()).collect()
}

/// The texts in JSON.
pub(super) fn texts(json: &str) -> Vec<String> {
    let mut values = Vec::new();
    if let Ok(value) = serde_json::from_str::<Value>(json) {
        collect(&value, &mut values);
    }
    values
}

/// The texts in a value. It is not nested deeper than canonical JSON allows.
fn collect(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Array(list) => list.iter().for_each(|value| collect(value, texts)),
        Value::Object(map) => map.values().for_each(|value| collect(value, texts)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_come_from_everywhere_and_none_is_a_coincidence() {
        let text: String = (0..1000).map(|i| format!("word{i} ")).collect();
        let mut pieces = Pieces::default();
        add_text(&mut pieces, &text, true);
        assert_eq!((pieces.texts.len(), pieces.words.len()), (MOST, 0), "no word is long enough");
        assert!(
            text.as_bytes().starts_with(&pieces.texts[0])
                && text.as_bytes().ends_with(&pieces.texts[MOST - 1])
        );
        let mut pieces = Pieces::default();
        add_text(&mut pieces, "no", true);
        add_metadata(&mut pieces, r#"{"a":"b","count":7}"#);
        assert!(pieces.texts.is_empty() && pieces.words.is_empty());
        add_metadata(&mut pieces, r#"{"deep":[{"key":"Hunter2Passphrase\n\"quoted\""}]}"#);
        assert_eq!(pieces.texts, [br#"Hunter2Passphrase\n\"quoted\""#]);
        assert_eq!(pieces.words, ["hunter2passphrase"]);
    }
}
