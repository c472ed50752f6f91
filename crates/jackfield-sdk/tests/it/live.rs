//! A real CLI that is talked to line by line, for the tests that need its files and processes rather than
//! our events.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use jackfield_testkit::api::{Reply, Scenario, ScriptedApi};
use jackfield_testkit::cli::{Cli, STREAM_FLAGS, Sandbox};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

pub(crate) const TIME_LIMIT: Duration = Duration::from_mins(1);

/// A private place with a scripted API, in which CLIs are started one after the other.
pub(crate) struct Place {
    pub(crate) cli: Cli,
    pub(crate) sandbox: Sandbox,
    api: ScriptedApi,
}

/// A process that speaks the CLI's protocol.
pub(crate) struct Live {
    pub(crate) child: Child,
    stdin: Option<ChildStdin>,
    stdout: Lines<BufReader<ChildStdout>>,
}

impl Place {
    pub(crate) async fn new(version: &str, turns: Vec<Reply>) -> Self {
        let cli = Cli::locate(version).unwrap_or_else(|error| panic!("{error}"));
        let sandbox = Sandbox::new().unwrap();
        let api = ScriptedApi::start(Scenario { turns }, sandbox.places().clone()).await.unwrap();
        Self { cli, sandbox, api }
    }

    pub(crate) fn config(&self) -> PathBuf {
        self.sandbox.places().home.join(".claude")
    }

    /// Starts the CLI; `before` are the words of a program that starts it in turn.
    pub(crate) fn start(&self, before: &[OsString], flags: &[&str], variables: &[(&str, &str)]) -> Live {
        let mut words = before.to_vec();
        words.push(self.cli.program.clone().into());
        words.extend(STREAM_FLAGS.iter().chain(flags).map(OsString::from));
        let mut environment: BTreeMap<String, String> = self.sandbox.environment(&self.api.url());
        // As root the CLI bypasses permissions only in a sandbox.
        environment.insert("IS_SANDBOX".to_owned(), "1".to_owned());
        environment.extend(variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        let mut child = Command::new(&words[0])
            .args(&words[1..])
            .env_clear()
            .envs(environment)
            .current_dir(&self.sandbox.places().workspace)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().unwrap()).lines();
        Live { child, stdin, stdout }
    }
}

impl Live {
    pub(crate) async fn prompt(&mut self, text: &str) {
        self.send(&json!({"type": "user", "message": {"role": "user", "content": text}})).await;
    }

    /// A control request and its answer.
    pub(crate) async fn control(&mut self, request: Value) -> Value {
        self.send(&json!({"type": "control_request", "request_id": "one", "request": request})).await;
        self.until("control_response").await
    }

    pub(crate) async fn send(&mut self, line: &Value) {
        let stdin = self.stdin.as_mut().expect("standard input is open");
        stdin.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    /// The next message of this type.
    pub(crate) async fn until(&mut self, kind: &str) -> Value {
        let found = async {
            while let Some(line) = self.stdout.next_line().await.unwrap() {
                let message: Value = serde_json::from_str(&line).unwrap();
                if message["type"] == kind {
                    return message;
                }
            }
            panic!("the output ended before a {kind} came");
        };
        timeout(TIME_LIMIT, found).await.unwrap_or_else(|_| panic!("no {kind} came"))
    }

    /// Closes standard input and waits for the end.
    pub(crate) async fn close(mut self) -> ExitStatus {
        self.stdin = None;
        self.ended().await
    }

    /// Waits for the end, reading whatever is still said.
    pub(crate) async fn ended(&mut self) -> ExitStatus {
        let ended = async {
            while let Ok(Some(_)) = self.stdout.next_line().await {}
            self.child.wait().await.unwrap()
        };
        timeout(TIME_LIMIT, ended).await.expect("the process ends")
    }
}
