//! The session machine drives both real CLIs through the same conversation, by commands, and what it tells
//! equals what a recording of that version tells.
//!
//! Three turns: thinking and text; a Write that is asked and allowed; a Bash that is asked and allowed, then a
//! text that is interrupted. The scripted API holds each answer at a gate, so everything always falls at the
//! same place. What differs between the two versions stands on a written list.

use std::collections::BTreeSet;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use jackfield_api::command::{Allow, Answer, Close, Interrupt, Prompt, Verdict};
use jackfield_api::{Body, Command, Event, PendingId, Timestamp, codec};
use jackfield_core::journal::{Entry, Player};
use jackfield_core::{By, CommandId, Exit, Input, Launch, Options, Output, Session};
use jackfield_testkit::api::{Scenario, ScriptedApi};
use jackfield_testkit::case::Case;
use jackfield_testkit::clean::clean;
use jackfield_testkit::cli::{Cli, NEWER_VERSION, OLDER_VERSION, RunningCli, STREAM_FLAGS, Sandbox};
use jackfield_testkit::recordings::{self, Direction, Recorded};
use jackfield_wire::{HostRequest, Outbound, OutboundMessage, decode};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{ChildStdin, ChildStdout};

const CASE: &str = "three_turns";
/// Nothing here waits for its time; a CLI that hangs must not hang the tests.
const PATIENCE: Duration = Duration::from_mins(2);

#[tokio::test]
async fn the_older_cli_is_driven_by_commands_as_recorded() {
    drives_as_recorded(OLDER_VERSION).await;
}

#[tokio::test]
async fn the_newer_cli_is_driven_by_commands_as_recorded() {
    drives_as_recorded(NEWER_VERSION).await;
}

#[test]
fn the_two_versions_differ_only_as_written() {
    let told = |version| recorded(version).iter().map(comparable).collect::<Vec<Value>>();
    let (older, newer) = (told(OLDER_VERSION), told(NEWER_VERSION));
    let mut differences = Vec::new();
    assert_eq!(tags(&older), tags(&newer), "the same events in the same order");
    for (one, other) in older.iter().zip(&newer) {
        let mut paths = Vec::new();
        differing("", one, other, &mut paths);
        differences.extend(paths.into_iter().map(|path| format!("{}{path}", one["type"].as_str().unwrap())));
    }
    differences.sort();
    differences.dedup();
    let written: Vec<&str> = DIFFERENCES.iter().map(|(path, _)| *path).collect();
    assert_eq!(differences, written, "each difference stands on the list, and each entry is seen");
}

/// What the same conversation tells differently in 2.1.197 and 2.1.325, and why.
const DIFFERENCES: &[(&str, &str)] = &[
    ("available_commands.available_commands", "the newer version has other slash commands"),
    ("complete.data.cost_usd", "the newer version's default model has other prices"),
    (
        "complete.data.last_message_uuid",
        "placeholders are numbered by line, and the newer version writes more lines",
    ),
    ("complete.data.models", "the newer version's default model has another name"),
    ("complete.data.total_cost_usd", "as the cost of a turn"),
    ("session_status.claude_code_version", "the version itself"),
    ("session_status.model", "the newer version has another default model"),
    ("session_status.tools", "the newer version has other tools"),
];

async fn drives_as_recorded(version: &str) {
    let case = Case::load(CASE).unwrap();
    let mut live = Live::start(version, &case).await;
    live.initialize().await;

    live.prompt("Hello", "11111111-1111-4111-8111-111111111111").await;
    live.until_idle().await;

    live.prompt("Write two lines into notes.txt", "22222222-2222-4222-8222-222222222222").await;
    live.allow_once_asked("write_asked").await;
    live.until_idle().await;

    live.prompt("Append hi and show the file", "33333333-3333-4333-8333-333333333333").await;
    live.allow_once_asked("bash_asked").await;
    live.until(|live| live.last_chunk().contains("third line")).await;
    live.command(Interrupt {}).await;
    live.until_idle().await;

    live.command(Close {}).await;
    live.until_exit().await;

    assert_eq!(live.rejected, Vec::<String>::new(), "no command was rejected");
    let replayed = play(live.journal.iter().map(through_text));
    assert_eq!(lines(&live.events), lines(&replayed), "a replay of the journal tells exactly the same");

    let cleaned =
        clean(&live.tape(), live.sandbox.places(), live.api.port(), &serde_json::to_string(&case).unwrap());
    let told = play(cleaned.iter().map(entry));
    let expected = recorded(version);
    let without_time = |events: &[Event]| events.iter().map(timeless).collect::<Vec<_>>();
    assert_eq!(without_time(&told), without_time(&expected), "the recording tells the same");
}

