//! Counting tokens without a model.
//!
//! No count is exact for every model, so the counter is named in every brief and is part of its hash. A version of a
//! counter never changes: another way of counting has another name.

/// How tokens are counted.
#[derive(Debug, Clone, Copy)]
pub enum Counter {
    /// The built-in estimate. It rarely counts too few, on any kind of text.
    Estimate,
    /// The caller's factor: so many tokens a thousand characters.
    Factor {
        /// Tokens in a thousand characters.
        per_thousand: u32,
    },
    /// A tokenizer that is brought along.
    Exact {
        /// What it is called, its version included.
        name: &'static str,
        /// Tokens of a text.
        count: fn(&str) -> u64,
    },
}

impl PartialEq for Counter {
    fn eq(&self, other: &Counter) -> bool {
        self.name() == other.name()
    }
}

/// Hundredths of a token, so that lines can be added up without rounding each of them.
type Hundredths = u64;

impl Counter {
    /// What it is called in a brief.
    pub fn name(self) -> String {
        match self {
            Counter::Estimate => "est-1".to_string(),
            Counter::Factor { per_thousand } => format!("factor-1:{per_thousand}"),
            Counter::Exact { name, .. } => name.to_string(),
        }
    }

    /// Tokens of a text.
    pub fn count(self, text: &str) -> u64 {
        self.hundredths(text).div_ceil(100)
    }

    /// What a line adds to a text: exact sums, where hundredths of a factor are rounded.
    pub(super) fn weight(self, text: &str) -> u64 {
        match self {
            Counter::Estimate => estimate(text),
            Counter::Factor { per_thousand } => text.chars().count() as u64 * u64::from(per_thousand),
            // Tokens join across lines and are torn apart where a line comes between: one more for each line is
            // enough for either, and the line break after an item is in it.
            Counter::Exact { .. } if text == "\n" => 0,
            Counter::Exact { count, .. } => count(text) + 1 + text.matches('\n').count() as u64,
        }
    }

    /// Tokens of a text of that weight.
    pub(super) fn tokens(self, weight: u64) -> u64 {
        match self {
            Counter::Estimate => weight.div_ceil(100),
            Counter::Factor { .. } => (weight / 10).div_ceil(100),
            Counter::Exact { .. } => weight,
        }
    }

    /// The same, finer. Of two texts joined by a line break it is the sum of both and of the break, but for a
    /// tokenizer.
    pub fn hundredths(self, text: &str) -> Hundredths {
        match self {
            Counter::Estimate => estimate(text),
            Counter::Factor { per_thousand } => text.chars().count() as u64 * u64::from(per_thousand) / 10,
            Counter::Exact { count, .. } => 100 * count(text),
        }
    }
}

/// Words by their length, digits by threes, signs and characters of large alphabets one by one.
fn estimate(text: &str) -> Hundredths {
    let mut total = 0;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        // How many like it there are, with it.
        let mut run = |same: fn(char) -> bool| {
            let mut length: u64 = 1;
            while chars.next_if(|c| same(*c)).is_some() {
                length += 1;
            }
            length
        };
        total += match c {
            // A space belongs to the word after it; several are a token of their own.
            ' ' if run(|c| c == ' ') > 1 => 100,
            ' ' => 0,
            c if c.is_ascii_alphabetic() => 100 * run(|c| c.is_ascii_alphabetic()).div_ceil(7),
            c if c.is_ascii_digit() => 100 * run(|c| c.is_ascii_digit()).div_ceil(3),
            c if c.is_ascii_whitespace() => 60,
            c if c.is_ascii() => 70,
            // Latin with marks, Greek, Cyrillic: shorter pieces than English.
            c if is_marked(c) => 100 * run(is_marked).div_ceil(3),
            _ => 110,
        };
    }
    total
}

fn is_marked(c: char) -> bool {
    ('\u{80}'..='\u{52f}').contains(&c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_add_up() {
        for counter in [Counter::Estimate, Counter::Factor { per_thousand: 250 }] {
            let lines = ["## Entity Context", "- recipe_1: Läuft, 字 12345", "", "  two  spaces "];
            let whole: u64 = counter.hundredths(&(lines.join("\n") + "\n"));
            let parts: u64 = lines.iter().map(|line| counter.hundredths(&format!("{line}\n"))).sum();
            // A factor rounds down once a line.
            assert!(whole.abs_diff(parts) <= lines.len() as u64, "{whole} {parts}");
        }
        assert_eq!(
            Counter::Estimate.hundredths("a b\nc d\n"),
            Counter::Estimate.hundredths("a b\n") + Counter::Estimate.hundredths("c d\n")
        );
    }

    /// Pinned: a change here would change what a budget admits, and so the hash of briefs.
    #[test]
    fn the_estimate_is_frozen() {
        assert_eq!(Counter::Estimate.count(""), 0);
        assert_eq!(Counter::Estimate.count("Hello world"), 2);
        assert_eq!(Counter::Estimate.count("{\"id\": 1234, \"ok\": true}"), 12);
        assert_eq!(Counter::Estimate.count("日本語"), 4);
        assert_eq!(Counter::Estimate.count("Geschwindigkeitsbegrenzung"), 4);
    }
}
