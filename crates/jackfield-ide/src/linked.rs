//! The other side: an editor of the user's that serves the interactive CLI, asked by a session of ours.
//!
//! It finds the editor as the CLI does, by a lock file, whoever wrote it: a plugin of ours, or the extension of another
//! editor. It shows nothing in the editor. The one rule it keeps: an editor that is gone or silent is one that is not
//! there.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use futures_util::future::BoxFuture;
use futures_util::{SinkExt as _, StreamExt as _};
use jackfield_workbench::{Buffers, Diagnostic, FileDiagnostics, Settled, file_of};
use rustix::process::{Pid, geteuid, test_kill_process};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use crate::gate::TOKEN;
use crate::workspace::url;

/// How large a lock file may be.
const LONGEST: u64 = 1024 * 1024;
/// How large a message may be.
const MESSAGE: usize = 64 * 1024 * 1024;
/// The version of the protocol; all editors know it.
const VERSION: &str = "2025-06-18";

/// The folder with the lock files in a configuration folder of the CLI.
pub fn lock_folder(config: &Path) -> PathBuf {
    config.join("ide")
}

/// An editor that has a folder open.
#[derive(Debug)]
pub struct LinkedEditor {
    lock_folder: PathBuf,
    folder: PathBuf,
    line: tokio::sync::Mutex<Option<Line>>,
}

/// What stands in a lock file, as far as it is needed.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Announced {
    pid: Option<u32>,
    #[serde(default)]
    workspace_folders: Vec<PathBuf>,
    transport: Option<String>,
    auth_token: String,
}

/// Where an editor is reached.
struct Address {
    port: u16,
    token: String,
}

/// A connection that has shaken hands.
#[derive(Debug)]
struct Line {
    socket: WebSocketStream<TcpStream>,
    calls: u64,
}

impl LinkedEditor {
    /// The editor that has this folder open, or one above it; of several, the one whose own folder is nearest.
    pub fn find(lock_folder: &Path, folder: &Path) -> Option<Self> {
        let folder = folder.canonicalize().ok()?;
        address(lock_folder, &folder)?;
        Some(Self { lock_folder: lock_folder.to_owned(), folder, line: tokio::sync::Mutex::default() })
    }

    /// Calls a tool of the editor's, and reads the first text of its answer.
    async fn call(&self, tool: &str, arguments: Value) -> Result<Value, String> {
        let mut place = self.line.lock().await;
        let mut line = if let Some(line) = place.take() {
            line
        } else {
            // It may have been started anew since, on another port.
            let address = address(&self.lock_folder, &self.folder).ok_or("the editor is gone")?;
            Line::connect(&address).await?
        };
        let result = line.request("tools/call", &json!({ "name": tool, "arguments": arguments })).await?;
        *place = Some(line);
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        if result["isError"] == true {
            return Err(text.to_owned());
        }
        serde_json::from_str(text).map_err(|error| format!("the editor's answer cannot be read: {error}"))
    }
}

impl Buffers for LinkedEditor {
    fn settle(&self, path: PathBuf) -> BoxFuture<'_, Result<Settled, String>> {
        Box::pin(async move {
            let file = json!({ "filePath": path });
            let state = self.call("checkDocumentDirty", file.clone()).await?;
            // A file that is not open is as it lies on the disk.
            if state["isDirty"] != true {
                return Ok(Settled::Clean);
            }
            let saved = self.call("saveDocument", file).await?;
            let is_saved = saved["saved"].as_bool().or_else(|| saved["success"].as_bool());
            if is_saved == Some(true) {
                return Ok(Settled::Saved);
            }
            let reason = saved["message"].as_str().unwrap_or("the editor does not say why").to_owned();
            Ok(Settled::Unsaved { reason })
        })
    }

    fn diagnostics(&self, path: Option<PathBuf>) -> BoxFuture<'_, Result<Vec<FileDiagnostics>, String>> {
        Box::pin(async move {
            let arguments = path.as_deref().map_or_else(|| json!({}), |path| json!({ "uri": url(path) }));
            let files = self.call("getDiagnostics", arguments).await?;
            let file = |file: &Value| {
                let path = file_of(file["uri"].as_str()?);
                let all = file["diagnostics"].as_array()?;
                // One that is written otherwise does not hide the others.
                let read = |one: &Value| Diagnostic::deserialize(one).ok();
                Some(FileDiagnostics { path, diagnostics: all.iter().filter_map(read).collect() })
            };
            Ok(files.as_array().map(Vec::as_slice).unwrap_or_default().iter().filter_map(file).collect())
        })
    }
}

