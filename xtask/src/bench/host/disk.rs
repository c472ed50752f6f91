//! The disk by itself: how long a small write takes to be safe, while something else is measured.
//!
//! No client sees an event before it is on disk, so nothing can be faster than this. The one rule it keeps: it writes
//! seldom enough not to be the load itself.

use std::fs::File;
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How often it writes.
const EVERY: Duration = Duration::from_millis(50);
const PAGE: [u8; 4096] = [0; 4096];

/// Somebody who writes now and then.
#[derive(Debug)]
pub(super) struct Disk {
    stop: mpsc::SyncSender<()>,
    writing: JoinHandle<io::Result<Vec<Duration>>>,
}

impl Disk {
    /// Begins to write to a file in a folder.
    pub(super) fn watch(folder: &Path) -> io::Result<Self> {
        let file = File::create(folder.join("disk"))?;
        let (stop, stopped) = mpsc::sync_channel(1);
        let writing = thread::spawn(move || write(file, &stopped));
        Ok(Self { stop, writing })
    }

    /// How long writes took, the shortest first.
    pub(super) fn stop(self) -> io::Result<Vec<Duration>> {
        drop(self.stop);
        let mut took = self.writing.join().map_err(|_| io::Error::other("the writer has gone"))??;
        took.sort_unstable();
        Ok(took)
    }
}

fn write(mut file: File, stopped: &mpsc::Receiver<()>) -> io::Result<Vec<Duration>> {
    let mut took = Vec::new();
    while stopped.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
        file.seek(SeekFrom::Start(0))?;
        let begun = Instant::now();
        file.write_all(&PAGE)?;
        file.sync_all()?;
        took.push(begun.elapsed());
    }
    Ok(took)
}
