//! What is known of a session's process and lines beside its events: its number, and its debug files.
//!
//! Shared by the session's task, by the SDK's task below it, and by whoever switches debug files on and off. The one
//! rule it keeps: with debug files off it costs one look at a flag.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jackfield_api::SessionId;
use jackfield_sdk::{Journal, LineHead, Passed};

use crate::debug_files::{DebugFile, Kind, Pause};
use crate::observe::{DebugOf, Observe};

/// How long a debug file may lack something while much is said.
const LATER: Duration = Duration::from_millis(20);

/// What is known of a session beside its events.
#[derive(Debug)]
pub(crate) struct Watcher {
    /// The process of its run, or of the last; 0 before the first.
    process: AtomicU32,
    files: Arc<Files>,
}

/// The debug files of a session.
#[derive(Debug)]
struct Files {
    session: SessionId,
    folder: Option<PathBuf>,
    on: AtomicBool,
    /// Each has its own lock: the session's task and the SDK's do not wait for each other.
    raw: Mutex<Written>,
    normalized: Mutex<Written>,
}

#[derive(Debug, Default)]
struct Written {
    file: Option<DebugFile>,
    /// How the last line began, in a journal.
    head: LineHead,
    /// Somebody will write what is held back.
    later: bool,
}

impl Watcher {
    pub(crate) fn new(observe: &Observe, session: &SessionId) -> Self {
        let files = Files {
            session: session.clone(),
            folder: observe.debug_folder.clone(),
            on: AtomicBool::new(false),
            raw: Mutex::default(),
            normalized: Mutex::default(),
        };
        let watcher = Self { process: AtomicU32::new(0), files: Arc::new(files) };
        if observe.debug == DebugOf::Everybody {
            watcher.switch(true);
        }
        watcher
    }

    /// Whether debug files are written.
    pub(crate) fn debugs(&self) -> bool {
        self.files.on.load(Ordering::Relaxed)
    }

    /// Begins or ends the debug files, and says whether they are written now. They are opened with the first line.
    pub(crate) fn switch(&self, on: bool) -> bool {
        let on = on && self.files.folder.is_some();
        if !on && self.debugs() {
            for kind in [Kind::Raw, Kind::Normalized] {
                self.files.flush(kind);
            }
        }
        self.files.on.store(on, Ordering::Relaxed);
        if !on {
            drop((self.files.lock(Kind::Raw).file.take(), self.files.lock(Kind::Normalized).file.take()));
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
            self.files.write(Kind::Normalized, |file, _| file.take(lines));
            self.files.pause(Kind::Normalized);
        }
    }
}

impl Journal for Watcher {
    fn wants_lines(&self) -> bool {
        self.debugs()
    }

    fn passed(&self, passed: &Passed<'_>) {
        self.files.write(Kind::Raw, |file, head| file.hold(|held| passed.write(head, held)));
    }

    fn pause(&self) {
        if self.debugs() {
            self.files.pause(Kind::Raw);
        }
    }

    fn process(&self, id: u32) {
        self.process.store(id, Ordering::Relaxed);
    }
}

impl Files {
    /// Writes to a file, which is opened if it is not; `None` where that was not possible.
    fn write<T>(
        &self,
        kind: Kind,
        write: impl FnOnce(&mut DebugFile, &mut LineHead) -> std::io::Result<T>,
    ) -> Option<T> {
        let folder = self.folder.as_ref()?;
        let mut written = self.lock(kind);
        let Written { file, head, .. } = &mut *written;
        let opened = match file {
            Some(file) => Ok(file),
            none => DebugFile::open(folder, &self.session, kind).map(|opened| none.insert(opened)),
        };
        match opened.and_then(|file| write(file, head)) {
            Ok(done) => Some(done),
            Err(error) => {
                tracing::warn!(session = %self.session, %error, "cannot write debug files; they are off now");
                written.file = None;
                self.on.store(false, Ordering::Relaxed);
                None
            }
        }
    }

    /// Nothing more comes for now. While much is said, what is held back is written a little later, with what came
    /// until then.
    fn pause(self: &Arc<Self>, kind: Kind) {
        if self.write(kind, |file, _| file.pause()) != Some(Pause::Held)
            || std::mem::replace(&mut self.lock(kind).later, true)
        {
            return;
        }
        let files = Arc::clone(self);
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn(async move {
                tokio::time::sleep(LATER).await;
                files.flush(kind);
            })),
            Err(_) => self.flush(kind),
        }
    }

    /// Writes what is held back, if anything was written at all.
    fn flush(&self, kind: Kind) {
        let mut written = self.lock(kind);
        written.later = false;
        let is_open = written.file.is_some();
        drop(written);
        if is_open {
            self.write(kind, |file, _| file.flush());
        }
    }

    fn lock(&self, kind: Kind) -> MutexGuard<'_, Written> {
        let file = match kind {
            Kind::Raw => &self.raw,
            Kind::Normalized => &self.normalized,
        };
        // A panic while the lock is held leaves a file that can be written.
        file.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
