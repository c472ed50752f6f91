//! The transcript files the CLI keeps on disk, line by line.
//!
//! It opens no file: names and lines are arguments. The files are the CLI's; they have no version
//! and grow new line types. The rule: total, like the stream, and the links (`uuid`,
//! `parentUuid`) are always read.

use std::borrow::Cow;

use serde::Deserialize;

use crate::ids::{RequestId, SessionId, Uuid};
use crate::inbound::{Malformed, Unknown};
use crate::lenient;
use crate::message::{ApiMessage, UserMessage};
use crate::permission::PermissionMode;
use crate::raw::Raw;
use crate::repair;
use crate::tag;

/// The folder of a working directory below the CLI's `projects`.
///
/// Every UTF-16 unit that is no ASCII letter or digit becomes a dash, so different directories can
/// share a folder.
pub fn project_folder(cwd: &str) -> String {
    cwd.chars()
        .flat_map(|character| {
            let plain = character.is_ascii_alphanumeric();
            let count = if plain { 1 } else { character.len_utf16() };
            std::iter::repeat_n(if plain { character } else { '-' }, count)
        })
        .collect()
}

/// A line of a transcript file and what it says.
#[derive(Debug, Clone, PartialEq)]
pub struct DecodedEntry<'a> {
    /// The line as it was; with replacement characters where it was not UTF-8.
    pub text: Cow<'a, str>,
    /// Whether it could only be read after replacing what is not text.
    pub repaired: bool,
    /// What it says.
    pub entry: TranscriptEntry,
}

/// What a line of a transcript file can be.
#[derive(Debug, Clone, PartialEq)]
pub enum TranscriptEntry {
    /// A user message or tool result.
    User(Box<UserEntry>),
    /// A block the model (or the CLI) wrote.
    Assistant(Box<AssistantEntry>),
    /// What the CLI added to the conversation.
    Attachment(Box<AttachmentEntry>),
    /// A compaction and the like.
    System(Box<SystemEntry>),
    /// A prompt was queued or taken.
    QueueOperation(Box<QueueOperationEntry>),
    /// The last prompt, for lists of sessions.
    LastPrompt(Box<LastPromptEntry>),
    /// The session's mode.
    Mode(Box<ModeEntry>),
    /// A summary of the conversation up to a message.
    Summary(Box<SummaryEntry>),
    /// A title the user gave.
    CustomTitle(Box<TitleEntry>),
    /// A title the CLI made.
    AiTitle(Box<TitleEntry>),
    /// File checkpoints.
    FileHistorySnapshot(Box<FileHistorySnapshotEntry>),
    /// An empty line.
    Blank,
    /// A line of a type this version does not know.
    Unknown(Unknown),
    /// What cannot be such a line, or a known one whose body does not fit; the last line of a
    /// session that was killed may be cut.
    Malformed(Malformed),
}

