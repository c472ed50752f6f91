//! Why a connection ends, as the other side is told it. The one rule it keeps: each reason has a code of its own,
//! and `docs/protocol.md` lists them.

use axum::extract::ws::{CloseFrame, Utf8Bytes, close_code};

/// Why a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// The other side has gone.
    Gone,
    /// A frame was too large.
    TooLarge,
    /// It does not take what it is sent.
    TooSlow,
    /// The server stops.
    Restart,
    /// It speaks another version of the contract.
    OtherVersion,
    /// Its key is not of its login.
    WrongKey,
    /// Its login is over.
    LoggedOut,
    /// Its first frame was something else.
    NoHello,
    /// It said nothing.
    HelloTooLate,
}

impl Ending {
    /// The code; `None` if there is nobody left to tell.
    pub(super) fn code(self) -> Option<u16> {
        match self {
            Self::Gone => None,
            Self::TooLarge => Some(close_code::SIZE),
            Self::TooSlow => Some(close_code::AGAIN),
            Self::Restart => Some(close_code::RESTART),
            Self::OtherVersion => Some(4000),
            Self::WrongKey | Self::LoggedOut => Some(4001),
            Self::NoHello => Some(4002),
            Self::HelloTooLate => Some(4003),
        }
    }

    /// The words.
    pub(super) fn reason(self) -> &'static str {
        match self {
            Self::Gone => "the other side has gone",
            Self::TooLarge => "a frame was larger than 1 MiB; send it with POST /api/commands",
            Self::TooSlow => "frames were not taken for 15 s; come back with a cursor",
            Self::Restart => "the server stops; come back with a cursor",
            Self::OtherVersion => "this server speaks version 1 of the contract",
            Self::WrongKey => "the key is not of this login; open a new one-time link",
            Self::LoggedOut => "the login is over; open a new one-time link",
            Self::NoHello => "the first frame must be `hello`",
            Self::HelloTooLate => "there was no `hello` within 10 s",
        }
    }

    pub(super) fn frame(self) -> Option<CloseFrame> {
        Some(CloseFrame { code: self.code()?, reason: Utf8Bytes::from_static(self.reason()) })
    }
}
