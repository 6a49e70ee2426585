//! The story that the demo records: an agent makes a slow checkout fast again.
//!
//! Clock and ids are its own, so that the demo shows the same on every machine and every day.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use cairn::{NewRoadmap, NewThought, Options, ThoughtType, Timestamp};
use serde_json::{Value, json};

pub(super) const SESSION: &str = "slow-checkout";
pub(super) const AGENT: &str = "shop-agent";
pub(super) const ACTION: &str = "commit-4f2a91c";
const DEPLOYMENT: &str = "deploy-118";

/// What somebody edits afterwards, and into what. Of one length, so that no other byte of the file moves.
pub(super) const TRUTH: &str = "p95 fell from 4.1 s to 0.8 s";
pub(super) const FORGERY: &str = "p95 fell from 4.1 s to 0.2 s";

/// One step: when (minutes after the start), what kind, which step it follows from, what it led to.
pub(super) struct Step {
    pub(super) minute: u64,
    pub(super) kind: ThoughtType,
    pub(super) parent: Option<usize>,
    pub(super) action: Option<&'static str>,
    pub(super) text: &'static str,
}

const fn step(
    minute: u64,
    kind: ThoughtType,
    parent: Option<usize>,
    action: Option<&'static str>,
    text: &'static str,
) -> Step {
    Step { minute, kind, parent, action, text }
}

pub(super) const STEPS: [Step; 9] = {
    use ThoughtType::{Analysis, Decision, Plan, Reflection};
    [
        step(0, Plan, None, None, "Checkout takes 4.1 s since Tuesday: find the cause first"),
        step(4, Analysis, Some(0), None, "Traces: 3.2 s pass in load_prices, 212 queries for one basket"),
        step(9, Analysis, Some(1), None, "Option A: cache prices for 5 minutes; 0.9 s, but prices lag"),
        step(12, Reflection, Some(2), None, "Dropped A: an old price means a refund, says finance"),
        step(15, Analysis, Some(1), None, "Option B: all prices of a basket in one query; 0.7 s on a copy"),
        step(18, Decision, Some(4), Some(ACTION), "Take B: one query, prices always current"),
        step(41, Plan, Some(5), Some(DEPLOYMENT), "Roll out to 5 %, watch errors for an hour, then to all"),
        step(107, Reflection, Some(6), None, "p95 fell from 4.1 s to 0.8 s, errors unchanged"),
        step(112, Reflection, Some(7), None, "Lesson: fail the build when a page needs over 20 queries"),
    ]
};

/// The plan that the decision is based on, and the step before which it is frozen.
pub(super) const ROADMAP: &str = "checkout";
pub(super) const DECIDING: usize = 5;

/// The plan as it was, or as it is in the end, when the lesson has been learnt.
pub(super) fn plan(in_the_end: bool) -> NewRoadmap {
    let node = |id: &str, label: &str, phase: &str, needs: &[&str]| json!({"id": id, "label": label, "phase": phase, "dependencies": needs});
    let nodes: Vec<Value> = if in_the_end {
        vec![
            node("prices", "Load all prices of a basket at once", "fix", &[]),
            node("rollout", "Roll out", "run", &["prices"]),
            node("budget", "Fail builds over 20 queries a page", "run", &["rollout"]),
        ]
    } else {
        vec![
            node("prices", "Load prices faster", "fix", &[]),
            node("cache", "Cache prices", "fix", &["prices"]),
            node("rollout", "Roll out", "run", &["prices"]),
        ]
    };
    NewRoadmap {
        roadmap_id: ROADMAP.into(),
        title: "A fast checkout".into(),
        nodes,
        phases: vec![json!({"id": "fix"}), json!({"id": "run"})],
        overwrite: in_the_end,
        ..NewRoadmap::default()
    }
}

/// Milliseconds from 1970 to the start of the story, and the day it happens on.
const START: u64 = 1_776_418_200_000;
const DAY: &str = "2026-04-17";
const FIRST_MINUTE: u64 = 9 * 60 + 30;

/// The clock of the story: it stands at one step until it is moved to another.
#[derive(Clone, Default)]
pub(super) struct StoryClock {
    at: Arc<AtomicUsize>,
}

impl StoryClock {
    pub(super) fn move_to(&self, step: usize) {
        self.at.store(step, Ordering::SeqCst);
    }

    fn minute(&self) -> u64 {
        STEPS[self.at.load(Ordering::SeqCst)].minute
    }

    fn timestamp(&self) -> Timestamp {
        let minute = FIRST_MINUTE + self.minute();
        Timestamp::parse(format!("{DAY}T{:02}:{:02}:00.000Z", minute / 60, minute % 60))
            .expect("a time of that day")
    }

    /// An id as the recorder would have made it at that time: a UUID of version 7.
    fn id(&self) -> String {
        let millis = START + self.minute() * 60_000;
        let step = self.at.load(Ordering::SeqCst);
        format!("{:08x}-{:04x}-7{:03x}-8000-{:012x}", millis >> 16, millis & 0xffff, 0xa11 + step, 0xca121)
    }

    /// Options under which everything happens at the time of the story.
    pub(super) fn options(&self) -> Options {
        let (clock, ids) = (self.clone(), self.clone());
        Options::new().clock(move || clock.timestamp()).ids(move || ids.id())
    }
}

/// A step as the recorder takes it.
pub(super) fn thought(step: &Step, parent: Option<&str>, context_id: Option<u64>) -> NewThought {
    NewThought {
        context_id,
        parent_id: parent.map(str::to_string),
        action_id: step.action.map(str::to_string),
        ..NewThought::new(step.kind, step.text).session(SESSION).agent(AGENT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_forgery_fits_exactly_into_the_place_of_the_truth() {
        assert_eq!(TRUTH.len(), FORGERY.len());
        assert_eq!(STEPS.iter().filter(|step| step.text.contains(TRUTH)).count(), 1);
    }

    #[test]
    fn the_clock_of_the_story_shows_its_times() {
        let clock = StoryClock::default();
        assert_eq!(clock.timestamp().as_str(), "2026-04-17T09:30:00.000Z");
        clock.move_to(8);
        assert_eq!(clock.timestamp().as_str(), "2026-04-17T11:22:00.000Z");
        assert!(clock.id().starts_with(&format!("{:08x}", (START + 112 * 60_000) >> 16)));
    }
}
