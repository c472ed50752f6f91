//! A client's place in the events of one session.
//!
//! It begins with a snapshot, or behind the last event that the client has; then comes everything, in order, from
//! memory or from the store. The one rule it keeps: no event is left out in silence, and none comes twice.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use jackfield_api::socket::{Current, SentGap, SentSnapshot, ServerFrame, Unsubscribed};
use jackfield_api::{Seq, SessionId, SharedEvent};
use tokio::sync::watch;

use crate::published::{Behind, Page, Published, ReadsEvents, State};
use crate::store::Store;

/// How many events are sent one by one to a client that comes back; behind that it gets a snapshot.
pub(crate) const REPLAYED: u64 = 20_000;
/// How much is read from the store at once.
const READ: usize = 64 * 1024;

/// A client's place in the events of one session.
#[derive(Debug)]
pub struct Subscription {
    session_id: SessionId,
    published: Arc<Published>,
    changed: watch::Receiver<State>,
    store: Store,
    cursor: Seq,
    ready: VecDeque<Bytes>,
    /// The client was told that it has all there is.
    current: bool,
    over: bool,
    /// It is for somebody in this process.
    reads: Option<ReadsEvents>,
}

/// What is told to somebody in this process.
#[derive(Debug, Clone)]
pub enum Told {
    /// Events in a row, as they are.
    Events(Vec<SharedEvent>),
    /// Anything else, and events that are read from the store, as they go over the socket.
    Frame(Bytes),
}

/// How a subscription begins.
pub(crate) enum Beginning {
    /// Behind an event that the client has.
    After(Seq),
    /// With a snapshot, and the gap that it fills.
    Snapshot(Box<SentSnapshot>, Option<(Seq, Seq)>),
}

impl Subscription {
    pub(crate) fn new(
        session_id: SessionId,
        published: Arc<Published>,
        store: Store,
        beginning: Beginning,
    ) -> Self {
        let changed = published.follow();
        let mut ready = VecDeque::new();
        let cursor = match beginning {
            Beginning::After(seq) => seq,
            Beginning::Snapshot(sent, gap) => {
                let seq = sent.snapshot.seq;
                if let Some((from, to)) = gap {
                    let gap = SentGap { session_id: session_id.clone(), from, to };
                    ready.push_back(encode(&ServerFrame::Gap(gap)));
                }
                ready.push_back(encode(&ServerFrame::Snapshot(sent)));
                seq
            }
        };
        Self {
            session_id,
            published,
            changed,
            store,
            cursor,
            ready,
            current: false,
            over: false,
            reads: None,
        }
    }

    /// The session.
    pub fn session_id(&self) -> &SessionId {
        &self.session_id
    }

    /// For somebody in this process, who asks with [`Subscription::next_told`].
    #[must_use]
    pub fn with_events(mut self) -> Self {
        self.reads = Some(self.published.read_events());
        self
    }

    /// What comes next, without encoding events that are in memory; `None` once it is over. Cancel-safe.
    pub async fn next_told(&mut self) -> Option<Told> {
        loop {
            if let Some(told) = self.try_next_told() {
                return Some(told);
            }
            if self.over {
                return None;
            }
            self.wait().await;
        }
    }

    fn try_next_told(&mut self) -> Option<Told> {
        if self.ready.is_empty() && !self.over {
            // Marked before it is looked, so that what comes in between is seen by the next look.
            self.changed.borrow_and_update();
            if let Some((events, last)) = self.published.events_behind(self.cursor) {
                self.cursor = last;
                return Some(Told::Events(events));
            }
        }
        self.try_next().map(Told::Frame)
    }

    /// The next frame; `None` once it is over. Cancel-safe: a dropped future loses nothing.
    pub async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(frame) = self.try_next() {
                return Some(frame);
            }
            if self.over {
                return None;
            }
            self.wait().await;
        }
    }

    async fn wait(&mut self) {
        if matches!(self.published.behind(self.cursor), Behind::Stored) {
            self.read_store().await;
        } else if self.changed.changed().await.is_err() {
            self.over = true;
        }
    }

    /// The next frame, if it is in memory.
    pub fn try_next(&mut self) -> Option<Bytes> {
        if let Some(frame) = self.ready.pop_front() {
            return Some(frame);
        }
        if self.over {
            return None;
        }
        let state = *self.changed.borrow_and_update();
        match self.published.behind(self.cursor) {
            Behind::Frames(frames, last) => {
                self.ready.extend(frames);
                self.cursor = last;
            }
            Behind::Nothing if state.deleted => self.end("the session was deleted"),
            Behind::Nothing if !self.current => {
                self.current = true;
                let current = Current { session_id: self.session_id.clone(), seq: self.cursor };
                self.ready.push_back(encode(&ServerFrame::Current(current)));
            }
            Behind::Nothing | Behind::Stored => {}
        }
        self.ready.pop_front()
    }

    async fn read_store(&mut self) {
        match self.store.log(&self.session_id, self.cursor, READ).await {
            Ok(pages) if !pages.is_empty() => {
                for page in pages {
                    let page =
                        Page { first: page.first, last: page.last, lines: page.lines, events: Vec::new() };
                    self.ready.push_back(self.published.cut(&page, self.cursor));
                    self.cursor = page.last;
                }
            }
            // What was published is stored; if it is not there, it was deleted.
            Ok(_) => self.end("the session was deleted"),
            Err(error) => self.end(&format!("the session cannot be read: {error}")),
        }
    }

    fn end(&mut self, reason: &str) {
        self.over = true;
        let ended = Unsubscribed { session_id: self.session_id.clone(), reason: Some(reason.to_owned()) };
        self.ready.push_back(encode(&ServerFrame::Unsubscribed(ended)));
    }
}

/// A frame as it goes over the socket.
pub(crate) fn encode(frame: &ServerFrame) -> Bytes {
    // Only a map with keys that are no strings can fail, and the contract has none.
    serde_json::to_vec(frame).unwrap_or_default().into()
}

#[cfg(test)]
pub(crate) mod tests;
