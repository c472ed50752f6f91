//! How often something took how long.
//!
//! The bounds are the same for all, from a millisecond to an hour, so that histograms can be added up. The one rule
//! it keeps: everything that was counted is in exactly one place.

/// The upper bounds, in seconds; behind the last is everything else.
pub const BOUNDS: [f64; 14] =
    [0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0];

/// How often something took how long.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Histogram {
    counts: [u64; BOUNDS.len() + 1],
    sum: f64,
}

impl Histogram {
    /// It took so many seconds.
    pub fn count(&mut self, seconds: f64) {
        let at = BOUNDS.iter().position(|bound| seconds <= *bound).unwrap_or(BOUNDS.len());
        self.counts[at] += 1;
        self.sum += seconds;
    }

    /// It took so many milliseconds.
    pub fn count_milliseconds(&mut self, milliseconds: u64) {
        #[expect(clippy::cast_precision_loss, reason = "times fit")]
        self.count(milliseconds as f64 / 1000.0);
    }

    /// How often at all.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// How many seconds altogether.
    pub fn sum(&self) -> f64 {
        self.sum
    }

    /// Each bound with how often it took no longer; the last has none.
    pub fn cumulative(&self) -> impl Iterator<Item = (Option<f64>, u64)> {
        let mut so_far = 0;
        self.counts.iter().enumerate().map(move |(at, count)| {
            so_far += count;
            (BOUNDS.get(at).copied(), so_far)
        })
    }

    /// Adds another's counts.
    pub fn add(&mut self, other: &Self) {
        for (count, more) in self.counts.iter_mut().zip(other.counts) {
            *count += more;
        }
        self.sum += other.sum;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_counted_in_one_place_and_the_last_holds_all() {
        let mut histogram = Histogram::default();
        for seconds in [0.0, 0.001, 0.0011, 59.0, 1.0e9] {
            histogram.count(seconds);
        }
        let cumulative: Vec<_> = histogram.cumulative().collect();
        assert_eq!(cumulative[0], (Some(0.001), 2));
        assert_eq!(cumulative[1], (Some(0.005), 3));
        assert_eq!(cumulative[13], (Some(3600.0), 4));
        assert_eq!(cumulative[14], (None, 5));
        let mut twice = histogram.clone();
        twice.add(&histogram);
        assert_eq!((twice.total(), twice.sum()), (10, 2.0 * histogram.sum()));
    }
}
