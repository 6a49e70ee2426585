//! Changed fields as lines with `-` and `+`, in a comparison of plans and in what a decision rests on.

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::term::{Palette, Ui, columns, cut, first_line, pad, visible, wrap};

/// Columns that an id takes at most; a longer one moves its label to the right.
const WIDEST_ID: usize = 24;
/// Fields as one reads a plan; any other comes between them.
const FIRST: [&str; 4] = ["title", "label", "phase", "scope"];
const LAST: [&str; 2] = ["dependencies", "dependents"];

/// What happened to a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    Added,
    Removed,
    Changed,
}

impl Sign {
    pub(super) fn letter(self) -> char {
        match self {
            Sign::Added => '+',
            Sign::Removed => '-',
            Sign::Changed => '~',
        }
    }

    pub(super) fn paint(self, palette: Palette, text: &str) -> String {
        match self {
            Sign::Added => palette.added(text),
            Sign::Removed => palette.removed(text),
            Sign::Changed => palette.warning(text),
        }
    }
}

/// A line of a change: its sign, and what it says.
pub(super) type Line = (Sign, String);

/// What people call a field.
fn name(field: &str) -> &str {
    match field {
        "dependencies" => "needs",
        "dependents" => "needed by",
        other => other,
    }
}

/// The lines of all fields that changed, each `{old?, new?}`, but those of `hidden`. `item` says what an item of
/// a list is called.
pub(super) fn changed(
    fields: &Map<String, Value>,
    hidden: &[&str],
    item: &dyn Fn(&str) -> String,
) -> Vec<Line> {
    let mut names: Vec<&str> =
        fields.keys().map(String::as_str).filter(|field| !hidden.contains(field)).collect();
    let rank = |field: &str| match FIRST.iter().position(|first| *first == field) {
        Some(at) => at,
        None => FIRST.len() + LAST.iter().position(|last| *last == field).map_or(0, |at| at + 1),
    };
    names.sort_by_key(|field| rank(field));
    let mut lines = Vec::new();
    for field in names {
        let (old, new) = (fields[field].get("old"), fields[field].get("new"));
        match (old.and_then(texts), new.and_then(texts)) {
            (Some(old), Some(new)) => {
                let (had, has) = (old.iter().collect::<HashSet<_>>(), new.iter().collect::<HashSet<_>>());
                let gone = old.iter().filter(|text| !has.contains(text));
                let come = new.iter().filter(|text| !had.contains(text));
                list(&mut lines, Sign::Removed, name(field), gone, item);
                list(&mut lines, Sign::Added, name(field), come, item);
            }
            _ => {
                let (gone, come) = differing(&value(old), &value(new));
                lines.extend(gone.map(|text| (Sign::Removed, format!("{}: {text}", name(field)))));
                lines.extend(come.map(|text| (Sign::Added, format!("{}: {text}", name(field)))));
            }
        }
    }
    lines
}

/// A field of something that is new as a whole.
pub(super) fn field(sign: Sign, field: &str, text: &str) -> Line {
    (sign, format!("{}: {text}", name(field)))
}

fn texts(value: &Value) -> Option<Vec<&str>> {
    value.as_array()?.iter().map(Value::as_str).collect()
}

fn list<'a>(
    lines: &mut Vec<Line>,
    sign: Sign,
    name: &str,
    items: impl Iterator<Item = &'a &'a str>,
    item: &dyn Fn(&str) -> String,
) {
    let items: Vec<String> = items.map(|id| item(id)).collect();
    if !items.is_empty() {
        lines.push((sign, format!("{name}: {}", items.join(", "))));
    }
}

/// A value as a person reads it; none if there is none.
fn value(value: Option<&Value>) -> Option<String> {
    match value {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(text.clone()),
        Some(other) => Some(other.to_string()),
    }
}

/// Two texts without the lines at the beginning and at the end that they share.
fn differing(old: &Option<String>, new: &Option<String>) -> (Option<String>, Option<String>) {
    let (Some(old), Some(new)) = (old, new) else { return (old.clone(), new.clone()) };
    let (olds, news): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let least = olds.len().min(news.len());
    let start = olds.iter().zip(&news).take_while(|(old, new)| old == new).count().min(least);
    let end = olds.iter().rev().zip(news.iter().rev()).take_while(|(old, new)| old == new).count();
    let end = end.min(least - start);
    let part = |lines: &[&str]| {
        let rest = &lines[start..lines.len() - end];
        // What was left out shows.
        let before = if start > 0 { "… " } else { "" };
        (!rest.is_empty()).then(|| format!("{before}{}", rest.join("\n")))
    };
    match (part(&olds), part(&news)) {
        // They differ in line ends alone.
        (None, None) => (Some(format!("{old:?}")), Some(format!("{new:?}"))),
        parts => parts,
    }
}

