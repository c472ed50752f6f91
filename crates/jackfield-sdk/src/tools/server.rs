//! The MCP server in front of a set of tools.
//!
//! Not a transport and not the tools. The one rule it keeps: a call ends with a result, or it was cancelled
//! and its function's future is gone.

use std::any::Any;
use std::borrow::Cow;
use std::panic::AssertUnwindSafe;

use futures_util::FutureExt as _;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, Implementation, InitializeRequestParams, InitializeResult,
    ListToolsResult, PaginatedRequestParams, ProtocolVersion, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};

use super::{ToolCall, ToolError, Tools};

/// The newest version of the protocol that the CLI speaks `[mcp/sdk_via_initialize]`.
const NEWEST: ProtocolVersion = ProtocolVersion::V_2025_11_25;

/// A set of tools as `rmcp` wants it.
#[derive(Debug)]
pub(super) struct Server {
    pub(super) tools: Tools,
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let mut info = ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_protocol_version(NEWEST)
            .with_server_info(Implementation::new(&self.tools.name, &self.tools.version));
        info.instructions.clone_from(&self.tools.instructions);
        info
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(ProtocolVersion::known_up_to(&NEWEST))
    }

    async fn initialize(
        &self,
        mut request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        let info = self.negotiate_initialize(&request)?;
        // Later answers take the form of this version: the one agreed on, not the one asked for.
        request.protocol_version = info.protocol_version.clone();
        context.peer.set_peer_info(request);
        Ok(info)
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let descriptions = self.tools.tools.iter().map(|tool| tool.description.clone());
        Ok(ListToolsResult::with_all_items(descriptions.collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = self.tools.find(&request.name) else {
            return Err(ErrorData::invalid_params(format!("there is no tool {}", request.name), None));
        };
        let call = ToolCall::of(&context);
        let arguments = request.arguments.unwrap_or_default();
        // The function itself may panic too, not only its future. What it leaves half done is its own.
        let running = AssertUnwindSafe(async { (tool.run)(arguments, call).await }).catch_unwind();
        let result = tokio::select! {
            // Nobody reads this answer: `rmcp` drops the answers of cancelled requests.
            () = context.ct.cancelled() => return Err(ErrorData::internal_error("the call was cancelled", None)),
            result = running => result,
        };
        Ok(match result {
            Ok(Ok(output)) => output.into_result().into(),
            Ok(Err(error)) => error.into_result().into(),
            Err(panic) => {
                ToolError::new(format!("the tool panicked: {}", words(&*panic))).into_result().into()
            }
        })
    }
}

/// What a panic said.
fn words(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("it did not say why")
}
