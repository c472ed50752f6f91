//! The signals that ask for the end. The one rule it keeps: each of them is told once.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that ask for the end.
pub(crate) struct Signals {
    all: [Signal; 3],
}

impl Signals {
    pub(crate) fn new() -> io::Result<Self> {
        let [interrupt, terminate, hangup] =
            [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()].map(signal);
        Ok(Self { all: [interrupt?, terminate?, hangup?] })
    }

    /// The next one. Cancel-safe.
    pub(crate) async fn next(&mut self) {
        let [interrupt, terminate, hangup] = &mut self.all;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
    }
}
