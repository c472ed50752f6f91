//! What the agent writes about itself: to a file, because standard output is the protocol's.
//!
//! No prompt, no answer and no secret is in it. The one rule it keeps: the file stays small.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use jackfield_api::Timestamp;

use crate::time::iso;

/// How long the file may become before it begins anew.
const MOST: u64 = 1024 * 1024;

/// A log. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Log {
    file: Option<Arc<Mutex<File>>>,
}

impl Log {
    /// Nothing is written.
    pub fn off() -> Self {
        Self::default()
    }

    /// Appends to a file; one that has become long is put aside first.
    pub fn open(path: &Path) -> io::Result<Self> {
        if std::fs::metadata(path).is_ok_and(|about| about.len() > MOST) {
            std::fs::rename(path, path.with_extension("log.old"))?;
        }
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;
        Ok(Self { file: Some(Arc::new(Mutex::new(file))) })
    }

    /// Writes a line.
    pub(crate) fn line(&self, text: &str) {
        let Some(file) = &self.file else { return };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let at = iso(Timestamp(u64::try_from(now.as_millis()).unwrap_or_default()));
        let line = format!("{at} [{}] {}\n", std::process::id(), text.replace('\n', " "));
        // A log that cannot be written is no reason to stop.
        let _ = file.lock().unwrap_or_else(PoisonError::into_inner).write_all(line.as_bytes());
    }
}
