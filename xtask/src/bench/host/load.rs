//! The load: clients of a server, in a process of their own so that their work is not counted as its.
//!
//! A hidden command of `xtask` that does one thing and writes one line of figures. The one rule it keeps: what it
//! counts begins when everybody is there, and ends when the last one has seen everything.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use jackfield_api::SessionId;
use jackfield_api::command::{Command, Content, CreateSession, Prompt, Reply};
use jackfield_api::host::SessionSummary;
use jackfield_api::session::Priority;
use jackfield_api::snapshot::SessionState;
use jackfield_api::socket::{ClientFrame, GivenCommand, ServerFrame, Subscribe, Watch};
use nix::time::{clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};
use tokio::task::JoinSet;

use super::connection::{Connection, Door};
use super::watcher::{Seen, Watcher};
use crate::bench::measure;

/// What to do to a server.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Where it listens.
    #[arg(long)]
    address: SocketAddr,
    /// Its data folder.
    #[arg(long)]
    data: PathBuf,
    #[command(subcommand)]
    load: Load,
}

#[derive(Debug, clap::Subcommand)]
enum Load {
    /// One turn in each of some new sessions.
    Turn {
        /// The server's process.
        #[arg(long)]
        pid: i32,
        /// How many sessions.
        #[arg(long)]
        sessions: usize,
        /// How many watch each of them.
        #[arg(long)]
        watchers: usize,
        /// The folder they work in.
        #[arg(long)]
        folder: PathBuf,
    },
    /// The list of sessions.
    List,
    /// A session that is stored.
    Open {
        /// Which.
        session: SessionId,
    },
}

/// What came of it; each load fills its part.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Report {
    /// One of the sessions.
    pub(super) session: Option<SessionId>,
    /// Events that reached a watcher, counted for each watcher.
    pub(super) deliveries: u64,
    pub(super) lost: u64,
    pub(super) doubled: u64,
    pub(super) p50_us: u32,
    pub(super) p99_us: u32,
    pub(super) max_us: u32,
    pub(super) cpu_seconds: f64,
    pub(super) wall_seconds: f64,
    pub(super) peak_megabytes: f64,
    pub(super) bytes: usize,
}

/// Why there are no figures.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LoadError {
    /// The connection, or a file.
    #[error("cannot talk to the server: {0}")]
    Io(#[from] std::io::Error),
    /// A frame was something else.
    #[error("cannot read a frame: {0}")]
    Frame(#[from] serde_json::Error),
    /// A frame came that should not.
    #[error("did not expect this of the server: {0}")]
    Unexpected(String),
    /// It takes for ever.
    #[error("the server did not end its work within {} s", LONGEST.as_secs())]
    TimedOut,
}

/// How long anything may take.
const LONGEST: Duration = Duration::from_mins(5);
/// How many connect at once; a server takes only so many strangers.
const ARRIVING: usize = 64;

/// Does it, and writes the figures.
pub(crate) fn run(arguments: Arguments) -> Result<(), LoadError> {
    // One thread: the other core is for the server.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let report = runtime.block_on(async {
        let door = Door::new(arguments.address, &arguments.data)?;
        let done = async {
            match arguments.load {
                Load::Turn { pid, sessions, watchers, folder } => {
                    turn(&door, pid, sessions, watchers, &folder.to_string_lossy()).await
                }
                Load::List => first_frame(&door, &ClientFrame::Watch(Watch {})).await,
                Load::Open { session } => {
                    first_frame(
                        &door,
                        &ClientFrame::Subscribe(Subscribe { session_id: session, after: None }),
                    )
                    .await
                }
            }
        };
        tokio::time::timeout(LONGEST, done).await.map_err(|_| LoadError::TimedOut)?
    })?;
    println!("{}", serde_json::to_string(&report)?);
    Ok(())
}

