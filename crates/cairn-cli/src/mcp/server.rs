//! The MCP server: what it says about itself, and how a request reaches the tool, prompt or resource it asks for.

use std::collections::HashMap;
use std::sync::Arc;

use cairn::Cairn;
use cairn::core::preview::preview;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompleteResult,
    CustomRequest, CustomResult, ErrorCode, GetPromptRequestParams, GetPromptResponse, Implementation,
    InitializeRequestParams, InitializeResult, JsonObject, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams,
    ReadResourceResponse, ReadResourceResult, ServerCapabilities, ServerConfig, SubscribeRequestParams,
    SubscriptionFilter, Tool as Listed, UnsubscribeRequestParams,
};
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::args::{Given, nearest};
use super::completion;
use super::envelope::{self, Data, Failure};
use super::instructions::instructions;
use super::panics;
use super::permit::Permit;
use super::prompts::{self, Prompt};
use super::recorder::Recorder;
use super::requests::{METHODS, no_resource, require_first_page, require_version};
use super::resources::{self, AnsweredOnce, Change, MOST_WATCHED, Place, Template, Watchers};
use super::tools::{Call, Effect, Tool, renamed};
use crate::verifying::Verifications;

const UNWATCHED: &str = "only changes of cairn://session/{id}/tree and cairn://session/{id}/brief/{node} can be \
                         watched";

const NOT_PUSHED: &str = "over HTTP nothing can be told later to a client of a revision before 2026-07-28; call \
                          subscriptions/listen under that revision, or read the resource again";

/// Serves the tools over one database.
pub struct Server {
    cairn: Cairn,
    by_name: HashMap<&'static str, &'static Tool>,
    listed: Vec<Listed>,
    instructions: String,
    readers: Semaphore,
    writers: Semaphore,
    verifications: Arc<Verifications>,
    recorder: Recorder,
    prompts: Vec<&'static Prompt>,
    templates: Vec<&'static Template>,
    watchers: Watchers,
    /// Whether watchers are told right after a call of this server has recorded something.
    tells: bool,
}

/// So many calls read at once. More would not be faster: the library keeps as many connections open.
pub const READERS: usize = 4;
/// So many calls write something other than a thought at once: one reads its file while the other waits for the
/// disk. They have a count of their own, so that neither long readings hold them up nor they the readings.
pub const WRITERS: usize = 2;

impl Server {
    /// Offers `tools`. Must be called inside a runtime.
    pub fn new(cairn: Cairn, tools: &[&'static Tool]) -> Server {
        Server {
            verifications: Arc::new(Verifications::new(cairn.clone())),
            cairn,
            by_name: tools.iter().map(|tool| (tool.name, *tool)).collect(),
            listed: tools.iter().map(|tool| tool.listed()).collect(),
            instructions: instructions(tools),
            readers: Semaphore::new(READERS),
            writers: Semaphore::new(WRITERS),
            recorder: Recorder::new(),
            prompts: prompts::offered(tools),
            templates: resources::offered(tools),
            watchers: Watchers::default(),
            tells: true,
        }
    }

    /// The name of a tool, if it is offered.
    pub fn tool_name(&self, name: &str) -> Option<&'static str> {
        self.by_name.get(name).map(|tool| tool.name)
    }

    /// The verifications of this server, for others in the process to share.
    pub fn verifications(&self) -> Arc<Verifications> {
        self.verifications.clone()
    }

    /// Leaves it to others to say what was recorded, with [`Server::recorded`]: they see what other processes record.
    pub fn told_by_others(mut self) -> Server {
        self.tells = false;
        self
    }

    /// Tells everyone who watches a session, or any session, that something was recorded there. Must be called inside
    /// a runtime.
    pub fn recorded(&self, session: Option<&str>, change: Change) {
        self.watchers.changed(session, change);
    }

    fn tell(&self, session: &str, change: Change) {
        if self.tells {
            self.watchers.changed(Some(session), change);
        }
    }

