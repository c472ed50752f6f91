//! The guard's life: start the CLI, wait for three things at once, end what is left.
//!
//! The one rule it keeps: the waiting only says what happened; what to do about it is one `match`.

use std::future::pending;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, getpid, getppid, kill_process, pidfd_open,
    set_child_subreaper, setsid, wait,
};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};
use tokio::signal::unix::{Signal as Signals, SignalKind, signal};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};

use crate::guard::arguments::Arguments;
use crate::guard::{Failure, TERMINATE};
use crate::tree;

/// How long the CLI may take to end when its host asked it to: the host has its own deadlines, and this one
/// is only for a host that forgets. The CLI takes about 1.5 seconds when a tool is running.
const GRACE_WHEN_ASKED: Duration = Duration::from_secs(10);
/// How long it may take when nobody is there any more to read what it says.
const GRACE_WITHOUT_HOST: Duration = Duration::from_secs(2);
/// The stack of the thread that waits for the host's end and does nothing else.
const STACK: usize = 64 * 1024;

/// How the CLI ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    Code(u8),
    Signal(u8),
}

/// What wakes the guard.
enum Happened {
    ChildChanged,
    AskedToTerminate,
    AskedToKill,
    HostGone,
    TimeUp,
}

/// The guard while its CLI runs.
struct Watch {
    cli: Pid,
    children: Signals,
    terminate: Signals,
    kill: Signals,
    /// Not for the guard: a terminal sends them to everyone, and it is for the host to decide. They are
    /// caught because they would end it.
    _unheeded: [Signals; 2],
    host: Host,
    kill_at: Option<Instant>,
}

/// The process whose end is the end of the run.
enum Host {
    Watched(oneshot::Receiver<()>),
    /// It was gone before it could be watched.
    Missing,
    /// It is known to be gone, or its end cannot be seen from here.
    Unseen,
}

/// Runs the program and returns when nothing of it is left.
pub(super) fn run(arguments: &Arguments) -> Result<Ended, Failure> {
    set_child_subreaper(Some(getpid())).map_err(Failure::system("adopt what the CLI leaves behind"))?;
    // Away from the host's terminal. Refused when the host gave the guard a process group of its own, which
    // does as well.
    let _ = setsid();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()
        .map_err(Failure::system("start the runtime"))?;
    let ended = runtime.block_on(async {
        let mut watch = Watch::start(arguments)?;
        Ok(watch.until_the_end().await)
    });
    tree::kill_descendants();
    ended
}

impl Watch {
    fn start(arguments: &Arguments) -> Result<Self, Failure> {
        let listen = |kind| signal(kind).map_err(Failure::system("listen for signals"));
        // Before the program starts: no signal may be missed, the one for its end least of all.
        let children = listen(SignalKind::child())?;
        let terminate = listen(SignalKind::terminate())?;
        let kill = listen(SignalKind::user_defined1())?;
        let unheeded = [listen(SignalKind::interrupt())?, listen(SignalKind::hangup())?];
        let host = Host::find(arguments)?;
        let child =
            Command::new(&arguments.program).args(&arguments.arguments).process_group(0).spawn().map_err(
                |source| Failure::Start { program: PathBuf::from(&arguments.program).into(), source },
            )?;
        let cli = tree::pid(tree::ProcessId(child.id()))
            .ok_or(io::ErrorKind::InvalidData)
            .map_err(Failure::system("understand the number of the CLI's process"))?;
        let_go_of_standard_streams();
        Ok(Self { cli, children, terminate, kill, _unheeded: unheeded, host, kill_at: None })
    }

    async fn until_the_end(&mut self) -> Ended {
        loop {
            match self.next().await {
                Happened::ChildChanged => {
                    if let Some(ended) = self.collect() {
                        return ended;
                    }
                }
                Happened::AskedToTerminate => self.terminate(GRACE_WHEN_ASKED),
                Happened::HostGone => self.terminate(GRACE_WITHOUT_HOST),
                Happened::AskedToKill | Happened::TimeUp => {
                    self.kill_at = None;
                    self.signal(Signal::KILL);
                }
            }
        }
    }

