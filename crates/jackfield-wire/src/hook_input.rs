//! What the CLI tells a hook callback.
//!
//! Only what a hook is told, not what it may answer (`hook_output`). The rule: every event has
//! the common members; the rest is by event, and an event of an unknown name is kept raw.

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::ids::{SessionId, ToolUseId};
use crate::lenient;
use crate::open_enum::open_enum;
use crate::permission::{PermissionMode, PermissionUpdate};
use crate::raw::Raw;
use crate::repair;

/// What a hook callback is told.
#[derive(Debug, Clone, PartialEq)]
pub struct HookInput {
    /// The event.
    pub event: HookEvent,
    /// The CLI's session.
    pub session_id: Option<SessionId>,
    /// The CLI's transcript file.
    pub transcript_path: Option<String>,
    /// The working directory.
    pub cwd: Option<String>,
    /// The prompt being worked on.
    pub prompt_id: Option<String>,
    /// The permission mode.
    pub permission_mode: Option<PermissionMode>,
    /// The subagent.
    pub agent_id: Option<String>,
    /// The subagent's type.
    pub agent_type: Option<String>,
    /// The effort level, unread.
    pub effort: Option<Raw>,
    /// What is special to the event.
    pub detail: HookDetail,
    /// All of it, unread.
    pub raw: Raw,
}

open_enum! {
    /// What a hook is run for.
    pub enum HookEvent {
        /// Before a tool runs.
        PreToolUse = "PreToolUse",
        /// After a tool ran.
        PostToolUse = "PostToolUse",
        /// After a tool failed.
        PostToolUseFailure = "PostToolUseFailure",
        /// After all tools of a message ran.
        PostToolBatch = "PostToolBatch",
        /// The CLI notifies the user.
        Notification = "Notification",
        /// The user sent a prompt.
        UserPromptSubmit = "UserPromptSubmit",
        /// A prompt was expanded.
        UserPromptExpansion = "UserPromptExpansion",
        /// A session starts; callbacks are not told of the first start.
        SessionStart = "SessionStart",
        /// A session ends.
        SessionEnd = "SessionEnd",
        /// A turn is about to end.
        Stop = "Stop",
        /// A turn failed.
        StopFailure = "StopFailure",
        /// A subagent starts.
        SubagentStart = "SubagentStart",
        /// A subagent is about to end.
        SubagentStop = "SubagentStop",
        /// Before compaction.
        PreCompact = "PreCompact",
        /// After compaction.
        PostCompact = "PostCompact",
        /// Before the model changes.
        PreModelSwitch = "PreModelSwitch",
        /// After the model changed.
        PostModelSwitch = "PostModelSwitch",
        /// A permission is asked; `can_use_tool` is asked at the same time.
        PermissionRequest = "PermissionRequest",
        /// A permission was denied.
        PermissionDenied = "PermissionDenied",
        /// The CLI is set up.
        Setup = "Setup",
        /// A teammate has nothing to do.
        TeammateIdle = "TeammateIdle",
        /// A task was created.
        TaskCreated = "TaskCreated",
        /// A task was completed.
        TaskCompleted = "TaskCompleted",
        /// An MCP server asks the user.
        Elicitation = "Elicitation",
        /// The user answered an MCP server.
        ElicitationResult = "ElicitationResult",
        /// The configuration changed.
        ConfigChange = "ConfigChange",
        /// A worktree is made.
        WorktreeCreate = "WorktreeCreate",
        /// A worktree is removed.
        WorktreeRemove = "WorktreeRemove",
        /// Instructions were loaded.
        InstructionsLoaded = "InstructionsLoaded",
        /// The working directory changed.
        CwdChanged = "CwdChanged",
        /// A watched file changed.
        FileChanged = "FileChanged",
        /// A directory was added.
        DirectoryAdded = "DirectoryAdded",
        /// A message is shown.
        MessageDisplay = "MessageDisplay",
    }
}

