//! What an agent said, in a form in which two agents can be compared: facts, one per line.
//!
//! Ids are numbers, texts are whole, and what comes whenever it likes (usage, commands, options) has no place in the
//! order. What is left out is what no user can see: `_meta`, message ids, how a text was cut.

use std::collections::BTreeMap;

use jackfield_testkit::places::Places;
use serde_json::Value;

use super::record::{Record, Side};

/// How much is told.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// What `initialize` and `session/new` said, and what comes outside of the order of things, too.
    Everything,
    /// Not that: it is the same in all scenarios.
    #[default]
    Course,
}

/// How much is shown of one fact, in characters.
const MOST: usize = 200;

/// The facts of a record.
pub(super) fn facts(record: &Record, places: &Places, scope: Scope) -> Vec<String> {
    let mut telling = Telling { scope, ..Telling::default() };
    for place in 0..record.frames.len() {
        telling.frame(record, place);
    }
    telling.finish().iter().map(|line| short(&nameless(&places.hide(line)))).collect()
}

/// Long texts differ, if they do, at their beginning.
fn short(line: &str) -> String {
    match line.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

/// Without the names that the CLI gives to sessions and to work in the background, times, and who the user is.
fn nameless(line: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let name = |before: &str, word: &str| {
        let session = word.len() == 36 && word.matches('-').count() == 4;
        // One in fourteen has no digit, and is known by where it stands.
        let known = word.contains(|c: char| c.is_ascii_digit())
            || before.ends_with("ID: ")
            || before.ends_with("tasks/");
        let work = word.len() == 9 && word.starts_with('b') && known;
        if session || work {
            Some("NAME")
        } else if word.strip_suffix('s').is_some_and(is_number) {
            Some("SECONDS")
        } else if word.strip_prefix("claude-").is_some_and(is_number) {
            Some("claude-USER")
        } else {
            None
        }
    };
    let mut said = String::new();
    for piece in line.split_inclusive(|c| !is_part(c)) {
        let word = piece.trim_end_matches(|c| !is_part(c));
        let named = name(&said, word).unwrap_or(word);
        said.push_str(named);
        said.push_str(&piece[word.len()..]);
    }
    said
}

#[test]
fn work_in_the_background_has_no_name_with_or_without_a_digit() {
    let said = "with ID: bzrocgtbo. It is in /tasks/bzrocgtbo.output; b1rocgtbo is beginning 12s ago";
    let nameless = nameless(said);
    assert_eq!(nameless, "with ID: NAME. It is in /tasks/NAME.output; NAME is beginning SECONDS ago");
}

#[derive(Debug, Default)]
struct Telling {
    scope: Scope,
    lines: Vec<String>,
    /// A text that is not over yet, and who says it.
    text: Option<(&'static str, String)>,
    /// Calls in the order in which they were begun, by their ids.
    calls: Vec<(String, Value)>,
    /// What was told outside of the order.
    aside: BTreeMap<String, String>,
    /// The options that users know by name, and their values.
    options: BTreeMap<String, String>,
    /// All options, as they were told last.
    offered: Value,
}

impl Telling {
    fn frame(&mut self, record: &Record, place: usize) {
        let frame = &record.frames[place];
        let message = &frame.message;
        match (frame.from, message["method"].as_str()) {
            (Side::Client, Some("session/prompt")) => self.line("prompt"),
            (Side::Client, Some("session/cancel")) => self.line("cancel"),
            (Side::Client, Some(_)) => {}
            (Side::Client, None) => {
                if let Some(action) = message["result"]["action"].as_str() {
                    self.line(format!("form answered: {action}"));
                }
            }
            (Side::Agent, Some("session/update")) => self.update(&message["params"]["update"]),
            (Side::Agent, Some("session/request_permission")) => {
                let params = &message["params"];
                let call = self.call(&params["toolCall"]);
                let options = params["options"].as_array().into_iter().flatten();
                let kinds: Vec<&str> = options.filter_map(|option| option["kind"].as_str()).collect();
                self.line(format!("ask about call {call}: {}", kinds.join(", ")));
            }
            (Side::Agent, Some("elicitation/create")) => {
                let fields = message["params"]["requestedSchema"]["properties"].as_object();
                let count = fields.map_or(0, |fields| {
                    fields.values().filter(|field| !first_choice(field).is_null()).count()
                });
                self.line(format!("form with {count} choices"));
            }
            (Side::Agent, Some(method)) if method.starts_with('_') && self.scope == Scope::Course => {}
            (Side::Agent, Some(method)) => self.line(format!("agent calls {method}")),
            (Side::Agent, None) => {
                let Some((_, request)) = record.request_of(place) else { return };
                let method = request.message["method"].as_str().unwrap_or_default().to_owned();
                self.answer(&method, message);
            }
        }
    }

    fn answer(&mut self, method: &str, message: &Value) {
        if let Some(error) = message.get("error") {
            self.line(format!("{method} fails: {}", error["code"]));
            return;
        }
        let result = &message["result"];
        self.options(result);
        match method {
            "session/prompt" => {
                self.line(format!("stop: {}", text(&result["stopReason"])));
                if result.get("usage").is_some() {
                    self.aside("the answer of a prompt has its usage", "");
                }
            }
            "initialize" if self.scope == Scope::Everything => {
                self.line("initialize");
                self.flat("", &result["agentCapabilities"]);
                let methods = result["authMethods"].as_array().into_iter().flatten();
                let methods: Vec<_> = methods.map(|method| text(&method["id"])).collect();
                self.line(format!("  ways to authenticate: {}", methods.join(", ")));
            }
            "session/new" if self.scope == Scope::Everything => self.session(result),
            "initialize" | "session/new" => {}
            "session/list" => {
                let sessions = result["sessions"].as_array().map_or(0, Vec::len);
                self.line(format!("session/list: {sessions}"));
                for session in result["sessions"].as_array().into_iter().flatten() {
                    let mut members: Vec<&str> =
                        session.as_object().unwrap().keys().map(String::as_str).collect();
                    members.retain(|member| *member != "_meta");
                    members.sort_unstable();
                    self.line(format!("  a session has {}; title {}", members.join(", "), session["title"]));
                }
            }
            _ => self.line(format!("{method} is answered")),
        }
    }

    fn session(&mut self, result: &Value) {
        self.line("session/new");
        let modes = result["modes"]["availableModes"].as_array().into_iter().flatten();
        let modes: Vec<_> = modes.map(|mode| text(&mode["id"])).collect();
        self.line(format!("  modes: {}", modes.join(", ")));
        self.line(format!("  mode: {}", text(&result["modes"]["currentModeId"])));
    }

    /// What can be configured, as it was told last: not every agent knows it at once.
    fn offered(&mut self) {
        for option in self.offered.take().as_array().into_iter().flatten() {
            let values = option["options"].as_array().into_iter().flatten();
            let values: Vec<_> = values.map(|value| text(&value["value"])).collect();
            let line = format!(
                "option {} ({}, {}) = {} of {}",
                text(&option["id"]),
                text(&option["category"]),
                text(&option["type"]),
                option["currentValue"],
                values.join(", ")
            );
            self.line(line);
        }
    }

    fn update(&mut self, update: &Value) {
        match update["sessionUpdate"].as_str().unwrap_or_default() {
            "agent_message_chunk" => self.chunk("say", &update["content"]),
            "agent_thought_chunk" => self.chunk("think", &update["content"]),
            "user_message_chunk" => self.chunk("user", &update["content"]),
            "tool_call" | "tool_call_update" => self.tool(update),
            "plan" => {
                let entries = update["entries"].as_array().into_iter().flatten();
                let entries: Vec<_> =
                    entries.map(|entry| format!("{} {}", text(&entry["status"]), entry["content"])).collect();
                self.line(format!("plan: {}", entries.join(", ")));
            }
            "current_mode_update" => self.line(format!("mode: {}", text(&update["currentModeId"]))),
            "available_commands_update" => {
                let any = update["availableCommands"].as_array().is_some_and(|commands| !commands.is_empty());
                self.aside("commands are told", if any { "" } else { "none" });
            }
            "usage_update" => {
                self.aside("usage is told", "");
                if update.get("cost").is_some_and(|cost| !cost.is_null()) {
                    self.aside("cost is told", "");
                }
            }
            // It comes when a model of the CLI's own choice has thought of a title.
            "session_info_update" => {}
            "config_option_update" => {
                self.options(update);
            }
            "compaction_update" => self.line(format!("compaction: {}", text(&update["status"]))),
            "compaction_summary_chunk" => self.chunk("summary", &update["content"]),
            "notice" => self.line(format!("notice ({})", text(&update["severity"]))),
            other => self.line(format!("update {other}")),
        }
    }

    /// Values that are not what they were before are told.
    fn options(&mut self, told: &Value) {
        if let Some(offered) = told.get("configOptions") {
            self.offered = offered.clone();
        }
        for option in told["configOptions"].as_array().into_iter().flatten() {
            if let Some(id @ ("mode" | "model")) = option["id"].as_str() {
                let now = option["currentValue"].to_string();
                if self.options.insert(id.to_owned(), now.clone()).is_some_and(|before| before != now) {
                    self.aside.insert(format!("option {id} is now"), now);
                }
            }
        }
    }

    fn tool(&mut self, update: &Value) {
        let number = self.call(update);
        if let Some(status @ ("completed" | "failed")) = update["status"].as_str() {
            self.line(format!("call {number} {status}"));
        }
    }

    /// The number of a call; what is new of it is taken over, and a new one is told.
    fn call(&mut self, update: &Value) -> usize {
        let id = update["toolCallId"].as_str().unwrap_or_default();
        let known = self.calls.iter().position(|(known, _)| known == id);
        let place = known.unwrap_or_else(|| {
            self.calls.push((id.to_owned(), Value::Object(serde_json::Map::new())));
            self.line(format!("call {} begins", self.calls.len()));
            self.calls.len() - 1
        });
        let members = update.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
        for (name, value) in members {
            self.calls[place].1[name] = value.clone();
        }
        place + 1
    }

    fn chunk(&mut self, who: &'static str, content: &Value) {
        let said = match content["type"].as_str() {
            Some("text") => text(&content["text"]).to_owned(),
            Some("resource_link") => format!("[link {}]", text(&content["uri"])),
            Some(other) => format!("[{other}]"),
            None => String::new(),
        };
        match &mut self.text {
            Some((by, text)) if *by == who => text.push_str(&said),
            _ => {
                self.end_text();
                self.text = Some((who, said));
            }
        }
    }

    fn end_text(&mut self) {
        if let Some((who, text)) = self.text.take() {
            self.lines.push(format!("{who}: {}", Value::from(text)));
        }
    }

    fn line(&mut self, line: impl Into<String>) {
        self.end_text();
        self.lines.push(line.into());
    }

    fn aside(&mut self, fact: &str, value: &str) {
        if self.scope == Scope::Everything {
            self.aside.insert(fact.to_owned(), value.to_owned());
        }
    }

    /// Every leaf of an object, with the way to it.
    fn flat(&mut self, way: &str, value: &Value) {
        match value {
            Value::Object(members) if !members.is_empty() => {
                let members: BTreeMap<_, _> = members.iter().filter(|(name, _)| *name != "_meta").collect();
                for (name, value) in members {
                    self.flat(&format!("{way}.{name}"), value);
                }
            }
            leaf => self.line(format!("  {} = {leaf}", way.trim_start_matches('.'))),
        }
    }

    fn finish(mut self) -> Vec<String> {
        self.end_text();
        if self.scope == Scope::Everything {
            self.offered();
        }
        for (number, (_, call)) in self.calls.iter().enumerate() {
            let number = number + 1;
            let mut line =
                |what: &str, value: String| self.lines.push(format!("call {number} {what}: {value}"));
            line("kind", text(&call["kind"]).to_owned());
            line("title", call["title"].to_string());
            if let Some(name) = call.get("name") {
                line("name", text(name).to_owned());
            }
            line("input", sorted(&call["rawInput"]).to_string());
            for content in call["content"].as_array().into_iter().flatten() {
                line("content", shown(content));
            }
            for location in call["locations"].as_array().into_iter().flatten() {
                line("location", format!("{}:{}", text(&location["path"]), location["line"]));
            }
            line("output", if call.get("rawOutput").is_some() { "told".into() } else { "not told".into() });
        }
        let aside =
            self.aside.into_iter().map(|(fact, value)| format!("{fact} {value}").trim_end().to_owned());
        self.lines.extend(aside);
        self.lines
    }
}

fn shown(content: &Value) -> String {
    match content["type"].as_str() {
        Some("diff") => {
            format!(
                "diff of {} from {} to {}",
                text(&content["path"]),
                content["oldText"],
                content["newText"]
            )
        }
        Some("content") if content["content"]["type"] == "text" => content["content"]["text"].to_string(),
        Some("content") => format!("[{}]", text(&content["content"]["type"])),
        Some(other) => format!("[{other}]"),
        None => "[]".to_owned(),
    }
}

/// The first choice of a field of a form; null if it has none.
pub(super) fn first_choice(field: &Value) -> Value {
    let of = |field: &Value| {
        let titled = field["oneOf"].get(0).or(field["anyOf"].get(0)).map(|choice| choice["const"].clone());
        titled.or_else(|| field["enum"].get(0).cloned()).unwrap_or_default()
    };
    match (field["type"].as_str(), of(&field["items"])) {
        (Some("array"), Value::Null) => Value::Null,
        (Some("array"), choice) => Value::from(vec![choice]),
        _ => of(field),
    }
}

/// The same with the members of objects in the order of their names.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let members: BTreeMap<_, _> = members.iter().collect();
            members.into_iter().map(|(name, value)| (name.clone(), sorted(value))).collect()
        }
        Value::Array(values) => values.iter().map(sorted).collect(),
        leaf => leaf.clone(),
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("-")
}
