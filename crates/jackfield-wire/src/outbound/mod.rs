//! What the host may say to the CLI.
//!
//! A bad line ends the CLI, and some bad arguments silence it for ever (`control/all_subtypes_malformed`,
//! `process/stdin_invalid_json`). The rule: what can be built is accepted by the CLI; what was
//! recorded, misuse included, can still be decoded.

mod answer;
mod decode;
mod initialize;
mod mcp_server;
mod prompt;
mod request;

use std::collections::BTreeMap;

use serde::Serialize;

pub use answer::*;
pub use decode::{DecodedOutbound, OutboundMessage};
pub use initialize::*;
pub use mcp_server::*;
pub use prompt::*;
pub use request::*;

use crate::ids::{RequestId, SessionId, Uuid};
use crate::raw::Object;

/// One message of the host.
#[derive(Debug, Clone, PartialEq)]
pub enum Outbound {
    /// A prompt.
    User(Box<Prompt>),
    /// The host asks the CLI.
    ControlRequest(Box<HostControlRequest>),
    /// The host answers the CLI.
    ControlResponse(Box<HostControlResponse>),
    /// The host withdraws one of its requests.
    ControlCancelRequest {
        /// The request.
        request_id: RequestId,
    },
    /// Nothing; the host is alive.
    KeepAlive,
    /// New values for the few variables the CLI takes this way.
    UpdateEnvironmentVariables(EnvironmentUpdate),
    /// A shell command of the user; no turn, and the model does not see it.
    BashCommand(BashCommand),
    /// An assistant message put into the history [basic/assistant_and_system_on_stdin].
    Assistant(InjectedMessage),
    /// A system message put into the history.
    System(InjectedSystem),
}

/// A control request of the host.
#[derive(Debug, Clone, PartialEq)]
pub struct HostControlRequest {
    /// Comes back in the answer as it is.
    pub request_id: RequestId,
    /// What is asked.
    pub request: HostRequest,
}

/// A control response of the host.
#[derive(Debug, Clone, PartialEq)]
pub struct HostControlResponse {
    /// The CLI's request, exactly as it came.
    pub request_id: RequestId,
    /// The answer.
    pub outcome: HostOutcome,
}

/// New values for environment variables.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, serde::Deserialize)]
pub struct EnvironmentUpdate {
    /// The variables.
    pub variables: BTreeMap<String, String>,
    /// To have it answered.
    #[serde(default, skip_serializing_if = "RequestId::is_missing")]
    pub request_id: RequestId,
}

/// A shell command of the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, serde::Deserialize)]
pub struct BashCommand {
    /// The command.
    pub command: String,
    /// Where it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Its id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uuid: Option<Uuid>,
}

/// An assistant message put into the history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, serde::Deserialize)]
pub struct InjectedMessage {
    message: Object,
    /// Always null: only the main thread has a history that can be added to.
    #[serde(default)]
    parent_tool_use_id: (),
    #[serde(default)]
    session_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    uuid: Option<Uuid>,
}

impl InjectedMessage {
    /// This API message, with this id.
    pub fn new(message: Object, uuid: Option<Uuid>) -> Self {
        Self { message, parent_tool_use_id: (), session_id: String::new(), uuid }
    }

    /// The API message.
    pub fn message(&self) -> &Object {
        &self.message
    }

    /// The message's id.
    pub fn uuid(&self) -> Option<&Uuid> {
        self.uuid.as_ref()
    }
}

/// A system message put into the history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, serde::Deserialize)]
pub struct InjectedSystem {
    /// Its subtype.
    pub subtype: String,
    /// Its text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// The CLI's session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// The message's id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uuid: Option<Uuid>,
}

impl Outbound {
    /// A control request.
    pub fn request(request_id: impl Into<RequestId>, request: HostRequest) -> Self {
        Self::ControlRequest(Box::new(HostControlRequest { request_id: request_id.into(), request }))
    }

    /// A good answer to a request of the CLI.
    pub fn answer(request_id: RequestId, answer: HostAnswer) -> Self {
        Self::ControlResponse(Box::new(HostControlResponse {
            request_id,
            outcome: HostOutcome::Success(answer),
        }))
    }

    /// A refusal to answer a request of the CLI.
    pub fn refuse(request_id: RequestId, error: impl Into<String>) -> Self {
        let outcome = HostOutcome::Error { error: error.into() };
        Self::ControlResponse(Box::new(HostControlResponse { request_id, outcome }))
    }

    /// The line, without its newline and without any newline in it.
    pub fn encode(&self) -> String {
        let line = match self {
            Self::User(prompt) => tagged("type", "user", &**prompt),
            Self::ControlRequest(control) => {
                let id = tagged("type", "control_request", &Id { request_id: &control.request_id });
                let id = id.trim_end_matches('}');
                format!("{id},\"request\":{}}}", control.request.encode())
            }
            Self::ControlResponse(control) => {
                let response = control.outcome.encode(&control.request_id);
                format!(r#"{{"type":"control_response","response":{response}}}"#)
            }
            Self::ControlCancelRequest { request_id } => {
                tagged("type", "control_cancel_request", &Id { request_id })
            }
            Self::KeepAlive => r#"{"type":"keep_alive"}"#.to_owned(),
            Self::UpdateEnvironmentVariables(update) => {
                tagged("type", "update_environment_variables", update)
            }
            Self::BashCommand(command) => tagged("type", "bash_command", command),
            Self::Assistant(message) => tagged("type", "assistant", message),
            Self::System(message) => tagged("type", "system", message),
        };
        on_one_line(line)
    }
}

#[derive(Serialize)]
struct Id<'a> {
    #[serde(skip_serializing_if = "RequestId::is_missing")]
    request_id: &'a RequestId,
}

/// The JSON object of a value, with a tag in front.
fn tagged<T: Serialize + ?Sized>(name: &str, tag: &str, value: &T) -> String {
    tagged_text(name, tag, &json(value))
}

/// A JSON object's text, with a tag in front.
fn tagged_text(name: &str, tag: &str, object: &str) -> String {
    let members = object.trim_start().strip_prefix('{').unwrap_or("}").trim_start();
    let comma = if members.starts_with('}') { "" } else { "," };
    format!("{{\"{name}\":{}{comma}{members}", json(tag))
}

/// These types hold strings, numbers, raw JSON, and maps with string keys: nothing that could
/// fail to be written.
fn json<T: Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// Raw JSON may be spread over lines; between its tokens a newline is only white space, and inside
/// a string there is none.
fn on_one_line(line: String) -> String {
    if line.contains(['\n', '\r']) { line.replace(['\n', '\r'], " ") } else { line }
}
