//! Files that only their owner may read, whatever the umask says.
//!
//! The one rule it keeps: a file is there whole or not at all, also for somebody who reads while it is written.

use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

/// What is in the file; `None` if there is none.
pub(crate) fn read(path: &Path) -> io::Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Puts a file in the place of whatever was there.
pub(crate) fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    let new = Path::new(&name);
    match fs::remove_file(new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(new)?;
    // The umask can only have taken away; a file that its owner cannot read again is no use either.
    file.set_permissions(Permissions::from_mode(0o600))?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(new, path)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn s14_a_file_is_its_owners_alone_and_never_follows_a_link_that_lay_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        assert_eq!(read(&path).unwrap(), None);
        let elsewhere = folder.path().join("elsewhere");
        fs::write(&elsewhere, "untouched").unwrap();
        std::os::unix::fs::symlink(&elsewhere, folder.path().join("token.new")).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &path).unwrap();

        write(&path, "one").unwrap();
        write(&path, "two").unwrap();
        assert_eq!(read(&path).unwrap().as_deref(), Some("two"));
        assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "untouched");
        let metadata = fs::symlink_metadata(&path).unwrap();
        assert!(metadata.is_file());
        assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
    }
}
