//! The ids of the protocol, as newtypes.
//!
//! They are the CLI's ids, never ours, and nothing is assumed about their form: the CLI takes any
//! string. The rule: an id is given back exactly as it came.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::raw::Raw;

macro_rules! id {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// The id's text.
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// The id's text.
            pub fn into_string(self) -> String {
                self.0
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.to_owned())
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(&self.0)
            }
        }
    };
}

id! {
    /// An API message's id (`msg_…`); shared by all assistant lines of one API message.
    MessageId
}
id! {
    /// A tool call's id (`toolu_…`).
    ToolUseId
}
id! {
    /// The id of a line or of a user message.
    Uuid
}
id! {
    /// The CLI's own session id.
    SessionId
}
id! {
    /// A background task's or subagent's id.
    TaskId
}
id! {
    /// A hook callback the host registered in `initialize`.
    CallbackId
}

/// A control request's id. The CLI echoes it as it came: a number stays a number, a missing one
/// stays missing, so all three are kept apart.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum RequestId {
    /// The usual form.
    Text(String),
    /// Any other JSON value, as it was written.
    Other(Raw),
    /// The field was not there.
    #[default]
    Missing,
}

impl RequestId {
    /// Whether the field was not there.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Missing)
    }
}

impl From<&str> for RequestId {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for RequestId {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => formatter.write_str(text),
            Self::Other(raw) => formatter.write_str(raw.get()),
            Self::Missing => Ok(()),
        }
    }
}

impl Serialize for RequestId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            Self::Other(raw) => raw.serialize(serializer),
            // Whoever writes a request skips the field; a lone missing id has no other form.
            Self::Missing => serializer.serialize_none(),
        }
    }
}

impl<'de> Deserialize<'de> for RequestId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Raw::deserialize(deserializer)?;
        Ok(match raw.parse::<String>() {
            Ok(text) => Self::Text(text),
            Err(_) => Self::Other(raw),
        })
    }
}
