//! No editor at all: the files on disk, a terminal, and whatever `$VISUAL` names.
//!
//! It has no tabs and no selection; problems it knows from language servers, if there are any. With a terminal of its own it shows a diff and asks; without
//! one it says that it cannot, and the CLI asks in its own terminal. The one rule it keeps: what a person did not
//! answer is no yes.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use jackfield_workbench::LanguageServers;
use similar::TextDiff;
use tokio::process::Command;

use crate::console::{Console, Output};
use crate::editor::{
    Answer, Diff, DiffId, Document, Editor, EditorError, FileDiagnostics, OpenFile, Verdict,
};

/// The editor of those who have none.
#[derive(Debug, Clone)]
pub struct Plain {
    terminal: Option<Arc<Terminal>>,
    visual: Option<OsString>,
    servers: Option<Arc<LanguageServers>>,
}

#[derive(Debug)]
struct Terminal {
    /// Whoever holds it has the terminal.
    console: tokio::sync::Mutex<Console>,
    output: Output,
    shown: Mutex<Option<DiffId>>,
}

impl Plain {
    /// With a terminal, if there is one to ask at, and the command of an editor for it, as a shell reads it.
    pub fn new(console: Option<Console>, visual: Option<OsString>) -> Self {
        let terminal = console.map(|console| {
            let output = console.output();
            Arc::new(Terminal { console: tokio::sync::Mutex::new(console), output, shown: Mutex::default() })
        });
        Self { terminal, visual, servers: None }
    }

    /// With language servers that know of problems.
    #[must_use]
    pub fn with_language_servers(mut self, servers: Arc<LanguageServers>) -> Self {
        self.servers = Some(servers);
        self
    }

    async fn decide(&self, id: DiffId, diff: Diff) -> Result<Verdict, EditorError> {
        let Some(terminal) = &self.terminal else {
            return Err(EditorError::Unable("there is no editor to show a diff in".to_owned()));
        };
        let mut console = terminal.console.lock().await;
        terminal.shows(Some(id));
        let choices = if self.visual.is_some() { "[y]es, [n]o, [e]dit" } else { "[y]es, [n]o" };
        let mut new = diff.new;
        let verdict = loop {
            terminal.output.write(&picture(&diff.path, diff.old.as_deref().unwrap_or_default(), &new));
            let question = format!("Make this change to {}? {choices}: ", diff.path.display());
            match console.ask(&question).await.as_deref() {
                Some("y" | "yes") => break Verdict::Accepted { content: new },
                Some("n" | "no") | None => break Verdict::Rejected,
                Some("e" | "edit") => {
                    if let Some(visual) = &self.visual {
                        match edited(visual, &diff.path, &new).await {
                            Ok(content) => new = content,
                            Err(error) => {
                                terminal.output.write(&format!(
                                    "It could not be edited: {error}
"
                                ));
                            }
                        }
                    }
                }
                Some(_) => {}
            }
        };
        terminal.shows(None);
        Ok(verdict)
    }
}

impl Editor for Plain {
    fn open_file(&self, file: OpenFile) -> Answer<'_, Document> {
        Box::pin(async move {
            let (Some(terminal), Some(visual)) = (self.terminal.clone(), self.visual.clone()) else {
                let words = "there is no editor to open files in: set VISUAL, and leave it a terminal";
                return Err(EditorError::Unable(words.to_owned()));
            };
            let text = std::fs::read_to_string(&file.path).map_err(|error| EditorError::Failed {
                doing: format!("open `{}`", file.path.display()),
                reason: error.to_string(),
            })?;
            // The CLI does not wait until the person has looked enough.
            tokio::spawn(async move {
                let _turn = terminal.console.lock().await;
                if let Err(error) = run(&visual, &file.path).await {
                    terminal.output.write(&format!("{} could not be opened: {error}\n", file.path.display()));
                }
            });
            let lines = u32::try_from(text.lines().count()).unwrap_or(u32::MAX);
            Ok(Document { language: "plaintext".to_owned(), lines })
        })
    }

    fn open_diff(&self, id: DiffId, diff: Diff) -> Answer<'_, Verdict> {
        Box::pin(self.decide(id, diff))
    }

    fn close_diff(&self, id: DiffId) {
        let Some(terminal) = &self.terminal else { return };
        let mut shown = terminal.shown.lock().unwrap_or_else(PoisonError::into_inner);
        if *shown == Some(id) {
            *shown = None;
            terminal.output.write("\nThis was decided elsewhere.\n");
        }
    }

    fn diagnostics(&self, path: Option<PathBuf>) -> Answer<'_, Vec<FileDiagnostics>> {
        Box::pin(problems(self.servers.as_deref(), path))
    }

    fn without_diagnostics(&self) -> Option<&'static str> {
        self.servers.is_none().then_some(NO_PROBLEMS)
    }
}

/// What is said where nobody knows of problems.
pub const NO_PROBLEMS: &str =
    "Nobody looks for problems here: no language server is configured (`tools.language_servers`).";

