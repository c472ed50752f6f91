//! Events on their way to the disk, and from there to those who follow.
//!
//! Events are encoded once, as they come. One batch is on its way at a time; what comes in the meantime makes up
//! the next, so batches grow by themselves when the disk is slow. The one rule it keeps: a batch that could not be
//! stored is tried again as it is, and nothing behind it goes first.

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
    /// The batch that was handed to the store.
    sent: Option<Batch>,
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
            sent: None,
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
        let batch = Batch {
            session: self.session_id.clone(),
            first,
            last: self.last,
            lines: Bytes::from(std::mem::take(&mut self.lines)),
            items: std::mem::take(&mut self.items),
            summary,
            checkpoint,
            turns: std::mem::take(&mut self.turns),
            asked: std::mem::take(&mut self.asked),
            decided: std::mem::take(&mut self.decided),
        };
        self.sent = Some(batch.clone());
        Some(batch)
    }

    /// The batch is on disk.
    pub(crate) fn stored(&mut self) {
        self.sent = None;
    }

    /// The batch once more, because it could not be stored.
    pub(crate) fn again(&self) -> Option<Batch> {
        self.sent.clone()
    }
}
