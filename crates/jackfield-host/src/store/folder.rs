//! The data folder: private to its owner, and to one host at a time.
//!
//! The lock is on an open file, so it goes with its process however that ended, and a stale file is no obstacle.
//! The one rule it keeps: what is made here is the owner's alone, whatever the umask.

use std::fs::{DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use crate::store::error::StoreError;

/// Keeps other hosts out of a folder for as long as it lives.
#[derive(Debug)]
pub(super) struct Lock {
    held: File,
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing is not enough: a child that is just being started holds the open file too, for a moment.
        let _ = self.held.unlock();
    }
}

/// Makes the folder if it is not there, and takes it.
pub(super) fn take(folder: &Path) -> Result<Lock, StoreError> {
    if !folder.is_dir() {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .and_then(|()| std::fs::set_permissions(folder, Permissions::from_mode(0o700)))
            .map_err(failed("create the folder", folder))?;
    }
    let path = folder.join("jackfield.lock");
    let mut file = private_file(&path)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut text = String::new();
            let pid = file.read_to_string(&mut text).ok().and_then(|_| text.trim().parse().ok());
            return Err(StoreError::InUse { folder: folder.to_owned(), pid });
        }
        Err(TryLockError::Error(error)) => return Err(failed("lock", &path)(error)),
    }
    file.set_len(0)
        .and_then(|()| writeln!(file, "{}", std::process::id()))
        .map_err(failed("write to", &path))?;
    Ok(Lock { held: file })
}

/// Opens a file that only its owner can read or write, and makes it if it is not there.
pub(super) fn private_file(path: &Path) -> Result<File, StoreError> {
    let open = || {
        let file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
        if file.metadata()?.permissions().mode() & 0o777 != 0o600 {
            file.set_permissions(Permissions::from_mode(0o600))?;
        }
        Ok(file)
    };
    open().map_err(failed("open", path))
}

/// Makes sure that the names of the files in a folder are on disk.
pub(super) fn sync(folder: &Path) -> Result<(), StoreError> {
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed("write out the folder", folder))
}

pub(super) fn failed(doing: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> StoreError {
    move |source| StoreError::File { doing, path: path.to_owned(), source }
}
