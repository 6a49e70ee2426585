//! Looking for many ids in a long text.

use std::time::{Duration, Instant};

use cairn_core::roadmap::mentions::Mentions;

#[test]
fn a_long_text_and_many_ids_take_no_longer_than_the_text() {
    let ids: Vec<String> = (0..10_000).map(|number| format!("step/{number}")).collect();
    let text = "the steps of a long story, step by step, ".repeat(10_000) + "step/77";
    let start = Instant::now();
    let found = Mentions::new(ids.iter().map(String::as_str)).named(&text, None);
    assert_eq!(found.into_iter().collect::<Vec<_>>(), ["step/77"]);
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
}
