//! A prompt.
//!
//! It holds no paths and no commands of ours: `@path` and `/command` in its text are the CLI's
//! business. The rule: its role is `user`, and its content is text or at least one block, because
//! the CLI ends itself on other roles and on blocks of other forms [basic/image_block_bad].

use serde::{Deserialize, Serialize};

use crate::block::{Block, Content, Source};
use crate::ids::{ToolUseId, Uuid};
use crate::open_enum::open_enum;

open_enum! {
    /// When a prompt is to run.
    pub enum Priority {
        /// At once; aborts what is streaming [process/queued_priority].
        Now = "now",
        /// In its turn.
        Next = "next",
        /// After all others.
        Later = "later",
    }
}

/// A prompt.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Prompt {
    message: PromptMessage,
    /// Written as null: a host speaks on the main thread only.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_tool_use_id: Option<()>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uuid: Option<Uuid>,
    #[serde(skip_serializing_if = "Option::is_none")]
    priority: Option<Priority>,
    #[serde(rename = "shouldQuery", skip_serializing_if = "Option::is_none")]
    should_query: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_composed: Option<bool>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct PromptMessage {
    role: UserRole,
    content: PromptContent,
}

/// The only role the CLI accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum UserRole {
    User,
}

/// A prompt's content.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum PromptContent {
    /// Plain text.
    Text(String),
    /// Blocks.
    Blocks(PromptBlocks),
}

/// One or more blocks.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct PromptBlocks(Vec<PromptBlock>);

/// A block of a prompt.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum PromptBlock {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// An image.
    Image {
        /// Where its bytes are.
        source: ImageSource,
    },
    /// A document.
    Document {
        /// Where its bytes are.
        source: Source,
        /// Its title.
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// What it is about.
        #[serde(skip_serializing_if = "Option::is_none")]
        context: Option<String>,
    },
    /// A tool's result.
    ToolResult {
        /// The call it answers.
        tool_use_id: ToolUseId,
        /// The result's text.
        content: String,
        /// Whether the tool failed.
        #[serde(skip_serializing_if = "Option::is_none")]
        is_error: Option<bool>,
    },
}

/// Where an image's bytes are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ImageSource {
    /// In the line itself.
    Base64 {
        /// The bytes' media type.
        media_type: String,
        /// The bytes.
        data: String,
    },
    /// At an address the API fetches.
    Url {
        /// The address.
        url: String,
    },
}

impl PromptBlocks {
    /// One block.
    pub fn one(block: PromptBlock) -> Self {
        Self(vec![block])
    }

    /// These blocks; `None` when there is none.
    pub fn new(blocks: Vec<PromptBlock>) -> Option<Self> {
        (!blocks.is_empty()).then_some(Self(blocks))
    }

    /// The blocks.
    pub fn as_slice(&self) -> &[PromptBlock] {
        &self.0
    }
}

impl From<String> for PromptContent {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for PromptContent {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<PromptBlocks> for PromptContent {
    fn from(blocks: PromptBlocks) -> Self {
        Self::Blocks(blocks)
    }
}

impl Prompt {
    /// A prompt with this content and nothing else said.
    pub fn new(content: impl Into<PromptContent>) -> Self {
        Self {
            message: PromptMessage { role: UserRole::User, content: content.into() },
            parent_tool_use_id: Some(()),
            session_id: None,
            uuid: None,
            priority: None,
            should_query: None,
            client_composed: None,
        }
    }

    /// With an id, by which its replay, its turn and its file checkpoint are known. The CLI does
    /// not run a second prompt with the same one [basic/replay_user_messages].
    #[must_use]
    pub fn with_uuid(mut self, uuid: Uuid) -> Self {
        self.uuid = Some(uuid);
        self
    }

    /// With a priority.
    #[must_use]
    pub fn with_priority(mut self, priority: Priority) -> Self {
        self.priority = Some(priority);
        self
    }

    /// With a session id; the CLI takes any.
    #[must_use]
    pub fn with_session_id(mut self, session_id: impl Into<String>) -> Self {
        self.session_id = Some(session_id.into());
        self
    }

    /// As context only: no turn is run.
    #[must_use]
    pub fn as_context(mut self) -> Self {
        self.should_query = Some(false);
        self
    }

