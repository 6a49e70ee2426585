//! The MCP server: what it says about itself, and how a call reaches its tool.

use std::collections::HashMap;

use cairn::Cairn;
use cairn::core::preview::preview;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CustomRequest, CustomResult, ErrorCode,
    Implementation, InitializeRequestParams, InitializeResult, JsonObject, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool as Listed,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use tokio::sync::Semaphore;

use super::args::{Given, nearest};
use super::envelope::{self, Data, Failure};
use super::instructions::instructions;
use super::panics;
use super::recorder::Recorder;
use super::tools::{Call, Tool, renamed};

/// Methods that exist; one that arrives as an unknown request had parameters nobody could read.
const METHODS: [&str; 5] = ["initialize", "server/discover", "tools/list", "ping", "completion/complete"];

/// Serves the tools over one database.
pub struct Server {
    cairn: Cairn,
    by_name: HashMap<&'static str, &'static Tool>,
    listed: Vec<Listed>,
    instructions: String,
    readers: Semaphore,
    writers: Semaphore,
    recorder: Recorder,
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
            cairn,
            by_name: tools.iter().map(|tool| (tool.name, *tool)).collect(),
            listed: tools.iter().map(|tool| tool.listed()).collect(),
            instructions: instructions(tools),
            readers: Semaphore::new(READERS),
            writers: Semaphore::new(WRITERS),
            recorder: Recorder::new(),
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
        arguments: JsonObject,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResult, Failure> {
        match tool.call {
            Call::Record(make, text) => {
                let thought = make(Given::read(tool.args, arguments), &|| client_name(context))?;
                let recorded = self.recorder.record(&self.cairn, thought).await;
                let recorded = recorded.ok_or_else(|| panics::internal(tool.name))?;
                let thought = recorded.map_err(|error| renamed(error, text))?;
                Ok(envelope::answer(Data::of(&thought)))
            }
            Call::Read(read) => self.call_blocking(tool, read, &self.readers, arguments).await,
            Call::Write(write, _) => self.call_blocking(tool, write, &self.writers, arguments).await,
        }
    }

    async fn call_blocking(
        &self,
        tool: &'static Tool,
        work: fn(&Cairn, Given) -> Result<Data, Failure>,
        turns: &Semaphore,
        arguments: JsonObject,
    ) -> Result<CallToolResult, Failure> {
        let _turn = turns.acquire().await;
        let cairn = self.cairn.clone();
        // It may take long, and its answer be large: neither must hold up the calls beside it.
        let work = move || envelope::answer(work(&cairn, Given::read(tool.args, arguments)));
        tokio::task::spawn_blocking(work).await.map_err(|_| panics::internal(tool.name))
    }
}

fn client_name(context: &RequestContext<RoleServer>) -> Option<String> {
    context.client_info().map(|client| client.name)
}

/// A client says which revision it speaks, once in `initialize` or in each request.
fn require_version(context: &RequestContext<RoleServer>) -> Result<(), ErrorData> {
    if context.meta.protocol_version().is_some() || context.peer.peer_info().is_some() {
        return Ok(());
    }
    let key = "io.modelcontextprotocol/protocolVersion";
    Err(ErrorData::invalid_params(
        format!("send initialize first, or name the revision in params._meta.{key}"),
        None,
    ))
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let program = Implementation::new("cairn", env!("CARGO_PKG_VERSION")).with_title("Cairn");
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(program)
            .with_instructions(self.instructions.as_str())
    }

    async fn initialize(
        &self,
        mut request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let answer = self.negotiate_initialize(&request)?;
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
        if request.is_some_and(|page| page.cursor.is_some()) {
            return Err(ErrorData::invalid_params(
                "cursor: the list has one page; leave the cursor out",
                None,
            ));
        }
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
