//! A session as it stands: its transcript, what of it is on its way to the disk, and who waits for that.
//!
//! No task, no clock and no disk: what happened is an argument, and what is to be done is given back; so the same code
//! runs in a session's task and in the simulation. The one rule it keeps: who gave a command is told that it was done
//! when what came of it is stored, and not before.

use std::collections::BTreeMap;
use std::sync::Arc;

use jackfield_api::command::{Rejection, RejectionCode, Reply};
use jackfield_api::permission::PermissionOutcome;
use jackfield_api::{Body, Event, PendingId, Seq, Timestamp};
use jackfield_core::Transcript;

use super::outbox::Outbox;
use super::{reject, summary};
use crate::store::{Batch, ResumePoint, SessionRecord};

/// After how many events a checkpoint is made, if no turn ends before.
const CHECKPOINT: u64 = 2_000;
/// How many answered questions are remembered.
const DECIDED: usize = 256;

/// A session as it stands. `Answer` is the way to whoever gave a command.
#[derive(Debug)]
pub(crate) struct Book<Answer> {
    pub(crate) record: SessionRecord,
    /// Only what may still change of its items; the others are in the store.
    pub(crate) transcript: Transcript,
    pub(crate) outbox: Outbox,
    /// The summary may have changed.
    pub(crate) changed: bool,
    pub(crate) checkpoint_due: bool,
    checkpoint_at: Seq,
    /// How the last questions ended, for those who answer too late.
    decided: BTreeMap<PendingId, String>,
    /// Answers to commands that were done, which wait until what came of them up to here is on disk.
    held: Vec<(Seq, Answer, Reply)>,
}

/// What is to be written.
#[derive(Debug)]
pub(crate) enum Flush {
    Nothing,
    /// Events, and all that follows from them.
    Batch(Arc<Batch>),
    /// Only what the session is.
    Record,
}

impl<Answer> Book<Answer> {
    pub(crate) fn new(record: SessionRecord, transcript: Transcript) -> Self {
        let last = transcript.snapshot().seq;
        Self {
            outbox: Outbox::new(record.summary.session_id.clone(), last),
            record,
            transcript,
            changed: false,
            checkpoint_due: false,
            checkpoint_at: last,
            decided: BTreeMap::new(),
            held: Vec::new(),
        }
    }

    /// A session of the store, and the events that close what a host that died left open; they are to be taken.
    pub(crate) fn load(record: SessionRecord, point: ResumePoint, now: Timestamp) -> (Self, Vec<Event>) {
        let mut snapshot = point.checkpoint;
        snapshot.items = point.unsettled;
        let mut transcript = Transcript::from_snapshot(snapshot);
        for event in &point.events {
            transcript.apply(event);
        }
        // What settled behind the checkpoint is in the store already.
        drop(transcript.take_settled());
        let closing = transcript.host_ended(now);
        (Self::new(record, transcript), closing)
    }

    /// The last event.
    pub(crate) fn seq(&self) -> Seq {
        self.transcript.snapshot().seq
    }

    /// The record as it stands with all that was taken in, stored or not: what a run begins from.
    pub(crate) fn record_now(&mut self) -> SessionRecord {
        summary::refresh(&mut self.record.summary, self.transcript.snapshot());
        self.record.clone()
    }

    /// Takes an event in.
    pub(crate) fn take(&mut self, event: &Event) {
        self.transcript.apply(event);
        self.changed |= summary::see(&mut self.record.summary, event);
        let model = self.transcript.snapshot().status.as_ref().map(|status| status.model.as_str());
        self.outbox.push(event, model);
        match &event.body {
            Body::PermissionResolved(over) => {
                let by = over.by.as_deref().unwrap_or("somebody");
                let how = match over.outcome {
                    PermissionOutcome::Allowed => format!("{by} has allowed it"),
                    PermissionOutcome::Denied => format!("{by} has denied it"),
                    PermissionOutcome::Expired => "nobody answered in time".to_owned(),
                    PermissionOutcome::Lost => "the run ended".to_owned(),
                };
                self.keep_decision(over.pending_id, how);
            }
            Body::PermissionCancelled(over) => {
                self.keep_decision(over.pending_id, "the CLI has withdrawn it".to_owned());
            }
            Body::Complete(_) | Body::RunEnded(_) => self.checkpoint_due = true,
            _ => {}
        }
    }

