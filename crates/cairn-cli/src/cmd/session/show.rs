//! `cairn session show`: what a session knows in a turn.

use std::fmt::Write;

use cairn::StatePart;
use cairn::core::session::event::{Pending, Step, StepStatus, SummaryApplied};

use super::state::{Constraint, Conversation, Done, Entities, Entity, Reasoning, Said, State};
use super::unreadable;
use crate::args::App;
use crate::cmd::Outcome;
use crate::error::CliError;
use crate::session_words::{self as words, step_kind};
use crate::term::{Ui, columns, count, cut, first_line, minute, pad, visible, wrap};

/// Turns on the first page; one part alone shows them all.
const TURNS: usize = 3;
/// Columns that a ref takes at most; a longer one moves what follows to the right.
const WIDEST_REF: usize = 24;
const WIDEST_LABEL: usize = 32;

/// Show what a session knows: entities, conversation, what was done
///
/// The page shows the newest turns with the first line of each text; a part that is asked for is shown whole.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Look at this session
    #[arg(value_name = "SESSION")]
    id: String,
    /// Show it as it was in this turn [default: the current one]
    #[arg(long, value_name = "N")]
    turn: Option<u64>,
    /// Show only this part, and all of it
    #[arg(long)]
    part: Option<Part>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    Entities,
    Conversation,
    Reasoning,
}

impl From<Part> for StatePart {
    fn from(part: Part) -> StatePart {
        match part {
            Part::Entities => StatePart::Entities,
            Part::Conversation => StatePart::Conversation,
            Part::Reasoning => StatePart::Reasoning,
        }
    }
}

pub(crate) fn run(args: &Args, app: &App) -> Result<Outcome, CliError> {
    let ui = &app.ui;
    let cairn = app.read()?;
    // A page says the turn even if it shows one part.
    let part = args.part.filter(|_| ui.json).map(StatePart::from);
    let state = cairn
        .session_state(&args.id, args.turn, part)
        .map_err(|error| unreadable(&cairn, &args.id, error))?;
    if ui.json {
        ui.print_json(&state)?;
        return Ok(Outcome::Fine);
    }
    let state: State = serde_json::from_value(state)
        .map_err(|error| CliError::failed(format!("the state of session `{}`: {error}", args.id)))?;
    ui.print(&page(&args.id, &state, args.part, ui))?;
    Ok(Outcome::Fine)
}

fn page(session: &str, state: &State, part: Option<Part>, ui: &Ui) -> String {
    let mut page = Page { text: String::new(), whole: part.is_some(), ui };
    let _ = writeln!(page.text, "session {}", ui.palette.strong(&visible(session)));
    let turn = match (state.turn, state.open) {
        (0, _) => "none has begun".to_string(),
        (turn, true) => format!("{turn}, open"),
        (turn, false) => format!("{turn}, ended"),
    };
    page.line("turn", &turn);
    if let Some(types) = &state.types {
        page.line("types", &types.join(", "));
    }
    page.line("window", &count(state.settings.window, "turn"));
    page.line("log", &format!("newest event is entry {}", state.seq));
    let wants = |wanted: Part| part.is_none_or(|part| part == wanted);
    if wants(Part::Entities) {
        page.entities(&state.entities);
    }
    if wants(Part::Conversation) {
        page.conversation(&state.conversation, state.open);
    }
    if wants(Part::Reasoning) {
        page.reasoning(&state.reasoning);
    }
    page.text
}

struct Page<'a> {
    text: String,
    /// Whether nothing is cut.
    whole: bool,
    ui: &'a Ui,
}

