//! What goes through the pipes of a recogniser: frames to it, lines of JSON from it.
//!
//! The one rule it keeps: a reader that finds something else gives up; there is nobody on the pipe but ourselves.

use std::io::{self, Read};

use serde::{Deserialize, Serialize};

/// No frame is larger.
const LARGEST: u32 = 4 << 20;

/// What a recogniser is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Frame {
    /// An utterance begins.
    Begin(Begin),
    /// Sound: 16-bit samples, 16 kHz, mono.
    Sound(Vec<u8>),
    /// The utterance is over.
    End,
}

/// The beginning of an utterance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Begin {
    /// Its number.
    pub(crate) utterance: u64,
    /// Whether what is understood is told while it is spoken.
    pub(crate) interims: bool,
}

/// What a recogniser says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Said {
    /// The engine is loaded.
    Ready,
    /// The engine cannot be loaded; nothing follows.
    Unusable { reason: String },
    /// This was understood up to now.
    Interim { utterance: u64, text: String },
    /// This was understood.
    Final { utterance: u64, text: String },
    /// The utterance is lost.
    Failed { utterance: u64, reason: String },
}

impl Frame {
    /// The frame as bytes.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let (kind, body) = match self {
            Self::Begin(begin) => (b'B', serde_json::to_vec(begin).unwrap_or_default()),
            Self::Sound(sound) => (b'S', sound.clone()),
            Self::End => (b'E', Vec::new()),
        };
        let length = u32::try_from(body.len()).unwrap_or(u32::MAX);
        let mut bytes = vec![kind];
        bytes.extend(length.to_le_bytes());
        bytes.extend(body);
        bytes
    }

    /// The next frame; `None` at the end.
    pub(crate) fn read(from: &mut impl Read) -> io::Result<Option<Self>> {
        let mut head = [0; 5];
        match from.read_exact(&mut head) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            Err(error) => return Err(error),
        }
        let length = u32::from_le_bytes([head[1], head[2], head[3], head[4]]);
        if length > LARGEST {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut body = vec![0; length as usize];
        from.read_exact(&mut body)?;
        match head[0] {
            b'B' => Ok(Some(Self::Begin(serde_json::from_slice(&body)?))),
            b'S' => Ok(Some(Self::Sound(body))),
            b'E' => Ok(Some(Self::End)),
            _ => Err(io::ErrorKind::InvalidData.into()),
        }
    }
}

/// 16-bit samples as engines take them.
pub(crate) fn samples(sound: &[u8]) -> Vec<f32> {
    sound.chunks_exact(2).map(|pair| f32::from(i16::from_le_bytes([pair[0], pair[1]])) / 32_768.0).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let frames = [
            Frame::Begin(Begin { utterance: 7, interims: true }),
            Frame::Sound(vec![1, 2, 3, 4]),
            Frame::End,
        ];
        let bytes: Vec<u8> = frames.iter().flat_map(Frame::encode).collect();
        let mut pipe = &bytes[..];
        for frame in frames {
            assert_eq!(Frame::read(&mut pipe).unwrap(), Some(frame));
        }
        assert_eq!(Frame::read(&mut pipe).unwrap(), None);
    }

    #[test]
    fn what_is_no_frame_is_refused() {
        assert!(Frame::read(&mut &b"X\0\0\0\0"[..]).is_err());
        assert!(Frame::read(&mut &b"S\xff\xff\xff\xff"[..]).is_err());
        assert!(Frame::read(&mut &b"S\x04\0\0\0ab"[..]).is_err());
    }
}
