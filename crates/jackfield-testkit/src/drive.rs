//! Driving a real CLI through a case.
//!
//! It judges nothing: what came back is a [`Run`]. The one rule it keeps: every wait has a time limit, and a
//! step that fails says which one it was, what it waited for, and what the CLI said last.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::process::ChildStdin;
use tokio::time::timeout;

use crate::api::{Purpose, Request, Scenario, ScriptedApi};
use crate::case::{Action, Case, SignalName, Step};
use crate::cli::{Cli, CliError, RunningCli, STREAM_FLAGS, Sandbox};
use crate::lines::{answer_line, control_line, user_line};
use crate::matching::line_contains;
use crate::places::Places;
use crate::processes;
use crate::recordings::{Direction, Recorded};
use crate::tape::{OutputEnded, Tape};

/// The time limit of a step that sets none.
pub const TIME_LIMIT: Duration = Duration::from_mins(1);

/// What a case gave.
#[derive(Debug)]
pub struct Run {
    /// The CLI's version.
    pub version: String,
    /// Program name and flags.
    pub arguments: Vec<String>,
    /// The whole environment.
    pub environment: BTreeMap<String, String>,
    /// The lines as they passed, not cleaned.
    pub lines: Vec<Recorded>,
    /// The exit code, or the negative number of the signal.
    pub exit: i32,
    /// What the CLI asked the API.
    pub requests: Vec<Request>,
    /// The replies it never asked for, by their place in the case.
    pub unused: Vec<usize>,
    /// The folders it ran in (gone by now).
    pub places: Places,
    /// The port of the API.
    pub port: u16,
}

/// Why a case could not be driven to its end.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    /// The CLI did not start.
    #[error(transparent)]
    Cli(#[from] CliError),
    /// The API did not start.
    #[error("cannot start the scripted API: {0}")]
    Api(#[source] io::Error),
    /// A file of the case could not be written.
    #[error("cannot write {path} into the working folder: {source}")]
    File {
        /// The file.
        path: String,
        /// The reason.
        source: io::Error,
    },
    /// A step did not do what it says.
    #[error("step {number} of `{case}` on {version} {failure}: {step}\nthe last lines were:\n{tail}")]
    Step {
        /// The case.
        case: String,
        /// The CLI's version.
        version: String,
        /// The step's number, from 1.
        number: usize,
        /// The step.
        step: String,
        /// What went wrong.
        failure: StepFailure,
        /// The last lines of the tape.
        tail: String,
    },
}

/// What went wrong in a step.
#[derive(Debug, thiserror::Error)]
pub enum StepFailure {
    /// The time limit passed.
    #[error("took more than {0:?}")]
    TimeLimit(Duration),
    /// The CLI closed its output.
    #[error("waited for a line, but the CLI's output ended")]
    OutputEnded,
    /// Standard input is closed, by us or by the CLI.
    #[error("could not write to the CLI ({0})")]
    Write(io::Error),
    /// A file could not be written.
    #[error("could not write a file ({0})")]
    File(io::Error),
    /// The process could not be waited for.
    #[error("could not wait for the CLI ({0})")]
    Wait(io::Error),
}

impl From<OutputEnded> for StepFailure {
    fn from(_: OutputEnded) -> Self {
        Self::OutputEnded
    }
}

impl Run {
    /// Requests of the conversation for which the case had no reply.
    pub fn unscripted(&self) -> usize {
        let unscripted =
            |request: &&Request| request.purpose == Purpose::Conversation && request.reply.is_none();
        self.requests.iter().filter(unscripted).count()
    }
}

/// Drives the CLI through the case.
pub async fn drive(cli: &Cli, case: &Case) -> Result<Run, DriveError> {
    let sandbox = Sandbox::new()?;
    let places = sandbox.places().clone();
    for (path, text) in &case.files {
        sandbox
            .write(path, &places.fill(text))
            .map_err(|source| DriveError::File { path: path.clone(), source })?;
    }
    let scenario = Scenario { turns: case.turns.clone() };
    let api = ScriptedApi::start(scenario, places.clone()).await.map_err(DriveError::Api)?;
    let flags: Vec<String> = STREAM_FLAGS
        .map(str::to_owned)
        .into_iter()
        .chain(case.flags.iter().map(|flag| places.fill(flag)))
        .collect();
    let mut running = cli.start(&sandbox, &api.url(), &flags, &case.env)?;

    let tape = Tape::new();
    let child = running.child();
    let readers = [
        child.stdout.take().map(|pipe| tokio::spawn(tape.clone().follow(Direction::Out, pipe))),
        child.stderr.take().map(|pipe| tokio::spawn(tape.clone().follow(Direction::Err, pipe))),
    ];
    let stdin = child.stdin.take();
    let mut host = Host {
        sandbox: &sandbox,
        api: &api,
        places: &places,
        running,
        stdin,
        tape,
        seen: 0,
        asked: 0,
        requests: 0,
        exit: None,
    };
    for (number, step) in (1..).zip(&case.host) {
        host.perform(step).await.map_err(|failure| host.explain(case, cli, number, &json!(step), failure))?;
    }
    let ending = case.host.len() + 1;
    let exit = host.end(TIME_LIMIT).await.map_err(|failure| {
        host.explain(case, cli, ending, &json!("close standard input and wait for the exit"), failure)
    })?;
    for reader in readers.into_iter().flatten() {
        // A background process of the CLI may still hold the pipe: what it writes is not the CLI's.
        let _ = timeout(Duration::from_secs(5), reader).await;
    }

    let mut environment = sandbox.environment(&api.url());
    environment.extend(case.env.clone());
    Ok(Run {
        version: cli.version.clone(),
        arguments: ["claude".to_owned()].into_iter().chain(flags).collect(),
        environment,
        lines: host.tape.lines(),
        exit,
        requests: api.requests(),
        unused: api.unused(),
        port: api.port(),
        places: places.clone(),
    })
}

struct Host<'a> {
    sandbox: &'a Sandbox,
    api: &'a ScriptedApi,
    places: &'a Places,
    running: RunningCli,
    stdin: Option<ChildStdin>,
    tape: Tape,
    /// Where the next `await` begins to look.
    seen: usize,
    /// Where the next `answer` begins to look.
    asked: usize,
    /// Control requests sent.
    requests: usize,
    exit: Option<i32>,
}

