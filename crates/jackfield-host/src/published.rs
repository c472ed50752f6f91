//! The events of one session that are on disk, as frames for those who follow them.
//!
//! A frame is encoded once for all. The newest are kept in memory; a reader that needs older ones reads the
//! store at its own pace, so a slow reader costs nobody else anything. A reader in this process gets the events
//! themselves, and nothing is encoded for it. The one rule it keeps: nothing is in here before it is on disk.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use jackfield_api::{Json, Seq, SessionId, SharedEvent};
use tokio::sync::watch;

/// How many bytes of frames are kept per session.
const KEPT: usize = 128 * 1024;

/// Committed events in a row.
#[derive(Debug, Clone)]
pub(crate) struct Page {
    pub(crate) first: Seq,
    pub(crate) last: Seq,
    /// One event per line.
    pub(crate) lines: Bytes,
    /// The same events, where somebody in this process reads them; all of them or none.
    pub(crate) events: Vec<SharedEvent>,
}

/// What is committed of one session.
#[derive(Debug)]
pub(crate) struct Published {
    /// How each frame begins.
    opening: Vec<u8>,
    ring: Mutex<Ring>,
    state: watch::Sender<State>,
    /// How many read events and no frames.
    readers: AtomicUsize,
}

/// Somebody in this process reads the events; until it is dropped, they are kept for it.
#[derive(Debug)]
pub(crate) struct ReadsEvents(Arc<Published>);

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
    /// How many bytes of lines it was made of.
    bytes: usize,
    form: Form,
    events: Vec<SharedEvent>,
}

