//! The envelope of every tool's answer: `{ok: true, data}` or `{ok: false, error: {code, message, details}}`.

use std::io;

use cairn::core::canonical::write_string;
use cairn::core::preview::preview;
use cairn::{Error, Issue};
use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, ServerJsonRpcMessage, ServerResult};
use serde::Serialize;
use serde_json::{Map, Value, json};
use tokio::io::{AsyncWrite, AsyncWriteExt};

/// How many problems the message repeats; `details.issues` has all of them.
const TOLD: usize = 5;

/// Why a tool did not do what it was asked to.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// One of the codes that clients can rely on.
    pub code: &'static str,
    /// What was wrong, what was expected, what to do.
    pub message: String,
    /// The same for programs.
    pub details: Map<String, Value>,
}

impl Failure {
    /// A failure that the code and the message say all about.
    pub fn new(code: &'static str, message: impl Into<String>) -> Failure {
        Failure { code, message: message.into(), details: Map::new() }
    }

    /// The arguments are wrong, and here is how.
    pub fn invalid(issues: Vec<Issue>) -> Failure {
        let told = issues.iter().take(TOLD).map(|issue| match issue.path.as_str() {
            "" => issue.message.clone(),
            path => format!("{path}: {}", issue.message),
        });
        let mut message = told.collect::<Vec<_>>().join("; ");
        if issues.len() > TOLD {
            message.push_str(&format!("; and {} more", issues.len() - TOLD));
        }
        Failure { details: details(json!({ "issues": issues })), ..Failure::new("INVALID_PARAMS", message) }
    }

    /// More bytes than are allowed.
    pub fn too_large(field: &str, actual: usize, limit: usize) -> Failure {
        let message = format!("{field} has {actual} bytes, the limit is {limit}; shorten it or split it");
        Failure {
            details: details(json!({ "field": field, "actual": actual, "limit": limit })),
            ..Failure::new("TOO_LARGE", message)
        }
    }
}

fn details(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        let code = error.code();
        match error {
            Error::Invalid(issues) => Failure::invalid(issues),
            Error::TooLarge { field, actual, limit } => Failure::too_large(field, actual, limit),
            Error::AmbiguousLabel { ref candidates, .. } => {
                let candidates = details(json!({ "candidates": candidates }));
                Failure { details: candidates, ..Failure::new(code, error.to_string()) }
            }
            Error::BudgetTooSmall { budget, ref item, needed } => {
                let sizes = details(json!({ "item": item, "budget": budget, "needed": needed }));
                Failure { details: sizes, ..Failure::new(code, error.to_string()) }
            }
            Error::NotFound { what, id } => {
                let find = match what {
                    "context" => "find ids with context_history",
                    "roadmap" => "find ids with roadmap_list",
                    "session" => "call session_open first, or find ids with session_list",
                    "entity" => "find refs with session_state",
                    "brief" => "brief_build gives an id with store: true",
                    "checkpoint" => "log_checkpoint makes one",
                    "log entry" => "log_checkpoint tells how many there are",
                    _ => "find ids with thought_search or thought_record_list",
                };
                Failure::new(code, format!("no {what} `{}`; {find}", preview(&id, 80).escape_debug()))
            }
            Error::Damaged(ref damage) => {
                let message =
                    format!("{damage}; it is not shown. Run `cairn verify` to see what was changed");
                Failure { details: details(json!({ "seq": damage.seq })), ..Failure::new(code, message) }
            }
            Error::Uncovered { ref what } => Failure::new(
                code,
                format!("no checkpoint covers {what} yet; call log_checkpoint, then try again"),
            ),
            other => Failure::new(code, other.to_string()),
        }
    }
}

/// The same for what is no tool: such requests are answered with an error of the protocol.
impl From<Failure> for ErrorData {
    fn from(failure: Failure) -> ErrorData {
        let data = Some(json!({ "code": failure.code, "details": failure.details }));
        match failure.code {
            "HANDLER_ERROR" | "BUSY" | "DAMAGED" => ErrorData::internal_error(failure.message, data),
            _ => ErrorData::invalid_params(failure.message, data),
        }
    }
}

/// What a tool answered: the whole envelope, as it goes to the client.
pub struct Data(String);

impl Data {
    /// Renders a tool's data.
    pub fn of(data: &impl Serialize) -> Result<Data, Failure> {
        Data::with(|out| serde_json::to_writer(out, data).map_err(unwritable))
    }

    /// Renders the data that `write` appends as JSON.
    pub fn with(write: impl FnOnce(&mut Vec<u8>) -> Result<(), Failure>) -> Result<Data, Failure> {
        let mut envelope = br#"{"ok":true,"data":"#.to_vec();
        write(&mut envelope)?;
        envelope.push(b'}');
        Ok(Data(String::from_utf8(envelope).expect("serde_json writes UTF-8")))
    }
}

/// Says that JSON could not be written.
pub fn unwritable(_: serde_json::Error) -> Failure {
    Failure::new("HANDLER_ERROR", "the answer cannot be written as JSON")
}

