//! What each stage of an agent knew: turns and briefs.

mod brief;
mod brief_text;
mod entities;
mod state;
#[cfg(test)]
mod tests;
mod turn;
mod turns;

use crate::serve::{Route, page};

pub(super) static PAGES: [Route; 3] = [
    page::<turns::Turns>(
        "/sessions/{id}/turns",
        "the turns of a session's memory, newest first",
        &[("before", "the number of a turn: only turns before it")],
        &["session_id", "has_memory", "turn", "turns", "next"],
    ),
    page::<turn::OneTurn>(
        "/sessions/{id}/turns/{turn}",
        "one turn, the entities at it, and the brief of each node as of it",
        &[
            ("budget", "the most tokens of each brief"),
            ("depth", "how much of the conversation: 2, 5 or full; what each node usually sees if not given"),
            ("layout", "seed (the default) or cache"),
        ],
        &[
            "session_id",
            "turn",
            "user",
            "assistant",
            "assistant_summary",
            "routing",
            "timestamp",
            "think_decision",
            "think_goal",
            "steps",
            "entity_curation",
            "conversation_phase",
            "user_expressed",
            "blocked_reason",
            "events",
            "newest_turn",
            "known",
            "entities",
            "options",
            "briefs",
            "stored",
            "damaged",
        ],
    ),
    page::<brief::StoredBrief>(
        "/briefs/{id}",
        "one stored brief, whether it can be built again, and which thoughts name it",
        &[],
        &["brief", "verdict", "seq", "named_by", "looked_at"],
    ),
];
