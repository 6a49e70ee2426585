//! What a budget does to a brief, and what never changes it.

use cairn_core::brief::tokens::Counter;
use cairn_core::brief::{Brief, Depth, Layout, Node, Options, TraceThought};
use cairn_core::session::{SessionState, compaction_due, event::SummaryKind};
use cairn_core::{Sha, canonical};
use proptest::prelude::*;
use serde_json::json;

use crate::seeded::Seeded;
use crate::session_fold::events;
use crate::session_script::{Script, build, fold, options};

/// The contents that random events name.
fn bodies() -> Vec<(Sha, String)> {
    let contents = (0..3).map(|n| format!("{{\"n\":{n}}}"));
    contents.map(|content| (Sha::of(content.as_bytes()), content)).collect()
}

fn thoughts(state: &SessionState) -> Vec<TraceThought> {
    let thought =
        |seq| TraceThought { seq, kind: "plan".parse().unwrap(), first_line: format!("thought {seq}") };
    (0..=state.seq).step_by(4).map(thought).collect()
}

fn any_options() -> impl Strategy<Value = Options> {
    let counter = prop_oneof![
        2 => Just(Counter::Estimate),
        1 => (1..2000u32).prop_map(|per_thousand| Counter::Factor { per_thousand }),
    ];
    let depth = proptest::option::of((0..3usize).prop_map(|n| Depth::ALL[n]));
    (0..4usize, depth, any::<bool>(), counter).prop_map(|(node, depth, seed, counter)| Options {
        depth,
        layout: if seed { Layout::Seed } else { Layout::Cache },
        counter,
        ..options(Node::ALL[node])
    })
}

/// Every item that is shown, with its section.
fn items(brief: &Brief) -> Vec<(&'static str, String)> {
    let of = |section: &cairn_core::brief::Section| {
        let id = section.id;
        section.items.iter().map(move |item| (id, item.text.clone())).collect::<Vec<_>>()
    };
    brief.sections.iter().flat_map(of).collect()
}

/// Whether all of `some` is in `all`, in its order.
fn is_part_of(some: &[(&'static str, String)], all: &[(&'static str, String)]) -> bool {
    let mut rest = all.iter();
    some.iter().all(|item| rest.any(|other| other == item))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_budget_is_never_exceeded_and_a_larger_one_never_shows_less(
        events in events(50), options in any_options(), budgets in proptest::collection::vec(0..400u64, 1..8),
    ) {
        let (state, bodies) = (fold(&events), bodies());
        let thoughts = thoughts(&state);
        let with = |budget| {
            build(&state, &thoughts, &bodies, state.seq, &Options { budget, ..options.clone() })
        };
        let whole = with(None).unwrap();
        let mut budgets = budgets;
        // The smallest that will do, and its neighbours.
        if let Err(refused) = with(Some(0)) {
            prop_assert!(!refused.item.is_empty());
            budgets.extend([refused.needed, refused.needed + 1]);
            prop_assert!(refused.needed == 0 || with(Some(refused.needed - 1)).is_err());
            prop_assert!(with(Some(refused.needed)).is_ok());
        }
        budgets.extend([whole.report.tokens, whole.report.tokens.saturating_sub(1)]);
        budgets.sort_unstable();
        let mut before = Vec::new();
        for budget in budgets {
            let Ok(brief) = with(Some(budget)) else { continue };
            prop_assert!(brief.report.tokens <= budget);
            prop_assert_eq!(brief.report.tokens, options.counter.count(&brief.text));
            let shown = items(&brief);
            prop_assert!(is_part_of(&before, &shown), "{:?} {:?}", before, shown);
            prop_assert!(is_part_of(&shown, &items(&whole)));
            prop_assert_eq!(shown.len() + brief.report.omitted.len(), items(&whole).len());
            prop_assert_eq!(brief.report.included, shown.len() as u64);
            let line = match brief.report.omitted.len() {
                0 => None,
                1 => Some("\n(1 item not shown: budget)\n\n---\n".to_string()),
                number => Some(format!("\n({number} items not shown: budget)\n\n---\n")),
            };
            prop_assert_eq!(brief.text.contains("not shown: budget"), line.is_some());
            prop_assert!(line.is_none_or(|line| brief.text.contains(&line)));
            before = shown;
        }
        prop_assert_eq!(items(&with(Some(whole.report.tokens)).unwrap()), items(&whole));
    }

    #[test]
    fn a_past_turn_is_rebuilt_to_the_byte(events in events(50), options in any_options(), cut in 0..50usize) {
        let cut = cut.min(events.len());
        let bodies = bodies();
        let then = fold(&events[..cut]);
        let brief = build(&then, &thoughts(&then), &bodies, then.seq, &options);
        // Later, from the log: the thoughts up to there, the events up to there.
        let now = fold(&events);
        let up_to: Vec<TraceThought> = thoughts(&now).into_iter().filter(|t| t.seq <= then.seq).collect();
        let again = fold(&events[..cut]);
        prop_assert_eq!(build(&again, &up_to, &bodies, then.seq, &options), brief);
    }

    #[test]
    fn the_hash_covers_what_it_says(events in events(30), options in any_options()) {
        let state = fold(&events);
        let brief = build(&state, &thoughts(&state), &bodies(), state.seq, &options).unwrap();
        let mut told = serde_json::to_value(&brief).unwrap();
        for apart in ["report", "text", "hash"] {
            told.as_object_mut().unwrap().remove(apart);
        }
        prop_assert_eq!(brief.hash, Sha::of(&canonical::to_bytes(&told).unwrap()));
        let longer = brief.sections.iter().flat_map(|section| &section.items).map(|item| &item.text);
        prop_assert!(longer.into_iter().all(|text| brief.text.contains(text.as_str())));
    }
}

