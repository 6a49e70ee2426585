//! Layer 2 in a brief: what was said, what the user is waited for, and what the user stated.

use super::candidate::{Candidate, Key, Part, Rank};
use super::text::{count, headed, json_line, one_line, push};
use super::{Depth, Node};
use crate::session::SessionState;
use crate::session::event::SummaryKind;
use crate::session::state::{Noted, Reply, Turn};

/// Turns before the current one that every node sees.
const RECENT: usize = 2;
/// Older turns at most, for those who would see their summary if there were one.
const OLDER: usize = 20;
/// They go so many at a time, so that the beginning of a brief does not change with every turn.
const STRIDE: usize = 5;

/// What is said before the first turn.
pub const EMPTY: &str = "No turn has begun yet.";

/// What a node sees.
pub fn for_node(state: &SessionState, node: Node, depth: Option<Depth>) -> Vec<Candidate> {
    let view = View::of(node, depth);
    let mut items = Vec::new();
    if view.history {
        items.extend(summaries(state, SummaryKind::History, Part::History));
    }
    turns(state, &view, &mut items);
    if view.engagement
        && let Some(engagement) = &state.engagement
    {
        let text = headed("The conversation as a whole, by the caller:", &engagement.value);
        let key = Key::new(Rank::Conversation, 1, 0);
        items.push(Candidate::new(Part::Engagement, key, text, vec![engagement.seq]));
    }
    constraints(state, &mut items);
    if node != Node::Act {
        items.extend(pending(state, node));
    }
    items
}

/// The summaries of one kind, each with the turns it covers.
pub fn summaries(
    state: &SessionState,
    of: SummaryKind,
    part: Part,
) -> impl Iterator<Item = Candidate> + use<'_> {
    let (what, rank) = match of {
        SummaryKind::History => ("Summary", Rank::Conversation),
        SummaryKind::Reasoning => ("What was done", Rank::Reasoning),
    };
    state.summaries(of).iter().map(move |summary| {
        let covered = match (summary.value.from_turn, summary.value.to_turn) {
            (from, to) if from == to => format!("turn {from}"),
            (from, to) => format!("turns {from} to {to}"),
        };
        let text = headed(format!("{what}, {covered}, by the caller:"), &summary.value.text);
        Candidate::new(part, Key::new(rank, 2, summary.value.to_turn), text, vec![summary.seq])
    })
}

/// What of the conversation is shown.
struct View {
    /// Turns before the current one, whether a summary covers them or not.
    recent: usize,
    /// Turns before those that no summary covers.
    older: usize,
    history: bool,
    engagement: bool,
    replies_in_full: bool,
}

impl View {
    fn of(node: Node, depth: Option<Depth>) -> View {
        let view = |recent, history, engagement| View {
            recent,
            older: 0,
            history,
            engagement,
            replies_in_full: false,
        };
        match depth {
            Some(Depth::Two) => view(RECENT, false, false),
            Some(Depth::Five) => view(5, true, false),
            Some(Depth::Full) => View { replies_in_full: true, ..view(usize::MAX, true, true) },
            None => match node {
                Node::Understand | Node::Think => View { older: OLDER, ..view(RECENT, true, true) },
                Node::Act => view(RECENT, false, false),
                Node::Reply => view(RECENT, false, true),
            },
        }
    }
}

fn turns(state: &SessionState, view: &View, items: &mut Vec<Candidate>) {
    let Some((current, before)) = state.turns.split_last() else { return };
    let (older, recent) = before.split_at(before.len().saturating_sub(view.recent));
    let covered = |turn: &Turn| state.is_covered(SummaryKind::History, turn.turn);
    let uncovered: Vec<&Turn> = older.iter().map(|turn| &**turn).filter(|turn| !covered(turn)).collect();
    let gone = uncovered.len().saturating_sub(view.older).next_multiple_of(STRIDE);
    let kept = if view.older == 0 { &[] } else { &uncovered[gone.min(uncovered.len())..] };
    // Those that neither their own words nor a summary tell of.
    let untold = if view.history { uncovered.len() } else { older.len() } - kept.len();
    if untold > 0 {
        let text = format!("({} not shown)", count(untold, "earlier turn", "earlier turns"));
        items.push(Candidate::new(Part::Turns, Key::new(Rank::OlderTurns, 1, 0), text, Vec::new()));
    }
    let recent = recent.iter().map(|turn| &**turn);
    let kept = kept.iter().map(|turn| (*turn, Rank::OlderTurns));
    for (turn, rank) in kept.chain(recent.map(|turn| (turn, Rank::Conversation))) {
        let key = Key::new(rank, 0, turn.turn);
        items.push(Candidate::new(Part::Turns, key, user_line(turn), vec![turn.user.seq]));
        let (text, events) = match &turn.reply {
            Some(reply) => (reply_line(turn.turn, reply, view), vec![reply.seq]),
            // The message after it closed it.
            None => (
                format!("Assistant (turn {}): no answer, the next message came first", turn.turn),
                state.turns.get(turn.turn as usize).map(|next| next.user.seq).into_iter().collect(),
            ),
        };
        items.push(Candidate::new(Part::Turns, key, text, events));
    }
    let message = "the message of the current turn";
    items.push(Candidate::required(Part::Turns, message, user_line(current), vec![current.user.seq]));
    if let Some(reply) = &current.reply {
        let key = Key::new(Rank::Conversation, 0, current.turn);
        let text = reply_line(current.turn, reply, view);
        items.push(Candidate::new(Part::Turns, key, text, vec![reply.seq]));
    }
}

fn user_line(turn: &Turn) -> String {
    headed(format!("User (turn {}):", turn.turn), &turn.user.value)
}

/// In short if the caller gave a short form, at any age: what was said once stays as it is.
fn reply_line(turn: u64, reply: &Noted<Reply>, view: &View) -> String {
    match &reply.value.summary {
        Some(summary) if !view.replies_in_full => {
            headed(format!("Assistant (turn {turn}), in short:"), summary)
        }
        _ => headed(format!("Assistant (turn {turn}):"), &reply.value.full),
    }
}

fn constraints(state: &SessionState, items: &mut Vec<Candidate>) {
    for constraint in state.constraints_now() {
        let key = one_line(&constraint.key);
        let value = match &constraint.value {
            serde_json::Value::String(text) => one_line(text).into_owned(),
            other => json_line(&other.to_string()).into_owned(),
        };
        let mut text = format!("- The user stated, turn {}: {key} = {value}", constraint.since_turn);
        if let Some(last) = constraint.expires {
            text.push_str(&format!(" (holds until turn {last})"));
        }
        let name = format!("the constraint `{key}`");
        items.push(Candidate::required(Part::Constraints, name, text, vec![constraint.seq]));
    }
}

fn pending(state: &SessionState, node: Node) -> Option<Candidate> {
    let open = state.pending.as_ref()?;
    let (since, kind) = (open.since_turn, open.pending.kind.as_str());
    let head = if since < state.turn {
        format!("Asked in turn {since} ({kind}), answered by the message above:")
    } else if state.open && node == Node::Reply {
        format!("Now ask the user ({kind}):")
    } else {
        format!("Waiting for the user since turn {since} ({kind}):")
    };
    let mut text = headed(head, &open.pending.context);
    for question in &open.pending.questions {
        text.push_str("\n- question:");
        push(&mut text, question);
    }
    Some(Candidate::required(Part::Pending, "what the user is waited for", text, vec![open.seq]))
}
