//! Heads that a program puts away, and perhaps fetches again.

use std::process::Command;

use cairn::core::log::{Checkpoint, CheckpointNote};

use super::{Deadline, Head, file, run};

const MAX_OUTPUT: u64 = 8 << 20;

/// Gives a note to the program; that it ends well means that the note is kept.
pub(super) fn store(words: &[String], note: &str, deadline: Deadline) -> Result<(), String> {
    let (program, arguments) = words.split_first().ok_or("there is no program to run")?;
    run::run(Command::new(program).args(arguments), note.as_bytes(), MAX_OUTPUT, deadline).map(drop)
}

/// The heads that a shell command prints: notes one after the other, or as a file has them. A note says no time, so
/// `took` helps out, the last head that the program has taken.
pub(super) fn heads(
    script: &str,
    origin: &str,
    took: Option<&Head>,
    deadline: Deadline,
) -> Result<Vec<Head>, String> {
    let mut shell = if cfg!(windows) { Command::new("cmd") } else { Command::new("sh") };
    shell.arg(if cfg!(windows) { "/C" } else { "-c" }).arg(script);
    let output = run::run(&mut shell, b"", MAX_OUTPUT, deadline)?;
    let text = String::from_utf8(output).map_err(|_| format!("what `{script}` prints is not UTF-8"))?;
    if text.starts_with("== ") || text.contains("\n== ") {
        return Ok(file::parse(&text, origin));
    }
    let checkpoints = checkpoints(&text);
    if checkpoints.is_empty() && !text.trim().is_empty() {
        return Err(format!("what `{script}` prints is no checkpoint"));
    }
    let heads = checkpoints.into_iter().filter_map(|checkpoint| {
        let time = took.filter(|took| took.size == checkpoint.size() && took.root == checkpoint.root());
        let at = time.map_or("an unknown day", |took| took.at.as_str());
        Head::of_note(&CheckpointNote::from(checkpoint), origin, at)
    });
    Ok(heads.collect())
}

/// The bodies of notes that follow each other: any three lines that are one.
fn checkpoints(text: &str) -> Vec<Checkpoint> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    lines.windows(3).filter_map(|three| three.concat().parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_that_follow_each_other_are_told_apart() {
        let root = "CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=";
        let note = |size: u64| format!("a\n{size}\n{root}\n\n— a AAAAAAAA\n");
        let sizes = |text: &str| checkpoints(text).iter().map(Checkpoint::size).collect::<Vec<u64>>();
        assert_eq!(sizes(&format!("{}{}noise\n{}", note(1), note(2), note(3))), [1, 2, 3]);
        assert_eq!(sizes(&format!("a\n7\n{root}\n")), [7]);
        assert!(sizes("hello").is_empty() && sizes("").is_empty());
    }
}
