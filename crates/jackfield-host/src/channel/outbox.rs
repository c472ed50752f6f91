//! Events on their way to the disk, and from there to those who follow.
//!
//! Events are encoded once, as they come. One batch is on its way at a time; what comes in the meantime makes up
//! the next, so batches grow by themselves when the disk is slow. The one rule it keeps: a batch that could not be
//! stored is tried again as it is, and nothing behind it goes first.

use std::sync::Arc;

use bytes::Bytes;
use jackfield_api::permission::PermissionRequest;
use jackfield_api::snapshot::{Item, Snapshot};
use jackfield_api::{Body, Event, Seq, SessionId, Timestamp, codec};

use crate::store::{Batch, Decided, TurnRow};

/// How much may wait before no more events are taken from the run. A batch becomes one frame, and whoever is behind
/// holds one of them; so it is no larger than it must be to make a commit worth its while.
const ROOM: usize = 256 * 1024;

/// Events on their way to the disk.
#[derive(Debug)]
pub(crate) struct Outbox {
    session_id: SessionId,
    lines: Vec<u8>,
    first: Option<Seq>,
    last: Seq,
    items: Vec<Item>,
    turns: Vec<TurnRow>,
    asked: Vec<(Timestamp, PermissionRequest)>,
    decided: Vec<Decided>,
    /// The events themselves, where somebody in this process reads them.
    kept: Vec<Arc<Event>>,
    /// The batch that was handed to the store.
    sent: Option<Batch>,
    /// Its events, if all of them were kept.
    sent_events: Arc<[Arc<Event>]>,
}

impl Outbox {
    pub(crate) fn new(session_id: SessionId, last: Seq) -> Self {
        Self {
            session_id,
            lines: Vec::new(),
            first: None,
            last,
            items: Vec::new(),
            turns: Vec::new(),
            asked: Vec::new(),
            decided: Vec::new(),
            kept: Vec::new(),
            sent: None,
            sent_events: Arc::default(),
        }
    }

    /// Takes an event in.
    pub(crate) fn push(&mut self, event: &Event, model: Option<&str>) {
        self.first.get_or_insert(event.seq);
        self.last = event.seq;
        codec::encode(event, &mut self.lines);
        self.lines.push(b'\n');
        match &event.body {
            Body::Complete(complete) => self.turns.push(TurnRow {
                seq: event.seq,
                turn: event.turn,
                at: event.at,
                model: model.map(str::to_owned),
                figures: complete.data.clone(),
            }),
            Body::PermissionRequest(request) => self.asked.push((event.at, (**request).clone())),
            Body::PermissionResolved(over) => {
                let (by, message) = (over.by.clone(), over.message.clone());
                self.decided.push((event.at, over.pending_id, Some(over.outcome), by, message));
            }
            Body::PermissionCancelled(over) => {
                self.decided.push((event.at, over.pending_id, None, None, None));
            }
            _ => {}
        }
    }

    /// Keeps an event that was taken in, for those in this process who read it.
    pub(crate) fn keep(&mut self, event: &Arc<Event>) {
        self.kept.push(Arc::clone(event));
    }

    /// Takes items in that will not change any more.
    pub(crate) fn settle(&mut self, items: Vec<Item>) {
        self.items.extend(items);
    }

    /// Whether more may come.
    pub(crate) fn has_room(&self) -> bool {
        self.lines.len() < ROOM
    }

    /// Whether everything is on disk.
    pub(crate) fn is_empty(&self) -> bool {
        self.sent.is_none() && self.first.is_none()
    }

    /// Whether a batch could be handed to the store now.
    pub(crate) fn is_due(&self) -> bool {
        self.sent.is_none() && self.first.is_some()
    }

    /// The batch for the store, which is then on its way.
    pub(crate) fn send(
        &mut self,
        summary: Option<jackfield_api::host::SessionSummary>,
        checkpoint: Option<(Snapshot, Vec<Item>)>,
    ) -> Option<Batch> {
        let first = if self.sent.is_none() { self.first.take()? } else { return None };
        // Where much comes at once, as much will come again.
        let room = if self.lines.len() > ROOM / 4 { self.lines.len() } else { 0 };
        let lines = std::mem::replace(&mut self.lines, Vec::with_capacity(room));
        let batch = Batch {
            session: self.session_id.clone(),
            first,
            last: self.last,
            lines: Bytes::from(lines),
            items: std::mem::take(&mut self.items),
            summary,
            checkpoint,
            turns: std::mem::take(&mut self.turns),
            asked: std::mem::take(&mut self.asked),
            decided: std::mem::take(&mut self.decided),
        };
        let kept = std::mem::take(&mut self.kept);
        let all = kept.len() as u64 == self.last.0 + 1 - first.0;
        self.sent_events = if all { kept.into() } else { Arc::default() };
        self.sent = Some(batch.clone());
        Some(batch)
    }

    /// The events of the batch that is on its way; none if not all of them were kept.
    pub(crate) fn sent_events(&self) -> Arc<[Arc<Event>]> {
        Arc::clone(&self.sent_events)
    }

    /// The batch is on disk.
    pub(crate) fn stored(&mut self) {
        self.sent = None;
        self.sent_events = Arc::default();
    }

    /// The batch once more, because it could not be stored.
    pub(crate) fn again(&self) -> Option<Batch> {
        self.sent.clone()
    }
}
