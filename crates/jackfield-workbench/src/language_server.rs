//! Language servers of the user's configuration, as far as problems in files go.
//!
//! Not an editor: files are shown to a server as they lie on the disk when somebody asks. Which programs these are is
//! never said by the folder that they look at; but they may run what lies in it, so whoever makes them decides whether
//! it is trusted. The one rule it keeps: an answer is about the text that is there now, or it is none.

mod conversation;
mod framing;
mod published;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, percent_encode};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout, timeout_at};

use self::conversation::{Conversation, folders};
use self::published::{Published, list};
use crate::problem::{Diagnostic, FileDiagnostics};
use crate::process::{Attended, Streams, Surroundings, Words};

/// How long a server may take to begin.
const BEGINNING: Duration = Duration::from_mins(1);
/// How long it may take to look at a file.
const LOOKING: Duration = Duration::from_mins(1);
/// How long it must say nothing more about a file that it tells of by itself; some tell in several steps.
const STEADY: Duration = Duration::from_millis(300);
/// How large a file may be that is shown to one.
const FILE: u64 = 4 * 1024 * 1024;

/// A language server, and which files it knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LanguageServerSetup {
    /// How the names of its files end, without the point.
    pub extensions: Vec<String>,
    /// The program: a path, or a name to look for.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LanguageServerError {
    /// It does not begin.
    #[error("cannot start the language server `{program}`: {reason}")]
    Start {
        /// The program.
        program: String,
        /// What it or the system said.
        reason: String,
    },
    /// It ended, or refused.
    #[error("the language server `{program}` does not answer: {reason}")]
    Silent {
        /// The program.
        program: String,
        /// Why.
        reason: String,
    },
    /// The file cannot be shown to it.
    #[error("cannot read `{}`: {reason}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
}

/// The language servers of a folder; each is started when one of its files is first asked for. Dropping them ends them.
#[derive(Debug)]
pub struct LanguageServers {
    servers: Vec<Server>,
    asked: Mutex<BTreeSet<PathBuf>>,
}

#[derive(Debug)]
struct Server {
    setup: LanguageServerSetup,
    folder: PathBuf,
    surroundings: Surroundings,
    running: tokio::sync::Mutex<Option<Running>>,
}

#[derive(Debug)]
struct Running {
    process: Attended,
    conversation: Conversation,
    /// Whether it is asked for problems, or tells of them by itself.
    is_asked: bool,
    documents: BTreeMap<PathBuf, Document>,
}

#[derive(Debug)]
struct Document {
    version: i64,
    text: String,
}

impl LanguageServers {
    /// Servers that are not started yet.
    pub fn new(setups: Vec<LanguageServerSetup>, folder: &Path, surroundings: &Surroundings) -> Self {
        let server = |setup| Server {
            setup,
            folder: folder.to_owned(),
            surroundings: surroundings.clone(),
            running: tokio::sync::Mutex::new(None),
        };
        Self { servers: setups.into_iter().map(server).collect(), asked: Mutex::default() }
    }

    /// Whether there is one for this file.
    pub fn know(&self, path: &Path) -> bool {
        self.servers.iter().any(|server| server.knows(path))
    }

    /// Starts every one and ends it again, to see whether it works. Needs a running tokio runtime.
    pub async fn try_out(&self) -> Result<(), LanguageServerError> {
        for server in &self.servers {
            server.begin().await?;
        }
        Ok(())
    }

    /// The problems in a file as it lies on the disk; none in one that is not there or that no server knows. Needs a
    /// running tokio runtime.
    pub async fn diagnostics(&self, path: &Path) -> Result<Vec<Diagnostic>, LanguageServerError> {
        let Some(server) = self.servers.iter().find(|server| server.knows(path)) else {
            return Ok(Vec::new());
        };
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).insert(path.to_owned());
        server.diagnostics(path).await
    }

    /// The problems in all files that were asked for before, those without any left out.
    pub async fn known(&self) -> Result<Vec<FileDiagnostics>, LanguageServerError> {
        let asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut all = Vec::new();
        for path in asked {
            let diagnostics = self.diagnostics(&path).await?;
            if !diagnostics.is_empty() {
                all.push(FileDiagnostics { path, diagnostics });
            }
        }
        Ok(all)
    }
}