/// What there is of a frame.
#[derive(Debug)]
enum Form {
    /// Its lines: nobody has asked for it yet.
    Lines(Bytes),
    /// The whole, and where each event begins in it.
    Whole(Bytes, Box<[usize]>),
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
        Self { opening, ring: Mutex::default(), state, readers: AtomicUsize::new(0) }
    }

    /// Somebody in this process reads the events from now on.
    pub(crate) fn read_events(self: &Arc<Self>) -> ReadsEvents {
        self.readers.fetch_add(1, Ordering::Relaxed);
        ReadsEvents(Arc::clone(self))
    }

    /// Whether somebody in this process reads the events.
    pub(crate) fn has_readers(&self) -> bool {
        self.readers.load(Ordering::Relaxed) > 0
    }

    /// These events are on disk now.
    pub(crate) fn publish(&self, page: Page) {
        let Page { first, last, lines, events } = page;
        {
            let mut ring = self.lock();
            let bytes = lines.len();
            ring.bytes += bytes;
            ring.frames.push_back(Frame { first, last, bytes, form: Form::Lines(lines), events });
            while ring.frames.len() > 1
                && let Some(oldest) = ring.frames.front()
                && ring.bytes > KEPT
            {
                ring.bytes -= oldest.bytes;
                ring.frames.pop_front();
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
        let mut ring = self.lock();
        let covered = ring.frames.front().is_some_and(|frame| frame.first.0 <= cursor.0 + 1);
        if !covered {
            return Behind::Stored;
        }
        let start = ring.frames.partition_point(|frame| frame.last <= cursor);
        let mut reached = cursor;
        let mut frames = Vec::with_capacity(ring.frames.len() - start);
        for Frame { first, last, form, .. } in ring.frames.range_mut(start..) {
            let (whole, starts) = form.whole(self);
            // Only the first of them can begin before the cursor.
            frames.push(match starts.get(events_between(*first, reached)) {
                Some(&start) if *first <= reached => [&self.opening, &whole[start..]].concat().into(),
                _ => whole.clone(),
            });
            reached = *last;
        }
        if frames.is_empty() { Behind::Nothing } else { Behind::Frames(frames, reached) }
    }

    /// The events behind a cursor, and the last of them; `None` if they were not kept, or not all of them. They are
    /// let go where nobody else reads: so they end where they were made, and not on the thread that stores.
    pub(crate) fn events_behind(&self, cursor: Seq) -> Option<(Vec<SharedEvent>, Seq)> {
        if cursor >= self.last() {
            return None;
        }
        let alone = self.readers.load(Ordering::Relaxed) == 1;
        let mut ring = self.lock();
        let start = ring.frames.partition_point(|frame| frame.last <= cursor);
        if ring.frames.get(start).is_none_or(|frame| frame.first.0 > cursor.0 + 1) {
            return None;
        }
        let mut events = Vec::new();
        for frame in ring.frames.range_mut(start..).take_while(|frame| !frame.events.is_empty()) {
            if alone {
                events.append(&mut std::mem::take(&mut frame.events));
            } else {
                events.extend_from_slice(&frame.events);
            }
        }
        events.drain(..events.partition_point(|event| event.seq <= cursor));
        let last = events.last()?.seq;
        Some((events, last))
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

impl Form {
    /// The whole frame, made when it is first asked for.
    fn whole(&mut self, published: &Published) -> (&Bytes, &[usize]) {
        if let Self::Lines(lines) = self {
            let (whole, starts) = published.frame(lines);
            *self = Self::Whole(whole, starts.into());
        }
        match self {
            Self::Whole(whole, starts) => (whole, starts),
            Self::Lines(lines) => (lines, &[]),
        }
    }
}

impl Drop for ReadsEvents {
    fn drop(&mut self) {
        self.0.readers.fetch_sub(1, Ordering::Relaxed);
    }
}

/// How many events there are from `first` to `last`.
fn events_between(first: Seq, last: Seq) -> usize {
    usize::try_from((last.0 + 1).saturating_sub(first.0)).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]

    use jackfield_api::Event;

    use super::*;

    fn page(first: u64, last: u64) -> Page {
        let lines: Vec<String> = (first..=last).map(|seq| format!("{{\"seq\":{seq}}}\n")).collect();
        Page { first: Seq(first), last: Seq(last), lines: lines.concat().into(), events: Vec::new() }
    }

    fn with_events(page: Page) -> Page {
        let event = |seq| {
            let body = jackfield_api::trouble::Gap { from: Seq(0), to: Seq(0) }.into();
            let (seq, at, session_id) = (Seq(seq), jackfield_api::Timestamp(0), "s".into());
            SharedEvent::from(Event { body, seq, at, session_id, turn: None, parent_tool_call_id: None })
        };
        Page { events: (page.first.0..=page.last.0).map(event).collect(), ..page }
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
            published.publish(page);
        }
        for cursor in 0..9 {
            let Behind::Frames(frames, last) = published.behind(Seq(cursor)) else { panic!("{cursor}") };
            assert_eq!(seqs(&frames), (cursor + 1..=9).collect::<Vec<_>>());
            assert_eq!(last, Seq(9));
        }
        assert!(matches!(published.behind(Seq(9)), Behind::Nothing));
    }

    #[test]
    fn a_reader_gets_the_events_that_were_kept_and_no_others() {
        let published = Published::new(&"s".into(), Seq(0));
        for page in [page(1, 3), with_events(page(4, 6)), with_events(page(7, 9)), page(10, 11)] {
            published.publish(page);
        }
        for cursor in 0..12 {
            let expected: Vec<u64> =
                if (3..9).contains(&cursor) { (cursor + 1..=9).collect() } else { Vec::new() };
            let (events, last) = published.events_behind(Seq(cursor)).unwrap_or_default();
            assert_eq!(events.iter().map(|event| event.seq.0).collect::<Vec<_>>(), expected);
            assert_eq!(last, Seq(if expected.is_empty() { 0 } else { 9 }));
        }
    }

    #[test]
    fn what_the_only_reader_has_taken_is_still_there_as_frames() {
        let published = Arc::new(Published::new(&"s".into(), Seq(0)));
        let reads = published.read_events();
        for page in [page(1, 3), page(4, 6)] {
            published.publish(with_events(page));
        }
        let (events, last) = published.events_behind(Seq(1)).unwrap();
        assert_eq!((events.len(), last), (5, Seq(6)));
        // Who comes later gets the same as frames, and then what is new as events.
        let late = published.read_events();
        for cursor in 0..6 {
            assert!(published.events_behind(Seq(cursor)).is_none());
            let Behind::Frames(frames, Seq(6)) = published.behind(Seq(cursor)) else { panic!("{cursor}") };
            assert_eq!(seqs(&frames), (cursor + 1..=6).collect::<Vec<_>>());
        }
        published.publish(with_events(page(7, 9)));
        for _ in [&reads, &late] {
            assert_eq!(published.events_behind(Seq(6)).unwrap().0.len(), 3);
        }
    }

    #[test]
    fn what_is_no_longer_kept_is_in_the_store() {
        let published = Published::new(&"s".into(), Seq(0));
        for first in 0..2_000 {
            published.publish(page(first * 20 + 1, first * 20 + 20));
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