    async fn next(&mut self) -> Happened {
        tokio::select! {
            _ = self.children.recv() => Happened::ChildChanged,
            _ = self.terminate.recv() => Happened::AskedToTerminate,
            _ = self.kill.recv() => Happened::AskedToKill,
            () = self.host.gone() => Happened::HostGone,
            () = time(self.kill_at) => Happened::TimeUp,
        }
    }

    /// Collects every child that has ended, the adopted ones too, and says how the CLI did.
    fn collect(&self) -> Option<Ended> {
        let mut ended = None;
        while let Ok(Some((child, status))) = wait(WaitOptions::NOHANG) {
            if child == self.cli {
                ended = Ended::read(status);
            }
        }
        ended
    }

    fn terminate(&mut self, grace: Duration) {
        self.signal(TERMINATE);
        let kill_at = Instant::now() + grace;
        self.kill_at = Some(self.kill_at.map_or(kill_at, |earlier| earlier.min(kill_at)));
    }

    fn signal(&self, signal: Signal) {
        // The number is the CLI's until it is collected, and after that nothing is sent any more.
        let _ = kill_process(self.cli, signal);
    }
}

impl Host {
    fn find(arguments: &Arguments) -> Result<Self, Failure> {
        let named = arguments.host.and_then(tree::pid);
        // A guard without a parent belongs to another process namespace; then only its signals count.
        let Some(host) = named.or_else(getppid) else { return Ok(Self::Unseen) };
        let handle = match pidfd_open(host, PidfdFlags::empty()) {
            Ok(handle) => handle,
            Err(Errno::SRCH) => return Ok(Self::Missing),
            Err(error) => return Err(Failure::system("watch the host")(error)),
        };
        // A guard whose parent is another one by now was adopted: the host is gone, and its number may
        // already be somebody else's.
        if getppid() != Some(host) {
            return Ok(Self::Missing);
        }
        // A thread, because the runtime has no safe way to wait for a handle it does not know.
        let (gone, watched) = oneshot::channel();
        let waiting = move || {
            if wait_for_end(&handle).is_ok() {
                // Nobody listens any more when the guard itself is at its end.
                let _ = gone.send(());
            }
        };
        let thread = std::thread::Builder::new().name("host".to_owned()).stack_size(STACK).spawn(waiting);
        thread.map_err(Failure::system("watch the host"))?;
        Ok(Self::Watched(watched))
    }

    /// Comes back once, when the host is gone.
    async fn gone(&mut self) {
        let gone = match self {
            // A host that cannot be waited for any more is no reason to end the run.
            Self::Watched(end) => end.await.is_ok(),
            Self::Missing => true,
            Self::Unseen => false,
        };
        *self = Self::Unseen;
        if !gone {
            pending::<()>().await;
        }
    }
}

fn wait_for_end(process: &OwnedFd) -> rustix::io::Result<()> {
    loop {
        match poll(&mut [PollFd::new(process, PollFlags::IN)], None) {
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}

impl Ended {
    fn read(status: WaitStatus) -> Option<Self> {
        let number = |number: i32| u8::try_from(number).unwrap_or(u8::MAX);
        // Signals end at 64, so that 128 can be added.
        let signal = status.terminating_signal().map(|signal| Self::Signal(number(signal).min(64)));
        signal.or_else(|| status.exit_status().map(|code| Self::Code(number(code))))
    }
}

async fn time(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => pending().await,
    }
}

/// The pipes are the CLI's alone: the host sees their end when the CLI (and what it started) has closed them.
fn let_go_of_standard_streams() {
    // Without `/dev/null` they stay open until the guard exits, which is soon after the CLI.
    let Ok(nothing) = std::fs::File::options().read(true).write(true).open("/dev/null") else { return };
    let _ = dup2_stdin(&nothing);
    let _ = dup2_stdout(&nothing);
    let _ = dup2_stderr(&nothing);
}
