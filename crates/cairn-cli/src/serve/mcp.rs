//! `/mcp`: the Model Context Protocol over streamable HTTP, both eras of it, and nothing kept between two requests.
//!
//! Before revision 2026-07-28 a client opens with `initialize`; since then each request says all there is to know, in
//! its body and once more in headers that those in between can read. A reply is one JSON message; only
//! `subscriptions/listen` is answered by a stream.

mod headers;

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{HeaderMap, Response, StatusCode};
use rmcp::RoleServer;
use rmcp::model::{
    ClientCapabilities, ClientJsonRpcMessage, ClientRequest, ErrorCode, ErrorData, GetExtensions, GetMeta,
    Implementation, InitializeRequestParams, ProtocolVersion, RequestId, ServerJsonRpcMessage, ServerResult,
};
use rmcp::service::serve_directly_with_ct;
use rmcp::transport::OneshotTransport;
use serde_json::json;
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::events::Watching;
use super::handle::Note;
use super::reply::{Problem, Reply, json_reply, reply};
use super::revoked::Until;
use super::{ClientName, Site, Who};
use crate::mcp::{AnsweredOnce, Change, Incoming, Permit, Server, read_message, write_message};

pub(super) const SESSION_ID: &str = "mcp-session-id";
/// Calls that are worked on at once; beyond that clients are told to come back.
const MOST_CALLS: usize = 1024;
/// A sign of life on a stream.
const SIGN_OF_LIFE: Duration = Duration::from_secs(15);

/// The protocol's one address.
pub(super) struct Endpoint {
    server: Arc<Server>,
    #[cfg(debug_assertions)]
    fixtures: Option<crate::mcp::WithFixtures>,
    room: Semaphore,
}

impl Endpoint {
    pub(super) fn new(server: Server) -> Endpoint {
        let server = Arc::new(server);
        Endpoint {
            #[cfg(debug_assertions)]
            fixtures: crate::mcp::WithFixtures::wanted(&server),
            server,
            room: Semaphore::new(MOST_CALLS),
        }
    }

    /// Tells those who listen what was recorded in a session, by whichever process; `None` if it may be in any.
    pub(super) fn changed(&self, session: Option<&str>, change: Change) {
        self.server.recorded(session, change);
    }

    /// Answers one message.
    pub(super) async fn answer(
        &self,
        headers: &HeaderMap,
        body: &[u8],
        who: Who,
        site: &Arc<Site>,
        note: &mut Note,
    ) -> Reply {
        if let Err((status, message)) = headers::acceptable(headers) {
            return refuse(status, None, ErrorData::invalid_request(message, None));
        }
        let Ok(_place) = self.room.try_acquire() else {
            let error = ErrorData::internal_error("too many calls at once; try again in a moment", None);
            return refuse(StatusCode::SERVICE_UNAVAILABLE, None, error);
        };
        let message = match read_message(body) {
            Incoming::Message(message) => *message,
            Incoming::Nothing => return reply(StatusCode::ACCEPTED, "", ""),
            Incoming::Answer(refusal) => {
                let status = if refusal.is_of_call() { StatusCode::OK } else { StatusCode::BAD_REQUEST };
                let modern =
                    headers::version(headers).is_some_and(|version| version >= ProtocolVersion::V_2026_07_28);
                return send(status, &mut refusal.into_message(modern));
            }
        };
        if let Err((id, error)) = headers::agree(headers, &message) {
            return refuse(StatusCode::BAD_REQUEST, id, error);
        }
        match message {
            ClientJsonRpcMessage::Request(request) if headers::is_gone(&request.request) => {
                let message = format!("{} is no method of this revision", headers::method(&request.request));
                let error = ErrorData::new(ErrorCode::METHOD_NOT_FOUND, message, None);
                refuse(StatusCode::NOT_FOUND, Some(request.id), error)
            }
            ClientJsonRpcMessage::Request(request) => {
                let client = match headers
                    .get(SESSION_ID)
                    .map(|id| ClientName::of_session(id.to_str().unwrap_or_default()))
                {
                    Some(None) => {
                        let error =
                            ErrorData::invalid_request("no such session; send initialize again", None);
                        return refuse(StatusCode::NOT_FOUND, Some(request.id), error);
                    }
                    Some(named) => named,
                    None => None,
                };
                self.request(request, client, headers, who, site, note).await
            }
            _ => reply(StatusCode::ACCEPTED, "", ""),
        }
    }