impl Line {
    async fn connect(address: &Address) -> Result<Self, String> {
        let refused = |error: &dyn std::fmt::Display| format!("the editor cannot be reached: {error}");
        let stream =
            TcpStream::connect(("127.0.0.1", address.port)).await.map_err(|error| refused(&error))?;
        let request = format!("ws://127.0.0.1:{}/", address.port).into_client_request();
        let mut request = request.map_err(|error| refused(&error))?;
        let token = HeaderValue::from_str(&address.token).map_err(|error| refused(&error))?;
        request.headers_mut().insert(TOKEN, token);
        request.headers_mut().insert("sec-websocket-protocol", HeaderValue::from_static("mcp"));
        let config = WebSocketConfig::default().max_message_size(Some(MESSAGE)).max_frame_size(Some(MESSAGE));
        let shaken = client_async_with_config(request, stream, Some(config)).await;
        let (socket, _) = shaken.map_err(|error| refused(&error))?;
        let mut line = Self { socket, calls: 0 };
        let about = json!({
            "protocolVersion": VERSION,
            "capabilities": {},
            "clientInfo": { "name": "jackfield", "version": env!("CARGO_PKG_VERSION") },
        });
        line.request("initialize", &about).await?;
        line.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await?;
        Ok(line)
    }

    async fn request(&mut self, method: &str, params: &Value) -> Result<Value, String> {
        self.calls += 1;
        let id = self.calls;
        self.say(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await?;
        while let Some(message) = self.socket.next().await {
            let Message::Text(text) = message.map_err(|error| error.to_string())? else { continue };
            let Ok(mut answer) = serde_json::from_str::<Value>(&text) else { continue };
            // Notices, and answers that somebody else did not wait for.
            if answer["id"] != id || answer.get("method").is_some() {
                continue;
            }
            if let Some(error) = answer["error"]["message"].as_str() {
                return Err(error.to_owned());
            }
            return Ok(answer["result"].take());
        }
        Err("the editor has hung up".to_owned())
    }

    async fn say(&mut self, message: &Value) -> Result<(), String> {
        let text = Message::Text(message.to_string().into());
        self.socket.send(text).await.map_err(|error| error.to_string())
    }
}

/// Where the editor is reached that has a folder open.
fn address(lock_folder: &Path, folder: &Path) -> Option<Address> {
    let found = fs::read_dir(lock_folder).ok()?.filter_map(|entry| {
        let path = entry.ok()?.path();
        let port: u16 = path.file_name()?.to_str()?.strip_suffix(".lock")?.parse().ok()?;
        let announced = announced(&path)?;
        let served = announced.workspace_folders.iter().filter(|served| folder.starts_with(served));
        let nearest = served.map(|served| served.components().count()).max()?;
        Some((nearest, Address { port, token: announced.auth_token }))
    });
    found.max_by_key(|(nearest, _)| *nearest).map(|(_, address)| address)
}

/// What a lock file says of an editor that lives; only a file of this user's is believed.
fn announced(path: &Path) -> Option<Announced> {
    let metadata = fs::symlink_metadata(path).ok()?;
    if !metadata.is_file() || metadata.len() > LONGEST || metadata.uid() != geteuid().as_raw() {
        return None;
    }
    let announced: Announced = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
    let pid = announced.pid.and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw)?;
    let lives = test_kill_process(pid) != Err(rustix::io::Errno::SRCH);
    // This process has no buffers to ask for.
    let is_other = announced.pid != Some(std::process::id());
    (lives && is_other && announced.transport.as_deref() == Some("ws")).then_some(announced)
}
