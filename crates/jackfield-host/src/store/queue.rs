//! What waits for the writer, in the order in which it came.
//!
//! A place to leave work and to fetch all of it, not a thread. It has no bound of its own: whoever brings events
//! waits for the earlier ones first. The one rule it keeps: work that nobody will do any more is dropped at once, and
//! whoever brought it hears of that.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::Connection;

use crate::store::error::AppendError;

/// Something to write, and somebody who waits for it.
pub(super) trait Job: Send {
    /// Writes it, in a transaction with others. What refuses it without writing anything is kept for
    /// [`finish`](Job::finish); an error ends the transaction for all.
    fn apply(&mut self, to: &Connection) -> rusqlite::Result<()>;

    /// Tells what came of the transaction.
    fn finish(self: Box<Self>, came: Result<(), AppendError>);

    /// Roughly how much there is to write.
    fn bytes(&self) -> usize {
        0
    }
}

#[derive(Default)]
pub(super) struct Queue {
    waiting: Mutex<Waiting>,
    arrived: Condvar,
}

#[derive(Default)]
struct Waiting {
    jobs: VecDeque<Box<dyn Job>>,
    closed: bool,
}

impl Queue {
    /// Leaves a job. It is dropped if the queue is closed.
    pub(super) fn push(&self, job: Box<dyn Job>) {
        let mut waiting = self.lock();
        if waiting.closed {
            // Its owner is told by the drop, which may take any other lock.
            drop(waiting);
            drop(job);
            return;
        }
        waiting.jobs.push_back(job);
        drop(waiting);
        self.arrived.notify_one();
    }

    /// Takes no more jobs; those that wait are still to be done.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.arrived.notify_all();
    }

    pub(super) fn is_closed(&self) -> bool {
        self.lock().closed
    }

    pub(super) fn len(&self) -> usize {
        self.lock().jobs.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lock().jobs.is_empty()
    }

    /// Waits for jobs and takes all that there are, as far as one transaction should go. None when it is
    /// closed and nothing is left.
    pub(super) fn wait(&self) -> Option<Vec<Box<dyn Job>>> {
        let waited = self.arrived.wait_while(self.lock(), |waiting| waiting.is_idle());
        let group = waited.unwrap_or_else(PoisonError::into_inner).take();
        (!group.is_empty()).then_some(group)
    }

    /// Takes what there is, or comes within a while; nothing if nothing does.
    pub(super) fn take_within(&self, patience: Duration) -> Vec<Box<dyn Job>> {
        let waited = self.arrived.wait_timeout_while(self.lock(), patience, |waiting| waiting.is_idle());
        waited.unwrap_or_else(PoisonError::into_inner).0.take()
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn is_idle(&self) -> bool {
        self.jobs.is_empty() && !self.closed
    }

    fn take(&mut self) -> Vec<Box<dyn Job>> {
        let mut bytes = 0;
        let mut fits = |job: &dyn Job| {
            let fits = bytes < GROUP_BYTES;
            bytes += job.bytes();
            fits
        };
        let count = self.jobs.iter().take(GROUP_JOBS).take_while(|job| fits(job.as_ref())).count();
        self.jobs.drain(..count).collect()
    }
}

/// How much goes into one transaction: enough to share its cost, little enough that nobody waits for long.
const GROUP_BYTES: usize = 8 * 1024 * 1024;
const GROUP_JOBS: usize = 4096;
