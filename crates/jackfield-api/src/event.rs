//! The envelope that every event has, and the list of all events.
//!
//! An event says what has happened or what now is. It is numbered per session without a hole, and is
//! never changed afterwards.

use serde::Serialize;

use crate::conversation::{
    FileUpdated, ItemEnded, MessageChunk, Queue, Reasoning, Todos, TurnStarted, UserMessage,
};
use crate::id::{Seq, SessionId, Timestamp, ToolCallId, TurnNumber};
use crate::permission::{PermissionCancelled, PermissionRequest, PermissionResolved};
use crate::session::{
    AvailableCommands, Compaction, ModeChanged, ModelChanged, RunEnded, RunStarted, SessionStatus,
};
use crate::tagged::by_tag;
use crate::tool::{Hook, Task, ToolCall, ToolPreparing, ToolUpdate};
use crate::trouble::{ApiRetry, Error, Gap, Malformed, Notice, RateLimit, Stderr, Unknown};
use crate::usage::{Complete, ContextWindow};

/// One thing that happened in a session.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Event {
    /// What happened.
    #[serde(flatten)]
    pub body: Body,
    /// Its number.
    pub seq: Seq,
    /// When it was seen.
    pub at: Timestamp,
    /// Where; empty only in a bare replay of output that never told an id.
    pub session_id: SessionId,
    /// The turn that is running or was the last to run; null before the first.
    pub turn: Option<TurnNumber>,
    /// The tool call whose subagent it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_tool_call_id: Option<ToolCallId>,
}

// What streams is held in place; all else is boxed, so that an event stays small to move.
macro_rules! bodies {
    ($($text:literal => $(#[$doc:meta])* $variant:ident($held:ty)),+ $(,)?) => {
        /// Everything a host can say.
        #[derive(Debug, Clone, PartialEq, Serialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
        #[serde(tag = "type")]
        pub enum Body {
            $($(#[$doc])* #[serde(rename = $text)] $variant($held)),+
        }
        by_tag!(Body, "type", { $($text => $variant),+ });
        $(impl From<$variant> for Body {
            fn from(body: $variant) -> Self {
                Self::$variant(body.into())
            }
        })+
    };
}

bodies! {
    "run_started" => #[doc = "A CLI process began."] RunStarted(Box<RunStarted>),
    "run_ended" => #[doc = "It ended; exactly once per run."] RunEnded(Box<RunEnded>),
    "session_status" => #[doc = "What the CLI says of itself, when it is new or has changed."] SessionStatus(Box<SessionStatus>),
    "available_commands" => #[doc = "Slash commands; replaces the earlier list."] AvailableCommands(Box<AvailableCommands>),
    "queue" => #[doc = "Prompts that the CLI has not taken yet; replaces the earlier list."] Queue(Box<Queue>),
    "turn_started" => #[doc = "A turn began."] TurnStarted(Box<TurnStarted>),
    "user_message" => #[doc = "A prompt entered the conversation."] UserMessage(Box<UserMessage>),
    "message_chunk" => #[doc = "A piece of text."] MessageChunk(MessageChunk),
    "reasoning" => #[doc = "A piece of thinking."] Reasoning(Reasoning),
    "item_ended" => #[doc = "A text or a thought is over; exactly once each."] ItemEnded(ItemEnded),
    "tool_preparing" => #[doc = "A tool's input is streaming in."] ToolPreparing(ToolPreparing),
    "tool_call" => #[doc = "A tool's input is complete."] ToolCall(Box<ToolCall>),
    "tool_update" => #[doc = "Progress or the end of a tool call."] ToolUpdate(Box<ToolUpdate>),
    "permission_request" => #[doc = "Somebody must decide."] PermissionRequest(Box<PermissionRequest>),
    "permission_resolved" => #[doc = "It was decided, or can no longer be."] PermissionResolved(Box<PermissionResolved>),
    "permission_cancelled" => #[doc = "The CLI withdrew the question."] PermissionCancelled(Box<PermissionCancelled>),
    "context_window" => #[doc = "How full the context is."] ContextWindow(Box<ContextWindow>),
    "todos" => #[doc = "The model's to-do list; replaces the earlier one."] Todos(Box<Todos>),
    "task" => #[doc = "Work beside the conversation."] Task(Box<Task>),
    "mode_changed" => #[doc = "Another permission mode is in effect."] ModeChanged(Box<ModeChanged>),
    "model_changed" => #[doc = "Another model is in effect."] ModelChanged(Box<ModelChanged>),
    "compaction" => #[doc = "The conversation was or is being summarised."] Compaction(Box<Compaction>),
    "api_retry" => #[doc = "The API failed and is asked again."] ApiRetry(Box<ApiRetry>),
    "rate_limit" => #[doc = "The account's limits."] RateLimit(Box<RateLimit>),
    "file_updated" => #[doc = "A tool changed a file."] FileUpdated(Box<FileUpdated>),
    "hook" => #[doc = "A hook ran."] Hook(Box<Hook>),
    "notice" => #[doc = "Something a person may want to read."] Notice(Box<Notice>),
    "complete" => #[doc = "A turn is over; once per result."] Complete(Box<Complete>),
    "error" => #[doc = "A turn or a run failed."] Error(Box<Error>),
    "stderr" => #[doc = "A line on the CLI's standard error."] Stderr(Box<Stderr>),
    "unknown" => #[doc = "A message of a type we do not know, whole."] Unknown(Box<Unknown>),
    "malformed" => #[doc = "A line that could not be read, whole."] Malformed(Box<Malformed>),
    "gap" => #[doc = "To one reader only: events it has missed. Never stored."] Gap(Box<Gap>),
}
