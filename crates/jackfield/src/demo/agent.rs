//! The agent: what it knows between turns, what waits to be done, and whom it listens to.
//!
//! The one rule: it listens wherever it waits, so whatever is played, a request is answered at once.

use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::process::ExitCode;
use std::time::Duration;

use jackfield_wire::{HostOutcome, Outbound, OutboundMessage, Priority, Prompt, RequestId};
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::arguments::Arguments;
use super::files::Files;
use super::meter::Meter;
use super::output::Output;
use super::pace::Pace;
use super::step::Step;
use super::turn::{Origin, Turn};

/// The agent.
pub(super) struct Agent {
    pub(super) arguments: Arguments,
    pub(super) out: Output,
    pub(super) pace: Pace,
    pub(super) mode: String,
    pub(super) model: String,
    pub(super) files: Files,
    pub(super) meter: Meter,
    /// Tools that need not be asked about any more.
    pub(super) allowed: BTreeSet<String>,
    pub(super) queue: VecDeque<Prompt>,
    pub(super) tasks: Vec<Task>,
    pub(super) pending: Option<Pending>,
    pub(super) turn: Turn,
    /// How many turns there were.
    pub(super) turns: u64,
    pub(super) failed: bool,
    pub(super) input_over: bool,
    input: mpsc::Receiver<Vec<u8>>,
}

/// A question to the host.
#[derive(Debug)]
pub(super) struct Pending {
    pub(super) request_id: RequestId,
    pub(super) answer: Option<HostOutcome>,
}

/// Work in the background.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) id: String,
    pub(super) call: String,
    pub(super) description: String,
    pub(super) due: Instant,
    pub(super) then: fn() -> Vec<Step>,
}

/// Why what is played does not go on.
#[derive(Debug)]
pub(super) enum Stop {
    /// The host said so.
    Interrupted,
    /// A prompt came that cannot wait.
    Superseded,
    /// The API failed with this status, and the turn has said so.
    Failed(u16),
    /// The process ends, with this code and these words.
    Exit(u8, String),
    /// Nobody reads what is said.
    Gone(io::Error),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::Gone(error)
    }
}

impl Agent {
    pub(super) fn new(arguments: Arguments, out: Output, input: mpsc::Receiver<Vec<u8>>, pace: Pace) -> Self {
        Self {
            mode: arguments.mode.clone(),
            model: arguments.model.clone(),
            files: Files::new(&arguments.cwd),
            arguments,
            out,
            pace,
            meter: Meter::new(),
            allowed: BTreeSet::new(),
            queue: VecDeque::new(),
            tasks: Vec::new(),
            pending: None,
            turn: Turn::default(),
            turns: 0,
            failed: false,
            input_over: false,
            input,
        }
    }

    /// Serves until the input is over and everything is done.
    pub(super) async fn run(mut self) -> io::Result<ExitCode> {
        let (code, words) = loop {
            match self.serve().await {
                Err(Stop::Gone(error)) => return Err(error),
                Err(Stop::Exit(code, words)) => break (code, words),
                // The exit code repeats the last result [process/exit_code_follows_last_result].
                Ok(()) => break (u8::from(self.failed), String::new()),
                Err(Stop::Interrupted | Stop::Superseded | Stop::Failed(_)) => {}
            }
        };
        self.out.flush()?;
        if !words.is_empty() {
            io::Write::write_fmt(&mut io::stderr(), format_args!("{words}\n"))?;
        }
        Ok(code.into())
    }

    async fn serve(&mut self) -> Result<(), Stop> {
        loop {
            let due = self.tasks.iter().map(|task| task.due).min();
            if let Some(prompt) = self.queue.pop_front() {
                self.play_prompt(prompt).await?;
            } else if due.is_some_and(|due| due <= Instant::now()) {
                self.end_task().await?;
            } else if self.input_over && due.is_none() {
                return Ok(());
            } else {
                self.listen(due).await?;
            }
        }
    }

    /// A task is done, which starts a turn that nobody asked for [tools/bash_background_eof].
    async fn end_task(&mut self) -> Result<(), Stop> {
        let Some(at) = self.tasks.iter().position(|task| task.due <= Instant::now()) else { return Ok(()) };
        let task = self.tasks.remove(at);
        let summary = format!("Background command \"{}\" completed (exit code 0)", task.description);
        self.tell_task_end(&task, ["completed", "completed"], &summary);
        self.tell_tasks();
        self.play(Origin::Task, (task.then)()).await
    }

