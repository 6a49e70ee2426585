//! Witnesses that cannot be reached never hold up a record for long, and never fail one.

use std::time::{Duration, Instant};

use super::bench::Bench;
use super::server::{Reply, nobody, serve};

const KEY: &str = super::http::KEY;

/// Much less than what a witness here takes that hangs, and more than a busy machine takes for the rest.
const LONG: Duration = Duration::from_secs(120);

#[cfg(unix)]
#[test]
fn no_outage_fails_a_record_or_is_waited_for_twice() {
    let bench = Bench::new();
    let silent = serve(|_, _| Reply::Silence);
    let trickle = serve(|_, _| Reply::Raw(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n".to_vec()));
    let garbage = serve(|_, _| Reply::Raw(vec![0xfe; 100_000]));
    let broken = serve(|_, _| Reply::Answer(500, b"down".to_vec()));
    std::fs::create_dir(bench.path("gone")).unwrap();
    std::process::Command::new("git").args(["init", "-q"]).arg(bench.path("repo")).status().unwrap();
    let add = |args: &[&str]| bench.fine(&[&["witness", "add"], args].concat());
    for (name, url) in [
        ("nobody", nobody()),
        ("silent", silent),
        ("trickle", trickle),
        ("garbage", garbage),
        ("broken", broken),
    ] {
        add(&["http", &url, "--key", KEY, "--name", &format!("http-{name}")]);
        add(&["timestamp", &url, "--name", &format!("stamp-{name}")]);
    }
    add(&["command", "--name", "hangs", "--", "sleep", "600"]);
    add(&["command", "--name", "fails", "--", "false"]);
    add(&["command", "--name", "missing", "--", "/no/such/program"]);
    add(&["file", &bench.arg("gone/notes")]);
    add(&["git", &bench.arg("repo")]);
    std::fs::remove_dir(bench.path("gone")).unwrap();
    std::fs::remove_dir_all(bench.path("repo")).unwrap();

    let started = Instant::now();
    let run = bench.run(&["record", "plan", "through all of it", "-s", "s"]);
    assert_eq!(run.code, 0, "{}", run.err);
    // The second one asks none of them again: each has failed once, below.
    assert_eq!(bench.run(&["record", "plan", "at once", "-s", "s"]).code, 0);
    assert!(started.elapsed() < LONG, "it took {:?}", started.elapsed());

    let data = bench.json(&["witness", "list"]);
    let witnesses = data["witnesses"].as_array().unwrap();
    assert_eq!(witnesses.len(), 15);
    for one in witnesses {
        assert_eq!(one["status"]["failures"], 1, "{one}");
        assert!(one["status"]["error"].is_string(), "{one}");
        assert_eq!(one["status"]["contradicts"], false, "{one}");
    }
    let started = Instant::now();
    let run = bench.run(&["verify"]);
    assert_eq!(run.code, 0, "{}", run.out);
    assert!(started.elapsed() < LONG, "it took {:?}", started.elapsed());
    let told = run.out.replace("\n    ", " ");
    for name in ["http-silent", "stamp-nobody", "hangs", "missing", "file", "git"] {
        assert!(told.contains(&format!("witness `{name}` (")), "{name}: {told}");
    }
    let (records, list) = (bench.json(&["list"]), bench.fine(&["witness", "list"]));
    assert_eq!(records["records"].as_array().unwrap().len(), 3, "{records}");
    assert!(list.contains("status 500"), "{list}");
}

#[cfg(unix)]
#[test]
fn a_command_that_never_answers_does_not_hang_verify() {
    let bench = Bench::new();
    bench.fine(&["witness", "add", "command", "--read", "sleep 600", "--", "true"]);
    let started = Instant::now();
    let run = bench.run(&["verify"]);
    assert!(run.code == 0 && run.out.contains("could not be asked"), "{}", run.out);
    assert!(started.elapsed() < LONG, "{:?}", started.elapsed());
}
