//! How what happens in a session gets to the disk, and from there to those who follow.
//!
//! The one rule it keeps: nobody is told anything that is not stored.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jackfield_api::command::{Done, RejectionCode, Reply};
use jackfield_api::{PendingId, Timestamp};
use tokio::time::Instant;

use super::commands::poll_once;
use super::{Finished, Task};
use crate::channel::{Answer, reject, summary};
use crate::published::Page;
use crate::store::{AppendError, Batch, StoreError};

/// After how many events a checkpoint is made, if no turn ends before.
const CHECKPOINT: u64 = 2_000;
/// When a batch that could not be stored is tried again.
const AGAIN: Duration = Duration::from_secs(1);

impl Task {
    /// Hands what there is to the store.
    pub(super) fn flush(&mut self) {
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
            if let Some(batch) = self.outbox.send(told, checkpoint) {
                self.store(batch);
            }
        } else if self.outbox.is_empty() && std::mem::take(&mut self.changed) {
            summary::refresh(&mut self.record.summary, self.transcript.snapshot());
            self.shared.feed.tell(self.record.summary.clone(), self.asked_at());
            self.save_record(None);
        }
    }

    pub(super) fn store(&self, batch: Batch) {
        let (published, shared) = (Arc::clone(&self.published), Arc::clone(&self.shared));
        let page = Page { first: batch.first, last: batch.last, lines: batch.lines.clone() };
        let told = batch.summary.clone().map(|summary| (summary, self.asked_at()));
        let committed = self.committed.0.clone();
        self.shared.store.append_then(
            batch,
            Box::new(move |result| {
                if result.is_ok() {
                    // Who sees a question in the events finds it on the desk.
                    if let Some((summary, asked)) = told {
                        shared.feed.tell(summary, asked);
                    }
                    published.publish(&page);
                }
                // One batch is on its way at a time, so there is room; a task that is gone does not mind.
                let _ = committed.try_send(result);
            }),
        );
    }

    pub(super) fn committed(&mut self, result: Result<(), AppendError>) {
        match result {
            Ok(()) => {
                self.again = None;
                self.outbox.stored();
            }
            Err(error) => {
                self.again = Some(Instant::now() + AGAIN);
                // They were done all the same.
                for (_, answer, reply) in self.held.drain(..) {
                    let _ = answer.send(Ok(reply));
                }
                let mut told = self.record.summary.clone();
                told.last_error = Some(format!("the host cannot store what happens: {error}"));
                self.shared.feed.tell(told, self.asked_at());
            }
        }
    }

    /// Holds an answer back until everything that is known by now is on disk: what a client was told to be done is
    /// not lost with the host.
    pub(super) fn hold(&mut self, answer: Answer, reply: Reply) {
        self.held.push((self.seq(), answer, reply));
    }

    /// Gives the answers that have waited long enough.
    pub(super) fn release(&mut self) {
        let stored = self.published.last();
        for (_, answer, reply) in self.held.extract_if(.., |(seq, ..)| *seq <= stored) {
            let _ = answer.send(Ok(reply));
        }
    }

    fn asked_at(&self) -> BTreeMap<PendingId, Timestamp> {
        let snapshot = self.transcript.snapshot();
        // A question's name is the number of the event that asked it.
        let asked = |id: PendingId| Some(snapshot.items.iter().find(|item| item.seq.0 == id.0)?.at);
        let pending = snapshot.pending.iter().map(|request| request.pending_id);
        pending.filter_map(|id| Some((id, asked(id)?))).collect()
    }

    pub(super) fn keep_record(&mut self, answer: Answer) {
        self.record.summary.updated_at = summary::now();
        self.shared.feed.tell(self.record.summary.clone(), self.asked_at());
        self.save_record(Some(answer));
    }

    pub(super) fn save_record(&mut self, answer: Option<Answer>) {
        let (store, record) = (self.shared.store.clone(), self.record.clone());
        let saved = async move {
            let saved = store.update(&record).await;
            if let Some(answer) = answer {
                let failed = |error: StoreError| reject(RejectionCode::NotNow, error.to_string());
                let _ = answer.send(saved.map(|()| Reply::Done(Done {})).map_err(failed));
            }
            Finished::Saved
        };
        // Begun here, so that it stands in the store's queue where it belongs: behind the batches that were before it.
        let mut saved = Box::pin(saved);
        if poll_once(&mut saved).is_none() {
            self.doing.spawn(saved);
        }
    }
}
