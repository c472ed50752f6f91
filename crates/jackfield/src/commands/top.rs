//! `jackfield top`: all sessions of the running host, live, in a terminal.
//!
//! It looks, and answers or interrupts when it is told to; everything it shows is a function of the [`model`]. The one
//! rule it keeps: the terminal is given back as it was, however it ends.

mod model;
mod pulse;
mod view;

use std::env;
use std::io::{self, IsTerminal as _};
use std::time::{Duration, SystemTime};

use clap::Args;
use jackfield_api::Timestamp;
use jackfield_api::command::{Allow, Answer, Deny, Interrupt, Verdict};
use jackfield_client::{Client, ClientError};
use jackfield_host::store::SessionQuery;
use jackfield_sdk::Environment;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use thiserror::Error;
use tokio::sync::mpsc;

use crate::config::{self, Flags};
use crate::failure::{Exit, Failure};
use model::{Asked, Model};
use pulse::Pulses;

/// How often the host is asked.
const EVERY: Duration = Duration::from_millis(500);
/// How long a key is waited for before it is looked whether the view is still there.
const KEY: Duration = Duration::from_millis(200);
/// How many sessions are shown at most.
const SESSIONS: u32 = 200;

/// Watch all sessions of the running host
///
/// State, time of the turn, tokens per second, cost, context, open questions and memory of every session. `a` allows
/// and `d` denies the first question of the chosen session, `i` interrupts it, `q` ends the view.
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
}

impl TopFailure {
    pub(crate) fn hint(&self) -> &'static str {
        match self {
            Self::NoHost => "start one with `jackfield serve`, or name its folder with `--data`",
            Self::Client(_) => "see whether the host still runs",
            Self::NoTerminal | Self::Terminal(_) => "`jackfield sessions` lists sessions without a terminal",
        }
    }

    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::NoHost | Self::NoTerminal => Exit::Usage,
            Self::Client(_) | Self::Terminal(_) => Exit::Failed,
        }
    }
}

impl Top {
    pub(crate) fn run(&self) -> Result<(), Failure> {
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
        Ok(ended?)
    }
}

/// Shows and does what is asked until it is enough. The terminal is as it was afterwards.
async fn watch(host: &Client) -> Result<(), TopFailure> {
    let mut terminal = ratatui::try_init().map_err(TopFailure::Terminal)?;
    let shown = show(host, &mut terminal).await;
    let restored = ratatui::try_restore().map_err(TopFailure::Terminal);
    shown.and(restored)
}

async fn show(host: &Client, terminal: &mut ratatui::DefaultTerminal) -> Result<(), TopFailure> {
    let mut model = Model::default();
    let mut pulses = Pulses::new(host.clone());
    let mut keys = keys();
    let mut tick = tokio::time::interval(EVERY);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = tick.tick() => look(host, &mut model, &mut pulses).await?,
            key = keys.recv() => match key {
                Some(Key::Typed(code)) => {
                    let Some(asked) = model.key(code) else { continue };
                    if asked == Asked::End {
                        return Ok(());
                    }
                    let came = act(host, asked).await;
                    model.told(came.err().map(|error| error.to_string()));
                    look(host, &mut model, &mut pulses).await?;
                }
                Some(Key::Other) => {}
                None => return Ok(()),
            },
        }
        terminal.draw(|frame| view::draw(frame, &model)).map_err(TopFailure::Terminal)?;
    }
}

/// Asks the host how everything stands.
async fn look(host: &Client, model: &mut Model, pulses: &mut Pulses) -> Result<(), TopFailure> {
    let query = SessionQuery { limit: SESSIONS, ..SessionQuery::default() };
    let sessions = host.sessions(query).await?.sessions;
    let processes = host.processes().await?;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let now = Timestamp(u64::try_from(now.as_millis()).unwrap_or(u64::MAX));
    let rates = pulses.look(&sessions, now);
    model.look(sessions, &processes, &rates, now);
    Ok(())
}

/// Does what was asked.
async fn act(host: &Client, asked: Asked) -> Result<(), ClientError> {
    match asked {
        Asked::End => Ok(()),
        Asked::Interrupt(id) => host.command(Some(&id), Interrupt {}).await.map(drop),
        Asked::Allow(id, pending_id) => {
            let verdict = Verdict::Allow(Allow::default());
            host.command(Some(&id), Answer { pending_id, verdict }).await.map(drop)
        }
        Asked::Deny(id, pending_id) => {
            let message = "denied by the person at the terminal".to_owned();
            let verdict = Verdict::Deny(Deny { message, interrupt: false });
            host.command(Some(&id), Answer { pending_id, verdict }).await.map(drop)
        }
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
