//! Stream events: the API's own events while a message is written.
//!
//! Deltas are nine tenths of all lines, so this is the one message that borrows from its line.
//! The rule: an event or delta of an unknown type is kept whole at its own level.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::block::Block;
use crate::ids::Uuid;
use crate::lenient;
use crate::message::{ApiMessage, StopReason};
use crate::raw::Raw;
use crate::tag;
use crate::usage::Usage;

/// One event of the API's stream.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamEvent<'a> {
    /// The event.
    pub event: ApiEvent<'a>,
    /// The CLI's session.
    pub session_id: Option<Cow<'a, str>>,
    /// The subagent's call it belongs to; subagents have not been seen to stream.
    pub parent_tool_use_id: Option<Cow<'a, str>>,
    /// This line's id.
    pub uuid: Option<Cow<'a, str>>,
    /// Time to the first token, on `message_start`.
    pub ttft_ms: Option<u64>,
    /// What only newer CLIs send, when any of it is there.
    pub more: Option<Box<StreamEventMore>>,
}

/// What only newer CLIs send with a stream event.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StreamEventMore {
    /// The user message this answers.
    pub user_message_uuid: Option<Uuid>,
    /// All user messages this answers.
    pub user_message_uuids: Vec<Uuid>,
    /// The API message the event belongs to.
    pub api_message_id: Option<String>,
    /// How thinking is to be shown, unread.
    pub thinking_display: Option<String>,
    /// Blocks that will not be finished, unread.
    pub abandoned_blocks: Option<Raw>,
    /// Rows still owed, unread.
    pub owed_rows: Option<Raw>,
}

/// The API's event.
#[derive(Debug, Clone, PartialEq)]
pub enum ApiEvent<'a> {
    /// A message begins.
    MessageStart(Box<ApiMessage>),
    /// A block begins.
    ContentBlockStart {
        /// The block's place in the message.
        index: u64,
        /// The block, still empty.
        content_block: Box<Block>,
    },
    /// A block grows.
    ContentBlockDelta {
        /// The block's place in the message.
        index: u64,
        /// What is added.
        delta: Delta<'a>,
    },
    /// A block is complete. Its assistant line came before [basic/partial_all_blocks].
    ContentBlockStop {
        /// The block's place in the message.
        index: u64,
    },
    /// The message's end is known.
    MessageDelta(Box<MessageDelta>),
    /// The message is complete.
    MessageStop,
    /// The API is alive.
    Ping,
    /// The API failed in mid-stream.
    Error {
        /// The API's error object, unread.
        error: Option<Raw>,
    },
    /// An event of a type this version does not know.
    Unknown {
        /// Its `type`.
        tag: String,
        /// The event.
        raw: Raw,
    },
}

/// How a message ended.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MessageDelta {
    /// Why the model stopped.
    pub stop_reason: Option<StopReason>,
    /// The stop sequence it met.
    pub stop_sequence: Option<String>,
    /// The message's final usage.
    pub usage: Option<Usage>,
}

