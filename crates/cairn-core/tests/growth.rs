//! How the time that some work takes grows with its size, for the tests of all crates.

use std::time::{Duration, Instant};

/// Asserts that much work takes at most `factor` times as long as little work. What else the machine does meanwhile costs
/// time and saves none, so of each the fastest of several attempts counts, and how fast the machine is does not matter.
#[track_caller]
pub fn assert_at_most(factor: u32, mut little: impl FnMut(), mut much: impl FnMut()) {
    let timed = |work: &mut dyn FnMut()| {
        let began = Instant::now();
        work();
        began.elapsed()
    };
    let (mut least, mut most) = (timed(&mut little), Duration::MAX);
    for _ in 0..5 {
        most = most.min(timed(&mut much));
        least = least.min(timed(&mut little));
        if most <= least * factor {
            return;
        }
    }
    panic!("{most:?} is more than {factor} times {least:?}");
}
