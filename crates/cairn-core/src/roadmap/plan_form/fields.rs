//! The fields of a mapping: which are known, what a text must be, what was probably meant.

use serde_json::Number;

use crate::preview::preview;
use crate::roadmap::document::{Content, Document, Key};

/// Characters of an id or a reference.
const ID_CHARS: usize = 200;
/// Characters of a title or a label.
const NAME_CHARS: usize = 1_000;
/// Bytes of a scope or a description.
const PROSE_BYTES: usize = 64 << 10;

/// What a text must be.
#[derive(Clone, Copy)]
pub(super) enum Rule {
    /// 1 to 200 characters without control characters.
    Id,
    /// Something to be called by: not blank, up to 1,000 characters.
    Name,
    /// Any text up to 64 KiB.
    Prose,
}

impl Rule {
    /// The text, or what is wrong with it.
    pub(super) fn read(self, value: Document) -> Result<String, String> {
        let found = value.kind();
        match value.value {
            Content::Text(text) => self.check(&text).map(|()| text),
            // `phase: 1` and `id: 7` are common, and there is one way to write an integer.
            Content::Number(number) if is_integer(&number) => Ok(number.to_string()),
            Content::Number(_) | Content::Bool(_) => {
                Err(format!("must be a text, found {found}; put it in quotes"))
            }
            _ => Err(format!("must be a text, found {found}")),
        }
    }

    fn check(self, text: &str) -> Result<(), String> {
        // Most texts are short; only of the others are the characters counted.
        let longer = |most: usize| text.len() > most && text.chars().count() > most;
        match self {
            Rule::Id if text.is_empty() => Err("must not be empty".into()),
            Rule::Id if longer(ID_CHARS) => Err(too_long(text, ID_CHARS)),
            Rule::Id if text.chars().any(char::is_control) => Err(format!(
                "must not hold control characters such as line breaks, found {:?}",
                preview(text, 40)
            )),
            Rule::Name if text.trim().is_empty() => Err("must not be empty".into()),
            Rule::Name if longer(NAME_CHARS) => Err(too_long(text, NAME_CHARS)),
            Rule::Prose if text.len() > PROSE_BYTES => {
                Err(format!("has {} bytes; at most {PROSE_BYTES} are allowed", text.len()))
            }
            Rule::Name | Rule::Prose if text.contains('\0') => {
                Err("must not hold the character NUL (U+0000)".into())
            }
            _ => Ok(()),
        }
    }
}

fn too_long(text: &str, most: usize) -> String {
    format!("has {} characters; at most {most} are allowed", text.chars().count())
}

fn is_integer(number: &Number) -> bool {
    number.is_i64() || number.is_u64()
}

/// A key as it is shown in a path: short, and on one line.
pub(super) fn shown(key: &str) -> String {
    let cut = preview(key, 40);
    if key.is_empty() || key.contains(|c: char| c.is_control() || c.is_whitespace() || ".[]\"".contains(c)) {
        format!("{cut:?}")
    } else {
        cut.into_owned()
    }
}

/// The members of a mapping, those that are known apart from the others.
pub(super) struct Members<const N: usize> {
    names: [&'static str; N],
    known: [Option<Document>; N],
    /// Whether a name was there, or something that was probably meant to be it.
    met: [bool; N],
    /// What is not known, in the order of the file.
    pub(super) others: Vec<(Key, Document)>,
}

impl<const N: usize> Members<N> {
    pub(super) fn new(members: Vec<(Key, Document)>, names: [&'static str; N]) -> Members<N> {
        let mut split = Members { names, known: [const { None }; N], met: [false; N], others: Vec::new() };
        for (key, value) in members {
            match names.iter().position(|name| *name == key) {
                Some(place) => {
                    split.met[place] = value.value != Content::Null;
                    split.known[place] = Some(value);
                }
                None => split.others.push((key, value)),
            }
        }
        split
    }

    fn place(&self, name: &str) -> usize {
        self.names.iter().position(|known| *known == name).expect("asked by a name that was given")
    }

    /// Whether there is nothing by that name, nor anything that was meant to be.
    pub(super) fn lacks(&self, name: &str) -> bool {
        !self.met[self.place(name)]
    }

    /// Notes that something was probably meant to be `name`.
    pub(super) fn suspect(&mut self, name: &str) {
        self.met[self.place(name)] = true;
    }

    /// The names that the file does not use.
    pub(super) fn absent(&self) -> impl Iterator<Item = &'static str> {
        self.names.into_iter().zip(&self.known).filter(|(_, known)| known.is_none()).map(|(name, _)| name)
    }

    /// The value by that name; none if it is null.
    pub(super) fn take(&mut self, name: &str) -> Option<Document> {
        self.known[self.place(name)].take().filter(|value| value.value != Content::Null)
    }
}

/// Other words for what is meant, too far from it for a slip of the pen.
const OTHER_WORDS: [(&str, &str); 7] = [
    ("depends_on", "dependencies"),
    ("dependsOn", "dependencies"),
    ("depends", "dependencies"),
    ("dependency", "dependencies"),
    ("requires", "dependencies"),
    ("source", "from"),
    ("target", "to"),
];

/// Which of the known names was probably meant.
pub(super) fn misspelt(key: &str, mut absent: impl Iterator<Item = &'static str>) -> Option<&'static str> {
    let other = OTHER_WORDS.iter().find(|(word, _)| *word == key).map(|(_, meant)| *meant);
    // A node may well have a score.
    absent.find(|name| Some(*name) == other || (near(key, name) && key != "score"))
}

/// One slip, two in a long word. Letters that changed places are one slip.
fn near(key: &str, name: &str) -> bool {
    const LONGEST: usize = 16;
    let allowed = if name.len() >= 8 { 2 } else { 1 };
    let (a, b) = (key.as_bytes(), name.as_bytes());
    if a.len().abs_diff(b.len()) > allowed || a.is_empty() || a.len() > LONGEST || b.len() > LONGEST {
        return false;
    }
    let mut rows = [[0_usize; LONGEST + 1]; LONGEST + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            rows[i][j] = if i == 0 || j == 0 {
                i + j
            } else {
                let same = usize::from(!a[i - 1].eq_ignore_ascii_case(&b[j - 1]));
                let one = (rows[i - 1][j] + 1).min(rows[i][j - 1] + 1).min(rows[i - 1][j - 1] + same);
                let swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
                if swapped { one.min(rows[i - 2][j - 2] + 1) } else { one }
            };
        }
    }
    rows[a.len()][b.len()] <= allowed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_pen_is_seen_and_another_word_is_not() {
        let names = ["id", "label", "scope", "phase", "dependencies"];
        for (key, meant) in [
            ("lable", Some("label")),
            ("Label", Some("label")),
            ("dependecies", Some("dependencies")),
            ("dependency", Some("dependencies")),
            ("depends_on", Some("dependencies")),
            ("phases", Some("phase")),
            ("score", None),
            ("owner", None),
            ("notes", None),
            ("", None),
        ] {
            assert_eq!(misspelt(key, names.into_iter()), meant, "{key}");
        }
        assert_eq!(misspelt("conections", ["connections"].into_iter()), Some("connections"));
        assert_eq!(misspelt("node", ["nodes"].into_iter()), Some("nodes"));
        assert_eq!(misspelt("form", ["from"].into_iter()), Some("from"));
    }
}