/// A live session with a real CLI.
struct Live {
    session: Session,
    sandbox: Sandbox,
    api: ScriptedApi,
    running: RunningCli,
    stdin: Option<ChildStdin>,
    stdout: Lines<BufReader<ChildStdout>>,
    began: Instant,
    journal: Vec<Entry>,
    events: Vec<Event>,
    rejected: Vec<String>,
    /// The last raw line of the CLI.
    line: Value,
    commands: u32,
}

impl Live {
    async fn start(version: &str, case: &Case) -> Self {
        let sandbox = Sandbox::new().unwrap();
        let scenario = Scenario { turns: case.turns.clone() };
        let api = ScriptedApi::start(scenario, sandbox.places().clone()).await.unwrap();
        let flags: Vec<&str> =
            STREAM_FLAGS.into_iter().chain(case.flags.iter().map(String::as_str)).collect();
        let cli = Cli::locate(version).unwrap();
        let mut running = cli.start(&sandbox, &api.url(), &flags, &case.env).unwrap();
        let stdin = running.child().stdin.take();
        let stdout = BufReader::new(running.child().stdout.take().unwrap()).lines();
        let mut live = Self {
            session: Session::new(Options::default()),
            sandbox,
            api,
            running,
            stdin,
            stdout,
            began: Instant::now(),
            journal: Vec::new(),
            events: Vec::new(),
            rejected: Vec::new(),
            line: Value::Null,
            commands: 0,
        };
        live.handle(Input::Started(Launch::from_arguments(&flags))).await;
        live
    }

    /// Feeds one input and does what the machine wants done.
    async fn handle(&mut self, input: Input<'_>) {
        let mut wanted = self.feed(input);
        while let Some(output) = wanted.pop_front() {
            match output {
                Output::Event(event) => self.events.push(event),
                Output::Write(message, by) => {
                    let line = message.encode() + "\n";
                    self.stdin.as_mut().unwrap().write_all(line.as_bytes()).await.unwrap();
                    wanted.extend(self.feed(Input::Sent(OutboundMessage::Known(message), by)));
                }
                Output::CloseStdin => {
                    self.stdin = None;
                    wanted.extend(self.feed(Input::StdinClosed));
                }
                Output::Answer(_, Ok(_)) => {}
                Output::Answer(_, Err(rejection)) => self.rejected.push(rejection.reason),
                other => panic!("nothing else is wanted in this conversation: {other:?}"),
            }
        }
    }

    fn feed(&mut self, input: Input<'_>) -> std::collections::VecDeque<Output> {
        let at = Timestamp(u64::try_from(self.began.elapsed().as_millis()).unwrap());
        self.journal.extend(Entry::of(at, &input));
        self.session.handle(at, input);
        std::iter::from_fn(|| self.session.poll()).collect()
    }

    async fn initialize(&mut self) {
        let request = HostRequest::Initialize(Box::default());
        let message = Outbound::request("initialize", request);
        let line = message.encode() + "\n";
        self.stdin.as_mut().unwrap().write_all(line.as_bytes()).await.unwrap();
        self.handle(Input::Sent(OutboundMessage::Known(message), By::Host)).await;
        self.until(|live| live.line["type"] == "control_response").await;
    }

    async fn command(&mut self, command: impl Into<Command>) {
        self.commands += 1;
        let id = CommandId(self.commands.to_string().into());
        self.handle(Input::Command(id, By::Unknown, command.into())).await;
    }

    async fn prompt(&mut self, text: &str, uuid: &str) {
        let content = vec![jackfield_api::command::Content::Text { text: text.to_owned() }];
        let priority = jackfield_api::session::Priority::Next;
        self.command(Prompt { uuid: uuid.into(), content, priority }).await;
    }

    /// Waits for a question, lets the model's message end, and allows.
    async fn allow_once_asked(&mut self, gate: &str) {
        self.until(|live| live.asked().is_some()).await;
        self.api.gates().release(gate);
        self.until(|live| live.line["event"]["type"] == "message_stop").await;
        let pending_id = self.asked().unwrap();
        self.command(Answer { pending_id, verdict: Verdict::Allow(Allow::default()) }).await;
    }

