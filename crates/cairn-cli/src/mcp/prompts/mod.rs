//! Prompts: texts that a person or a program picks by name, filled in from what is recorded.

mod decision;
pub mod node;

use cairn::Cairn;
use cairn::core::preview::preview;
use rmcp::ErrorData;
use rmcp::model::{
    GetPromptResult, JsonObject, MetaObject, Prompt as Listed, PromptArgument, PromptMessage, Role,
};
use serde_json::Value;

use super::args::{Arg, Given, nearest};
use super::envelope::Failure;
use super::sets::Set;
use super::tools::Tool;

/// All there are. No two have the same name.
static PROMPTS: [&Prompt; 5] =
    [&node::UNDERSTAND, &node::THINK, &node::ACT, &node::REPLY, &decision::RECORD_DECISION];

/// What a client can ask for by name.
pub struct Prompt {
    /// By which name.
    pub name: &'static str,
    /// What people see.
    pub title: &'static str,
    /// What it is good for.
    pub description: &'static str,
    /// The tools it belongs to: without them it is not offered.
    set: Set,
    /// What it takes. Clients send texts only.
    pub args: &'static [Arg],
    /// Writes it.
    build: fn(&Cairn, &'static str, Given) -> Result<Built, Failure>,
}

/// A prompt that was filled in.
struct Built {
    text: String,
    meta: Option<MetaObject>,
}

/// The prompts for a client that is offered these tools.
pub fn offered(tools: &[&Tool]) -> Vec<&'static Prompt> {
    PROMPTS.into_iter().filter(|prompt| prompt.set.is_among(tools)).collect()
}

/// The prompt with this name, or what is wrong with the name.
pub fn find(prompts: &[&'static Prompt], name: &str) -> Result<&'static Prompt, ErrorData> {
    let names = || prompts.iter().map(|prompt| prompt.name);
    if let Some(prompt) = prompts.iter().find(|prompt| prompt.name == name) {
        return Ok(prompt);
    }
    let advice = match nearest(name, names()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("there are {}", names().collect::<Vec<_>>().join(", ")),
    };
    let name = preview(name, 80).escape_debug().to_string();
    Err(ErrorData::invalid_params(format!("no prompt `{name}`; {advice}"), None))
}

impl Prompt {
    /// As it stands in the list.
    pub fn listed(&self) -> Listed {
        let argument =
            |arg: &Arg| PromptArgument::new(arg.name).with_description(arg.about).with_required(arg.required);
        Listed::new(self.name, Some(self.description), Some(self.args.iter().map(argument).collect()))
            .with_title(self.title)
    }

    /// Fills it in.
    pub fn get(&self, cairn: &Cairn, mut arguments: JsonObject) -> Result<GetPromptResult, Failure> {
        // Forms send an empty text for what was not filled in.
        arguments.retain(|_, value| *value != Value::String(String::new()));
        let built = (self.build)(cairn, self.name, Given::read(self.args, arguments))?;
        let message = PromptMessage::new_text(Role::User, built.text);
        let mut result = GetPromptResult::new(vec![message]).with_description(self.description);
        result.meta = built.meta;
        Ok(result)
    }
}
