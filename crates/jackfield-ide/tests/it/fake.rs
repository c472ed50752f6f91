//! An editor that a test plays: what it is asked lies in a queue, what it says was laid out before.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use jackfield_ide::{
    Answer, Diff, DiffId, Document, DocumentState, Editor, EditorError, FileDiagnostics, OpenFile, Saved,
    Tab, Verdict,
};
use tokio::sync::{mpsc, oneshot};

/// What the editor was asked.
#[derive(Debug)]
pub(crate) enum Asked {
    OpenFile(OpenFile),
    Diff(DiffId, Diff, oneshot::Sender<Verdict>),
    Closed(DiffId),
    Save,
}

/// What the editor has.
#[derive(Debug, Default)]
pub(crate) struct Desk {
    pub(crate) tabs: Vec<Tab>,
    pub(crate) diagnostics: Vec<FileDiagnostics>,
}

#[derive(Debug)]
pub(crate) struct FakeEditor {
    asked: mpsc::Sender<Asked>,
    pub(crate) desk: Mutex<Desk>,
}

impl FakeEditor {
    pub(crate) fn new() -> (Arc<Self>, mpsc::Receiver<Asked>) {
        let (asked, questions) = mpsc::channel(64);
        (Arc::new(Self { asked, desk: Mutex::default() }), questions)
    }

    fn tab(&self, path: &PathBuf) -> Option<Tab> {
        self.desk.lock().unwrap().tabs.iter().find(|tab| tab.path == *path).cloned()
    }
}

impl Editor for FakeEditor {
    fn open_file(&self, file: OpenFile) -> Answer<'_, Document> {
        Box::pin(async move {
            self.asked.send(Asked::OpenFile(file)).await.unwrap();
            Ok(Document { language: "rust".to_owned(), lines: 3 })
        })
    }

    fn open_diff(&self, id: DiffId, diff: Diff) -> Answer<'_, Verdict> {
        Box::pin(async move {
            let (answer, verdict) = oneshot::channel();
            self.asked.send(Asked::Diff(id, diff, answer)).await.unwrap();
            verdict.await.map_err(|_| EditorError::Unable("there is no window".to_owned()))
        })
    }

    fn close_diff(&self, id: DiffId) {
        self.asked.try_send(Asked::Closed(id)).unwrap();
    }

    fn tabs(&self) -> Answer<'_, Vec<Tab>> {
        Box::pin(async { Ok(self.desk.lock().unwrap().tabs.clone()) })
    }

    fn diagnostics(&self, _path: Option<PathBuf>) -> Answer<'_, Vec<FileDiagnostics>> {
        Box::pin(async { Ok(self.desk.lock().unwrap().diagnostics.clone()) })
    }

    fn document_state(&self, path: PathBuf) -> Answer<'_, Option<DocumentState>> {
        Box::pin(
            async move { Ok(self.tab(&path).map(|tab| DocumentState { dirty: tab.dirty, untitled: false })) },
        )
    }

    fn save(&self, path: PathBuf) -> Answer<'_, Option<Saved>> {
        Box::pin(async move {
            let Some(tab) = self.tab(&path) else { return Ok(None) };
            self.asked.send(Asked::Save).await.unwrap();
            Ok(Some(if tab.dirty { Saved::Yes } else { Saved::No { reason: "read only".to_owned() } }))
        })
    }
}
