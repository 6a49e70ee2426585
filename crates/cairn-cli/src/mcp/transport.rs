//! MCP over standard input and output: one message a line.
//!
//! Unlike the transport of the SDK this one answers every request it cannot pass on: a line that is not JSON,
//! is too long, or holds what no record could hold. Its answers go the same way as all others, so none is lost.

use std::collections::HashSet;
use std::future::ready;
use std::io;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientJsonRpcMessage, ClientNotification,
    ClientRequest, ErrorCode, GetMeta, ProtocolVersion, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use serde_json::json;

use super::envelope;
use super::lines::{Line, Lines, MAX_LINE};
use super::message::{self, Incoming, Refusal};
use super::outbox::Outbox;
use super::stdio::{Input, Output};

/// So many requests are worked on at once; further ones wait in the pipe.
const MAX_IN_FLIGHT: usize = 1024;
/// How long, at the end of input, the server waits for the next of the calls still running to finish.
/// It is a day in unit tests, which hang if the server waits where it should not.
const LAST_CALLS: Duration = Duration::from_secs(if cfg!(test) { 24 * 3600 } else { 5 });

/// Lines in, lines out.
pub struct LineTransport {
    lines: Lines<Input>,
    outbox: Outbox,
    /// Requests passed on and not yet answered.
    in_flight: HashSet<RequestId>,
    /// Those among them that go on until they are cancelled.
    listening: HashSet<RequestId>,
    at_end: bool,
    /// The client speaks revision 2026-07-28 or later.
    modern: bool,
}

impl LineTransport {
    /// Must be called inside a runtime.
    pub fn new(input: Input, output: Output) -> LineTransport {
        LineTransport {
            lines: Lines::new(input, MAX_LINE),
            outbox: Outbox::new(output),
            in_flight: HashSet::new(),
            listening: HashSet::new(),
            at_end: false,
            modern: false,
        }
    }

    /// Returns the next message. May be dropped while it waits, and is, whenever an answer is ready.
    async fn next(&mut self) -> Option<ClientJsonRpcMessage> {
        while !self.outbox.is_gone() {
            if self.at_end {
                // Nobody listens any more, and would not say so.
                if let Some(id) = self.listening.iter().next().cloned() {
                    self.forget(&id);
                    return Some(cancellation(id));
                }
                // Everything that was asked gets its answer. Each answer ends this wait and starts it anew.
                if !self.in_flight.is_empty() {
                    tokio::time::sleep(LAST_CALLS).await;
                }
                return None;
            }
            if self.in_flight.len() >= MAX_IN_FLIGHT {
                self.outbox.gone().await;
                continue;
            }
            self.outbox.room().await;
            let line = tokio::select! {
                line = self.lines.next() => line,
                () = self.outbox.gone() => return None,
            };
            let incoming = match line {
                Ok(Line::Whole) => message::read(self.lines.bytes()),
                Ok(Line::TooLong(scanner, length)) => message::too_long(&scanner, length),
                Ok(Line::End) | Err(_) => {
                    self.at_end = true;
                    continue;
                }
            };
            let incoming = match incoming {
                Incoming::Message(message) => self.note(*message),
                other => other,
            };
            match incoming {
                Incoming::Message(message) => return Some(*message),
                Incoming::Answer(refusal) => self.answer(refusal),
                Incoming::Nothing => {}
            }
        }
        None
    }

    /// Keeps account of what must be answered.
    fn note(&mut self, message: ClientJsonRpcMessage) -> Incoming {
        match &message {
            ClientJsonRpcMessage::Request(request) => {
                if let Some(version) = request.request.get_meta().protocol_version() {
                    self.modern = version >= ProtocolVersion::V_2026_07_28;
                }
                if !self.in_flight.insert(request.id.clone()) {
                    let message = format!("id: {} is the id of a request that is still running", request.id);
                    let id = Some(request.id.clone());
                    return Incoming::Answer(Refusal::new(id, ErrorCode::INVALID_REQUEST, message));
                }
                if let ClientRequest::SubscriptionsListenRequest(_) = &request.request {
                    self.listening.insert(request.id.clone());
                }
            }
            ClientJsonRpcMessage::Notification(notification) => {
                // A cancelled request is not answered any more.
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    let id = id.clone();
                    self.forget(&id);
                }
            }
            _ => {}
        }
        Incoming::Message(Box::new(message))
    }

    /// There will be no answer to this any more, or there was one.
    fn forget(&mut self, id: &RequestId) {
        self.in_flight.remove(id);
        self.listening.remove(id);
    }

    fn answer(&mut self, refusal: Refusal) {
        // An error means that the client has left, which the loop above sees by itself.
        let _ = match refusal.into_message(self.modern) {
            // JSON-RPC: null, if the id could not be read. The SDK would leave it out.
            ServerJsonRpcMessage::Error(error) if error.id.is_none() => {
                self.outbox.put(&json!({ "jsonrpc": "2.0", "id": null, "error": error.error }))
            }
            mut message => self.outbox.put_with(|out| envelope::write(&mut message, out)),
        };
    }
}

/// What a client sends that no longer wants an answer.
fn cancellation(id: RequestId) -> ClientJsonRpcMessage {
    let params = CancelledNotificationParam::new(Some(id), None);
    let notification = ClientNotification::CancelledNotification(CancelledNotification::new(params));
    ClientJsonRpcMessage::notification(notification)
}

impl Transport<RoleServer> for LineTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        mut message: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let id = match &message {
            ServerJsonRpcMessage::Response(response) => Some(response.id.clone()),
            ServerJsonRpcMessage::Error(error) => error.id.clone(),
            _ => None,
        };
        if let Some(id) = id {
            self.forget(&id);
        }
        ready(match envelope::long(&mut message) {
            Ok(Some(answer)) => self.outbox.put_long(answer),
            Ok(None) => self.outbox.put_with(|out| envelope::write(&mut message, out)),
            Err(error) => Err(error.into()),
        })
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        self.next().await
    }

    async fn close(&mut self) -> io::Result<()> {
        self.outbox.close().await;
        Ok(())
    }
}
