//! What a message says in its headers, and that its body says the same.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::header::{ACCEPT, CONTENT_TYPE};
use hyper::{HeaderMap, StatusCode};
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorCode, ErrorData, GetMeta, ProtocolVersion, RequestId,
};
use serde_json::Value;

const VERSION: &str = "mcp-protocol-version";
const METHOD: &str = "mcp-method";
const NAME: &str = "mcp-name";

type Refusal = (Option<RequestId>, ErrorData);

/// Refuses a request whose body or whose answer would be in another form.
pub fn acceptable(headers: &HeaderMap) -> Result<(), (StatusCode, &'static str)> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let (accepts, sends) = (text(ACCEPT), text(CONTENT_TYPE).trim().to_ascii_lowercase());
    if !["application/json", "text/event-stream"].iter().all(|kind| accepts.contains(kind))
        && accepts != "*/*"
    {
        let message = "Accept: must name both application/json and text/event-stream";
        return Err((StatusCode::NOT_ACCEPTABLE, message));
    }
    if sends.split(';').next().map(str::trim) != Some("application/json") {
        return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, "Content-Type: must be application/json"));
    }
    Ok(())
}

/// The revision that the headers name, if it is one that can be read.
pub fn version(headers: &HeaderMap) -> Option<ProtocolVersion> {
    let text = headers.get(VERSION)?.to_str().ok()?;
    serde_json::from_value(Value::String(text.to_string())).ok()
}

/// Checks that headers and body speak of the same revision, method and name.
pub fn agree(headers: &HeaderMap, message: &ClientJsonRpcMessage) -> Result<(), Refusal> {
    let given = one(headers, VERSION).map_err(|error| (None, error))?;
    let request = match message {
        ClientJsonRpcMessage::Request(request) => request,
        _ => return known(given).map_err(|error| (None, error)),
    };
    let id = || Some(request.id.clone());
    let told = |error: ErrorData| (id(), error);
    if let ClientRequest::InitializeRequest(opening) = &request.request {
        let asked = opening.params.protocol_version.as_str();
        if let Some(given) = given.filter(|given| *given != asked) {
            let message =
                format!("MCP-Protocol-Version: `{given}` is not the `{asked}` of params.protocolVersion");
            return Err(told(ErrorData::invalid_request(message, None)));
        }
        return match one(headers, METHOD).map_err(told)? {
            Some(method) if method != "initialize" => {
                Err(told(mismatch(format!("Mcp-Method: `{method}` is not the initialize of the body"))))
            }
            _ => Ok(()),
        };
    }
    let meta = request.request.get_meta();
    let modern = given.is_some_and(|given| given >= ProtocolVersion::V_2026_07_28.as_str());
    match (meta.protocol_version(), given) {
        (Some(_), None) => {
            return Err(told(mismatch(
                "MCP-Protocol-Version: must be given, as in params._meta".to_string(),
            )));
        }
        (Some(meta), Some(given)) if meta.as_str() != given => {
            return Err(told(mismatch(format!(
                "MCP-Protocol-Version: `{given}` is not the `{meta}` of params._meta"
            ))));
        }
        (Some(_), Some(_)) => {}
        (None, given) => {
            known(given).map_err(told)?;
            if modern || matches!(request.request, ClientRequest::DiscoverRequest(_)) {
                let missing = meta.missing_required_keys(&ProtocolVersion::V_2026_07_28).join(", ");
                let message = format!("params._meta: missing or not as expected: {missing}");
                return Err(told(ErrorData::invalid_params(message, None)));
            }
        }
    }
    if modern { standard(headers, &request.request).map_err(told) } else { Ok(()) }
}

/// Whether a request speaks a revision in which its method is no longer there.
pub fn is_gone(request: &ClientRequest) -> bool {
    let version = request.get_meta().protocol_version();
    version.is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
        && ["initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"]
            .contains(&method(request))
}

/// Since 2026-07-28 headers repeat the method, and the name of what is asked for.
fn standard(headers: &HeaderMap, request: &ClientRequest) -> Result<(), ErrorData> {
    let method = method(request);
    match one(headers, METHOD)? {
        None => return Err(mismatch("Mcp-Method: must be given".to_string())),
        Some(given) if given != method => {
            return Err(mismatch(format!("Mcp-Method: `{given}` is not the {method} of the body")));
        }
        Some(_) => {}
    }
    let named = match request {
        ClientRequest::CallToolRequest(call) => call.params.name.as_ref(),
        ClientRequest::GetPromptRequest(prompt) => prompt.params.name.as_str(),
        ClientRequest::ReadResourceRequest(read) => read.params.uri.as_str(),
        _ => return Ok(()),
    };
    match one(headers, NAME)? {
        None => Err(mismatch("Mcp-Name: must be given".to_string())),
        Some(given) if decoded(given).as_deref() != Some(named) => {
            Err(mismatch(format!("Mcp-Name: `{given}` is not what the body names")))
        }
        Some(_) => Ok(()),
    }
}

/// The value of a header that is given once at most.
fn one<'h>(headers: &'h HeaderMap, name: &str) -> Result<Option<&'h str>, ErrorData> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => match value.to_str() {
            Ok(value) => Ok(Some(value)),
            Err(_) => Err(mismatch(format!("{name}: must be plain text"))),
        },
        _ => Err(mismatch(format!("{name}: must be given once"))),
    }
}

/// A name that is no plain text stands in the header as base64.
fn decoded(value: &str) -> Option<String> {
    match value.strip_prefix("=?base64?").and_then(|value| value.strip_suffix("?=")) {
        None => Some(value.to_string()),
        Some(coded) => String::from_utf8(STANDARD.decode(coded).ok()?).ok(),
    }
}

fn known(version: Option<&str>) -> Result<(), ErrorData> {
    let all = ProtocolVersion::KNOWN_VERSIONS;
    match version.filter(|version| !all.iter().any(|known| known.as_str() == *version)) {
        None => Ok(()),
        Some(_) => {
            let names: Vec<&str> = all.iter().map(ProtocolVersion::as_str).collect();
            let message = format!("MCP-Protocol-Version: must be one of {}", names.join(", "));
            Err(ErrorData::invalid_request(message, None))
        }
    }
}

fn mismatch(message: String) -> ErrorData {
    ErrorData::new(ErrorCode::HEADER_MISMATCH, message, None)
}

/// The method of a request, as the client wrote it.
pub fn method(request: &ClientRequest) -> &str {
    request.method()
}

/// The method of a request, if it is one of the protocol's: any other is a word that the client chose.
pub fn known_method(request: &ClientRequest) -> &str {
    match request {
        ClientRequest::CustomRequest(_) => "other",
        known => known.method(),
    }
}
