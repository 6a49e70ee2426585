//! Heads at the end of a file, which is only ever added to.
//!
//! ```text
//! == 2026-04-17T09:30:00.000Z
//! cairn/0193…
//! 12
//! CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=
//!
//! — cairn/0193… Az3grlgtzPICa5OS8npVmf1Myq…
//! ```
//!
//! A time, then the note; several logs may share a file.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use cairn::core::log::CheckpointNote;

use super::Head;

/// Begins the line before each note. No line of a note begins so.
const MARK: &str = "== ";
/// Of a longer file, the end is read.
const MAX_READ: u64 = 32 << 20;

/// Adds a note.
pub(super) fn append(path: &Path, note: &str, at: &str) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("cannot write `{}`: {error}", path.display());
    let mut file = OpenOptions::new().append(true).read(true).create(true).open(path).map_err(failed)?;
    if !file.metadata().map_err(failed)?.is_file() {
        return Err(format!("`{}` is not a file", path.display()));
    }
    let cut_short = file.seek(SeekFrom::End(-1)).is_ok() && {
        let mut last = [b'\n'];
        file.read_exact(&mut last).is_ok() && last != [b'\n']
    };
    let line_end = if cut_short { "\n" } else { "" };
    // In one write, so that notes of two processes do not mix.
    let text = format!("{line_end}{MARK}{at}\n{note}");
    file.write_all(text.as_bytes()).and_then(|()| file.sync_data()).map_err(failed)
}

/// The heads of a log in the file. One that is missing is an error: it was there, or it was never reachable.
pub(super) fn heads(path: &Path, origin: &str) -> Result<Vec<Head>, String> {
    let failed = |error: std::io::Error| match error.kind() {
        ErrorKind::NotFound => format!("`{}` is not there", path.display()),
        _ => format!("cannot read `{}`: {error}", path.display()),
    };
    let mut file = File::open(path).map_err(failed)?;
    let length = file.metadata().map_err(failed)?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(MAX_READ))).map_err(failed)?;
    let mut bytes = Vec::new();
    file.take(MAX_READ).read_to_end(&mut bytes).map_err(failed)?;
    Ok(parse(&String::from_utf8_lossy(&bytes), origin))
}

/// The heads of a log in a text. What is no note is passed over: a line may have been cut off when the power failed,
/// and others may write into the file too.
pub(super) fn parse(text: &str, origin: &str) -> Vec<Head> {
    let mut heads = Vec::new();
    let mut rest = text;
    while let Some(start) = mark(rest) {
        let (at, after) = rest[start + MARK.len()..].split_once('\n').unwrap_or_default();
        let end = mark(after).unwrap_or(after.len());
        // A head that is cut off in its signature is a head all the same.
        let body = after[..end].split("\n\n").next().unwrap_or_default();
        let body = if body.ends_with('\n') { body.to_string() } else { format!("{body}\n") };
        let note: Result<CheckpointNote, _> = body.parse();
        heads.extend(note.ok().and_then(|note| Head::of_note(&note, origin, at)));
        rest = &after[end..];
    }
    heads
}

fn mark(text: &str) -> Option<usize> {
    if text.starts_with(MARK) { Some(0) } else { text.find(&format!("\n{MARK}")).map(|at| at + 1) }
}

/// Says why a file is no place for heads of this database, if it is none.
pub(crate) fn unsuitable(path: &Path, database: &Path) -> Option<String> {
    let folder = |path: &Path| {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        std::fs::canonicalize(parent.unwrap_or(Path::new(".")))
    };
    let canonical = std::fs::canonicalize(path);
    let (Ok(place), Ok(home)) = (folder(canonical.as_deref().unwrap_or(path)), folder(database)) else {
        return Some(format!("the folder of `{}` does not exist", path.display()));
    };
    if place.starts_with(&home) {
        return Some(format!(
            "`{}` is in the folder of the database: whoever rewrites the one can rewrite the other",
            path.display()
        ));
    }
    path.is_dir().then(|| format!("`{}` is a folder: name a file in it", path.display()))
}

/// Whether two paths are on one file system, where that can be told.
pub(crate) fn same_disk(path: &Path, database: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let disk =
            |path: &Path| path.parent().and_then(|folder| folder.metadata().ok()).map(|found| found.dev());
        matches!((disk(path), disk(database)), (Some(one), Some(other)) if one == other)
    }
    #[cfg(not(unix))]
    {
        let _ = (path, database);
        false
    }
}

/// The path from the root, wherever the program is started next time.
pub(crate) fn absolute(path: &Path) -> Result<PathBuf, String> {
    std::path::absolute(path).map_err(|error| format!("cannot tell where `{}` is: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: &str = "CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=";

    fn note(origin: &str, size: u64) -> String {
        format!("{origin}\n{size}\n{ROOT}\n\n— {origin} {ROOT}\n")
    }

    #[test]
    fn notes_are_added_and_read_back_with_their_times() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notes");
        assert!(heads(&path, "a").unwrap_err().ends_with("is not there"));
        for (origin, size) in [("a", 1), ("b", 7), ("a", 3)] {
            append(&path, &note(origin, size), &format!("2026-04-17T09:3{size}:00Z")).unwrap();
        }
        let found: Vec<(u64, String)> =
            heads(&path, "a").unwrap().into_iter().map(|head| (head.size, head.at)).collect();
        assert_eq!(found, [(1, "2026-04-17T09:31:00Z".to_string()), (3, "2026-04-17T09:33:00Z".to_string())]);
    }

    #[test]
    fn what_was_cut_off_or_is_no_note_spoils_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notes");
        append(&path, &note("a", 1), "t1").unwrap();
        let whole = std::fs::read_to_string(&path).unwrap();
        for end in 0..whole.len() {
            if !whole.is_char_boundary(end) {
                continue;
            }
            std::fs::write(&path, &whole[..end]).unwrap();
            append(&path, &note("a", 2), "t2").unwrap();
            let found = heads(&path, "a").unwrap();
            assert_eq!(found.last().map(|head| (head.size, head.at.as_str())), Some((2, "t2")), "{end}");
        }
        let noise = format!("hello\n== \n== x\n{}== t\n{}\u{0}\n== ", note("a", 4), "z".repeat(100));
        assert_eq!(parse(&noise, "a").len(), 1);
        assert_eq!(parse("", "a"), []);
        assert_eq!(parse("== ", "a"), []);
    }
}
