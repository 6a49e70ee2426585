//! `/healthz` and `/metrics`.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use serde_json::json;

use super::harness::{Server, database, program};
use super::wire::{ask, get};
use crate::it::database::{Holder, sqlites_own};

#[test]
fn a_server_that_can_record_is_well() {
    let server = Server::start();
    let answer = get(server.addr, "/healthz");
    assert_eq!((answer.status, &answer.json()["writable"]), (200, &json!(true)));
    let head = ask(server.addr, "HEAD", "/healthz", &[], b"");
    assert_eq!((head.status, head.body.len()), (200, 0));
}

#[test]
fn a_server_that_cannot_write_says_so_until_it_can() {
    let server = Server::start();
    server.agent().data("thought_plan", json!({ "session_id": "s", "plan_description": "x" }));
    let holder = Holder::of(&database(server.path()));
    let asked = Instant::now();
    let answer = get(server.addr, "/healthz");
    assert_eq!((answer.status, &answer.json()["writable"]), (503, &json!(false)), "{}", answer.whole());
    // What only reads is answered meanwhile.
    assert_eq!(get(server.addr, "/index.json").status, 200);
    drop(holder);
    while get(server.addr, "/healthz").status != 200 {
        assert!(asked.elapsed() < Duration::from_secs(120), "it does not get well again");
    }
}

#[cfg(unix)]
#[test]
fn a_server_on_a_log_that_was_put_back_is_not_well() {
    sqlites_own!("a file is put back");
    let server = Server::start();
    let old = server.path().join("old.db");
    let mut agent = server.agent();
    agent.data("thought_plan", json!({ "session_id": "s", "plan_description": "x" }));
    assert!(program(server.path()).arg("backup").arg(&old).status().unwrap().success());
    agent.data("thought_plan", json!({ "session_id": "s", "plan_description": "y" }));
    agent.data("log_checkpoint", json!({}));
    let folder = server.stop().folder;
    for file in ["cairn.db", "cairn.db-wal", "cairn.db-shm"] {
        let _ = std::fs::remove_file(folder.path().join(file));
    }
    std::fs::rename(&old, database(folder.path())).unwrap();
    let server = Server::in_folder(folder, &[]);
    let answer = get(server.addr, "/healthz");
    assert_eq!((answer.status, &answer.json()["writable"]), (503, &json!(false)), "{}", answer.whole());
    let why = answer.json()["why"].as_str().unwrap().to_string();
    assert!(!why.is_empty() && !why.contains(&*server.path().to_string_lossy()), "{why}");
    assert_eq!(get(server.addr, "/index.json").status, 200);
}

/// One line of figures: its labels and its value.
type Samples = BTreeMap<String, Vec<(BTreeMap<String, String>, f64)>>;

/// Reads the text form strictly: every sample belongs to a family with help and type, names and labels have their
/// form, no sample is given twice, and the buckets of a histogram add up.
fn parsed(text: &str) -> Samples {
    assert!(text.ends_with('\n'));
    let mut samples = Samples::new();
    let (mut family, mut kind) = (String::new(), String::new());
    let (mut families, mut seen, mut helped) = (BTreeSet::new(), BTreeSet::new(), String::new());
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').expect("help has words");
            assert!(is_name(name) && !help.is_empty(), "{line}");
            helped = name.to_string();
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, word) = rest.split_once(' ').expect("a type");
            assert!(["counter", "gauge", "histogram"].contains(&word), "{line}");
            assert_eq!(name, helped, "{line}");
            assert!(families.insert(name.to_string()), "twice: {line}");
            (family, kind) = (name.to_string(), word.to_string());
        } else {
            let (what, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("no value: {line}"));
            assert!(seen.insert(what.to_string()), "twice: {line}");
            let value: f64 = value.parse().unwrap_or_else(|_| panic!("no number: {line}"));
            let (name, labels) = match what.split_once('{') {
                Some((name, rest)) => (name, labels(rest.strip_suffix('}').expect("a closing brace"))),
                None => (what, BTreeMap::new()),
            };
            let suffix = name.strip_prefix(&family).unwrap_or_else(|| panic!("not of {family}: {line}"));
            let fits = if kind == "histogram" {
                ["_bucket", "_sum", "_count"].contains(&suffix)
            } else {
                suffix.is_empty()
            };
            assert!(fits && is_name(name), "{line}");
            assert!(kind != "counter" || (value >= 0.0 && name.ends_with("_total")), "{line}");
            samples.entry(name.to_string()).or_default().push((labels, value));
        }
    }
    add_up(&samples);
    samples
}

fn is_name(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    name.bytes().all(plain) && !name.starts_with(|first: char| first.is_ascii_digit())
}

