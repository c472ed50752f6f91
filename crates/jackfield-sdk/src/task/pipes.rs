//! What is read from the CLI, and how much of it is over.
//!
//! Bytes, not lines. The one rule it keeps: a session that waits holds no buffer.

use std::cell::Cell;
use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::task::Poll;

use jackfield_core::Exit;
use tokio::io::AsyncReadExt;
use tokio::process::{ChildStderr, ChildStdout};
use tokio::time::{Instant, sleep_until};

/// How much of the CLI's output is read at once.
const CHUNK: usize = 64 * 1024;

/// The ends of the pipes, and how much of them is over.
pub(super) struct Pipes {
    pub(super) stdout: Option<ChildStdout>,
    pub(super) stderr: Option<ChildStderr>,
    pub(super) exit: Option<Exit>,
    /// When the rest of the end is no longer waited for.
    pub(super) patience: Option<Instant>,
}

impl Pipes {
    pub(super) fn new(stdout: ChildStdout, stderr: ChildStderr) -> Self {
        Self { stdout: Some(stdout), stderr: Some(stderr), exit: None, patience: None }
    }

    pub(super) fn are_over(&self) -> bool {
        self.exit.is_some() && self.stdout.is_none() && self.stderr.is_none()
    }
}

thread_local! {
    /// What this thread reads into. Between a look and the use of what was seen a task stays on its thread; so all
    /// sessions of a thread share one buffer, and one that waits holds none.
    static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// What there is to read; nothing at the end.
pub(super) async fn read<R: AsyncReadExt + Unpin>(from: &mut Option<R>) -> io::Result<Vec<u8>> {
    let Some(from) = from else { return Ok(Vec::new()) };
    poll_fn(|context| {
        let mut chunk = BUFFER.take();
        chunk.clear();
        chunk.reserve_exact(CHUNK);
        match pin!(from.read_buf(&mut chunk)).poll(context) {
            Poll::Ready(read) => Poll::Ready(read.map(|_| chunk)),
            Poll::Pending => {
                BUFFER.set(chunk);
                Poll::Pending
            }
        }
    })
    .await
}

/// Gives back what was read into.
pub(super) fn give_back(chunk: Vec<u8>) {
    BUFFER.set(chunk);
}

pub(super) async fn until(instant: Option<Instant>) {
    if let Some(instant) = instant {
        sleep_until(instant).await;
    }
}
