//! The diffs that one connection has open.
//!
//! The one rule it keeps: a diff is over once, by the person's verdict, by the CLI's closing it or by the end of the
//! connection, and whichever it was, the editor's view of it goes away.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

use crate::editor::{Diff, DiffId, Editor, EditorError, Verdict};

/// The open diffs, by the names that the CLI gives them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Diffs {
    open: Arc<Mutex<BTreeMap<String, Open>>>,
}

#[derive(Debug)]
struct Open {
    id: DiffId,
    closed: CancellationToken,
}

impl Diffs {
    /// Shows a diff until it is over. A diff of the same name is closed first.
    pub(crate) async fn show(
        &self,
        editor: &dyn Editor,
        id: DiffId,
        diff: Diff,
    ) -> Result<Verdict, EditorError> {
        let closed = CancellationToken::new();
        let open = Open { id, closed: closed.clone() };
        let mut view = View { diffs: self, editor, title: diff.title.clone(), id, is_shown: true };
        if let Some(earlier) = self.lock().insert(diff.title.clone(), open) {
            earlier.closed.cancel();
        }
        tokio::select! {
            verdict = editor.open_diff(id, diff) => {
                view.is_shown = false;
                verdict
            }
            () = closed.cancelled() => Ok(Verdict::Rejected),
        }
    }

    /// Closes a diff, if it is open.
    pub(crate) fn close(&self, title: &str) {
        if let Some(open) = self.lock().remove(title) {
            open.closed.cancel();
        }
    }

    /// Closes all, and tells how many there were.
    pub(crate) fn close_all(&self) -> usize {
        let open = std::mem::take(&mut *self.lock());
        for open in open.values() {
            open.closed.cancel();
        }
        open.len()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A diff in the editor; it goes away with this, also when nobody waits for the verdict any more.
struct View<'a> {
    diffs: &'a Diffs,
    editor: &'a dyn Editor,
    title: String,
    id: DiffId,
    is_shown: bool,
}

impl Drop for View<'_> {
    fn drop(&mut self) {
        let mut open = self.diffs.lock();
        if open.get(&self.title).is_some_and(|open| open.id == self.id) {
            open.remove(&self.title);
        }
        drop(open);
        if self.is_shown {
            self.editor.close_diff(self.id);
        }
    }
}
