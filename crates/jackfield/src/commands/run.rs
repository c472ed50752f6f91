//! `jackfield run`: one prompt through the same engine as everything else, for shells and scripts.
//!
//! It chooses the host, the session and the options; the course of the prompt is in [`course`]. The one rule it keeps:
//! standard output has what was asked for and nothing else, and the exit code says what came of it.

mod console;
mod course;
mod dialog;
mod engine;
mod options;
mod outcome;
mod own_lines;
mod printer;
mod prompt;
pub(crate) mod reach;
mod trust;

use std::env;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, ValueEnum};
use jackfield_api::command::{Agent, CreateSession, SetBudget, SetMode, SetModel};
use jackfield_api::host::SessionSummary;
use jackfield_api::session::SessionOrigin;
use jackfield_api::snapshot::SessionState;
use jackfield_api::{Json, Seq};
use jackfield_client::ClientError;
use jackfield_sdk::Environment;
use serde_json::{Map, Value};
use thiserror::Error;

pub(crate) use self::console::fit;
use self::console::{Console, Weight};
use self::course::{Answering, Course, Ended};
use self::engine::{Engine, Found};
use self::own_lines::OwnLines;
use self::printer::{Form, Printer};
use self::reach::{HostFailure, Reached};
use self::trust::{Decided, Lasting};
use super::sessions::choice;
use super::signals::Signals;
use crate::config::{self, Config, Flags};
use crate::failure::{Exit, Failure};
use crate::variables;

/// Who answered, as others are told.
const NAME: &str = "jackfield run";
/// How long another host that has just begun is waited for; runs side by side are usual, and wait in vain.
const PATIENCE: Duration = Duration::from_secs(1);

/// Say something and print the answer
///
/// Uses the running host if there is one, and otherwise a host of its own on the same data folder, so that the
/// session can be seen and gone on with later. Questions are asked on the terminal; without one they are denied, and
/// the exit code is 4. So it is when the folder brings hooks, MCP servers or settings of its own that nobody has
/// trusted: on the terminal they are shown, and without one nothing begins unless `--trust` or `--no-trust` says what
/// is to become of them.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  jackfield run 'why does the build fail?'
  git diff | jackfield run 'review this' --mode plan
  jackfield run --continue 'and now fix it' --allow Edit --allow 'Bash(cargo test *)'
  jackfield run 'list the crates' --json-schema schema.json --output-format json | jq .structured_output
  jackfield run tour --agent demo")]
pub(crate) struct Run {
    /// What to say; `-` or nothing takes it from standard input. What is piped in besides is added to it
    prompt: Option<String>,
    /// What goes to standard output
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t = Form::Text)]
    output_format: Form,
    /// The shape of the answer: a JSON Schema, or a file with one; only for a new session
    #[arg(long, value_name = "FILE|JSON")]
    json_schema: Option<String>,
    /// The model
    #[arg(long)]
    model: Option<String>,
    /// The permission mode: `ask`, `act`, `plan`, or as the CLI names it
    #[arg(long, value_parser = options::mode)]
    mode: Option<String>,
    /// Go on with a session, by the beginning of its name, or with the `latest`
    #[arg(long, value_name = "ID", conflicts_with_all = ["agent", "trust", "ephemeral"])]
    resume: Option<String>,
    /// Go on with the latest session of the folder
    #[arg(long = "continue", short = 'c', conflicts_with_all = ["resume", "agent", "trust", "ephemeral"])]
    go_on: bool,
    /// The folder to work in; this one if absent
    #[arg(long, value_name = "FOLDER")]
    cwd: Option<PathBuf>,
    /// What the session may cost, in US dollars
    #[arg(long, value_name = "DOLLARS")]
    budget: Option<f64>,
    #[command(flatten)]
    trusting: Trusting,
    /// Who answers
    #[arg(long, value_enum)]
    agent: Option<AgentName>,
    /// Allow a tool without asking, such as `Edit`, `Bash(git log *)` or `mcp__github__*`
    #[arg(long, value_name = "TOOL")]
    allow: Vec<String>,
    /// Deny a tool without asking; this wins over `--allow`
    #[arg(long, value_name = "TOOL")]
    deny: Vec<String>,
    /// Who answers questions
    #[arg(long, value_enum, value_name = "WHO", default_value_t = Ask::Terminal)]
    ask: Ask,
    /// Stop after so many seconds
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    timeout: Option<u64>,
    /// Keep nothing: no running host is used, and a private one only for this
    #[arg(long, visible_alias = "no-host")]
    ephemeral: bool,
    #[command(flatten)]
    flags: Flags,
}

/// What becomes of what a folder brings, where nobody is to be asked.
#[derive(Debug, Args)]
struct Trusting {
    /// Trust the folder for this session: its own settings, hooks and MCP servers take part, as they are now
    #[arg(long)]
    trust: bool,
    /// Do not ask whether to trust the folder: what one that is not trusted brings stays off
    #[arg(long, conflicts_with = "trust")]
    no_trust: bool,
}

