//! `jackfield top`: all sessions of the running host, live, in a terminal.
//!
//! It looks, and answers or interrupts when it is told to; everything it shows is a function of the [`model`]. Keys are
//! heard whatever the host does: what it is asked for is waited for beside everything else. The one rule it keeps: the
//! terminal is given back as it was, however it ends.

mod answering;
mod beside;
mod guard;
mod keys;
mod model;
mod pulse;
mod rows;
mod screen;
mod seen;
mod sheet;
mod view;

use std::env;
use std::io::{self, IsTerminal as _, Write as _};
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime};

use clap::Args;
use jackfield_api::Timestamp;
use jackfield_api::command::Interrupt;
use jackfield_client::{Client, ClientError};
use jackfield_sdk::Environment;
use thiserror::Error;

use crate::commands::signals::Signals;
use crate::config::{self, Flags};
use crate::failure::{Exit, Failure};
use beside::Beside;
use keys::{Key, keys};
use model::{Asked, DeedKind, Model, Over, Sight};
use pulse::Pulses;
use screen::Screen;
use seen::Seen;

/// How often it is looked at memory and at how fast sessions speak; all else is told by the host.
const EVERY: Duration = Duration::from_secs(1);
/// How often a new picture is drawn at most, however much changes.
const PICTURE: Duration = Duration::from_millis(100);

/// Watch all sessions of the running host
///
/// State, time of the turn, tokens per second, cost, context, open questions and memory of every session. `a` allows
/// and `d` denies what the chosen session asks first, a number answers a question of the model, `i` interrupts the
/// session, `q` ends the view. An answer is taken once the whole question has stood on the screen for half a second;
/// in a window that is too small for it, it can only be denied.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  jackfield top
  jackfield top --data /tmp/try-it")]
pub(crate) struct Top {
    #[command(flatten)]
    flags: Flags,
}

/// Why there is nothing to see, or not what was asked for.
#[derive(Debug, Error)]
pub(crate) enum TopFailure {
    #[error("no host runs on the data folder")]
    NoHost,
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error("{0} is no terminal")]
    NoTerminal(&'static str),
    #[error("cannot use the terminal: {0}")]
    Terminal(#[source] io::Error),
    #[error("cannot listen to signals: {0}")]
    Signals(#[source] io::Error),
    #[error("it is not confirmed {0}")]
    Unconfirmed(&'static str),
    #[error("the last thing was not done: {0}")]
    NotDone(String),
}

impl TopFailure {
    pub(crate) fn hint(&self) -> &'static str {
        match self {
            Self::NoHost => "start one with `jackfield serve`, or name its folder with `--data`",
            Self::Client(_) => "see whether the host still runs",
            Self::NoTerminal(_) | Self::Terminal(_) | Self::Signals(_) => {
                "`jackfield sessions` lists sessions without a terminal"
            }
            Self::Unconfirmed(_) | Self::NotDone(_) => "`jackfield top` shows how the session stands",
        }
    }

    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::NoHost | Self::NoTerminal(_) => Exit::Usage,
            Self::Client(_)
            | Self::Terminal(_)
            | Self::Signals(_)
            | Self::Unconfirmed(_)
            | Self::NotDone(_) => Exit::Failed,
        }
    }
}

/// What nobody knows of something that was under way.
fn unconfirmed(deed: DeedKind) -> &'static str {
    match deed {
        DeedKind::Answer => "that the host took the answer",
        DeedKind::Interrupt => "that the session was interrupted",
    }
}

impl Top {
    pub(crate) fn run(&self) -> Result<ExitCode, Failure> {
        let environment: Environment = env::vars_os().collect();
        let config = config::load(&self.flags, &environment)?.config;
        let data = config.data_folder()?.to_owned();
        for (is_terminal, name) in
            [(io::stdout().is_terminal(), "standard output"), (io::stdin().is_terminal(), "standard input")]
        {
            if !is_terminal {
                return Err(TopFailure::NoTerminal(name).into());
            }
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

/// How it came to its end.
enum Ended {
    Over(Over),
    /// A signal came, and this was under way.
    Signal(Option<DeedKind>),
}

/// Shows and does what is asked until it is enough. The terminal is as it was afterwards.
async fn watch(host: &Client) -> Result<Exit, TopFailure> {
    // Before anything of the terminal is changed.
    let mut signals = Signals::new().map_err(TopFailure::Signals)?;
    let mut screen = Screen::take().map_err(TopFailure::Terminal)?;
    let shown = show(host, &mut screen, &mut signals).await;
    let given_back = screen.give_back().map_err(TopFailure::Terminal);
    match shown? {
        Ended::Signal(underway) => {
            if let Some(deed) = underway {
                // A terminal that is gone, which is what one of the signals says, cannot be told.
                let _ = writeln!(io::stderr(), "jackfield: {}", TopFailure::Unconfirmed(unconfirmed(deed)));
            }
            Ok(Exit::Interrupted)
        }
        Ended::Over(over) => {
            given_back?;
            match over {
                Over::Done => Ok(Exit::Done),
                Over::Unconfirmed(deed) => Err(TopFailure::Unconfirmed(unconfirmed(deed))),
                Over::NotDone(why) => Err(TopFailure::NotDone(why)),
            }
        }
    }
}

async fn show(host: &Client, screen: &mut Screen, signals: &mut Signals) -> Result<Ended, TopFailure> {
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
                None => return Ok(Ended::Over(Over::Done)),
            },
            _ = tick.tick() => {
                let host = host.clone();
                seen.asks(Instant::now());
                looking.begin(async move { host.processes().await });
                seen.rates = pulses.look(seen.sessions(), now());
            }
            processes = looking.done() => {
                seen.is_looked_at(processes);
                changed = true;
                continue;
            }
            came = doing.done() => {
                // What it was about may be gone by now, and that is told with it.
                model.look(sight(&seen));
                model.told(came.err().map(|error| error.to_string()));
            }
            _ = picture.tick(), if changed => {}
            () = until(model.due()) => {}
            () = signals.next() => return Ok(Ended::Signal(model.underway())),
            key = keys.recv() => match key {
                Some(Key::Typed(code, at)) => {
                    if let Some(asked) = model.key(code, at) {
                        doing.begin(act(host.clone(), asked));
                    }
                }
                Some(Key::Other) => {}
                None => return Ok(Ended::Over(Over::Done)),
            },
        }
        changed = false;
        model.pass(Instant::now());
        if let Some(over) = model.over() {
            return Ok(Ended::Over(over.clone()));
        }
        model.look(sight(&seen));
        let mut on_screen = None;
        let drawn = screen.terminal.draw(|frame| on_screen = view::draw(frame, &model));
        drawn.map_err(TopFailure::Terminal)?;
        model.drawn(on_screen, Instant::now());
    }
}

/// How things stand, as far as was told.
fn sight(seen: &Seen) -> Sight<'_> {
    let (sessions, known) = seen.shown();
    let link = seen.link(Instant::now());
    Sight { sessions, known, link, processes: &seen.processes, rates: seen.rates.clone(), now: now() }
}

async fn until(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due.into()).await,
        None => std::future::pending().await,
    }
}

fn now() -> Timestamp {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp(u64::try_from(now.as_millis()).unwrap_or(u64::MAX))
}

/// Does what was asked.
async fn act(host: Client, asked: Asked) -> Result<(), ClientError> {
    match asked {
        Asked::Interrupt(id) => host.command(Some(&id), Interrupt {}).await.map(drop),
        Asked::Answer(id, answer) => host.command(Some(&id), answer).await.map(drop),
    }
}
