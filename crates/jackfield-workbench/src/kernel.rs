//! A Jupyter kernel in which the model's Python code runs; the state is kept from one call to the next.
//!
//! Whether code may run at all was decided before. Nothing is started until there is code. The one rule it keeps: a
//! call ends (done, failed, interrupted or out of time), and the kernel ends with whoever holds it.

mod output;
mod running;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use self::output::Gathering;
pub use self::output::{Output, Part};
use self::running::{Happened, Running};
use crate::process::Surroundings;

/// How many calls may wait for their turn.
const WAITING: usize = 16;
/// How long code has to stop after an interrupt; then the kernel is ended.
const MERCY: Duration = Duration::from_secs(5);

/// How a kernel is set up.
#[derive(Debug, Clone)]
pub struct KernelSetup {
    /// The Python, with `ipykernel`: a path, or a name to look for.
    pub python: OsString,
    /// The folder to work in.
    pub folder: PathBuf,
    /// How long a piece of code may run.
    pub limit: Duration,
    /// How it is started.
    pub surroundings: Surroundings,
}

/// Why code did not run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KernelError {
    /// There is no such Python.
    #[error(
        "cannot run code: there is no `{python}`; install Python 3 with ipykernel, and name it in `tools.python`"
    )]
    NoPython {
        /// What was looked for.
        python: String,
    },
    /// The Python has no kernel.
    #[error(
        "cannot run code: `{python}` has no Jupyter kernel; install it with `{python} -m pip install ipykernel`, \
         or name a Python that has it in `tools.python`"
    )]
    NoJupyter {
        /// The Python.
        python: String,
    },
    /// The kernel does not begin.
    #[error("cannot start the Jupyter kernel of `{python}`: {reason}")]
    Start {
        /// The Python.
        python: String,
        /// What it said.
        reason: String,
    },
    /// The kernel ended while the code ran.
    #[error("the Jupyter kernel ended while the code ran, and what it had in memory is lost: {reason}")]
    Died {
        /// What it said.
        reason: String,
    },
    /// Too many calls wait, or the program ends.
    #[error("cannot run code now: the kernel is busy")]
    Busy,
}

/// A kernel; it is started with the first call. Dropping it ends it.
#[derive(Debug)]
pub struct Kernel {
    setup: KernelSetup,
    calls: OnceLock<mpsc::Sender<Call>>,
}

#[derive(Debug)]
struct Call {
    code: String,
    answer: oneshot::Sender<Result<Output, KernelError>>,
}

impl Kernel {
    /// A kernel that is not started yet.
    pub fn new(setup: KernelSetup) -> Self {
        Self { setup, calls: OnceLock::new() }
    }

    /// Runs code behind what was asked for before. Dropping the future interrupts the code. Needs a running tokio
    /// runtime.
    pub async fn execute(&self, code: String) -> Result<Output, KernelError> {
        let calls = self.calls.get_or_init(|| {
            let (calls, waiting) = mpsc::channel(WAITING);
            tokio::spawn(attend(self.setup.clone(), waiting));
            calls
        });
        let (answer, answered) = oneshot::channel();
        calls.try_send(Call { code, answer }).map_err(|_| KernelError::Busy)?;
        answered.await.unwrap_or(Err(KernelError::Busy))
    }
}

/// Serves one call after the other, until nobody can call any more.
async fn attend(setup: KernelSetup, mut waiting: mpsc::Receiver<Call>) {
    let mut kernel = None;
    while let Some(Call { code, mut answer }) = waiting.recv().await {
        if answer.is_closed() {
            continue;
        }
        let running = if let Some(running) = kernel.take() {
            Ok(running)
        } else {
            tokio::select! {
                begun = Running::start(&setup) => begun,
                // Who asked is gone, and so is what had begun.
                () = answer.closed() => continue,
            }
        };
        match running {
            Ok(mut running) => {
                let (outcome, state) = run(&mut running, code, setup.limit, &mut answer).await;
                // Nobody may wait for it any more.
                let _ = answer.send(outcome);
                if state == State::Kept {
                    kernel = Some(running);
                }
            }
            Err(error) => drop(answer.send(Err(error))),
        }
    }
    if let Some(running) = kernel {
        running.end().await;
    }
}

/// What became of the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Kept,
    Lost,
}

/// Why code is stopped before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    OutOfTime,
    NobodyWaits,
}

async fn run(
    running: &mut Running,
    code: String,
    limit: Duration,
    answer: &mut oneshot::Sender<Result<Output, KernelError>>,
) -> (Result<Output, KernelError>, State) {
    let died = |reason: String| (Err(KernelError::Died { reason }), State::Lost);
    let Ok(call) = running.execute(code).await else { return died(running.last_words().await) };
    let mut gathering = Gathering::default();
    let mut stop = None;
    let mut deadline = Instant::now() + limit;
    loop {
        let happened = tokio::select! {
            happened = running.next(&call) => happened,
            () = tokio::time::sleep_until(deadline) => match stop {
                None => {
                    stop = Some(Stop::OutOfTime);
                    deadline = Instant::now() + MERCY;
                    running.interrupt().await;
                    continue;
                }
                Some(stop) => return (Ok(stopped(gathering, stop, limit, State::Lost)), State::Lost),
            },
            () = answer.closed(), if stop.is_none() => {
                stop = Some(Stop::NobodyWaits);
                deadline = Instant::now() + MERCY;
                running.interrupt().await;
                continue;
            }
        };
        match happened {
            Happened::Shown(content) => gathering.take(*content),
            Happened::Done => {
                let output = match stop {
                    None => gathering.finish(),
                    Some(stop) => stopped(gathering, stop, limit, State::Kept),
                };
                return (Ok(output), State::Kept);
            }
            Happened::Ended(reason) => return died(reason),
        }
    }
}

/// What code has shown that was stopped, and that it was.
fn stopped(gathering: Gathering, stop: Stop, limit: Duration, state: State) -> Output {
    let mut output = gathering.finish();
    output.failed = true;
    if stop == Stop::OutOfTime {
        let became = match state {
            State::Kept => "what it had in memory is still there",
            State::Lost => "it did not stop, so the kernel was ended, and what it had in memory is lost",
        };
        let words = format!("\nThe code was interrupted after {} seconds; {became}.\n", limit.as_secs());
        output.parts.push(Part::Text(words));
    }
    output
}
