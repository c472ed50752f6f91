//! The MCP server of one connection: the editor's tools, for one CLI.
//!
//! Not the tools and not the wire. The one rule it keeps: a call ends with an answer, or nobody waits for it any more
//! and what it had begun is taken back.

use std::sync::Arc;

use jackfield_workbench::Toolset;
use rmcp::model::{CallToolRequestParams, CallToolResult, CustomNotification, Implementation, Tool};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use tokio_util::sync::CancellationToken;

use crate::connected::Guest;
use crate::diffs::Diffs;
use crate::tools::{Bench, Call, catalogue};

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

impl Toolset for Handler {
    fn introduction(&self) -> Implementation {
        Implementation::new(&self.name, env!("CARGO_PKG_VERSION"))
    }

    fn catalogue(&self) -> Vec<Tool> {
        catalogue()
    }

    async fn call(
        &self,
        request: CallToolRequestParams,
        _context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResult, ErrorData> {
        let call = Call::read(&request.name, request.arguments.unwrap_or_default())
            .map_err(|error| ErrorData::invalid_params(error.to_string(), None))?;
        tokio::select! {
            () = self.gone.cancelled() => Err(ErrorData::internal_error("the connection has ended", None)),
            result = self.bench.perform(call, &self.diffs) => Ok(result),
        }
    }

    fn told(&self, notification: CustomNotification) {
        if notification.method == "ide_connected" {
            let process = notification.params.as_ref().and_then(|params| params["pid"].as_u64());
            self.guest.introduce(process.and_then(|process| u32::try_from(process).ok()));
        }
    }
}
