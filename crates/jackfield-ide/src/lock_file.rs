//! The lock file by which the CLI finds this server: `PORT.lock` in a folder `ide` of the CLI's own.
//!
//! It holds the token, so it is its owner's alone. The one rule it keeps: whoever reads the folder sees a whole lock
//! file or none, however many servers begin and end at once, and what a dead one left is taken away by the next.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::process::{Pid, geteuid, test_kill_process};
use serde::{Deserialize, Serialize};

use crate::token::Token;

/// More than any lock file has.
const LONGEST: u64 = 1024 * 1024;
/// How the names of files begin that are not lock files yet.
const UNFINISHED: &str = ".jackfield-";

/// Why there is no lock file.
#[derive(Debug, thiserror::Error)]
pub enum LockFileError {
    /// The folder belongs to somebody else.
    #[error("cannot write a lock file into `{}`: the folder belongs to another user", folder.display())]
    NotOurs {
        /// The folder.
        folder: PathBuf,
    },
    /// The system does not allow it.
    #[error("cannot write a lock file into `{}`: {source}", folder.display())]
    Refused {
        /// The folder.
        folder: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

/// A lock file; gone when dropped.
#[derive(Debug)]
pub(crate) struct LockFile {
    path: PathBuf,
    token: Token,
}

/// What is told about a server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Announcement<'a> {
    pub(crate) port: u16,
    pub(crate) name: &'a str,
    pub(crate) workspace: &'a [PathBuf],
    pub(crate) token: &'a Token,
}

/// What stands in the file. The CLI knows nothing of the last field and does not mind it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Content {
    pid: u32,
    workspace_folders: Vec<String>,
    ide_name: String,
    transport: String,
    running_in_windows: bool,
    auth_token: String,
    jackfield: Process,
}

/// A process, also after another one has got its number.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Process {
    id: u32,
    /// Its start in ticks since the machine's; 0 where that cannot be told.
    started: u64,
    /// The machine's start; empty where that cannot be told.
    boot: String,
}

