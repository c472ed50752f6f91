//! Lines of type `system`, by subtype.
//!
//! A subtype whose shape nobody has seen is not modelled: it is an unknown message. The rule:
//! one variant per subtype, named after it.

mod hooks;
mod init;
mod notes;
mod status;
mod tasks;

pub use hooks::*;
pub use init::*;
pub use notes::*;
pub use status::*;
pub use tasks::*;

/// A struct for a line: the members given, and the two that every line has.
macro_rules! line {
    ($(#[$meta:meta])* pub struct $name:ident { $($(#[$field_meta:meta])* pub $field:ident: $type:ty,)* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, serde::Deserialize)]
        pub struct $name {
            $($(#[$field_meta])* pub $field: $type,)*
            /// The CLI's session.
            pub session_id: Option<$crate::ids::SessionId>,
            /// This line's id.
            pub uuid: Option<$crate::ids::Uuid>,
        }
    };
}
pub(crate) use line;

macro_rules! system {
    ($($(#[$meta:meta])* $variant:ident($type:ident) = $subtype:literal,)*) => {
        /// A line of type `system`.
        #[derive(Debug, Clone, PartialEq)]
        pub enum System {
            $($(#[$meta])* $variant(Box<$type>),)*
        }

        impl System {
            /// The subtype.
            pub fn subtype(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $subtype,)*
                }
            }

            /// The CLI's session.
            pub fn session_id(&self) -> Option<&crate::ids::SessionId> {
                match self {
                    $(Self::$variant(line) => line.session_id.as_ref(),)*
                }
            }

            /// Reads the line of that subtype; `None` when the subtype is unknown.
            pub(crate) fn read(subtype: &str, text: &str) -> Option<Result<Self, serde_json::Error>> {
                Some(match subtype {
                    $($subtype => serde_json::from_str(text).map(|line| Self::$variant(Box::new(line))),)*
                    _ => return None,
                })
            }
        }
    };
}

system! {
    /// A turn starts; repeated at every turn.
    Init(Init) = "init",
    /// What the CLI is doing, and mode changes.
    Status(Status) = "status",
    /// The model is thinking.
    ThinkingTokens(ThinkingTokens) = "thinking_tokens",
    /// An API request failed and will be repeated.
    ApiRetry(ApiRetry) = "api_retry",
    /// A rule denied a tool call.
    PermissionDenied(PermissionDenied) = "permission_denied",
    /// A task started.
    TaskStarted(TaskStarted) = "task_started",
    /// A task works.
    TaskProgress(TaskProgress) = "task_progress",
    /// A task changed.
    TaskUpdated(TaskUpdated) = "task_updated",
    /// A task ended.
    TaskNotification(TaskNotification) = "task_notification",
    /// The background tasks, all of them.
    BackgroundTasksChanged(BackgroundTasksChanged) = "background_tasks_changed",
    /// The conversation was compacted.
    CompactBoundary(CompactBoundary) = "compact_boundary",
    /// A hook command started.
    HookStarted(HookStarted) = "hook_started",
    /// A hook command prints.
    HookProgress(HookProgress) = "hook_progress",
    /// A hook command ended.
    HookResponse(HookResponse) = "hook_response",
    /// Something to tell the user.
    Informational(Informational) = "informational",
    /// Something to show briefly.
    Notification(Notification) = "notification",
    /// A local command's output.
    LocalCommandOutput(LocalCommandOutput) = "local_command_output",
    /// The slash commands, all of them.
    CommandsChanged(CommandsChanged) = "commands_changed",
    /// The fallback model took over.
    ModelFallback(ModelFallback) = "model_fallback",
    /// The model refused and another answers.
    ModelRefusalFallback(ModelRefusal) = "model_refusal_fallback",
    /// The model refused.
    ModelRefusalNoFallback(ModelRefusal) = "model_refusal_no_fallback",
    /// The CLI is busy, waits, or is idle.
    SessionStateChanged(SessionStateChanged) = "session_state_changed",
    /// The session has a new title.
    SessionTitleChanged(SessionTitleChanged) = "session_title_changed",
    /// Files were kept.
    FilesPersisted(FilesPersisted) = "files_persisted",
    /// An elicitation in the browser is done.
    ElicitationComplete(ElicitationComplete) = "elicitation_complete",
    /// A plugin is being installed.
    PluginInstall(PluginInstall) = "plugin_install",
    /// Memories were recalled.
    MemoryRecall(MemoryRecall) = "memory_recall",
    /// Mirroring the transcript failed.
    MirrorError(MirrorError) = "mirror_error",
    /// The CLI is about to end.
    WorkerShuttingDown(WorkerShuttingDown) = "worker_shutting_down",
    /// The transcript file lost lines.
    SessionWritesLost(SessionWritesLost) = "session_writes_lost",
    /// A long control request goes on.
    ControlRequestProgress(ControlRequestProgress) = "control_request_progress",
}
