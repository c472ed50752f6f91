//! An MCP server that has tools and nothing else, whatever they are and however its messages come.
//!
//! Neither the tools nor a transport: `rmcp` brings those, and its types are the ones here. The one rule it keeps: a
//! call ends with a result, or it was cancelled and its future is gone.

use std::borrow::Cow;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CustomNotification, Implementation,
    InitializeRequestParams, InitializeResult, ListToolsResult, PaginatedRequestParams, ProtocolVersion,
    ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};

/// The newest version of the protocol that the CLI speaks `[mcp/sdk_via_initialize]` `[ide/connect_and_selection]`.
const NEWEST: ProtocolVersion = ProtocolVersion::V_2025_11_25;

/// Tools that are offered over MCP.
pub trait Toolset: Send + Sync + 'static {
    /// Who offers them.
    fn introduction(&self) -> Implementation;

    /// What the model is told about all of them.
    fn instructions(&self) -> Option<String> {
        None
    }

    /// What is told of each.
    fn catalogue(&self) -> Vec<Tool>;

    /// Calls one. The future is dropped when nobody waits for the result any more.
    fn call(
        &self,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<CallToolResult, ErrorData>> + Send;

    /// The client has told something that is not of the protocol.
    fn told(&self, notification: CustomNotification) {
        drop(notification);
    }
}

/// A set of tools as `rmcp` wants it.
#[derive(Debug)]
pub struct ToolServer<T>(pub T);

impl<T: Toolset> ServerHandler for ToolServer<T> {
    fn get_info(&self) -> ServerConfig {
        let mut info = ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_protocol_version(NEWEST)
            .with_server_info(self.0.introduction());
        info.instructions = self.0.instructions();
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
        Ok(ListToolsResult::with_all_items(self.0.catalogue()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        tokio::select! {
            // Nobody reads this answer: `rmcp` drops the answers of cancelled requests.
            () = context.ct.cancelled() => Err(ErrorData::internal_error("the call was cancelled", None)),
            result = self.0.call(request, &context) => Ok(result?.into()),
        }
    }

    async fn on_custom_notification(
        &self,
        notification: CustomNotification,
        _context: NotificationContext<RoleServer>,
    ) {
        self.0.told(notification);
    }
}
