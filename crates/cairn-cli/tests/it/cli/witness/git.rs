//! Heads in git repositories.

use std::process::Command;

use super::bench::Bench;

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
    let note = bench.open().newest_checkpoint().unwrap().unwrap().note;
    assert_eq!(git(&bench, &["show", "refs/cairn/trail:checkpoint"]), note);
    let trailer =
        git(&bench, &["log", "-1", "--format=%(trailers:key=Cairn-Checkpoint)", "refs/cairn/trail"]);
    assert!(trailer.starts_with("Cairn-Checkpoint: cairn/") && trailer.contains(" 2 "), "{trailer}");
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
    // As `cairn checkpoint --trailer` prints it.
    let note: Vec<&str> = stated.note.lines().collect();
    let signature = note[4].rsplit(' ').next().unwrap();
    let trailer = format!("Cairn-Checkpoint: {} {} {} {signature}", note[0], note[1], note[2]);
    git(&bench, &["commit", "-q", "--allow-empty", "-m", "Start"]);
    git(&bench, &["checkout", "-q", "-b", "side"]);
    git(&bench, &["commit", "-q", "--allow-empty", "-m", "Fix", "--trailer", &trailer]);
    git(&bench, &["checkout", "-q", "main"]);
    let data = bench.json(&["witness", "check"]);
    assert_eq!(data["witnesses"][0]["verdict"], "agrees", "{data}");
    assert_eq!(data["witnesses"][0]["newest"]["size"], 3);

    // A head that the log never had, in a commit of a stranger: of no weight once the key is known.
    let forged = trailer.replacen(&format!(" {} ", note[1]), " 900 ", 1);
    git(&bench, &["commit", "-q", "--allow-empty", "-m", "Fix", "--trailer", &forged]);
    let remembered = cairn::HeadFolder::new(bench.path("state/heads"));
    let head = cairn::SeenHead { size: stated.size, root: stated.root, at: "t".into() };
    remembered.remember(&stated.origin, &bench.path("data/cairn.db"), &head, &[bench.key()]).unwrap();
    assert_eq!(bench.verdicts(), ["agrees"]);

    bench.restore();
    let data = bench.json(&["verify"]);
    let messages = data["findings"].to_string();
    assert!(messages.contains("messages of commits) saw 3 entries"), "{messages}");
    assert_eq!(bench.run(&["witness", "check"]).code, 1);
}
