//! Somebody who follows a session: is everything there, in order, and how old is it?
//!
//! The one rule it keeps: frames are searched and not decoded, so that a thousand watchers fit beside the server that
//! they watch.

use jackfield_api::SessionId;
use jackfield_api::socket::{ClientFrame, ServerFrame, Subscribe};
use memchr::memmem::Finder;
use nix::time::{ClockId, clock_gettime};

use super::connection::{Connection, Door};
use super::load::LoadError;

/// Somebody who follows a session.
#[derive(Debug)]
pub(super) struct Watcher {
    connection: Connection,
    patterns: Patterns,
    last: u64,
    seen: Seen,
}

/// What a watcher has seen.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) events: u64,
    pub(super) lost: u64,
    pub(super) doubled: u64,
    /// From the CLI's line to here, in microseconds, of each event that says when its line was written.
    pub(super) ages: Vec<u32>,
}

#[derive(Debug)]
struct Patterns {
    seq: Finder<'static>,
    stamp: Finder<'static>,
    complete: Finder<'static>,
}

impl Watcher {
    /// Connects, and follows a session until it has all there is.
    pub(super) async fn open(door: &Door, session_id: SessionId) -> Result<Self, LoadError> {
        let mut connection = Connection::open(door).await?;
        connection.say(&ClientFrame::Subscribe(Subscribe { session_id, after: None })).await?;
        let patterns = Patterns {
            seq: Finder::new(b"\"seq\":"),
            stamp: Finder::new(b":\"@"),
            complete: Finder::new(b"{\"type\":\"complete\""),
        };
        loop {
            match serde_json::from_slice(connection.next().await?)? {
                ServerFrame::Current(current) => {
                    return Ok(Self { connection, patterns, last: current.seq.0, seen: Seen::default() });
                }
                ServerFrame::Snapshot(_) | ServerFrame::Events(_) => {}
                other => return Err(LoadError::Unexpected(format!("{other:?}"))),
            }
        }
    }

    /// Watches until the turn is over.
    pub(super) async fn watch(mut self) -> Result<Seen, LoadError> {
        loop {
            let frame = self.connection.next().await?;
            if !frame.starts_with(b"{\"type\":\"events\"") {
                return Err(LoadError::Unexpected(String::from_utf8_lossy(frame).into_owned()));
            }
            for at in self.patterns.seq.find_iter(frame) {
                let seq = number(&frame[at + self.patterns.seq.needle().len()..]);
                self.seen.events += 1;
                self.seen.lost += seq.saturating_sub(self.last + 1);
                self.seen.doubled += u64::from(seq <= self.last);
                self.last = self.last.max(seq);
            }
            let now = now_ns()?;
            for at in self.patterns.stamp.find_iter(frame) {
                let written = number(&frame[at + self.patterns.stamp.needle().len()..]);
                let age = now.saturating_sub(written) / 1_000;
                self.seen.ages.push(u32::try_from(age).unwrap_or(u32::MAX));
            }
            if self.patterns.complete.find(frame).is_some() {
                return Ok(self.seen);
            }
        }
    }
}

/// The number that a text begins with.
fn number(text: &[u8]) -> u64 {
    let digits = text.iter().take_while(|digit| digit.is_ascii_digit());
    digits.fold(0, |number, digit| number * 10 + u64::from(digit - b'0'))
}

/// The clock that the stand-in writes into its lines.
fn now_ns() -> Result<u64, LoadError> {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).map_err(std::io::Error::from)?;
    Ok(now.tv_sec().unsigned_abs() * 1_000_000_000 + now.tv_nsec().unsigned_abs())
}
