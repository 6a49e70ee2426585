//! What a request asks for, and what goes back.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use cairn::Cairn;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use maud::Markup;
use serde::Serialize;
use serde_json::json;

use super::{RequestId, Site, Who};
use crate::error::CliError;

pub(crate) type Body = BoxBody<Bytes, Infallible>;
pub(crate) type Reply = Response<Body>;

/// A request for a page or its JSON twin.
pub(crate) struct Asked {
    pub(crate) site: Arc<Site>,
    pub(crate) who: Who,
    pub(crate) id: RequestId,
    /// The name and port that the server was reached by, as the client wrote them: one of its own.
    pub(crate) host: String,
    /// As the client wrote it, without what follows a question mark.
    pub(crate) path: String,
    /// What stands in the places of the route's pattern.
    pub(crate) params: Vec<(&'static str, String)>,
    /// What follows the question mark.
    pub(crate) query: Vec<(String, String)>,
}

impl Asked {
    pub(crate) fn cairn(&self) -> &Cairn {
        &self.site.cairn
    }

    /// The address of the page, with what pages can be asked for after a question mark. Whatever else stands there may
    /// be a secret in the wrong place.
    pub(crate) fn address(&self) -> String {
        let known =
            |name: &str| super::offered().flat_map(|route| route.query).any(|(known, _)| *known == name);
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(self.query.iter().filter(|(name, _)| known(name)));
        match query.finish() {
            query if query.is_empty() => self.path.clone(),
            query => format!("{}?{query}", self.path),
        }
    }

    /// What stands in a place of the route's pattern.
    pub(crate) fn param(&self, name: &str) -> &str {
        let found = self.params.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| value.as_str()).unwrap_or_default()
    }

    /// The same, where it must be a whole number.
    pub(crate) fn param_number(&self, name: &str) -> Result<u64, CliError> {
        number(name, self.param(name))
    }

    /// What was given after the question mark; nothing if it is empty.
    pub(crate) fn query(&self, name: &str) -> Option<&str> {
        let found = self.query.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }

    /// The same, where it must be a whole number.
    pub(crate) fn query_number(&self, name: &str) -> Result<Option<u64>, CliError> {
        self.query(name).map(|value| number(name, value)).transpose()
    }
}

fn number(name: &str, value: &str) -> Result<u64, CliError> {
    value.parse().map_err(|_| CliError::refused(format!("{name}: must be a whole number, found `{value}`")))
}

/// A page and its JSON twin: the same data, shown in two ways.
pub(crate) trait Page {
    /// What it tells.
    type Data: Serialize;
    /// Reads it. Runs where waiting for the disk holds nobody up.
    fn read(asked: &Asked) -> Result<Self::Data, CliError>;
    /// Shows it to people.
    fn show(data: &Self::Data, asked: &Asked) -> Shown;
}

/// A page, without what is the same on all of them.
pub(crate) struct Shown {
    pub(crate) title: String,
    pub(crate) main: Markup,
    /// What makes it out of date.
    pub(crate) live: Live,
}

/// What the browser should watch while a page is open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Live {
    Nothing,
    /// Everything recorded.
    Log,
    /// What is recorded in one session.
    Session(String),
}

/// Something that could not be done, as it is told over HTTP.
pub(crate) struct Problem {
    pub(crate) status: StatusCode,
    /// In a box, since it is large and rare.
    pub(crate) error: Box<CliError>,
}

impl From<CliError> for Problem {
    fn from(error: CliError) -> Problem {
        let status = match error.code() {
            "NOT_FOUND" => StatusCode::NOT_FOUND,
            "FORBIDDEN" => StatusCode::FORBIDDEN,
            "BUSY" => StatusCode::SERVICE_UNAVAILABLE,
            "TOO_LARGE" => StatusCode::PAYLOAD_TOO_LARGE,
            "HANDLER_ERROR" | "DAMAGED" => StatusCode::INTERNAL_SERVER_ERROR,
            _ => StatusCode::BAD_REQUEST,
        };
        Problem::new(status, error)
    }
}

impl Problem {
    pub(crate) fn new(status: StatusCode, error: CliError) -> Problem {
        Problem { status, error: Box::new(error) }
    }

    /// For programs.
    pub(crate) fn json(&self, id: RequestId) -> Reply {
        let mut envelope = self.error.envelope();
        envelope["error"]["details"]["request"] = json!(id.to_string());
        json_reply(self.status, &envelope)
    }
}

/// A reply of this type.
pub(crate) fn reply(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> Reply {
    let mut reply = Response::new(Full::new(body.into()).boxed());
    *reply.status_mut() = status;
    if !kind.is_empty() {
        reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    }
    reply
}

/// A reply in JSON.
pub(crate) fn json_reply(status: StatusCode, value: &impl Serialize) -> Reply {
    match serde_json::to_vec(value) {
        Ok(body) => reply(status, "application/json", body),
        Err(_) => {
            reply(StatusCode::INTERNAL_SERVER_ERROR, "text/plain", "the answer cannot be written as JSON\n")
        }
    }
}
