//! The host's answers to the CLI's requests.
//!
//! Hook outputs are in `hook_output`. The rule: an allowed call carries its input and a denied one
//! its message, because older CLIs deny with a stack dump otherwise [permission/bash_deny_no_message].

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{json, tagged};
use crate::hook_output::HookOutput;
use crate::ids::{RequestId, ToolUseId};
use crate::permission::PermissionUpdate;
use crate::raw::{Object, Raw};
use crate::tag;

/// How a request of the CLI is answered.
#[derive(Debug, Clone, PartialEq)]
pub enum HostOutcome {
    /// With an answer.
    Success(HostAnswer),
    /// With a refusal.
    Error {
        /// Why.
        error: String,
    },
}

/// An answer.
#[derive(Debug, Clone, PartialEq)]
pub enum HostAnswer {
    /// To `can_use_tool`.
    Permission(PermissionAnswer),
    /// To `hook_callback`.
    Hook(Box<HookOutput>),
    /// To `mcp_message`.
    Mcp(McpAnswer),
    /// To `elicitation`.
    Elicitation(ElicitationAnswer),
    /// To `request_user_dialog`.
    Dialog(DialogAnswer),
}

/// May the tool run?
#[derive(Debug, Clone, PartialEq)]
pub enum PermissionAnswer {
    /// Yes.
    Allow(Allow),
    /// No.
    Deny(Deny),
}

/// The tool may run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Allow {
    /// The input to run with; `{}` means the model's own. Recorded answers without it are read as
    /// `{}`, which is what newer CLIs make of them; older ones deny.
    #[serde(default)]
    pub updated_input: Object,
    /// Rules to remember.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_permissions: Option<Vec<PermissionUpdate>>,
    /// The call.
    #[serde(rename = "toolUseID", skip_serializing_if = "Option::is_none")]
    pub tool_use_id: Option<ToolUseId>,
    /// What kind of decision it was (newer CLIs).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision_classification: Option<String>,
}

/// The tool may not run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Deny {
    message: String,
    /// Whether the turn ends too; the message is then lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interrupt: Option<bool>,
    /// The call.
    #[serde(rename = "toolUseID", skip_serializing_if = "Option::is_none")]
    pub tool_use_id: Option<ToolUseId>,
    /// What kind of decision it was (newer CLIs).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decision_classification: Option<String>,
}

impl Allow {
    /// With this input.
    pub fn new(updated_input: Object) -> Self {
        Self { updated_input, updated_permissions: None, tool_use_id: None, decision_classification: None }
    }
}

impl Deny {
    /// What the model is told when the person said nothing.
    pub const DEFAULT_MESSAGE: &'static str = "The user does not want this tool to run.";

    /// With this message for the model; an empty one is replaced by [`Self::DEFAULT_MESSAGE`].
    pub fn new(message: impl Into<String>) -> Self {
        let message = message.into();
        let message = if message.trim().is_empty() { Self::DEFAULT_MESSAGE.to_owned() } else { message };
        Self { message, interrupt: None, tool_use_id: None, decision_classification: None }
    }

    /// The message.
    pub fn message(&self) -> &str {
        &self.message
    }
}

/// An MCP server's reply; notifications get one too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpAnswer {
    /// The JSON-RPC reply.
    pub mcp_response: Object,
}

/// The user's reply to an MCP server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ElicitationAnswer {
    /// What the user did.
    pub action: ElicitationAction,
    /// What the user said, when accepting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<Object>,
}

/// What the user did with a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ElicitationAction {
    /// Answered it.
    Accept,
    /// Said no.
    Decline,
    /// Closed it.
    Cancel,
}

/// The user's reply to a dialog.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DialogAnswer {
    /// Answered.
    Completed {
        /// With what.
        result: Raw,
    },
    /// Closed.
    Cancelled,
}

impl HostOutcome {
    /// The response object.
    pub(super) fn encode(&self, request_id: &RequestId) -> String {
        #[derive(Serialize)]
        struct Body<'a> {
            #[serde(skip_serializing_if = "RequestId::is_missing")]
            request_id: &'a RequestId,
            #[serde(skip_serializing_if = "Option::is_none")]
            response: Option<Raw>,
            #[serde(skip_serializing_if = "Option::is_none")]
            error: Option<&'a str>,
        }
        match self {
            Self::Success(answer) => {
                let response = Raw::from_text(answer.encode()).ok();
                tagged("subtype", "success", &Body { request_id, response, error: None })
            }
            Self::Error { error } => {
                tagged("subtype", "error", &Body { request_id, response: None, error: Some(error) })
            }
        }
    }
}

impl HostAnswer {
    fn encode(&self) -> String {
        match self {
            Self::Permission(PermissionAnswer::Allow(allow)) => tagged("behavior", "allow", allow),
            Self::Permission(PermissionAnswer::Deny(deny)) => tagged("behavior", "deny", deny),
            Self::Hook(output) => json(output),
            Self::Mcp(answer) => json(answer),
            Self::Elicitation(answer) => json(answer),
            Self::Dialog(DialogAnswer::Completed { result }) => {
                format!(r#"{{"behavior":"completed","result":{}}}"#, result.get())
            }
            Self::Dialog(DialogAnswer::Cancelled) => r#"{"behavior":"cancelled"}"#.to_owned(),
        }
    }

    /// Reads a recorded answer. What it answers is not in the line, so its members must tell.
    pub fn read(raw: &RawValue) -> Result<Self, serde_json::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Refusal {
            // Misuse that the CLI still takes for a denial [permission/bash_deny_no_message].
            #[serde(default)]
            message: String,
            interrupt: Option<bool>,
            #[serde(rename = "toolUseID")]
            tool_use_id: Option<ToolUseId>,
            decision_classification: Option<String>,
        }
        #[derive(Deserialize)]
        struct Completed {
            result: Raw,
        }
        let text = raw.get();
        let [behavior, mcp_response, action] = tag::find(text, ["behavior", "mcp_response", "action"])?;
        if let Some(behavior) = behavior {
            return match &*tag::string(behavior)? {
                "allow" => Ok(Self::Permission(PermissionAnswer::Allow(serde_json::from_str(text)?))),
                "deny" => {
                    let refusal: Refusal = serde_json::from_str(text)?;
                    Ok(Self::Permission(PermissionAnswer::Deny(Deny {
                        message: refusal.message,
                        interrupt: refusal.interrupt,
                        tool_use_id: refusal.tool_use_id,
                        decision_classification: refusal.decision_classification,
                    })))
                }
                "completed" => Ok(Self::Dialog(DialogAnswer::Completed {
                    result: serde_json::from_str::<Completed>(text)?.result,
                })),
                "cancelled" => Ok(Self::Dialog(DialogAnswer::Cancelled)),
                other => Err(serde::de::Error::custom(format_args!("unknown behavior `{other}`"))),
            };
        }
        if mcp_response.is_some() {
            return serde_json::from_str(text).map(Self::Mcp);
        }
        if action.is_some() {
            return serde_json::from_str(text).map(Self::Elicitation);
        }
        serde_json::from_str(text).map(Self::Hook)
    }
}
