//! Messages of a language server on a pipe: a head with the length, an empty line, and so many bytes of JSON.
//!
//! The one rule it keeps: a length that is absurd ends the reading before anything is made room for.

use std::io;

use serde::de::DeserializeOwned;
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _};

/// How large a message may be.
const MESSAGE: usize = 64 * 1024 * 1024;
/// How long a line of the head may be.
const LINE: u64 = 4 * 1024;

/// Reads the next message; `None` at the end.
pub(super) async fn read<T: DeserializeOwned>(
    from: &mut (impl AsyncBufRead + Unpin),
) -> io::Result<Option<T>> {
    let invalid = |reason: &str| io::Error::new(io::ErrorKind::InvalidData, reason.to_owned());
    let mut length = None;
    loop {
        let mut line = Vec::new();
        if (&mut *from).take(LINE).read_until(b'\n', &mut line).await? == 0 {
            return Ok(None);
        }
        let Some(line) = line.strip_suffix(b"\n") else { return Err(invalid("a head without an end")) };
        let line = String::from_utf8_lossy(line);
        let line = line.trim_end_matches('\r');
        if line.is_empty() {
            // Some write an empty line too many.
            match length {
                Some(_) => break,
                None => continue,
            }
        }
        if let Some((name, value)) = line.split_once(':')
            && name.trim().eq_ignore_ascii_case("content-length")
        {
            length = Some(value.trim().parse::<usize>().map_err(|_| invalid("a length that is no number"))?);
        }
    }
    let length = length.filter(|length| *length <= MESSAGE).ok_or_else(|| invalid("a message too large"))?;
    let mut body = vec![0; length];
    from.read_exact(&mut body).await?;
    serde_json::from_slice(&body).map(Some).map_err(io::Error::from)
}

/// A message as it is written.
pub(super) fn frame(message: &serde_json::Value) -> Vec<u8> {
    let body = message.to_string();
    format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::{Value, json};

    use super::*;

    async fn all(text: &[u8]) -> (Vec<Value>, Option<io::ErrorKind>) {
        let (mut from, mut messages) = (text, Vec::new());
        loop {
            match read::<Value>(&mut from).await {
                Ok(Some(message)) => messages.push(message),
                Ok(None) => return (messages, None),
                Err(error) => return (messages, Some(error.kind())),
            }
        }
    }

    #[tokio::test]
    async fn messages_are_read_as_they_were_written() {
        let messages = vec![json!({"id": 1, "text": "ä\r\n\r\n"}), json!({}), json!([])];
        let written: Vec<u8> = messages.iter().flat_map(frame).collect();
        assert_eq!(all(&written).await, (messages, None));
        let other = b"content-type: x\r\nCONTENT-LENGTH:  2 \r\n\r\n{}\r\nContent-Length: 2\n\n[]";
        assert_eq!(all(other).await, (vec![json!({}), json!([])], None));
    }

    #[tokio::test]
    async fn what_is_no_message_ends_the_reading() {
        let invalid = Some(io::ErrorKind::InvalidData);
        assert_eq!(all(b"Content-Length: x\r\n\r\n{}").await.1, invalid);
        assert_eq!(all(b"Content-Length: 99999999999\r\n\r\n").await.1, invalid);
        assert_eq!(all(&b"a".repeat(10_000)).await.1, invalid);
        assert_eq!(all(b"Content-Length: 2\r\n\r\n{").await.1, Some(io::ErrorKind::UnexpectedEof));
        assert!(all(b"Content-Length: 2\r\n\r\n{x").await.1.is_some());
    }
}
