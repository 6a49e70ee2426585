//! The pieces that several commands show a thought with.

use std::borrow::Cow;

use cairn::{Redaction, Summary, Timestamp};

use super::{Palette, ShortIds, visible, wrap};

/// The first line of a text that says anything, harmless and without tabs.
pub(crate) fn first_line(content: &str) -> String {
    let line = content.lines().find(|line| !line.trim().is_empty()).unwrap_or("");
    visible(line.trim()).replace('\t', " ")
}

/// The text of a thought; of one that was redacted, by whom, when and why.
pub(crate) fn said<'t>(content: &'t str, redacted: Option<&Redaction>) -> Cow<'t, str> {
    match redacted {
        None => Cow::Borrowed(content),
        Some(redaction) => {
            let Redaction { by, at, reason } = redaction;
            Cow::Owned(format!("[redacted by {by} on {}: {reason}]", minute(at)))
        }
    }
}

/// A timestamp down to the minute: `2026-04-17 09:30`.
pub(crate) fn minute(timestamp: &Timestamp) -> String {
    timestamp.as_str().get(..16).unwrap_or(timestamp.as_str()).replace('T', " ")
}

/// A number with its thousands set apart.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// `1 thought`, `2 thoughts`, `12,000 thoughts`.
pub(crate) fn count(number: u64, noun: &str) -> String {
    let grouped = grouped(number);
    match (number, noun.strip_suffix('y')) {
        (1, _) => format!("{grouped} {noun}"),
        (_, Some(stem)) => format!("{grouped} {stem}ies"),
        (_, None) => format!("{grouped} {noun}s"),
    }
}

/// Bytes as a person reads them: `812 bytes`, `4.1 MB`.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    if bytes < 1000 {
        return count(bytes, "byte");
    }
    let (mut value, mut unit) = (bytes as f64 / 1000.0, 0);
    while value >= 999.95 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    format!("{value:.1} {}", UNITS[unit])
}

/// ` [context 3]`: the snapshot that a thought was based on.
pub(super) fn context_mark(thought: &Summary) -> String {
    thought.context_id.map(|id| format!(" [context {id}]")).unwrap_or_default()
}

/// A path from a root to a thought, each step with its text below it.
pub(crate) fn trail_block(path: &[Summary], width: usize, palette: Palette) -> String {
    let ids = ShortIds::new(path.iter().map(|step| step.id.as_str()));
    let mut text = String::new();
    for step in path {
        let id = palette.faint(&visible(ids.of(step.id.as_str())));
        let kind = palette.kind(step.kind, &format!("{:<10}", step.kind));
        let by = palette.faint(&format!("{}  {}", minute(&step.timestamp), visible(step.agent_id.as_str())));
        text.push_str(&format!("{kind}  {id}  {by}"));
        if let Some(action) = &step.action_id {
            text.push_str(&palette.action(&format!("  → {}", visible(action.as_str()))));
        }
        text.push_str(&palette.faint(&context_mark(step)));
        text.push('\n');
        for line in wrap(&visible(&said(&step.content, step.redacted.as_ref())), width.saturating_sub(2)) {
            text.push_str(format!("  {line}").trim_end());
            text.push('\n');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_is_the_first_that_says_something() {
        assert_eq!(first_line("\n \n  Use\tSQLite\x1b[0m \nsecond"), "Use SQLite␛[0m");
        assert_eq!(first_line(""), "");
    }

    #[test]
    fn numbers_are_grouped_and_nouns_agree() {
        assert_eq!(count(0, "thought"), "0 thoughts");
        assert_eq!(count(1, "thought"), "1 thought");
        assert_eq!(count(1_234_567, "thought"), "1,234,567 thoughts");
        assert_eq!(
            [size(1), size(999), size(1000), size(4_096)],
            ["1 byte", "999 bytes", "1.0 kB", "4.1 kB"]
        );
        assert_eq!([size(999_960), size(12_340_000_000)], ["1.0 MB", "12.3 GB"]);
    }
}
