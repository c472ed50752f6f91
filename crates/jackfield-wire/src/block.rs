//! Content blocks, read one by one.
//!
//! A block of an unknown type, or a known one that does not fit, harms nothing but itself. The
//! rule: the two are kept apart, and both keep their text.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::ids::ToolUseId;
use crate::lenient;
use crate::raw::Raw;
use crate::repair;
use crate::tag;

/// One content block of an API message.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// Text.
    Text(TextBlock),
    /// Thinking.
    Thinking(ThinkingBlock),
    /// Thinking the API encrypted.
    RedactedThinking(RedactedThinkingBlock),
    /// A tool call.
    ToolUse(ToolUseBlock),
    /// A call of one of the API's own tools.
    ServerToolUse(ToolUseBlock),
    /// The result of a tool that ran on the API's side.
    ServerToolResult(ToolResultBlock),
    /// A tool's result.
    ToolResult(ToolResultBlock),
    /// An image.
    Image(ImageBlock),
    /// A document.
    Document(DocumentBlock),
    /// A block of a type this version does not know.
    Unknown {
        /// Its `type`.
        tag: String,
        /// The block.
        raw: Raw,
    },
    /// A block of a known type whose body does not fit.
    Malformed {
        /// Its `type`; empty when it has none.
        tag: String,
        /// What did not fit.
        reason: String,
        /// The block.
        raw: Raw,
    },
}

/// Text.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct TextBlock {
    /// The text.
    pub text: String,
    /// Citations, unread.
    pub citations: Option<Raw>,
}

/// Thinking.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ThinkingBlock {
    /// The thinking; may be empty when the API withholds it.
    pub thinking: String,
    /// The API's signature.
    #[serde(default)]
    pub signature: String,
}

/// Encrypted thinking.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct RedactedThinkingBlock {
    /// The encrypted text.
    #[serde(default)]
    pub data: String,
}

/// A tool call.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ToolUseBlock {
    /// The call.
    pub id: ToolUseId,
    /// The tool's name as the model called it (`Task` and `Agent` are one tool).
    pub name: String,
    /// The tool's input, unread.
    pub input: Raw,
}

/// A tool's result.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ToolResultBlock {
    /// The call it answers.
    pub tool_use_id: ToolUseId,
    /// Text or blocks, to be read as [`Content`]; absent for tools without output. Unread, so that
    /// results inside results cannot take the stack.
    pub content: Option<Raw>,
    /// Whether the tool failed; absent means no.
    pub is_error: Option<bool>,
}

/// An image.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ImageBlock {
    /// Where its bytes are.
    pub source: Source,
}

/// A document.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct DocumentBlock {
    /// Where its bytes are.
    pub source: Source,
    /// Its title.
    pub title: Option<String>,
    /// What it is about.
    pub context: Option<String>,
}

/// Where the bytes of an image or a document are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Source {
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
    /// Plain text in the line (documents only).
    Text {
        /// The text's media type.
        media_type: String,
        /// The text.
        data: String,
    },
    /// A file the API already has.
    File {
        /// The file.
        file_id: String,
    },
}

/// Content: plain text, or blocks.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// Plain text.
    Text(String),
    /// Blocks.
    Blocks(Vec<Block>),
}

impl Content {
    /// The blocks; plain text is one text block.
    pub fn into_blocks(self) -> Vec<Block> {
        match self {
            Self::Text(text) => vec![Block::Text(TextBlock { text, citations: None })],
            Self::Blocks(blocks) => blocks,
        }
    }

    /// All text in it, joined without a separator.
    pub fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Blocks(blocks) => blocks
                .iter()
                .filter_map(|block| match block {
                    Block::Text(block) => Some(block.text.as_str()),
                    _ => None,
                })
                .collect(),
        }
    }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::read(<&RawValue>::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Block {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::read(<&RawValue>::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl Content {
    fn read(raw: &RawValue) -> Result<Self, serde_json::Error> {
        let text = raw.get();
        match text.as_bytes().first() {
            Some(b'"') => serde_json::from_str(text).map(Self::Text),
            Some(b'[') => {
                let blocks: Vec<&RawValue> = serde_json::from_str(text)?;
                blocks.into_iter().map(Block::read).collect::<Result<_, _>>().map(Self::Blocks)
            }
            _ => Err(serde_json::Error::custom("expected a string or a list of content blocks")),
        }
    }
}

impl Block {
    /// Fails only when the line holds lone surrogates: it is then repaired and read again, while a
    /// malformed block would be the end of the matter.
    fn read(raw: &RawValue) -> Result<Self, serde_json::Error> {
        let (tag, error) = match tag::inner(raw.get()) {
            Ok(Some(tag)) => match Self::read_as(&tag, raw) {
                Some(Ok(block)) => return Ok(block),
                Some(Err(error)) => (tag.into_owned(), error),
                None => return Ok(Self::Unknown { tag: tag.into_owned(), raw: raw.into() }),
            },
            Ok(None) => (String::new(), serde_json::Error::custom("no `type`")),
            Err(error) => (String::new(), error),
        };
        if repair::has_lone_surrogate(raw.get()) {
            return Err(error);
        }
        Ok(Self::Malformed { tag, reason: lenient::reason(&error), raw: raw.into() })
    }

    /// Reads the block of that type; `None` when the type is unknown.
    fn read_as(tag: &str, raw: &RawValue) -> Option<Result<Self, serde_json::Error>> {
        let text = raw.get();
        Some(match tag {
            "text" => serde_json::from_str(text).map(Self::Text),
            "thinking" => serde_json::from_str(text).map(Self::Thinking),
            "redacted_thinking" => serde_json::from_str(text).map(Self::RedactedThinking),
            "tool_use" => serde_json::from_str(text).map(Self::ToolUse),
            "server_tool_use" | "mcp_tool_use" => serde_json::from_str(text).map(Self::ServerToolUse),
            "tool_result" => serde_json::from_str(text).map(Self::ToolResult),
            "image" => serde_json::from_str(text).map(Self::Image),
            "document" => serde_json::from_str(text).map(Self::Document),
            // `web_search_tool_result`, `code_execution_tool_result`, `mcp_tool_result` and their like.
            tag if tag.ends_with("_tool_result") => serde_json::from_str(text).map(Self::ServerToolResult),
            _ => return None,
        })
    }
}

impl<'de> Deserialize<'de> for Source {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Fields {
            r#type: String,
            media_type: Option<String>,
            data: Option<String>,
            url: Option<String>,
            file_id: Option<String>,
        }
        let fields = Fields::deserialize(deserializer)?;
        let missing = D::Error::missing_field;
        match fields.r#type.as_str() {
            "base64" => Ok(Self::Base64 {
                media_type: fields.media_type.ok_or_else(|| missing("media_type"))?,
                data: fields.data.ok_or_else(|| missing("data"))?,
            }),
            "text" => Ok(Self::Text {
                media_type: fields.media_type.ok_or_else(|| missing("media_type"))?,
                data: fields.data.ok_or_else(|| missing("data"))?,
            }),
            "url" => Ok(Self::Url { url: fields.url.ok_or_else(|| missing("url"))? }),
            "file" => Ok(Self::File { file_id: fields.file_id.ok_or_else(|| missing("file_id"))? }),
            other => Err(D::Error::custom(format_args!("unknown source type `{other}`"))),
        }
    }
}