    /// An event of the host's own behind all others, which is to be taken. Only while nothing runs: a run counts its
    /// events itself.
    pub(crate) fn next_event(&self, body: impl Into<Body>, at: Timestamp) -> Event {
        Event {
            body: body.into(),
            seq: Seq(self.seq().0 + 1),
            at,
            session_id: self.record.summary.session_id.clone(),
            turn: self.transcript.snapshot().turn,
            parent_tool_call_id: None,
        }
    }

    /// What is to be written now.
    pub(crate) fn flush(&mut self) -> Flush {
        if self.outbox.is_due() {
            let settled = self.transcript.take_settled();
            self.changed |= summary::preview(&mut self.record.summary, &settled);
            self.outbox.settle(settled);
            let header = self.transcript.snapshot();
            summary::refresh(&mut self.record.summary, header);
            let far = header.seq.0 - self.checkpoint_at.0 >= CHECKPOINT;
            let checkpoint = (self.checkpoint_due || far).then(|| {
                let mut header = header.clone();
                let unsettled = std::mem::take(&mut header.items);
                (header, unsettled)
            });
            if checkpoint.is_some() {
                (self.checkpoint_due, self.checkpoint_at) = (false, header.seq);
            }
            let told = std::mem::take(&mut self.changed).then(|| self.record.summary.clone());
            self.outbox.send(told, checkpoint).map_or(Flush::Nothing, Flush::Batch)
        } else if self.outbox.is_empty() && std::mem::take(&mut self.changed) {
            summary::refresh(&mut self.record.summary, self.transcript.snapshot());
            Flush::Record
        } else {
            Flush::Nothing
        }
    }

    /// Holds an answer back until everything that is known by now is on disk: what a client was told to be done is
    /// not lost with the host.
    pub(crate) fn hold(&mut self, answer: Answer, reply: Reply) {
        self.held.push((self.seq(), answer, reply));
    }

    /// The answers that have waited long enough.
    pub(crate) fn release(&mut self, stored: Seq) -> Vec<(Answer, Reply)> {
        let ready = self.held.extract_if(.., |(seq, ..)| *seq <= stored);
        ready.map(|(_, answer, reply)| (answer, reply)).collect()
    }

    /// All answers, because it is not known when anything will be stored.
    pub(crate) fn release_all(&mut self) -> Vec<(Answer, Reply)> {
        self.held.drain(..).map(|(_, answer, reply)| (answer, reply)).collect()
    }

    /// When each open question was asked.
    pub(crate) fn asked_at(&self) -> BTreeMap<PendingId, Timestamp> {
        let snapshot = self.transcript.snapshot();
        // A question's name is the number of the event that asked it.
        let asked = |id: PendingId| Some(snapshot.items.iter().find(|item| item.seq.0 == id.0)?.at);
        let pending = snapshot.pending.iter().map(|request| request.pending_id);
        pending.filter_map(|id| Some((id, asked(id)?))).collect()
    }

    /// Whether this was asked and is no longer open.
    pub(crate) fn is_over(&self, id: PendingId) -> bool {
        let snapshot = self.transcript.snapshot();
        id.0 <= snapshot.seq.0 && !snapshot.pending.iter().any(|request| request.pending_id == id)
    }

    /// Why an answer is for nothing.
    pub(crate) fn too_late(&self, id: PendingId) -> Rejection {
        let how = self.decided.get(&id).map_or("it is over", String::as_str);
        reject(RejectionCode::TooLate, format!("question {id} is no longer open: {how}"))
    }

    fn keep_decision(&mut self, id: PendingId, how: String) {
        self.decided.insert(id, how);
        while self.decided.len() > DECIDED {
            self.decided.pop_first();
        }
    }
}
