//! What watches over the sessions of a host: as much as is switched on, and by default only the newest
//! lines of a session.
//!
//! Spans go to whoever wants them, figures are counted here, debug files are written beside. The one rule it keeps:
//! it only looks; what it cannot write or nobody takes is lost to it, and never to a session.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jackfield_observe::exposition::{Kind, Page};
use jackfield_observe::histogram::Histogram;
use jackfield_observe::{Payloads, Span, Tally};

/// What watches over the sessions of a host.
#[derive(Debug, Clone, Default)]
pub struct Observe {
    /// Where spans go. Without it none are made.
    pub spans: Option<Arc<dyn SpanSink>>,
    /// Of which turns they are made.
    pub sampling: Sampling,
    /// How much of what was said goes into spans; nothing if absent.
    pub payloads: Option<Payloads>,
    /// Whether figures are counted.
    pub figures: Counting,
    /// Whether the newest lines between a session and its agent are kept.
    pub lines: Lines,
    /// The folder of debug files; without it there are none.
    pub debug_folder: Option<PathBuf>,
    /// Whose debug files are written from the beginning.
    pub debug: DebugOf,
}

/// Of which turns spans are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sampling {
    /// Of all but those whose caller does not keep the trace.
    #[default]
    AsCallers,
    /// Of all.
    All,
}

/// Whether figures are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Counting {
    /// They are not.
    #[default]
    Off,
    /// They are.
    On,
}

/// Whether the newest lines between a session and its agent are kept, for whoever looks for what was made of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Lines {
    /// They are.
    #[default]
    Kept,
    /// They are not: nobody could ask for them.
    Gone,
}

/// Whose debug files are written from the beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DebugOf {
    /// Nobody's; a session's can be switched on while it runs.
    #[default]
    Nobody,
    /// Every session's.
    Everybody,
}

/// Where spans go. It is called in the middle of a session's work, so it must be quick.
pub trait SpanSink: std::fmt::Debug + Send + Sync {
    /// Takes spans that are over.
    fn take(&self, spans: &[Span]);

    /// How many of them were lost so far, since nobody took them in time.
    fn lost(&self) -> u64;
}

/// What is counted in a host, by all of it.
#[derive(Debug, Default)]
pub struct Figures {
    tally: Mutex<Tally>,
    commits: Mutex<Histogram>,
    failed_commits: AtomicU64,
    slow_readers: AtomicU64,
}

impl Figures {
    pub(crate) fn take_in(&self, tally: &mut Tally) {
        lock(&self.tally).take_in(tally);
    }

    /// A batch was stored, or could not be.
    pub(crate) fn committed(&self, took: Duration, stored: bool) {
        if stored {
            lock(&self.commits).count(took.as_secs_f64());
        } else {
            self.failed_commits.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Somebody was let go because they did not read.
    pub(crate) fn slow_reader(&self) {
        self.slow_readers.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn write(&self, page: &mut Page) {
        page.tally(&lock(&self.tally));
        let name = "jackfield_store_commit_seconds";
        page.figure(name, Kind::Histogram, "How long batches took to be on disk, with the wait for others.");
        page.histogram(name, &[], &lock(&self.commits));
        let name = "jackfield_store_failures_total";
        page.figure(name, Kind::Counter, "Batches that could not be stored; each is tried again.");
        page.sample(name, &[], self.failed_commits.load(Ordering::Relaxed));
        let name = "jackfield_slow_readers_total";
        page.figure(name, Kind::Counter, "Clients that were let go because they did not read.");
        page.sample(name, &[], self.slow_readers.load(Ordering::Relaxed));
    }
}

fn lock<T>(held: &Mutex<T>) -> MutexGuard<'_, T> {
    // Plain figures: a panic while the lock is held leaves them usable.
    held.lock().unwrap_or_else(PoisonError::into_inner)
}
