//! The CLI's own record of a conversation, against our events.
//!
//! It reads the files as plain JSON and not by our own decoder, which would then judge itself. The one rule it keeps:
//! what the CLI has written down was told, exactly once, or was told to be lost.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use jackfield_api::conversation::{DropReason, ItemOutcome};
use jackfield_api::tool::ToolStatus;
use jackfield_api::{Body, Event, ItemId};
use serde_json::Value;

use super::violation::{Checked, holds};

/// Something that was said or called.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Piece {
    Text { message: String, text: String },
    Call(String),
    Prompt(String),
}

/// Compares the CLI's records of a session with its events. Gives how many pieces there were.
pub(super) fn compare(records: &Path, events: &[Event]) -> Checked<u64> {
    let told = told(events);
    let dropped = dropped(events);
    let mut compared = BTreeSet::new();
    for id in conversations(events) {
        for piece in written(&file(records, &id)) {
            let times = told.get(&piece).copied().unwrap_or_default();
            // A CLI that ends may have taken a prompt without a word; it is told as dropped with its run.
            let excused = times == 0 && matches!(&piece, Piece::Prompt(uuid) if dropped.contains(uuid));
            holds(times == 1 || excused, || {
                format!("{piece:?} is in the CLI's record {id} and was told {times} times")
            })?;
            compared.insert(piece);
        }
    }
    Ok(u64::try_from(compared.len()).unwrap_or(u64::MAX))
}

/// Prompts that were told to be gone with their run.
fn dropped(events: &[Event]) -> BTreeSet<String> {
    let dropped = events.iter().filter_map(|event| match &event.body {
        Body::Queue(queue) => Some(&queue.dropped),
        _ => None,
    });
    let gone = dropped.flatten().filter(|prompt| prompt.reason == DropReason::RunEnded);
    gone.filter_map(|prompt| Some(prompt.uuid.as_ref()?.as_str().to_owned())).collect()
}

/// What our events tell, and how often.
fn told(events: &[Event]) -> BTreeMap<Piece, u32> {
    let mut texts: BTreeMap<ItemId, (String, String)> = BTreeMap::new();
    let mut told: BTreeMap<Piece, u32> = BTreeMap::new();
    for event in events {
        let piece = match &event.body {
            Body::MessageChunk(chunk) => {
                let (message, text) = texts.entry(chunk.item_id).or_default();
                if let Some(id) = &chunk.message_id {
                    id.as_str().clone_into(message);
                }
                text.push_str(&chunk.text);
                continue;
            }
            Body::ItemEnded(end) if end.outcome == ItemOutcome::Complete => {
                let Some((message, text)) = texts.remove(&end.item_id) else { continue };
                Piece::Text { message, text }
            }
            // One whose input was streaming in when the host died is told as never called, and stays so.
            Body::ToolPreparing(tool) => {
                told.entry(Piece::Call(tool.tool_call_id.as_str().to_owned())).or_default();
                continue;
            }
            Body::ToolUpdate(tool) if tool.tool_status != ToolStatus::Running => {
                if let Some(times) = told.get_mut(&Piece::Call(tool.tool_call_id.as_str().to_owned())) {
                    *times = (*times).max(1);
                }
                continue;
            }
            Body::ToolCall(call) => Piece::Call(call.tool_call_id.as_str().to_owned()),
            Body::UserMessage(message) => match &message.uuid {
                Some(uuid) => Piece::Prompt(uuid.as_str().to_owned()),
                None => continue,
            },
            _ => continue,
        };
        *told.entry(piece).or_default() += 1;
    }
    told
}

/// The CLI's names of the conversations that a session had.
fn conversations(events: &[Event]) -> BTreeSet<String> {
    let named = |event: &Event| match &event.body {
        Body::RunStarted(start) => start.cli_session_id.clone(),
        Body::SessionStatus(status) => Some(status.cli_session_id.clone()),
        _ => None,
    };
    events.iter().filter_map(named).collect()
}

fn file(records: &Path, id: &str) -> PathBuf {
    let folders = fs::read_dir(records).into_iter().flatten().flatten();
    let mut files = folders.map(|folder| folder.path().join(format!("{id}.jsonl")));
    files.find(|file| file.is_file()).unwrap_or_default()
}

/// What stands in a record.
fn written(file: &Path) -> BTreeSet<Piece> {
    let text = fs::read(file).unwrap_or_default();
    let lines = text.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok());
    lines.flat_map(|line: Value| pieces(&line)).collect()
}

fn pieces(line: &Value) -> Vec<Piece> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let message = &line["message"];
    match line["type"].as_str() {
        // What the CLI puts into the model's mouth was never said.
        Some("assistant") if message["model"] != "<synthetic>" => {
            let piece = |block: &Value| match block["type"].as_str()? {
                "text" => Some(Piece::Text { message: text(&message["id"]), text: text(&block["text"]) }),
                "tool_use" => Some(Piece::Call(text(&block["id"]))),
                _ => None,
            };
            message["content"].as_array().into_iter().flatten().filter_map(piece).collect()
        }
        Some("user") if line["isMeta"] != true && is_said(&message["content"]) => {
            vec![Piece::Prompt(text(&line["uuid"]))]
        }
        _ => Vec::new(),
    }
}

/// Whether a user's message is a prompt of a client, and not a tool's result or the CLI's own words.
fn is_said(content: &Value) -> bool {
    let is_ours = |text: &Value| text.as_str().is_some_and(|text| text.starts_with("please "));
    is_ours(content)
        || content.as_array().is_some_and(|parts| parts.iter().any(|part| is_ours(&part["text"])))
}