impl Server {
    fn knows(&self, path: &Path) -> bool {
        let extension = path.extension().and_then(|extension| extension.to_str());
        extension.is_some_and(|extension| self.setup.extensions.iter().any(|known| known == extension))
    }

    async fn diagnostics(&self, path: &Path) -> Result<Vec<Diagnostic>, LanguageServerError> {
        let Some(text) = read(path)? else { return Ok(Vec::new()) };
        let mut place = self.running.lock().await;
        // One that has ended since is begun anew.
        let earlier = place.take().and_then(|mut running| (!running.process.has_ended()).then_some(running));
        let mut running = match earlier {
            Some(running) => running,
            None => self.begin().await?,
        };
        let looked = timeout(LOOKING, running.look(path, text)).await;
        let silent = |reason: String| {
            let said = running.process.said();
            let reason = if said.is_empty() { reason } else { format!("{reason}: {said}") };
            LanguageServerError::Silent { program: self.program(), reason }
        };
        match looked {
            Ok(Ok(diagnostics)) => {
                *place = Some(running);
                Ok(diagnostics)
            }
            // It is ended, and the next question finds a new one.
            Ok(Err(reason)) => Err(silent(reason)),
            Err(_) => Err(silent(format!("nothing came for {} seconds", LOOKING.as_secs()))),
        }
    }

    async fn begin(&self) -> Result<Running, LanguageServerError> {
        let failed = |reason: String| LanguageServerError::Start { program: self.program(), reason };
        let words = Words {
            program: self.setup.program.clone(),
            arguments: self.setup.arguments.clone(),
            folder: self.folder.clone(),
            variables: Vec::new(),
            streams: Streams::Pipes,
        };
        let mut process =
            Attended::start(&words, &self.surroundings).map_err(|error| failed(error.to_string()))?;
        let (input, output) = process.take_pipes().ok_or_else(|| failed("it has no pipes".to_owned()))?;
        let folder = url(&self.folder);
        let conversation = Conversation::begin(input, output, folder.clone());
        let asked = tokio::select! {
            asked = timeout(BEGINNING, conversation.request("initialize", greeting(&process, &folder))) => asked,
            ended = process.ended() => {
                let status = ended.map_or_else(|error| error.to_string(), |status| status.to_string());
                return Err(failed(format!("it ended with {status}: {}", process.last_words().await)));
            }
        };
        let about = asked
            .map_err(|_| failed("it does not answer".to_owned()))?
            .map_err(|reason| failed(format!("{reason} {}", process.said()).trim().to_owned()))?;
        conversation.notify("initialized", json!({})).await.map_err(failed)?;
        let is_asked = !about["capabilities"]["diagnosticProvider"].is_null();
        Ok(Running { process, conversation, is_asked, documents: BTreeMap::new() })
    }

    fn program(&self) -> String {
        self.setup.program.to_string_lossy().into_owned()
    }
}

impl Running {
    /// Shows the server a text, and waits for what it says to it.
    async fn look(&mut self, path: &Path, text: String) -> Result<Vec<Diagnostic>, String> {
        let url = url(path);
        let mut published = self.conversation.published();
        let before = published.borrow().get(path).map_or(0, |published| published.count);
        let change = self.show(path, &url, text).await?;
        if self.is_asked {
            let params = json!({ "textDocument": { "uri": url } });
            let answer = self.conversation.request("textDocument/diagnostic", params).await?;
            return Ok(list(&answer["items"]));
        }
        let version = match change {
            Change::Shown(version) => version,
            Change::None => return Ok(published.borrow().get(path).cloned().unwrap_or_default().diagnostics),
        };
        let is_about = |all: &BTreeMap<PathBuf, Published>| {
            all.get(path).is_some_and(|published| match published.version {
                Some(about) => about >= version,
                None => published.count > before,
            })
        };
        let ended = |_| "it has ended".to_owned();
        let mut found = published.wait_for(is_about).await.map_err(ended)?.get(path).cloned();
        // What comes in several steps is whole when nothing more comes.
        let mut steady = Instant::now() + STEADY;
        while let Ok(changed) = timeout_at(steady, published.changed()).await {
            changed.map_err(ended)?;
            let now = published.borrow_and_update().get(path).cloned();
            if now != found {
                steady = Instant::now() + STEADY;
                found = now;
            }
        }
        Ok(found.unwrap_or_default().diagnostics)
    }

