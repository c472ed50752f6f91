//! The steps to a session's lock file, and what each of them decides.
//!
//! It touches no file and no process: those are the [`Ground`] on which the steps are taken, this machine's or a
//! simulated one. Each step is one act that another process can come before or behind. The one rule it keeps: whoever
//! comes to [`Next::Owned`] is the only owner, and nothing of the owner before is alive.

use std::io;

use jackfield_api::Timestamp;
use serde::{Deserialize, Serialize};

use super::Owner;
use crate::tree::ProcessId;

/// What stands in the file: one JSON object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) process: u32,
    /// The process's start, in ticks since the machine's: the number alone may be somebody else's by now.
    pub(super) started: u64,
    /// The machine's start: after another one, neither means anything.
    pub(super) boot: String,
    pub(super) since: u64,
    /// The marker of the CLI that the owner runs.
    pub(super) run: Option<String>,
}

/// Files and processes.
pub(super) trait Ground {
    /// The lock file, once it is open.
    type File;
    /// Opens the file; makes it if there is none.
    fn open(&self) -> io::Result<Self::File>;
    /// Locks it, unless somebody else has.
    fn try_lock(&self, file: &Self::File) -> io::Result<Locked>;
    /// Whether it still has its name: its owner removes it.
    fn is_still_there(&self, file: &Self::File) -> io::Result<bool>;
    /// What stands in it. None for an empty file, and for one that somebody else wrote.
    fn read(&self, file: &mut Self::File) -> Option<Record>;
    /// Writes who owns it.
    fn write(&self, file: &mut Self::File, record: &Record) -> io::Result<()>;
    /// Who would own it.
    fn record(&self) -> Record;
    /// When a process that is alive began.
    fn started(&self, process: ProcessId) -> Option<u64>;
    /// Ends all that carries a marker. One of those that did not end.
    fn end(&self, marker: &str) -> Option<ProcessId>;
}

/// What came of locking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Locked {
    Mine,
    Others,
}

/// Where somebody stands who wants to own a session.
#[derive(Debug)]
pub(super) enum Step<File> {
    Open,
    Lock(File),
    Look(File),
    Judge(File),
    Write(File),
}

/// What comes next.
#[derive(Debug)]
pub(super) enum Next<File> {
    Step(Step<File>),
    Owned(File, Record),
    /// Somebody else owns it, if that is known: who.
    Refused(Option<Owner>),
    /// This process of an earlier run does not end.
    LeftBehind(ProcessId),
}

/// Takes a step.
pub(super) fn advance<G: Ground>(ground: &G, step: Step<G::File>) -> io::Result<Next<G::File>> {
    Ok(match step {
        Step::Open => Next::Step(Step::Lock(ground.open()?)),
        Step::Lock(mut file) => match ground.try_lock(&file)? {
            Locked::Mine => Next::Step(Step::Look(file)),
            Locked::Others => Next::Refused(ground.read(&mut file).map(|record| record.owner())),
        },
        // The owner removed the file while it was being opened: this lock is on nothing.
        Step::Look(file) if !ground.is_still_there(&file)? => Next::Step(Step::Open),
        Step::Look(file) => Next::Step(Step::Judge(file)),
        Step::Judge(mut file) => match ground.read(&mut file).map(|earlier| earlier.judge(ground)) {
            None | Some(Earlier::Gone) => Next::Step(Step::Write(file)),
            Some(Earlier::Alive(owner)) => Next::Refused(Some(owner)),
            Some(Earlier::LeftBehind(process)) => Next::LeftBehind(process),
        },
        Step::Write(mut file) => {
            let record = ground.record();
            ground.write(&mut file, &record)?;
            Next::Owned(file, record)
        }
    })
}

/// What became of an owner that does not hold the lock any more.
enum Earlier {
    Gone,
    Alive(Owner),
    LeftBehind(ProcessId),
}

impl Record {
    pub(super) fn owner(&self) -> Owner {
        Owner { process: ProcessId(self.process), since: Timestamp(self.since) }
    }

    fn judge<G: Ground>(&self, ground: &G) -> Earlier {
        let mine = ground.record();
        if self.boot != mine.boot {
            return Earlier::Gone;
        }
        // On file systems whose locks do not work the record is all there is.
        if self.process != mine.process && ground.started(ProcessId(self.process)) == Some(self.started) {
            return Earlier::Alive(self.owner());
        }
        let left = self.run.as_deref().and_then(|marker| ground.end(marker));
        left.map_or(Earlier::Gone, Earlier::LeftBehind)
    }
}

#[cfg(test)]
mod tests;
