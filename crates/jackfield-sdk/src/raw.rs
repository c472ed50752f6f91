//! The lines themselves, for those who want them beside the events.
//!
//! Most sessions have nobody who does, so the room for them is made when the first one asks. The one rule it
//! keeps: who lags is told how much it missed, and holds nobody up.

use std::sync::{Arc, OnceLock};

use tokio::sync::broadcast;

/// How many lines a receiver may be behind.
const BEHIND: usize = 1024;

/// A line of the CLI's stream, as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawLine {
    /// Which way it went.
    pub direction: Direction,
    /// The line, without its newline.
    pub text: String,
}

/// Which way a line went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the CLI to us.
    FromCli,
    /// From us to the CLI.
    ToCli,
}

/// Where lines pass.
#[derive(Debug, Default)]
pub(crate) struct RawLines(OnceLock<broadcast::Sender<Arc<RawLine>>>);

impl RawLines {
    pub(crate) fn subscribe(&self) -> broadcast::Receiver<Arc<RawLine>> {
        self.0.get_or_init(|| broadcast::Sender::new(BEHIND)).subscribe()
    }

    /// Hands a line on if somebody listens; only then its text is made.
    pub(crate) fn pass<T: Into<String>>(&self, direction: Direction, text: impl FnOnce() -> T) {
        if let Some(lines) = self.0.get().filter(|lines| lines.receiver_count() > 0) {
            // An error only means that the last listener has just gone.
            let _ = lines.send(Arc::new(RawLine { direction, text: text().into() }));
        }
    }
}
