//! The page as the editor of an interactive CLI: its changes and files are put before everybody who looks at the host.
//!
//! It only translates between the two. The one rule it keeps: what nobody decides in the page is decided in the CLI's
//! own terminal, and the first decision counts.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use jackfield_api::editor::{EditorPosition, EditorRange};
use jackfield_ide::{
    Answer, Diff, DiffId, Document, Editor, EditorError, FileDiagnostics, Ide, LanguageServers, NO_PROBLEMS,
    OpenFile, Options, Position, Range, ServeError, Verdict, problems, serve,
};
use jackfield_sdk::Environment;
use jackfield_server::{Board, Proposal};

use crate::config::Config;
use crate::workbench;

/// How large a file may be that is shown.
const FILE: u64 = 4 * 1024 * 1024;
/// What the CLI calls the page.
const NAME: &str = "Jackfield";

/// The page, as an editor.
#[derive(Debug)]
struct PageEditor {
    board: Board,
    servers: Option<Arc<LanguageServers>>,
}

/// Lets CLIs connect to the page, for the folders of the configuration.
pub(crate) async fn begin(
    config: &Config,
    environment: &Environment,
    lock_folder: PathBuf,
    board: Board,
) -> Result<Ide, ServeError> {
    let folders = &config.ide.folders;
    let first = folders.first().cloned().unwrap_or_default();
    let first = first.canonicalize().unwrap_or(first);
    let servers = workbench::language_servers(config, environment, &first);
    let options = Options {
        name: NAME.to_owned(),
        workspace: folders.clone(),
        lock_folders: vec![lock_folder],
        port: 0,
        kernel: Some(workbench::kernel(config, environment, first)),
    };
    let ide = serve(options, Arc::new(PageEditor { board: board.clone(), servers })).await?;
    let mut connected = ide.connected();
    // It ends with the server.
    tokio::spawn(async move {
        while let Some(now) = connected.changed().await {
            board.connected(u32::try_from(now.len()).unwrap_or(u32::MAX));
        }
    });
    Ok(ide)
}

impl Editor for PageEditor {
    fn open_file(&self, file: OpenFile) -> Answer<'_, Document> {
        Box::pin(async move {
            let text = read(&file.path).map_err(|error| EditorError::Failed {
                doing: format!("open `{}`", file.path.display()),
                reason: error.to_string(),
            })?;
            let lines = u32::try_from(text.lines().count()).unwrap_or(u32::MAX);
            self.board.show(file.path.display().to_string(), text, file.selection.map(range));
            Ok(Document { language: "plaintext".to_owned(), lines })
        })
    }

    fn open_diff(&self, _id: DiffId, diff: Diff) -> Answer<'_, Verdict> {
        Box::pin(async move {
            let proposal = Proposal { path: diff.path.display().to_string(), old: diff.old, new: diff.new };
            match self.board.propose(proposal).await {
                Ok(Some(content)) => Ok(Verdict::Accepted { content }),
                Ok(None) => Ok(Verdict::Rejected),
                Err(full) => Err(EditorError::Unable(full.to_string())),
            }
        })
    }

    /// It was taken down when nobody waited for it any more.
    fn close_diff(&self, _id: DiffId) {}

    fn diagnostics(&self, path: Option<PathBuf>) -> Answer<'_, Vec<FileDiagnostics>> {
        Box::pin(problems(self.servers.as_deref(), path))
    }

    fn without_diagnostics(&self) -> Option<&'static str> {
        self.servers.is_none().then_some(NO_PROBLEMS)
    }
}

fn read(path: &PathBuf) -> io::Result<String> {
    let metadata = fs::metadata(path)?;
    if !metadata.is_file() || metadata.len() > FILE {
        return Err(io::Error::other("it is no text file of a usual size"));
    }
    fs::read_to_string(path)
}

fn range(range: Range) -> EditorRange {
    let position = |Position { line, character }| EditorPosition { line, character };
    EditorRange { start: position(range.start), end: position(range.end) }
}