    async fn request(
        &self,
        mut request: rmcp::model::JsonRpcRequest<ClientRequest>,
        client: Option<ClientName>,
        headers: &HeaderMap,
        who: Who,
        site: &Arc<Site>,
        note: &mut Note,
    ) -> Reply {
        let began = Instant::now();
        let tool = match &request.request {
            ClientRequest::CallToolRequest(call) => self.server.tool_name(&call.params.name),
            _ => None,
        };
        note.what = Some(tool.unwrap_or(headers::known_method(&request.request)).to_string());
        let opening = match &request.request {
            ClientRequest::InitializeRequest(opening) => {
                Some(ClientName(opening.params.client_info.name.clone()))
            }
            _ => None,
        };
        let modern = request.request.get_meta().protocol_version().is_some()
            || matches!(request.request, ClientRequest::DiscoverRequest(_));
        let malformed = modern
            && !request.request.get_meta().missing_required_keys(&ProtocolVersion::V_2026_07_28).is_empty();
        let peer = peer(&request.request, client, headers);
        let extensions = request.request.extensions_mut();
        extensions.insert(Permit { scope: who.scope, agent: who.agent().map(str::to_string) });
        extensions.insert(AnsweredOnce);
        let watching = match request.request {
            ClientRequest::SubscriptionsListenRequest(_) => Some(site.events.watch_too(site).await),
            _ => None,
        };
        let (transport, mut answers) =
            OneshotTransport::<RoleServer>::new(ClientJsonRpcMessage::Request(request));
        // Whoever leaves before the answer need not be answered; what it had recorded stays recorded.
        let cancel = CancellationToken::new();
        let leaving = cancel.clone().drop_guard();
        self.begin(transport, peer, cancel);
        let Some(mut first) = answers.recv().await else {
            let error = ErrorData::internal_error("the server gave no answer", None);
            return refuse(StatusCode::INTERNAL_SERVER_ERROR, None, error);
        };
        if let Some(tool) = tool {
            site.metrics.called(tool, outcome(&first), began.elapsed());
        }
        match &first {
            ServerJsonRpcMessage::Response(_) | ServerJsonRpcMessage::Error(_) => {
                let status = if modern { modern_status(&first, malformed) } else { StatusCode::OK };
                let mut reply = send(status, &mut first);
                if let (Some(client), StatusCode::OK) = (opening, status)
                    && let Ok(id) = HeaderValue::from_str(&client.session_id())
                {
                    reply.headers_mut().insert(SESSION_ID, id);
                }
                reply
            }
            _ => streamed(first, answers, (leaving, watching), site.revoked.until(&who), site),
        }
    }
}

impl Endpoint {
    /// Has the request worked on. Its answers come through the transport.
    fn begin(
        &self,
        transport: OneshotTransport<RoleServer>,
        peer: InitializeRequestParams,
        cancel: CancellationToken,
    ) {
        #[cfg(debug_assertions)]
        if let Some(fixtures) = &self.fixtures {
            let running = serve_directly_with_ct(fixtures.clone(), transport, Some(peer), cancel);
            tokio::spawn(async move { running.waiting().await.ok() });
            return;
        }
        let running = serve_directly_with_ct(self.server.clone(), transport, Some(peer), cancel);
        tokio::spawn(async move { running.waiting().await.ok() });
    }
}

/// How a call ended, in a word.
fn outcome(answer: &ServerJsonRpcMessage) -> &'static str {
    match answer {
        ServerJsonRpcMessage::Response(response) => match &response.result {
            ServerResult::CallToolResult(result) if result.is_error == Some(true) => "refused",
            _ => "ok",
        },
        _ => "error",
    }
}