/// Draws lines below what they belong to, wrapped under their own beginning.
pub(super) fn draw(page: &mut String, lines: &[Line], indent: usize, ui: &Ui) {
    for (sign, text) in lines {
        let text = visible(text);
        let hang = text.find(": ").map_or(0, |end| columns(&text[..end]) + 2).min(ui.width / 3);
        let room = ui.width.saturating_sub(indent + 2 + hang).max(20);
        let (name, rest) = text.split_at(text.find(": ").map_or(0, |end| end + 2));
        for (at, line) in wrap(rest, room).iter().enumerate() {
            let name = if at == 0 { name.to_string() } else { " ".repeat(hang) };
            let line = format!("{} {name}{line}", sign.letter());
            page.push_str(&" ".repeat(indent));
            page.push_str(&sign.paint(ui.palette, line.trim_end()));
            page.push('\n');
        }
    }
}

/// The columns for a list of ids.
pub(super) fn id_width<'a>(ids: impl Iterator<Item = &'a String>) -> usize {
    ids.map(|id| columns(&first_line(id))).max().unwrap_or(0).min(WIDEST_ID)
}

/// An id, and what people call it.
pub(super) fn named(id: &str, label: &str, width: usize) -> String {
    match first_line(label) {
        label if label.is_empty() => first_line(id),
        label => format!("{}  {label}", pad(&first_line(id), width)),
    }
}

/// One line with its sign, cut where the page ends.
pub(super) fn line(page: &mut String, sign: Sign, text: &str, indent: usize, ui: &Ui) {
    let text = cut(&format!("{} {text}", sign.letter()), ui.width.saturating_sub(indent));
    page.push_str(&" ".repeat(indent));
    page.push_str(&sign.paint(ui.palette, text.trim_end()));
    page.push('\n');
}

/// Something that is in both plans and not the same.
pub(super) struct Changed<'a> {
    pub(super) id: &'a str,
    /// What people call it.
    pub(super) label: &'a str,
    /// The field that says so.
    pub(super) named_by: &'static str,
    pub(super) fields: &'a Map<String, Value>,
}

impl Changed<'_> {
    /// Draws it with its fields below. If it was renamed, both names stand on the first line if there is room.
    pub(super) fn draw(
        &self,
        page: &mut String,
        hidden: &[&str],
        item: &dyn Fn(&str) -> String,
        (indent, width): (usize, usize),
        ui: &Ui,
    ) {
        let mut hidden = hidden.to_vec();
        let name = |side: &str| self.fields.get(self.named_by)?.get(side)?.as_str();
        let mut head = named(self.id, self.label, width);
        if let (Some(old), Some(new)) = (name("old"), name("new")) {
            let both = format!("{} → {}", first_line(old), first_line(new));
            let on_one_line = format!("{}  (renamed)", named(self.id, &both, width));
            let whole = [old, new].iter().all(|name| first_line(name) == visible(name));
            if whole && columns(&on_one_line) + indent + 2 <= ui.width {
                head = on_one_line;
                hidden.push(self.named_by);
            } else {
                head = format!("{}  (renamed)", first_line(self.id));
            }
        }
        line(page, Sign::Changed, &head, indent, ui);
        draw(page, &changed(self.fields, &hidden, item), indent + 4, ui);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn lines(fields: Value) -> Vec<String> {
        let lines = changed(fields.as_object().unwrap(), &["dependents"], &|id| id.to_string());
        lines.into_iter().map(|(sign, text)| format!("{} {text}", sign.letter())).collect()
    }

    #[test]
    fn of_a_list_only_what_came_and_went_is_shown() {
        let fields = json!({
            "dependents": {"old": [], "new": ["x"]},
            "dependencies": {"old": ["a", "b", "c"], "new": ["a", "d", "e"]},
            "scope": {"old": null, "new": "all"},
            "phase": {"old": "one", "new": null},
            "weight": {"old": 1.5},
        });
        assert_eq!(
            lines(fields),
            ["- phase: one", "+ scope: all", "- weight: 1.5", "- needs: b, c", "+ needs: d, e"]
        );
    }

    #[test]
    fn of_a_long_text_only_the_lines_that_changed_are_shown() {
        let fields = |old: &str, new: &str| json!({"scope": {"old": old, "new": new}});
        assert_eq!(lines(fields("a\nb\nc", "a\nB\nc")), ["- scope: … b", "+ scope: … B"]);
        assert_eq!(lines(fields("a\nc", "a\nb\nc")), ["+ scope: … b"]);
        assert_eq!(lines(fields("a", "a\n")), ["- scope: \"a\"", "+ scope: \"a\\n\""]);
        assert_eq!(lines(fields("a\na", "a\na\na")), ["+ scope: … a"]);
    }
}
