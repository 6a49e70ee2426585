//! What the plan was: roadmaps, their snapshots, and how they differ.

mod compare;
mod context;
mod differences;
mod outline;
mod picture;
mod roadmap;
mod roadmaps;
#[cfg(test)]
mod tests;

use crate::serve::{Route, page};

pub(super) static PAGES: [Route; 4] = [
    page::<roadmaps::Roadmaps>(
        "/roadmaps",
        "the roadmaps, whether each file still says what its newest snapshot says, and what rests on older plans",
        &[],
        &["count", "roadmaps"],
    ),
    page::<roadmap::Roadmap>(
        "/roadmaps/{id}",
        "one roadmap: its newest plan, and its snapshots, newest first",
        &[("before", "the number of a snapshot: only snapshots before it")],
        &[
            "roadmap_id",
            "title",
            "file",
            "file_error",
            "newest",
            "uncaptured",
            "decisions",
            "drifted",
            "drifted_decisions",
            "contexts",
            "total",
            "next",
            "damaged",
        ],
    ),
    page::<context::OneContext>(
        "/contexts/{id}",
        "one snapshot of a roadmap, whether it verifies, and what rests on it",
        &[],
        &["context", "verdict", "rests_on_it", "previous", "newest"],
    ),
    page::<compare::Compare>(
        "/compare",
        "what changed from one snapshot of a roadmap to another",
        &[
            ("from", "the number of the older snapshot"),
            ("to", "the number of the newer one; the newest if not given"),
        ],
        &["total_changes", "identical", "counts", "differences", "from", "to"],
    ),
];
