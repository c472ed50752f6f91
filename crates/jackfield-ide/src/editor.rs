//! An editor as the server sees it: what it can be asked for, and what it tells of itself.
//!
//! Not the tools of the CLI: paths have been checked and texts have been looked up before an editor is asked. The
//! types are those of the link for plugins too (`docs/editor-link.md`). The one rule it keeps: an editor that does
//! not answer holds up its own question and nothing else.

use std::fmt;
use std::future::ready;
use std::path::PathBuf;

use futures_util::future::BoxFuture;
pub use jackfield_workbench::{Diagnostic, FileDiagnostics, Position, Range, Severity};
use serde::{Deserialize, Serialize};

/// What an editor answers, when it does.
pub type Answer<'a, T> = BoxFuture<'a, Result<T, EditorError>>;

/// An editor. Its futures may be dropped at any time.
pub trait Editor: fmt::Debug + Send + Sync + 'static {
    /// Shows a file.
    fn open_file(&self, file: OpenFile) -> Answer<'_, Document>;

    /// Shows a proposed change until the person decides. The editor takes the view away itself when there is a
    /// verdict; it writes nothing: the CLI does.
    fn open_diff(&self, id: DiffId, diff: Diff) -> Answer<'_, Verdict>;

    /// The decision has been taken elsewhere, or nobody waits for it any more: takes the view away. Must not block.
    fn close_diff(&self, id: DiffId);

    /// What is open, in the editor's order; nothing, in one that only shows files as they lie on the disk.
    fn tabs(&self) -> Answer<'_, Vec<Tab>> {
        Box::pin(ready(Ok(Vec::new())))
    }

    /// Problems in one file, or in all it knows of.
    fn diagnostics(&self, path: Option<PathBuf>) -> Answer<'_, Vec<FileDiagnostics>>;

    /// Why it never has problems to tell of, if that is so.
    fn without_diagnostics(&self) -> Option<&'static str> {
        None
    }

    /// How an open file stands; `None` if it is not open.
    fn document_state(&self, path: PathBuf) -> Answer<'_, Option<DocumentState>> {
        drop(path);
        Box::pin(ready(Ok(None)))
    }

    /// Saves an open file; `None` if it is not open.
    fn save(&self, path: PathBuf) -> Answer<'_, Option<Saved>> {
        drop(path);
        Box::pin(ready(Ok(None)))
    }
}

/// Why an editor did not do what it was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditorError {
    /// It cannot do such things at all.
    #[error("{0}")]
    Unable(String),
    /// It tried.
    #[error("the editor cannot {doing}: {reason}")]
    Failed {
        /// What it was asked for.
        doing: String,
        /// What it says.
        reason: String,
    },
    /// It is gone, or has not answered in time.
    #[error("the editor does not answer")]
    Silent,
}

/// The number of a diff; never used twice in a server's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct DiffId(pub u64);

/// What is selected, or where the cursor is when the range is empty.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Selection {
    /// The file.
    pub path: PathBuf,
    /// The selected text.
    pub text: String,
    /// Where it is.
    pub range: Range,
}

/// A file, or some lines of it, that the person wants to speak of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mention {
    /// The file.
    pub path: PathBuf,
    /// The first line and the last, from 0; the whole file without them.
    #[serde(default)]
    pub lines: Option<(u32, u32)>,
}

/// A file to be shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenFile {
    /// The file.
    pub path: PathBuf,
    /// What is to be selected in it.
    pub selection: Option<Range>,
    /// For a look: the next such file may take its place.
    pub preview: bool,
    /// Whether it is to be in front, or just open.
    pub frontmost: bool,
}

/// A file that is open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Document {
    /// Its language, as the editor calls it.
    pub language: String,
    /// How many lines it has.
    pub lines: u32,
}

/// A proposed change of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diff {
    /// The file.
    pub path: PathBuf,
    /// What the CLI calls the view.
    pub title: String,
    /// What is in the file; `None` if it is new.
    pub old: Option<String>,
    /// What is proposed.
    pub new: String,
}

/// What a person says to a proposed change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// Yes, with this content, which may be another than the proposed one.
    Accepted {
        /// What the file shall contain.
        content: String,
    },
    /// No. A view that was closed without a word is a no.
    Rejected,
}

/// A file in the editor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tab {
    /// The file.
    pub path: PathBuf,
    /// What stands on the tab.
    pub label: String,
    /// Its language, as the editor calls it.
    pub language: String,
    /// Whether the person is in it.
    pub active: bool,
    /// Whether it has changes that are not saved.
    pub dirty: bool,
}

/// How an open file stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DocumentState {
    /// Whether it has changes that are not saved.
    pub dirty: bool,
    /// Whether it has never been saved.
    #[serde(default)]
    pub untitled: bool,
}

/// What came of saving.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "saved", rename_all = "snake_case")]
pub enum Saved {
    /// It is saved, or there was nothing to save.
    Yes,
    /// It is not.
    No {
        /// Why.
        reason: String,
    },
}
