//! What is known of a session's process and lines beside its events: its number, and its debug files.
//!
//! Shared by the session's task, by the SDK's task below it, and by whoever switches debug files on and off. The one
//! rule it keeps: with debug files off it costs one look at a flag.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use jackfield_api::{Event, SessionId};
use jackfield_sdk::{Entry, Journal};

use crate::debug_files::DebugFiles;
use crate::observe::{DebugOf, Observe};

/// What is known of a session beside its events.
#[derive(Debug)]
pub(crate) struct Watcher {
    session: SessionId,
    folder: Option<PathBuf>,
    debugs: AtomicBool,
    /// The process of its run, or of the last; 0 before the first.
    process: AtomicU32,
    files: Mutex<Option<DebugFiles>>,
}

impl Watcher {
    pub(crate) fn new(observe: &Observe, session: &SessionId) -> Self {
        let watcher = Self {
            session: session.clone(),
            folder: observe.debug_folder.clone(),
            debugs: AtomicBool::new(false),
            process: AtomicU32::new(0),
            files: Mutex::default(),
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
        self.debugs.store(on, Ordering::Relaxed);
        if !on {
            // What is dropped is written first.
            drop(self.files.lock().unwrap_or_else(PoisonError::into_inner).take());
        }
        on
    }

    /// The process of the session's run.
    pub(crate) fn process_id(&self) -> Option<u32> {
        Some(self.process.load(Ordering::Relaxed)).filter(|id| *id != 0)
    }

    /// An event that is about to be stored.
    pub(crate) fn event(&self, event: &Event) {
        if self.debugs() {
            self.write(|files| files.normalized(event));
        }
    }

    fn write(&self, write: impl FnOnce(&mut DebugFiles) -> std::io::Result<()>) {
        let Some(folder) = &self.folder else { return };
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let opened = match &mut *files {
            Some(files) => Ok(files),
            none => DebugFiles::open(folder, &self.session).map(|opened| none.insert(opened)),
        };
        if let Err(error) = opened.and_then(write) {
            tracing::warn!(session = %self.session, %error, "cannot write debug files; they are off now");
            *files = None;
            self.debugs.store(false, Ordering::Relaxed);
        }
    }
}

impl Journal for Watcher {
    fn wants_lines(&self) -> bool {
        self.debugs()
    }

    fn line(&self, entry: &Entry) {
        self.write(|files| files.raw(entry));
    }

    fn pause(&self) {
        if self.debugs() {
            self.write(DebugFiles::flush);
        }
    }

    fn process(&self, id: u32) {
        self.process.store(id, Ordering::Relaxed);
    }
}
