//! What is known of a session's process and lines beside its events: its number, and its debug files.
//!
//! Shared by the session's task, by the SDK's task below it, and by whoever switches debug files on and off. The one
//! rule it keeps: with debug files off it costs one look at a flag.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use jackfield_api::SessionId;
use jackfield_sdk::{Journal, Passed};

use crate::debug_files::{DebugFile, Kind};
use crate::observe::{DebugOf, Observe};

/// What is known of a session beside its events.
#[derive(Debug)]
pub(crate) struct Watcher {
    session: SessionId,
    folder: Option<PathBuf>,
    debugs: AtomicBool,
    /// The process of its run, or of the last; 0 before the first.
    process: AtomicU32,
    /// Each has its own lock: the session's task and the SDK's do not wait for each other.
    raw: Mutex<Option<DebugFile>>,
    normalized: Mutex<Option<DebugFile>>,
}

impl Watcher {
    pub(crate) fn new(observe: &Observe, session: &SessionId) -> Self {
        let watcher = Self {
            session: session.clone(),
            folder: observe.debug_folder.clone(),
            debugs: AtomicBool::new(false),
            process: AtomicU32::new(0),
            raw: Mutex::default(),
            normalized: Mutex::default(),
        };
        if observe.debug == DebugOf::Everybody {
            watcher.switch(true);
        }
        watcher
    }

    /// Whether debug files are written.
    pub(crate) fn debugs(&self) -> bool {
        self.debugs.load(Ordering::Relaxed)
    }

    /// Begins or ends the debug files, and says whether they are written now. They are opened with the first line.
    pub(crate) fn switch(&self, on: bool) -> bool {
        let on = on && self.folder.is_some();
        if !on && self.debugs() {
            for kind in [Kind::Raw, Kind::Normalized] {
                if lock(self.file(kind)).is_some() {
                    self.write(kind, DebugFile::flush);
                }
            }
        }
        self.debugs.store(on, Ordering::Relaxed);
        if !on {
            drop((lock(&self.raw).take(), lock(&self.normalized).take()));
        }
        on
    }

    /// The process of the session's run.
    pub(crate) fn process_id(&self) -> Option<u32> {
        Some(self.process.load(Ordering::Relaxed)).filter(|id| *id != 0)
    }

    /// Events that are about to be stored, as lines.
    pub(crate) fn events(&self, lines: &[u8]) {
        if self.debugs() {
            self.write(Kind::Normalized, |file| file.write(lines));
        }
    }

    fn file(&self, kind: Kind) -> &Mutex<Option<DebugFile>> {
        match kind {
            Kind::Raw => &self.raw,
            Kind::Normalized => &self.normalized,
        }
    }

    fn write(&self, kind: Kind, write: impl FnOnce(&mut DebugFile) -> std::io::Result<()>) {
        let Some(folder) = &self.folder else { return };
        let mut file = lock(self.file(kind));
        let opened = match &mut *file {
            Some(file) => Ok(file),
            none => DebugFile::open(folder, &self.session, kind).map(|opened| none.insert(opened)),
        };
        if let Err(error) = opened.and_then(write) {
            tracing::warn!(session = %self.session, %error, "cannot write debug files; they are off now");
            *file = None;
            self.debugs.store(false, Ordering::Relaxed);
        }
    }
}

impl Journal for Watcher {
    fn wants_lines(&self) -> bool {
        self.debugs()
    }

    fn passed(&self, passed: &Passed<'_>) {
        self.write(Kind::Raw, |file| file.hold(|held| passed.write(held)));
    }

    fn pause(&self) {
        if self.debugs() {
            self.write(Kind::Raw, DebugFile::flush);
        }
    }

    fn process(&self, id: u32) {
        self.process.store(id, Ordering::Relaxed);
    }
}

fn lock(file: &Mutex<Option<DebugFile>>) -> MutexGuard<'_, Option<DebugFile>> {
    // A panic while the lock is held leaves a file that can be written.
    file.lock().unwrap_or_else(PoisonError::into_inner)
}