/// What is added to a block.
#[derive(Debug, Clone, PartialEq)]
pub enum Delta<'a> {
    /// Text.
    Text(Cow<'a, str>),
    /// Thinking.
    Thinking(Cow<'a, str>),
    /// The thinking's signature.
    Signature(Cow<'a, str>),
    /// A piece of the tool input's JSON text; only all pieces together are JSON.
    InputJson(Cow<'a, str>),
    /// A citation, unread.
    Citations(Raw),
    /// A delta of a type this version does not know.
    Unknown {
        /// Its `type`.
        tag: String,
        /// The delta.
        raw: Raw,
    },
}

impl<'a> StreamEvent<'a> {
    /// Reads a `stream_event` line of any form.
    pub(crate) fn read(text: &'a str) -> Result<Self, serde_json::Error> {
        #[derive(Deserialize)]
        struct Line<'a> {
            #[serde(borrow)]
            event: &'a RawValue,
            #[serde(borrow, default, deserialize_with = "lenient::optional_text")]
            session_id: Option<Cow<'a, str>>,
            #[serde(borrow, default, deserialize_with = "lenient::optional_text")]
            parent_tool_use_id: Option<Cow<'a, str>>,
            #[serde(borrow, default, deserialize_with = "lenient::optional_text")]
            uuid: Option<Cow<'a, str>>,
            #[serde(default, deserialize_with = "lenient::optional_count")]
            ttft_ms: Option<u64>,
            user_message_uuid: Option<Uuid>,
            #[serde(default, deserialize_with = "lenient::or_default")]
            user_message_uuids: Vec<Uuid>,
            api_message_id: Option<String>,
            #[serde(default, deserialize_with = "crate::lenient::or_default")]
            thinking_display: Option<String>,
            abandoned_blocks: Option<Raw>,
            owed_rows: Option<Raw>,
        }
        let line: Line<'a> = serde_json::from_str(text)?;
        let more = StreamEventMore {
            user_message_uuid: line.user_message_uuid,
            user_message_uuids: line.user_message_uuids,
            api_message_id: line.api_message_id,
            thinking_display: line.thinking_display,
            abandoned_blocks: line.abandoned_blocks,
            owed_rows: line.owed_rows,
        };
        Ok(Self {
            event: ApiEvent::read(line.event)?,
            session_id: line.session_id,
            parent_tool_use_id: line.parent_tool_use_id,
            uuid: line.uuid,
            ttft_ms: line.ttft_ms,
            more: (more != StreamEventMore::default()).then(|| Box::new(more)),
        })
    }

    /// The same event, free of its line.
    pub fn into_owned(self) -> StreamEvent<'static> {
        StreamEvent {
            event: self.event.into_owned(),
            session_id: self.session_id.map(owned),
            parent_tool_use_id: self.parent_tool_use_id.map(owned),
            uuid: self.uuid.map(owned),
            ttft_ms: self.ttft_ms,
            more: self.more,
        }
    }
}

impl<'a> ApiEvent<'a> {
    fn read(raw: &'a RawValue) -> Result<Self, serde_json::Error> {
        #[derive(Deserialize)]
        struct MessageStart {
            message: Box<ApiMessage>,
        }
        #[derive(Deserialize)]
        struct BlockStart {
            #[serde(deserialize_with = "lenient::count")]
            index: u64,
            content_block: Box<Block>,
        }
        #[derive(Deserialize)]
        struct BlockDelta<'a> {
            #[serde(deserialize_with = "lenient::count")]
            index: u64,
            #[serde(borrow)]
            delta: &'a RawValue,
        }
        #[derive(Deserialize)]
        struct BlockStop {
            #[serde(deserialize_with = "lenient::count")]
            index: u64,
        }
        #[derive(Deserialize)]
        struct MessageEnd {
            delta: Option<MessageEndDelta>,
            usage: Option<Usage>,
        }
        #[derive(Default, Deserialize)]
        struct MessageEndDelta {
            stop_reason: Option<StopReason>,
            stop_sequence: Option<String>,
        }
        #[derive(Deserialize)]
        struct Failure {
            error: Option<Raw>,
        }

        let text = raw.get();
        let tag = required_tag(text, "the event has no `type`")?;
        Ok(match &*tag {
            "message_start" => Self::MessageStart(serde_json::from_str::<MessageStart>(text)?.message),
            "content_block_start" => {
                let start: BlockStart = serde_json::from_str(text)?;
                Self::ContentBlockStart { index: start.index, content_block: start.content_block }
            }
            "content_block_delta" => {
                let grown: BlockDelta<'a> = serde_json::from_str(text)?;
                Self::ContentBlockDelta { index: grown.index, delta: Delta::read(grown.delta)? }
            }
            "content_block_stop" => {
                Self::ContentBlockStop { index: serde_json::from_str::<BlockStop>(text)?.index }
            }
            "message_delta" => {
                let end: MessageEnd = serde_json::from_str(text)?;
                let delta = end.delta.unwrap_or_default();
                Self::MessageDelta(Box::new(MessageDelta {
                    stop_reason: delta.stop_reason,
                    stop_sequence: delta.stop_sequence,
                    usage: end.usage,
                }))
            }
            "message_stop" => Self::MessageStop,
            "ping" => Self::Ping,
            "error" => Self::Error { error: serde_json::from_str::<Failure>(text)?.error },
            _ => Self::Unknown { tag: tag.into_owned(), raw: raw.into() },
        })
    }

    /// The same event, free of its line.
    pub fn into_owned(self) -> ApiEvent<'static> {
        match self {
            Self::MessageStart(message) => ApiEvent::MessageStart(message),
            Self::ContentBlockStart { index, content_block } => {
                ApiEvent::ContentBlockStart { index, content_block }
            }
            Self::ContentBlockDelta { index, delta } => {
                ApiEvent::ContentBlockDelta { index, delta: delta.into_owned() }
            }
            Self::ContentBlockStop { index } => ApiEvent::ContentBlockStop { index },
            Self::MessageDelta(delta) => ApiEvent::MessageDelta(delta),
            Self::MessageStop => ApiEvent::MessageStop,
            Self::Ping => ApiEvent::Ping,
            Self::Error { error } => ApiEvent::Error { error },
            Self::Unknown { tag, raw } => ApiEvent::Unknown { tag, raw },
        }
    }
}

