//! The events of one session in memory, and the readers that follow them.
//!
//! Any number of readers, each with its own cursor. A *lossless* reader that falls more than
//! [`LOSSLESS_LIMIT`] behind stops the reading of the CLI's output, and is never skipped. A *lossy* one is
//! told the gap. What all of them have read is let go but for a short tail: the log is no transcript. The one
//! rule: memory is bounded, however slow a reader is.

mod weight;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jackfield_api::trouble::Gap;
use jackfield_api::{Body, Event, Seq, SharedEvent, TurnNumber};
use tokio::sync::{Notify, watch};

use weight::weight;

/// How far a lossless reader may be behind before reading stops.
pub const LOSSLESS_LIMIT: u64 = 512 * 1024;
/// How far a lossy reader may be behind, and how much is kept for the first reader of all.
const KEPT: u64 = 1024 * 1024;
/// How much of what everybody has read is kept for readers that come later.
const TAIL: u64 = 16 * 1024;
/// How much a reader takes at once.
const BATCH: usize = 256;

/// What a reader wants when it cannot keep up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pace {
    /// Every event. Reading of the CLI's output waits for this reader.
    #[default]
    Lossless,
    /// The newest events. What was missed is told as a `gap`.
    Lossy,
}

/// The log of one session.
#[derive(Debug, Clone)]
pub(crate) struct Log {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    grown: watch::Sender<u64>,
    /// A lossless reader has caught up.
    drained: Notify,
}

#[derive(Debug)]
struct State {
    kept: VecDeque<Kept>,
    /// The number of the first event of all.
    first: Seq,
    /// The weight of everything that was ever appended.
    total: u64,
    readers: Vec<Cursor>,
    next_reader: u64,
    closed: bool,
}

#[derive(Debug)]
struct Kept {
    event: SharedEvent,
    /// The total before this event.
    before: u64,
}

#[derive(Debug)]
struct Cursor {
    id: u64,
    pace: Pace,
    /// The total up to which it has read.
    read: u64,
}

impl Log {
    /// A log whose first event will have this number.
    pub(crate) fn new(first: Seq) -> Self {
        let (kept, readers) = (VecDeque::new(), Vec::new());
        let state = State { kept, first, total: 0, readers, next_reader: 0, closed: false };
        let (grown, drained) = (watch::Sender::new(0), Notify::new());
        Self { shared: Arc::new(Shared { state: Mutex::new(state), grown, drained }) }
    }

    /// Appends events, and empties `events`. Readers that wait are woken by [`Log::tell`].
    pub(crate) fn append(&self, events: &mut Vec<Event>) {
        if events.is_empty() {
            return;
        }
        let mut weights: Vec<u64> = events.iter().map(weight).collect();
        let mut state = self.shared.lock();
        while !events.is_empty() {
            // What lies together is let go together, so nothing lies behind much.
            let mut sum = 0;
            let much = weights.iter().position(|weight| {
                sum += weight;
                sum >= TAIL
            });
            let many = much.map_or(events.len(), |last| last + 1);
            for (event, weight) in SharedEvent::together(events.drain(..many)).zip(weights.drain(..many)) {
                let before = state.total;
                state.total += weight;
                state.kept.push_back(Kept { event, before });
            }
        }
        state.evict();
    }

    /// Wakes the readers that wait, if there is something new.
    pub(crate) fn tell(&self) {
        let total = self.shared.lock().total;
        self.shared.grown.send_if_modified(|told| std::mem::replace(told, total) != total);
    }

    /// Nothing more will come.
    pub(crate) fn close(&self) {
        self.shared.lock().closed = true;
        self.shared.grown.send_modify(|_| {});
    }

    /// Waits until nothing more will come.
    pub(crate) async fn closed(&self) {
        let mut grown = self.shared.grown.subscribe();
        while !self.shared.lock().closed && grown.changed().await.is_ok() {}
    }

    /// The last event's number, and the last turn that there was.
    pub(crate) fn last(&self) -> Option<(Seq, Option<TurnNumber>)> {
        // The newest event is always kept.
        self.shared.lock().kept.back().map(|kept| (kept.event.seq, kept.event.turn))
    }

    /// Whether a lossless reader is too far behind for more.
    pub(crate) fn is_full(&self) -> bool {
        self.shared.lock().backlog() > LOSSLESS_LIMIT
    }

    /// Waits until a lossless reader has caught up.
    pub(crate) async fn drained(&self) {
        loop {
            let drained = self.shared.drained.notified();
            if !self.is_full() {
                return;
            }
            drained.await;
        }
    }