async fn turn(
    door: &Door,
    pid: i32,
    sessions: usize,
    watchers: usize,
    folder: &str,
) -> Result<Report, LoadError> {
    let mut control = Control { connection: Connection::open(door).await?, given: 0, done: BTreeSet::new() };
    let mut ids = BTreeSet::new();
    for _ in 0..sessions {
        ids.insert(control.create(folder).await?);
    }
    control.connection.say(&ClientFrame::Watch(Watch {})).await?;
    let mut wanted: Vec<SessionId> = ids.iter().flat_map(|id| vec![id.clone(); watchers]).collect();
    let mut there = Vec::new();
    while !wanted.is_empty() {
        let mut arriving = JoinSet::new();
        for id in wanted.split_off(wanted.len().saturating_sub(ARRIVING)) {
            let door = door.clone();
            arriving.spawn(async move { Watcher::open(&door, id).await });
        }
        for arrived in arriving.join_all().await {
            there.push(arrived?);
        }
    }

    let (cpu, begun) = (cpu_seconds(pid)?, Instant::now());
    let mut watching: JoinSet<_> = there.into_iter().map(Watcher::watch).collect();
    control.prompt(&ids).await?;
    control.until_done(&ids).await?;
    let mut report = Report { session: ids.pop_first(), ..Report::default() };
    let mut ages = Vec::new();
    while let Some(seen) = watching.join_next().await {
        let seen = seen.map_err(|error| LoadError::Unexpected(error.to_string()))??;
        let Seen { events, lost, doubled, ages: its } = seen;
        report.deliveries += events;
        report.lost += lost;
        report.doubled += doubled;
        ages.extend(its);
    }
    report.wall_seconds = begun.elapsed().as_secs_f64();
    report.cpu_seconds = cpu_seconds(pid)? - cpu;
    report.peak_megabytes = measure::peak_megabytes(pid.unsigned_abs()).unwrap_or(f64::NAN);
    ages.sort_unstable();
    let at = |percent: usize| ages.get((ages.len() * percent / 100).min(ages.len().saturating_sub(1)));
    let at = |percent| at(percent).copied().unwrap_or(0);
    (report.p50_us, report.p99_us, report.max_us) = (at(50), at(99), at(100));
    Ok(report)
}

/// Asks for something, and waits for the frame that shows it.
async fn first_frame(door: &Door, ask: &ClientFrame) -> Result<Report, LoadError> {
    let mut connection = Connection::open(door).await?;
    let begun = Instant::now();
    connection.say(ask).await?;
    let frame = connection.next().await?;
    let (wall_seconds, bytes) = (begun.elapsed().as_secs_f64(), frame.len());
    match serde_json::from_slice(frame)? {
        ServerFrame::Snapshot(_) | ServerFrame::Sessions(_) => {
            Ok(Report { wall_seconds, bytes, ..Report::default() })
        }
        other => Err(LoadError::Unexpected(format!("{other:?}"))),
    }
}

/// The one who gives commands.
struct Control {
    connection: Connection,
    given: usize,
    /// The sessions whose turn is over.
    done: BTreeSet<SessionId>,
}

impl Control {
    async fn give(&mut self, session_id: Option<SessionId>, command: Command) -> Result<(), LoadError> {
        self.given += 1;
        // A repeated id would be answered as before and done no more, also for another process.
        let id = format!("load-{}-{}", std::process::id(), self.given);
        let given = GivenCommand { id, session_id, command, traceparent: None, tracestate: None };
        self.connection.say(&ClientFrame::Command(Box::new(given))).await
    }

    async fn next(&mut self) -> Result<ServerFrame, LoadError> {
        let frame = serde_json::from_slice(self.connection.next().await?)?;
        match &frame {
            ServerFrame::Rejected(rejected) => {
                return Err(LoadError::Unexpected(rejected.rejection.reason.clone()));
            }
            ServerFrame::Sessions(sent) => {
                let over =
                    |summary: &&SessionSummary| summary.state == SessionState::Idle && summary.turn.is_some();
                self.done.extend(sent.sessions.iter().filter(over).map(|summary| summary.session_id.clone()));
            }
            _ => {}
        }
        Ok(frame)
    }

    async fn create(&mut self, folder: &str) -> Result<SessionId, LoadError> {
        self.give(None, CreateSession::new(folder).into()).await?;
        loop {
            if let ServerFrame::Accepted(accepted) = self.next().await?
                && let Reply::Created(created) = accepted.reply
            {
                return Ok(created.session_id);
            }
        }
    }

    async fn prompt(&mut self, ids: &BTreeSet<SessionId>) -> Result<(), LoadError> {
        for (number, id) in ids.iter().enumerate() {
            let uuid = format!("00000000-0000-4000-8000-{number:012}").as_str().into();
            let content = vec![Content::Text { text: "go".to_owned() }];
            self.give(Some(id.clone()), Prompt { uuid, content, priority: Priority::Next }.into()).await?;
            while !matches!(self.next().await?, ServerFrame::Accepted(_)) {}
        }
        Ok(())
    }

    /// Waits until the turn of each is over.
    async fn until_done(&mut self, ids: &BTreeSet<SessionId>) -> Result<(), LoadError> {
        while !self.done.is_superset(ids) {
            self.next().await?;
        }
        Ok(())
    }
}

/// Processor time of a process, user and system, all its threads.
pub(super) fn cpu_seconds(pid: i32) -> std::io::Result<f64> {
    let time = clock_gettime(clock_getcpuclockid(Pid::from_raw(pid))?)?;
    Ok(Duration::from(time).as_secs_f64())
}
