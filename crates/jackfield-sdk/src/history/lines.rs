//! Entries of a transcript file as the lines that the CLI would have written to its output.
//!
//! Between the two the CLI changes names and leaves things out; here they are changed back. What is not in the
//! file (that a turn begins, how it ended) is made up from what is known. The one rule it keeps: nothing is
//! decided here, only put into the other form.

use std::borrow::Cow;

use jackfield_wire::{
    Assistant, AssistantEntry, AttachmentEntry, Content, Decoded, Form, Inbound, Raw, SystemEntry, ToolUseId,
    Usage, User, UserEntry, UserMessage, Uuid, decode,
};
use serde::Deserialize;
use serde_json::{Value, json};

/// Whether a message repeats what the host said, or is the CLI's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Voice {
    Prompt,
    Cli,
}

/// How a turn ended, as far as its entries tell.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Outcome {
    Completed,
    Interrupted,
    /// The API failed, with these words.
    Failed(String),
}

/// What a turn has taken.
#[derive(Debug, Default)]
pub(super) struct Figures {
    pub(super) usage: Usage,
    pub(super) messages: u64,
    pub(super) milliseconds: u64,
}

pub(super) fn assistant(entry: AssistantEntry, parent: Option<&ToolUseId>) -> Decoded<'static> {
    line(Inbound::Assistant(Box::new(Assistant {
        message: entry.message,
        parent_tool_use_id: parent.cloned(),
        session_id: entry.session_id,
        uuid: entry.uuid,
        request_id: entry.request_id,
        is_api_error_message: entry.is_api_error_message,
        timestamp: entry.timestamp,
        error: None,
        tool_use_meta: Vec::new(),
        subagent_type: None,
        task_description: None,
        agent_id: None,
        user_message_uuid: None,
        user_message_uuids: Vec::new(),
        supersedes: None,
        aborted: false,
        context_usage: None,
        usage_report: None,
        resume_reason: None,
        thinking_duration_ms: None,
        api_error_status: None,
        api_error_type: None,
        local_command_source: None,
        local_command_run: None,
    })))
}

pub(super) fn user(entry: UserEntry, parent: Option<&ToolUseId>, voice: Voice) -> Decoded<'static> {
    said(User {
        parent_tool_use_id: parent.cloned(),
        session_id: entry.session_id,
        timestamp: entry.timestamp,
        tool_use_result: entry.tool_use_result,
        is_replay: voice == Voice::Prompt,
        ..plain(entry.message.content, entry.uuid)
    })
}

/// A prompt that joined a running turn: the CLI adds it to the conversation instead of saying it.
#[derive(Debug, Deserialize)]
pub(super) struct Joined {
    prompt: Content,
    pub(super) source_uuid: Option<Uuid>,
}

/// Reads such an addition; there are many of other kinds.
pub(super) fn joined(entry: &AttachmentEntry) -> Option<Joined> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Kind {
        r#type: String,
        command_mode: Option<String>,
    }
    let kind: Kind = entry.attachment.parse().ok()?;
    let said = kind.command_mode.as_deref().is_none_or(|mode| mode == "prompt");
    if kind.r#type == "queued_command" && said { entry.attachment.parse().ok() } else { None }
}

pub(super) fn joined_prompt(joined: Joined) -> Decoded<'static> {
    said(plain(joined.prompt, joined.source_uuid))
}

/// What a command printed, with the tags around it.
pub(super) fn command_output(text: String) -> Decoded<'static> {
    said(plain(Content::Text(text), None))
}

/// The mark of a compaction; its figures have other names on disk.
pub(super) fn compaction(entry: &SystemEntry) -> Decoded<'static> {
    #[derive(Default, Deserialize)]
    #[serde(default, rename_all = "camelCase")]
    struct Metadata {
        trigger: Option<String>,
        pre_tokens: Option<u64>,
        post_tokens: Option<u64>,
    }
    let told: Option<Metadata> = entry.compact_metadata.as_ref().and_then(|raw| raw.parse().ok());
    let told = told.unwrap_or_default();
    made(&json!({
        "type": "system", "subtype": "compact_boundary",
        "compact_metadata": {
            "trigger": told.trigger.as_deref().unwrap_or("manual"), "pre_tokens": told.pre_tokens.unwrap_or(0),
            "post_tokens": told.post_tokens,
        },
    }))
}

/// The beginning of a turn.
pub(super) fn beginning(
    model: &str,
    cwd: &str,
    mode: &str,
    version: &str,
    session: &str,
) -> Decoded<'static> {
    made(&json!({
        "type": "system", "subtype": "init", "session_id": session, "model": model, "cwd": cwd,
        "permissionMode": mode, "claude_code_version": version, "tools": [], "mcp_servers": [],
        "slash_commands": [],
    }))
}

/// The end of a turn. What it cost is not in the file.
pub(super) fn end(outcome: &Outcome, figures: &Figures) -> Decoded<'static> {
    let (subtype, result, reason) = match outcome {
        Outcome::Completed => ("success", None, "completed"),
        Outcome::Interrupted => ("error_during_execution", None, "aborted_streaming"),
        Outcome::Failed(words) => ("success", Some(words), "api_error"),
    };
    let usage = &figures.usage;
    made(&json!({
        "type": "result", "subtype": subtype, "is_error": *outcome != Outcome::Completed, "result": result,
        "terminal_reason": reason, "num_turns": figures.messages, "duration_ms": figures.milliseconds,
        "total_cost_usd": 0.0,
        "usage": {
            "input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens,
            "cache_creation_input_tokens": usage.cache_creation_input_tokens,
            "cache_read_input_tokens": usage.cache_read_input_tokens,
        },
    }))
}

/// The subagent that a call started, as its result names it.
pub(super) fn agent_of(result: Option<&Raw>) -> Option<String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Started {
        agent_id: String,
    }
    result?.parse::<Started>().ok().map(|started| started.agent_id)
}

/// What somebody said, with nothing else known of it.
fn plain(content: Content, uuid: Option<Uuid>) -> User {
    User {
        message: UserMessage { content },
        parent_tool_use_id: None,
        session_id: None,
        uuid,
        timestamp: None,
        tool_use_result: None,
        is_replay: true,
        is_synthetic: false,
        subagent_type: None,
        task_description: None,
        agent_id: None,
        tool_result_meta: Vec::new(),
        file_attachments: None,
        origin: None,
    }
}

fn said(user: User) -> Decoded<'static> {
    line(Inbound::User(Box::new(user)))
}

fn made(value: &Value) -> Decoded<'static> {
    let text = value.to_string();
    let decoded = decode(text.as_bytes());
    let message = match decoded.message {
        Inbound::System(system) => Inbound::System(system),
        Inbound::Result(result) => Inbound::Result(result),
        // The texts above are of these two kinds.
        _ => Inbound::Blank,
    };
    line(message)
}

fn line(message: Inbound<'static>) -> Decoded<'static> {
    Decoded { text: Cow::Borrowed(""), repaired: false, form: Form::Any, message }
}
