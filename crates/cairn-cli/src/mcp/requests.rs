//! What every request must say, and how one is refused that does not.

use cairn::core::preview::preview;
use rmcp::model::PaginatedRequestParams;
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::json;

/// Methods that exist; one that arrives as an unknown request had parameters nobody could read.
pub const METHODS: [&str; 13] = [
    "initialize",
    "server/discover",
    "tools/list",
    "ping",
    "completion/complete",
    "prompts/list",
    "prompts/get",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
    "subscriptions/listen",
];

/// A client says which revision it speaks, once in `initialize` or in each request.
pub fn require_version(context: &RequestContext<RoleServer>) -> Result<(), ErrorData> {
    if context.meta.protocol_version().is_some() || context.peer.peer_info().is_some() {
        return Ok(());
    }
    let key = "io.modelcontextprotocol/protocolVersion";
    Err(ErrorData::invalid_params(
        format!("send initialize first, or name the revision in params._meta.{key}"),
        None,
    ))
}

/// The lists are short enough for one page.
pub fn require_first_page(request: Option<PaginatedRequestParams>) -> Result<(), ErrorData> {
    match request.and_then(|page| page.cursor) {
        None => Ok(()),
        Some(_) => {
            Err(ErrorData::invalid_params("cursor: the list has one page; leave the cursor out", None))
        }
    }
}

pub fn no_resource(uri: &str, message: impl std::fmt::Display) -> ErrorData {
    let uri = preview(uri, 200);
    ErrorData::resource_not_found(format!("uri: {message}"), Some(json!({ "uri": uri })))
}
