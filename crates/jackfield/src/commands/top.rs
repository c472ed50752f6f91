//! `jackfield top`: all sessions of the running host, live, in a terminal.
//!
//! It looks, and answers or interrupts when it is told to; everything it shows is a function of the [`model`]. Keys are
//! heard whatever the host does: what it is asked for is waited for beside everything else. The one rule it keeps: the
//! terminal is given back as it was, however it ends.

mod answering;
mod beside;
mod model;
mod pulse;
mod seen;
mod view;

use std::env;
use std::io::{self, IsTerminal as _};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use clap::Args;
use jackfield_api::Timestamp;
use jackfield_api::command::Interrupt;
use jackfield_client::{Client, ClientError};
use jackfield_sdk::Environment;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use thiserror::Error;
use tokio::sync::mpsc;

use crate::commands::signals::Signals;
use crate::config::{self, Flags};
use crate::failure::{Exit, Failure};
use beside::Beside;
use model::{Asked, Model};
use pulse::Pulses;
use seen::Seen;

/// How often it is looked at memory and at how fast sessions speak; all else is told by the host.
const EVERY: Duration = Duration::from_secs(1);
/// How often a new picture is drawn at most, however much changes.
const PICTURE: Duration = Duration::from_millis(100);
/// How long a key is waited for before it is looked whether the view is still there.
const KEY: Duration = Duration::from_millis(200);

/// Watch all sessions of the running host
///
/// State, time of the turn, tokens per second, cost, context, open questions and memory of every session. `a` allows
/// and `d` denies what the chosen session asks first, a number answers a question of the model, `i` interrupts the
/// session, `q` ends the view.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  jackfield top
  jackfield top --data /tmp/try-it")]
pub(crate) struct Top {
    #[command(flatten)]
    flags: Flags,
}

/// Why there is nothing to see.
#[derive(Debug, Error)]
pub(crate) enum TopFailure {
    #[error("no host runs on the data folder")]
    NoHost,
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error("standard output is no terminal")]
    NoTerminal,
    #[error("cannot use the terminal: {0}")]
    Terminal(#[source] io::Error),
    #[error("cannot listen to signals: {0}")]
    Signals(#[source] io::Error),
}

impl TopFailure {
    pub(crate) fn hint(&self) -> &'static str {
        match self {
            Self::NoHost => "start one with `jackfield serve`, or name its folder with `--data`",
            Self::Client(_) => "see whether the host still runs",
            Self::NoTerminal | Self::Terminal(_) | Self::Signals(_) => {
                "`jackfield sessions` lists sessions without a terminal"
            }
        }
    }

    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::NoHost | Self::NoTerminal => Exit::Usage,
            Self::Client(_) | Self::Terminal(_) | Self::Signals(_) => Exit::Failed,
        }
    }
}

impl Top {
    pub(crate) fn run(&self) -> Result<ExitCode, Failure> {
        let environment: Environment = env::vars_os().collect();
        let config = config::load(&self.flags, &environment)?.config;
        let data = config.data_folder()?.to_owned();
        if !(io::stdout().is_terminal() && io::stdin().is_terminal()) {
            return Err(TopFailure::NoTerminal.into());
        }
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .map_err(Failure::Runtime)?;
        let ended = runtime.block_on(async {
            let host =
                Client::running(&data, "top").await.map_err(TopFailure::Client)?.ok_or(TopFailure::NoHost)?;
            watch(&host).await
        });
        // The thread that waits for keys is not waited for.
        runtime.shutdown_background();
        Ok(ended?.into())
    }
}

/// Shows and does what is asked until it is enough. The terminal is as it was afterwards.
async fn watch(host: &Client) -> Result<Exit, TopFailure> {
    // Before anything of the terminal is changed.
    let mut signals = Signals::new().map_err(TopFailure::Signals)?;
    let mut terminal = ratatui::try_init().map_err(TopFailure::Terminal)?;
    let shown = tokio::select! {
        shown = show(host, &mut terminal) => shown.map(|()| Exit::Done),
        () = signals.next() => Ok(Exit::Interrupted),
    };
    let restored = ratatui::try_restore().map_err(TopFailure::Terminal);
    match shown {
        // A terminal that is gone, which is what one of the signals says, cannot be given back.
        Ok(Exit::Interrupted) => Ok(Exit::Interrupted),
        shown => shown.and_then(|exit| restored.map(|()| exit)),
    }
}

async fn show(host: &Client, terminal: &mut ratatui::DefaultTerminal) -> Result<(), TopFailure> {
    let (mut model, mut seen) = (Model::default(), Seen::default());
    let mut pulses = Pulses::new(host.clone());
    let mut watching = host.watch();
    let mut keys = keys();
    let mut looking = Beside::nothing();
    let mut doing = Beside::<Result<(), ClientError>>::nothing();
    let mut tick = tokio::time::interval(EVERY);
    let mut picture = tokio::time::interval(PICTURE);
    for interval in [&mut tick, &mut picture] {
        interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    }
    let mut changed = false;
    loop {
        tokio::select! {
            told = watching.next() => match told {
                Some(told) => {
                    seen.take(told?);
                    changed = true;
                    continue;
                }
                None => return Ok(()),
            },
            _ = tick.tick() => {
                let host = host.clone();
                looking.begin(async move { host.processes().await });
                seen.rates = pulses.look(seen.sessions(), now());
            }
            processes = looking.done() => {
                seen.processes = processes?;
                changed = true;
                continue;
            }
            came = doing.done() => model.told(came.err().map(|error| error.to_string())),
            _ = picture.tick(), if changed => {}
            key = keys.recv() => match key {
                Some(Key::Typed(code)) => {
                    if let Some(asked) = model.key(code) {
                        if asked == Asked::End {
                            return Ok(());
                        }
                        doing.begin(act(host.clone(), asked));
                    }
                }
                Some(Key::Other) => {}
                None => return Ok(()),
            },
        }
        changed = false;
        model.look(seen.shown(), &seen.processes, &seen.rates, now());
        terminal.draw(|frame| view::draw(frame, &model)).map_err(TopFailure::Terminal)?;
    }
}

fn now() -> Timestamp {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp(u64::try_from(now.as_millis()).unwrap_or(u64::MAX))
}

/// Does what was asked.
async fn act(host: Client, asked: Asked) -> Result<(), ClientError> {
    match asked {
        Asked::End => Ok(()),
        Asked::Interrupt(id) => host.command(Some(&id), Interrupt {}).await.map(drop),
        Asked::Answer(id, answer) => host.command(Some(&id), answer).await.map(drop),
    }
}

enum Key {
    Typed(KeyCode),
    /// The window changed, or something else that only needs a new picture.
    Other,
}

/// What is typed, from a thread of its own: reading keys waits.
fn keys() -> mpsc::Receiver<Key> {
    let (to, from) = mpsc::channel(16);
    tokio::task::spawn_blocking(move || {
        while !to.is_closed() {
            match event::poll(KEY) {
                Ok(false) => continue,
                Ok(true) => {}
                Err(_) => return,
            }
            let key = match event::read() {
                Ok(Event::Key(key)) if key.kind != KeyEventKind::Press => continue,
                Ok(Event::Key(key))
                    if key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL) =>
                {
                    Key::Typed(KeyCode::Char('q'))
                }
                Ok(Event::Key(key)) => Key::Typed(key.code),
                Ok(_) => Key::Other,
                Err(_) => return,
            };
            if to.blocking_send(key).is_err() {
                return;
            }
        }
    });
    from
}
