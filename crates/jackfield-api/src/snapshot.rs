//! A transcript at a `seq`: what a client that joins late needs to draw everything.
//!
//! A snapshot plus the events behind it gives the same as all events from the beginning.

use serde::{Deserialize, Serialize};

use crate::conversation::{FileUpdated, ItemOutcome, Queue, Todos, Trigger, UserMessage};
use crate::id::{ItemId, MessageId, Seq, SessionId, Timestamp, ToolCallId, TurnNumber};
use crate::json::Json;
use crate::normalized::Normalized;
use crate::permission::{PermissionOutcome, PermissionRequest};
use crate::session::{AvailableCommands, Compaction, RunEnded, SessionStatus};
use crate::tagged::by_tag;
use crate::tool::{Task, ToolStatus};
use crate::trouble::{Error, Notice, RateLimit};
use crate::usage::{Complete, ContextWindow};

/// A transcript at a `seq`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Default)]
pub struct Snapshot {
    /// The session; empty before its first event.
    pub session_id: Option<SessionId>,
    /// The last event in it.
    pub seq: Seq,
    /// When that was.
    pub at: Timestamp,
    /// The turn that is running or was the last to run.
    pub turn: Option<TurnNumber>,
    /// How the session stands.
    pub state: SessionState,
    /// What the CLI said of itself last.
    pub status: Option<SessionStatus>,
    /// The slash commands.
    pub commands: Option<AvailableCommands>,
    /// All items, in the order in which they began.
    pub items: Vec<Item>,
    /// The open questions, oldest first.
    pub pending: Vec<PermissionRequest>,
    /// Prompts that wait.
    pub queue: Option<Queue>,
    /// The to-do list.
    pub todos: Option<Todos>,
    /// Subagents and background work, oldest first.
    pub tasks: Vec<Task>,
    /// How full the context is.
    pub context_window: Option<ContextWindow>,
    /// The figures of the last turn.
    pub last_complete: Option<Complete>,
    /// What all turns have cost.
    pub total_cost_usd: f64,
    /// The account's limits.
    pub rate_limit: Option<RateLimit>,
    /// How the last run ended.
    pub last_run: Option<RunEnded>,
}

/// How a session stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "snake_case")]
#[derive(Default)]
pub enum SessionState {
    /// Nothing has run yet, or nothing runs now.
    #[default]
    Ended,
    /// A run is there and waits for a prompt.
    Idle,
    /// A turn runs; it waits for an answer if something is `pending`.
    Running,
}

/// One thing in the transcript.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Item {
    /// The event that began it.
    pub seq: Seq,
    /// When it began.
    pub at: Timestamp,
    /// In which turn.
    pub turn: Option<TurnNumber>,
    /// The tool call whose subagent it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_tool_call_id: Option<ToolCallId>,
    /// What it is.
    pub content: ItemContent,
}

macro_rules! contents {
    ($($text:literal => #[doc = $doc:literal] $variant:ident($held:ty)),+ $(,)?) => {
        /// What an item is.
        #[derive(Debug, Clone, PartialEq, Serialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
        #[serde(tag = "type")]
        pub enum ItemContent {
            $(#[doc = $doc] #[serde(rename = $text)] $variant($held)),+
        }
        by_tag!(ItemContent, "type", { $($text => $variant),+ });
    };
}

contents! {
    "turn" => #[doc = "A turn begins here."] Turn(TurnItem),
    "user_message" => #[doc = "A prompt."] UserMessage(Box<UserMessage>),
    "text" => #[doc = "Text of the model or of a command."] Text(Box<TextItem>),
    "thinking" => #[doc = "A thought of the model."] Thinking(Box<TextItem>),
    "tool" => #[doc = "A tool call."] Tool(Box<ToolItem>),
    "question" => #[doc = "A question and its end."] Question(Box<QuestionItem>),
    "file" => #[doc = "A changed file."] File(Box<FileUpdated>),
    "compaction" => #[doc = "A compaction."] Compaction(Box<Compaction>),
    "notice" => #[doc = "A notice."] Notice(Box<Notice>),
    "error" => #[doc = "A failure."] Error(Box<Error>),
    "complete" => #[doc = "A turn ends here."] Complete(Box<Complete>),
    "run_ended" => #[doc = "A run ends here."] RunEnded(Box<RunEnded>),
}

/// A turn begins here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct TurnItem {
    /// What started it.
    pub trigger: Trigger,
}

/// A text or a thought, whole or still growing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct TextItem {
    /// Its name.
    pub item_id: ItemId,
    /// The API message that it belongs to.
    pub message_id: Option<MessageId>,
    /// What there is of it.
    pub text: String,
    /// How it ended; null while it grows.
    pub outcome: Option<ItemOutcome>,
}

/// A tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ToolItem {
    /// The call.
    pub tool_call_id: ToolCallId,
    /// The tool.
    pub tool_name: String,
    /// One line for a person.
    pub tool_title: String,
    /// How it stands.
    pub tool_status: ToolStatus,
    /// How much input has come, while it is streaming in.
    pub bytes: u64,
    /// Its shape; null while its input is streaming in.
    pub normalized: Option<Normalized>,
    /// Its input.
    pub input: Option<Json>,
    /// Its output.
    pub output: Option<Json>,
    /// A word on it.
    pub message: Option<String>,
}

/// A question and its end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct QuestionItem {
    /// What was asked.
    pub request: PermissionRequest,
    /// How it ended; null while it is open.
    pub ending: Option<QuestionEnding>,
}

/// How a question ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct QuestionEnding {
    /// The outcome; null if the CLI withdrew it.
    pub outcome: Option<PermissionOutcome>,
    /// Who decided.
    pub by: Option<String>,
    /// The words that went with it.
    pub message: Option<String>,
    /// What ran, where it was changed on the way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Json>,
}
