//! Which processes belong to a run, and ending them.
//!
//! A process group is not enough: the CLI's Bash tools run in process sessions of their own and outlive it
//! [process/sigkill_mid_tool]. So a run is known by a marker in the environment of all its processes, and,
//! to its guard, by descent. The marker is best effort: a program that clears its environment loses it; only
//! the [guard](crate::guard) sees that one too. Linux only, since it reads `/proc`.
//!
//! The one rule it keeps: it kills only what carries the run's own marker or descends from this very process,
//! and through a handle of the process, so that a number given to somebody else in the meantime is never hit.

use std::fmt;
use std::fs;
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use jackfield_core::Exit;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// The variable that all processes of a run have in their environment.
pub const MARKER: &str = "JACKFIELD_RUN";

/// How long the killing goes on. Longer only helps against a process that the kernel does not let go.
const LIMIT: Duration = Duration::from_secs(5);
/// How long the killed are waited for before the next look: new ones may have been started meanwhile.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// A process by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProcessId(pub u32);

impl fmt::Display for ProcessId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// A marker that no other run has.
pub fn unique_marker() -> String {
    let random = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", random(), random())
}

/// The processes alive that carry this marker, as far as this user may see.
pub fn marked(marker: &str) -> Vec<ProcessId> {
    find_marked(marker).into_iter().map(|found| found.id).collect()
}

/// Kills every process that carries this marker, but never the caller, and waits until they are gone; a few
/// seconds at most. Whatever the kernel does not let go is then still in [`marked`].
pub fn kill_marked(marker: &str) {
    kill_all(|| find_marked(marker));
}

/// What the exit code of a guard says about the CLI: a guard cannot die its death, so it exits with 128 and
/// the number of the signal.
///
/// 129, 130 and 143 stay codes: so the CLI itself exits when it is hung up, interrupted or terminated
/// [process/sigterm_idle].
pub fn exit_of_guarded(code: i32) -> Exit {
    match code {
        129 | 130 | 143 => Exit::Code(code),
        129..=192 => Exit::Signal(code - 128),
        _ => Exit::Code(code),
    }
}

/// Kills every process that descends from this one; the same limits.
pub(crate) fn kill_descendants() {
    kill_all(find_descendants);
}

/// The start of a process, in clock ticks since the machine's: with its number, it names it for one boot.
pub(crate) fn started(id: ProcessId) -> Option<u64> {
    Some(Stat::of(id)?.started)
}

/// A process that was seen.
#[derive(Debug, Clone, Copy)]
struct Seen {
    id: ProcessId,
    started: u64,
}

fn kill_all(find: impl Fn() -> Vec<Seen>) {
    let deadline = Instant::now() + LIMIT;
    loop {
        let found = find();
        if found.is_empty() {
            return;
        }
        let killed: Vec<OwnedFd> = found.into_iter().filter_map(kill).collect();
        wait_for(&killed, LOOK_AGAIN);
        if deadline <= Instant::now() {
            return;
        }
    }
}

/// Kills the process that was seen; none if it is gone, or if it belongs to somebody else by now.
fn kill(seen: Seen) -> Option<OwnedFd> {
    let handle = pidfd_open(pid(seen.id)?, PidfdFlags::empty()).ok()?;
    // What the handle holds is what was seen only if the number still has the same start.
    if started(seen.id) != Some(seen.started) {
        return None;
    }
    pidfd_send_signal(&handle, Signal::KILL).ok()?;
    Some(handle)
}

/// Waits until all of these have ended, but not longer than this. With none it waits all the same, so that
/// looking again for what cannot be killed does not burn the processor.
fn wait_for(handles: &[OwnedFd], time: Duration) {
    let deadline = Instant::now() + time;
    let mut left: Vec<PollFd<'_>> = handles.iter().map(|handle| PollFd::new(handle, PollFlags::IN)).collect();
    loop {
        let rest = deadline.saturating_duration_since(Instant::now());
        let Ok(rest) = Timespec::try_from(rest) else { return };
        match poll(&mut left, Some(&rest)) {
            Ok(1..) => left.retain(|process| process.revents().is_empty()),
            Err(Errno::INTR) => {}
            Ok(0) | Err(_) => return,
        }
        if left.is_empty() {
            return;
        }
    }
}

