//! What a tool's function knows about the call it serves.
//!
//! Not the call's input. The one rule it keeps: a call that is over stays over.

use jackfield_api::ToolCallId;
use rmcp::RoleServer;
use rmcp::service::RequestContext;
use tokio_util::sync::CancellationToken;

/// The member of a call's `_meta` that names the model's tool call `[mcp/sdk_via_initialize]`.
const TOOL_CALL: &str = "claudecode/toolUseId";

/// A call of a tool. Clones are the same call.
///
/// A function that only awaits needs none of this: its future is dropped when the call is over. What the
/// function starts elsewhere (a thread, a task) can look here.
#[derive(Debug, Clone)]
pub struct ToolCall {
    tool_call_id: Option<ToolCallId>,
    over: CancellationToken,
}

impl ToolCall {
    pub(super) fn of(request: &RequestContext<RoleServer>) -> Self {
        let tool_call_id = request.meta.get(TOOL_CALL).and_then(|id| id.as_str()).map(Into::into);
        Self { tool_call_id, over: request.ct.clone() }
    }

    /// The tool call in the session's events, if the CLI said which it is.
    pub fn tool_call_id(&self) -> Option<&ToolCallId> {
        self.tool_call_id.as_ref()
    }

    /// Whether nobody waits for the result any more.
    pub fn is_over(&self) -> bool {
        self.over.is_cancelled()
    }

    /// Waits until the call is over: answered, interrupted, or the session has ended.
    pub async fn over(&self) {
        self.over.cancelled().await;
    }
}
