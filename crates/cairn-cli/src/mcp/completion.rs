//! Values for an argument of a prompt or a variable of an address, while they are being typed.

use cairn::core::preview::preview;
use cairn::{Cairn, Error, StatePart};
use rmcp::ErrorData;
use rmcp::model::{CompleteRequestParams, CompletionInfo, Reference};

use super::envelope::Failure;
use super::prompts::{self, Prompt};
use super::resources::Template;
use super::tools::NODES;

/// So many sessions are looked through, the newest.
const SESSIONS: u64 = 1000;

/// What is being typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// A session.
    Session(Having),
    /// A turn of this session, if it is known.
    Turn(Option<String>),
    /// A roadmap.
    Roadmap,
    /// One of these words.
    Word(&'static [&'static str]),
    /// Something there are no values for.
    Anything,
}

/// What a session must have to be of use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Having {
    /// Thoughts or a memory.
    Records,
    /// Thoughts.
    Thoughts,
    /// A memory.
    Memory,
}

/// Finds out what is being typed.
pub fn subject(
    request: &CompleteRequestParams,
    prompts: &[&'static Prompt],
    templates: &[&'static Template],
) -> Result<Subject, ErrorData> {
    let name = request.argument.name.as_str();
    let (known, subject): (Vec<&str>, _) = match &request.r#ref {
        Reference::Prompt(prompt) => {
            let prompt = prompts::find(prompts, &prompt.name)?;
            let known = prompt.args.iter().map(|arg| arg.name).collect();
            let session = || request.context.as_ref()?.get_argument("session_id").cloned();
            let having = if NODES.contains(&prompt.name) { Having::Memory } else { Having::Records };
            let subject = match name {
                "session_id" => Subject::Session(having),
                "turn" => Subject::Turn(session()),
                "layout" => Subject::Word(&["seed", "cache"]),
                _ => Subject::Anything,
            };
            (known, subject)
        }
        Reference::Resource(resource) => {
            let Some(template) = templates.iter().find(|template| template.uri == resource.uri) else {
                let uri = preview(&resource.uri, 80).escape_debug().to_string();
                let message =
                    format!("ref.uri: no template `{uri}`; resources/templates/list names those there are");
                return Err(ErrorData::invalid_params(message, None));
            };
            match (template.uri, name) {
                ("cairn://session/{id}/tree", "id") => (vec!["id"], Subject::Session(Having::Thoughts)),
                ("cairn://session/{id}/brief/{node}", "id") => (vec!["id"], Subject::Session(Having::Memory)),
                ("cairn://session/{id}/brief/{node}", _) => (vec!["id", "node"], Subject::Word(NODES)),
                ("cairn://roadmap/{id}", "id") => (vec!["id"], Subject::Roadmap),
                _ => (vec!["id"], Subject::Anything),
            }
        }
        _ => return Err(ErrorData::invalid_params("ref.type: must be ref/prompt or ref/resource", None)),
    };
    if known.contains(&name) {
        return Ok(subject);
    }
    let name = preview(name, 80).escape_debug().to_string();
    let message = format!("argument.name: no argument `{name}`; there are {}", known.join(", "));
    Err(ErrorData::invalid_params(message, None))
}

/// The values that begin with what was typed, the likeliest first.
pub fn values(cairn: &Cairn, subject: Subject, typed: &str) -> Result<CompletionInfo, Failure> {
    let all: Vec<String> = match subject {
        Subject::Session(having) => {
            let sessions = cairn.session_list(Some(SESSIONS))?.into_iter().filter(|session| match having {
                Having::Records => true,
                Having::Thoughts => session.thoughts > 0,
                Having::Memory => session.events > 0,
            });
            sessions.map(|session| session.session_id.to_string()).collect()
        }
        Subject::Turn(None) | Subject::Anything => Vec::new(),
        Subject::Turn(Some(session)) => {
            // Asked of the session itself: it may be older than those that are looked through.
            let turn = match cairn.session_state_newest(&session, None, Some(StatePart::Conversation), 1) {
                Ok(state) => state["turn"].as_u64().unwrap_or(0),
                Err(Error::NotFound { .. } | Error::Invalid(_)) => 0,
                Err(error) => return Err(error.into()),
            };
            (1..=turn).rev().map(|turn| turn.to_string()).collect()
        }
        Subject::Roadmap => {
            cairn.roadmaps().list()?.into_iter().map(|roadmap| roadmap.id.to_string()).collect()
        }
        Subject::Word(words) => words.iter().map(|word| word.to_string()).collect(),
    };
    let mut values: Vec<String> = all.into_iter().filter(|value| value.starts_with(typed)).collect();
    let total = values.len();
    values.truncate(CompletionInfo::MAX_VALUES);
    let more = total > values.len();
    CompletionInfo::with_pagination(values, Some(total as u32), more)
        .map_err(|message| Failure::new("HANDLER_ERROR", message))
}
