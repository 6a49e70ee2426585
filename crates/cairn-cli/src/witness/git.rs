//! Heads in a git repository: a commit for each on a ref of its own, or trailers in the messages of other commits.

use std::path::{Path, PathBuf};
use std::process::Command;

use cairn::Stated;
use cairn::core::log::CheckpointNote;
use cairn::core::note::{Verdict, VerifyingKey};

use super::{Deadline, Head, PATIENCE_WHEN_ASKED, run, trailer};

/// The file in the tree of each commit on our ref.
const FILE: &str = "checkpoint";
/// So many of the newest commits are read.
const MAX_COMMITS: &str = "20000";
const MAX_OUTPUT: u64 = 32 << 20;

/// Runs git on a repository, without anything of the surroundings or of the repository that could lead it elsewhere
/// or run something else.
fn git(repository: &Path, args: &[&str], input: &[u8], deadline: Deadline) -> Result<Vec<u8>, String> {
    let mut command = Command::new("git");
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("GIT_") {
            command.env_remove(name);
        }
    }
    command.env("GIT_TERMINAL_PROMPT", "0").env("GIT_OPTIONAL_LOCKS", "0").env("LC_ALL", "C");
    for role in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{role}_NAME"), "Cairn").env(format!("GIT_{role}_EMAIL"), "cairn@localhost");
    }
    command.arg("-C").arg(repository);
    for setting in
        ["core.hooksPath=/dev/null", "core.fsmonitor=false", "gc.auto=0", "log.showSignature=false"]
    {
        command.args(["-c", setting]);
    }
    run::run(command.args(args), input, MAX_OUTPUT, deadline)
}

fn line(output: Vec<u8>) -> String {
    String::from_utf8_lossy(&output).trim_end().to_string()
}

/// The folder of git's own files, or why this is no repository.
pub(crate) fn repository(folder: &Path) -> Result<PathBuf, String> {
    let deadline = Deadline::after(PATIENCE_WHEN_ASKED);
    let found = git(folder, &["rev-parse", "--absolute-git-dir"], b"", deadline)
        .map_err(|error| format!("`{}` is not a git repository: {error}", folder.display()))?;
    Ok(PathBuf::from(line(found)))
}

/// The ref for a log, if no other is named.
pub(crate) fn default_ref(origin: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '-' };
    let name = origin.rsplit('/').next().unwrap_or(origin);
    format!("refs/cairn/{}", name.chars().map(plain).collect::<String>())
}

/// Says why a ref cannot be used, if it cannot: a branch or a tag must never be moved by this.
pub(crate) fn bad_ref(folder: &Path, reference: &str) -> Option<String> {
    let deadline = Deadline::after(PATIENCE_WHEN_ASKED);
    if !reference.starts_with("refs/cairn/") {
        return Some(format!("`{reference}` does not begin with refs/cairn/, where no branch and no tag is"));
    }
    git(folder, &["check-ref-format", reference], b"", deadline)
        .err()
        .map(|_| format!("`{reference}` is not a name that git takes"))
}

/// Adds a commit with the note to a ref.
pub(super) fn commit(
    folder: &Path,
    reference: &str,
    stated: &Stated,
    deadline: Deadline,
) -> Result<(), String> {
    let blob = line(git(folder, &["hash-object", "-w", "--stdin"], stated.note.as_bytes(), deadline)?);
    let entry = format!("100644 blob {blob}\t{FILE}\n");
    let tree = line(git(folder, &["mktree"], entry.as_bytes(), deadline)?);
    let message =
        format!("Log {} at {} entries\n\n{}\n", stated.origin, stated.size, trailer::trailer(stated));
    // Another process may have added one meanwhile.
    for last in [false, true] {
        let before = tip(folder, reference, deadline)?;
        let mut args = vec!["commit-tree", tree.as_str()];
        if let Some(before) = &before {
            args.extend(["-p", before]);
        }
        let commit = line(git(folder, &args, message.as_bytes(), deadline)?);
        let old = before.unwrap_or_else(|| "0".repeat(commit.len()));
        match git(folder, &["update-ref", "-m", "cairn", reference, &commit, &old], b"", deadline) {
            Err(error) if last => return Err(error),
            Err(_) => {}
            Ok(_) => return Ok(()),
        }
    }
    Ok(())
}

