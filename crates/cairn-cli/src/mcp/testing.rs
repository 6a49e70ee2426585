//! Tools, prompts and resources, called without a client.

use cairn::Cairn;
use serde_json::{Value, json};

use super::args::Given;
use super::envelope::{Failure, answer};
use super::tools::{Call, Tool};
use super::{ToolSets, prompts, resources};

/// Every tool there is.
pub(crate) fn tools() -> Vec<&'static Tool> {
    "all,redact".parse::<ToolSets>().expect("both are sets of tools").tools()
}

/// The names of all prompts.
pub(crate) fn prompts() -> Vec<&'static str> {
    prompts::offered(&tools()).iter().map(|prompt| prompt.name).collect()
}

/// The templates of all resources.
pub(crate) fn templates() -> Vec<&'static str> {
    resources::TEMPLATES.iter().map(|template| template.uri).collect()
}

/// The answer of a tool, as its client gets it.
pub(crate) fn call(tool: &Tool, cairn: &Cairn, arguments: &Value) -> String {
    let given = Given::read(tool.args, arguments.as_object().cloned().unwrap_or_default());
    let outcome = match &tool.call {
        Call::Read(call) | Call::Write(call, _) => call(cairn, given),
        Call::Verify(scope, answer) => {
            scope(given).and_then(|scope| Ok(cairn.verify(&scope)?)).and_then(|report| answer(&report))
        }
        Call::Record(..) => panic!("{} records a thought", tool.name),
    };
    json!(answer(outcome)).to_string()
}

/// A prompt, filled in.
pub(crate) fn prompt(name: &str, cairn: &Cairn, arguments: &Value) -> String {
    let prompt = prompts::find(&prompts::offered(&tools()), name).expect("a prompt of that name");
    told(prompt.get(cairn, arguments.as_object().cloned().unwrap_or_default()).map(|got| json!(got)))
}

/// A resource, by its address.
pub(crate) fn resource(uri: &str, cairn: &Cairn) -> String {
    let place = resources::Place::parse(uri).expect("an address of a resource");
    told(resources::read(cairn, place, uri).map(|read| json!(read)))
}

/// The list of resources.
pub(crate) fn resource_list(cairn: &Cairn) -> String {
    let offered = resources::offered(&tools());
    told(resources::list(cairn, &offered).map(|list| json!(list)))
}

fn told(outcome: Result<Value, Failure>) -> String {
    match outcome {
        Ok(value) => value.to_string(),
        Err(failure) => format!("{}: {}", failure.code, failure.message),
    }
}