/// A session as an agent would have it: entities, steps, a proposal now and then, summaries when they are due.
fn example(turns: u64, with_summaries: bool) -> Vec<Script> {
    let mut random = Seeded(7);
    let mut script = Script::default();
    let mut moments = Vec::new();
    for turn in 1..=turns {
        script.begin(&format!(
            "Please look at what we have for week {turn}, and tell me which of the dishes I could cook in advance. \
             There will be {} guests, and two of them do not eat fish.",
            2 + random.below(9)
        ));
        moments.push(script.clone());
        for number in 0..random.below(3) {
            let id = format!("{}", turn * 10 + number);
            script.read("recipe", &id, &format!("Dish number {id}"));
        }
        script.note(json!({"goal": format!("Find dishes for week {turn}"), "decision": "plan_direct", "phase": "exploring"}));
        script.step(json!({"step_num": 1, "type": "read", "subdomain": "recipes",
            "description": "Find the dishes of the week", "outcome": format!("{} dishes", random.below(9))}));
        script.end(&format!(
            "For week {turn} there are a few dishes that keep well: the stew and the bread can be made two days before, \
             the salad only on the day itself. Nothing on the list has fish in it. Shall I put the shopping together, \
             or would you like to see other dishes first? The oven is needed for {} hours.",
            1 + random.below(5)
        ));
        if with_summaries {
            while let Some((kind, from, to)) = compaction_due(&script.state) {
                let kind = if kind == SummaryKind::History { "history" } else { "reasoning" };
                let text = "The user plans dishes for several weeks; guests do not eat fish; stew and bread keep well.";
                script.summary(kind, from, to, text);
            }
        }
    }
    moments
}

/// How much of each brief, and of all of them, stands at the beginning of the brief before: in hundredths of its bytes.
fn shared(moments: &[Script], options: &Options) -> (Vec<usize>, usize) {
    let texts: Vec<String> = moments.iter().map(|script| script.brief(options).text).collect();
    let same = |pair: &[String]| pair[0].bytes().zip(pair[1].bytes()).take_while(|(a, b)| a == b).count();
    let pairs: Vec<(usize, usize)> = texts.windows(2).map(|pair| (same(pair), pair[1].len())).collect();
    let (shared, whole) = pairs.iter().fold((0, 0), |sums, pair| (sums.0 + pair.0, sums.1 + pair.1));
    (pairs.iter().map(|(shared, whole)| 100 * shared / whole).collect(), 100 * shared / whole)
}

