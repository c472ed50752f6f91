//! A look into a store from outside, for who must tell what is there when its host is gone: after a crash above all.
//!
//! A host that runs beside it is not in its way, and no host is made. The one rule it keeps: neither the database nor
//! its log is changed, nor what is to be done when the next host opens them.

use std::path::{Path, PathBuf};

use jackfield_api::SessionId;
use jackfield_api::host::SessionPage;
use rusqlite::Connection;

use crate::store::error::{Fault, StoreError};
use crate::store::{SessionQuery, history, schema, sessions};

/// A look into the store in a folder.
#[derive(Debug)]
pub struct Look {
    connection: Connection,
}

impl Look {
    /// Opens the database in a folder; `None` if there is none.
    pub fn at(folder: &Path) -> Result<Option<Self>, StoreError> {
        let path = folder.join("jackfield.db");
        if !path.exists() {
            return Ok(None);
        }
        let connection = schema::open_look(&path)?;
        Ok(Some(Self { connection }))
    }

    /// Some of the sessions, the last changed first.
    pub fn sessions(&self, query: &SessionQuery) -> Result<SessionPage, StoreError> {
        sessions::list(&self.connection, query).map_err(|fault: Fault| fault.during("list the sessions"))
    }

    /// The last events of a session, oldest first, each as a line of JSON: as many batches as make it `enough_bytes`.
    pub fn last_events(&self, id: &SessionId, enough_bytes: usize) -> Result<Vec<String>, StoreError> {
        history::ends(&self.connection, id, enough_bytes)
            .map_err(|fault| fault.during("read the last events of a session"))
    }
}

/// The address of a database that nobody has open, where it needs no files beside it to be read.
pub(super) fn alone(path: &Path) -> Option<String> {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    let has_log = PathBuf::from(log).metadata().is_ok_and(|log| log.len() > 0);
    let path = path.to_str().filter(|_| !has_log)?;
    let escaped = path.replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    Some(format!("file:{escaped}?immutable=1"))
}
