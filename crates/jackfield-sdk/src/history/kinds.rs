//! What the entries of a conversation are to somebody who follows it.
//!
//! It reads single entries and the end of a branch; it tells nothing. The one rule it keeps: the CLI's words for
//! the model are not a person's, however the file puts them into the user's mouth.

use jackfield_api::Timestamp;
use jackfield_wire::{Block, Content, ToolUseId, TranscriptEntry, UserEntry};

use crate::history::known::Known;
use crate::history::lines;
use crate::history::summary::milliseconds;

/// What a command printed begins so.
pub(super) const OUTPUT: &str = "<local-command-stdout>";

/// What a message in the user's mouth is.
pub(super) enum UserKind {
    /// Somebody said it.
    Prompt,
    /// A command printed it.
    Output,
    /// The turn was stopped.
    Interrupt,
    /// Background work ended, and a turn begins for it.
    Task,
    /// The CLI's own words, as the live stream shows them.
    Words,
    /// For the model only.
    Hidden,
}

pub(super) fn kind(entry: &UserEntry, text: &str) -> UserKind {
    let begins = |words: &str| text.trim_start().starts_with(words);
    if entry.is_meta {
        UserKind::Hidden
    } else if entry.is_compact_summary {
        UserKind::Words
    } else if begins("[Request interrupted by user") {
        UserKind::Interrupt
    } else if begins(OUTPUT) {
        UserKind::Output
    } else if begins("<task-notification>") {
        UserKind::Task
    } else if begins("<bash-") || begins("<local-command-") {
        UserKind::Words
    } else {
        UserKind::Prompt
    }
}

/// The model that speaks next, for each entry.
pub(super) fn models(branch: &[TranscriptEntry]) -> Vec<String> {
    let mut next = String::new();
    let mut models: Vec<String> = branch
        .iter()
        .rev()
        .map(|entry| {
            if let TranscriptEntry::Assistant(entry) = entry
                && entry.message.model != jackfield_wire::Assistant::SYNTHETIC
            {
                next.clone_from(&entry.message.model);
            }
            next.clone()
        })
        .collect();
    models.reverse();
    models
}

/// Whether the last turn has come to its end: the last word is not a prompt's or a tool's.
pub(super) fn is_ended(branch: &[TranscriptEntry]) -> bool {
    let last = branch.iter().rev().find_map(|entry| match entry {
        TranscriptEntry::Assistant(entry) => {
            Some(!entry.message.content.iter().any(|block| matches!(block, Block::ToolUse(_))))
        }
        TranscriptEntry::User(entry) if tool_result(&entry.message.content).is_some() => Some(false),
        TranscriptEntry::User(entry) => {
            let text = entry.message.content.text();
            match kind(entry, &text) {
                UserKind::Hidden | UserKind::Words => None,
                UserKind::Output | UserKind::Interrupt => Some(true),
                UserKind::Task => Some(false),
                // A command without output has done what it does.
                UserKind::Prompt => Some(is_command(&text)),
            }
        }
        TranscriptEntry::System(entry) if entry.subtype.as_deref() == Some("local_command") => Some(true),
        TranscriptEntry::Attachment(entry) => lines::joined(entry).map(|_| false),
        _ => None,
    });
    last.unwrap_or(true)
}

/// Whether an entry alone makes a conversation.
pub(super) fn speaks(entry: &TranscriptEntry) -> bool {
    match entry {
        TranscriptEntry::User(entry) => !entry.is_meta,
        TranscriptEntry::Assistant(_) => true,
        TranscriptEntry::Attachment(entry) => lines::joined(entry).is_some(),
        _ => false,
    }
}

/// Leaves in an entry what a host does not know; whether that is anything. What local commands did is not told
/// again: in 2.1.197 their prompts have other names on disk, so nobody can tell which of them are known.
pub(super) fn is_news(known: &Known, entry: &mut TranscriptEntry) -> bool {
    match entry {
        TranscriptEntry::User(entry) => match tool_result(&entry.message.content) {
            Some(call) if known.has_call(call.as_str()) => {
                !known.found_results(&entry.message.content).is_empty()
            }
            Some(_) => true,
            None => {
                let text = entry.message.content.text();
                let told = match kind(entry, &text) {
                    UserKind::Prompt => !is_command(&text),
                    UserKind::Interrupt => true,
                    UserKind::Output | UserKind::Task | UserKind::Words | UserKind::Hidden => false,
                };
                told && !entry.uuid.as_ref().is_some_and(|uuid| known.has_message(uuid))
            }
        },
        TranscriptEntry::Assistant(entry) => {
            let message = &mut entry.message;
            message.content.retain(|block| !known.has_block(&message.id, block));
            !message.content.is_empty()
        }
        TranscriptEntry::Attachment(entry) => {
            let joined = lines::joined(entry);
            joined.is_some_and(|joined| !joined.source_uuid.is_some_and(|uuid| known.has_message(&uuid)))
        }
        _ => false,
    }
}

/// The CLI's own wording of a slash command.
pub(super) fn is_command(text: &str) -> bool {
    text.trim_start().starts_with("<command-")
}

pub(super) fn tool_result(content: &Content) -> Option<ToolUseId> {
    let Content::Blocks(blocks) = content else { return None };
    blocks.iter().find_map(|block| match block {
        Block::ToolResult(result) => Some(result.tool_use_id.clone()),
        _ => None,
    })
}

pub(super) fn time(entry: &TranscriptEntry) -> Option<Timestamp> {
    let text = match entry {
        TranscriptEntry::User(entry) => &entry.timestamp,
        TranscriptEntry::Assistant(entry) => &entry.timestamp,
        TranscriptEntry::System(entry) => &entry.timestamp,
        TranscriptEntry::Attachment(entry) => &entry.timestamp,
        _ => return None,
    };
    milliseconds(text.as_deref()?)
}
