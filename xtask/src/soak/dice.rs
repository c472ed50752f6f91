//! Numbers that look random, the same for the same seed (SplitMix64).
//!
//! The one rule it keeps: what it gives depends on the seed and on how often it was asked, and on nothing else.

use std::time::Duration;

/// Numbers that look random.
#[derive(Debug, Clone)]
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Other dice, for somebody else.
    pub(super) fn split(&mut self) -> Self {
        Self(self.next())
    }

    /// A number below a limit.
    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit.max(1)
    }

    /// One of these.
    pub(super) fn of<'a, T>(&mut self, choices: &'a [T]) -> Option<&'a T> {
        let at = self.below(u64::try_from(choices.len()).unwrap_or(u64::MAX));
        choices.get(usize::try_from(at).unwrap_or(usize::MAX))
    }

    /// A time between two, in milliseconds.
    pub(super) fn time(&mut self, shortest: u64, longest: u64) -> Duration {
        Duration::from_millis(shortest + self.below(longest.saturating_sub(shortest) + 1))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