/// Who does the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum AgentName {
    /// The Claude Code CLI
    Claude,
    /// A script: no account, no model
    Demo,
}

/// Who answers questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Ask {
    /// Whoever sits at the terminal; without one they are denied
    Terminal,
    /// Nobody: they are denied
    Nobody,
    /// Other clients of the running host; it waits for them
    Host,
}

/// Why nothing was said, or why nothing came of it.
#[derive(Debug, Error)]
pub(crate) enum RunFailure {
    #[error("there is no prompt")]
    NoPrompt,
    #[error("the prompt is longer than {most} MiB")]
    PromptTooLong { most: u64 },
    #[error("cannot read standard input: {0}")]
    Stdin(#[source] io::Error),
    #[error("cannot use the folder `{}`: {source}", path.display())]
    Folder { path: PathBuf, source: io::Error },
    #[error("`--json-schema` is neither a file nor a JSON object: {0}")]
    Schema(String),
    #[error("`--{flag} {tool}` makes no sense: {reason}")]
    Tool { flag: &'static str, tool: String, reason: String },
    #[error("`{0}` cannot go on with a session of the host")]
    NotResumed(&'static str),
    #[error("nobody else can answer: no host is running")]
    NobodyElse,
    #[error("there is no CLI that can be used: {0}")]
    NoCli(String),
    #[error("the session's budget of ${0} is used up")]
    Budget(f64),
    #[error("the prompt was not taken: {0}")]
    NotTaken(#[source] ClientError),
    #[error("this folder brings {0}, and nobody can be asked whether to trust it")]
    Untrusted(String),
    #[error("interrupted before anything began")]
    Interrupted,
    #[error("cannot listen to signals: {0}")]
    Signals(#[source] io::Error),
}

impl RunFailure {
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::NoPrompt
            | Self::PromptTooLong { .. }
            | Self::Folder { .. }
            | Self::Schema(_)
            | Self::Tool { .. }
            | Self::NotResumed(_)
            | Self::NobodyElse => Exit::Usage,
            Self::NoCli(_) => Exit::NoCli,
            Self::Untrusted(_) => Exit::Unanswered,
            Self::Interrupted => Exit::Interrupted,
            Self::Budget(_) => Exit::Limit,
            Self::Stdin(_) | Self::NotTaken(_) | Self::Signals(_) => Exit::Failed,
        }
    }

    pub(crate) fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NoPrompt => Some("give it as an argument, or on standard input"),
            Self::NobodyElse => Some("`jackfield serve` starts one"),
            Self::NoCli(_) => Some("`jackfield doctor` says what to do; `--agent demo` needs no CLI"),
            Self::Budget(_) => Some("`--budget` raises it"),
            Self::Untrusted(_) => Some(
                "look at it, and then: `--trust` lets it take part, `--no-trust` begins without it, \
                 and on a terminal or in the page your answer is kept",
            ),
            Self::NotResumed(_) => Some("a session keeps the shape that it began with"),
            _ => None,
        }
    }
}

impl Run {
    pub(crate) fn run(&self) -> Result<ExitCode, Failure> {
        let environment: Environment = env::vars_os().collect();
        let config = config::load(&self.flags, &environment)?.config;
        let said = prompt::read(self.prompt.as_deref())?;
        let runtime =
            tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(Failure::Runtime)?;
        let code = runtime.block_on(self.at_work(&config, &environment, said));
        // After a second signal nothing is waited for; the guard ends what is left.
        runtime.shutdown_background();
        code
    }

    async fn at_work(
        &self,
        config: &Config,
        environment: &Environment,
        said: prompt::Said,
    ) -> Result<ExitCode, Failure> {
        let mut signals = Signals::new().map_err(RunFailure::Signals)?;
        let mut console = Console::new();
        if let Some(remark) = &said.remark {
            console.remark(Weight::Remark, remark);
        }
        let rules = options::rules(&self.allow, &self.deny)?;
        let folder = options::folder(self.cwd.as_ref())?;
        let (engine, folder) = self.engine(config, environment, folder, (&mut console, &mut signals)).await?;
        let answering = match self.ask {
            Ask::Host => Answering::Others,
            Ask::Terminal if console.can_ask() => Answering::Person,
            Ask::Terminal | Ask::Nobody => Answering::Nobody,
        };
        let printer = Printer { form: self.output_format };
        let timeout = self.timeout.map(Duration::from_secs);
        let course = Course { engine, console, printer, answering, rules, folder, timeout };
        match course.run(outcome::prompt(said.text), &mut signals).await? {
            Ended::Told(outcome) => Ok(outcome.exit().into()),
            Ended::AtOnce => Ok(Exit::Interrupted.into()),
            Ended::NotTaken(failure) => Err(failure.into()),
        }
    }

