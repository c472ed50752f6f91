//! Seeds, and numbers that look random but are the same for the same seed.

/// How many seeds a loop gets; `JACKFIELD_SEEDS` says so, and `cargo xtask soak` sets it.
pub(super) fn seeds() -> u64 {
    std::env::var("JACKFIELD_SEEDS").map_or(20, |count| count.parse().expect("a number of seeds"))
}

/// SplitMix64.
#[derive(Debug, Clone)]
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }

    pub(super) fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        let count = u64::try_from(choices.len()).unwrap();
        choices[usize::try_from(self.below(count)).unwrap()]
    }
}