impl LockFile {
    /// Takes away what dead servers left in a folder, and tells of this one in it.
    pub(crate) fn write(folder: &Path, announcement: Announcement<'_>) -> Result<Self, LockFileError> {
        let refused = |source| LockFileError::Refused { folder: folder.to_owned(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(refused)?;
        if fs::metadata(folder).map_err(refused)?.uid() != geteuid().as_raw() {
            return Err(LockFileError::NotOurs { folder: folder.to_owned() });
        }
        // The CLI makes this folder too, as its umask has it.
        fs::set_permissions(folder, Permissions::from_mode(0o700)).map_err(refused)?;
        // Or a sweep could take a file for a dead server's that a new one on the same port has just put there.
        let turn = File::open(folder).map_err(refused)?;
        turn.lock().map_err(refused)?;
        sweep(folder).map_err(refused)?;
        put(folder, announcement).map_err(refused)
    }
}

impl Drop for LockFile {
    fn drop(&mut self) {
        let Some(folder) = self.path.parent() else { return };
        let turn = File::open(folder).and_then(|turn| turn.lock().map(|()| turn));
        // The CLI takes away what it finds stale, and then somebody else may have the port.
        if read(&self.path).is_some_and(|content| self.token.is(content.auth_token.as_bytes())) {
            let _ = fs::remove_file(&self.path);
        }
        drop(turn);
    }
}

/// The port of a server of ours that lives and serves this folder; of several, the one whose own folder is nearest.
pub fn running(lock_folder: &Path, folder: &Path) -> Option<u16> {
    let nearest = |content: &Content| {
        let served =
            content.workspace_folders.iter().map(Path::new).filter(|served| folder.starts_with(served));
        served.map(|served| served.components().count()).max()
    };
    let found = fs::read_dir(lock_folder).ok()?.filter_map(|entry| {
        let path = entry.ok()?.path();
        let port: u16 = path.file_name()?.to_str()?.strip_suffix(".lock")?.parse().ok()?;
        let content = read(&path).filter(|content| content.jackfield.lives())?;
        Some((nearest(&content)?, port))
    });
    found.max().map(|(_, port)| port)
}

/// The token of a server of ours that was killed on this port. A CLI that was connected to it comes back with that one
/// and does not look for another.
pub(crate) fn left_behind(lock_folder: &Path, port: u16) -> Option<Token> {
    let path = lock_folder.join(format!("{port}.lock"));
    let metadata = fs::symlink_metadata(&path).ok()?;
    let is_private = metadata.uid() == geteuid().as_raw() && metadata.mode() & 0o777 == 0o600;
    let content = read(&path).filter(|content| is_private && !content.jackfield.lives())?;
    Token::read(&content.auth_token)
}

fn put(folder: &Path, announcement: Announcement<'_>) -> io::Result<LockFile> {
    let process = Process::this();
    let content = Content {
        pid: process.id,
        workspace_folders: announcement
            .workspace
            .iter()
            .map(|folder| folder.to_string_lossy().into_owned())
            .collect(),
        ide_name: announcement.name.to_owned(),
        transport: "ws".to_owned(),
        running_in_windows: false,
        auth_token: announcement.token.reveal().to_owned(),
        jackfield: process,
    };
    let text = serde_json::to_vec(&content)?;
    let port = announcement.port;
    let unfinished = folder.join(format!("{UNFINISHED}{}-{port}", content.pid));
    match fs::remove_file(&unfinished) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unfinished)?;
    // The umask can only have taken away; the owner must be able to read it.
    file.set_permissions(Permissions::from_mode(0o600))?;
    file.write_all(&text)?;
    file.sync_all()?;
    let path = folder.join(format!("{port}.lock"));
    fs::rename(&unfinished, &path)?;
    Ok(LockFile { path, token: announcement.token.clone() })
}

/// Takes away what servers of ours left that are dead. What others left is theirs, or the CLI's, to take away.
fn sweep(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        // Only one server at a time writes, and that is this one, which has not begun.
        let dead = name.starts_with(UNFINISHED)
            || name.strip_suffix(".lock").is_some()
                && read(&path).is_some_and(|content| !content.jackfield.lives());
        if dead {
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
    }
    Ok(())
}

/// What stands in a lock file of ours; `None` for every other file.
fn read(path: &Path) -> Option<Content> {
    let metadata = fs::symlink_metadata(path).ok()?;
    if !metadata.is_file() || metadata.len() > LONGEST {
        return None;
    }
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

impl Process {
    fn this() -> Self {
        let id = std::process::id();
        Self { id, started: started(id).unwrap_or_default(), boot: boot() }
    }

    fn lives(&self) -> bool {
        let pid = i32::try_from(self.id).ok().and_then(Pid::from_raw);
        let answers = pid.is_some_and(|pid| test_kill_process(pid) != Err(rustix::io::Errno::SRCH));
        answers
            && (self.boot.is_empty() || self.boot == boot())
            && (self.started == 0 || started(self.id) == Some(self.started))
    }
}

/// When a process began, where `/proc` tells.
fn started(id: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The program's name before it may contain anything.
    stat.rsplit_once(") ")?.1.split(' ').nth(19)?.parse().ok()
}

fn boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .map(|text| text.trim().to_owned())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::os::unix::fs::symlink;

    use serde_json::{Value, json};

    use super::*;

    fn write(folder: &Path, port: u16) -> LockFile {
        let token = Token::random().unwrap();
        let workspace = [PathBuf::from("/ws")];
        let announcement = Announcement { port, name: "Test", workspace: &workspace, token: &token };
        LockFile::write(folder, announcement).unwrap()
    }

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn s15_a_lock_file_is_its_owners_alone_and_goes_with_its_server() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("ide");
        fs::create_dir(&folder).unwrap();
        fs::set_permissions(&folder, Permissions::from_mode(0o775)).unwrap();
        let lock = write(&folder, 4711);
        assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o777, 0o700);
        let metadata = fs::symlink_metadata(folder.join("4711.lock")).unwrap();
        assert_eq!((metadata.is_file(), metadata.mode() & 0o777), (true, 0o600));
        let content: Value = serde_json::from_slice(&fs::read(folder.join("4711.lock")).unwrap()).unwrap();
        assert_eq!(content["pid"], json!(std::process::id()));
        assert_eq!(content["workspaceFolders"], json!(["/ws"]));
        assert_eq!(content["transport"], json!("ws"));
        assert_eq!(content["authToken"], json!(lock.token.reveal()));
        drop(lock);
        assert_eq!(names(&folder), Vec::<String>::new());
    }

    #[test]
    fn s15_what_dead_servers_left_is_swept_and_nothing_else() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("ide");
        let living = write(&folder, 1);
        let text = fs::read_to_string(folder.join("1.lock")).unwrap();
        let mut content: Value = serde_json::from_str(&text).unwrap();
        // The same process number, and another process.
        content["jackfield"]["started"] = json!(1);
        fs::write(folder.join("2.lock"), content.to_string()).unwrap();
        assert!(left_behind(&folder, 2).is_none(), "others may have read it");
        fs::set_permissions(folder.join("2.lock"), Permissions::from_mode(0o600)).unwrap();
        assert!(left_behind(&folder, 2).is_some_and(|token| token.is(living.token.reveal().as_bytes())));
        assert!(left_behind(&folder, 1).is_none(), "it lives");
        // Another editor's, of whom we know nothing.
        fs::write(folder.join("3.lock"), r#"{"pid":1,"ideName":"Other"}"#).unwrap();
        fs::write(folder.join("4.lock"), "/ws\n").unwrap();
        fs::write(folder.join(".jackfield-999999999-5"), "{").unwrap();
        assert_eq!(running(&folder, Path::new("/ws/inner")), Some(1));
        assert_eq!(running(&folder, Path::new("/wsx")), None);
        let next = write(&folder, 6);
        assert_eq!(names(&folder), ["1.lock", "3.lock", "4.lock", "6.lock"]);
        drop((living, next));
        assert_eq!(names(&folder), ["3.lock", "4.lock"]);
    }

    #[test]
    fn s14_a_link_that_lay_there_is_not_followed() {
        let home = tempfile::tempdir().unwrap();
        let (folder, elsewhere) = (home.path().join("ide"), home.path().join("elsewhere"));
        fs::create_dir(&folder).unwrap();
        fs::write(&elsewhere, "untouched").unwrap();
        symlink(&elsewhere, folder.join("7.lock")).unwrap();
        let unfinished = format!("{UNFINISHED}{}-7", std::process::id());
        symlink(&elsewhere, folder.join(unfinished)).unwrap();
        let lock = write(&folder, 7);
        assert!(fs::symlink_metadata(folder.join("7.lock")).unwrap().is_file());
        assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "untouched");
        drop(lock);
    }

    #[test]
    fn a_lock_file_that_is_another_servers_by_now_is_left_alone() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("ide");
        let first = write(&folder, 8);
        let second = write(&folder, 8);
        drop(first);
        assert_eq!(names(&folder), ["8.lock"]);
        drop(second);
        assert_eq!(names(&folder), Vec::<String>::new());
    }
}