    /// A session of a host, and its folder.
    async fn engine(
        &self,
        config: &Config,
        environment: &Environment,
        folder: String,
        (console, signals): (&mut Console, &mut Signals),
    ) -> Result<(Engine, String), Failure> {
        let goes_on = self.resume.is_some() || self.go_on;
        if self.json_schema.is_some() && goes_on {
            return Err(RunFailure::NotResumed("--json-schema").into());
        }
        let schema = self.json_schema.as_deref().map(options::schema_of).transpose()?;
        let mut lasting = Lasting::Kept;
        let mut reached = if self.ephemeral {
            lasting = Lasting::Once;
            Reached::private(config, environment, NAME).await?
        } else {
            match Reached::usual(config, environment, NAME, PATIENCE).await {
                Err(Failure::Host(HostFailure::InUse(_))) if !goes_on => {
                    let text = "another program uses the data folder: this session is not kept there \
                                (`jackfield sessions import` takes it in later)";
                    console.remark(Weight::Warning, text);
                    lasting = Lasting::Once;
                    Reached::private(config, environment, NAME).await?
                }
                reached => reached?,
            }
        };
        reached.warn();
        reached.client = reached.client.traced(variables::trace(environment));
        if self.ask == Ask::Host && !reached.goes_on() {
            reached.close().await;
            return Err(RunFailure::NobodyElse.into());
        }
        let made = async {
            let (session, found) =
                self.session(&reached, &folder, schema, (lasting, console, signals)).await?;
            let (client, id) = (&reached.client, session.session_id);
            let lines = if self.output_format == Form::StreamJson {
                Some(OwnLines::new(client.follow_lines(&id).await.map_err(HostFailure::Client)?))
            } else {
                None
            };
            // Of a new one everything is told.
            let after = Some(if found == Found::New { Seq(0) } else { session.seq });
            let updates = client.subscribe(&id, after).await.map_err(HostFailure::Client)?;
            Ok((id, lines, updates, found, session.pending, session.cwd))
        };
        match made.await {
            Ok((session, lines, updates, found, pending, folder)) => {
                Ok((Engine { reached, session, updates, lines, found, pending }, folder))
            }
            Err(failure) => {
                reached.close().await;
                Err(failure)
            }
        }
    }

    /// The session that is meant, as it was asked for; and how it was found.
    async fn session(
        &self,
        reached: &Reached,
        folder: &str,
        schema: Option<Map<String, Value>>,
        (lasting, console, signals): (Lasting, &mut Console, &mut Signals),
    ) -> Result<(SessionSummary, Found), Failure> {
        let client = &reached.client;
        let failed = |error: ClientError| Failure::from(HostFailure::from(error));
        let found = match self.resume.as_deref() {
            Some("latest") => Some(choice::latest(client, None).await?),
            Some(id) => Some(self.resumed(client, id, folder).await?),
            None if self.go_on => Some(choice::latest(client, Some(folder.to_owned())).await?),
            None => None,
        };
        let Some(session) = found else {
            let once = if self.trusting.trust {
                None
            } else {
                match self.decide(client, folder, lasting, (console, signals)).await? {
                    Decided::Once(shown) => Some(shown),
                    Decided::Trusted | Decided::Untrusted => None,
                }
            };
            let create = CreateSession {
                agent: self.agent.map(|agent| match agent {
                    AgentName::Claude => Agent::Claude,
                    AgentName::Demo => Agent::Demo,
                }),
                model: self.model.clone(),
                permission_mode: self.mode.clone(),
                json_schema: schema.map(|schema| Json::of(&schema)),
                max_budget_usd: self.budget,
                trusted: self.trusting.trust || once.is_some(),
                fingerprint: once,
                ..CreateSession::new(folder)
            };
            let id = client.create(create).await.map_err(failed)?;
            let session = client.session(&id).await.map_err(failed)?;
            return session
                .map(|session| (session, Found::New))
                .ok_or_else(|| HostFailure::NoSession(id.to_string()).into());
        };
        self.decide_again(client, &session, (console, signals)).await?;
        let id = Some(&session.session_id);
        if let Some(model) = &self.model {
            client.command(id, SetModel { model: Some(model.clone()) }).await.map_err(failed)?;
        }
        if let Some(permission_mode) = self.mode.clone() {
            client.command(id, SetMode { permission_mode }).await.map_err(failed)?;
        }
        if self.budget.is_some() {
            client.command(id, SetBudget { max_budget_usd: self.budget }).await.map_err(failed)?;
        }
        let found = if session.state == SessionState::Ended { Found::Ended } else { Found::AtWork };
        Ok((session, found))
    }

    /// A session of the host, or a conversation that only the CLI knows.
    async fn resumed(
        &self,
        client: &jackfield_client::Client,
        id: &str,
        folder: &str,
    ) -> Result<SessionSummary, HostFailure> {
        match choice::by_prefix(client, id).await {
            Err(HostFailure::NoSession(_)) if uuid::Uuid::try_parse(id).is_ok() => {
                let create = CreateSession {
                    origin: SessionOrigin::Resumed,
                    cli_session_id: Some(id.to_owned()),
                    ..CreateSession::new(folder)
                };
                let created = client.create(create).await?;
                let session = client.session(&created).await?;
                session.ok_or_else(|| HostFailure::NoSession(created.to_string()))
            }
            found => found,
        }
    }
}