    fn tool(&self, name: &str) -> Result<&'static Tool, ErrorData> {
        if let Some(tool) = self.by_name.get(name) {
            return Ok(tool);
        }
        let advice = match nearest(name, self.by_name.keys().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "tools/list names those there are".to_string(),
        };
        let name = preview(name, 80).escape_debug().to_string();
        Err(ErrorData::invalid_params(format!("no tool `{name}`; {advice}"), None))
    }

    async fn call(
        &self,
        tool: &'static Tool,
        mut arguments: JsonObject,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResult, Failure> {
        Permit::of(context).check(tool, &mut arguments)?;
        match tool.call {
            Call::Record(make, text) => {
                let thought = make(Given::read(tool.args, arguments), &|| client_name(context))?;
                let recorded = self.recorder.record(&self.cairn, thought).await;
                let recorded = recorded.ok_or_else(|| panics::internal(tool.name))?;
                let thought = recorded.map_err(|error| renamed(error, text))?;
                self.tell(thought.session_id.as_str(), Change::Thought);
                Ok(envelope::answer(Data::of(&thought)))
            }
            Call::Read(read) => self.call_blocking(tool, read, &self.readers, arguments, &context.ct).await,
            Call::Verify(scope, answer) => {
                let scope = scope(Given::read(tool.args, arguments))?;
                let report = tokio::select! {
                    biased;
                    () = context.ct.cancelled() => return Err(left(tool.name)),
                    report = self.verifications.report(scope) => report?,
                };
                Ok(envelope::answer(answer(&report)))
            }
            Call::Write(write, Effect::Event) => {
                let session =
                    ["session_id", "sessionId"].iter().find_map(|name| arguments.get(*name)?.as_str());
                let session = session.map(ToString::to_string);
                let answer = self.call_blocking(tool, write, &self.writers, arguments, &context.ct).await?;
                if let (Some(session), Some(false)) = (session, answer.is_error) {
                    self.tell(&session, Change::Event);
                }
                Ok(answer)
            }
            Call::Write(write, _) => {
                self.call_blocking(tool, write, &self.writers, arguments, &context.ct).await
            }
        }
    }

    async fn call_blocking(
        &self,
        tool: &'static Tool,
        work: fn(&Cairn, Given) -> Result<Data, Failure>,
        turns: &Semaphore,
        arguments: JsonObject,
        leaving: &CancellationToken,
    ) -> Result<CallToolResult, Failure> {
        let work = move |cairn: &Cairn| envelope::answer(work(cairn, Given::read(tool.args, arguments)));
        self.blocking(tool.name, turns, leaving, work).await
    }

    /// Does work that may take long and whose answer may be large, where it does not hold up what runs beside it. If the
    /// caller leaves before the work has begun, it never begins.
    async fn blocking<T: Send + 'static>(
        &self,
        name: &str,
        turns: &Semaphore,
        leaving: &CancellationToken,
        work: impl FnOnce(&Cairn) -> T + Send + 'static,
    ) -> Result<T, Failure> {
        let _turn = tokio::select! {
            biased;
            () = leaving.cancelled() => return Err(left(name)),
            turn = turns.acquire() => turn,
        };
        let (cairn, leaving) = (self.cairn.clone(), leaving.clone());
        let work = move || (!leaving.is_cancelled()).then(|| work(&cairn));
        let worked = tokio::task::spawn_blocking(work).await.map_err(|_| panics::internal(name))?;
        worked.ok_or_else(|| left(name))
    }

    /// What an address names, if it is one of those that are offered.
    fn place(&self, uri: &str) -> Option<Place> {
        Place::parse(uri).filter(|place| self.templates.iter().any(|template| template.set == place.set()))
    }

    fn watchable(&self, uri: &str) -> Option<Place> {
        self.place(uri).and_then(|_| Watchers::watchable(uri))
    }
}

/// The answer to a caller that has left, which nobody reads.
fn left(name: &str) -> Failure {
    Failure::new("HANDLER_ERROR", format!("{name} was cancelled before it was done"))
}

