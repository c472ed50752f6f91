//! What the host asks of the CLI.
//!
//! The answers are in `answers`. The rule: arguments whose absence or wrong kind silences the CLI
//! for ever are required here, and the way out for newer subtypes takes an object only.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::initialize::Initialize;
use super::mcp_server::McpServer;
use super::{tagged, tagged_text};
use crate::ids::{TaskId, ToolUseId, Uuid};
use crate::permission::PermissionMode;
use crate::raw::Object;

macro_rules! requests {
    (
        plain { $($(#[$plain_meta:meta])* $plain:ident = $plain_subtype:literal,)* }
        with_arguments { $($(#[$meta:meta])* $variant:ident($type:ty) = $subtype:literal,)* }
    ) => {
        /// What the host asks.
        #[derive(Debug, Clone, PartialEq)]
        pub enum HostRequest {
            $($(#[$plain_meta])* $plain,)*
            $($(#[$meta])* $variant($type),)*
            /// A request this version has no type for.
            Other(OtherRequest),
        }

        impl HostRequest {
            /// The subtype.
            pub fn subtype(&self) -> &str {
                match self {
                    $(Self::$plain => $plain_subtype,)*
                    $(Self::$variant(_) => $subtype,)*
                    Self::Other(request) => &request.subtype,
                }
            }

            /// The request object.
            pub(super) fn encode(&self) -> String {
                match self {
                    $(Self::$plain => tagged_text("subtype", $plain_subtype, "{}"),)*
                    $(Self::$variant(arguments) => tagged("subtype", $subtype, arguments),)*
                    Self::Other(request) => tagged_text("subtype", &request.subtype, request.arguments.get()),
                }
            }

            /// Reads the request of that subtype; `None` when there is no type for it.
            pub(super) fn read(subtype: &str, text: &str) -> Option<Result<Self, serde_json::Error>> {
                Some(match subtype {
                    $($plain_subtype => Ok(Self::$plain),)*
                    $($subtype => serde_json::from_str(text).map(Self::$variant),)*
                    _ => return None,
                })
            }

            fn has_type(subtype: &str) -> bool {
                matches!(subtype, $($plain_subtype)|* | $($subtype)|*)
            }
        }
    };
}

requests! {
    plain {
        /// Settings in effect.
        GetSettings = "get_settings",
        /// The CLI's version.
        GetBinaryVersion = "get_binary_version",
        /// The session's cost as text.
        GetSessionCost = "get_session_cost",
        /// The session's usage and limits.
        GetUsage = "get_usage",
        /// The models (newer CLIs).
        ListModels = "list_models",
        /// Load plugins again.
        ReloadPlugins = "reload_plugins",
        /// Load skills again.
        ReloadSkills = "reload_skills",
        /// Load output styles again (newer CLIs).
        ReloadOutputStyles = "reload_output_styles",
        /// The permission rules (newer CLIs).
        ListPermissionRules = "list_permission_rules",
        /// The hooks (newer CLIs).
        GetHooksListing = "get_hooks_listing",
        /// End the CLI.
        EndSession = "end_session",
    }
    with_arguments {
        /// What the host offers and wants.
        Initialize(Box<Initialize>) = "initialize",
        /// Stop the turn.
        Interrupt(Interrupt) = "interrupt",
        /// Change the permission mode.
        SetPermissionMode(SetPermissionMode) = "set_permission_mode",
        /// Change the model.
        SetModel(SetModel) = "set_model",
        /// Change the thinking budget.
        SetMaxThinkingTokens(SetMaxThinkingTokens) = "set_max_thinking_tokens",
        /// The MCP servers and how they are.
        McpStatus(McpStatus) = "mcp_status",
        /// Replace the MCP servers that were set this way.
        McpSetServers(McpSetServers) = "mcp_set_servers",
        /// A JSON-RPC message from an in-process MCP server.
        McpMessage(HostMcpMessage) = "mcp_message",
        /// Connect to an MCP server again.
        McpReconnect(McpServerName) = "mcp_reconnect",
        /// Turn an MCP server on or off.
        McpToggle(McpToggle) = "mcp_toggle",
        /// Call an MCP tool.
        McpCall(McpCall) = "mcp_call",
        /// Read an MCP resource (newer CLIs).
        McpReadResource(McpReadResource) = "mcp_read_resource",
        /// Log in to an MCP server.
        McpAuthenticate(McpServerName) = "mcp_authenticate",
        /// Log out of an MCP server.
        McpClearAuth(McpServerName) = "mcp_clear_auth",
        /// The end of a log-in.
        McpOauthCallbackUrl(McpOauthCallbackUrl) = "mcp_oauth_callback_url",
        /// The permission mode for one MCP server.
        SetMcpPermissionModeOverride(SetMcpPermissionModeOverride) = "set_mcp_permission_mode_override",
        /// Turn on a channel.
        ChannelEnable(McpServerName) = "channel_enable",
        /// Put files back to what they were at a message.
        RewindFiles(RewindFiles) = "rewind_files",
        /// What fills the context window.
        GetContextUsage(GetContextUsage) = "get_context_usage",
        /// Change settings for this process.
        ApplyFlagSettings(ApplyFlagSettings) = "apply_flag_settings",
        /// Change settings (newer CLIs).
        UpdateSettings(UpdateSettings) = "update_settings",
        /// Stop a task.
        StopTask(TaskArgument) = "stop_task",
        /// Move what runs to the background.
        BackgroundTasks(BackgroundTasks) = "background_tasks",
        /// A task's output (newer CLIs).
        GetTaskOutput(TaskArgument) = "get_task_output",
        /// Take back a queued prompt.
        CancelAsyncMessage(CancelAsyncMessage) = "cancel_async_message",
        /// Tell the CLI that a file is known.
        SeedReadState(SeedReadState) = "seed_read_state",
        /// Read a file.
        ReadFile(ReadFile) = "read_file",
        /// Files to mention.
        FileSuggestions(FileSuggestions) = "file_suggestions",
        /// Add a repository.
        RegisterRepoRoot(Directory) = "register_repo_root",
        /// Give the session a title.
        RenameSession(RenameSession) = "rename_session",
        /// Have a title made.
        GenerateSessionTitle(GenerateSessionTitle) = "generate_session_title",
        /// Ask beside the conversation.
        SideQuestion(SideQuestion) = "side_question",
        /// Send feedback.
        SubmitFeedback(SubmitFeedback) = "submit_feedback",
        /// Rate a message.
        MessageRated(MessageRated) = "message_rated",
        /// Whether anybody watches (newer CLIs).
        SetHasSubscribers(SetHasSubscribers) = "set_has_subscribers",
        /// The session's colour (newer CLIs).
        SetColor(SetColor) = "set_color",
    }
}

/// A request this version has no type for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OtherRequest {
    subtype: String,
    arguments: Object,
}

impl OtherRequest {
    /// A newer subtype with its arguments. `None` for subtypes that have a type of their own, and
    /// for `rewind_conversation`, which silences the CLI [control/all_subtypes_malformed].
    pub fn new(subtype: impl Into<String>, arguments: Object) -> Option<Self> {
        let subtype = subtype.into();
        let takes_subtype =
            crate::tag::find(arguments.get(), ["subtype"]).is_ok_and(|[found]| found.is_none());
        (takes_subtype && subtype != "rewind_conversation" && !HostRequest::has_type(&subtype))
            .then_some(Self { subtype, arguments })
    }

    /// One that was recorded, whatever it is.
    pub(super) fn recorded(subtype: String, arguments: Object) -> Self {
        Self { subtype, arguments }
    }

    /// The arguments.
    pub fn arguments(&self) -> &Object {
        &self.arguments
    }
}

/// Arguments of `interrupt`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Interrupt {
    /// Whether queued prompts are dropped too (newer CLIs; older ones ignore it).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cancel_queued: Option<bool>,
}

/// Arguments of `set_permission_mode`. The CLI takes any word, so check it before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetPermissionMode {
    /// The mode.
    pub mode: PermissionMode,
}

/// Arguments of `set_model`. The CLI takes any name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetModel {
    /// The model; `None` is the default one.
    pub model: Option<String>,
}

/// Arguments of `set_max_thinking_tokens`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetMaxThinkingTokens {
    /// The budget; 0 turns thinking off, `None` is the default.
    pub max_thinking_tokens: Option<u64>,
    /// How thinking is shown (newer CLIs).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking_display: Option<String>,
}

/// Arguments of `mcp_status`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct McpStatus {
    /// Whether to answer at once (newer CLIs).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub live_reply: Option<bool>,
}

/// Arguments of `mcp_set_servers`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpSetServers {
    /// The servers, all of them.
    pub servers: BTreeMap<String, McpServer>,
}

/// Arguments of `mcp_message`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostMcpMessage {
    /// The server.
    pub server_name: String,
    /// The JSON-RPC message.
    pub message: Object,
}

/// An MCP server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct McpServerName {
    /// Its name.
    pub server_name: String,
}

/// Arguments of `mcp_toggle`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct McpToggle {
    /// The server.
    pub server_name: String,
    /// On or off.
    pub enabled: bool,
}