/// Wraps what a tool answered.
///
/// Of a success the result holds the text alone: [`write`] repeats it as the structured content.
pub fn answer(outcome: Result<Data, Failure>) -> CallToolResult {
    match outcome {
        Ok(Data(envelope)) => {
            let mut result = CallToolResult::success(vec![ContentBlock::text(envelope)]);
            result.structured_content = Some(AS_TEXT);
            result
        }
        Err(Failure { code, message, details }) => CallToolResult::structured_error(json!({
            "ok": false,
            "error": { "code": code, "message": message, "details": details },
        })),
    }
}

/// Stands for structured content that is the same as the text. No envelope is null.
const AS_TEXT: Value = Value::Null;

/// Appends a message to `out`, with the structured content of an [`answer`] in its place.
pub fn write(message: &mut ServerJsonRpcMessage, out: &mut Vec<u8>) -> serde_json::Result<()> {
    let Some(text) = taken(message, 0) else { return serde_json::to_writer(out, message) };
    let frame = serde_json::to_string(message)?;
    let (before, between, after) = parts(&frame);
    out.reserve(frame.len() + 2 * text.len() + text.len() / 4);
    out.extend_from_slice(before.as_bytes());
    write_string(&text, out);
    out.extend_from_slice(between.as_bytes());
    out.extend_from_slice(text.as_bytes());
    out.extend_from_slice(after.as_bytes());
    Ok(())
}