fn find_marked(marker: &str) -> Vec<Seen> {
    let wanted = format!("{MARKER}={marker}");
    let carries = |id: ProcessId| {
        fs::read(format!("/proc/{id}/environ"))
            .is_ok_and(|variables| variables.split(|byte| *byte == 0).any(|one| one == wanted.as_bytes()))
    };
    all()
        .filter(|(id, stat)| id.0 != std::process::id() && !stat.is_over() && carries(*id))
        .map(|(id, stat)| Seen { id, started: stat.started })
        .collect()
}

fn find_descendants() -> Vec<Seen> {
    let all: Vec<(ProcessId, Stat)> = all().collect();
    let mut family = vec![ProcessId(std::process::id())];
    let mut next = 0;
    while let Some(parent) = family.get(next).copied() {
        family.extend(all.iter().filter(|(_, stat)| stat.parent == parent).map(|(id, _)| *id));
        next += 1;
    }
    all.iter()
        .filter(|(id, stat)| family[1..].contains(id) && !stat.is_over())
        .map(|(id, stat)| Seen { id: *id, started: stat.started })
        .collect()
}

fn all() -> impl Iterator<Item = (ProcessId, Stat)> {
    let entries = fs::read_dir("/proc").into_iter().flatten();
    entries.filter_map(|entry| {
        let id = ProcessId(entry.ok()?.file_name().to_str()?.parse().ok()?);
        Some((id, Stat::of(id)?))
    })
}

pub(crate) fn pid(id: ProcessId) -> Option<Pid> {
    i32::try_from(id.0).ok().and_then(Pid::from_raw)
}

/// What `/proc/ID/stat` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stat {
    state: char,
    parent: ProcessId,
    started: u64,
}

impl Stat {
    fn of(id: ProcessId) -> Option<Self> {
        // Not as text: a program's name may be any bytes.
        Self::read(&String::from_utf8_lossy(&fs::read(format!("/proc/{id}/stat")).ok()?))
    }

    fn read(text: &str) -> Option<Self> {
        // The second field is the program's name in parentheses, which may contain anything.
        let mut fields = text.rsplit_once(") ")?.1.split_ascii_whitespace();
        Some(Self {
            state: fields.next()?.chars().next()?,
            parent: ProcessId(fields.next()?.parse().ok()?),
            // The 22nd field of the line.
            started: fields.nth(17)?.parse().ok()?,
        })
    }

    /// Whether it has ended and only waits to be collected by its parent.
    fn is_over(self) -> bool {
        matches!(self.state, 'Z' | 'X')
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use std::process::Command;

    use super::*;

    #[test]
    fn a_program_may_have_any_name() {
        let line = "12 (a) b (c) S 7 12 12 0 -1 4194304 1 0 0 0 2 3 0 0 20 0 1 0 987654 1 2";
        let stat = Stat::read(line).unwrap();
        assert_eq!(stat, Stat { state: 'S', parent: ProcessId(7), started: 987_654 });
        assert_eq!(Stat::read("nonsense"), None);
    }

    #[test]
    fn only_what_carries_the_whole_marker_is_killed() {
        let (marker, other) = (unique_marker(), unique_marker());
        assert_ne!(marker, other);
        let sleeper = |value: &str| Command::new("sleep").arg("300").env(MARKER, value).spawn().unwrap();
        let mut mine = [sleeper(&marker), sleeper(&marker)];
        let mut strangers = [sleeper(&other), sleeper(&format!("{marker}x"))];
        let mut found = marked(&marker);
        found.sort();
        assert_eq!(found, mine.each_ref().map(|child| ProcessId(child.id())));

        kill_marked(&marker);

        assert_eq!(marked(&marker), []);
        for child in &mut mine {
            assert!(!child.wait().unwrap().success());
        }
        for child in &mut strangers {
            assert_eq!(child.try_wait().unwrap(), None);
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    #[test]
    fn the_number_of_a_process_that_is_gone_hits_nobody() {
        let mut child = Command::new("sleep").arg("300").spawn().unwrap();
        let id = ProcessId(child.id());
        let another = Seen { id, started: started(id).unwrap() + 1 };
        assert!(kill(another).is_none());
        assert_eq!(child.try_wait().unwrap(), None);
        assert!(kill(Seen { id, started: started(id).unwrap() }).is_some());
        assert!(!child.wait().unwrap().success());
    }

    #[test]
    fn the_code_of_a_guard_tells_a_signal_from_the_codes_of_the_cli() {
        assert_eq!(exit_of_guarded(0), Exit::Code(0));
        assert_eq!(exit_of_guarded(1), Exit::Code(1));
        assert_eq!(exit_of_guarded(137), Exit::Signal(9));
        assert_eq!(exit_of_guarded(143), Exit::Code(143));
    }
}