    async fn show(&mut self, path: &Path, url: &str, text: String) -> Result<Change, String> {
        let known = self.documents.get(path);
        if known.is_some_and(|document| document.text == text) {
            return Ok(Change::None);
        }
        let version = known.map_or(1, |document| document.version + 1);
        if known.is_some() {
            let changes = json!([{ "text": text }]);
            let document = json!({ "uri": url, "version": version });
            let params = json!({ "textDocument": document, "contentChanges": changes });
            self.conversation.notify("textDocument/didChange", params).await?;
        } else {
            let language = path.extension().and_then(|extension| extension.to_str()).map_or("", language);
            let document = json!({ "uri": url, "languageId": language, "version": version, "text": text });
            self.conversation.notify("textDocument/didOpen", json!({ "textDocument": document })).await?;
        }
        // It lies on the disk, and some look only then.
        self.conversation.notify("textDocument/didSave", json!({ "textDocument": { "uri": url } })).await?;
        self.documents.insert(path.to_owned(), Document { version, text });
        Ok(Change::Shown(version))
    }
}

/// Whether the server has seen a text for the first time.
enum Change {
    Shown(i64),
    None,
}

/// What is in a file; `None` if it is not there.
fn read(path: &Path) -> Result<Option<String>, LanguageServerError> {
    let unreadable = |reason: String| LanguageServerError::Unreadable { path: path.to_owned(), reason };
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(error.to_string())),
    };
    if !metadata.is_file() || metadata.len() > FILE {
        return Err(unreadable("it is no text file of a usual size".to_owned()));
    }
    fs::read_to_string(path).map(Some).map_err(|error| unreadable(error.to_string()))
}

fn greeting(process: &Attended, folder: &str) -> Value {
    json!({
        // It ends with this process; the guard sees to the rest.
        "processId": process.id().map(|_| std::process::id()),
        "clientInfo": { "name": "jackfield", "version": env!("CARGO_PKG_VERSION") },
        "rootUri": folder,
        "workspaceFolders": folders(folder),
        "capabilities": {
            "textDocument": {
                "synchronization": { "didSave": true },
                "publishDiagnostics": { "versionSupport": true },
                "diagnostic": { "dynamicRegistration": false },
            },
            "workspace": { "configuration": true, "workspaceFolders": true },
        },
    })
}

/// What stands in addresses as it is.
const AS_IT_IS: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The address of a file.
fn url(path: &Path) -> String {
    format!("file://{}", percent_encode(path.as_os_str().as_bytes(), AS_IT_IS))
}

/// The file of an address, however that is written.
fn path_of(url: &str) -> Option<PathBuf> {
    let bytes: Vec<u8> = percent_decode_str(url.strip_prefix("file://")?).collect();
    Some(PathBuf::from(OsString::from_vec(bytes)))
}

/// What the protocol calls the language of a file; many servers do not care.
fn language(extension: &str) -> &str {
    match extension {
        "py" | "pyi" => "python",
        "rs" => "rust",
        "ts" | "mts" | "cts" => "typescript",
        "tsx" => "typescriptreact",
        "js" | "mjs" | "cjs" => "javascript",
        "jsx" => "javascriptreact",
        "rb" => "ruby",
        "sh" | "bash" => "shellscript",
        "md" => "markdown",
        "yml" => "yaml",
        "h" => "c",
        "cc" | "cxx" | "hpp" => "cpp",
        "cs" => "csharp",
        other => other,
    }
}