/// The message around the text of an [`answer`], as JSON: before the text as a string, between both, and after the text as
/// structured content. Without its text the message is short, and both places are found at once.
fn parts(frame: &str) -> (&str, &str, &str) {
    let place = |mark: &str| frame.find(mark).expect("an answer has a text and structured content");
    let (text, structured) = (place(r#""text":"""#), place(r#""structuredContent":null"#));
    let (before, rest) = frame.split_at(text + r#""text":"#.len());
    let (between, after) = rest.split_at(structured + r#""structuredContent":"#.len() - before.len());
    (before, &between[r#""""#.len()..], &after["null".len()..])
}

/// An [`answer`] so long that it is written piece by piece.
pub struct LongAnswer {
    frame: String,
    text: String,
}

/// A text from this length on is not copied.
const LONG: usize = 256 << 10;
/// Bytes of a text that become part of a JSON string at a time.
const PIECE: usize = 64 << 10;

/// Takes a message that is a long answer apart.
pub fn long(message: &mut ServerJsonRpcMessage) -> serde_json::Result<Option<LongAnswer>> {
    let Some(text) = taken(message, LONG) else { return Ok(None) };
    Ok(Some(LongAnswer { frame: serde_json::to_string(message)?, text }))
}

impl LongAnswer {
    /// How many bytes it has at least.
    pub fn len(&self) -> usize {
        2 * self.text.len()
    }

    /// Writes it as one line.
    pub async fn write(&self, output: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
        let (before, between, after) = parts(&self.frame);
        output.write_all(before.as_bytes()).await?;
        output.write_all(b"\"").await?;
        let (mut rest, mut string) = (self.text.as_str(), Vec::new());
        while !rest.is_empty() {
            let mut end = rest.len().min(PIECE);
            while !rest.is_char_boundary(end) {
                end -= 1;
            }
            let (piece, more) = rest.split_at(end);
            rest = more;
            string.clear();
            write_string(piece, &mut string);
            output.write_all(&string[1..string.len() - 1]).await?;
        }
        output.write_all(b"\"").await?;
        output.write_all(between.as_bytes()).await?;
        output.write_all(self.text.as_bytes()).await?;
        output.write_all(after.as_bytes()).await?;
        output.write_all(b"\n").await
    }
}

/// Takes the text out of an [`answer`] that goes without structured content, if it has at least so many bytes.
fn taken(message: &mut ServerJsonRpcMessage, least: usize) -> Option<String> {
    let ServerJsonRpcMessage::Response(response) = message else { return None };
    let ServerResult::CallToolResult(result) = &mut response.result else { return None };
    match (&result.structured_content, &mut result.content[..]) {
        (Some(AS_TEXT), [ContentBlock::Text(text)]) if text.text.len() >= least => {
            Some(std::mem::take(&mut text.text))
        }
        _ => None,
    }
}

/// The schema of an envelope whose `data` has these members.
///
/// Only `ok` is required, since one schema must fit success and failure: some clients check both against it.
pub fn schema(members: &[&str]) -> JsonObject {
    let members: Map<String, Value> = members.iter().map(|name| (name.to_string(), json!({}))).collect();
    details(json!({
        "type": "object",
        "properties": {
            "ok": { "type": "boolean" },
            "data": { "type": "object", "properties": members },
            "error": { "type": "object" },
        },
        "required": ["ok"],
    }))
}

#[cfg(test)]
mod tests {
    use rmcp::model::RequestId;

    use super::*;

    fn envelope(error: Error) -> Value {
        let result = answer(Err(error.into()));
        assert_eq!(result.is_error, Some(true));
        let text = &result.content[0].as_text().unwrap().text;
        let structured = result.structured_content.unwrap();
        assert_eq!(serde_json::from_str::<Value>(text).unwrap(), structured);
        structured
    }

    #[test]
    fn a_success_is_written_as_text_and_as_structured_content() {
        let tricky = json!({ "text": "\"structuredContent\":null \\ \u{1} ü", "list": [1, { "a": null }] });
        let result = answer(Data::of(&tricky));
        let mut message =
            ServerJsonRpcMessage::response(ServerResult::CallToolResult(result), RequestId::Number(7));
        let mut line = b"what was there before ".to_vec();
        write(&mut message, &mut line).unwrap();
        let line = line.strip_prefix(b"what was there before ").unwrap();
        let written: Value = serde_json::from_slice(line).unwrap();
        let envelope = json!({ "ok": true, "data": tricky });
        assert_eq!(written["id"], 7);
        assert_eq!(written["result"]["structuredContent"], envelope);
        let text = written["result"]["content"][0]["text"].as_str().unwrap();
        assert_eq!(serde_json::from_str::<Value>(text).unwrap(), envelope);
        assert_eq!(written["result"]["isError"], false);
    }

    /// The pieces are cut between characters of several bytes, and next to escapes.
    #[tokio::test]
    async fn a_long_answer_is_written_as_a_short_one_is() {
        let tricky = "\"ü\\\u{1}€ structuredContent:null 🪨".repeat(20_000);
        let message = || {
            let result = answer(Data::of(&json!({ "list": [tricky, 1] })));
            ServerJsonRpcMessage::response(ServerResult::CallToolResult(result), RequestId::Number(7))
        };
        let mut expected = Vec::new();
        write(&mut message(), &mut expected).unwrap();
        expected.push(b'\n');
        let mut written = Vec::new();
        let long = long(&mut message()).unwrap().expect("it is long");
        long.write(&mut written).await.unwrap();
        assert!(written == expected, "{} bytes instead of {}", written.len(), expected.len());
        assert!(written.len() >= long.len());
    }

    #[test]
    fn every_problem_is_an_issue_and_the_first_ones_are_told() {
        let issues = (0..7).map(|n| Issue::new(format!("a{n}"), "is wrong")).collect();
        let found = envelope(Error::Invalid(issues));
        assert_eq!(found["error"]["details"]["issues"].as_array().unwrap().len(), 7);
        let message = found["error"]["message"].as_str().unwrap();
        assert!(message.starts_with("a0: is wrong; a1: is wrong"), "{message}");
        assert!(message.ends_with("a4: is wrong; and 2 more"), "{message}");
    }

    #[test]
    fn too_large_names_field_size_and_limit() {
        let found = envelope(Error::TooLarge { field: "content", actual: 9, limit: 5 });
        assert_eq!(found["error"]["code"], "TOO_LARGE");
        assert_eq!(found["error"]["details"], json!({ "field": "content", "actual": 9, "limit": 5 }));
    }

    #[test]
    fn what_a_program_needs_to_try_again_stands_in_the_details() {
        let candidates = vec!["gen_a_1".to_string(), "gen_a_2".to_string()];
        let found = envelope(Error::AmbiguousLabel { path: "ops[0]".into(), label: "A".into(), candidates });
        assert_eq!(found["error"]["code"], "AMBIGUOUS_LABEL");
        assert_eq!(found["error"]["details"], json!({ "candidates": ["gen_a_1", "gen_a_2"] }));
        let found = envelope(Error::BudgetTooSmall { budget: 5, item: "the task".into(), needed: 9 });
        assert_eq!(found["error"]["code"], "BUDGET_TOO_SMALL");
        assert_eq!(found["error"]["details"], json!({ "item": "the task", "budget": 5, "needed": 9 }));
    }

    #[test]
    fn what_no_checkpoint_covers_names_the_tool_that_makes_one() {
        let found = envelope(Error::Uncovered { what: "log entry 3".into() });
        assert_eq!(found["error"]["code"], "CONFLICT");
        let message = found["error"]["message"].as_str().unwrap();
        assert_eq!(message, "no checkpoint covers log entry 3 yet; call log_checkpoint, then try again");
    }

    #[test]
    fn what_is_not_found_is_named_and_the_way_to_it_told() {
        for (what, way) in [
            ("thought", "find ids with thought_search or thought_record_list"),
            ("context", "find ids with context_history"),
            ("roadmap", "find ids with roadmap_list"),
            ("session", "call session_open first, or find ids with session_list"),
            ("entity", "find refs with session_state"),
            ("brief", "brief_build gives an id with store: true"),
            ("checkpoint", "log_checkpoint makes one"),
        ] {
            let found = envelope(Error::NotFound { what, id: "x\n1".into() });
            let expected = format!("no {what} `x\\n1`; {way}");
            assert_eq!(found["error"], json!({ "code": "NOT_FOUND", "message": expected, "details": {} }));
        }
    }
}
