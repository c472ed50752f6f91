//! The link for plugins: JSON-RPC over two pipes, one message per line, with an editor on the other end.
//!
//! `docs/editor-link.md` describes it for those who write a plugin. The one rule it keeps: every question has an
//! answer, the plugin's or, when it is gone or keeps silent, an error; a line that cannot be read is answered and
//! passed over.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::StreamExt as _;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{mpsc, oneshot};
use tokio_util::codec::{AnyDelimiterCodec, AnyDelimiterCodecError, FramedRead};
use tokio_util::sync::CancellationToken;

use crate::connected::Connected;
use crate::editor::{
    Answer, Diff, DiffId, Document, DocumentState, Editor, EditorError, FileDiagnostics, Mention, OpenFile,
    Saved, Selection, Tab, Verdict,
};
use crate::notices::Notices;
use crate::serving::Ide;

/// The version of the link; a plugin that knows another one should say so to its user.
const VERSION: u32 = 1;
/// How many messages may wait for a plugin that does not read.
const WAITING: usize = 1024;
/// How long a message may be.
const LONGEST: usize = 64 * 1024 * 1024;
/// How long a plugin may take for everything but a diff.
const PATIENCE: Duration = Duration::from_secs(10);

/// Why a link ended.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// What came cannot be a message.
    #[error("cannot read from the plugin: {0}")]
    Read(#[from] AnyDelimiterCodecError),
    /// What is for the plugin does not get there.
    #[error("cannot write to the plugin: it does not read")]
    Unread,
}

/// A plugin at the other end of two pipes.
#[derive(Debug)]
pub struct Link {
    out: mpsc::Sender<String>,
    gone: CancellationToken,
    questions: Mutex<BTreeMap<u64, oneshot::Sender<Result<Value, String>>>>,
    asked: AtomicU64,
}

impl Link {
    /// A link that writes here. Needs a running tokio runtime.
    pub fn new(mut output: impl AsyncWrite + Send + Unpin + 'static) -> Arc<Self> {
        let (out, mut waiting) = mpsc::channel::<String>(WAITING);
        let gone = CancellationToken::new();
        let broken = gone.clone();
        tokio::spawn(async move {
            while let Some(mut line) = waiting.recv().await {
                line.push('\n');
                if output.write_all(line.as_bytes()).await.is_err() || output.flush().await.is_err() {
                    break;
                }
            }
            broken.cancel();
        });
        Arc::new(Self { out, gone, questions: Mutex::default(), asked: AtomicU64::new(0) })
    }

    /// Reads what the plugin says, until it ends.
    pub async fn attend(&self, input: impl AsyncRead + Unpin, ide: &Ide) -> Result<(), LinkError> {
        let environment: BTreeMap<&str, String> = ide.environment().into_iter().collect();
        self.tell("ready", &json!({ "version": VERSION, "port": ide.port(), "environment": environment }));
        let ends = || b"\n".to_vec();
        let codec = AnyDelimiterCodec::new_with_max_length(ends(), ends(), LONGEST);
        let mut lines = FramedRead::new(input, codec);
        let mut connected = ide.connected();
        let mut before = Vec::new();
        let ended = loop {
            tokio::select! {
                line = lines.next() => match line {
                    Some(Ok(line)) => self.take(&line, ide.notices()),
                    Some(Err(error)) => break Err(error.into()),
                    None => break Ok(()),
                },
                Some(now) = connected.changed() => {
                    if now != before {
                        self.tell("connected", &json!({ "connections": described(&now) }));
                        before = now;
                    }
                }
                () = self.gone.cancelled() => break Err(LinkError::Unread),
            }
        };
        self.gone.cancel();
        lock(&self.questions).clear();
        ended
    }

    fn take(&self, line: &[u8], notices: &Notices) {
        if line.trim_ascii().is_empty() {
            return;
        }
        let message: Message = match serde_json::from_slice(line) {
            Ok(message) => message,
            Err(error) => return self.refuse(&Value::Null, -32700, &format!("cannot read a line: {error}")),
        };
        match message.method.as_deref() {
            None => self.answered(message),
            Some("selection") => match read::<Selected>(message.params.unwrap_or_default()) {
                Ok(selected) => notices.select(selected.selection),
                Err(error) => self.refuse(&message.id.unwrap_or_default(), -32602, &error),
            },
            Some("mention") => match read::<Mention>(message.params.unwrap_or_default()) {
                Ok(mention) => notices.mention(mention),
                Err(error) => self.refuse(&message.id.unwrap_or_default(), -32602, &error),
            },
            Some(method) => {
                let words = format!("there is no method `{method}`");
                self.refuse(&message.id.unwrap_or_default(), -32601, &words);
            }
        }
    }

