//! What a chaos run has done and compared, for its summary.
//!
//! The one rule it keeps: only what was really compared is counted as compared.

use std::collections::BTreeMap;
use std::fmt;

use super::faults::Done;
use super::stage::Server;

/// What was done on one stage.
#[derive(Debug, Default)]
pub(super) struct Figures {
    pub(super) rounds: u64,
    pub(super) sessions: u64,
    /// Stored events that were gone through.
    pub(super) events: u64,
    /// Events that a client was told and that were compared with the store.
    pub(super) compared: u64,
    pub(super) commands: u64,
    pub(super) connections: u64,
    /// Pieces of the CLI's own records that were compared with the events.
    pub(super) pieces: u64,
    /// Tool calls that were really carried out, of sessions that were gone through to their end.
    pub(super) done: u64,
    faults: Done,
    connected: BTreeMap<&'static str, u64>,
    /// Memory and open files at the end of the first round, and at most.
    first: Option<(u64, usize)>,
    most: (u64, usize),
}

impl Figures {
    pub(super) fn count(&mut self, done: &Done) {
        for (fault, times) in done {
            *self.faults.entry(fault.clone()).or_default() += times;
        }
    }

    /// A client's connections so far.
    pub(super) fn connected(&mut self, client: &'static str, connections: u64) {
        let before = self.connected.insert(client, connections).unwrap_or_default();
        self.connections += connections - before;
    }

    /// Looks how much the server takes.
    pub(super) fn weigh(&mut self, server: &Server) {
        let Some((memory, files)) = server.weight() else { return };
        self.first.get_or_insert((memory, files));
        self.most = (self.most.0.max(memory), self.most.1.max(files));
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let faults: u64 = self.faults.values().sum();
        let megabytes = |bytes: u64| bytes / 1_048_576;
        let first = self.first.unwrap_or_default();
        writeln!(
            f,
            "  {} rounds, {} sessions, {faults} faults, {} connections, {} commands",
            self.rounds, self.sessions, self.connections, self.commands
        )?;
        writeln!(
            f,
            "  {} events stored, {} events of clients compared with them, {} pieces of the CLI's records compared, \
             {} tool calls carried out",
            self.events, self.compared, self.pieces, self.done
        )?;
        writeln!(
            f,
            "  server: {} MB and {} files after the first round, at most {} MB and {} files",
            megabytes(first.0),
            first.1,
            megabytes(self.most.0),
            self.most.1
        )?;
        write!(f, "  faults:")?;
        for (fault, times) in &self.faults {
            write!(f, " {fault} {times},")?;
        }
        Ok(())
    }
}
