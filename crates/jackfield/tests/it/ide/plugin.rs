//! A plugin of an editor, on the link.

use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::stage::patiently;

/// `jackfield ide --link`, and what an editor says to it.
pub(super) struct Plugin {
    child: Child,
    input: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
    /// What it was told when the link began.
    pub(super) ready: Value,
    /// What it says to `diagnostics`.
    pub(super) diagnostics: Value,
    /// The methods that it heard of, in order.
    pub(super) heard: Vec<String>,
}

impl Plugin {
    pub(super) async fn start(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit()).kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let diagnostics = json!([]);
        let heard = Vec::new();
        let mut plugin = Self { child, input, lines, ready: Value::Null, diagnostics, heard };
        plugin.ready = plugin.hears("ready").await;
        plugin
    }

    pub(super) fn port(&self) -> String {
        self.ready["params"]["port"].to_string()
    }

    /// Waits for a message, and says what is usual to all that come before.
    pub(super) async fn hears(&mut self, method: &str) -> Value {
        loop {
            let message = patiently(method, self.next()).await;
            if message["method"] == method {
                return message;
            }
        }
    }

    /// Waits until this many CLIs are connected that have said who they are.
    pub(super) async fn hears_of_connections(&mut self, count: usize) {
        loop {
            let message = self.hears("connected").await;
            let connections = message["params"]["connections"].as_array().unwrap();
            if connections.len() == count && connections.iter().all(|one| one["process"].is_u64()) {
                return;
            }
        }
    }

    /// Says what is usual to whatever comes, until something else has happened.
    pub(super) async fn until<T>(&mut self, what: &str, happening: impl Future<Output = T>) -> T {
        let happening = async {
            let mut happening = std::pin::pin!(happening);
            loop {
                tokio::select! {
                    biased;
                    happened = &mut happening => return happened,
                    _ = self.next() => {}
                }
            }
        };
        patiently(what, happening).await
    }

    pub(super) async fn answers(&mut self, question: &Value, result: &Value) {
        self.write(&json!({ "jsonrpc": "2.0", "id": question["id"], "result": result })).await;
    }

    pub(super) async fn tells(&mut self, method: &str, params: &Value) {
        self.write(&json!({ "jsonrpc": "2.0", "method": method, "params": params })).await;
    }

    pub(super) async fn write(&mut self, message: &Value) {
        self.write_line(&message.to_string()).await;
    }

    pub(super) async fn write_line(&mut self, line: &str) {
        self.input.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    /// The editor ends.
    pub(super) async fn ends(mut self) -> Option<i32> {
        drop(self.input);
        patiently("the end", self.child.wait()).await.unwrap().code()
    }

    /// The editor ends; all that it was still told.
    pub(super) async fn says_until_its_end(self) -> Vec<Value> {
        let Self { mut lines, input, .. } = self;
        drop(input);
        let mut said = Vec::new();
        while let Some(line) = patiently("the end", lines.next_line()).await.unwrap() {
            said.push(serde_json::from_str(&line).unwrap());
        }
        said
    }

    /// Something kills the server.
    pub(super) async fn killed(mut self) {
        self.child.kill().await.unwrap();
    }

    /// The next message, whatever it is, for somebody who answers it.
    pub(super) async fn next_unanswered(&mut self) -> Value {
        let line = self.lines.next_line().await.unwrap().expect("the link has ended");
        let message: Value = serde_json::from_str(&line).unwrap();
        self.heard.push(message["method"].as_str().unwrap_or_default().to_owned());
        message
    }

    /// The next message, whatever it is; what is usual is said to it.
    pub(super) async fn next(&mut self) -> Value {
        let message = self.next_unanswered().await;
        let method = message["method"].as_str().unwrap_or_default();
        match method {
            "diagnostics" => self.answers(&message, &self.diagnostics.clone()).await,
            "tabs" => self.answers(&message, &json!([])).await,
            "document_state" | "save" => self.answers(&message, &Value::Null).await,
            _ => {}
        }
        message
    }
}
