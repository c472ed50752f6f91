//! What can go wrong with the store, by what a caller can do about it.
//!
//! [`AppendError`] is for those who write: it can be told to many at once, for all who were in one transaction
//! share its fate. [`StoreError`] is for everything else.

use std::path::PathBuf;

use jackfield_api::{Seq, SessionId};

/// Why something was not stored. Nothing of it was.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AppendError {
    /// It is not what comes next in its session.
    #[error("cannot store events of session {session} from {found} on: {expected} comes next")]
    OutOfOrder {
        /// The session.
        session: SessionId,
        /// What comes next.
        expected: Seq,
        /// What was given.
        found: Seq,
    },
    /// The lines are not the events that they are said to be.
    #[error("cannot store events {first} to {last} of session {session}: there are {lines} lines")]
    Uneven {
        /// The session.
        session: SessionId,
        /// The first event, as it was said.
        first: Seq,
        /// The last event, as it was said.
        last: Seq,
        /// How many lines there are.
        lines: u64,
    },
    /// There is no such session.
    #[error("cannot store events of session {0}: there is no such session")]
    NoSession(SessionId),
    /// There is no room. It may be tried again.
    #[error("cannot write to the database: the disk is full")]
    Full,
    /// The database could not be written to. It may be tried again.
    #[error("cannot write to the database: {0}")]
    Failed(String),
    /// The store takes nothing more: it was closed, or the disk failed to keep what it had taken.
    #[error("the store takes nothing more: {0}")]
    Stopped(String),
}

/// Why the store could not be opened, read or changed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database was made by a newer program. It was not touched.
    #[error("the database {} has version {found}, and this program knows only {known}; use a newer one", path.display())]
    Newer {
        /// The database.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The newest version that this program knows.
        known: u32,
    },
    /// Another host uses the folder.
    #[error("the folder {} is in use by another host{}", folder.display(), of_process(*pid))]
    InUse {
        /// The folder.
        folder: PathBuf,
        /// The other host's process, where it is known.
        pid: Option<u32>,
    },
    /// There is a file in the database's place that is none of ours.
    #[error("{} is not a database of this program", .0.display())]
    Foreign(PathBuf),
    /// A file or folder could not be prepared.
    #[error("cannot {doing} {}: {source}", path.display())]
    File {
        /// What was being done.
        doing: &'static str,
        /// With what.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// The database said no.
    #[error("cannot {doing}: {source}")]
    Database {
        /// What was being done.
        doing: &'static str,
        /// Why not.
        source: rusqlite::Error,
    },
    /// Something of one session cannot be read; others are not affected.
    #[error("cannot read the {what} of session {session}: {reason}")]
    Unreadable {
        /// The session.
        session: SessionId,
        /// What of it.
        what: &'static str,
        /// Why not.
        reason: String,
    },
    /// Something of the host itself cannot be read or written as JSON.
    #[error("cannot convert the {what}: {source}")]
    Convert {
        /// What.
        what: &'static str,
        /// Why not.
        source: serde_json::Error,
    },
    /// There is a session of this name.
    #[error("there is a session {0} already")]
    Exists(SessionId),
    /// There is no session of this name.
    #[error("there is no session {0}")]
    NoSession(SessionId),
    /// A list cannot go on from here.
    #[error("`{0}` is not the place of a session in a list")]
    NoPlace(String),
    /// It was not stored.
    #[error(transparent)]
    Append(#[from] AppendError),
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
}

fn of_process(pid: Option<u32>) -> String {
    pid.map_or_else(String::new, |pid| format!(" (process {pid})"))
}

/// What stops the work of one reader or writer: the database itself, or a reason of ours.
#[derive(Debug)]
pub(super) enum Fault {
    Database(rusqlite::Error),
    Store(StoreError),
}

impl Fault {
    pub(super) fn during(self, doing: &'static str) -> StoreError {
        match self {
            Self::Database(source) => StoreError::Database { doing, source },
            Self::Store(error) => error,
        }
    }
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(error)
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}
