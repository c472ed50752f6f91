//! A server with a fake editor, and a client that speaks as the CLI does.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use jackfield_ide::{Ide, Options, serve};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::fake::{Asked, FakeEditor};

/// What hangs must not hang the tests.
pub(crate) const PATIENCE: Duration = Duration::from_mins(2);

/// A server, its editor and its folders.
pub(crate) struct Scene {
    _home: TempDir,
    pub(crate) workspace: PathBuf,
    pub(crate) locks: PathBuf,
    pub(crate) editor: Arc<FakeEditor>,
    pub(crate) asked: mpsc::Receiver<Asked>,
    pub(crate) ide: Ide,
}

impl Scene {
    pub(crate) async fn set() -> Self {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().canonicalize().unwrap();
        let (workspace, locks) = (root.join("ws"), root.join("config/ide"));
        std::fs::create_dir(&workspace).unwrap();
        std::fs::write(workspace.join("a.txt"), "alpha\nbeta\ngamma\n").unwrap();
        let (editor, asked) = FakeEditor::new();
        let options = Options {
            kernel: None,
            name: "Fake".to_owned(),
            workspace: vec![workspace.clone()],
            lock_folders: vec![locks.clone()],
            port: 0,
        };
        let ide = serve(options, Arc::<FakeEditor>::clone(&editor)).await.unwrap();
        Self { _home: home, workspace, locks, editor, asked, ide }
    }

    /// Connects with the CLI's headers and these changes to them; the empty value takes a header away.
    pub(crate) async fn try_to_connect(&self, changes: &[(&'static str, &str)]) -> Result<Client, Error> {
        connect_to(self.ide.port(), &self.locks, changes).await
    }

    /// A client that has shaken hands and asked for the tools.
    pub(crate) async fn connect(&self) -> Client {
        let mut client = self.try_to_connect(&[]).await.unwrap();
        client.shake_hands().await;
        client
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.workspace.join(name).to_str().unwrap().to_owned()
    }

    pub(crate) async fn next_asked(&mut self) -> Asked {
        tokio::time::timeout(PATIENCE, self.asked.recv()).await.unwrap().unwrap()
    }
}

/// The token in the lock file.
fn token(port: u16, locks: &Path) -> String {
    let text = std::fs::read(locks.join(format!("{port}.lock"))).unwrap();
    let lock: Value = serde_json::from_slice(&text).unwrap();
    lock["authToken"].as_str().unwrap().to_owned()
}

/// Connects to a server by its lock file, with the CLI's headers and these changes to them; the empty value takes a
/// header away.
pub(crate) async fn connect_to(
    port: u16,
    locks: &Path,
    changes: &[(&'static str, &str)],
) -> Result<Client, Error> {
    let mut request = format!("ws://127.0.0.1:{port}/").into_client_request().unwrap();
    let headers = request.headers_mut();
    headers.insert("sec-websocket-protocol", HeaderValue::from_static("mcp"));
    headers.insert("user-agent", HeaderValue::from_static("claude-code/2.1.325 (cli)"));
    headers.insert(
        "sec-websocket-extensions",
        HeaderValue::from_static("permessage-deflate; client_max_window_bits"),
    );
    headers.insert("x-claude-code-ide-authorization", HeaderValue::from_str(&token(port, locks)).unwrap());
    for (name, value) in changes {
        if value.is_empty() {
            headers.remove(*name);
        } else {
            headers.insert(*name, HeaderValue::from_str(value).unwrap());
        }
    }
    let stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let (socket, response) = tokio_tungstenite::client_async(request, stream).await?;
    assert_eq!(response.headers().get("sec-websocket-protocol").unwrap(), "mcp");
    Ok(Client { socket, ids: 0 })
}

pub(crate) struct Client {
    socket: WebSocketStream<TcpStream>,
    ids: u64,
}

impl Client {
    pub(crate) async fn shake_hands(&mut self) {
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": { "roots": {}, "elicitation": {} },
            "clientInfo": { "name": "claude-code", "title": "Claude Code", "version": "2.1.325" },
        });
        let answer = self.ask("initialize", params).await;
        assert_eq!(answer["result"]["protocolVersion"], json!("2025-11-25"));
        self.notify("notifications/initialized", None).await;
        self.notify("ide_connected", Some(json!({ "pid": 4711 }))).await;
        let tools = self.ask("tools/list", Value::Null).await;
        assert_eq!(tools["result"]["tools"].as_array().unwrap().len(), 12);
    }

    /// Asks, and gives the answer.
    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params).await;
        self.answer(id).await
    }

    /// Calls a tool, and gives the texts of the answer.
    pub(crate) async fn call(&mut self, tool: &str, arguments: Value) -> Vec<String> {
        let id = self.begin(tool, arguments).await;
        self.texts(id).await
    }

    /// Calls a tool, and gives the JSON in the only text of the answer.
    pub(crate) async fn look(&mut self, tool: &str, arguments: Value) -> Value {
        let texts = self.call(tool, arguments).await;
        assert_eq!(texts.len(), 1);
        serde_json::from_str(&texts[0]).unwrap_or_else(|_| panic!("{texts:?}"))
    }

    pub(crate) async fn begin(&mut self, tool: &str, arguments: Value) -> u64 {
        let token = self.ids + 1;
        let params = json!({ "name": tool, "arguments": arguments, "_meta": { "progressToken": token } });
        self.send("tools/call", params).await
    }

    pub(crate) async fn texts(&mut self, id: u64) -> Vec<String> {
        let answer = self.answer(id).await;
        let content = answer["result"]["content"].as_array().unwrap_or_else(|| panic!("{answer}"));
        content.iter().map(|item| item["text"].as_str().unwrap().to_owned()).collect()
    }

    async fn send(&mut self, method: &str, params: Value) -> u64 {
        self.ids += 1;
        let mut message = json!({ "jsonrpc": "2.0", "id": self.ids, "method": method });
        if !params.is_null() {
            message["params"] = params;
        }
        self.write(Message::text(message.to_string())).await;
        self.ids
    }

    pub(crate) async fn notify(&mut self, method: &str, params: Option<Value>) {
        let mut message = json!({ "jsonrpc": "2.0", "method": method });
        if let Some(params) = params {
            message["params"] = params;
        }
        self.write(Message::text(message.to_string())).await;
    }

    pub(crate) async fn answer(&mut self, id: u64) -> Value {
        loop {
            let message = self.next().await.expect("the connection has ended");
            if message["id"] == json!(id) {
                return message;
            }
        }
    }

    pub(crate) async fn write(&mut self, message: Message) {
        self.socket.send(message).await.unwrap();
    }

    /// The next message; `None` at the end of the connection.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        loop {
            let frame = tokio::time::timeout(PATIENCE, self.socket.next()).await.expect("nothing comes");
            match frame {
                Some(Ok(Message::Text(text))) => return Some(serde_json::from_str(&text).unwrap()),
                Some(Ok(Message::Close(_)) | Err(_)) | None => return None,
                Some(Ok(_)) => {}
            }
        }
    }

    /// What the next notification of this kind says.
    pub(crate) async fn next_of(&mut self, method: &str) -> Value {
        loop {
            let message = self.next().await.expect("the connection has ended");
            if message["method"] == method {
                return message["params"].clone();
            }
        }
    }

    pub(crate) async fn next_frame(&mut self) -> Message {
        tokio::time::timeout(PATIENCE, self.socket.next()).await.unwrap().unwrap().unwrap()
    }
}