/// Problems that language servers know of, as an editor tells them.
pub async fn problems(
    servers: Option<&LanguageServers>,
    path: Option<PathBuf>,
) -> Result<Vec<FileDiagnostics>, EditorError> {
    let Some(servers) = servers else { return Ok(Vec::new()) };
    let found = match path {
        Some(path) => {
            let diagnostics = servers.diagnostics(&path).await;
            diagnostics.map(|diagnostics| vec![FileDiagnostics { path, diagnostics }])
        }
        None => servers.known().await,
    };
    found.map_err(|error| EditorError::Unable(error.to_string()))
}

impl Terminal {
    fn shows(&self, id: Option<DiffId>) {
        *self.shown.lock().unwrap_or_else(PoisonError::into_inner) = id;
    }
}

/// A change as `diff -u` shows it.
fn picture(path: &Path, old: &str, new: &str) -> String {
    let path = path.display().to_string();
    let diff = TextDiff::from_lines(old, new);
    format!("\n{}", diff.unified_diff().context_radius(3).header(&path, &path))
}

/// What a person makes of a text, in an editor of theirs.
async fn edited(visual: &OsStr, path: &Path, text: &str) -> io::Result<String> {
    let folder = tempfile::Builder::new().prefix("jackfield-").tempdir()?;
    // By its name the editor knows the language.
    let copy = folder.path().join(path.file_name().unwrap_or(OsStr::new("file")));
    std::fs::write(&copy, text)?;
    run(visual, &copy).await?;
    std::fs::read_to_string(&copy)
}

async fn run(visual: &OsStr, path: &Path) -> io::Result<()> {
    let mut command = visual.to_owned();
    // `$VISUAL` may have arguments; the path is one whatever is in it.
    command.push(" \"$1\"");
    let status =
        Command::new("sh").arg("-c").arg(command).arg("sh").arg(path).kill_on_drop(true).status().await?;
    if status.success() { Ok(()) } else { Err(io::Error::other(format!("the editor ended with {status}"))) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::io::{BufReader, Cursor};

    use super::*;

    fn diff() -> Diff {
        Diff {
            path: "/ws/a.txt".into(),
            title: "a.txt".to_owned(),
            old: Some("alpha\nbeta\n".to_owned()),
            new: "alpha\nBE\x1b]0;TA\n".to_owned(),
        }
    }

    /// What was written to it.
    #[derive(Clone, Default)]
    struct Paper(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Paper {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn plain(answers: &'static str, visual: Option<&str>) -> (Plain, Paper) {
        let paper = Paper::default();
        let console = Console::new(BufReader::new(Cursor::new(answers)), paper.clone());
        (Plain::new(Some(console), visual.map(Into::into)), paper)
    }

    #[tokio::test]
    async fn a_change_is_shown_and_made_only_after_a_yes() {
        let (plain, paper) = plain("what?\nyes\nno\n", None);
        let accepted = plain.open_diff(DiffId(1), diff()).await.unwrap();
        assert_eq!(accepted, Verdict::Accepted { content: diff().new });
        let shown = String::from_utf8(paper.0.lock().unwrap().clone()).unwrap();
        assert!(shown.contains("-beta\n") && shown.contains("+BE␛]0;TA\n"), "{shown}");
        assert_eq!(plain.open_diff(DiffId(2), diff()).await.unwrap(), Verdict::Rejected);
        assert_eq!(plain.open_diff(DiffId(3), diff()).await.unwrap(), Verdict::Rejected, "nobody is there");
    }

    #[tokio::test]
    async fn a_change_can_be_edited_first() {
        let (plain, _paper) = plain("e\ny\n", Some("sed -i s/BE/GE/"));
        let accepted = plain.open_diff(DiffId(1), diff()).await.unwrap();
        assert_eq!(accepted, Verdict::Accepted { content: diff().new.replace("BE", "GE") });
    }

    #[tokio::test]
    async fn an_editor_that_fails_changes_nothing() {
        let (plain, paper) = plain("e\ny\n", Some("false"));
        let accepted = plain.open_diff(DiffId(1), diff()).await.unwrap();
        assert_eq!(accepted, Verdict::Accepted { content: diff().new });
        let shown = String::from_utf8(paper.0.lock().unwrap().clone()).unwrap();
        assert!(shown.contains("It could not be edited"), "{shown}");
    }

    #[tokio::test]
    async fn what_is_decided_elsewhere_leaves_the_terminal_to_the_next() {
        let (reader, mut writer) = io::pipe().unwrap();
        let paper = Paper::default();
        let plain = Plain::new(Some(Console::new(BufReader::new(reader), paper.clone())), None);
        let mut first = plain.open_diff(DiffId(1), diff());
        // It asks, and nobody has answered.
        assert!(futures_util::poll!(&mut first).is_pending());
        drop(first);
        plain.close_diff(DiffId(1));
        let shown = String::from_utf8(paper.0.lock().unwrap().clone()).unwrap();
        assert!(shown.ends_with("This was decided elsewhere.\n"), "{shown}");
        io::Write::write_all(&mut writer, b"y\n").unwrap();
        let second = plain.open_diff(DiffId(2), diff()).await.unwrap();
        assert_eq!(second, Verdict::Accepted { content: diff().new });
    }

    #[tokio::test]
    async fn without_a_terminal_nothing_is_decided() {
        let plain = Plain::new(None, Some("true".into()));
        assert!(matches!(plain.open_diff(DiffId(1), diff()).await, Err(EditorError::Unable(_))));
    }
}
