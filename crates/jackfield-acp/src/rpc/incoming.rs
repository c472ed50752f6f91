//! A line as a message of JSON-RPC.
//!
//! Its parameters stay text until somebody knows what they should be. The one rule it keeps: every line is one value,
//! a message or the reason why it is none.

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::schema::{Error, RequestId};

/// A message.
#[derive(Debug)]
pub(crate) enum Incoming {
    /// Something that wants an answer.
    Request {
        /// Under which name.
        id: RequestId,
        /// What is asked.
        method: String,
        /// With what.
        params: Option<Box<RawValue>>,
    },
    /// Something that wants none.
    Notification {
        /// What is told.
        method: String,
        /// With what.
        params: Option<Box<RawValue>>,
    },
    /// An answer to something that was asked from here.
    Response {
        /// To what.
        id: RequestId,
        /// The answer.
        result: Result<Box<RawValue>, Error>,
    },
}

/// Why a line is no message.
#[derive(Debug, PartialEq)]
pub(crate) enum Unreadable {
    /// It is no JSON.
    NoJson(String),
    /// It is JSON, and no message.
    NoMessage(String),
}

#[derive(Deserialize)]
struct Envelope {
    #[serde(default, deserialize_with = "present")]
    id: Option<RequestId>,
    method: Option<String>,
    params: Option<Box<RawValue>>,
    result: Option<Box<RawValue>>,
    error: Option<Error>,
}

/// Tells `null` from nothing.
fn present<'de, D: Deserializer<'de>>(from: D) -> Result<Option<RequestId>, D::Error> {
    RequestId::deserialize(from).map(Some)
}

/// Reads a line.
pub(crate) fn read(line: &[u8]) -> Result<Incoming, Unreadable> {
    let envelope: Envelope = serde_json::from_slice(line).map_err(|error| {
        if error.is_syntax() || error.is_eof() {
            Unreadable::NoJson(error.to_string())
        } else {
            Unreadable::NoMessage(error.to_string())
        }
    })?;
    let Envelope { id, method, params, result, error } = envelope;
    Ok(match (id, method, result, error) {
        (Some(id), Some(method), _, _) => Incoming::Request { id, method, params },
        (None, Some(method), _, _) => Incoming::Notification { method, params },
        (Some(id), None, _, Some(error)) => Incoming::Response { id, result: Err(error) },
        (Some(id), None, Some(result), None) => Incoming::Response { id, result: Ok(result) },
        // An answer that is `null` is no member to serde.
        (Some(id), None, None, None) => Incoming::Response { id, result: Ok(RawValue::NULL.to_owned()) },
        (None, None, _, _) => {
            return Err(Unreadable::NoMessage("there is neither a `method` nor an `id`".to_owned()));
        }
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]

    use super::*;

    #[test]
    fn requests_notifications_and_answers_are_told_apart() {
        let read = |text: &str| read(text.as_bytes()).unwrap();
        match read(r#"{"jsonrpc":"2.0","id":"a","method":"session/new","params":{"cwd":"/"}}"#) {
            Incoming::Request { id, method, params } => {
                assert_eq!((id, &*method), (RequestId::Str("a".to_owned()), "session/new"));
                assert_eq!(params.unwrap().get(), r#"{"cwd":"/"}"#);
            }
            other => panic!("{other:?}"),
        }
        assert!(matches!(read(r#"{"id":null,"method":"x"}"#), Incoming::Request { id: RequestId::Null, .. }));
        assert!(matches!(read(r#"{"method":"session/cancel"}"#), Incoming::Notification { .. }));
        assert!(matches!(read(r#"{"id":1,"result":{}}"#), Incoming::Response { result: Ok(_), .. }));
        assert!(matches!(read(r#"{"id":1,"result":null}"#), Incoming::Response { result: Ok(_), .. }));
        let failed = read(r#"{"id":1,"error":{"code":-32800,"message":"no"}}"#);
        assert!(matches!(failed, Incoming::Response { result: Err(_), .. }));
    }

    #[test]
    fn what_is_no_message_says_why() {
        assert!(matches!(read(b"{oops"), Err(Unreadable::NoJson(_))));
        assert!(matches!(read(b"\xff\xfe"), Err(Unreadable::NoJson(_))));
        assert!(matches!(read(b"[]"), Err(Unreadable::NoMessage(_))));
        assert!(matches!(read(b"{}"), Err(Unreadable::NoMessage(_))));
        assert!(matches!(read(br#"{"id":1.5,"method":"x"}"#), Err(Unreadable::NoMessage(_))));
    }
}
