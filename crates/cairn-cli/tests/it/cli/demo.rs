//! `cairn demo`.

use super::harness::Place;
use crate::it::database::sqlites_own;

#[test]
fn the_demo_tells_the_same_story_everywhere() {
    let text = Place::new().run(&["demo"]).fine();
    let tree = "\
$ cairn tree slow-checkout
plan       019d9ac6-99c0  Checkout takes 4.1 s since Tuesday: find the cause first
analysis   019d9aca-4340  Traces: 3.2 s pass in load_prices, 212 queries for one basket
├─ analysis   019d9ace-d720  Option A: cache prices for 5 minutes; 0.9 s, but prices lag
│  reflection 019d9ad1-9640  Dropped A: an old price means a refund, says finance
└─ analysis   019d9ad4-5560  Option B: all prices of a basket in one query; 0.7 s on a copy
   decision   019d9ad7-1480  Take B: one query, prices always current → commit-4f2a91c [context 1]
   plan       019d9aec-2320  Roll out to 5 %, watch errors for an hour, then to all → deploy-118
   reflection 019d9b28-8fe0  p95 fell from 4.1 s to 0.8 s, errors unchanged
   reflection 019d9b2d-23c0  Lesson: fail the build when a page needs over 20 queries
";
    assert!(text.contains(tree), "{text}");
    let verdict = "\
1. content_hash_mismatch
   table    thought
   record   019d9b28-8fe0-7a18-8000-0000000ca121 (step 7, log entry 9)
   field    content_hash
";
    let drift = "\
  rests on context 1 of checkout; current is context 2, 4 changes
  ~ prices  Load prices faster → Load all prices of a basket at once  (renamed)
";
    assert!(text.contains(drift), "{text}");
    let sound = "$ cairn verify\n9 thoughts and 2 snapshots recomputed, nothing was changed\n";
    assert!(text.contains(sound), "{text}");
    assert!(text.contains(verdict), "{text}");
}

#[test]
fn the_demo_leaves_nothing_behind_unless_told_to() {
    let place = Place::new();
    std::fs::create_dir(place.path("tmp")).unwrap();
    let output = place.command(&["demo"]).env("TMPDIR", place.path("tmp")).output().unwrap();
    assert!(output.status.success());
    assert_eq!(std::fs::read_dir(place.path("tmp")).unwrap().count(), 0);
    let output = place.command(&["demo", "--keep"]).env("TMPDIR", place.path("tmp")).output().unwrap();
    assert!(String::from_utf8(output.stderr).unwrap().contains("The files are in "));
    assert_eq!(std::fs::read_dir(place.path("tmp")).unwrap().count(), 1);
}

#[test]
fn the_files_of_a_demo_in_a_named_folder_can_be_looked_at() {
    sqlites_own!("a demo makes files");
    let place = Place::new();
    assert_eq!(place.run(&["demo", "--dir", "demo"]).code, 0);
    assert_eq!(place.run(&["--db", "demo/cairn.db", "verify"]).code, 0);
    assert_eq!(place.run(&["--db", "demo/edited-copy.db", "verify"]).code, 1);
    let run = place.run(&["demo", "--dir", "demo"]);
    assert_eq!(run.code, 1);
    assert!(run.err.starts_with("error: `demo/cairn.db` exists already"), "{}", run.err);
}

#[test]
fn the_demo_in_json_has_both_verdicts() {
    let data = Place::new().run(&["--json", "demo"]).json();
    assert_eq!(data["verify"]["valid"], true);
    assert_eq!(data["verify_edited_copy"]["valid"], false);
    assert_eq!(data["verify_edited_copy"]["broken_at"], data["edit"]["id"]);
}
