//! One line from the client: a message to pass on, or a refusal to answer with.

use cairn::Issue;
use cairn::core::canonical::{self, JsonError};
use cairn::core::preview::preview;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientJsonRpcMessage, ClientRequest, ErrorCode, ErrorData,
    RequestId, RequestMetaObject, ServerJsonRpcMessage, ServerResult,
};
use serde_json::{Map, Value};

use super::envelope::{self, Failure};
use super::lines::MAX_LINE;
use super::scan::{Scanner, request_id};
use super::surrogates;

/// What a line comes to.
pub enum Incoming {
    /// A message for the handler.
    Message(Box<ClientJsonRpcMessage>),
    /// A refusal for the client.
    Answer(Refusal),
    /// Nothing to answer: a notification that cannot be read, a response to nothing.
    Nothing,
}

/// An answer that was given without asking the handler.
pub enum Refusal {
    /// A JSON-RPC error, for the request with this id if it could be read.
    Request(Option<RequestId>, ErrorData),
    /// The result of the tool call with this id.
    Call(RequestId, Failure),
}

impl Refusal {
    /// A JSON-RPC error.
    pub fn new(id: Option<RequestId>, code: ErrorCode, message: impl Into<String>) -> Refusal {
        Refusal::Request(id, ErrorData::new(code, message.into(), None))
    }

    /// Whether it is the result of a tool call.
    pub fn is_of_call(&self) -> bool {
        matches!(self, Refusal::Call(..))
    }

    /// As it goes to the client. `modern`: revision 2026-07-28 or later, in which results name their type.
    pub fn into_message(self, modern: bool) -> ServerJsonRpcMessage {
        match self {
            Refusal::Request(id, error) => ServerJsonRpcMessage::error(error, id),
            Refusal::Call(id, failure) => {
                let mut result = envelope::answer(Err(failure));
                if !modern {
                    result.result_type = None;
                }
                ServerJsonRpcMessage::response(ServerResult::CallToolResult(result), id)
            }
        }
    }
}

fn refuse(id: Option<RequestId>, code: ErrorCode, message: impl Into<String>) -> Incoming {
    Incoming::Answer(Refusal::new(id, code, message))
}

/// Reads a line.
pub fn read(line: &[u8]) -> Incoming {
    if line.is_empty() {
        return Incoming::Nothing;
    }
    let mut parsed = canonical::parse(line);
    if let Err(JsonError::Syntax { .. }) = parsed
        && let Some(replaced) = surrogates::replaced(line)
    {
        parsed = canonical::parse(&replaced);
    }
    match parsed {
        Ok(Value::Object(message)) => read_object(message),
        Ok(Value::Array(_)) => {
            let message = "batches are not supported; send each message as an object on a line of its own";
            refuse(None, ErrorCode::INVALID_REQUEST, message)
        }
        Ok(_) => refuse(None, ErrorCode::INVALID_REQUEST, "a message must be a JSON object"),
        Err(error) => unreadable(&Scanner::over(line), error),
    }
}

/// Answers a line that is longer than [`MAX_LINE`].
pub fn too_long(scanner: &Scanner, length: usize) -> Incoming {
    match (scanner.method(), scanner.id()) {
        (Some("tools/call"), Some(id)) => {
            Incoming::Answer(Refusal::Call(id, Failure::too_large("message", length, MAX_LINE)))
        }
        (Some(_), None) => Incoming::Nothing,
        (_, id) => {
            let message = format!("the message has {length} bytes, the limit is {MAX_LINE}");
            refuse(id, ErrorCode::INVALID_REQUEST, message)
        }
    }
}

fn unreadable(scanner: &Scanner, error: JsonError) -> Incoming {
    let id = scanner.id();
    let (path, message) = match error {
        JsonError::Syntax { column, message, .. } => {
            return refuse(id, ErrorCode::PARSE_ERROR, format!("not JSON: {message} at column {column}"));
        }
        JsonError::DuplicateKey { path } => (path, "must not be given twice".to_string()),
        JsonError::TooDeep { path, limit } => {
            (path, format!("is nested too deep: a message has at most {limit} levels"))
        }
        JsonError::NumberNotExact { path, number } => {
            let range = canonical::MAX_INTEGER;
            (path, format!("number {} is beyond ±{range}; write it as a text", preview(&number, 40)))
        }
    };
    match (scanner.method(), argument(&path), id) {
        (Some("tools/call"), Some(argument), Some(id)) => {
            let failure = Failure::invalid(vec![Issue::new(argument, message)]);
            Incoming::Answer(Refusal::Call(id, failure))
        }
        (Some(_), _, None) => Incoming::Nothing,
        (_, _, id) => {
            let code = if path.starts_with("params") {
                ErrorCode::INVALID_PARAMS
            } else {
                ErrorCode::INVALID_REQUEST
            };
            refuse(id, code, format!("{path}: {message}"))
        }
    }
}

