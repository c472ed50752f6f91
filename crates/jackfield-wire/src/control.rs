//! The CLI's control messages: its requests, its answers, its withdrawals.
//!
//! The host's own requests and answers are in `outbound`. The rule: a request that is not
//! understood still yields its id, because the CLI waits for an answer for ever.

use serde::{Deserialize, Deserializer};

use crate::hook_input::HookInput;
use crate::ids::{CallbackId, RequestId, SessionId, ToolUseId, Uuid};
use crate::lenient;
use crate::permission::PermissionUpdate;
use crate::raw::Raw;

/// The CLI asks the host.
#[derive(Debug, Clone, PartialEq)]
pub struct ControlRequest {
    /// To be echoed in the answer as it is.
    pub request_id: RequestId,
    /// What it asks.
    pub request: CliRequest,
}

/// What the CLI asks.
#[derive(Debug, Clone, PartialEq)]
pub enum CliRequest {
    /// May this tool run?
    CanUseTool(Box<CanUseTool>),
    /// Run a hook callback.
    HookCallback(Box<HookCallback>),
    /// A JSON-RPC message for an in-process MCP server.
    McpMessage(Box<McpMessage>),
    /// An MCP server asks the user.
    Elicitation(Box<Elicitation>),
    /// Show a dialog the host said it supports.
    RequestUserDialog(Box<RequestUserDialog>),
    /// Give a fresh OAuth token (not for local hosts).
    OauthTokenRefresh,
    /// Give a fresh host token (not for local hosts).
    HostAuthTokenRefresh,
}

impl CliRequest {
    /// Reads the request of that subtype; `None` when the subtype is unknown.
    pub(crate) fn read(subtype: &str, text: &str) -> Option<Result<Self, serde_json::Error>> {
        Some(match subtype {
            "can_use_tool" => serde_json::from_str(text).map(Self::CanUseTool),
            "hook_callback" => serde_json::from_str(text).map(Self::HookCallback),
            "mcp_message" => serde_json::from_str(text).map(Self::McpMessage),
            "elicitation" => serde_json::from_str(text).map(Self::Elicitation),
            "request_user_dialog" => serde_json::from_str(text).map(Self::RequestUserDialog),
            "oauth_token_refresh" => Ok(Self::OauthTokenRefresh),
            "host_auth_token_refresh" => Ok(Self::HostAuthTokenRefresh),
            _ => return None,
        })
    }
}

/// May this tool run?
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct CanUseTool {
    /// The tool.
    pub tool_name: String,
    /// Its input, unread; must be sent back (changed or not) to allow the call.
    pub input: Raw,
    /// The call.
    pub tool_use_id: Option<ToolUseId>,
    /// The tool's name to show.
    pub display_name: Option<String>,
    /// A title to show (newer CLIs).
    pub title: Option<String>,
    /// What the call does, in the model's words.
    pub description: Option<String>,
    /// Rules the CLI offers to remember.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub permission_suggestions: Vec<PermissionUpdate>,
    /// The path that is out of bounds.
    pub blocked_path: Option<String>,
    /// Why it is asked.
    pub decision_reason: Option<String>,
    /// What kind of reason: `rule`, `mode`, `safetyCheck`, `workingDir`, `hook`, …
    pub decision_reason_type: Option<String>,
    /// Whether a classifier could have decided.
    pub classifier_approvable: Option<bool>,
    /// The subagent that asks.
    pub agent_id: Option<String>,
    /// Whether "always allow" must not be offered (newer CLIs).
    pub suppress_always_allow_rule: Option<bool>,
    /// Whether "no" is to be the default (newer CLIs).
    pub default_to_no: Option<bool>,
    /// The rule that asks, unread (newer CLIs).
    pub matched_ask_rule: Option<Raw>,
    /// The MCP server the tool belongs to, unread (newer CLIs).
    pub mcp_server: Option<Raw>,
    /// Whether only a person can answer (newer CLIs).
    pub requires_user_interaction: Option<bool>,
}