macro_rules! entries {
    ($($(#[$meta:meta])* $name:ident { $($(#[$field_meta:meta])* $field:ident: $type:ty,)* })*) => {
        $(
            $(#[$meta])*
            #[derive(Debug, Clone, PartialEq, Deserialize)]
            #[serde(rename_all = "camelCase")]
            pub struct $name {
                $($(#[$field_meta])* pub $field: $type,)*
                /// This line's id.
                pub uuid: Option<Uuid>,
                /// The line before it in the conversation.
                pub parent_uuid: Option<Uuid>,
                /// The CLI's session.
                pub session_id: Option<SessionId>,
                /// When it was written, as ISO 8601.
                pub timestamp: Option<String>,
                /// Whether it belongs to a subagent.
                #[serde(default, deserialize_with = "lenient::flag")]
                pub is_sidechain: bool,
                /// The working directory.
                pub cwd: Option<String>,
                /// The CLI's version.
                pub version: Option<String>,
                /// The branch of the repository.
                pub git_branch: Option<String>,
            }
        )*
    };
}

entries! {
    /// A user message or tool result.
    UserEntry {
        /// The message.
        message: UserMessage,
        /// The prompt it belongs to.
        prompt_id: Option<String>,
        /// The permission mode.
        permission_mode: Option<PermissionMode>,
        /// Where the prompt came from.
        prompt_source: Option<String>,
        /// The tool's structured output, unread.
        tool_use_result: Option<Raw>,
        /// Whether the CLI made it up for the model.
        #[serde(default, deserialize_with = "lenient::flag")]
        is_meta: bool,
        /// Whether it is the summary after a compaction.
        #[serde(default, deserialize_with = "lenient::flag")]
        is_compact_summary: bool,
        /// Whether it is not shown in conversations.
        #[serde(default, deserialize_with = "lenient::flag")]
        is_visible_in_transcript_only: bool,
    }
    /// A block the model (or the CLI) wrote.
    AssistantEntry {
        /// The message, with this line's block.
        message: ApiMessage,
        /// The API's request id.
        request_id: Option<String>,
        /// Whether the CLI made it from an API error.
        #[serde(default, deserialize_with = "lenient::flag")]
        is_api_error_message: bool,
    }
    /// What the CLI added to the conversation.
    AttachmentEntry {
        /// What it is, unread.
        attachment: Raw,
    }
    /// A compaction and the like.
    SystemEntry {
        /// What it is.
        subtype: Option<String>,
        /// Its text.
        content: Option<String>,
        /// The line before it, across a compaction.
        logical_parent_uuid: Option<Uuid>,
        /// How it was compacted, unread.
        compact_metadata: Option<Raw>,
        /// How important it is.
        level: Option<String>,
    }
    /// A prompt was queued or taken.
    QueueOperationEntry {
        /// `enqueue`, `dequeue`, …
        operation: String,
        /// The prompt, unread.
        content: Option<Raw>,
    }
    /// The last prompt, for lists of sessions.
    LastPromptEntry {
        /// The prompt.
        last_prompt: Option<String>,
        /// The last line of the conversation.
        leaf_uuid: Option<Uuid>,
    }
    /// The session's mode.
    ModeEntry {
        /// The mode.
        mode: String,
    }
    /// A summary of the conversation up to a message.
    SummaryEntry {
        /// The summary.
        summary: String,
        /// The message.
        leaf_uuid: Option<Uuid>,
    }
    /// A title.
    TitleEntry {
        /// The title the user gave.
        custom_title: Option<String>,
        /// The title the CLI made.
        ai_title: Option<String>,
    }
    /// File checkpoints.
    FileHistorySnapshotEntry {
        /// The message they belong to.
        message_id: Option<Uuid>,
        /// The checkpoints, unread.
        snapshot: Option<Raw>,
    }
}

/// Decodes one line of a transcript file. Total: any bytes give exactly one value.
pub fn decode_entry(line: &[u8]) -> DecodedEntry<'_> {
    let text = String::from_utf8_lossy(line);
    let mut repaired = matches!(text, Cow::Owned(_));
    let mut entry = read(&text);
    if matches!(entry, TranscriptEntry::Malformed(_))
        && let Some(replaced) = repair::replace_lone_surrogates(&text)
        && let second = read(&replaced)
        && !matches!(second, TranscriptEntry::Malformed(_))
    {
        entry = second;
        repaired = true;
    }
    DecodedEntry { text, repaired, entry }
}

fn read(text: &str) -> TranscriptEntry {
    if text.trim_ascii().is_empty() {
        return TranscriptEntry::Blank;
    }
    let kind = match tag::member(text, "type") {
        Ok(Some(kind)) => kind,
        Ok(None) => return malformed(None, "a JSON object without `type`".to_owned()),
        Err(error) => return malformed(None, lenient::reason(&error)),
    };
    let entry = match &*kind {
        "user" => serde_json::from_str(text).map(TranscriptEntry::User),
        "assistant" => serde_json::from_str(text).map(TranscriptEntry::Assistant),
        "attachment" => serde_json::from_str(text).map(TranscriptEntry::Attachment),
        "system" => serde_json::from_str(text).map(TranscriptEntry::System),
        "queue-operation" => serde_json::from_str(text).map(TranscriptEntry::QueueOperation),
        "last-prompt" => serde_json::from_str(text).map(TranscriptEntry::LastPrompt),
        "mode" => serde_json::from_str(text).map(TranscriptEntry::Mode),
        "summary" => serde_json::from_str(text).map(TranscriptEntry::Summary),
        "custom-title" => serde_json::from_str(text).map(TranscriptEntry::CustomTitle),
        "ai-title" => serde_json::from_str(text).map(TranscriptEntry::AiTitle),
        "file-history-snapshot" => serde_json::from_str(text).map(TranscriptEntry::FileHistorySnapshot),
        _ => {
            return TranscriptEntry::Unknown(Unknown {
                tag: kind.into_owned(),
                request_id: RequestId::Missing,
            });
        }
    };
    entry.unwrap_or_else(|error| malformed(Some(kind.into_owned()), lenient::reason(&error)))
}

fn malformed(tag: Option<String>, reason: String) -> TranscriptEntry {
    TranscriptEntry::Malformed(Malformed { tag, reason, request_id: RequestId::Missing })
}