#[test]
fn in_the_cache_layout_successive_briefs_share_most_of_their_bytes() {
    let cache = Options { layout: Layout::Cache, ..options(Node::Think) };
    let (each, all) = shared(&example(20, false), &Options { depth: Some(Depth::Full), ..cache.clone() });
    assert!(all >= 70 && each[6..].iter().all(|share| *share >= 70), "{all} {each:?}");
    // With summaries when they are due, only the turn after one starts anew.
    let (each, all) = shared(&example(20, true), &cache);
    assert!(all >= 70 && each.iter().filter(|share| **share < 25).count() <= 1, "{all} {each:?}");
    let (_, seed) = shared(&example(20, true), &options(Node::Think));
    assert!(seed < 20, "{seed}");
}

#[test]
fn what_must_be_shown_is_named_if_it_does_not_fit() {
    let mut script = Script::default();
    script.begin(&"message ".repeat(40));
    script.note(json!({
        "pending": {"type": "propose", "context": "pending ".repeat(100)},
        "constraints": [{"key": "meals", "value": "constraint ".repeat(300)}],
    }));
    let refused = |budget: u64| {
        script
            .try_brief(&Options {
                budget: Some(budget),
                task: Some("task ".repeat(20)),
                ..options(Node::Think)
            })
            .unwrap_err()
    };
    let needed = refused(0).needed;
    for (budget, item) in [
        (5, "the headings"),
        (45, "the message of the current turn"),
        (450, "the constraint `meals`"),
        (needed - 1, "the task"),
    ] {
        let refused = refused(budget);
        assert_eq!((refused.item.as_str(), refused.budget, refused.needed), (item, budget, needed));
    }
    let message = refused(45).to_string();
    let expected = format!(
        "a budget of 45 tokens is too small for the message of the current turn; what must be shown needs {needed}"
    );
    assert_eq!(message, expected);
}

#[test]
fn a_budget_is_spent_on_what_matters_most() {
    let script = example(18, true).pop().unwrap();
    let whole = script.brief(&options(Node::Think));
    let half = script.brief(&Options { budget: Some(whole.report.tokens * 2 / 3), ..options(Node::Think) });
    assert!(half.text.contains("Do not re-read") || !whole.text.contains("Do not re-read"));
    assert!(half.text.contains("User (turn 18)") && half.text.contains("Assistant (turn 17)"));
    assert!(half.text.contains("T17.1 read recipes"), "{}", half.text);
    assert!(!half.report.omitted.is_empty());
    assert!(half.report.omitted.iter().all(|omitted| omitted.reason == "budget" && omitted.tokens > 0));
    let reasons = half.report.omitted.iter().map(|omitted| omitted.section);
    assert!(reasons.into_iter().all(|section| section == "conversation" || section == "reasoning"));
}

#[test]
fn a_budget_beyond_all_numbers_is_still_a_budget() {
    let script = example(3, false).pop().unwrap();
    let brief = script.brief(&Options { budget: Some(u64::MAX), ..options(Node::Act) });
    assert_eq!(brief.budget, Some(canonical::MAX_INTEGER));
    assert!(brief.report.omitted.is_empty());
}

/// A change here is a change of the format: raise `brief::FORMAT`, so that stored briefs say which one they are of.
#[test]
fn the_bytes_of_the_format_are_frozen() {
    let script = example(14, true).pop().unwrap();
    let digests: Vec<String> = Node::ALL
        .into_iter()
        .flat_map(|node| Layout::ALL.map(|layout| Options { layout, budget: Some(700), ..options(node) }))
        .map(|options| {
            let brief = script.brief(&options);
            format!("{:.16} {:.16}", brief.hash, Sha::of(brief.text.as_bytes()))
        })
        .collect();
    let frozen = [
        "f1bdcab5746ca831 109b74a670b81e93",
        "3737c36b0bc53466 3032a08e16a6e2c0",
        "dd6553ec5af05476 6d828a6fa0a0210e",
        "4c3e18779f9b51fd 4184fb3d7199d3d8",
        "b6ac3f9b31ecc735 453d8c8e0cac351c",
        "66b51d532d9f38ad 90af59f2ea2cb221",
        "c14c22c16157b3ba d472b233c338caf4",
        "834cacfd2c452c99 2812d393eae5d457",
    ];
    assert_eq!(digests, frozen);
}