impl<'a> Delta<'a> {
    fn read(raw: &'a RawValue) -> Result<Self, serde_json::Error> {
        #[derive(Deserialize)]
        struct Text<'a> {
            #[serde(borrow)]
            text: Cow<'a, str>,
        }
        #[derive(Deserialize)]
        struct Thinking<'a> {
            #[serde(borrow)]
            thinking: Cow<'a, str>,
        }
        #[derive(Deserialize)]
        struct Signature<'a> {
            #[serde(borrow)]
            signature: Cow<'a, str>,
        }
        #[derive(Deserialize)]
        struct InputJson<'a> {
            #[serde(borrow)]
            partial_json: Cow<'a, str>,
        }
        #[derive(Deserialize)]
        struct Citations {
            citation: Raw,
        }

        let text = raw.get();
        let tag = required_tag(text, "the delta has no `type`")?;
        Ok(match &*tag {
            "text_delta" => Self::Text(serde_json::from_str::<Text<'a>>(text)?.text),
            "thinking_delta" => Self::Thinking(serde_json::from_str::<Thinking<'a>>(text)?.thinking),
            "signature_delta" => Self::Signature(serde_json::from_str::<Signature<'a>>(text)?.signature),
            "input_json_delta" => Self::InputJson(serde_json::from_str::<InputJson<'a>>(text)?.partial_json),
            "citations_delta" => Self::Citations(serde_json::from_str::<Citations>(text)?.citation),
            _ => Self::Unknown { tag: tag.into_owned(), raw: raw.into() },
        })
    }

    /// The same delta, free of its line.
    pub fn into_owned(self) -> Delta<'static> {
        match self {
            Self::Text(text) => Delta::Text(owned(text)),
            Self::Thinking(text) => Delta::Thinking(owned(text)),
            Self::Signature(text) => Delta::Signature(owned(text)),
            Self::InputJson(text) => Delta::InputJson(owned(text)),
            Self::Citations(raw) => Delta::Citations(raw),
            Self::Unknown { tag, raw } => Delta::Unknown { tag, raw },
        }
    }
}

fn required_tag<'a>(text: &'a str, complaint: &'static str) -> Result<Cow<'a, str>, serde_json::Error> {
    tag::inner(text)?.ok_or_else(|| serde::de::Error::custom(complaint))
}

fn owned(text: Cow<'_, str>) -> Cow<'static, str> {
    Cow::Owned(text.into_owned())
}