    fn answered(&self, message: Message) {
        let id = message.id.as_ref().and_then(Value::as_u64);
        // An answer that comes too late, or a second one, changes nothing.
        let Some(question) = id.and_then(|id| lock(&self.questions).remove(&id)) else { return };
        let answer = match message.error {
            Some(error) => Err(error.message),
            None => Ok(message.result.unwrap_or_default()),
        };
        let _ = question.send(answer);
    }

    async fn ask<T: DeserializeOwned>(&self, method: &str, params: Value) -> Result<T, EditorError> {
        let id = self.asked.fetch_add(1, Ordering::Relaxed) + 1;
        let (answer, answered) = oneshot::channel();
        lock(&self.questions).insert(id, answer);
        let _forgotten = Forgotten { link: self, id };
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        let failed = |reason| EditorError::Failed { doing: format!("answer `{method}`"), reason };
        let answer = tokio::select! {
            answer = answered => answer.map_err(|_| EditorError::Silent)?,
            () = self.gone.cancelled() => return Err(EditorError::Silent),
        };
        read(answer.map_err(failed)?).map_err(failed)
    }

    async fn ask_soon<T: DeserializeOwned>(&self, method: &str, params: Value) -> Result<T, EditorError> {
        tokio::time::timeout(PATIENCE, self.ask(method, params)).await.unwrap_or(Err(EditorError::Silent))
    }

    fn tell(&self, method: &str, params: &Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    fn refuse(&self, id: &Value, code: i32, words: &str) {
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": words } }));
    }

    fn send(&self, message: &Value) {
        if self.out.try_send(message.to_string()).is_err() {
            self.gone.cancel();
        }
    }
}

impl Editor for Link {
    fn open_file(&self, file: OpenFile) -> Answer<'_, Document> {
        Box::pin(self.ask_soon("open_file", json!(file)))
    }

    fn open_diff(&self, id: DiffId, diff: Diff) -> Answer<'_, Verdict> {
        let mut params = json!(diff);
        params["diff"] = json!(id);
        Box::pin(self.ask("open_diff", params))
    }

    fn close_diff(&self, id: DiffId) {
        self.tell("close_diff", &json!({ "diff": id }));
    }

    fn tabs(&self) -> Answer<'_, Vec<Tab>> {
        Box::pin(self.ask_soon("tabs", json!({})))
    }

    fn diagnostics(&self, path: Option<PathBuf>) -> Answer<'_, Vec<FileDiagnostics>> {
        Box::pin(self.ask_soon("diagnostics", json!({ "path": path })))
    }

    fn document_state(&self, path: PathBuf) -> Answer<'_, Option<DocumentState>> {
        Box::pin(self.ask_soon("document_state", json!({ "path": path })))
    }

    fn save(&self, path: PathBuf) -> Answer<'_, Option<Saved>> {
        Box::pin(self.ask_soon("save", json!({ "path": path })))
    }
}

/// A question that is open as long as somebody waits for its answer.
struct Forgotten<'a> {
    link: &'a Link,
    id: u64,
}

impl Drop for Forgotten<'_> {
    fn drop(&mut self) {
        lock(&self.link.questions).remove(&self.id);
    }
}

#[derive(Debug, Deserialize)]
struct Message {
    id: Option<Value>,
    method: Option<String>,
    params: Option<Value>,
    result: Option<Value>,
    error: Option<Refused>,
}

#[derive(Debug, Deserialize)]
struct Refused {
    message: String,
}

#[derive(Debug, Deserialize)]
struct Selected {
    selection: Option<Selection>,
}

fn read<T: DeserializeOwned>(value: Value) -> Result<T, String> {
    serde_json::from_value(value).map_err(|error| error.to_string())
}

fn described(connected: &[Connected]) -> Vec<Value> {
    connected.iter().map(|one| json!({ "connection": one.connection, "process": one.process })).collect()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
