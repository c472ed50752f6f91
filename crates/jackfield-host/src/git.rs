//! What changed in a folder: against git's last commit, or against what a session found.
//!
//! Everything blocks: call it where that is allowed.
//!
//! The one rule it keeps: nothing of the repository runs. A repository's own settings can name programs for
//! nearly everything (filters, diff drivers, file monitors, hooks, transports), so git never compares with them
//! in effect: it is shown a git folder of ours that only borrows the repository's objects and index
//! (`repository`). The files themselves are read by capability and compared here.

mod baseline;
mod head;
mod process;
mod repository;
mod unified;

use jackfield_api::conversation::FileUpdated;
use jackfield_api::host::FileDiffs;

use crate::files::{FileError, Folder};

/// How many files are compared at most.
pub const MOST_FILES: usize = 500;
/// How much of one content is compared at most.
pub const MOST_COMPARED: u64 = 512 * 1024;

/// What to compare with.
#[derive(Debug, Clone, Copy)]
pub enum Against<'a> {
    /// The last commit; files that git does not know are told as well, unless they are ignored.
    Head,
    /// What each of these files held before the session first changed it: all changes of the session, in order.
    Baseline(&'a [FileUpdated]),
}

/// Why there is no comparison.
#[derive(Debug, thiserror::Error)]
pub enum DiffError {
    /// The folder is in no repository that git would read for us.
    #[error("`{folder}` is in no git repository: {reason}")]
    NoRepository {
        /// The folder.
        folder: String,
        /// What git says.
        reason: String,
    },
    /// There is no git.
    #[error("cannot start `git`: {source}")]
    NoGit {
        /// What the system says.
        source: std::io::Error,
    },
    /// Git took too long.
    #[error("`git {doing}` did not end in time")]
    TooSlow {
        /// What it was asked.
        doing: &'static str,
    },
    /// Git failed.
    #[error("`git {doing}` failed: {reason}")]
    Failed {
        /// What it was asked.
        doing: &'static str,
        /// What it says.
        reason: String,
    },
    /// Our own git folder cannot be made.
    #[error("cannot make a git folder to compare with: {source}")]
    NoPlace {
        /// What the system says.
        source: std::io::Error,
    },
    /// The session's folder cannot be read.
    #[error(transparent)]
    Folder(#[from] FileError),
}

/// What changed in a folder, by path.
pub fn diff(folder: &Folder, against: Against<'_>) -> Result<FileDiffs, DiffError> {
    match against {
        Against::Head => head::diff(folder),
        Against::Baseline(changes) => Ok(baseline::diff(folder, changes)),
    }
}
