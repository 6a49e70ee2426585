//! Recorded text never reaches a terminal as anything but text.

use super::harness::Place;

/// Clears the screen, sets the title, rings, goes back, reverses, hides.
const HOSTILE: &str = "evil\x1b[2J\x1b]0;owned\x07\x08\r\u{9b}31m\u{202e}\u{2066}\u{200b}\x7f end";

fn is_harmless(text: &str) -> bool {
    text.chars().all(|c| c == '\n' || !c.is_control() && !matches!(c, '\u{202e}' | '\u{2066}' | '\u{200b}'))
}

#[test]
fn no_command_sends_what_was_recorded_to_the_terminal_raw() {
    let place = Place::new();
    let id = place.run(&[
        "--db",
        "cairn.db",
        "record",
        "plan",
        HOSTILE,
        "-s",
        "s\u{202e}",
        "-a",
        "a\u{202e}",
        "--action",
        "x\u{202e}",
        "--meta",
        &format!("k\u{202e}={HOSTILE}"),
    ]);
    assert!(is_harmless(&id.out) && is_harmless(&id.err), "{id:?}");
    let id = id.out.trim_end();
    let commands: [&[&str]; 10] = [
        &["list"],
        &["show", id],
        &["tree", "s\u{202e}"],
        &["tree", "s\u{202e}", "--full"],
        &["trail", id],
        &["trail", "--action", "x\u{202e}"],
        &["search", "evil"],
        &["verify"],
        &["verify", "-s", "no\u{202e}\x1b[2J"],
        &["show", "no\u{202e}\x1b[2J"],
    ];
    for args in commands {
        let run = place.on_story(args);
        assert!(is_harmless(&run.out) && is_harmless(&run.err), "{args:?}: {run:?}");
    }
    assert!(place.on_story(&["show", id]).out.contains("evil␛[2J␛]0;owned␇␈␍⟨U+009B⟩31m⟨U+202E⟩"));
}

#[test]
fn json_keeps_the_text_to_the_letter_and_escapes_control_characters() {
    let place = Place::new();
    place.run(&["--db", "cairn.db", "record", "plan", HOSTILE, "-s", "s"]);
    let run = place.on_story(&["--json", "list"]);
    assert_eq!(run.json()["records"][0]["content"], HOSTILE);
    assert!(!run.out.contains('\x1b') && !run.out.contains('\x07'));
}

#[test]
fn wide_letters_are_counted_as_two_columns() {
    let place = Place::new();
    place.run(&["--db", "cairn.db", "record", "plan", &"字".repeat(200), "-s", "s"]);
    let list = place.on_story(&["list"]).fine();
    let row = list.lines().nth(1).unwrap();
    assert!(row.ends_with("字…"));
    let columns: usize = row.chars().map(|c| if c == '字' { 2 } else { 1 }).sum();
    assert!((99..=100).contains(&columns), "{columns}");
}
