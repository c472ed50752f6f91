//! An editor in front of `jackfield acp`, with one session.
//!
//! What it is told on the way is not its business. The one rule it keeps: what it waits for has a limit.

use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use super::super::server::{PATIENCE, Place};
use crate::program::jackfield;

pub(super) struct Editor {
    agent: Child,
    to: ChildStdin,
    from: Lines<BufReader<ChildStdout>>,
    asked: u64,
    session: Value,
}

impl Editor {
    /// Starts the agent in a place, and opens a session.
    pub(super) async fn open(place: &Place) -> Self {
        let workspace = &place.sandbox.places().workspace;
        let mut command = jackfield(["acp", "--data"]);
        command.arg(&place.data).envs(&place.environment).current_dir(workspace).stdin(Stdio::piped());
        let mut agent = Command::from(command).kill_on_drop(true).spawn().unwrap();
        let to = agent.stdin.take().unwrap();
        let from = BufReader::new(agent.stdout.take().unwrap()).lines();
        let mut editor = Self { agent, to, from, asked: 0, session: Value::Null };
        editor.call("initialize", json!({ "protocolVersion": 1, "clientCapabilities": {} })).await;
        let opened = editor.call("session/new", json!({ "cwd": workspace, "mcpServers": [] })).await;
        editor.session = opened["sessionId"].clone();
        editor
    }

    /// Says something with this beside it, and waits until it ended well.
    pub(super) async fn prompt(&mut self, text: &str, meta: &Value) {
        let text = json!([{ "type": "text", "text": text }]);
        let asked = json!({ "sessionId": self.session, "prompt": text, "_meta": meta });
        let ended = self.call("session/prompt", asked).await;
        assert_eq!(ended["stopReason"], "end_turn", "{ended}");
    }

    /// Ends what it has to say; gives what the agent said on standard error.
    pub(super) async fn hang_up(self) -> String {
        // It may still write to who no longer looks.
        let Self { mut agent, to, from: _from, .. } = self;
        drop(to);
        assert!(timeout(PATIENCE, agent.wait()).await.unwrap().unwrap().success());
        let mut said = String::new();
        agent.stderr.take().unwrap().read_to_string(&mut said).await.unwrap();
        said
    }

    async fn call(&mut self, method: &str, params: Value) -> Value {
        self.asked += 1;
        let line = json!({ "jsonrpc": "2.0", "id": self.asked, "method": method, "params": params });
        self.to.write_all(format!("{line}\n").as_bytes()).await.unwrap();
        loop {
            let line = timeout(PATIENCE, self.from.next_line()).await.unwrap().unwrap().expect("an answer");
            let said: Value = serde_json::from_str(&line).unwrap();
            if said["id"] == self.asked && said.get("method").is_none() {
                break said["result"].clone();
            }
        }
    }
}
