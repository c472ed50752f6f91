//! What a host has of a conversation already, so that only the rest of the CLI's record is told.
//!
//! It compares names and words, never times. The one rule it keeps: what is known is not told again, and what
//! cannot be compared counts as unknown.

use std::collections::{HashMap, HashSet};

use jackfield_api::TurnNumber;
use jackfield_api::conversation::ItemOutcome;
use jackfield_api::snapshot::{Item, ItemContent};
use jackfield_api::tool::ToolStatus;
use jackfield_wire::{Block, Content, MessageId, TranscriptEntry, Uuid};

use crate::history::lines;

/// What a host has of a conversation, gathered from its items.
///
/// The items of the last turn are enough where the CLI's record has its prompt; otherwise all of them are needed.
#[derive(Debug, Clone, Default)]
pub struct Known {
    pub(super) last_turn: Option<TurnNumber>,
    uuids: HashSet<String>,
    texts: HashSet<(String, String)>,
    calls: HashMap<String, Ending>,
}

/// How a call that is known ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// With its result.
    Result,
    /// Without: the run was over before.
    Lost,
}

impl Known {
    fn add(&mut self, item: &Item) {
        self.last_turn = self.last_turn.max(item.turn);
        match &item.content {
            ItemContent::UserMessage(message) => {
                self.uuids.extend(message.uuid.as_ref().map(|uuid| uuid.as_str().to_owned()));
            }
            ItemContent::Complete(complete) => {
                let last = complete.data.last_message_uuid.as_ref();
                self.uuids.extend(last.map(|uuid| uuid.as_str().to_owned()));
            }
            ItemContent::Text(text) | ItemContent::Thinking(text)
                if text.outcome == Some(ItemOutcome::Complete) =>
            {
                let message = text.message_id.as_ref().map_or("", |id| id.as_str());
                self.texts.insert((message.to_owned(), text.text.clone()));
            }
            ItemContent::Tool(tool) => {
                let lost = tool.tool_status == ToolStatus::Running
                    || (tool.tool_status == ToolStatus::Error && tool.output.is_none());
                let ending = if lost { Ending::Lost } else { Ending::Result };
                self.calls.insert(tool.tool_call_id.as_str().to_owned(), ending);
            }
            _ => {}
        }
    }

    /// How many entries of a branch are known because a later one is.
    pub(super) fn reaches(&self, branch: &[TranscriptEntry]) -> usize {
        let known = |entry: &TranscriptEntry| {
            let uuid = match entry {
                TranscriptEntry::User(entry) => entry.uuid.as_ref(),
                TranscriptEntry::Assistant(entry) => entry.uuid.as_ref(),
                // What a command printed is the last message of its turn.
                TranscriptEntry::System(entry) => entry.uuid.as_ref(),
                TranscriptEntry::Attachment(entry) => {
                    let joined = lines::joined(entry).and_then(|joined| joined.source_uuid);
                    return joined.is_some_and(|uuid| self.has_message(&uuid));
                }
                _ => None,
            };
            uuid.is_some_and(|uuid| self.has_message(uuid))
        };
        branch.iter().rposition(known).map_or(0, |at| at + 1)
    }

    pub(super) fn has_message(&self, uuid: &Uuid) -> bool {
        self.uuids.contains(uuid.as_str())
    }

    /// Whether a block of the model's is known.
    pub(super) fn has_block(&self, message: &MessageId, block: &Block) -> bool {
        let said = |words: &str| {
            // An empty block is told nowhere.
            words.is_empty() || self.texts.contains(&(message.as_str().to_owned(), words.to_owned()))
        };
        match block {
            Block::Text(block) => said(&block.text),
            Block::Thinking(block) => said(&block.thinking),
            Block::ToolUse(block) | Block::ServerToolUse(block) => self.has_call(block.id.as_str()),
            _ => false,
        }
    }

    pub(super) fn has_call(&self, id: &str) -> bool {
        self.calls.contains_key(id)
    }

    /// The results in a message whose calls were told as lost: the call, and the result's words.
    pub(super) fn found_results(&self, content: &Content) -> Vec<(String, String)> {
        let Content::Blocks(blocks) = content else { return Vec::new() };
        let found = |block: &Block| match block {
            Block::ToolResult(result) => {
                let id = result.tool_use_id.as_str();
                let words = || result.content.as_ref()?.parse::<Content>().ok().map(|content| content.text());
                (self.calls.get(id) == Some(&Ending::Lost))
                    .then(|| (id.to_owned(), words().unwrap_or_default()))
            }
            _ => None,
        };
        blocks.iter().filter_map(found).collect()
    }
}

impl<'a> FromIterator<&'a Item> for Known {
    fn from_iter<T: IntoIterator<Item = &'a Item>>(items: T) -> Self {
        let mut known = Self::default();
        for item in items {
            known.add(item);
        }
        known
    }
}
