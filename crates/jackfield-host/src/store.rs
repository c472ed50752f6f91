//! The store: everything that a host must still know after a crash, in one SQLite database.
//!
//! One thread writes, a few connections read. Events of all sessions that wait share a transaction, so that many
//! sessions cost few syncs. It keeps what it is given and folds nothing: what an event means is known
//! elsewhere. The one rule it keeps: who was told that something is stored finds it again, whole and in order.
//!
//! # Layout
//! * `folder`, `schema` – the folder, its lock and the file; versions
//! * `queue`, `writer`, `wal`, `syncing`, `readers` – how work gets to the database
//! * `batch`, `index`, `removal` – events in, sessions out
//! * `sessions`, `history`, `search`, `money`, `questions`, `commands`, `settings` – what is asked of it
//! * `look` – what may be asked of it from outside

mod batch;
mod column;
mod commands;
mod error;
mod folder;
mod history;
mod index;
mod look;
mod money;
mod packed;
mod questions;
mod queue;
mod readers;
mod removal;
mod schema;
mod search;
mod sessions;
mod settings;
mod syncing;
#[cfg(test)]
mod tests;
mod wal;
mod words;
mod writer;

use std::path::Path;
use std::sync::Arc;

use rusqlite::{Connection, params};
use tokio::sync::{oneshot, watch};

pub use self::batch::{Batch, Decided, TurnRow};
pub use self::commands::Begun;
pub use self::error::{AppendError, StoreError};
pub use self::history::{LogPage, ResumePoint};
pub use self::look::Look;
pub use self::money::CostBy;
pub use self::sessions::{Archived, SessionQuery, SessionRecord};
pub use self::syncing::Syncing;

use self::batch::Rows;
use self::error::Fault;
use self::queue::Queue;
use self::readers::Readers;
use self::wal::Wal;
use self::writer::{Append, Change, Writer};

/// A host's memory. A clone is the same store.
#[derive(Clone)]
pub struct Store {
    shared: Arc<Shared>,
}

struct Shared {
    host_id: String,
    opened: i64,
    queue: Arc<Queue>,
    readers: Arc<Readers>,
    ended: watch::Receiver<()>,
}

impl Store {
    /// Opens the database in a folder, and makes both if they are not there. It belongs to this store alone until it
    /// is closed, or dropped with all its clones.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        Self::open_syncing(folder, Syncing::First)
    }

    /// Opens it likewise, and says when the disk is made to keep what is written.
    pub fn open_syncing(folder: &Path, syncing: Syncing) -> Result<Self, StoreError> {
        Self::open_with(folder, schema::STEPS, syncing)
    }

    fn open_with(folder: &Path, steps: &[&str], syncing: Syncing) -> Result<Self, StoreError> {
        let lock = folder::take(folder)?;
        let path = folder.join("jackfield.db");
        let connection = schema::open(&path, steps, syncing)?;
        let (host_id, opened) =
            begin(&connection).map_err(|error| Fault::from(error).during("open the database"))?;
        let queue = Arc::new(Queue::default());
        let (ending, ended) = watch::channel(());
        let wal = Wal::of(&path);
        let writer = Writer::new(Arc::clone(&queue), connection, wal, syncing, lock, ending);
        std::thread::Builder::new()
            .name("store".to_owned())
            .spawn(move || writer.run())
            .map_err(folder::failed("begin to write to", &path))?;
        let readers = Arc::new(Readers::new(path));
        Ok(Self { shared: Arc::new(Shared { host_id, opened, queue, readers, ended }) })
    }

    /// The host's name, made with the database.
    pub fn host_id(&self) -> &str {
        &self.shared.host_id
    }

    /// Stores a batch. It never waits: whoever brings batches waits for the answers to earlier ones before there are
    /// too many. The answer comes once the batch is on disk, or is known not to be.
    pub fn append(&self, batch: &Batch) -> oneshot::Receiver<Result<(), AppendError>> {
        let (told, answer) = oneshot::channel();
        // Nobody may wait for it; it is stored all the same.
        self.append_then(batch, Box::new(move |came| drop(told.send(came))));
        answer
    }

    /// Stores a batch like [`append`](Self::append), and then does something on the writer's own thread, in the order
    /// in which batches came. It must be quick: everyone waits for it.
    pub fn append_then(&self, batch: &Batch, done: Box<dyn FnOnce(Result<(), AppendError>) + Send>) {
        match Rows::of(batch) {
            Ok(rows) => self.shared.queue.push(Box::new(Append::new(rows, done))),
            Err(error) => done(Err(AppendError::Failed(error.to_string()))),
        }
    }

    /// How many changes wait to be written.
    pub fn waiting(&self) -> usize {
        self.shared.queue.len()
    }

    /// Ends the store: what waits is written, everything is taken into one file, and the folder is free. Clones
    /// of it are of no more use.
    pub async fn close(self) {
        self.shared.readers.close();
        self.shared.queue.close();
        let mut ended = self.shared.ended.clone();
        // Nothing is ever sent: it fails when the writer is gone.
        while ended.changed().await.is_ok() {}
    }

    async fn change<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (told, answer) = oneshot::channel();
        self.shared.queue.push(Box::new(Change::new(work, told)));
        answer.await.map_err(|_| StoreError::Closed)?
    }

    async fn read<T: Send + 'static>(
        &self,
        doing: &'static str,
        work: impl FnOnce(&Connection) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.shared.readers.run(doing, work).await
    }

    fn opened(&self) -> i64 {
        self.shared.opened
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("host_id", &self.shared.host_id).finish_non_exhaustive()
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.queue.close();
    }
}

/// Counts this opening, and gives the host its name at the first.
fn begin(connection: &Connection) -> rusqlite::Result<(String, i64)> {
    let rules = r#"{"rules":[]}"#;
    let begun: (String, i64) = connection.query_row(
        "INSERT INTO host (only, id, opened, rules) VALUES (1, ?1, 1, ?2)
         ON CONFLICT DO UPDATE SET opened = opened + 1 RETURNING id, opened",
        params![uuid::Uuid::new_v4().to_string(), rules],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    commands::sweep(connection, begun.1)?;
    Ok(begun)
}
