//! The one thread that writes.
//!
//! It takes all that waits, writes it in one transaction, tells everyone, and begins again: under load a group
//! is what arrived during the last commit, and when idle a batch is committed at once. The one rule it keeps: who is
//! told that something is stored can rely on it, as far as [`Syncing`] says. An error on the way to the disk fails the
//! whole group, and after a failed fsync, of which nobody knows what it has kept, nothing more is taken.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, ffi};
use tokio::sync::{oneshot, watch};

use crate::store::batch::Rows;
use crate::store::error::{AppendError, Fault, StoreError};
use crate::store::folder::Lock;
use crate::store::queue::{Job, Queue};
use crate::store::syncing::{Owed, Syncing};
use crate::store::wal::Wal;
use crate::store::{index, removal, schema};

/// The thread's own things, dropped in this order.
pub(super) struct Writer {
    queue: Arc<Queue>,
    connection: Connection,
    wal: Wal,
    syncing: Syncing,
    /// What was told and not synced, where that comes behind.
    unsynced: Owed,
    /// What was written and may have words for the index.
    unindexed: Owed,
    /// How often something was written since the length of the WAL was looked at.
    unlooked: u32,
    lock: Lock,
    /// Gone when everything is.
    ended: watch::Sender<()>,
}

impl Writer {
    pub(super) fn new(
        queue: Arc<Queue>,
        connection: Connection,
        wal: Wal,
        syncing: Syncing,
        lock: Lock,
        ended: watch::Sender<()>,
    ) -> Self {
        let (unsynced, unindexed) = (Owed::within(SYNCED_WITHIN), Owed::within(INDEXED_WITHIN));
        Self { queue, connection, wal, syncing, unsynced, unindexed, unlooked: 0, lock, ended }
    }

    /// Works until the queue is closed and empty.
    pub(super) fn run(mut self) {
        let mut stopped = None;
        // An earlier host may have left something to clear away, and to catch up with.
        let mut clearing = true;
        let mut is_used = false;
        let mut last_pieces = 0..LAST_PIECES;
        self.unindexed.wrote(Instant::now());
        while let Some(jobs) = self.next(clearing) {
            clearing = if jobs.is_empty() && !clearing {
                false
            } else if jobs.is_empty() {
                // A host that ends leaves what is too much to the next.
                if self.queue.is_closed() {
                    self.clear(&mut stopped) && last_pieces.next().is_some()
                } else {
                    let may = is_used && stopped.is_none();
                    self.clear(&mut stopped) || (may && self.wal.lengthen(&mut self.connection))
                }
            } else {
                is_used = true;
                self.commit(jobs, &mut stopped)
            };
            let now = Instant::now();
            if self.unsynced.is_due(now) {
                self.sync(&mut stopped);
            }
            if self.unindexed.is_due(now) {
                self.index(&mut stopped);
            }
            self.checkpoint(&mut stopped);
        }
        self.index(&mut stopped);
        if self.syncing == Syncing::Behind {
            self.sync(&mut stopped);
        }
        if stopped.is_none() {
            // What does not fit is taken in by the next host.
            let _ = self.take_in("TRUNCATE");
        }
        let Self { connection, lock, ended, .. } = self;
        drop(connection);
        drop(lock);
        drop(ended);
    }

    /// What is to be done next: nothing if there is other work, none at the end.
    fn next(&self, has_work: bool) -> Option<Vec<Box<dyn Job>>> {
        let now = Instant::now();
        match [self.unsynced.patience(now), self.unindexed.patience(now)].into_iter().flatten().min() {
            _ if has_work => Some(self.queue.take_within(Duration::ZERO)),
            Some(patience) if !self.queue.is_closed() => Some(self.queue.take_within(patience)),
            _ => self.queue.wait(),
        }
    }

    /// Makes the disk keep what was told already.
    fn sync(&mut self, stopped: &mut Option<AppendError>) {
        if stopped.is_none()
            && let Err(error) = self.wal.sync()
        {
            stop(&error, stopped);
        }
        self.unsynced.paid();
    }

