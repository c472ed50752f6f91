//! The events of one session that are on disk, as frames for those who follow them.
//!
//! A frame is encoded once for all. The newest are kept in memory; a reader that needs older ones reads the
//! store at its own pace, so a slow reader costs nobody else anything. The one rule it keeps: nothing is in here
//! before it is on disk.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use jackfield_api::{Json, Seq, SessionId};
use tokio::sync::watch;

/// How many bytes of frames are kept per session.
const KEPT: usize = 256 * 1024;

/// Committed events in a row.
#[derive(Debug, Clone)]
pub(crate) struct Page {
    pub(crate) first: Seq,
    pub(crate) last: Seq,
    /// One event per line.
    pub(crate) lines: Bytes,
}

/// What is committed of one session.
#[derive(Debug)]
pub(crate) struct Published {
    /// How each frame begins.
    opening: Vec<u8>,
    ring: Mutex<Ring>,
    state: watch::Sender<State>,
}

/// How far a session has come, for its followers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct State {
    /// The last event that is on disk.
    pub(crate) last: Seq,
    /// The session was deleted.
    pub(crate) deleted: bool,
}

#[derive(Debug, Default)]
struct Ring {
    frames: VecDeque<Frame>,
    bytes: usize,
}

/// Committed events in a row, as they are sent.
#[derive(Debug)]
struct Frame {
    first: Seq,
    last: Seq,
    whole: Bytes,
    /// Where each event begins.
    starts: Box<[usize]>,
}

/// What there is behind a cursor.
pub(crate) enum Behind {
    /// These frames, and the last event in them.
    Frames(Vec<Bytes>, Seq),
    /// It is only in the store.
    Stored,
    /// Nothing yet.
    Nothing,
}

impl Published {
    pub(crate) fn new(session_id: &SessionId, last: Seq) -> Self {
        let name = Json::of(session_id);
        let opening = format!("{{\"type\":\"events\",\"session_id\":{},\"events\":[", name.get()).into();
        let state = watch::Sender::new(State { last, deleted: false });
        Self { opening, ring: Mutex::default(), state }
    }

    /// These events are on disk now.
    pub(crate) fn publish(&self, page: &Page) {
        let (whole, starts) = self.frame(&page.lines);
        let Page { first, last, .. } = *page;
        {
            let mut ring = self.lock();
            ring.bytes += whole.len();
            ring.frames.push_back(Frame { first, last, whole, starts: starts.into() });
            while ring.bytes > KEPT && ring.frames.len() > 1 {
                let gone = ring.frames.pop_front().map_or(0, |frame| frame.whole.len());
                ring.bytes -= gone;
            }
        }
        self.state.send_modify(|state| state.last = last);
    }

    /// The session is no more.
    pub(crate) fn delete(&self) {
        self.state.send_modify(|state| state.deleted = true);
    }

    pub(crate) fn follow(&self) -> watch::Receiver<State> {
        self.state.subscribe()
    }

    pub(crate) fn is_followed(&self) -> bool {
        self.state.receiver_count() > 0
    }

    pub(crate) fn last(&self) -> Seq {
        self.state.borrow().last
    }

    /// What there is behind a cursor.
    pub(crate) fn behind(&self, cursor: Seq) -> Behind {
        if cursor >= self.last() {
            return Behind::Nothing;
        }
        let ring = self.lock();
        let covered = ring.frames.front().is_some_and(|frame| frame.first.0 <= cursor.0 + 1);
        if !covered {
            return Behind::Stored;
        }
        let start = ring.frames.partition_point(|frame| frame.last <= cursor);
        let mut reached = cursor;
        let mut frames = Vec::with_capacity(ring.frames.len() - start);
        for Frame { first, last, whole, starts } in ring.frames.range(start..) {
            // Only the first of them can begin before the cursor.
            frames.push(match starts.get(events_between(*first, reached)) {
                Some(&start) if *first <= reached => [&self.opening, &whole[start..]].concat().into(),
                _ => whole.clone(),
            });
            reached = *last;
        }
        if frames.is_empty() { Behind::Nothing } else { Behind::Frames(frames, reached) }
    }

    /// The frame of a page without the events up to a cursor.
    pub(crate) fn cut(&self, page: &Page, cursor: Seq) -> Bytes {
        let start = match events_between(page.first, cursor).checked_sub(1) {
            None => 0,
            Some(newline) => memchr::memchr_iter(b'\n', &page.lines)
                .nth(newline)
                .map_or(page.lines.len(), |newline| newline + 1),
        };
        self.frame(&page.lines[start..]).0
    }

    /// One `events` frame out of lines that are events already, and where each begins in it.
    fn frame(&self, lines: &[u8]) -> (Bytes, Vec<usize>) {
        let lines = lines.strip_suffix(b"\n").unwrap_or(lines);
        let mut frame = Vec::with_capacity(self.opening.len() + lines.len() + 2);
        frame.extend_from_slice(&self.opening);
        frame.extend_from_slice(lines);
        frame.extend_from_slice(b"]}");
        let mut starts = vec![self.opening.len()];
        for newline in memchr::memchr_iter(b'\n', lines) {
            let end = self.opening.len() + newline;
            frame[end] = b',';
            starts.push(end + 1);
        }
        (frame.into(), starts)
    }

    fn lock(&self) -> MutexGuard<'_, Ring> {
        // A panic while the lock is held leaves plain data in a usable state.
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How many events there are from `first` to `last`.
fn events_between(first: Seq, last: Seq) -> usize {
    usize::try_from((last.0 + 1).saturating_sub(first.0)).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]

    use super::*;

    fn page(first: u64, last: u64) -> Page {
        let lines: Vec<String> = (first..=last).map(|seq| format!("{{\"seq\":{seq}}}\n")).collect();
        Page { first: Seq(first), last: Seq(last), lines: lines.concat().into() }
    }

    fn seqs(frames: &[Bytes]) -> Vec<u64> {
        let read = |frame: &Bytes| -> serde_json::Value { serde_json::from_slice(frame).unwrap() };
        let events = |frame: &Bytes| read(frame)["events"].as_array().unwrap().clone();
        frames.iter().flat_map(events).map(|event| event["seq"].as_u64().unwrap()).collect()
    }

    #[test]
    fn a_cursor_gets_exactly_what_is_behind_it() {
        let published = Published::new(&"a\"b".into(), Seq(0));
        for page in [page(1, 3), page(4, 4), page(5, 9)] {
            published.publish(&page);
        }
        for cursor in 0..9 {
            let Behind::Frames(frames, last) = published.behind(Seq(cursor)) else { panic!("{cursor}") };
            assert_eq!(seqs(&frames), (cursor + 1..=9).collect::<Vec<_>>());
            assert_eq!(last, Seq(9));
        }
        assert!(matches!(published.behind(Seq(9)), Behind::Nothing));
    }

    #[test]
    fn what_is_no_longer_kept_is_in_the_store() {
        let published = Published::new(&"s".into(), Seq(0));
        for first in 0..2_000 {
            published.publish(&page(first * 20 + 1, first * 20 + 20));
        }
        assert!(matches!(published.behind(Seq(1)), Behind::Stored));
        assert!(matches!(published.behind(Seq(39_990)), Behind::Frames(..)));
    }

    #[test]
    fn a_session_that_was_loaded_has_everything_in_the_store() {
        let published = Published::new(&"s".into(), Seq(7));
        assert!(matches!(published.behind(Seq(3)), Behind::Stored));
        assert!(matches!(published.behind(Seq(7)), Behind::Nothing));
    }
}
