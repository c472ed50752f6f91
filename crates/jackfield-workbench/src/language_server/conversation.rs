//! What is said between us and one language server: requests both ways, and the problems that it publishes.
//!
//! Which files are looked at is not its business. The one rule it keeps: whatever the server asks is answered, and
//! what we ask ends with an answer or with the server.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncWriteExt as _, BufReader};
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::{mpsc, oneshot, watch};

use super::published::{self, Published};
use super::{framing, path_of};

/// How many messages may wait to be written.
const WAITING: usize = 256;
/// The answer to what we do not know.
const UNKNOWN_METHOD: i64 = -32601;

/// A conversation with a server. Clones are the same one.
#[derive(Debug, Clone)]
pub(super) struct Conversation {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    out: mpsc::Sender<Value>,
    next: AtomicI64,
    open: Mutex<HashMap<i64, oneshot::Sender<Result<Value, String>>>>,
    published: watch::Sender<BTreeMap<PathBuf, Published>>,
    folder_url: String,
}

#[derive(Debug, Deserialize)]
struct Message {
    id: Option<Value>,
    method: Option<String>,
    #[serde(default)]
    params: Value,
    #[serde(default)]
    result: Value,
    error: Option<Refused>,
}

#[derive(Debug, Deserialize)]
struct Refused {
    message: String,
}

impl Conversation {
    /// Begins a conversation over the pipes of a server. Needs a running tokio runtime.
    pub(super) fn begin(input: ChildStdin, output: ChildStdout, folder_url: String) -> Self {
        let (out, waiting) = mpsc::channel(WAITING);
        let shared = Arc::new(Shared {
            out,
            next: AtomicI64::new(1),
            open: Mutex::default(),
            published: watch::Sender::default(),
            folder_url,
        });
        tokio::spawn(write(input, waiting));
        // It ends with the pipe, which ends with the process.
        tokio::spawn(Arc::clone(&shared).read(output));
        Self { shared }
    }

    /// Asks the server.
    pub(super) async fn request(&self, method: &str, params: Value) -> Result<Value, String> {
        let id = self.shared.next.fetch_add(1, Ordering::Relaxed);
        let (answer, answered) = oneshot::channel();
        self.shared.lock().insert(id, answer);
        let _forgotten = Forgotten { shared: &self.shared, id };
        self.say(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await?;
        answered.await.unwrap_or_else(|_| Err("it has ended".to_owned()))
    }

    /// Tells the server something.
    pub(super) async fn notify(&self, method: &str, params: Value) -> Result<(), String> {
        self.say(json!({ "jsonrpc": "2.0", "method": method, "params": params })).await
    }

    /// The problems that it publishes, by file.
    pub(super) fn published(&self) -> watch::Receiver<BTreeMap<PathBuf, Published>> {
        self.shared.published.subscribe()
    }

    async fn say(&self, message: Value) -> Result<(), String> {
        self.shared.out.send(message).await.map_err(|_| "it has ended".to_owned())
    }
}

impl Shared {
    async fn read(self: Arc<Self>, output: ChildStdout) {
        let mut output = BufReader::new(output);
        while let Ok(Some(message)) = framing::read::<Message>(&mut output).await {
            let Message { id, method, params, result, error } = message;
            match (id, method) {
                (Some(id), Some(method)) => {
                    let mut answer = self.answer(&method, &params);
                    answer["jsonrpc"] = "2.0".into();
                    answer["id"] = id;
                    if self.out.send(answer).await.is_err() {
                        break;
                    }
                }
                (Some(id), None) => {
                    let open = id.as_i64().and_then(|id| self.lock().remove(&id));
                    let answer = match error {
                        Some(Refused { message }) => Err(message),
                        None => Ok(result),
                    };
                    // Who asked may be gone.
                    if let Some(open) = open {
                        let _ = open.send(answer);
                    }
                }
                (None, Some(method)) if method == "textDocument/publishDiagnostics" => self.publish(&params),
                (None, _) => {}
            }
        }
        // Nothing will be answered any more.
        self.lock().clear();
    }

    /// What the server is answered.
    fn answer(&self, method: &str, params: &Value) -> Value {
        match method {
            // It has its own defaults.
            "workspace/configuration" => {
                let asked = params["items"].as_array().map_or(0, Vec::len);
                json!({ "result": vec![Value::Null; asked] })
            }
            "workspace/workspaceFolders" => json!({ "result": folders(&self.folder_url) }),
            "client/registerCapability"
            | "client/unregisterCapability"
            | "window/workDoneProgress/create"
            | "window/showMessageRequest"
            | "workspace/diagnostic/refresh"
            | "workspace/semanticTokens/refresh"
            | "workspace/inlayHint/refresh"
            | "workspace/codeLens/refresh" => json!({ "result": null }),
            // It changes no files.
            "workspace/applyEdit" => json!({ "result": { "applied": false } }),
            _ => {
                json!({ "error": { "code": UNKNOWN_METHOD, "message": format!("`{method}` is not known here") } })
            }
        }
    }

    fn publish(&self, params: &Value) {
        let Some((url, diagnostics, version)) = published::read(params) else { return };
        let Some(path) = path_of(&url) else { return };
        self.published.send_modify(|published| {
            let count = published.get(&path).map_or(0, |earlier| earlier.count) + 1;
            published.insert(path, Published { version, count, diagnostics });
        });
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<i64, oneshot::Sender<Result<Value, String>>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A question that is open as long as somebody waits for its answer.
struct Forgotten<'a> {
    shared: &'a Shared,
    id: i64,
}

impl Drop for Forgotten<'_> {
    fn drop(&mut self) {
        self.shared.lock().remove(&self.id);
    }
}

/// The one folder of the workspace, as servers want it.
pub(super) fn folders(url: &str) -> Value {
    let name = url.rsplit('/').next().unwrap_or_default();
    json!([{ "uri": url, "name": name }])
}

async fn write(mut input: ChildStdin, mut waiting: mpsc::Receiver<Value>) -> io::Result<()> {
    while let Some(message) = waiting.recv().await {
        input.write_all(&framing::frame(&message)).await?;
        input.flush().await?;
    }
    Ok(())
}
