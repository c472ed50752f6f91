//! Names of things. Each is its own type, so that one cannot be passed for another.
//!
//! Numbers count within one session; strings came from the CLI or from a client and are only compared.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
        pub struct $name(#[cfg_attr(feature = "schema", ts(type = "string"))] pub Arc<str>);

        impl $name {
            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.into())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text.into())
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

macro_rules! number_id {
    ($(#[$doc:meta])* $name:ident($number:ty)) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
        pub struct $name(#[cfg_attr(feature = "schema", ts(type = "number"))] pub $number);

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

text_id!(
    /// A session of ours; it outlives the CLI's own session ids.
    SessionId
);
text_id!(
    /// An API message; several items may belong to one.
    MessageId
);
text_id!(
    /// A call of a tool, named by the model's side.
    ToolCallId
);
text_id!(
    /// Work that goes on beside the conversation: a subagent or a command in the background.
    TaskId
);
text_id!(
    /// A message in the CLI's own transcript: what to resume at, rewind to, or cancel.
    Uuid
);
text_id!(
    /// A dictation, named by the client that speaks.
    DictationId
);
text_id!(
    /// What a folder brings, in 64 hexadecimal digits: the same only if all of it is the same.
    Fingerprint
);

number_id!(
    /// An event's number: 1, 2, 3 … per session, without a hole.
    Seq(u64)
);
number_id!(
    /// Milliseconds since 1970 (in a replay, since its beginning).
    Timestamp(u64)
);
number_id!(
    /// A text or a thought: the `seq` of its first chunk.
    ItemId(u64)
);
number_id!(
    /// An open question: the `seq` of its `permission_request`.
    PendingId(u64)
);
number_id!(
    /// A change that a CLI proposes to an editor; counted from 1 in the host's life.
    EditorDiffId(u64)
);
number_id!(
    /// A file that a CLI shows in an editor; counted from 1 in the host's life.
    EditorFileId(u64)
);
number_id!(
    /// A line between the host and an agent; counted from 1 as long as the session is loaded.
    LineNumber(u64)
);
number_id!(
    /// A turn within its session, from 1.
    TurnNumber(u32)
);
