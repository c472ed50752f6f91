//! The MCP server of one connection, as `rmcp` wants it.
//!
//! Not the tools and not the wire. The one rule it keeps: a call ends with an answer, or nobody waits for it any more
//! and what it had begun is taken back.

use std::borrow::Cow;
use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CustomNotification, Implementation, InitializeRequestParams,
    InitializeResult, ListToolsResult, PaginatedRequestParams, ProtocolVersion, ServerCapabilities,
    ServerConfig,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use tokio_util::sync::CancellationToken;

use crate::connected::Guest;
use crate::diffs::Diffs;
use crate::tools::{Bench, Call, catalogue};

/// The newest version of the protocol that the CLI asks for [connect_and_selection].
const NEWEST: ProtocolVersion = ProtocolVersion::V_2025_11_25;

/// What answers one CLI.
#[derive(Debug)]
pub(crate) struct Handler {
    pub(crate) name: String,
    pub(crate) bench: Arc<Bench>,
    pub(crate) diffs: Diffs,
    pub(crate) guest: Guest,
    /// Cancelled when the connection ends.
    pub(crate) gone: CancellationToken,
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_protocol_version(NEWEST)
            .with_server_info(Implementation::new(&self.name, env!("CARGO_PKG_VERSION")))
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
        Ok(ListToolsResult::with_all_items(catalogue()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let call = Call::read(&request.name, request.arguments.unwrap_or_default())
            .map_err(|error| ErrorData::invalid_params(error.to_string(), None))?;
        // Nobody reads the answers to what was cancelled.
        let cancelled = || Err(ErrorData::internal_error("the call was cancelled", None));
        tokio::select! {
            () = context.ct.cancelled() => cancelled(),
            () = self.gone.cancelled() => cancelled(),
            result = self.bench.perform(call, &self.diffs) => Ok(result.into()),
        }
    }

    async fn on_custom_notification(
        &self,
        notification: CustomNotification,
        _context: NotificationContext<RoleServer>,
    ) {
        if notification.method == "ide_connected" {
            let process = notification.params.as_ref().and_then(|params| params["pid"].as_u64());
            self.guest.introduce(process.and_then(|process| u32::try_from(process).ok()));
        }
    }
}