    /// Taken literally: no `@path`, no `/command` (newer CLIs).
    #[must_use]
    pub fn taken_literally(mut self) -> Self {
        self.client_composed = Some(true);
        self
    }

    /// The content.
    pub fn content(&self) -> &PromptContent {
        &self.message.content
    }

    /// The id.
    pub fn uuid(&self) -> Option<&Uuid> {
        self.uuid.as_ref()
    }

    /// The priority.
    pub fn priority(&self) -> Option<&Priority> {
        self.priority.as_ref()
    }

    /// Whether a turn is run for it.
    pub fn runs_a_turn(&self) -> bool {
        self.should_query != Some(false)
    }

    /// All text in it, joined without a separator.
    pub fn text(&self) -> String {
        match self.content() {
            PromptContent::Text(text) => text.clone(),
            PromptContent::Blocks(blocks) => blocks
                .as_slice()
                .iter()
                .filter_map(|block| match block {
                    PromptBlock::Text { text } => Some(text.as_str()),
                    _ => None,
                })
                .collect(),
        }
    }
}

impl Prompt {
    /// Reads a recorded prompt.
    pub(super) fn read(text: &str) -> Result<Self, serde_json::Error> {
        #[derive(Deserialize)]
        struct Line {
            message: Message,
            #[serde(default, deserialize_with = "crate::lenient::present")]
            parent_tool_use_id: Option<()>,
            session_id: Option<String>,
            uuid: Option<Uuid>,
            priority: Option<Priority>,
            #[serde(rename = "shouldQuery")]
            should_query: Option<bool>,
            client_composed: Option<bool>,
        }
        #[derive(Deserialize)]
        struct Message {
            role: UserRole,
            content: Content,
        }
        let line: Line = serde_json::from_str(text)?;
        let content = match line.message.content {
            Content::Text(text) => PromptContent::Text(text),
            Content::Blocks(blocks) => {
                let blocks = blocks.into_iter().map(PromptBlock::try_from).collect::<Result<_, _>>()?;
                // The CLI takes an empty list, too [basic/empty_user]; it just makes no sense to send.
                PromptContent::Blocks(PromptBlocks(blocks))
            }
        };
        Ok(Self {
            message: PromptMessage { role: line.message.role, content },
            parent_tool_use_id: line.parent_tool_use_id,
            session_id: line.session_id,
            uuid: line.uuid,
            priority: line.priority,
            should_query: line.should_query,
            client_composed: line.client_composed,
        })
    }
}

impl TryFrom<Block> for PromptBlock {
    type Error = serde_json::Error;

    fn try_from(block: Block) -> Result<Self, Self::Error> {
        match block {
            Block::Text(block) => Ok(Self::Text { text: block.text }),
            Block::Image(block) => match block.source {
                Source::Base64 { media_type, data } => {
                    Ok(Self::Image { source: ImageSource::Base64 { media_type, data } })
                }
                Source::Url { url } => Ok(Self::Image { source: ImageSource::Url { url } }),
                Source::Text { .. } | Source::File { .. } => {
                    Err(complaint("an image can only be base64 or url"))
                }
            },
            Block::Document(block) => {
                Ok(Self::Document { source: block.source, title: block.title, context: block.context })
            }
            Block::ToolResult(block) => Ok(Self::ToolResult {
                tool_use_id: block.tool_use_id,
                content: match block.content {
                    Some(content) => content.parse::<Content>()?.text(),
                    None => String::new(),
                },
                is_error: block.is_error,
            }),
            Block::Unknown { tag, .. } => Err(complaint(&format!("a prompt cannot hold a `{tag}` block"))),
            Block::Malformed { tag, reason, .. } => {
                Err(complaint(&format!("malformed `{tag}` block: {reason}")))
            }
            Block::Thinking(_)
            | Block::RedactedThinking(_)
            | Block::ToolUse(_)
            | Block::ServerToolUse(_)
            | Block::ServerToolResult(_) => {
                Err(complaint("a prompt cannot hold a block that only models write"))
            }
        }
    }
}

fn complaint(reason: &str) -> serde_json::Error {
    serde::de::Error::custom(reason)
}