/// Arguments of `mcp_call`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct McpCall {
    /// The tool, as `mcp__server__tool`.
    pub tool: String,
    /// Its arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Object>,
}

/// Arguments of `mcp_read_resource`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct McpReadResource {
    /// The server.
    pub server_name: String,
    /// The resource.
    pub uri: String,
}

/// Arguments of `mcp_oauth_callback_url`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct McpOauthCallbackUrl {
    /// The server.
    pub server_name: String,
    /// The address the browser was sent to.
    pub callback_url: String,
}

/// Arguments of `set_mcp_permission_mode_override`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SetMcpPermissionModeOverride {
    /// The server.
    pub server_name: String,
    /// The mode; `None` takes the override away.
    pub mode: Option<PermissionMode>,
}

/// Arguments of `rewind_files`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RewindFiles {
    /// The message.
    pub user_message_id: Uuid,
    /// Whether only to say what would change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dry_run: Option<bool>,
}

/// Arguments of `get_context_usage`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct GetContextUsage {
    /// `summary` or `full` (newer CLIs).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// Arguments of `apply_flag_settings`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApplyFlagSettings {
    /// The settings; null takes one away.
    pub settings: Object,
}

/// Arguments of `update_settings`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UpdateSettings {
    /// Which settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Their new values.
    pub settings: Object,
}