impl Page<'_> {
    fn line(&mut self, name: &str, value: &str) {
        let name = self.ui.palette.faint(&format!("{name:<8}"));
        for (at, line) in wrap(&visible(value), self.ui.width - 11).iter().enumerate() {
            let name = if at == 0 { name.as_str() } else { "        " };
            let _ = writeln!(self.text, "  {name} {line}");
        }
    }

    fn heading(&mut self, name: &str) {
        let _ = writeln!(self.text, "\n{}", self.ui.palette.strong(name));
    }

    fn sentence(&mut self, indent: usize, sentence: &str) {
        for line in wrap(&visible(sentence), self.ui.width - indent) {
            let _ = writeln!(self.text, "{:indent$}{}", "", self.ui.palette.faint(&line));
        }
    }

    /// A text after its name: the first line, or all of it below itself.
    fn said(&mut self, indent: usize, name: &str, text: &str) {
        let start = indent + columns(name) + 1;
        let room = self.ui.width.saturating_sub(start).max(20);
        let lines = match self.whole {
            true => wrap(visible(text).trim_end(), room),
            false => {
                let line = first_line(text);
                let more = text.trim().lines().count() > 1 && columns(&line) < room;
                vec![cut(&if more { format!("{line} …") } else { line }, room)]
            }
        };
        for (at, line) in lines.iter().enumerate() {
            let line = match at {
                0 => format!("{:indent$}{} {line}", "", self.ui.palette.faint(name)),
                _ => format!("{:start$}{line}", ""),
            };
            let _ = writeln!(self.text, "{}", line.trim_end());
        }
    }

    fn entities(&mut self, entities: &Entities) {
        self.heading("entities");
        let all = &entities.entities;
        if all.is_empty() {
            self.sentence(2, "none yet");
            return;
        }
        for (tier, meaning) in [
            ("active", "referenced lately"),
            ("generated", "drafts that are not saved"),
            ("retained", "older, kept for a reason"),
        ] {
            let of_tier = |entity: &&Entity| entity.tier.as_deref() == Some(tier);
            self.tier(tier, meaning, &all.iter().filter(of_tier).collect::<Vec<_>>());
        }
        let rest: Vec<&Entity> = all.iter().filter(|entity| entity.tier.is_none()).collect();
        if self.whole {
            self.tier("forgotten", "in no brief any more", &rest);
        } else if !rest.is_empty() {
            let more = match rest.len() {
                1 => "1 more is in no brief any more".to_string(),
                many => format!("{many} more are in no brief any more"),
            };
            self.sentence(2, &format!("{more}; `--part entities` shows everything"));
        }
    }

    fn tier(&mut self, tier: &str, meaning: &str, entities: &[&Entity]) {
        if entities.is_empty() {
            return;
        }
        let palette = self.ui.palette;
        let _ = writeln!(self.text, "  {tier} {}", palette.faint(&format!("({meaning})")));
        let widest = |text: &dyn Fn(&Entity) -> String, most: usize| {
            entities.iter().map(|entity| columns(&text(entity))).max().unwrap_or(0).min(most)
        };
        let (refs, statuses, labels) = (
            widest(&|entity| first_line(&entity.entity_ref), WIDEST_REF),
            widest(&|entity| entity.status.clone(), WIDEST_REF),
            widest(&label, WIDEST_LABEL),
        );
        for entity in entities {
            let head =
                format!("{}  {}", pad(&first_line(&entity.entity_ref), refs), pad(&entity.status, statuses));
            let mut about = format!("{}  {}", pad(&label(entity), labels), turns(entity));
            if entity.demoted {
                about.push_str(", demoted");
            }
            if let Some(id) = entity.saved_id.as_ref().filter(|_| self.whole) {
                about.push_str(&format!(", id {}", first_line(id)));
            }
            if let Some(reason) = &entity.retention_reason {
                about.push_str(&format!(", kept: {}", first_line(reason)));
            }
            let room = self.ui.width.saturating_sub(columns(&head) + 6).max(20);
            let lines = if self.whole { wrap(&about, room) } else { vec![cut(&about, room)] };
            for (at, line) in lines.iter().enumerate() {
                let head = if at == 0 { head.clone() } else { " ".repeat(columns(&head)) };
                let _ = writeln!(self.text, "    {head}  {line}");
            }
        }
    }

    fn conversation(&mut self, conversation: &Conversation, open: bool) {
        self.heading("conversation");
        let turns = &conversation.recent_turns;
        if turns.is_empty() {
            self.sentence(2, "no turn has begun yet");
        }
        self.summaries(&conversation.history_summary);
        let hidden = self.hidden(turns.len());
        self.earlier(hidden, "conversation");
        for (at, turn) in turns.iter().enumerate().skip(hidden) {
            self.turn(turn, open && at + 1 == turns.len());
        }
        if let Some(engagement) = &conversation.engagement_summary {
            self.said(2, "as a whole:", engagement);
        }
        self.constraints(&conversation.constraints);
        if let Some(pending) = &conversation.pending {
            self.pending(pending);
        }
    }

    fn turn(&mut self, turn: &Said, open: bool) {
        let _ =
            writeln!(self.text, "  turn {}  {}", turn.turn, self.ui.palette.faint(&minute(&turn.timestamp)));
        self.said(4, "user     ", &turn.user);
        match (&turn.assistant, &turn.assistant_summary) {
            (Some(reply), Some(summary)) if self.whole => {
                self.said(4, "assistant", reply);
                self.said(4, "in short ", summary);
            }
            (Some(_), Some(summary)) => self.said(4, "assistant", summary),
            (Some(reply), None) => self.said(4, "assistant", reply),
            (None, _) => self.sentence(4, if open { "not answered yet" } else { "no answer" }),
        }
    }

    fn constraints(&mut self, constraints: &[Constraint]) {
        if constraints.is_empty() {
            return;
        }
        let _ = writeln!(self.text, "  the user stated");
        for constraint in constraints {
            let until = constraint.expires.map(|last| format!(" until turn {last}")).unwrap_or_default();
            let fact = format!("{} = {}", first_line(&constraint.key), words::value(&constraint.value));
            let fact = format!("{fact}  (since turn {}{until})", constraint.since_turn);
            self.said(4, "-", &fact);
        }
    }

    fn pending(&mut self, pending: &Pending) {
        let name = format!("waiting for the user ({}):", pending.kind.as_str());
        self.said(2, &name, &pending.context);
        for question in &pending.questions {
            self.said(4, "-", question);
        }
    }

    fn reasoning(&mut self, reasoning: &Reasoning) {
        self.heading("what was done");
        let turns = &reasoning.turn_summaries;
        self.summaries(&reasoning.reasoning_summary);
        let hidden = self.hidden(turns.len());
        let shown: Vec<&Done> = turns[hidden..].iter().filter(|turn| says_something(turn)).collect();
        if shown.is_empty() {
            self.sentence(2, if hidden == 0 { "nothing yet" } else { "nothing in the newest turns" });
        }
        self.earlier(hidden, "reasoning");
        for turn in shown {
            self.done(turn);
        }
    }

    fn done(&mut self, turn: &Done) {
        let mut head = format!("turn {}", turn.turn_num);
        for word in [&turn.think_decision, &turn.conversation_phase].into_iter().flatten() {
            head.push_str(&format!("  {word}"));
        }
        let _ = writeln!(self.text, "  {}", visible(&head));
        if let Some(goal) = &turn.think_goal {
            self.said(4, "goal:", goal);
        }
        for step in &turn.steps {
            self.step(step);
        }
        for (name, refs) in
            [("kept:", &turn.entity_curation.retained), ("let go:", &turn.entity_curation.demoted)]
        {
            if !refs.is_empty() {
                self.said(4, name, &refs.join(", "));
            }
        }
        for (name, text) in [("user expressed:", &turn.user_expressed), ("blocked:", &turn.blocked_reason)] {
            if let Some(text) = text {
                self.said(4, name, text);
            }
        }
    }

    fn step(&mut self, step: &Step) {
        let status = match step.status {
            StepStatus::Done => "",
            StepStatus::Blocked => "blocked: ",
            StepStatus::Failed => "failed: ",
        };
        let name = format!("{}. {}", step.step_num, step_kind(step.kind));
        self.said(4, &name, &format!("{status}{}", step.description));
        if !step.outcome.is_empty() {
            self.said(7, "→", &step.outcome);
        }
        if let Some(note) = &step.note {
            self.said(7, "note:", note);
        }
    }

    fn summaries(&mut self, summaries: &[SummaryApplied]) {
        for summary in summaries {
            let turns = words::turns(summary.from_turn, summary.to_turn);
            self.said(2, &format!("{turns} in short:"), &summary.text);
        }
    }

    /// How many turns the page leaves out.
    fn hidden(&self, turns: usize) -> usize {
        if self.whole { 0 } else { turns.saturating_sub(TURNS) }
    }

    fn earlier(&mut self, hidden: usize, part: &str) {
        if hidden > 0 {
            let earlier = count(hidden as u64, "earlier turn");
            self.sentence(2, &format!("{earlier} not shown; `--part {part}` shows everything"));
        }
    }
}

fn label(entity: &Entity) -> String {
    match first_line(&entity.label) {
        label if label == first_line(&entity.entity_ref) => "(no label)".to_string(),
        label => label,
    }
}

/// When it was first and last referenced.
fn turns(entity: &Entity) -> String {
    match (entity.turn_created, entity.turn_last_ref) {
        (first, last) if first == last => format!("turn {first}"),
        (first, last) => format!("first in turn {first}, last in turn {last}"),
    }
}

fn says_something(turn: &Done) -> bool {
    let curation = &turn.entity_curation;
    let said = [&turn.think_decision, &turn.think_goal, &turn.conversation_phase, &turn.user_expressed];
    said.iter().any(|text| text.is_some())
        || turn.blocked_reason.is_some()
        || !(turn.steps.is_empty() && curation.retained.is_empty() && curation.demoted.is_empty())
}
