//! Looking for many ids in a long text.

use cairn_core::roadmap::mentions::Mentions;

use crate::growth::assert_at_most;

#[test]
fn a_long_text_and_many_ids_take_no_longer_than_the_text() {
    let ids: Vec<String> = (0..10_000).map(|number| format!("step/{number}")).collect();
    let text = "the steps of a long story, step by step, ".repeat(10_000) + "step/77";
    let look_for = |ids: &[String]| {
        let found = Mentions::new(ids.iter().map(String::as_str)).named(&text, None);
        assert_eq!(found.into_iter().collect::<Vec<_>>(), ["step/77"]);
    };
    assert_at_most(20, || look_for(&ids[70..80]), || look_for(&ids));
}