fn labels(text: &str) -> BTreeMap<String, String> {
    let mut labels = BTreeMap::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (name, after) = rest.split_once("=\"").expect("a label");
        let (value, after) = after.split_once('"').expect("the end of a value");
        assert!(is_name(name) && !value.contains(['\\', '\n']), "{text}");
        assert!(labels.insert(name.to_string(), value.to_string()).is_none(), "{text}");
        rest = after.strip_prefix(',').unwrap_or(after);
    }
    labels
}

fn add_up(samples: &Samples) {
    for (name, counts) in
        samples.iter().filter_map(|(name, counts)| Some((name.strip_suffix("_count")?, counts)))
    {
        assert!(samples.contains_key(&format!("{name}_sum")));
        for (labels, count) in counts {
            let mut last = 0.0;
            let mut ends = Vec::new();
            for (of, below) in &samples[&format!("{name}_bucket")] {
                let mut of = of.clone();
                let end = of.remove("le").expect("a bucket has an end");
                if of == *labels {
                    assert!(*below >= last, "{name} {labels:?}: buckets shrink");
                    last = *below;
                    ends.push(if end == "+Inf" { f64::INFINITY } else { end.parse().unwrap() });
                }
            }
            assert!(ends.is_sorted() && ends.last() == Some(&f64::INFINITY), "{name} {ends:?}");
            assert_eq!(last, *count, "{name} {labels:?}");
        }
    }
}

#[test]
fn the_figures_are_in_the_form_that_prometheus_reads() {
    let server = Server::start();
    let mut agent = server.agent();
    for n in 0..5 {
        agent.data("thought_plan", json!({ "session_id": format!("s{n}"), "plan_description": "x" }));
    }
    agent.refused("thought_get", json!({ "id": "none" }));
    get(server.addr, "/no/such/page");
    let answer = get(server.addr, "/metrics");
    assert_eq!(answer.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    let samples = parsed(&answer.text());
    let one = |name: &str| match samples.get(name).map(Vec::as_slice) {
        Some([(_, value)]) => *value,
        other => panic!("{name}: {other:?}\n{}", answer.text()),
    };
    let labelled = |name: &str, labels: &[(&str, &str)]| {
        let fits = |of: &BTreeMap<String, String>| {
            labels.iter().all(|(key, value)| of.get(*key).is_some_and(|is| is == value))
        };
        samples[name].iter().filter(|(of, _)| fits(of)).map(|(_, value)| value).sum::<f64>()
    };
    // Calls and their times.
    assert_eq!(
        labelled("cairn_tool_call_seconds_count", &[("tool", "thought_plan"), ("outcome", "ok")]),
        5.0
    );
    assert_eq!(
        labelled("cairn_tool_call_seconds_count", &[("tool", "thought_get"), ("outcome", "refused")]),
        1.0
    );
    assert!(labelled("cairn_tool_call_seconds_sum", &[("tool", "thought_plan")]) > 0.0);
    assert_eq!(labelled("cairn_http_requests_total", &[("route", "/mcp"), ("status", "200")]), 6.0);
    assert_eq!(labelled("cairn_http_requests_total", &[("route", "none"), ("status", "404")]), 1.0);
    // The queue and what came of it.
    assert_eq!(one("cairn_write_queue"), 0.0);
    assert!(one("cairn_commits_total") >= 5.0 && one("cairn_committed_writes_total") >= 5.0);
    assert_eq!(one("cairn_failed_commits_total"), 0.0);
    assert!(one("cairn_commit_seconds_total") > 0.0);
    // The log.
    assert_eq!((one("cairn_thoughts"), one("cairn_sessions")), (5.0, 5.0));
    assert!(one("cairn_log_entries") >= 5.0);
    let covered = one("cairn_checkpoint_entries");
    assert_eq!(one("cairn_log_entries"), covered + one("cairn_uncovered_entries"));
    assert_eq!(samples.contains_key("cairn_checkpoint_age_seconds"), covered > 0.0);
}

#[test]
fn the_age_of_the_newest_checkpoint_is_told() {
    let server = Server::start();
    let mut agent = server.agent();
    agent.data("thought_plan", json!({ "session_id": "s", "plan_description": "x" }));
    agent.data("log_checkpoint", json!({}));
    let began = Instant::now();
    let age = || {
        let asked = began.elapsed().as_secs_f64();
        let samples = parsed(&get(server.addr, "/metrics").text());
        (asked, samples["cairn_checkpoint_age_seconds"][0].1, began.elapsed().as_secs_f64())
    };
    let (asked, first, answered) = age();
    assert!(first >= 0.0, "{first}");
    loop {
        let (asked_again, second, answered_again) = age();
        let grown = second - first;
        let passed = asked_again - answered - 0.001..=answered_again - asked + 0.001;
        assert!(passed.contains(&grown), "{grown} s older, after {passed:?}");
        if grown > 0.3 {
            break;
        }
    }
}
