//! A few connections that read, side by side with the writer.
//!
//! Reading happens on the runtime's threads for blocking work. The one rule it keeps: each reader sees one moment,
//! however many questions it asks.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;
use tokio::sync::Semaphore;

use crate::store::error::{Fault, StoreError};
use crate::store::schema;

pub(super) struct Readers {
    path: PathBuf,
    idle: Mutex<Vec<Connection>>,
    places: Semaphore,
}

impl Readers {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, idle: Mutex::default(), places: Semaphore::new(READERS) }
    }

    /// Reads.
    pub(super) async fn run<T: Send + 'static>(
        self: &Arc<Self>,
        doing: &'static str,
        work: impl FnOnce(&Connection) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StoreError> {
        let _place = self.places.acquire().await.map_err(|_| StoreError::Closed)?;
        let readers = Arc::clone(self);
        let read = move || {
            let connection = match readers.idle().pop() {
                Some(connection) => connection,
                None => schema::open_reader(&readers.path)?,
            };
            let moment = connection.unchecked_transaction()?;
            let result = work(&moment);
            moment.finish()?;
            let mut idle = readers.idle();
            if !readers.places.is_closed() && idle.len() < READERS {
                idle.push(connection);
            }
            drop(idle);
            result
        };
        tokio::task::spawn_blocking(read)
            .await
            .map_err(|_| StoreError::Closed)?
            .map_err(|fault: Fault| fault.during(doing))
    }

    /// Ends the connections; nobody reads any more.
    pub(super) fn close(&self) {
        self.places.close();
        self.idle().clear();
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How many read at the same time.
const READERS: usize = 4;
