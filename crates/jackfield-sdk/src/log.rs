//! The events of one session in memory, and the readers that follow them.
//!
//! Any number of readers, each with its own cursor. A *lossless* reader that falls more than
//! [`LOSSLESS_LIMIT`] behind stops the reading of the CLI's output, and is never skipped. A *lossy* one is
//! told the gap. The one rule: memory is bounded, however slow a reader is.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jackfield_api::trouble::Gap;
use jackfield_api::{Body, Event, Seq};
use tokio::sync::{Notify, watch};

/// How far a lossless reader may be behind before reading stops.
pub const LOSSLESS_LIMIT: u64 = 4 * 1024 * 1024;
/// How much is kept for readers that come later.
const KEPT: u64 = 1024 * 1024;
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

#[derive(Debug, Default)]
struct State {
    kept: VecDeque<Kept>,
    /// The weight of everything that was ever appended.
    total: u64,
    readers: Vec<Cursor>,
    next_reader: u64,
    closed: bool,
}

#[derive(Debug)]
struct Kept {
    event: Arc<Event>,
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
    pub(crate) fn new() -> Self {
        let shared = Shared { state: Mutex::default(), grown: watch::Sender::new(0), drained: Notify::new() };
        Self { shared: Arc::new(shared) }
    }

    /// Appends events, and empties `events`. Readers that wait are woken by [`Log::tell`].
    pub(crate) fn append(&self, events: &mut Vec<Event>) {
        if events.is_empty() {
            return;
        }
        let mut state = self.shared.lock();
        for event in events.drain(..) {
            let before = state.total;
            state.total += weight(&event);
            state.kept.push_back(Kept { event: Arc::new(event), before });
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
        let next = after.map_or(Seq(1), |seq| Seq(seq.0.saturating_add(1)));
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

    /// Lets go of what nobody must have any more.
    fn evict(&mut self) {
        let wanted = self.backlog().max(KEPT);
        while self.kept.get(1).is_some_and(|second| self.total - second.before >= wanted) {
            self.kept.pop_front();
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
    ready: VecDeque<Arc<Event>>,
}

impl Events {
    /// The next event; `None` once the session is over and everything was read.
    ///
    /// Cancel-safe: a dropped future loses nothing.
    pub async fn next(&mut self) -> Option<Arc<Event>> {
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
    pub fn try_next(&mut self) -> Option<Arc<Event>> {
        if self.ready.is_empty() {
            self.fill();
        }
        let event = self.ready.pop_front()?;
        self.next = Seq(event.seq.0 + 1);
        Some(event)
    }

    /// The same as a [`futures_core::Stream`].
    pub fn into_stream(self) -> impl futures_core::Stream<Item = Arc<Event>> + Send {
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
            let Some(kept) = state.kept.front() else { return };
            let to = Seq(first.0 - 1);
            let gap = Event { body: Body::from(Gap { from, to }), seq: to, ..(*kept.event).clone() };
            self.ready.push_back(Arc::new(gap));
            return;
        }
        let start = usize::try_from(self.next.0 - first.0).unwrap_or(usize::MAX);
        let batch = state.kept.iter().skip(start).take(BATCH).map(|kept| Arc::clone(&kept.event));
        self.ready.extend(batch);
        let read = state.kept.get(start + self.ready.len()).map_or(state.total, |kept| kept.before);
        let was_full = state.backlog() > LOSSLESS_LIMIT;
        if let Some(cursor) = state.readers.iter_mut().find(|cursor| cursor.id == self.id) {
            cursor.read = read;
        }
        if was_full && state.backlog() <= LOSSLESS_LIMIT {
            self.shared.drained.notify_one();
        }
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        self.shared.lock().readers.retain(|cursor| cursor.id != self.id);
        self.shared.drained.notify_one();
    }
}

/// About how much memory an event takes. Only what grows with the CLI's output is looked at. What is small counts
/// double: the allocator has an arena per thread, and the session's task moves from thread to thread.
fn weight(event: &Event) -> u64 {
    let text = match &event.body {
        Body::MessageChunk(chunk) => chunk.text.len(),
        Body::Reasoning(thought) => thought.reasoning_text.len(),
        Body::ToolCall(call) => 3 * call.input.get().len(),
        Body::ToolUpdate(update) => 3 * update.output.as_ref().map_or(0, |output| output.get().len()),
        Body::PermissionRequest(request) => 3 * request.input.as_ref().map_or(0, |input| input.get().len()),
        Body::FileUpdated(file) => {
            let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
            length(&file.old_content) + length(&file.new_content) + file.diff.len()
        }
        Body::UserMessage(message) => message.text.len(),
        Body::Unknown(unknown) => unknown.text.len(),
        Body::Malformed(malformed) => malformed.text.len(),
        Body::Stderr(line) => line.text.len(),
        Body::Notice(notice) => notice.text.len(),
        _ => 256,
    };
    512 + text as u64
}