    /// Takes words in, as far as nobody waits. Those that cannot be taken in now stay where they are.
    fn index(&mut self, stopped: &mut Option<AppendError>) {
        while stopped.is_none() {
            match index::take_in_some(&mut self.connection) {
                Ok(true) if self.queue.is_empty() => {}
                Ok(true) => return,
                Ok(false) => break,
                Err(error) => {
                    failure(&error, stopped);
                    break;
                }
            }
        }
        self.unindexed.paid();
    }

    /// Commits a group and tells everyone. Says whether it is stored.
    fn commit(&mut self, mut jobs: Vec<Box<dyn Job>>, stopped: &mut Option<AppendError>) -> bool {
        let came = match stopped {
            Some(stopped) => Err(stopped.clone()),
            None => self.write(&mut jobs).map_err(|error| failure(&error, stopped)),
        };
        if came.is_ok() {
            let now = Instant::now();
            self.unindexed.wrote(now);
            if self.syncing == Syncing::Behind {
                self.unsynced.wrote(now);
            }
        }
        for job in jobs {
            job.finish(came.clone());
        }
        if came == Err(AppendError::Full) {
            self.make_room(stopped);
        }
        came.is_ok()
    }

    /// Clears away some of what removed sessions left. Says whether there may be more.
    fn clear(&mut self, stopped: &mut Option<AppendError>) -> bool {
        removal::clear_some(&mut self.connection).unwrap_or_else(|error| {
            failure(&error, stopped);
            false
        })
    }

    fn write(&mut self, jobs: &mut [Box<dyn Job>]) -> rusqlite::Result<()> {
        // Not a `Transaction`: its statements are compiled each time, and here that takes as long as a small batch.
        let to = &self.connection;
        let run = |sql| to.prepare_cached(sql)?.execute([]).map(drop);
        run("BEGIN IMMEDIATE")?;
        let done = jobs.iter_mut().try_for_each(|job| job.apply(to)).and_then(|()| run("COMMIT"));
        if done.is_err() && !to.is_autocommit() {
            // What failed is told; what comes next says so too if this fails.
            let _ = run("ROLLBACK");
        }
        done
    }

    /// Takes the WAL into the database, when it is worth it and nobody waits, or when it grows too long.
    fn checkpoint(&mut self, stopped: &mut Option<AppendError>) {
        self.unlooked += 1;
        if stopped.is_some() || self.unlooked < LOOK {
            return;
        }
        self.unlooked = 0;
        let Ok((written, taken)) = self.take_in("NOOP") else { return };
        let waiting = written - taken;
        if (CHECKPOINT_FRAMES < waiting && self.queue.is_empty()) || 4 * CHECKPOINT_FRAMES < waiting {
            // Only a failed fsync matters: what could not be taken in stays in the WAL.
            if let Err(error) = self.take_in("PASSIVE") {
                failure(&error, stopped);
            }
        }
    }

    /// Gives the room that the WAL takes back to a full disk, as far as the database has room for what is in it.
    fn make_room(&mut self, stopped: &mut Option<AppendError>) {
        // Those who read are not waited for.
        let tried = self.connection.busy_timeout(Duration::ZERO).and_then(|()| self.take_in("TRUNCATE"));
        let restored = self.connection.busy_timeout(schema::PATIENCE);
        if let Err(error) = tried.and(restored) {
            failure(&error, stopped);
        }
    }

    /// How many frames the WAL has, and how many of them are in the database.
    fn take_in(&self, mode: &str) -> rusqlite::Result<(i64, i64)> {
        let sql = format!("PRAGMA wal_checkpoint({mode})");
        self.connection.query_row(&sql, [], |row| Ok((row.get(1)?, row.get(2)?)))
    }
}

