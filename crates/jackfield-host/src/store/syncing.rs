//! When the disk is made to keep what was written to it, and when the writer does what was put off.
//!
//! What is written survives the process in any case; only a power cut takes what the disk has not kept. The one rule
//! kept here: what was put off is done as soon as nobody waits, and within its time in any case.

use std::time::{Duration, Instant};

/// When the disk is made to keep what was written to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Syncing {
    /// Before anybody is told of it. Clients on other machines outlive a power cut of this one, and count on the
    /// numbers that they were told.
    #[default]
    First,
    /// Right behind it. For a host whose only client is at the other end of its own pipe, and has to begin anew with
    /// what was kept.
    Behind,
}

/// How long nothing must come before it is done.
const PAUSE: Duration = Duration::from_millis(10);

/// What the writer has put off.
#[derive(Debug)]
pub(super) struct Owed {
    /// How long it is put off at most.
    longest: Duration,
    /// When the first and the last of it were written.
    since: Option<(Instant, Instant)>,
}

impl Owed {
    pub(super) fn within(longest: Duration) -> Self {
        Self { longest, since: None }
    }

    pub(super) fn wrote(&mut self, now: Instant) {
        let first = self.since.map_or(now, |(first, _)| first);
        self.since = Some((first, now));
    }

    /// How long it may still be put off; none if nothing is owed.
    pub(super) fn patience(&self, now: Instant) -> Option<Duration> {
        let (first, last) = self.since?;
        Some((first + self.longest).min(last + PAUSE).saturating_duration_since(now))
    }

    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.patience(now) == Some(Duration::ZERO)
    }

    pub(super) fn paid(&mut self) {
        self.since = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_paid_in_the_first_pause_and_soon_without_one() {
        let (mut owed, start) = (Owed::within(Duration::from_millis(100)), Instant::now());
        let at = |ms| start + Duration::from_millis(ms);
        assert_eq!(owed.patience(at(0)), None);
        owed.wrote(at(0));
        assert_eq!(owed.patience(at(4)), Some(Duration::from_millis(6)));
        assert_eq!(owed.patience(at(10)), Some(Duration::ZERO));
        for ms in 1..=95 {
            owed.wrote(at(ms));
        }
        assert_eq!(owed.patience(at(97)), Some(Duration::from_millis(3)));
        assert_eq!(owed.patience(at(200)), Some(Duration::ZERO));
        owed.paid();
        assert_eq!(owed.patience(at(200)), None);
    }
}
