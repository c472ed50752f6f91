//! Playing a scenario with a client and an agent.

use std::time::Duration;

use jackfield_testkit::api;
use jackfield_testkit::matching::contains;
use jackfield_testkit::processes;
use rustix::process::Signal;
use serde_json::{Value, json};

use super::client::{Asked, Call, Client};
use super::normal::first_choice;
use super::record::Record;
use super::scenario::{Scenario, Step, folder};
use super::stage::{Agent, Driver, Stage, node, patiently};

/// How often one looks for what nobody tells.
const GLANCE: Duration = Duration::from_millis(20);

/// Plays a scenario from beginning to end; gives every line that passed between client and agent.
pub(super) async fn play(name: &str, agent: Agent, driver: Driver) -> (Record, Stage) {
    let scenario = Scenario::load(name);
    let model = api::Scenario { turns: scenario.turns.clone() };
    let mut stage = Stage::set(agent, model).await.by(driver);
    stage.additions = scenario.environment.clone();
    for (path, text) in &scenario.files {
        stage.sandbox.write(path, &stage.sandbox.places().fill(text)).unwrap();
    }
    for (path, text) in &scenario.home {
        let file = stage.sandbox.places().home.join(".claude").join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
    let mut actor = Actor::enter(&stage, &scenario).await;
    actor.session = Some(actor.open("session/new").await);
    for step in &scenario.client {
        actor.act(step).await;
    }
    actor.client.close().await;
    nothing_is_left(&stage).await;
    (stage.record(), stage)
}

/// Waits until no process works in the folder any more.
pub(super) async fn nothing_is_left(stage: &Stage) {
    patiently("nothing is left", async {
        while !stage.alive().is_empty() {
            tokio::time::sleep(GLANCE).await;
        }
    })
    .await;
}

/// A client in the middle of a scenario.
struct Actor<'a> {
    stage: &'a Stage,
    scenario: &'a Scenario,
    client: Client,
    session: Option<Value>,
    prompt: Option<Call>,
    open: Option<Asked>,
    /// How many updates were waited for.
    seen: usize,
}

impl<'a> Actor<'a> {
    async fn enter(stage: &'a Stage, scenario: &'a Scenario) -> Self {
        let mut client = Client::start(stage);
        greet(&mut client, scenario).await;
        Self { stage, scenario, client, session: None, prompt: None, open: None, seen: 0 }
    }

    /// Opens a session, new or known; gives its id.
    async fn open(&mut self, method: &str) -> Value {
        let mut params = json!({ "cwd": self.stage.workspace(), "mcpServers": self.servers() });
        if let Some(known) = &self.session {
            params["sessionId"] = known.clone();
        }
        let opened = self.client.call(method, params).await;
        let opened = opened.unwrap_or_else(|error| panic!("{}: {method}: {error}", self.scenario.name));
        opened.get("sessionId").or(self.session.as_ref()).unwrap().clone()
    }

    fn servers(&self) -> Value {
        let script = folder().join("mcp.mjs");
        let text = json!(self.scenario.mcp_servers).to_string();
        let text = text.replace("$node", node().to_str().unwrap()).replace("$mcp", script.to_str().unwrap());
        serde_json::from_str(&text).unwrap()
    }