    /// The question that is open.
    fn asked(&self) -> Option<PendingId> {
        self.events.iter().rev().find_map(|event| match &event.body {
            Body::PermissionRequest(request) => Some(Some(request.pending_id)),
            Body::PermissionResolved(_) => Some(None),
            _ => None,
        })?
    }

    fn last_chunk(&self) -> &str {
        match self.events.last().map(|event| &event.body) {
            Some(Body::MessageChunk(chunk)) => &chunk.text,
            _ => "",
        }
    }

    async fn until_idle(&mut self) {
        self.until(|live| live.line["subtype"] == "session_state_changed" && live.line["state"] == "idle")
            .await;
    }

    /// Reads until a line makes it true.
    async fn until(&mut self, reached: impl Fn(&Self) -> bool) {
        while self.read().await {
            if reached(self) {
                return;
            }
        }
        panic!("the CLI's output ended; the last events were {:#?}", self.events.iter().rev().take(5));
    }

    async fn until_exit(&mut self) {
        while self.read().await {}
        let status: ExitStatus =
            tokio::time::timeout(PATIENCE, self.running.child().wait()).await.unwrap().unwrap();
        self.handle(Input::Exited(Exit::Code(status.code().unwrap()))).await;
    }

    async fn read(&mut self) -> bool {
        let Some(line) = tokio::time::timeout(PATIENCE, self.stdout.next_line()).await.unwrap().unwrap()
        else {
            return false;
        };
        self.line = serde_json::from_str(&line).unwrap();
        self.handle(Input::Line(decode(line.as_bytes()))).await;
        true
    }

    /// The journal in the form that the cleaning takes.
    fn tape(&self) -> Vec<Recorded> {
        let direction = |dir: &str| match dir {
            "in" => Direction::In,
            "out" => Direction::Out,
            "err" => Direction::Err,
            _ => Direction::Meta,
        };
        let recorded =
            |entry: &Entry| Recorded { t: entry.t, dir: direction(&entry.dir), line: entry.line.clone() };
        self.journal.iter().map(recorded).collect()
    }
}

fn recorded(version: &str) -> Vec<Event> {
    let folder = recordings::fixtures_dir().join(format!("recordings-{version}")).join(CASE);
    let recording = recordings::load(&folder, CASE).unwrap();
    play(recording.lines.iter().map(entry))
}

fn play(entries: impl Iterator<Item = Entry>) -> Vec<Event> {
    let mut player = Player::new(Session::new(Options::default()), Launch::from_arguments::<&str>(&[]));
    let mut events = Vec::new();
    for entry in entries {
        player.play(&entry);
        while let Some(output) = player.session().poll() {
            if let Output::Event(event) = output {
                events.push(event);
            }
        }
    }
    events
}

fn entry(recorded: &Recorded) -> Entry {
    Entry::read(&serde_json::to_string(recorded).unwrap()).unwrap()
}

fn through_text(entry: &Entry) -> Entry {
    Entry::read(&serde_json::to_string(entry).unwrap()).unwrap()
}

fn lines(events: &[Event]) -> Vec<String> {
    events.iter().map(line).collect()
}

fn line(event: &Event) -> String {
    let mut line = Vec::new();
    codec::encode(event, &mut line);
    String::from_utf8(line).unwrap()
}

fn timeless(event: &Event) -> String {
    line(&Event { at: Timestamp(0), ..event.clone() })
}

/// An event without what every conversation has its own of.
fn comparable(event: &Event) -> Value {
    let mut value: Value = serde_json::from_str(&timeless(event)).unwrap();
    for member in ["seq", "session_id", "item_id", "pending_id"] {
        value.as_object_mut().unwrap().remove(member);
    }
    value
}

fn tags(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

fn differing(path: &str, one: &Value, other: &Value, found: &mut Vec<String>) {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            let keys: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
            for key in keys {
                let (one, other) =
                    (one.get(key).unwrap_or(&Value::Null), other.get(key).unwrap_or(&Value::Null));
                differing(&format!("{path}.{key}"), one, other, found);
            }
        }
        (one, other) if one != other => found.push(path.to_owned()),
        _ => {}
    }
}
