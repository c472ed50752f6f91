//! An editor: the other end of the agent's pipes.
//!
//! It checks every frame against the schema of the protocol. The one rule it keeps: what it waits for has a limit, and
//! what it saw meanwhile is told when the limit passes.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, PipeReader, PipeWriter, Write as _};
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use agent_client_protocol_schema::v1 as schema;
use jsonschema::Validator;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::timeout;

/// Nothing here waits for its time; what hangs must not hang the tests.
pub(crate) const PATIENCE: Duration = Duration::from_mins(2);

pub(crate) struct Editor {
    to: Option<PipeWriter>,
    lines: mpsc::Receiver<String>,
    next: i64,
    /// Requests of ours, by their names.
    asked: HashMap<i64, String>,
    /// Everything that came, in order.
    pub(crate) seen: Vec<Value>,
}

impl Editor {
    pub(crate) fn new(to: PipeWriter, from: PipeReader) -> Self {
        // Few, so that who does not look here does not read either.
        let (told, lines) = mpsc::channel(4);
        thread::spawn(move || {
            for line in BufReader::new(from).lines() {
                let Ok(line) = line else { return };
                if told.blocking_send(line).is_err() {
                    return;
                }
            }
        });
        Self { to: Some(to), lines, next: 100, asked: HashMap::new(), seen: Vec::new() }
    }

    /// Writes a line as it is.
    pub(crate) fn write(&mut self, line: &str) {
        let to = self.to.as_mut().expect("an open pipe");
        to.write_all(line.as_bytes()).and_then(|()| to.write_all(b"\n")).unwrap();
    }

    /// Ends what it has to say.
    pub(crate) fn hang_up(&mut self) {
        self.to = None;
    }

    /// Asks something; the answer comes later.
    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> i64 {
        self.next += 1;
        self.asked.insert(self.next, method.to_owned());
        let message = json!({ "jsonrpc": "2.0", "id": self.next, "method": method, "params": params });
        self.write(&message.to_string());
        self.next
    }

    pub(crate) fn notify(&mut self, method: &str, params: &Value) {
        self.write(&json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string());
    }

    /// Answers a request of the agent.
    pub(crate) fn answer(&mut self, request: &Value, result: &Value) {
        self.write(&json!({ "jsonrpc": "2.0", "id": request["id"], "result": result }).to_string());
    }

    /// Chooses an option of a permission request.
    pub(crate) fn choose(&mut self, request: &Value, option: &str) {
        self.answer(request, &json!({ "outcome": { "outcome": "selected", "optionId": option } }));
    }

