//! Heads in git repositories.

use std::process::{Command, Stdio};

use cairn::Stated;

use super::bench::Bench;

/// A checkpoint with one signature as docs/format.md says that it becomes a line.
fn trailer_of(stated: &Stated) -> String {
    let note: Vec<&str> = stated.note.lines().collect();
    let [origin, size, root, "", signature] = note[..] else { panic!("{}", stated.note) };
    let signature = signature.strip_prefix(&format!("— {origin} ")).unwrap();
    format!("Cairn-Checkpoint: {origin} {size} {root} {signature}")
}

/// Runs git by hand.
fn git(bench: &Bench, args: &[&str]) -> String {
    let output = Command::new("git")
        .args([
            "-c",
            "user.name=Ada",
            "-c",
            "user.email=ada@example.org",
            "-c",
            "init.defaultBranch=main",
            "-C",
        ])
        .arg(bench.path("elsewhere"))
        .args(args)
        .env("HOME", bench.path("home"))
        .env_remove("GIT_DIR")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_ref_has_a_commit_for_each_head_and_finds_rollback_and_fork() {
    let bench = Bench::new();
    git(&bench, &["init", "-q"]);
    bench.fine(&["witness", "add", "git", &bench.arg("elsewhere"), "--ref", "refs/cairn/trail"]);
    bench.publish();
    assert_eq!(git(&bench, &["show", "refs/cairn/trail:checkpoint"]), bench.newest().note);
    let trailer =
        git(&bench, &["log", "-1", "--format=%(trailers:key=Cairn-Checkpoint)", "refs/cairn/trail"]);
    assert_eq!(trailer.trim_end(), trailer_of(&bench.newest()));
    bench.rollback_and_fork_are_found("git");
    assert_eq!(git(&bench, &["rev-list", "--count", "refs/cairn/trail"]), "2\n");
    assert_eq!(git(&bench, &["branch", "--list"]), "", "no branch was touched");
}

#[test]
fn surroundings_and_hooks_do_not_lead_git_astray() {
    let bench = Bench::new();
    git(&bench, &["init", "-q"]);
    let hook = bench.path("elsewhere/.git/hooks/reference-transaction");
    std::fs::write(&hook, format!("#!/bin/sh\ntouch '{}'\n", bench.arg("ran"))).unwrap();
    #[cfg(unix)]
    std::fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    bench.fine(&["witness", "add", "git", &bench.arg("elsewhere")]);
    let mut command = bench.command(&["witness", "publish"]);
    command.env("GIT_DIR", "/nowhere").env("GIT_WORK_TREE", "/nowhere").env("GIT_INDEX_FILE", "/nowhere");
    assert!(command.output().unwrap().status.success());
    assert!(!bench.path("ran").exists());
    assert_eq!(bench.verdicts(), ["agrees"]);
}

#[test]
fn what_is_no_repository_or_would_move_a_branch_is_refused() {
    let bench = Bench::new();
    let run = bench.run(&["witness", "add", "git", &bench.arg("elsewhere")]);
    assert!(run.code == 1 && run.err.contains("is not a git repository"), "{}", run.err);
    git(&bench, &["init", "-q"]);
    for name in ["refs/heads/main", "main", "refs/cairn/a..b", "refs/cairn/"] {
        assert_eq!(
            bench.run(&["witness", "add", "git", &bench.arg("elsewhere"), "--ref", name]).code,
            1,
            "{name}"
        );
    }
}

#[test]
fn trailers_of_commits_on_any_branch_count_if_the_log_signed_them() {
    let bench = Bench::new();
    git(&bench, &["init", "-q"]);
    bench.fine(&["witness", "add", "git", &bench.arg("elsewhere"), "--trailers"]);
    assert_eq!(bench.verdicts(), ["nothing"]);
    bench.save();
    let stated = bench.think("two");
    let trailer = trailer_of(&stated);
    git(&bench, &["commit", "-q", "--allow-empty", "-m", "Start"]);
    git(&bench, &["checkout", "-q", "-b", "side"]);
    git(&bench, &["commit", "-q", "--allow-empty", "-m", "Fix", "--trailer", &trailer]);
    git(&bench, &["checkout", "-q", "main"]);
    let data = bench.json(&["witness", "check"]);
    assert_eq!(data["witnesses"][0]["verdict"], "agrees", "{data}");
    assert_eq!(data["witnesses"][0]["newest"]["size"], stated.size);

    // A head that the log never had, in a commit of a stranger: of no weight once the key is known.
    let forged = trailer.replacen(&format!(" {} ", stated.size), " 900 ", 1);
    assert_ne!(forged, trailer);
    git(&bench, &["commit", "-q", "--allow-empty", "-m", "Fix", "--trailer", &forged]);
    let remembered = cairn::HeadFolder::new(bench.path("state/heads"));
    let head = cairn::SeenHead { size: stated.size, root: stated.root, at: "t".into(), stated: true };
    remembered.remember(&stated.origin, &bench.path("data/cairn.db"), &[head], &[bench.key()]).unwrap();
    assert_eq!(bench.verdicts(), ["agrees"]);

    bench.restore();
    let data = bench.json(&["verify"]);
    let messages = data["findings"].to_string();
    assert!(messages.contains(&format!("messages of commits) saw {} entries", stated.size)), "{messages}");
    assert_eq!(bench.run(&["witness", "check"]).code, 1);
}

#[test]
fn a_checkpoint_as_a_trailer_is_one_line_that_git_keeps() {
    let bench = Bench::new();
    git(&bench, &["init", "-q"]);
    let run = bench.run(&["checkpoint", "--trailer"]);
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{}", run.out);
    let trailer = trailer_of(&bench.newest());
    assert_eq!(run.out, format!("{trailer}\n"));

    // Git knows it for a trailer, behind others and alone, and does not fold or change it.
    for message in ["Fix it\n\nBecause.\n", "Fix it\n\nBecause.\n\nSigned-off-by: Ada <ada@example.org>\n"] {
        let added = interpret(&bench, &["--trailer", &trailer], message);
        let lines: Vec<&str> = added.lines().collect();
        assert_eq!((lines[0], lines.last()), ("Fix it", Some(&trailer.as_str())), "{added}");
        let parsed = interpret(&bench, &["--parse"], &added);
        assert_eq!(parsed.lines().filter(|line| *line == trailer).count(), 1, "{parsed}");
        assert_eq!(parsed.lines().count(), added.matches(": ").count(), "{parsed}");
    }

    // What git keeps is found again.
    git(&bench, &["commit", "-q", "--allow-empty", "-m", "Fix it", "--trailer", &trailer]);
    bench.fine(&["witness", "add", "git", &bench.arg("elsewhere"), "--trailers"]);
    let data = bench.json(&["witness", "check"]);
    assert_eq!(data["witnesses"][0]["verdict"], "agrees", "{data}");
    assert_eq!(data["witnesses"][0]["newest"]["size"], bench.newest().size, "{data}");
}

/// Runs `git interpret-trailers` on a message.
fn interpret(bench: &Bench, args: &[&str], message: &str) -> String {
    bench.place.write("message", message);
    let output = Command::new("git")
        .arg("interpret-trailers")
        .args(args)
        .current_dir(bench.path("elsewhere"))
        .env("HOME", bench.path("home"))
        .stdin(Stdio::from(std::fs::File::open(bench.path("message")).unwrap()))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}