    async fn act(&mut self, step: &Step) {
        match step {
            Step::Prompt(content) => {
                let content = match content {
                    Value::String(text) => json!([{ "type": "text", "text": text }]),
                    blocks => self.filled(blocks),
                };
                let params = json!({ "sessionId": self.session, "prompt": content });
                self.prompt = Some(self.client.begin("session/prompt", params).await);
            }
            Step::Stop(_) => {
                let prompt = self.prompt.take().expect("a prompt to wait for");
                // An error is an end too; what it was is in the record.
                let _ = self.client.end(prompt).await;
            }
            Step::Answer(kind) => {
                let asked = self.client.asked().await;
                self.choose(&asked, kind).await;
            }
            Step::Asked(_) => self.open = Some(self.client.asked().await),
            Step::Late(kind) => {
                let asked = self.open.take().expect("a question that is open");
                self.choose(&asked, kind).await;
            }
            Step::Form(what) => {
                let asked = self.client.asked().await;
                assert_eq!(asked.method, "elicitation/create", "{}", asked.params);
                let answer = match what.as_str() {
                    "first" => json!({ "action": "accept", "content": first_choices(&asked.params) }),
                    action => json!({ "action": action }),
                };
                self.client.answer(&asked, answer).await;
            }
            Step::Cancel(times) => {
                for _ in 0..*times {
                    self.client.notify("session/cancel", json!({ "sessionId": self.session })).await;
                }
            }
            Step::Gate(name) => patiently(name, self.stage.api.gates().reached(name)).await,
            Step::Release(name) => self.stage.api.gates().release(name),
            Step::Update(wanted) => {
                let wanted = self.filled(wanted);
                self.seen = self.client.update(self.seen, |update| contains(update, &wanted)).await + 1;
            }
            Step::Call(method, params) => {
                let params = self.filled(params);
                let _ = self.client.call(method, params).await;
            }
            Step::Configure(option, value) => self.configure(option, value).await,
            Step::Reopen(method) => {
                let next = Client::start(self.stage);
                // A session has one owner: the first agent is gone before the second one is spoken to.
                std::mem::replace(&mut self.client, next).close().await;
                greet(&mut self.client, self.scenario).await;
                (self.prompt, self.open, self.seen) = (None, None, 0);
                self.open(method).await;
            }
            Step::Write(path, text) => self.stage.sandbox.write(path, text).unwrap(),
            Step::File(path) => {
                let path = self.stage.workspace().join(path);
                patiently("a file", async {
                    while !path.exists() {
                        tokio::time::sleep(GLANCE).await;
                    }
                })
                .await;
            }
            Step::Kill(_) => {
                for id in self.stage.clis() {
                    processes::signal(id, Signal::KILL);
                }
            }
        }
    }

    async fn choose(&mut self, asked: &Asked, kind: &str) {
        assert_eq!(asked.method, "session/request_permission", "{}", asked.params);
        let options = asked.params["options"].as_array().unwrap();
        let outcome = if kind == "cancelled" {
            json!({ "outcome": "cancelled" })
        } else {
            let chosen = options.iter().find(|option| option["kind"] == kind);
            let chosen = chosen.unwrap_or_else(|| panic!("{}: no {kind}: {options:?}", self.scenario.name));
            json!({ "outcome": "selected", "optionId": chosen["optionId"] })
        };
        self.client.answer(asked, json!({ "outcome": outcome })).await;
    }

    /// The values of an option are the agent's own words; a scenario names a part of one. Some become known only after
    /// the session has begun.
    async fn configure(&mut self, option: &str, value: &str) {
        let offered =
            || self.stage.record().config_options().and_then(|offered| choice(&offered, option, value));
        let chosen = patiently("a value to choose", async {
            loop {
                if let Some(chosen) = offered() {
                    break chosen;
                }
                tokio::time::sleep(GLANCE).await;
            }
        })
        .await;
        let params = json!({ "sessionId": self.session, "configId": chosen.0, "value": chosen.1 });
        let _ = self.client.call("session/set_config_option", params).await;
    }

    fn filled(&self, value: &Value) -> Value {
        let session = self.session.as_ref().and_then(Value::as_str).unwrap_or_default();
        let text = value.to_string().replace("$session", session);
        serde_json::from_str(&text.replace("$ws", self.stage.workspace().to_str().unwrap())).unwrap()
    }
}

/// The id of an option, by its id or category, and its first value with this text in it.
fn choice(offered: &[Value], option: &str, value: &str) -> Option<(Value, Value)> {
    let option = offered.iter().find(|offered| offered["category"] == option || offered["id"] == option)?;
    let choices = option["options"].as_array()?;
    let groups = choices.iter().flat_map(|choice| choice["options"].as_array().into_iter().flatten());
    let mut values = choices.iter().chain(groups).map(|choice| &choice["value"]);
    let value = values.find(|found| found.as_str().is_some_and(|found| found.contains(value)))?;
    Some((option["id"].clone(), value.clone()))
}

async fn greet(client: &mut Client, scenario: &Scenario) {
    let usual = json!({ "elicitation": { "form": {} } });
    let capabilities = scenario.capabilities.as_ref().unwrap_or(&usual);
    let info = json!({ "name": "scenario", "title": "Scenario", "version": "1.0.0" });
    let hello = json!({ "protocolVersion": 1, "clientCapabilities": capabilities, "clientInfo": info });
    client.call("initialize", hello).await.unwrap();
}

/// The first choice of every field that has choices.
fn first_choices(form: &Value) -> Value {
    let mut content = serde_json::Map::new();
    let fields = form["requestedSchema"]["properties"].as_object().unwrap();
    for (name, field) in fields {
        let choice = first_choice(field);
        if !choice.is_null() {
            content.insert(name.clone(), choice);
        }
    }
    Value::Object(content)
}