impl Host<'_> {
    async fn perform(&mut self, step: &Step) -> Result<(), StepFailure> {
        let limit = step.within.map_or(TIME_LIMIT, Duration::from_secs_f64);
        timeout(limit, self.act(&step.action)).await.map_err(|_| StepFailure::TimeLimit(limit))?
    }

    async fn act(&mut self, action: &Action) -> Result<(), StepFailure> {
        match action {
            Action::Send(message) => self.write(user_line(message)).await?,
            Action::SendRaw(line) => self.write(line.clone()).await?,
            Action::Initialize(fields) => self.control("initialize", fields).await?,
            Action::Control(request) => {
                let subtype = request["subtype"].as_str().unwrap_or_default().to_owned();
                self.control(&subtype, request).await?;
            }
            Action::Interrupt(_) => self.control("interrupt", &json!({})).await?,
            Action::Await(pattern) => {
                let (place, _) = self.tape.find(self.seen, |line| line_contains(line, pattern)).await?;
                self.seen = place + 1;
            }
            Action::AwaitGate(name) => self.api.gates().reached(name).await,
            Action::Release(name) => self.api.gates().release(name),
            Action::Answer(answer) => {
                let request = json!({"type": "control_request"});
                let (place, line) = self.tape.find(self.asked, |line| line_contains(line, &request)).await?;
                self.asked = place + 1;
                self.write(answer_line(answer, &line)).await?;
            }
            Action::WriteFile(files) => {
                for (path, text) in files {
                    self.sandbox.write(path, &self.places.fill(text)).map_err(StepFailure::File)?;
                }
            }
            Action::AwaitFile(path) => {
                let path = self.places.workspace.join(path);
                while !path.exists() {
                    tokio::time::sleep(Duration::from_millis(10)).await;
                }
            }
            Action::CloseStdin(_) => self.close_stdin(),
            Action::AwaitExit(_) => {
                self.exit().await?;
            }
            Action::Signal(name) => {
                if let Some(id) = self.running.child().id() {
                    self.tape.push(Direction::Meta, json!({"signal": name}).to_string());
                    processes::signal(id, signal(*name));
                }
            }
        }
        Ok(())
    }

    async fn write(&mut self, line: String) -> Result<(), StepFailure> {
        let line = self.places.fill(&line);
        // On the tape first: the CLI's reaction must not come before its cause.
        self.tape.push(Direction::In, line.clone());
        let Some(stdin) = &mut self.stdin else {
            return Err(StepFailure::Write(io::ErrorKind::NotConnected.into()));
        };
        stdin.write_all(format!("{line}\n").as_bytes()).await.map_err(StepFailure::Write)
    }

    async fn control(&mut self, subtype: &str, fields: &Value) -> Result<(), StepFailure> {
        self.requests += 1;
        let id = format!("host-{}", self.requests);
        let from = self.tape.lines().len();
        self.write(control_line(&id, subtype, fields)).await?;
        let answer = json!({"type": "control_response", "response": {"request_id": id}});
        self.tape.find(from, |line| line_contains(line, &answer)).await?;
        Ok(())
    }

    fn close_stdin(&mut self) {
        if self.stdin.take().is_some() {
            self.tape.push(Direction::Meta, r#"{"stdin":"closed"}"#);
        }
    }

    async fn exit(&mut self) -> Result<i32, StepFailure> {
        if let Some(exit) = self.exit {
            return Ok(exit);
        }
        let status = self.running.child().wait().await.map_err(StepFailure::Wait)?;
        let exit = status.code().unwrap_or_else(|| {
            use std::os::unix::process::ExitStatusExt as _;
            -status.signal().unwrap_or_default()
        });
        self.tape.push(Direction::Meta, json!({"exit": exit}).to_string());
        self.exit = Some(exit);
        Ok(exit)
    }

    async fn end(&mut self, limit: Duration) -> Result<i32, StepFailure> {
        self.close_stdin();
        timeout(limit, self.exit()).await.map_err(|_| StepFailure::TimeLimit(limit))?
    }

    fn explain(
        &self,
        case: &Case,
        cli: &Cli,
        number: usize,
        step: &Value,
        failure: StepFailure,
    ) -> DriveError {
        let lines = self.tape.lines();
        let tail = lines[lines.len().saturating_sub(8)..].iter().map(|recorded| {
            let text: String = recorded.line.chars().take(400).collect();
            format!("  {:?} {text}\n", recorded.dir)
        });
        DriveError::Step {
            case: case.name.clone(),
            version: cli.version.clone(),
            number,
            step: step.to_string(),
            failure,
            tail: tail.collect(),
        }
    }
}

fn signal(name: SignalName) -> Signal {
    match name {
        SignalName::Sigint => Signal::INT,
        SignalName::Sigterm => Signal::TERM,
        SignalName::Sighup => Signal::HUP,
        SignalName::Sigkill => Signal::KILL,
    }
}