/// A task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskArgument {
    /// The task.
    pub task_id: TaskId,
}

/// Arguments of `background_tasks`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BackgroundTasks {
    /// Only this call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_use_id: Option<ToolUseId>,
}

/// Arguments of `cancel_async_message`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CancelAsyncMessage {
    /// The prompt.
    pub message_uuid: Uuid,
}

/// Arguments of `seed_read_state`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeedReadState {
    /// The file.
    pub path: String,
    /// Its time, in epoch milliseconds.
    pub mtime: u64,
}

/// Arguments of `read_file`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadFile {
    /// The file.
    pub path: String,
    /// How much of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
    /// `utf-8` or `base64`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoding: Option<String>,
}

/// Arguments of `file_suggestions`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSuggestions {
    /// What was typed.
    pub query: String,
}

/// A directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Directory {
    /// The directory.
    pub directory: String,
}

/// Arguments of `rename_session`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RenameSession {
    /// The title; the CLI refuses an empty one.
    pub title: String,
    /// Who names it (newer CLIs).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Another session (newer CLIs).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
}

/// Arguments of `generate_session_title`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GenerateSessionTitle {
    /// What the session is about.
    pub description: String,
    /// Whether the title is kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub persist: Option<bool>,
}

/// Arguments of `side_question`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SideQuestion {
    /// The question.
    pub question: String,
}

/// Arguments of `submit_feedback`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubmitFeedback {
    /// The feedback.
    pub description: String,
}

/// Arguments of `message_rated`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MessageRated {
    /// The message.
    pub message_uuid: Uuid,
    /// `positive` or `negative`.
    pub sentiment: String,
}

/// Arguments of `set_has_subscribers`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SetHasSubscribers {
    /// Whether anybody watches.
    pub has_subscribers: bool,
}

/// Arguments of `set_color`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetColor {
    /// The colour.
    pub color: String,
}
