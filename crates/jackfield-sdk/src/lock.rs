//! One owner per session of the CLI, across processes.
//!
//! The CLI itself does not lock: two of them on one session both answer, and one branch of the conversation
//! silently vanishes [session/two_processes_same_session_b]. It locks against hosts that ask, not against a
//! `claude` that somebody starts by hand.
//!
//! The one rule it keeps: the operating system's lock on the file is the truth, because it ends with its
//! process whatever happens to that; what is written in the file says who it is. A record that outlived its
//! owner is a stale lock: it is taken over, and what its run left alive is killed first.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use jackfield_api::Timestamp;
use jackfield_wire::SessionId;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use crate::history::is_session_id;
use crate::tree::{self, ProcessId};

/// How often a file that its owner removed in the meantime is made anew.
const ATTEMPTS: usize = 1000;
/// More than any record has.
const LONGEST_RECORD: u64 = 4096;

/// The ownership of a session; given up when dropped.
#[derive(Debug)]
pub struct Lock {
    file: File,
    path: PathBuf,
    record: Record,
}

/// Who owns a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner {
    /// The process.
    pub process: ProcessId,
    /// Since when.
    pub since: Timestamp,
}

/// Why a session could not be locked.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Somebody else owns it.
    #[error("cannot own session {session}: {}", described(*owner))]
    Owned {
        /// The session.
        session: SessionId,
        /// Who it is; absent while the owner has not written its record yet.
        owner: Option<Owner>,
    },
    /// The id is not one the CLI gives.
    #[error("cannot own session {0:?}: its id is not a UUID")]
    NotAnId(SessionId),
    /// Processes of a run whose owner is gone could not be ended.
    #[error("cannot own session {session}: process {process} of an earlier run does not end")]
    LeftBehind {
        /// The session.
        session: SessionId,
        /// One of them.
        process: ProcessId,
    },
    /// The file could not be made, read or written.
    #[error("cannot lock {}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
}

/// What stands in the file: one JSON object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Record {
    process: u32,
    /// The process's start, in ticks since the machine's: the number alone may be somebody else's by now.
    started: u64,
    /// The machine's start: after another one, neither means anything.
    boot: String,
    since: u64,
    /// The marker of the CLI that the owner runs.
    run: Option<String>,
}

impl Lock {
    /// Becomes the session's owner. `folder` holds one file per owned session, and is made if it is missing.
    ///
    /// Taking over from an owner that is gone may take some seconds, when its run has to be ended first.
    pub fn acquire(folder: &Path, session: &SessionId) -> Result<Self, LockError> {
        if !is_session_id(session.as_str()) {
            return Err(LockError::NotAnId(session.clone()));
        }
        let path = folder.join(format!("{session}.lock"));
        let fault = |source| LockError::File { path: path.clone(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(fault)?;
        for _ in 0..ATTEMPTS {
            let mut file = open(&path).map_err(fault)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    let owner = Record::read(&mut file).map(|record| record.owner());
                    return Err(LockError::Owned { session: session.clone(), owner });
                }
                Err(TryLockError::Error(source)) => return Err(fault(source)),
            }
            // The owner removed the file while it was being opened: this lock is on nothing.
            if !is_still_at(&file, &path).map_err(fault)? {
                continue;
            }
            if let Some(earlier) = Record::read(&mut file) {
                earlier.end_what_is_left(session)?;
            }
            let mut lock = Self { file, path: path.clone(), record: Record::of_this_process() };
            lock.write().map_err(fault)?;
            return Ok(lock);
        }
        // So many owners came and went that this is no longer bad luck.
        Err(LockError::Owned { session: session.clone(), owner: None })
    }

    /// Notes the marker of the run, so that whoever takes over can end what is left of it.
    pub fn note_run(&mut self, marker: &str) -> Result<(), LockError> {
        self.record.run = Some(marker.to_owned());
        self.write().map_err(|source| LockError::File { path: self.path.clone(), source })
    }

    fn write(&mut self) -> io::Result<()> {
        let text = serde_json::to_vec(&self.record)?;
        self.file.rewind()?;
        self.file.write_all(&text)?;
        self.file.set_len(text.len() as u64)
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Removed before it is unlocked: whoever opened it before sees that it is gone. A file that cannot be
        // removed is only a stale lock.
        let _ = fs::remove_file(&self.path);
        // Closing is not enough: a child that is just being started holds the open file too, for a moment.
        let _ = self.file.unlock();
    }
}

impl Record {
    fn of_this_process() -> Self {
        let process = std::process::id();
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            process,
            started: tree::started(ProcessId(process)).unwrap_or_default(),
            boot: boot(),
            since: u64::try_from(since.as_millis()).unwrap_or(u64::MAX),
            run: None,
        }
    }

    /// None for an empty file, and for one that somebody else wrote.
    fn read(file: &mut File) -> Option<Self> {
        let mut text = Vec::new();
        file.rewind().ok()?;
        file.take(LONGEST_RECORD).read_to_end(&mut text).ok()?;
        serde_json::from_slice(&text).ok()
    }

    fn owner(&self) -> Owner {
        Owner { process: ProcessId(self.process), since: Timestamp(self.since) }
    }

    /// The record of an owner that does not hold the lock any more.
    fn end_what_is_left(&self, session: &SessionId) -> Result<(), LockError> {
        if self.boot != boot() {
            return Ok(());
        }
        // On file systems whose locks do not work the record is all there is.
        if self.process != std::process::id() && tree::started(ProcessId(self.process)) == Some(self.started)
        {
            return Err(LockError::Owned { session: session.clone(), owner: Some(self.owner()) });
        }
        let Some(marker) = &self.run else { return Ok(()) };
        tree::kill_marked(marker);
        match tree::marked(marker).first() {
            Some(process) => Err(LockError::LeftBehind { session: session.clone(), process: *process }),
            None => Ok(()),
        }
    }
}

fn open(path: &Path) -> io::Result<File> {
    // A link in the place of the file is an error, not a way to another file.
    let flags = i32::try_from(OFlags::NOFOLLOW.bits()).unwrap_or_default();
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(flags)
        .open(path)
}

fn is_still_at(file: &File, path: &Path) -> io::Result<bool> {
    let mine = file.metadata()?;
    match fs::symlink_metadata(path) {
        Ok(there) => Ok((there.dev(), there.ino()) == (mine.dev(), mine.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// The machine's start; empty where it does not tell.
fn boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

fn described(owner: Option<Owner>) -> String {
    owner.map_or_else(
        || "another process owns it".to_owned(),
        |owner| format!("process {} owns it since {} (Unix milliseconds)", owner.process, owner.since),
    )
}
