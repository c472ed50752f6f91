//! The time of a session: when something happened, and when something is due.
//!
//! Deadlines run on a clock that does not jump and stands still while the machine sleeps, so that neither a
//! clock that is set nor a lid that is closed lets one pass. Events bear the time of the clock on the wall. The
//! one rule it keeps: the wall is looked at only while nothing is due, since a deadline is a time on it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jackfield_api::Timestamp;
use tokio::time::Instant;

/// Where the two clocks were seen together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    steady: Instant,
    wall: u64,
}

impl Clock {
    pub(crate) fn new(steady: Instant, wall: SystemTime) -> Self {
        let since = wall.duration_since(UNIX_EPOCH).unwrap_or_default();
        Self { steady, wall: milliseconds(since) }
    }

    /// Looks at the wall, unless something is due.
    pub(crate) fn look(&mut self, due: Option<Timestamp>, steady: Instant, wall: SystemTime) {
        if due.is_none() {
            *self = Self::new(steady, wall);
        }
    }

    /// What time it is at this moment.
    pub(crate) fn at(&self, moment: Instant) -> Timestamp {
        Timestamp(self.wall.saturating_add(milliseconds(moment.saturating_duration_since(self.steady))))
    }

    /// The moment of a time.
    pub(crate) fn moment(&self, time: Timestamp) -> Instant {
        self.steady + Duration::from_millis(time.0.saturating_sub(self.wall))
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that look random, the same for the same seed (SplitMix64).
    struct Dice(u64);

    impl Dice {
        fn below(&mut self, limit: u64) -> u64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut mixed = self.0;
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            (mixed ^ (mixed >> 31)) % limit
        }
    }

    #[tokio::test]
    async fn f24_however_the_wall_clock_jumps_deadlines_pass_when_they_should_and_events_follow_it() {
        const HOUR: u64 = 3_600_000;
        for seed in 0..200 {
            let mut dice = Dice(seed);
            let mut steady = Instant::now();
            let mut wall = 100 * HOUR;
            let time = |wall: u64| UNIX_EPOCH + Duration::from_millis(wall);
            let mut clock = Clock::new(steady, time(wall));
            for _ in 0..50 {
                // Nothing is due: events bear what the wall says, whatever that is.
                wall = wall - 3 * HOUR + dice.below(6 * HOUR);
                clock.look(None, steady, time(wall));
                assert_eq!(clock.at(steady), Timestamp(wall), "seed {seed}");

                // Something is due: it is due then, whatever the wall says meanwhile.
                let limit = dice.below(HOUR);
                let due = Timestamp(clock.at(steady).0 + limit);
                let expected = steady + Duration::from_millis(limit);
                while steady < expected {
                    assert!(clock.at(steady) < due, "seed {seed}: too early");
                    steady += Duration::from_millis(1 + dice.below(HOUR / 4));
                    wall = wall - HOUR + dice.below(2 * HOUR);
                    clock.look(Some(due), steady, time(wall));
                    assert_eq!(clock.moment(due), expected, "seed {seed}");
                }
                assert!(clock.at(steady) >= due, "seed {seed}: too late");
            }
        }
    }
}