    /// Waits, and goes on listening while it does.
    pub(super) async fn pause(&mut self, natural: Duration) -> Result<(), Stop> {
        let time = self.pace.of(natural);
        if time.is_zero() {
            return self.catch_up();
        }
        let until = Instant::now() + time;
        while Instant::now() < until {
            self.listen(Some(until)).await?;
        }
        Ok(())
    }

    /// Hears what is there already.
    pub(super) fn catch_up(&mut self) -> Result<(), Stop> {
        if self.out.is_full() {
            self.out.flush()?;
        }
        while let Ok(line) = self.input.try_recv() {
            self.hear(&line)?;
        }
        Ok(())
    }

    /// Waits for one line, at the longest until then.
    pub(super) async fn listen(&mut self, until: Option<Instant>) -> Result<(), Stop> {
        self.out.flush()?;
        let line = match until {
            // Nothing more can be heard.
            Some(until) if self.input_over => {
                sleep_until(until).await;
                return Ok(());
            }
            Some(until) => match timeout_at(until, self.input.recv()).await {
                Ok(line) => line,
                Err(_) => return Ok(()),
            },
            None => self.input.recv().await,
        };
        self.input_over |= line.is_none();
        line.map_or(Ok(()), |line| self.hear(&line))
    }

    fn hear(&mut self, line: &[u8]) -> Result<(), Stop> {
        let heard = Outbound::decode(line);
        match heard.message {
            OutboundMessage::Known(Outbound::User(prompt)) => self.enqueue(*prompt),
            OutboundMessage::Known(Outbound::ControlRequest(asked)) => {
                self.answer(&asked.request_id, &asked.request)
            }
            OutboundMessage::Known(Outbound::ControlResponse(answer)) => {
                if self.arguments.replay {
                    self.out.verbatim(&heard.text);
                }
                if let Some(pending) = &mut self.pending
                    && pending.request_id == answer.request_id
                {
                    pending.answer = Some(answer.outcome);
                }
                Ok(())
            }
            // An answer that cannot be read is a refusal [permission/bash_deny_no_message].
            OutboundMessage::Malformed(bad) if bad.tag.as_deref() == Some("control_response") => {
                if let Some(pending) = &mut self.pending
                    && pending.request_id == bad.request_id
                {
                    let error = format!("Tool permission request failed: {}", bad.reason);
                    pending.answer = Some(HostOutcome::Error { error });
                }
                Ok(())
            }
            // One bad line ends the CLI [process/stdin_invalid_json].
            OutboundMessage::Malformed(bad) => {
                Err(Stop::Exit(1, format!("Error parsing streaming input line: {}", bad.reason)))
            }
            OutboundMessage::Known(_) | OutboundMessage::Blank | OutboundMessage::Unknown(_) => Ok(()),
        }
    }

    fn enqueue(&mut self, prompt: Prompt) -> Result<(), Stop> {
        if !self.turn.running && self.queue.is_empty() {
            self.tell_state("running");
        }
        self.tell_prompt(&prompt, "queued");
        let priority = prompt.priority().cloned();
        let is_later = |waiting: &Prompt| waiting.priority() == Some(&Priority::Later);
        let at = match priority {
            Some(Priority::Now) => 0,
            Some(Priority::Later) => self.queue.len(),
            _ => self.queue.iter().position(is_later).unwrap_or(self.queue.len()),
        };
        self.queue.insert(at, prompt);
        // [process/queued_priority]
        if priority == Some(Priority::Now) && self.turn.running { Err(Stop::Superseded) } else { Ok(()) }
    }

    /// What became of a prompt; one without a name is not told of.
    pub(super) fn tell_prompt(&mut self, prompt: &Prompt, state: &str) {
        if let Some(uuid) = prompt.uuid() {
            self.out.line("command_lifecycle", &json!({ "command_uuid": uuid, "state": state }));
        }
    }

    pub(super) fn tell_state(&mut self, state: &str) {
        if self.arguments.state_events {
            self.out.system("session_state_changed", &json!({ "state": state }));
        }
    }
}
