//! Events on their way to the disk, and from there to those who follow.
//!
//! Events are encoded once, as they come. One batch is on its way at a time; what comes in the meantime makes up
//! the next, so batches grow by themselves when the disk is slow. The one rule it keeps: a batch that could not be
//! stored is tried again as it is, and nothing behind it goes first.

use std::sync::Arc;

use bytes::Bytes;
use jackfield_api::codec::Encoder;
use jackfield_api::permission::PermissionRequest;
use jackfield_api::snapshot::{Item, Snapshot};
use jackfield_api::{Body, Event, Seq, SessionId, SharedEvent, Timestamp};

use super::debug_lines::DebugLines;
use crate::store::{Batch, Decided, TurnRow};

/// How much may wait before no more events are taken from the run. A batch becomes one frame, and whoever is behind
/// holds one of them; so it is no larger than it must be to make a commit worth its while.
const ROOM: usize = 128 * 1024;
/// How many events in one batch show that they pour in: one that is behind such a one waits a moment to grow.
const POURING: u64 = 64;
/// How large a batch need not grow any more.
const WORTHWHILE: usize = 96 * 1024;
/// How much a batch that pours in is made room for: what may wait, and the last event, which may go over that.
const FULL: usize = ROOM + 8 * 1024;

/// Events on their way to the disk.
#[derive(Debug)]
pub(crate) struct Outbox {
    session_id: SessionId,
    encoder: Encoder,
    lines: Vec<u8>,
    /// Where the last of them begins.
    last_line: usize,
    /// The same for a debug file, if there is one.
    debug: Option<DebugLines>,
    first: Option<Seq>,
    last: Seq,
    items: Vec<Item>,
    turns: Vec<TurnRow>,
    asked: Vec<(Timestamp, PermissionRequest)>,
    decided: Vec<Decided>,
    /// The events themselves, where somebody in this process reads them.
    kept: Vec<SharedEvent>,
    /// The last batch had many.
    pours: bool,
    /// Somebody waits for one of them.
    urgent: bool,
    /// The batch that was handed to the store.
    sent: Option<Arc<Batch>>,
    /// Its events, if all of them were kept.
    sent_events: Vec<SharedEvent>,
}

impl Outbox {
    pub(crate) fn new(session_id: SessionId, last: Seq) -> Self {
        Self {
            session_id,
            encoder: Encoder::default(),
            lines: Vec::new(),
            last_line: 0,
            debug: None,
            first: None,
            last,
            items: Vec::new(),
            turns: Vec::new(),
            asked: Vec::new(),
            decided: Vec::new(),
            kept: Vec::new(),
            pours: false,
            urgent: false,
            sent: None,
            sent_events: Vec::new(),
        }
    }

