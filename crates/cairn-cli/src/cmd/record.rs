//! `cairn record`: one thought, written by hand or by a script.

use std::io::{IsTerminal, Read};

use cairn::{Cairn, Limits, NewThought, Source, ThoughtType};

use super::metadata::Metadata;
use super::{Outcome, kind_parser};
use crate::args::App;
use crate::error::CliError;
use crate::state::StateFolder;
use crate::term::visible;
use crate::witness;

/// Record a thought and print its id
///
/// The text comes from the command line, or from stdin if it is `-` or left out. A task or a session must be
/// named, or a parent, whose task and session are then taken.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("place").args(["task", "session", "parent"]).required(true).multiple(true))]
pub(crate) struct Args {
    /// Say what kind of thought it is
    #[arg(value_name = "TYPE", value_parser = kind_parser())]
    kind: ThoughtType,
    /// Record this text; `-` reads it from stdin
    content: Option<String>,
    /// Append to the chain of this task [default: the session]
    #[arg(long, short)]
    task: Option<String>,
    /// Add to the tree of this session [default: the task]
    #[arg(long, short)]
    session: Option<String>,
    /// Name who thought it [default: CAIRN_AGENT, else the user]
    #[arg(long, short)]
    agent: Option<String>,
    /// Hang it below this thought, given by its id or a unique beginning
    #[arg(long, short, value_name = "ID")]
    parent: Option<String>,
    /// Name the action it led to: a commit, a tool call, a deployment
    #[arg(long)]
    action: Option<String>,
    /// Name the plan snapshot it was based on
    #[arg(long, value_name = "NUMBER")]
    context: Option<u64>,
    /// Name the brief it was based on
    #[arg(long, value_name = "ID")]
    brief: Option<String>,
    /// Name an earlier decision that this decision replaces or this reflection withdraws; may be repeated
    #[arg(long, value_name = "ID")]
    supersedes: Vec<String>,
    /// Name a thought of the session that this decision or reflection turned down; may be repeated
    #[arg(long, value_name = "ID")]
    rejects: Vec<String>,
    /// Say what it is about: a path or glob from the repository's root, or a label; may be repeated
    #[arg(long, value_name = "PATH|LABEL")]
    applies_to: Vec<String>,
    #[command(flatten)]
    metadata: Metadata,
    /// Encrypt the text with a key of its own, so that deleting the key erases it; it cannot be searched
    #[arg(long)]
    seal: bool,
    /// Record only once: the same key with the same arguments returns the first record
    #[arg(long)]
    key: Option<String>,
}

pub(crate) fn run(args: Args, app: &App) -> Result<Outcome, CliError> {
    let metadata = args.metadata.read()?;
    let content = content(args.content)?;
    let cairn = app.write()?;
    let mut thought = NewThought { metadata, ..NewThought::new(args.kind, content) };
    if let Some(prefix) = &args.parent {
        let parent = find(&cairn, prefix)?;
        thought.session_id = Some(parent.session_id.to_string());
        if args.session.is_none() && args.task.is_none() {
            thought.task_id = Some(parent.task_id.to_string());
        }
        thought.parent_id = Some(parent.id.to_string());
    }
    thought.session_id = args.session.or(thought.session_id);
    thought.task_id = args.task.or(thought.task_id);
    thought.action_id = args.action;
    thought.context_id = args.context;
    thought.brief_id = args.brief;
    thought.supersedes = resolved(&cairn, &args.supersedes)?;
    thought.rejects = resolved(&cairn, &args.rejects)?;
    thought.applies_to = args.applies_to;
    thought.idempotency_key = args.key;
    thought.seal = args.seal;
    let names_itself = thought.metadata.as_ref().is_some_and(|metadata| metadata.contains_key("agent_id"));
    thought.agent_id = args.agent.or_else(|| (!names_itself).then(author));
    let thought = cairn.record_as(Source::Person, thought)?;
    let closed = cairn.clone();
    cairn.close();
    if app.ui.json {
        app.ui.print_json(&thought)?;
    } else {
        app.ui.print(&format!("{}\n", visible(thought.id.as_str())))?;
        let session = visible(thought.session_id.as_str());
        let done = format!("Recorded {} as step {} of session {session}", thought.kind, thought.step_index);
        app.ui.remark(&app.ui.remarks.good(&done));
    }
    closed.copies().iter().for_each(|copy| app.ui.remark(&visible(&copy.words())));
    // Last, so that nobody waits for a witness to learn that the thought is recorded.
    witness::publish_newest(&closed, StateFolder::find().as_ref());
    Ok(Outcome::Fine)
}

/// The ids that these are, or are the beginnings of.
fn resolved(cairn: &Cairn, prefixes: &[String]) -> Result<Vec<String>, CliError> {
    prefixes.iter().map(|prefix| Ok(cairn.resolve(prefix)?.to_string())).collect()
}

/// The thought with this id, or whose id begins so.
pub(super) fn find(cairn: &Cairn, prefix: &str) -> Result<cairn::Thought, CliError> {
    let id = cairn.resolve(prefix)?;
    match cairn.get(id.as_str())? {
        Some(thought) => Ok(thought),
        None => Err(CliError::not_found(format!("no thought `{id}`"))),
    }
}

/// The text of the thought. Nothing on stdin is taken for a mistake unless stdin was asked for.
fn content(argument: Option<String>) -> Result<String, CliError> {
    let asked = match argument {
        Some(text) if text != "-" => return Ok(text),
        asked => asked.is_some(),
    };
    let missing =
        || CliError::usage("there is no text to record").hint("give it after the type, or pipe it in");
    let stdin = std::io::stdin();
    if !asked && stdin.is_terminal() {
        return Err(missing());
    }
    let limit = Limits::default().content;
    let mut bytes = Vec::new();
    // One more than allowed, and two for the line end that is taken off.
    stdin
        .lock()
        .take(limit as u64 + 3)
        .read_to_end(&mut bytes)
        .map_err(|error| CliError::io("cannot read the text from stdin", &error))?;
    let mut text = String::from_utf8(bytes).map_err(|error| {
        CliError::refused(format!(
            "the text on stdin is not UTF-8 from byte {} on",
            error.utf8_error().valid_up_to()
        ))
    })?;
    if text.ends_with('\n') {
        text.pop();
        text.truncate(text.strip_suffix('\r').map_or(text.len(), str::len));
    }
    if text.len() > limit {
        return Err(CliError::too_large(format!(
            "the text on stdin has more than {limit} bytes, which is the limit"
        ))
        .hint("record a summary, and name where the whole of it is kept with `--meta`"));
    }
    if text.is_empty() && !asked { Err(missing()) } else { Ok(text) }
}

/// Who works here: CAIRN_AGENT, else the user.
pub(super) fn author() -> String {
    ["CAIRN_AGENT", "USER", "LOGNAME", "USERNAME"]
        .into_iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
        .unwrap_or_else(|| "cli".to_string())
}