/// What an error means for those who wait, and whether it is the end.
fn failure(error: &rusqlite::Error, stopped: &mut Option<AppendError>) -> AppendError {
    if error.sqlite_error_code() == Some(ErrorCode::DiskFull) {
        return AppendError::Full;
    }
    match error.sqlite_extended_error_code() {
        Some(ffi::SQLITE_IOERR_FSYNC | ffi::SQLITE_IOERR_DIR_FSYNC) => stop(error, stopped),
        _ => AppendError::Failed(error.to_string()),
    }
}

/// After a failed sync nobody knows what was kept.
fn stop(error: &dyn std::error::Error, stopped: &mut Option<AppendError>) -> AppendError {
    let end = AppendError::Stopped(format!("the disk failed to keep what was written ({error})"));
    stopped.insert(end).clone()
}

/// A batch on its way, and who waits for it.
pub(super) struct Append {
    rows: Rows,
    refused: Option<AppendError>,
    done: Option<Done>,
}

/// What to do once it is known whether a batch is stored.
pub(super) type Done = Box<dyn FnOnce(Result<(), AppendError>) + Send>;

impl Append {
    pub(super) fn new(rows: Rows, done: Done) -> Self {
        Self { rows, refused: None, done: Some(done) }
    }
}

impl Job for Append {
    fn apply(&mut self, to: &Connection) -> rusqlite::Result<()> {
        self.refused = self.rows.write(to)?.err();
        Ok(())
    }

    fn finish(mut self: Box<Self>, came: Result<(), AppendError>) {
        if let Some(done) = self.done.take() {
            done(came.and(self.refused.take().map_or(Ok(()), Err)));
        }
    }

    fn bytes(&self) -> usize {
        self.rows.bytes()
    }
}

impl Drop for Append {
    fn drop(&mut self) {
        if let Some(done) = self.done.take() {
            done(Err(AppendError::Stopped("it was closed".to_owned())));
        }
    }
}

/// Any other change, and who waits for what it gives.
pub(super) struct Change<W, T> {
    work: Option<W>,
    outcome: Option<Result<T, StoreError>>,
    reply: oneshot::Sender<Result<T, StoreError>>,
}

impl<W, T> Change<W, T>
where
    W: FnOnce(&Connection) -> Result<T, Fault> + Send,
    T: Send,
{
    /// A change whose own refusals come before it has written anything.
    pub(super) fn new(work: W, reply: oneshot::Sender<Result<T, StoreError>>) -> Self {
        Self { work: Some(work), outcome: None, reply }
    }
}

impl<W, T> Job for Change<W, T>
where
    W: FnOnce(&Connection) -> Result<T, Fault> + Send,
    T: Send,
{
    fn apply(&mut self, to: &Connection) -> rusqlite::Result<()> {
        let Some(work) = self.work.take() else { return Ok(()) };
        self.outcome = Some(match work(to) {
            Ok(value) => Ok(value),
            Err(Fault::Store(refused)) => Err(refused),
            Err(Fault::Database(error)) => return Err(error),
        });
        Ok(())
    }

    fn finish(self: Box<Self>, came: Result<(), AppendError>) {
        let outcome = came.map_err(StoreError::from).and(self.outcome.unwrap_or(Err(StoreError::Closed)));
        // Nobody may wait any more; it is done all the same.
        let _ = self.reply.send(outcome);
    }
}

/// How long what was told may wait for the disk, where that comes behind.
const SYNCED_WITHIN: Duration = Duration::from_millis(100);
/// How long words may wait for a moment in which nobody waits. A search does not: it takes in what is left.
const INDEXED_WITHIN: Duration = Duration::from_secs(2);

/// Frames in the WAL from which on it is taken into the database: four megabytes.
const CHECKPOINT_FRAMES: i64 = 1000;

/// How often something is written before the length of the WAL is looked at again: that takes as long as to write a
/// small batch.
const LOOK: u32 = 8;

/// How often something is cleared away when the store is closed: about a second's worth.
const LAST_PIECES: usize = 100;
