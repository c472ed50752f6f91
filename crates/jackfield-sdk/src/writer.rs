//! The one writer to the CLI's standard input.
//!
//! Whole lines, one after another, each with a deadline: a CLI that does not read must not hold up the
//! session. The one rule: what was written is reported when it is written, not before.

use std::io;
use std::time::Duration;

use jackfield_core::By;
use jackfield_wire::Outbound;
use tokio::io::AsyncWriteExt;
use tokio::process::ChildStdin;
use tokio::sync::mpsc;

/// How long one line may take.
const DEADLINE: Duration = Duration::from_secs(30);
/// How many lines may wait. A CLI that is this far behind does not read any more.
pub(crate) const WAITING: usize = 1024;

/// What to do with standard input.
#[derive(Debug)]
pub(crate) enum Write {
    Line(Box<Outbound>, By),
    Close,
}

/// What was done with it.
#[derive(Debug)]
pub(crate) enum Written {
    Line(Box<Outbound>, By),
    Closed,
    /// The CLI does not read, or is gone.
    Failed(io::Error),
}

/// Writes until it is told to close, or cannot go on.
pub(crate) async fn write(
    mut stdin: ChildStdin,
    mut wanted: mpsc::Receiver<Write>,
    report: mpsc::Sender<Written>,
) {
    while let Some(write) = wanted.recv().await {
        let done = match write {
            Write::Close => break,
            Write::Line(message, by) => {
                let line = message.encode() + "\n";
                match tokio::time::timeout(DEADLINE, stdin.write_all(line.as_bytes())).await {
                    Ok(Ok(())) => Written::Line(message, by),
                    Ok(Err(error)) => Written::Failed(error),
                    Err(_) => Written::Failed(io::ErrorKind::TimedOut.into()),
                }
            }
        };
        let failed = matches!(done, Written::Failed(_));
        if report.send(done).await.is_err() || failed {
            return;
        }
    }
    drop(stdin);
    // Nobody listens any more if the session is over; then it does not matter.
    let _ = report.send(Written::Closed).await;
}
