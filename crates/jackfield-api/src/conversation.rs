//! Events of the conversation itself: turns, prompts, text, thinking, files.

use compact_str::CompactString;
use serde::{Deserialize, Serialize};

use crate::id::{ItemId, MessageId, ToolCallId, Uuid};
use crate::session::Priority;

/// A turn began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct TurnStarted {
    /// What started it.
    pub trigger: Trigger,
}

/// What started a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    /// A prompt.
    Prompt,
    /// A slash command.
    Command,
    /// Nobody: background work ended, or the CLI went on by itself.
    Background,
}

/// A prompt entered the conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct UserMessage {
    /// Its text.
    pub text: String,
    /// What came with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
    /// Its name in the CLI's transcript; null when the host gave none and the CLI told none.
    pub uuid: Option<Uuid>,
}

/// What came with a prompt besides text. The bytes stay with the CLI.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq)]
pub struct Attachment {
    /// `image`, `document`, …
    pub kind: String,
    /// Its media type, where it is told.
    pub media_type: Option<String>,
    /// The length of its encoded content.
    pub bytes: u64,
}

/// Prompts that were sent and that the CLI has not taken yet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Queue {
    /// In the order in which they were sent.
    pub prompts: Vec<QueuedPrompt>,
    /// Those that left the queue without entering the conversation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dropped: Vec<DroppedPrompt>,
}

/// A prompt that waits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq)]
pub struct QueuedPrompt {
    /// Its name.
    pub uuid: Option<Uuid>,
    /// Its text.
    pub text: String,
    /// Its importance.
    pub priority: Priority,
}

/// A prompt that never entered the conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq)]
pub struct DroppedPrompt {
    /// Its name.
    pub uuid: Option<Uuid>,
    /// Its text.
    pub text: String,
    /// Why.
    pub reason: DropReason,
}

/// Why a prompt never entered the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum DropReason {
    /// It was cancelled while it waited.
    Cancelled,
    /// A message with this uuid was there already.
    Duplicate,
    /// The run ended before it was taken.
    RunEnded,
}

/// A piece of text of one item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct MessageChunk {
    /// The item.
    pub item_id: ItemId,
    /// The API message that it belongs to.
    pub message_id: Option<MessageId>,
    /// The piece.
    #[cfg_attr(feature = "schema", schemars(with = "String"), ts(as = "String"))]
    pub text: CompactString,
}

/// A piece of thinking of one item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Reasoning {
    /// The item.
    pub item_id: ItemId,
    /// The API message that it belongs to.
    pub message_id: Option<MessageId>,
    /// The piece.
    #[cfg_attr(feature = "schema", schemars(with = "String"), ts(as = "String"))]
    pub reasoning_text: CompactString,
}

/// A text or a thought is over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ItemEnded {
    /// The item.
    pub item_id: ItemId,
    /// How it ended.
    pub outcome: ItemOutcome,
}

/// How a text or a thought ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum ItemOutcome {
    /// Its chunks, joined, are exactly the final text.
    Complete,
    /// It streamed and never got its final text.
    Aborted,
    /// It was delivered anew under another item.
    Replaced,
}

/// The model's to-do list; replaces the earlier one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Todos {
    /// All of them.
    pub items: Vec<Todo>,
}

/// One to-do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq)]
pub struct Todo {
    /// Its name in the list.
    pub id: String,
    /// What is to be done.
    pub description: String,
    /// `pending`, `in_progress`, `completed`, …
    pub status: String,
}

/// A tool changed a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct FileUpdated {
    /// The call that did it.
    pub tool_call_id: ToolCallId,
    /// The file.
    pub file_path: String,
    /// What it held before; null when it is new, not known, or too long to tell.
    pub old_content: Option<String>,
    /// What it holds now; null when not known or too long to tell.
    pub new_content: Option<String>,
    /// The change as a unified diff; empty when not known.
    pub diff: String,
    /// Whether something above was left out for its size.
    pub truncated: bool,
}
