//! One owner per session of the CLI, across processes.
//!
//! The CLI itself does not lock: two of them on one session both answer, and one branch of the conversation
//! silently vanishes [session/two_processes_same_session_b]. It locks against hosts that ask, not against a
//! `claude` that somebody starts by hand.
//!
//! The one rule it keeps: the operating system's lock on the file is the truth, because it ends with its
//! process whatever happens to that; what is written in the file says who it is. A record that outlived its
//! owner is a stale lock: it is taken over, and what its run left alive is killed first. The steps to that are
//! decided in `lease`; here they are taken on this machine.

mod lease;

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use jackfield_api::Timestamp;
use jackfield_wire::SessionId;
use rustix::fs::OFlags;

use crate::history::is_session_id;
use crate::tree::{self, ProcessId};
use lease::{Ground, Locked, Next, Record, Step, advance};

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
        let owned = |owner| LockError::Owned { session: session.clone(), owner };
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(fault)?;
        let machine = Machine { path: &path };
        let (mut step, mut attempts) = (Step::Open, 0);
        loop {
            if matches!(step, Step::Open) {
                attempts += 1;
                if attempts > ATTEMPTS {
                    // So many owners came and went that this is no longer bad luck.
                    return Err(owned(None));
                }
            }
            step = match advance(&machine, step).map_err(fault)? {
                Next::Step(step) => step,
                Next::Owned(file, record) => return Ok(Self { file, path, record }),
                Next::Refused(owner) => return Err(owned(owner)),
                Next::LeftBehind(process) => {
                    return Err(LockError::LeftBehind { session: session.clone(), process });
                }
            };
        }
    }

    /// Notes the marker of the run, so that whoever takes over can end what is left of it.
    pub fn note_run(&mut self, marker: &str) -> Result<(), LockError> {
        self.record.run = Some(marker.to_owned());
        self.write().map_err(|source| LockError::File { path: self.path.clone(), source })
    }

    fn write(&mut self) -> io::Result<()> {
        write(&mut self.file, &self.record)
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

/// This machine's files and processes.
struct Machine<'a> {
    path: &'a Path,
}

impl Ground for Machine<'_> {
    type File = File;

    fn open(&self) -> io::Result<File> {
        open(self.path)
    }

    fn try_lock(&self, file: &File) -> io::Result<Locked> {
        match file.try_lock() {
            Ok(()) => Ok(Locked::Mine),
            Err(TryLockError::WouldBlock) => Ok(Locked::Others),
            Err(TryLockError::Error(source)) => Err(source),
        }
    }

    fn is_still_there(&self, file: &File) -> io::Result<bool> {
        is_still_at(file, self.path)
    }

    fn read(&self, file: &mut File) -> Option<Record> {
        let mut text = Vec::new();
        file.rewind().ok()?;
        file.take(LONGEST_RECORD).read_to_end(&mut text).ok()?;
        serde_json::from_slice(&text).ok()
    }

    fn write(&self, file: &mut File, record: &Record) -> io::Result<()> {
        write(file, record)
    }

    fn record(&self) -> Record {
        let process = std::process::id();
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Record {
            process,
            started: tree::started(ProcessId(process)).unwrap_or_default(),
            boot: boot(),
            since: u64::try_from(since.as_millis()).unwrap_or(u64::MAX),
            run: None,
        }
    }

    fn started(&self, process: ProcessId) -> Option<u64> {
        tree::started(process)
    }

    fn end(&self, marker: &str) -> Option<ProcessId> {
        tree::kill_marked(marker);
        tree::marked(marker).first().copied()
    }
}

fn write(file: &mut File, record: &Record) -> io::Result<()> {
    let text = serde_json::to_vec(record)?;
    file.rewind()?;
    file.write_all(&text)?;
    file.set_len(text.len() as u64)
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
