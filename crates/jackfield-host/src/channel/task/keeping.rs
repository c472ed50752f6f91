//! How what happens in a session gets to the disk, and from there to those who follow.
//!
//! The one rule it keeps: nobody is told anything that is not stored.

use std::sync::Arc;
use std::time::Duration;

use jackfield_api::command::{Done, RejectionCode, Reply};
use tokio::time::Instant;

use super::commands::poll_once;
use super::{Finished, GROWING, Task};
use crate::channel::book::Flush;
use crate::channel::{Answer, reject, summary};
use crate::published::Page;
use crate::store::{AppendError, Batch, StoreError};

/// When a batch that could not be stored is tried again.
const AGAIN: Duration = Duration::from_secs(1);

impl Task {
    /// Hands what there is to the store.
    pub(super) fn flush(&mut self) {
        if self.grows() {
            return;
        }
        let flush = self.book.flush();
        // While much happens, what was seen of it is handed on with what is stored.
        if let Some(observed) = &mut self.observed
            && (self.book.outbox.is_empty() || matches!(flush, Flush::Batch(_)))
        {
            observed.hand_on();
        }
        match flush {
            Flush::Batch(batch) => {
                let watcher = &self.watcher;
                let wanted = watcher.debugs();
                self.book.outbox.tell_debug(wanted, |lines| match lines {
                    Some(lines) => watcher.events(lines),
                    None if wanted => watcher.events(&mut batch.lines.to_vec()),
                    None => {}
                });
                self.store(&batch);
            }
            Flush::Record => {
                self.shared.feed.tell(self.book.record.summary.clone(), self.book.asked_at());
                self.save_record(None);
            }
            Flush::Nothing => {}
        }
    }

    pub(super) fn store(&mut self, batch: &Batch) {
        let (published, shared) = (Arc::clone(&self.published), Arc::clone(&self.shared));
        let events = self.book.outbox.take_sent_events();
        let page = Page { first: batch.first, last: batch.last, lines: batch.lines.clone(), events };
        let told = batch.summary.clone().map(|summary| (summary, self.book.asked_at()));
        let committed = self.committed.0.clone();
        let figures = self.shared.figures.clone().map(|figures| (figures, Instant::now()));
        self.shared.store.append_then(
            batch,
            Box::new(move |result| {
                if let Some((figures, began)) = figures {
                    figures.committed(began.elapsed(), result.is_ok());
                }
                if result.is_ok() {
                    // Who sees a question in the events finds it on the desk.
                    if let Some((summary, asked)) = told {
                        shared.feed.tell(summary, asked);
                    }
                    published.publish(page);
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
                self.book.outbox.stored();
                self.grows = Some(Instant::now() + GROWING);
            }
            Err(error) => {
                let session = &self.book.record.summary.session_id;
                tracing::warn!(%session, %error, "cannot store what happens; it is tried again");
                self.again = Some(Instant::now() + AGAIN);
                self.refuse_waiting("the host cannot store anything at the moment: is the disk full?");
                // They were done all the same.
                for (answer, reply) in self.book.release_all() {
                    let _ = answer.send(Ok(reply));
                }
                let mut told = self.book.record.summary.clone();
                told.last_error = Some(format!("the host cannot store what happens: {error}"));
                self.shared.feed.tell(told, self.book.asked_at());
            }
        }
    }

    /// Gives the answers that have waited long enough.
    pub(super) fn release(&mut self) {
        self.open();
        for (answer, reply) in self.book.release(self.published.last()) {
            let _ = answer.send(Ok(reply));
        }
    }

    pub(super) fn keep_record(&mut self, answer: Answer) {
        self.book.record.summary.updated_at = summary::now();
        self.shared.feed.tell(self.book.record.summary.clone(), self.book.asked_at());
        self.save_record(Some(answer));
    }

    pub(super) fn save_record(&mut self, answer: Option<Answer>) {
        let (store, record) = (self.shared.store.clone(), self.book.record.clone());
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