/// What is known of the client, as `initialize` would have told it.
fn peer(request: &ClientRequest, client: Option<ClientName>, headers: &HeaderMap) -> InitializeRequestParams {
    if let ClientRequest::InitializeRequest(opening) = request {
        return opening.params.clone();
    }
    let version = headers::version(headers).unwrap_or(ProtocolVersion::V_2025_03_26);
    let name = client.map(|client| client.0).unwrap_or_default();
    InitializeRequestParams::new(ClientCapabilities::default(), Implementation::new(name, ""))
        .with_protocol_version(version)
}

/// Since 2026-07-28 the status says what went wrong with the request itself.
fn modern_status(answer: &ServerJsonRpcMessage, malformed: bool) -> StatusCode {
    let ServerJsonRpcMessage::Error(error) = answer else { return StatusCode::OK };
    match error.error.code {
        ErrorCode::UNSUPPORTED_PROTOCOL_VERSION
        | ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY
        | ErrorCode::HEADER_MISMATCH => StatusCode::BAD_REQUEST,
        ErrorCode::INVALID_PARAMS if malformed => StatusCode::BAD_REQUEST,
        ErrorCode::METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
        _ => StatusCode::OK,
    }
}

fn refuse(status: StatusCode, id: Option<RequestId>, error: ErrorData) -> Reply {
    send(status, &mut ServerJsonRpcMessage::error(error, id))
}

/// A problem that kept a request from getting here, in the form in which agents read problems.
pub(super) fn problem(problem: &Problem, request: super::RequestId) -> Reply {
    let code =
        if problem.status.is_server_error() { ErrorCode::INTERNAL_ERROR } else { ErrorCode::INVALID_REQUEST };
    let data = json!({ "code": problem.error.code(), "details": { "request": request.to_string() } });
    let sentences = std::iter::once(problem.error.sentence()).chain(problem.error.hints().iter().cloned());
    let message = sentences.collect::<Vec<_>>().join("; ");
    refuse(problem.status, None, ErrorData::new(code, message, Some(data)))
}

fn send(status: StatusCode, message: &mut ServerJsonRpcMessage) -> Reply {
    if let ServerJsonRpcMessage::Error(error) = message
        && error.id.is_none()
    {
        // JSON-RPC: null, if the id could not be read. The SDK would leave it out.
        return json_reply(status, &json!({ "jsonrpc": "2.0", "id": null, "error": error.error }));
    }
    let mut body = Vec::new();
    match write_message(message, &mut body) {
        Ok(()) => reply(status, "application/json", body),
        Err(_) => {
            reply(StatusCode::INTERNAL_SERVER_ERROR, "text/plain", "the answer cannot be written as JSON\n")
        }
    }
}

/// Messages one after the other, until the client leaves or the server stops.
fn streamed(
    first: ServerJsonRpcMessage,
    answers: mpsc::Receiver<ServerJsonRpcMessage>,
    leaving: (DropGuard, Option<Watching>),
    until: Until,
    site: &Arc<Site>,
) -> Reply {
    let stopping = site.stopping.clone();
    // What leaves is dropped with the stream: the request is cancelled, and the log need not be looked at for it.
    let state = (Some(first), answers, leaving, until, stopping);
    let frames = stream::unfold(state, |(first, mut answers, leaving, mut until, stopping)| async move {
        let message = match first {
            Some(first) => Some(first),
            None => tokio::select! {
                () = stopping.cancelled() => return None,
                () = until.revoked() => return None,
                () = tokio::time::sleep(SIGN_OF_LIFE) => None,
                answer = answers.recv() => Some(answer?),
            },
        };
        let bytes = match message {
            None => Bytes::from_static(b": still here\n\n"),
            Some(mut message) => {
                let mut text = b"event: message\ndata: ".to_vec();
                write_message(&mut message, &mut text).ok()?;
                text.extend_from_slice(b"\n\n");
                Bytes::from(text)
            }
        };
        Some((Ok(Frame::data(bytes)), (None, answers, leaving, until, stopping)))
    });
    let mut reply = Response::new(StreamBody::new(frames).boxed());
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    reply.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    reply
}