/// The part of a path that stands inside the arguments of a call. A key that would be ambiguous in a path stands
/// in brackets and quotes.
fn argument(path: &str) -> Option<&str> {
    let inside = path.strip_prefix("params.arguments")?;
    inside.strip_prefix('.').or_else(|| inside.starts_with("[\"").then_some(inside))
}

fn read_object(mut message: Map<String, Value>) -> Incoming {
    let id = message.get("id").and_then(request_id);
    let invalid = |message: &str| refuse(id.clone(), ErrorCode::INVALID_REQUEST, message);
    if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return invalid("jsonrpc: must be \"2.0\"");
    }
    match (message.get("method"), message.contains_key("id"), &id) {
        (None, ..) if message.contains_key("result") || message.contains_key("error") => Incoming::Nothing,
        (None, ..) => invalid("method: must be given"),
        (Some(Value::String(_)), true, None) => invalid("id: must be a text or an integer"),
        (Some(Value::String(method)), true, Some(id)) if method == "tools/call" => {
            match read_call(message.remove("params")) {
                Ok(call) => Incoming::Message(Box::new(ClientJsonRpcMessage::request(call, id.clone()))),
                Err(message) => refuse(Some(id.clone()), ErrorCode::INVALID_PARAMS, message),
            }
        }
        (Some(Value::String(_)), true, _) if message.get("params").is_some_and(has_odd_cursor) => {
            refuse(id, ErrorCode::INVALID_PARAMS, "params.cursor: must be a text")
        }
        (Some(Value::String(_)), is_request, _) => match serde_json::from_value(Value::Object(message)) {
            Ok(message) => Incoming::Message(Box::new(message)),
            Err(_) if is_request => {
                refuse(id, ErrorCode::INVALID_PARAMS, "params: not as the method expects them")
            }
            Err(_) => Incoming::Nothing,
        },
        (Some(_), ..) => invalid("method: must be a text"),
    }
}

/// The SDK takes a cursor that is not a text for none, and would answer with the first page.
fn has_odd_cursor(params: &Value) -> bool {
    params.get("cursor").is_some_and(|cursor| !cursor.is_string() && !cursor.is_null())
}

/// Reads the one request that comes by the thousand. The general way tries every kind of request in turn, copies
/// the arguments for each try, and cannot tell arguments of the wrong type from an unknown method.
fn read_call(params: Option<Value>) -> Result<ClientRequest, String> {
    let Some(Value::Object(mut params)) = params else {
        return Err("params: must be an object with name and arguments".to_string());
    };
    let Some(Value::String(name)) = params.remove("name") else {
        return Err("params.name: must be the name of a tool".to_string());
    };
    let mut call = CallToolRequestParams::new(name);
    match params.remove("arguments") {
        None | Some(Value::Null) => {}
        Some(Value::Object(arguments)) => call = call.with_arguments(arguments),
        Some(other) => {
            return Err(format!(
                "params.arguments: must be an object, found {}",
                super::args::kind_of(&other)
            ));
        }
    }
    // What a client answers to a question of a tool. No tool asks one, but it must have its form.
    for (name, kept) in [("inputResponses", true), ("requestState", false)] {
        match params.remove(name) {
            None => {}
            Some(Value::Object(answers)) if kept => {
                call.input_responses = Some(answers.into_iter().collect())
            }
            Some(Value::String(state)) if !kept => call.request_state = Some(state),
            Some(other) => {
                let expected = if kept { "an object" } else { "a text" };
                let found = super::args::kind_of(&other);
                return Err(format!("params.{name}: must be {expected}, found {found}"));
            }
        }
    }
    let mut request = CallToolRequest::new(call);
    match params.remove("_meta") {
        None | Some(Value::Null) => {}
        Some(Value::Object(meta)) => drop(request.extensions.insert(RequestMetaObject::from(meta))),
        Some(_) => return Err("params._meta: must be an object".to_string()),
    }
    Ok(ClientRequest::CallToolRequest(request))
}