    /// The next message; `None` at the end.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        let Ok(line) = timeout(PATIENCE, self.lines.recv()).await else {
            let last: Vec<_> = self.seen.iter().rev().take(8).collect();
            panic!("nothing came any more behind {last:#?}");
        };
        let line = line?;
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        self.check(&message);
        self.seen.push(message.clone());
        Some(message)
    }

    /// Waits for a message of this kind.
    pub(crate) async fn until(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let message = self.next().await.expect("the agent is still there");
            if wanted(&message) {
                return message;
            }
        }
    }

    /// Waits for a request of the agent.
    pub(crate) async fn asked_for(&mut self, method: &str) -> Value {
        self.until(|message| message["method"] == method && !message["id"].is_null()).await
    }

    /// Waits for an update of this kind.
    pub(crate) async fn update(&mut self, kind: &str) -> Value {
        let told = self.until(|message| message["params"]["update"]["sessionUpdate"] == kind).await;
        told["params"]["update"].clone()
    }

    /// Waits for the answer to a request of ours.
    pub(crate) async fn answered(&mut self, id: i64) -> Result<Value, Value> {
        let message = self.until(|message| message["id"] == id && message.get("method").is_none()).await;
        match message.get("error") {
            Some(error) => Err(error.clone()),
            None => Ok(message["result"].clone()),
        }
    }

    /// Asks, and waits for the answer.
    pub(crate) async fn call(&mut self, method: &str, params: &Value) -> Result<Value, Value> {
        let id = self.ask(method, params);
        self.answered(id).await
    }

    /// Says hello, with everything that an editor can have.
    pub(crate) async fn hello(&mut self) -> Value {
        let capabilities = json!({
            "fs": { "readTextFile": true, "writeTextFile": true }, "terminal": true,
            "session": { "compaction": {}, "notices": {} }, "elicitation": { "form": {} },
        });
        self.hello_with(&capabilities).await
    }

    pub(crate) async fn hello_with(&mut self, capabilities: &Value) -> Value {
        let params = json!({ "protocolVersion": 1, "clientCapabilities": capabilities });
        self.call("initialize", &params).await.unwrap()
    }

    /// Opens a session.
    pub(crate) async fn open(&mut self, cwd: &str) -> String {
        let opened = self.call("session/new", &json!({ "cwd": cwd, "mcpServers": [] })).await.unwrap();
        opened["sessionId"].as_str().unwrap().to_owned()
    }

    /// Says something.
    pub(crate) fn prompt(&mut self, session: &str, text: &str) -> i64 {
        let prompt = json!([{ "type": "text", "text": text }]);
        self.ask("session/prompt", &json!({ "sessionId": session, "prompt": prompt }))
    }

    /// Says something and waits for its end.
    pub(crate) async fn turn(&mut self, session: &str, text: &str) -> Result<Value, Value> {
        let id = self.prompt(session, text);
        self.answered(id).await
    }

    pub(crate) fn cancel(&mut self, session: &str) {
        self.notify("session/cancel", &json!({ "sessionId": session }));
    }

    /// All updates of a kind so far.
    pub(crate) fn updates(&self, kind: &str) -> Vec<Value> {
        let updates = self.seen.iter().map(|message| &message["params"]["update"]);
        updates.filter(|update| update["sessionUpdate"] == kind).cloned().collect()
    }

    /// The texts of all chunks of a kind, joined.
    pub(crate) fn text(&self, kind: &str) -> String {
        let chunks = self.updates(kind);
        chunks.iter().filter_map(|chunk| chunk["content"]["text"].as_str()).collect()
    }

    fn check(&self, message: &Value) {
        assert_eq!(message["jsonrpc"], "2.0", "{message}");
        let params = &message["params"];
        let (validator, value) = match message["method"].as_str() {
            Some("session/update") => (&schemas().update, params),
            Some("session/request_permission") => (&schemas().permission, params),
            Some("elicitation/create") => (&schemas().elicitation, params),
            Some("fs/read_text_file") => (&schemas().file, params),
            Some("$/cancel_request") => (&schemas().cancel, params),
            Some(other) => panic!("the agent has no method {other}"),
            None if message.get("error").is_some() => (&schemas().error, &message["error"]),
            None => {
                let asked = message["id"].as_i64().and_then(|id| self.asked.get(&id));
                let method = asked.unwrap_or_else(|| panic!("an answer to nothing: {message}"));
                (schemas().results.get(method.as_str()).expect("a known method"), &message["result"])
            }
        };
        if let Err(error) = validator.validate(value) {
            panic!("{error}: {message}");
        }
    }
}

struct Schemas {
    update: Validator,
    permission: Validator,
    elicitation: Validator,
    cancel: Validator,
    file: Validator,
    error: Validator,
    results: HashMap<&'static str, Validator>,
}

fn schemas() -> &'static Schemas {
    static SCHEMAS: OnceLock<Schemas> = OnceLock::new();
    SCHEMAS.get_or_init(|| Schemas {
        update: update_schema(),
        permission: of::<schema::RequestPermissionRequest>(),
        elicitation: of::<schema::CreateElicitationRequest>(),
        cancel: of::<schema::CancelRequestNotification>(),
        file: of::<schema::ReadTextFileRequest>(),
        error: of::<schema::Error>(),
        results: HashMap::from([
            ("initialize", of::<schema::InitializeResponse>()),
            ("authenticate", of::<schema::AuthenticateResponse>()),
            ("session/new", of::<schema::NewSessionResponse>()),
            ("session/load", of::<schema::LoadSessionResponse>()),
            ("session/resume", of::<schema::ResumeSessionResponse>()),
            ("session/fork", of::<schema::ForkSessionResponse>()),
            ("session/list", of::<schema::ListSessionsResponse>()),
            ("session/delete", of::<schema::DeleteSessionResponse>()),
            ("session/close", of::<schema::CloseSessionResponse>()),
            ("session/prompt", of::<schema::PromptResponse>()),
            ("session/set_mode", of::<schema::SetSessionModeResponse>()),
            ("session/set_config_option", of::<schema::SetSessionConfigOptionResponse>()),
        ]),
    })
}

/// The schema of an update.
pub(crate) fn update_schema() -> Validator {
    of::<schema::SessionNotification>()
}

fn of<T: schemars::JsonSchema>() -> Validator {
    let schema = serde_json::to_value(schemars::schema_for!(T)).unwrap();
    jsonschema::validator_for(&schema).unwrap()
}
