//! A foreign client under remote control.

use std::collections::{BTreeMap, VecDeque};
use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout};

use super::stage::{Stage, patiently};

/// The client's process, and what it has told so far.
pub(super) struct Client {
    child: Child,
    stdin: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
    calls: u64,
    replies: BTreeMap<u64, Result<Value, Value>>,
    asked: VecDeque<Asked>,
    /// All updates of sessions.
    pub(super) updates: Vec<Value>,
}

/// Something that the agent wants to know.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    number: u64,
    pub(super) method: String,
    pub(super) params: Value,
}

/// A call that is under way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Call(u64);

impl Client {
    /// Starts the client, which starts the agent.
    pub(super) fn start(stage: &Stage) -> Self {
        let mut command = stage.client_command();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(stage.errors()).kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let stdin = child.stdin.take().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self {
            child,
            stdin,
            lines,
            calls: 0,
            replies: BTreeMap::new(),
            asked: VecDeque::new(),
            updates: Vec::new(),
        }
    }

    /// Makes a call and does not wait for its answer.
    pub(super) async fn begin(&mut self, method: &str, params: Value) -> Call {
        self.calls += 1;
        self.say(&json!({ "call": self.calls, "method": method, "params": params })).await;
        Call(self.calls)
    }

    /// Waits for the answer of a call.
    pub(super) async fn end(&mut self, call: Call) -> Result<Value, Value> {
        loop {
            if let Some(reply) = self.replies.remove(&call.0) {
                return reply;
            }
            self.hear("the answer of a call").await;
        }
    }

    /// Makes a call and waits for its answer.
    pub(super) async fn call(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        let call = self.begin(method, params).await;
        self.end(call).await
    }

    /// Tells the agent something.
    pub(super) async fn notify(&mut self, method: &str, params: Value) {
        self.say(&json!({ "notify": method, "params": params })).await;
    }

    /// Waits for a question of the agent.
    pub(super) async fn asked(&mut self) -> Asked {
        loop {
            if let Some(asked) = self.asked.pop_front() {
                return asked;
            }
            self.hear("a question of the agent").await;
        }
    }

    /// Answers a question of the agent.
    pub(super) async fn answer(&mut self, asked: &Asked, result: Value) {
        self.say(&json!({ "answer": asked.number, "result": result })).await;
    }

    /// Waits for an update behind the first so many that is as wanted; gives its place.
    pub(super) async fn update(&mut self, behind: usize, wanted: impl Fn(&Value) -> bool) -> usize {
        let mut next = behind;
        loop {
            while next < self.updates.len() {
                if wanted(&self.updates[next]["update"]) {
                    return next;
                }
                next += 1;
            }
            self.hear("a certain update").await;
        }
    }

    /// Ends the client, and waits until the agent is gone too.
    pub(super) async fn close(self) {
        let Self { mut child, stdin, mut lines, .. } = self;
        drop(stdin);
        patiently("the end of the client", async {
            while lines.next_line().await.unwrap().is_some() {}
            child.wait().await.unwrap();
        })
        .await;
    }

    async fn say(&mut self, line: &Value) {
        self.stdin.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    async fn hear(&mut self, what: &str) {
        let line = patiently(what, self.lines.next_line()).await.unwrap();
        let line = line.unwrap_or_else(|| panic!("the client ended before {what}"));
        let mut line: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        if let Some(number) = line["reply"].as_u64() {
            let result =
                line.get_mut("error").map(Value::take).map_or_else(|| Ok(line["result"].take()), Err);
            assert!(self.replies.insert(number, result).is_none(), "two answers of one call");
        } else if let Some(number) = line["asked"].as_u64() {
            let method = line["method"].as_str().unwrap().to_owned();
            self.asked.push_back(Asked { number, method, params: line["params"].take() });
        } else if line["heard"] == "session/update" {
            self.updates.push(line["params"].take());
        } else {
            assert!(line["heard"].is_string(), "the client says {line}");
        }
    }
}