macro_rules! hook_details {
    ($($(#[$meta:meta])* $name:ident: $($variant:ident)|+ { $($(#[$field_meta:meta])* $field:ident: $type:ty,)* })*) => {
        /// What is special to a hook's event.
        #[derive(Debug, Clone, PartialEq)]
        pub enum HookDetail {
            $($(#[doc = concat!("Of `", stringify!($variant), "`.")] $variant(Box<$name>),)+)*
            /// The event is not known; see [`HookInput::raw`].
            Unknown,
            /// The event is known, but its members do not fit.
            Malformed {
                /// What did not fit.
                reason: String,
            },
        }

        impl HookDetail {
            fn read(event: &HookEvent, text: &str) -> Result<Self, serde_json::Error> {
                match event {
                    $($(HookEvent::$variant => serde_json::from_str(text).map(Self::$variant),)+)*
                    HookEvent::Other(_) => Ok(Self::Unknown),
                }
            }
        }

        $(
            $(#[$meta])*
            #[derive(Debug, Clone, PartialEq, Deserialize)]
            pub struct $name {
                $($(#[$field_meta])* pub $field: $type,)*
            }
        )*
    };
}

hook_details! {
    /// A tool is about to run, or its permission is asked or was denied.
    HookToolCall: PreToolUse | PermissionRequest | PermissionDenied {
        /// The tool (`Agent` where the stream says `Task`).
        tool_name: String,
        /// Its input, unread.
        tool_input: Raw,
        /// The call.
        tool_use_id: Option<ToolUseId>,
        /// The MCP server, unread (newer CLIs).
        mcp_server: Option<Raw>,
        /// Rules the CLI offers to remember.
        #[serde(default, deserialize_with = "lenient::or_default")]
        permission_suggestions: Vec<PermissionUpdate>,
        /// Why it was denied.
        reason: Option<String>,
    }
    /// A tool ran.
    HookToolResult: PostToolUse {
        /// The tool.
        tool_name: String,
        /// Its input, unread.
        tool_input: Raw,
        /// Its output, unread.
        tool_response: Option<Raw>,
        /// The call.
        tool_use_id: Option<ToolUseId>,
        /// How long it took.
        #[serde(default, deserialize_with = "lenient::optional_count")]
        duration_ms: Option<u64>,
    }
    /// A tool failed.
    HookToolFailure: PostToolUseFailure {
        /// The tool.
        tool_name: String,
        /// Its input, unread.
        tool_input: Raw,
        /// The call.
        tool_use_id: Option<ToolUseId>,
        /// Why.
        #[serde(default, deserialize_with = "lenient::or_default")]
        error: String,
        /// Whether it was interrupted.
        #[serde(default, deserialize_with = "lenient::flag")]
        is_interrupt: bool,
        /// How long it took.
        #[serde(default, deserialize_with = "lenient::optional_count")]
        duration_ms: Option<u64>,
    }
    /// All tools of a message ran.
    HookToolBatch: PostToolBatch {
        /// The calls, unread.
        #[serde(default, deserialize_with = "lenient::or_default")]
        tool_calls: Vec<Raw>,
    }
    /// The CLI notifies the user.
    HookNotification: Notification {
        /// The text.
        #[serde(default, deserialize_with = "lenient::or_default")]
        message: String,
        /// The title.
        title: Option<String>,
        /// What kind it is.
        notification_type: Option<String>,
    }
    /// A prompt was sent or expanded.
    HookPrompt: UserPromptSubmit | UserPromptExpansion {
        /// The prompt.
        #[serde(default, deserialize_with = "lenient::or_default")]
        prompt: String,
        /// Where it came from (newer CLIs).
        source: Option<String>,
        /// The session's title (newer CLIs).
        session_title: Option<String>,
    }
    /// A session starts.
    HookSessionStart: SessionStart {
        /// `startup`, `resume`, `clear`, `compact` or `fork`.
        source: Option<String>,
        /// The model.
        model: Option<String>,
    }
    /// A session ends.
    HookSessionEnd: SessionEnd {
        /// Why.
        reason: Option<String>,
    }
    /// A turn or a subagent is about to end, or failed.
    HookStop: Stop | StopFailure | SubagentStop {
        /// Whether a stop hook already kept it going.
        #[serde(default, deserialize_with = "lenient::flag")]
        stop_hook_active: bool,
        /// What the model said last.
        last_assistant_message: Option<String>,
        /// The subagent's transcript file.
        agent_transcript_path: Option<String>,
        /// Tasks that go on, unread.
        background_tasks: Option<Raw>,
        /// Scheduled prompts, unread.
        session_crons: Option<Raw>,
        /// Why it failed, unread.
        error: Option<Raw>,
    }
    /// A subagent starts, or a teammate has nothing to do; the common members say which.
    HookAgent: SubagentStart | TeammateIdle {
        /// The teammate.
        teammate_name: Option<String>,
        /// The team.
        team_name: Option<String>,
    }
    /// The conversation is or was compacted, or the CLI is set up.
    HookTriggered: PreCompact | PostCompact | Setup {
        /// What caused it.
        trigger: Option<String>,
        /// The user's wishes for the summary.
        custom_instructions: Option<String>,
        /// The summary.
        compact_summary: Option<String>,
    }
    /// The model changes or changed.
    HookModelSwitch: PreModelSwitch | PostModelSwitch {
        /// The old model.
        from_model: Option<String>,
        /// The new model.
        to_model: Option<String>,
        /// The model that was asked for.
        requested_model: Option<String>,
        /// Who asked.
        source: Option<String>,
        /// The size of the context.
        #[serde(default, deserialize_with = "lenient::optional_count")]
        context_tokens: Option<u64>,
    }
    /// A task was created or completed.
    HookTask: TaskCreated | TaskCompleted {
        /// The task.
        task_id: Option<String>,
        /// Its subject.
        task_subject: Option<String>,
        /// Its description.
        task_description: Option<String>,
    }
    /// An MCP server asks, or was answered.
    HookElicitation: Elicitation | ElicitationResult {
        /// The server.
        mcp_server_name: Option<String>,
        /// What it asks.
        message: Option<String>,
        /// `form` or `url`.
        mode: Option<String>,
        /// The answer's JSON Schema, unread.
        requested_schema: Option<Raw>,
        /// What the user did.
        action: Option<String>,
        /// What the user said, unread.
        content: Option<Raw>,
    }
    /// Configuration, instructions or a file changed.
    HookFile: ConfigChange | InstructionsLoaded | FileChanged {
        /// Which configuration.
        source: Option<String>,
        /// The file.
        file_path: Option<String>,
    }
    /// A directory was entered or added.
    HookDirectory: CwdChanged | DirectoryAdded {
        /// The directory before.
        old_cwd: Option<String>,
        /// The directory now.
        new_cwd: Option<String>,
        /// The directory that was added.
        directory: Option<String>,
    }
    /// A worktree is made or removed.
    HookWorktree: WorktreeCreate | WorktreeRemove {
        /// The name of the one to make.
        name: Option<String>,
        /// The path of the one to remove.
        worktree_path: Option<String>,
    }
    /// A message is shown.
    HookMessageDisplay: MessageDisplay {
        /// The turn.
        turn_id: Option<String>,
        /// The message.
        message_id: Option<String>,
        /// The piece's number.
        #[serde(default, deserialize_with = "lenient::optional_count")]
        index: Option<u64>,
        /// Whether it is the last piece.
        #[serde(default, rename = "final", deserialize_with = "lenient::flag")]
        is_final: bool,
        /// The piece.
        delta: Option<String>,
    }
}

impl<'de> Deserialize<'de> for HookInput {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Common {
            hook_event_name: HookEvent,
            session_id: Option<SessionId>,
            transcript_path: Option<String>,
            cwd: Option<String>,
            prompt_id: Option<String>,
            permission_mode: Option<PermissionMode>,
            agent_id: Option<String>,
            agent_type: Option<String>,
            effort: Option<Raw>,
        }
        let raw = <&RawValue>::deserialize(deserializer)?;
        let text = raw.get();
        let common: Common = serde_json::from_str(text).map_err(D::Error::custom)?;
        let detail = match HookDetail::read(&common.hook_event_name, text) {
            Ok(detail) => detail,
            // The whole line is repaired and read again.
            Err(error) if repair::has_lone_surrogate(text) => return Err(D::Error::custom(error)),
            Err(error) => HookDetail::Malformed { reason: lenient::reason(&error) },
        };
        Ok(Self {
            event: common.hook_event_name,
            session_id: common.session_id,
            transcript_path: common.transcript_path,
            cwd: common.cwd,
            prompt_id: common.prompt_id,
            permission_mode: common.permission_mode,
            agent_id: common.agent_id,
            agent_type: common.agent_type,
            effort: common.effort,
            detail,
            raw: raw.into(),
        })
    }
}