fn client_name(context: &RequestContext<RoleServer>) -> Option<String> {
    context.client_info().map(|client| client.name)
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let program = Implementation::new("cairn", env!("CARGO_PKG_VERSION")).with_title("Cairn");
        let mut capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_prompts()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_completions()
            .build();
        // What a client is told of, it asks for.
        if self.prompts.is_empty() {
            capabilities.prompts = None;
        }
        if self.templates.is_empty() {
            capabilities.resources = None;
        }
        if self.prompts.is_empty() && self.templates.is_empty() {
            capabilities.completions = None;
        }
        ServerConfig::new(capabilities)
            .with_server_info(program)
            .with_instructions(self.instructions.as_str())
    }

    async fn initialize(
        &self,
        mut request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let mut answer = self.negotiate_initialize(&request)?;
        if let (Some(AnsweredOnce), Some(resources)) =
            (context.extensions.get(), &mut answer.capabilities.resources)
        {
            resources.subscribe = None;
        }
        request.protocol_version = answer.protocol_version.clone();
        context.peer.set_peer_info(request);
        Ok(answer)
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        require_version(&context)?;
        require_first_page(request)?;
        Ok(ListToolsResult::with_all_items(self.listed.clone()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        require_version(&context)?;
        let tool = self.tool(&request.name)?;
        let arguments = request.arguments.unwrap_or_default();
        let outcome = panics::caught(tool.name, self.call(tool, arguments, &context)).await;
        Ok(outcome.unwrap_or_else(|failure| envelope::answer(Err(failure))).into())
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        require_version(&context)?;
        require_first_page(request)?;
        Ok(ListPromptsResult::with_all_items(self.prompts.iter().map(|prompt| prompt.listed()).collect()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        require_version(&context)?;
        let prompt = prompts::find(&self.prompts, &request.name)?;
        let arguments = request.arguments.unwrap_or_default();
        let built =
            self.blocking(prompt.name, &self.readers, &context.ct, move |cairn| prompt.get(cairn, arguments));
        Ok(built.await??.into())
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        require_version(&context)?;
        require_first_page(request)?;
        let templates = self.templates.clone();
        let listed = self.blocking("resources/list", &self.readers, &context.ct, move |cairn| {
            resources::list(cairn, &templates)
        });
        Ok(ListResourcesResult::with_all_items(listed.await??))
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        require_version(&context)?;
        require_first_page(request)?;
        let listed = self.templates.iter().map(|template| template.listed()).collect();
        Ok(ListResourceTemplatesResult::with_all_items(listed))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        require_version(&context)?;
        let uri = request.uri;
        let Some(place) = self.place(&uri) else {
            return Err(no_resource(
                &uri,
                "not an address of anything here; resources/templates/list says what they look like",
            ));
        };
        let read = {
            let uri = uri.clone();
            self.blocking("resources/read", &self.readers, &context.ct, move |cairn| {
                resources::read(cairn, place, &uri)
            })
        };
        match read.await? {
            Ok(contents) => Ok(ReadResourceResult::new(vec![contents]).into()),
            Err(failure) if ["NOT_FOUND", "INVALID_PARAMS"].contains(&failure.code) => {
                Err(no_resource(&uri, failure.message))
            }
            Err(failure) => Err(failure.into()),
        }
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        require_version(&context)?;
        if let Some(AnsweredOnce) = context.extensions.get() {
            return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, NOT_PUSHED, None));
        }
        let Some(place) = self.watchable(&request.uri) else {
            return Err(no_resource(&request.uri, UNWATCHED));
        };
        match self.watchers.subscribe(place, request.uri, context.peer) {
            true => Ok(()),
            false => {
                Err(ErrorData::invalid_params("uri: too many are subscribed to; unsubscribe some", None))
            }
        }
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        require_version(&context)?;
        self.watchers.unsubscribe(&request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        // What is accepted is told to the client. Of a list that is far too long it is nothing: the SDK compares every
        // address with every other.
        let uris =
            requested.resource_subscriptions.iter().filter(|uris| uris.len() <= MOST_WATCHED).flatten();
        let watched = uris.filter(|uri| self.watchable(uri).is_some()).cloned();
        Some(SubscriptionFilter::builder().resource_subscriptions(watched.collect::<Vec<String>>()).build())
    }

    async fn listen(&self, listener: SubscriptionContext) -> Result<(), ErrorData> {
        match self.watchers.listen(&listener).await {
            true => Ok(()),
            false => {
                let message =
                    "too many addresses are watched on this server; try again later, or watch fewer";
                Err(ErrorData::internal_error(message, None))
            }
        }
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        require_version(&context)?;
        let subject = completion::subject(&request, &self.prompts, &self.templates)?;
        let typed = request.argument.value;
        let values = self.blocking("completion/complete", &self.readers, &context.ct, move |cairn| {
            completion::values(cairn, subject, &typed)
        });
        Ok(CompleteResult::new(values.await??))
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = preview(&request.method, 80).escape_debug().to_string();
        if METHODS.contains(&request.method.as_str()) {
            return Err(ErrorData::invalid_params(format!("params: not as {method} expects them"), None));
        }
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("no method `{method}`"), None))
    }
}