/// Run a hook callback.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct HookCallback {
    /// The callback the host registered.
    pub callback_id: CallbackId,
    /// What happened.
    pub input: HookInput,
    /// The call it is about; an unrelated uuid for events without one.
    pub tool_use_id: Option<ToolUseId>,
}

/// A JSON-RPC message for an in-process MCP server.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct McpMessage {
    /// The server.
    pub server_name: String,
    /// The message, unread; notifications are answered too.
    pub message: Raw,
}

/// An MCP server asks the user.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Elicitation {
    /// The server.
    pub mcp_server_name: String,
    /// What it asks.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub message: String,
    /// `form` or `url`.
    pub mode: Option<String>,
    /// The address to open.
    pub url: Option<String>,
    /// The elicitation.
    pub elicitation_id: Option<String>,
    /// The answer's JSON Schema, unread.
    pub requested_schema: Option<Raw>,
    /// The order of the schema's properties, unread (newer CLIs).
    pub property_order: Option<Raw>,
    /// A title to show (newer CLIs).
    pub title: Option<String>,
}

/// Show a dialog the host said it supports.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct RequestUserDialog {
    /// Which dialog.
    pub dialog_kind: String,
    /// What to show, unread.
    pub payload: Option<Raw>,
    /// The call it is about.
    pub tool_use_id: Option<ToolUseId>,
}

/// The CLI answers the host. With `--replay-user-messages` the host's own answers come back here.
#[derive(Debug, Clone, PartialEq)]
pub struct ControlResponse {
    /// The request it answers.
    pub request_id: RequestId,
    /// The answer.
    pub outcome: ControlOutcome,
}

/// An answer.
#[derive(Debug, Clone, PartialEq)]
pub enum ControlOutcome {
    /// It was done.
    Success(Box<ControlSuccess>),
    /// It was not.
    Error {
        /// Why.
        error: String,
        /// The kind of error (newer CLIs).
        error_code: Option<String>,
    },
}

/// A success, with its payload.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ControlSuccess {
    /// The payload; requests without one have no such field.
    pub response: Option<Raw>,
    /// Permissions still to be answered, unread; with `initialize`.
    pub pending_permission_requests: Vec<Raw>,
    /// Dialogs still to be answered, unread; with `initialize`.
    pub pending_user_dialog_requests: Vec<Raw>,
    /// Elicitations still to be answered, unread; with `initialize` (newer CLIs).
    pub pending_elicitation_requests: Vec<Raw>,
}

impl<'de> Deserialize<'de> for ControlResponse {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Line {
            response: Body,
        }
        #[derive(Deserialize)]
        struct Body {
            subtype: String,
            #[serde(default)]
            request_id: RequestId,
            #[serde(default, deserialize_with = "lenient::present")]
            response: Option<Raw>,
            error: Option<String>,
            error_code: Option<String>,
            #[serde(default, deserialize_with = "lenient::or_default")]
            pending_permission_requests: Vec<Raw>,
            #[serde(default, deserialize_with = "lenient::or_default")]
            pending_user_dialog_requests: Vec<Raw>,
            #[serde(default, deserialize_with = "lenient::or_default")]
            pending_elicitation_requests: Vec<Raw>,
        }
        let body = Line::deserialize(deserializer)?.response;
        let outcome = match body.subtype.as_str() {
            "success" => ControlOutcome::Success(Box::new(ControlSuccess {
                response: body.response,
                pending_permission_requests: body.pending_permission_requests,
                pending_user_dialog_requests: body.pending_user_dialog_requests,
                pending_elicitation_requests: body.pending_elicitation_requests,
            })),
            "error" => {
                ControlOutcome::Error { error: body.error.unwrap_or_default(), error_code: body.error_code }
            }
            other => {
                return Err(serde::de::Error::custom(format_args!(
                    "unknown control response subtype `{other}`"
                )));
            }
        };
        Ok(Self { request_id: body.request_id, outcome })
    }
}

/// The CLI withdraws one of its requests.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ControlCancelRequest {
    /// The request.
    #[serde(default)]
    pub request_id: RequestId,
    /// The CLI's session.
    pub session_id: Option<SessionId>,
    /// This line's id.
    pub uuid: Option<Uuid>,
}