    /// Takes an event in.
    pub(crate) fn push(&mut self, event: &Event, model: Option<&str>) {
        self.first.get_or_insert(event.seq);
        self.last = event.seq;
        self.last_line = self.lines.len();
        let encoded = self.encoder.encode(event, &mut self.lines);
        if let Some(debug) = &mut self.debug {
            debug.push((event.seq, event.at), &self.lines[self.last_line..], encoded);
        }
        self.lines.push(b'\n');
        self.urgent |=
            matches!(event.body, Body::Complete(_) | Body::PermissionRequest(_) | Body::RunEnded(_));
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

    /// The line of the event that was taken in last, until it is sent.
    pub(crate) fn last_line(&self) -> &[u8] {
        self.lines.get(self.last_line..).unwrap_or_default().strip_suffix(b"\n").unwrap_or_default()
    }

    /// Keeps an event that was taken in, for those in this process who read it.
    pub(crate) fn keep(&mut self, event: SharedEvent) {
        self.kept.push(event);
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

    /// Whether it is better to wait a moment for more: a batch costs much, each event in it little.
    pub(crate) fn could_grow(&self) -> bool {
        self.pours && !self.urgent && self.lines.len() < WORTHWHILE
    }

    /// The batch for the store, which is then on its way.
    pub(crate) fn send(
        &mut self,
        summary: Option<jackfield_api::host::SessionSummary>,
        checkpoint: Option<(Snapshot, Vec<Item>)>,
    ) -> Option<Arc<Batch>> {
        let first = if self.sent.is_none() { self.first.take()? } else { return None };
        // Where much comes at once, as much will come again; and rooms that are all as large take each other's place.
        let room = if self.lines.len() > ROOM / 4 { FULL } else { 0 };
        let lines = std::mem::replace(&mut self.lines, Vec::with_capacity(room));
        let batch = Arc::new(Batch {
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
        });
        let kept = std::mem::take(&mut self.kept);
        let count = self.last.0 + 1 - first.0;
        (self.pours, self.urgent) = (count >= POURING, false);
        let all = kept.len() as u64 == count;
        self.sent_events = if all { kept } else { Vec::new() };
        self.sent = Some(Arc::clone(&batch));
        Some(batch)
    }

    /// Tells the lines of the batch that was just made for a debug file, if they were wanted, which may take them; and
    /// takes down whether those of the next are, in which is nothing yet.
    pub(crate) fn tell_debug(&mut self, wanted: bool, tell: impl FnOnce(Option<&mut Vec<u8>>)) {
        tell(self.debug.as_mut().map(DebugLines::end));
        if wanted {
            self.debug.get_or_insert_default().clear();
        } else {
            self.debug = None;
        }
    }

    /// The events of the batch that is on its way, once; none if not all of them were kept.
    pub(crate) fn take_sent_events(&mut self) -> Vec<SharedEvent> {
        std::mem::take(&mut self.sent_events)
    }

    /// The batch is on disk.
    pub(crate) fn stored(&mut self) {
        self.sent = None;
    }

    /// The batch once more, because it could not be stored.
    pub(crate) fn again(&self) -> Option<Arc<Batch>> {
        self.sent.clone()
    }
}

#[cfg(test)]
mod tests {
    use jackfield_api::session::{RunEndReason, RunEnded};
    use jackfield_api::trouble::Gap;

    use super::*;

    fn push(outbox: &mut Outbox, count: u64, body: impl Into<Body>) {
        let body = body.into();
        for _ in 0..count {
            let (seq, at, session_id) = (Seq(outbox.last.0 + 1), Timestamp(0), "s".into());
            let (body, turn, parent_tool_call_id) = (body.clone(), None, None);
            outbox.push(&Event { body, seq, at, session_id, turn, parent_tool_call_id }, None);
        }
    }

    fn chunk() -> Gap {
        Gap { from: Seq(0), to: Seq(0) }
    }

    fn poured() -> Outbox {
        let mut outbox = Outbox::new("s".into(), Seq(0));
        push(&mut outbox, POURING, chunk());
        assert!(!outbox.could_grow(), "nothing was sent before");
        assert!(outbox.send(None, None).is_some());
        outbox.stored();
        outbox
    }

    #[test]
    fn a_batch_behind_many_events_may_grow_until_it_is_worth_its_while() {
        let mut outbox = poured();
        push(&mut outbox, 1, chunk());
        assert!(outbox.is_due() && outbox.could_grow());
        while outbox.lines.len() < WORTHWHILE {
            assert!(outbox.could_grow() && outbox.has_room());
            push(&mut outbox, 1, chunk());
        }
        assert!(!outbox.could_grow());
    }

    #[test]
    fn what_somebody_waits_for_does_not_wait_and_neither_does_what_comes_slowly() {
        let mut outbox = poured();
        push(&mut outbox, 1, chunk());
        let ended = RunEnded { reason: RunEndReason::Closed, exit_code: Some(0), stderr_tail: String::new() };
        push(&mut outbox, 1, ended);
        assert!(!outbox.could_grow());
        assert!(outbox.send(None, None).is_some());
        outbox.stored();
        push(&mut outbox, 1, chunk());
        assert!(!outbox.could_grow(), "the last batch had only two events");
    }
}
