//! A session's events, one by one.
//!
//! Where they come from is not to be seen. The one rule it keeps: between a snapshot and the end there is no hole and
//! no event twice.

use std::collections::VecDeque;

use jackfield_api::socket::{SentEvents, SentGap, SentSnapshot, ServerFrame};
use jackfield_api::{Seq, SessionId, SharedEvent, codec};
use jackfield_host::Told;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::mpsc;

use crate::following;
use crate::remote::Remote;

/// How many frames wait for whoever reads them.
const WAITING: usize = 4;

/// A place in the events of one session.
#[derive(Debug)]
pub struct Subscription {
    source: Source,
}

#[derive(Debug)]
enum Source {
    Here(Box<Here>),
    Running(VecDeque<Update>, mpsc::Receiver<Vec<Update>>),
}

#[derive(Debug)]
struct Here {
    told: jackfield_host::Subscription,
    place: Place,
    ready: VecDeque<Update>,
}

/// What a subscription tells.
#[derive(Debug, Clone, PartialEq)]
pub enum Update {
    /// The session as it stands; events follow.
    Snapshot(Box<SentSnapshot>),
    /// Events that will not come; a snapshot follows.
    Gap(SentGap),
    /// The next event.
    Event(SharedEvent),
    /// This is all there is; what follows is new. Told once.
    Current(Seq),
    /// Nothing more will come, and why.
    Over(String),
}

impl Subscription {
    pub(crate) fn here(told: jackfield_host::Subscription, after: Option<Seq>) -> Self {
        let here = Here { told: told.with_events(), place: Place::new(after), ready: VecDeque::new() };
        Self { source: Source::Here(Box::new(here)) }
    }

    pub(crate) async fn running(remote: Remote, id: SessionId, after: Option<Seq>) -> Self {
        let (to, mut from) = mpsc::channel(WAITING);
        // It ends by itself when nobody reads any more.
        tokio::spawn(following::follow(remote, id, after, to));
        // What happens from now on is told as events: a snapshot is taken before, as it is in this process.
        let first = if after.is_none() { from.recv().await } else { None };
        Self { source: Source::Running(first.unwrap_or_default().into(), from) }
    }

    /// Whether the next update is here already. What was told together comes together.
    pub fn has_ready(&self) -> bool {
        match &self.source {
            Source::Here(here) => !here.ready.is_empty(),
            Source::Running(ready, _) => !ready.is_empty(),
        }
    }

    /// The next update, if it is an event that is here already.
    pub fn next_ready(&mut self) -> Option<SharedEvent> {
        let ready = match &mut self.source {
            Source::Here(here) => &mut here.ready,
            Source::Running(ready, _) => ready,
        };
        match ready.pop_front()? {
            Update::Event(event) => Some(event),
            other => {
                ready.push_front(other);
                None
            }
        }
    }

    /// The next update; `None` once it is over. Cancel-safe: a dropped future loses nothing.
    pub async fn next(&mut self) -> Option<Update> {
        match &mut self.source {
            Source::Running(ready, updates) => loop {
                if let Some(update) = ready.pop_front() {
                    return Some(update);
                }
                *ready = updates.recv().await?.into();
            },
            Source::Here(here) => loop {
                if let Some(update) = here.ready.pop_front() {
                    return Some(update);
                }
                match here.told.next_told().await? {
                    Told::Events(events) => here.ready = here.place.go_on(events).unwrap_or_default().into(),
                    // A frame of this very process can be read.
                    Told::Frame(frame) => {
                        if let Ok(frame) = read(&frame) {
                            here.ready = here.place.take(frame).unwrap_or_default().into();
                        }
                    }
                }
            },
        }
    }
}

/// Reads a frame. Events are most of what there is, and are read one by one, not as a part of something larger.
fn read(frame: &[u8]) -> Result<ServerFrame, serde_json::Error> {
    #[derive(Deserialize)]
    struct Events<'a> {
        session_id: SessionId,
        #[serde(borrow)]
        events: Vec<&'a RawValue>,
    }
    if !frame.starts_with(b"{\"type\":\"events\",") {
        return serde_json::from_slice(frame);
    }
    let Events { session_id, events } = serde_json::from_slice(frame)?;
    let events = events.into_iter().map(|event| codec::decode(event.get())).collect::<Result<_, _>>()?;
    Ok(ServerFrame::Events(SentEvents { session_id, events }))
}

/// How far a reader is.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) cursor: Option<Seq>,
    current: bool,
}

/// Events are missing that nobody has told of.
#[derive(Debug)]
pub(crate) struct Hole;

impl Place {
    pub(crate) fn new(cursor: Option<Seq>) -> Self {
        Self { cursor, current: false }
    }

    /// What a frame tells that was not told before.
    pub(crate) fn take(&mut self, frame: ServerFrame) -> Result<Vec<Update>, Hole> {
        Ok(match frame {
            ServerFrame::Snapshot(sent) => {
                self.cursor = Some(sent.snapshot.seq);
                vec![Update::Snapshot(sent)]
            }
            ServerFrame::Events(sent) => self.go_on(SharedEvent::together(sent.events))?,
            ServerFrame::Gap(gap) => vec![Update::Gap(gap)],
            ServerFrame::Current(current) if !self.current => {
                self.current = true;
                vec![Update::Current(current.seq)]
            }
            ServerFrame::Unsubscribed(ended) => vec![Update::Over(ended.reason.unwrap_or_default())],
            _ => Vec::new(),
        })
    }

    /// What events tell that was not told before.
    fn go_on(&mut self, events: impl IntoIterator<Item = SharedEvent>) -> Result<Vec<Update>, Hole> {
        let events = events.into_iter();
        let mut updates = Vec::with_capacity(events.size_hint().0);
        for event in events {
            let cursor = self.cursor.unwrap_or_default();
            if event.seq.0 > cursor.0 + 1 {
                if updates.is_empty() {
                    return Err(Hole);
                }
                // What came before it is good; the next frame tells of the hole again.
                break;
            }
            if event.seq > cursor {
                self.cursor = Some(event.seq);
                updates.push(Update::Event(event));
            }
        }
        Ok(updates)
    }
}
