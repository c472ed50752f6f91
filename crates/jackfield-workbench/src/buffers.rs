//! What an editor of the user's has in memory of the files that a session works on.
//!
//! Which editor, and how it is reached, is not known here. The one rule it keeps: an editor that cannot be asked holds
//! nothing up.

use std::fmt;
use std::path::PathBuf;

use futures_util::future::BoxFuture;

use crate::problem::FileDiagnostics;

/// An editor, as far as a session needs it. Its futures may be dropped at any time.
pub trait Buffers: fmt::Debug + Send + Sync + 'static {
    /// Has changes of a file saved, if there are any.
    fn settle(&self, path: PathBuf) -> BoxFuture<'_, Result<Settled, String>>;

    /// Problems in one file, or in all that it knows of.
    fn diagnostics(&self, path: Option<PathBuf>) -> BoxFuture<'_, Result<Vec<FileDiagnostics>, String>>;
}

/// How a file stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settled {
    /// There was nothing to save.
    Clean,
    /// There were changes, and they are saved.
    Saved,
    /// There are changes, and they are not.
    Unsaved {
        /// Why not.
        reason: String,
    },
}