fn tip(folder: &Path, reference: &str, deadline: Deadline) -> Result<Option<String>, String> {
    let found = git(folder, &["for-each-ref", "--format=%(objectname)", reference], b"", deadline)?;
    Ok(Some(line(found)).filter(|tip| !tip.is_empty()))
}

/// The heads on a ref, as the files of its commits state them; none if there is no such ref.
pub(super) fn heads_on(
    folder: &Path,
    reference: &str,
    origin: &str,
    deadline: Deadline,
) -> Result<Option<Vec<Head>>, String> {
    if tip(folder, reference, deadline)?.is_none() {
        return Ok(None);
    }
    let args = ["log", "--format=%H %ct", "-n", MAX_COMMITS, reference, "--"];
    let commits = line(git(folder, &args, b"", deadline)?);
    let commits: Vec<(&str, &str)> = commits.lines().filter_map(|line| line.split_once(' ')).collect();
    let wanted: String = commits.iter().map(|(id, _)| format!("{id}:{FILE}\n")).collect();
    let found = git(folder, &["cat-file", "--batch"], wanted.as_bytes(), deadline)?;
    let times: Vec<String> = commits.iter().map(|(_, time)| time_of(time)).collect();
    let notes = batch(&found);
    let heads = notes.into_iter().zip(times).filter_map(|(note, at)| {
        let note: CheckpointNote = note?.parse().ok()?;
        Head::of_note(&note, origin, at)
    });
    Ok(Some(heads.collect()))
}

/// What `cat-file --batch` prints: for each object a line `id type size` and its bytes, or a line that it is missing.
fn batch(mut bytes: &[u8]) -> Vec<Option<String>> {
    let mut contents = Vec::new();
    while let Some(end) = bytes.iter().position(|&byte| byte == b'\n') {
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        bytes = &bytes[end + 1..];
        let size = head.rsplit_once(' ').and_then(|(_, size)| size.parse::<usize>().ok());
        match size {
            Some(size) if size < bytes.len() => {
                contents.push(String::from_utf8(bytes[..size].to_vec()).ok());
                bytes = &bytes[size + 1..];
            }
            Some(_) => break,
            None => contents.push(None),
        }
    }
    contents
}

/// The heads that messages of commits name, on any branch. Where a key of the log is known, only those count that it
/// has signed: branches of strangers are there too.
pub(super) fn heads_in_messages(
    folder: &Path,
    origin: &str,
    keys: &[VerifyingKey],
    deadline: Deadline,
) -> Result<Vec<Head>, String> {
    let grep = format!("--grep=^{}: ", trailer::NAME);
    let args = ["log", "--all", grep.as_str(), "--format=%ct%n%B%x00", "-n", MAX_COMMITS, "--"];
    let found = git(folder, &args, b"", deadline)?;
    let text = String::from_utf8_lossy(&found);
    let mut heads = Vec::new();
    for commit in text.split('\0') {
        let (time, message) = commit.trim_start().split_once('\n').unwrap_or_default();
        let at = time_of(time);
        let signed = |note: &CheckpointNote| keys.iter().any(|key| note.verdict(key) == Verdict::Signed);
        let counts = |note: &CheckpointNote| keys.is_empty() || signed(note);
        let named = trailer::find(message).into_iter().filter(counts);
        heads.extend(named.filter_map(|note| Head::of_note(&note, origin, at.as_str())));
    }
    Ok(heads)
}

fn time_of(seconds: &str) -> String {
    let time = seconds.trim().parse().ok().and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    time.map_or_else(|| "an unknown day".to_string(), |time| time.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_read_whatever_it_holds() {
        let text = b"aa blob 3\nx\ny\nbb:checkpoint missing\ncc blob 0\n\ndd blob 9\nabc";
        assert_eq!(batch(text), [Some("x\ny".to_string()), None, Some(String::new())]);
        assert_eq!(batch(b""), []);
        assert_eq!(batch(b"\n\n"), [None, None]);
    }

    #[test]
    fn a_ref_is_made_of_the_name_of_the_log() {
        assert_eq!(default_ref("cairn/0193ab"), "refs/cairn/0193ab");
        assert_eq!(default_ref("a b/.."), "refs/cairn/--");
    }
}