    /// A reader from just behind `after`, or from the oldest event that is kept.
    pub(crate) fn reader(&self, pace: Pace, after: Option<Seq>) -> Events {
        let mut state = self.shared.lock();
        let id = state.next_reader;
        state.next_reader += 1;
        let next = after.map_or(state.first, |seq| Seq(seq.0.saturating_add(1)));
        let read =
            state.kept.iter().find(|kept| kept.event.seq >= next).map_or(state.total, |kept| kept.before);
        state.readers.push(Cursor { id, pace, read });
        Events {
            shared: Arc::clone(&self.shared),
            grown: self.shared.grown.subscribe(),
            id,
            next,
            ready: VecDeque::new(),
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic while the lock is held leaves plain data in a usable state.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn backlog(&self) -> u64 {
        let behind = |cursor: &Cursor| self.total - cursor.read;
        self.readers.iter().filter(|cursor| cursor.pace == Pace::Lossless).map(behind).max().unwrap_or(0)
    }

    /// How much of the newest somebody must still be able to have.
    fn wanted(&self) -> u64 {
        let wanted = |cursor: &Cursor| match cursor.pace {
            Pace::Lossless => self.total - cursor.read,
            Pace::Lossy => (self.total - cursor.read).min(KEPT),
        };
        // Who comes first may come a moment late, and wants to see how it began.
        let tail = if self.next_reader == 0 { KEPT } else { TAIL };
        self.readers.iter().map(wanted).max().unwrap_or(0).max(tail)
    }

    /// Lets go of what nobody must have any more.
    fn evict(&mut self) {
        let wanted = self.wanted();
        while self.kept.get(1).is_some_and(|second| self.total - second.before >= wanted) {
            self.kept.pop_front();
        }
        // A session that waits holds no room for what it once kept.
        if self.kept.capacity() > 64 && self.kept.capacity() > 4 * self.kept.len() {
            self.kept.shrink_to(2 * self.kept.len());
        }
    }
}

/// Events in order, from one reader's cursor on.
#[derive(Debug)]
pub struct Events {
    shared: Arc<Shared>,
    grown: watch::Receiver<u64>,
    id: u64,
    next: Seq,
    ready: VecDeque<SharedEvent>,
}

impl Events {
    /// The next event; `None` once the session is over and everything was read.
    ///
    /// Cancel-safe: a dropped future loses nothing.
    pub async fn next(&mut self) -> Option<SharedEvent> {
        loop {
            if let Some(event) = self.try_next() {
                return Some(event);
            }
            self.grown.borrow_and_update();
            // What came between the look and the mark is seen by a second look.
            if let Some(event) = self.try_next() {
                return Some(event);
            }
            if self.shared.lock().closed {
                return None;
            }
            if self.grown.changed().await.is_err() {
                return None;
            }
        }
    }

    /// The next event, if it is there already.
    pub fn try_next(&mut self) -> Option<SharedEvent> {
        if self.ready.is_empty() {
            self.fill();
        }
        let event = self.ready.pop_front()?;
        self.next = Seq(event.seq.0 + 1);
        Some(event)
    }

    /// The same as a [`futures_core::Stream`].
    pub fn into_stream(self) -> impl futures_core::Stream<Item = SharedEvent> + Send {
        futures_util::stream::unfold(self, |mut events| async {
            let event = events.next().await?;
            Some((event, events))
        })
    }

    /// Takes a batch, so that the lock is held once for many events.
    fn fill(&mut self) {
        let mut state = self.shared.lock();
        let Some(first) = state.kept.front().map(|kept| kept.event.seq) else { return };
        if self.next < first {
            let from = self.next;
            let Some(Kept { event, .. }) = state.kept.front() else { return };
            let to = Seq(first.0 - 1);
            let (session_id, at, turn) = (event.session_id.clone(), event.at, event.turn);
            let body = Body::from(Gap { from, to });
            let gap = Event { body, seq: to, at, session_id, turn, parent_tool_call_id: None };
            self.ready.push_back(gap.into());
            return;
        }
        let start = usize::try_from(self.next.0 - first.0).unwrap_or(usize::MAX);
        let batch = state.kept.iter().skip(start).take(BATCH).map(|kept| kept.event.clone());
        self.ready.extend(batch);
        let read = state.kept.get(start + self.ready.len()).map_or(state.total, |kept| kept.before);
        let was_full = state.backlog() > LOSSLESS_LIMIT;
        if let Some(cursor) = state.readers.iter_mut().find(|cursor| cursor.id == self.id) {
            cursor.read = read;
        }
        state.evict();
        if was_full && state.backlog() <= LOSSLESS_LIMIT {
            self.shared.drained.notify_one();
        }
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.readers.retain(|cursor| cursor.id != self.id);
        state.evict();
        drop(state);
        self.shared.drained.notify_one();
    }
}

#[cfg(test)]
mod tests;
