//! Notes: things to tell the user, and rarer lines.
//!
//! Nothing here changes a session's state by itself. The rule: shapes that were only read in type
//! definitions, never recorded, require nothing.

use super::line;
use crate::ids::{SessionId, ToolUseId, Uuid};
use crate::lenient;
use crate::raw::Raw;

line! {
    /// A rule denied a tool call; not sent for denials by the host or a hook.
    pub struct PermissionDenied {
        /// The tool.
        pub tool_name: String,
        /// The call.
        pub tool_use_id: Option<ToolUseId>,
        /// What kind of reason.
        pub decision_reason_type: Option<String>,
        /// The reason (newer CLIs).
        pub decision_reason: Option<String>,
        /// What the model is told.
        #[serde(default, deserialize_with = "lenient::or_default")]
        pub message: String,
        /// The subagent.
        pub agent_id: Option<String>,
    }
}

line! {
    /// Something to tell the user.
    pub struct Informational {
        /// The text.
        #[serde(default, deserialize_with = "lenient::or_default")]
        pub content: String,
        /// `info`, `warning`, …
        pub level: Option<String>,
        /// Whether the turn goes no further.
        #[serde(default, deserialize_with = "lenient::flag")]
        pub prevent_continuation: bool,
        /// The call it is about (newer CLIs).
        pub tool_use_id: Option<ToolUseId>,
        /// What kind it is (newer CLIs).
        pub tag: Option<String>,
    }
}

line! {
    /// Something to show briefly.
    pub struct Notification {
        /// What it is about; a later one with the same key replaces it.
        pub key: Option<String>,
        /// The text.
        #[serde(default, deserialize_with = "lenient::or_default")]
        pub text: String,
        /// How urgent it is.
        pub priority: Option<String>,
        /// Its colour (newer CLIs).
        pub color: Option<String>,
        /// How long to show it (newer CLIs).
        #[serde(default, deserialize_with = "lenient::optional_count")]
        pub timeout_ms: Option<u64>,
    }
}

line! {
    /// A local command's output.
    pub struct LocalCommandOutput {
        /// The output.
        #[serde(default, deserialize_with = "lenient::or_default")]
        pub content: String,
    }
}

line! {
    /// The fallback model took over [errors/fallback_model].
    pub struct ModelFallback {
        /// Why.
        pub trigger: Option<String>,
        /// The model that failed.
        pub original_model: Option<String>,
        /// The model that answers.
        pub fallback_model: Option<String>,
        /// The text to show.
        #[serde(default, deserialize_with = "lenient::or_default")]
        pub content: String,
    }
}

line! {
    /// The model refused.
    pub struct ModelRefusal {
        /// The model that refused.
        pub original_model: Option<String>,
        /// The model that answers instead.
        pub fallback_model: Option<String>,
        /// The API's request id.
        pub request_id: Option<String>,
        /// The refusal's category.
        pub api_refusal_category: Option<String>,
        /// The refusal's reason.
        pub api_refusal_explanation: Option<String>,
        /// The message that was refused.
        pub refused_user_message_uuid: Option<Uuid>,
        /// The text to show.
        #[serde(default, deserialize_with = "lenient::or_default")]
        pub content: String,
    }
}

line! {
    /// The session has a new title.
    pub struct SessionTitleChanged {
        /// The title.
        pub title: Option<String>,
    }
}

line! {
    /// Files were kept.
    pub struct FilesPersisted {
        /// The files, unread.
        pub files: Option<Raw>,
        /// Files that could not be kept, unread.
        pub failed: Option<Raw>,
        /// When.
        pub processed_at: Option<String>,
    }
}

line! {
    /// An elicitation in the browser is done.
    pub struct ElicitationComplete {
        /// The server that asked.
        pub mcp_server_name: Option<String>,
        /// The elicitation.
        pub elicitation_id: Option<String>,
    }
}

line! {
    /// A plugin is being installed.
    pub struct PluginInstall {
        /// How far it is.
        pub status: Option<String>,
        /// The plugin.
        pub name: Option<String>,
        /// Why it failed.
        pub error: Option<String>,
    }
}

line! {
    /// Memories were recalled.
    pub struct MemoryRecall {
        /// How.
        pub mode: Option<String>,
        /// The memories, unread.
        pub memories: Option<Raw>,
    }
}

line! {
    /// Mirroring the transcript failed.
    pub struct MirrorError {
        /// Why, unread.
        pub error: Option<Raw>,
        /// What, unread.
        pub key: Option<Raw>,
    }
}

line! {
    /// The CLI is about to end.
    pub struct WorkerShuttingDown {
        /// Why.
        pub reason: Option<String>,
    }
}

line! {
    /// The transcript file lost lines.
    pub struct SessionWritesLost {
        /// Why, unread.
        pub error: Option<Raw>,
        /// The session concerned.
        pub lost_session_id: Option<SessionId>,
    }
}

line! {
    /// A long control request goes on.
    pub struct ControlRequestProgress {
        /// The host's request.
        #[serde(default)]
        pub request_id: crate::ids::RequestId,
        /// How far it is, unread.
        pub progress: Option<Raw>,
    }
}
