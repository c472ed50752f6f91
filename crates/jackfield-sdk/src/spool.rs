//! Bytes for one reader who may be slow, in a file without a name.
//!
//! Who writes never waits for who reads, and memory does not grow with what nobody has read yet. The one rule it
//! keeps: what was written is read whole and in order, or the reader is told that it is not.

use std::fs::File;
use std::io;
use std::mem::replace;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use tokio::sync::Notify;

/// How much is read at once.
const CHUNK: u64 = 64 * 1024;
/// How far behind a reader may be.
const MOST: u64 = 1024 * 1024 * 1024;

/// Bytes on their way from one writer to one reader.
#[derive(Debug)]
pub(crate) struct Spool {
    kept: Mutex<Kept>,
    more: Notify,
}

#[derive(Debug)]
struct Kept {
    file: File,
    read: u64,
    written: u64,
    /// Nothing more is written, and why if that was not wanted.
    end: Option<io::Result<()>>,
}

impl Spool {
    /// A file on the disk of a folder.
    pub(crate) fn new(folder: &Path) -> io::Result<Self> {
        let file = tempfile::tempfile_in(folder)?;
        let kept = Mutex::new(Kept { file, read: 0, written: 0, end: None });
        Ok(Self { kept, more: Notify::new() })
    }

    /// Puts bytes behind those that are there. What is behind a failure is not written.
    pub(crate) fn write(&self, bytes: &[u8]) {
        let mut kept = self.lock();
        if kept.end.is_none()
            && let Err(error) = kept.write(bytes)
        {
            kept.end = Some(Err(error));
        }
        drop(kept);
        self.more.notify_one();
    }

    /// Nothing more comes.
    pub(crate) fn end(&self) {
        self.lock().end.get_or_insert(Ok(()));
        self.more.notify_one();
    }

    /// The next bytes; `None` at the end. Cancel-safe.
    pub(crate) async fn read(&self) -> Option<io::Result<Vec<u8>>> {
        loop {
            if let Poll::Ready(read) = self.lock().read() {
                return read;
            }
            self.more.notified().await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.written - self.read > MOST {
            return Err(io::Error::other("nobody has read them for too long"));
        }
        self.file.write_all_at(bytes, self.written)?;
        self.written += bytes.len() as u64;
        Ok(())
    }

    /// What can be read now; `None` at the end.
    fn read(&mut self) -> Poll<Option<io::Result<Vec<u8>>>> {
        if self.read == self.written {
            // A failure is told once, and then it is the end.
            return match &mut self.end {
                Some(end) => Poll::Ready(replace(end, Ok(())).err().map(Err)),
                None => Poll::Pending,
            };
        }
        let mut bytes = vec![0; usize::try_from((self.written - self.read).min(CHUNK)).unwrap_or_default()];
        let done = self.file.read_exact_at(&mut bytes, self.read).and_then(|()| {
            self.read += bytes.len() as u64;
            if self.read == self.written {
                // Nothing of it is needed any more.
                (self.read, self.written) = (0, 0);
                self.file.set_len(0)?;
            }
            Ok(bytes)
        });
        Poll::Ready(Some(done))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spool() -> (Spool, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        (Spool::new(folder.path()).unwrap(), folder)
    }

    async fn rest(spool: &Spool) -> (Vec<u8>, bool) {
        let mut all = Vec::new();
        loop {
            match spool.read().await {
                Some(Ok(bytes)) => all.extend(bytes),
                Some(Err(_)) => return (all, false),
                None => return (all, true),
            }
        }
    }

    #[tokio::test]
    async fn what_was_written_before_anybody_read_is_read_whole() {
        let (spool, folder) = spool();
        let text: Vec<u8> = (0..300_000_u32).flat_map(u32::to_le_bytes).collect();
        text.chunks(1000).for_each(|part| spool.write(part));
        spool.end();
        spool.write(b"too late");
        assert_eq!(rest(&spool).await, (text, true));
        assert!(spool.read().await.is_none(), "the end stays the end");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "it has no name");
    }

    #[tokio::test]
    async fn who_keeps_up_takes_no_room() {
        let (spool, _folder) = spool();
        for _ in 0..10 {
            spool.write(b"line\n");
            assert_eq!(spool.read().await.unwrap().unwrap(), b"line\n");
            assert_eq!(spool.lock().file.metadata().unwrap().len(), 0);
        }
    }

    #[tokio::test]
    async fn a_reader_who_waits_is_woken() {
        let (spool, _folder) = spool();
        let wait = async { spool.read().await.unwrap().unwrap() };
        let write = async { spool.write(b"word") };
        let (read, ()) = tokio::join!(wait, write);
        assert_eq!(read, b"word");
    }

    #[tokio::test]
    async fn a_reader_who_is_too_far_behind_is_told_after_what_there_is() {
        let (spool, _folder) = spool();
        spool.write(b"first");
        // A hole takes no room on the disk.
        spool.lock().written += MOST;
        spool.write(b"second");
        spool.write(b"third");
        spool.lock().written = 5;
        assert_eq!(rest(&spool).await, (b"first".to_vec(), false));
        assert!(spool.read().await.is_none());
    }
}
