//! When it is time to say what was understood so far.
//!
//! Understanding an open sentence is work that is done again when the sentence goes on. The one rule it keeps: once
//! there are words, this work takes a fifteenth of the time at most, so that the whole stays far below a fifth.

use std::time::Duration;

use crate::RATE;

/// As long as nothing was understood: soon, for the first words are waited for.
const FIRST: Duration = Duration::from_millis(200);
/// Afterwards: as fast as people read.
const NEXT: Duration = Duration::from_millis(500);
/// How many times as long as an answer took is waited for the next, before there are words and afterwards.
const SPARING: (u32, u32) = (8, 14);
/// How long the first words wait at most: the first answer of all may have had to load the engine.
const LONGEST: Duration = Duration::from_secs(2);

/// How it stands with an utterance.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    samples_since: usize,
    took: Duration,
    has_text: bool,
}

impl Pace {
    /// So many samples came.
    pub(crate) fn heard(&mut self, samples: usize) {
        self.samples_since += samples;
    }

    /// Whether it is time.
    pub(crate) fn is_due(&self) -> bool {
        self.since()
            >= if self.has_text {
                NEXT.max(self.took * SPARING.1)
            } else {
                FIRST.max(self.took * SPARING.0).min(LONGEST)
            }
    }

    /// This was understood, and it took so long.
    pub(crate) fn understood(&mut self, text: &str, took: Duration) {
        self.samples_since = 0;
        self.took = took;
        self.has_text |= !text.is_empty();
    }

    fn since(&self) -> Duration {
        let samples = u64::try_from(self.samples_since).unwrap_or(u64::MAX);
        Duration::from_millis(samples.saturating_mul(1000) / u64::from(RATE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TENTH: usize = RATE as usize / 10;

    #[test]
    fn the_first_words_come_soon_and_the_others_when_there_is_time() {
        let mut pace = Pace::default();
        assert!(!pace.is_due());
        pace.heard(2 * TENTH);
        assert!(pace.is_due());
        pace.understood("", Duration::from_millis(5));
        assert!(!pace.is_due());
        pace.heard(2 * TENTH);
        assert!(pace.is_due());
        pace.understood("", Duration::from_secs(3));
        pace.heard(19 * TENTH);
        assert!(!pace.is_due());
        pace.heard(TENTH);
        assert!(pace.is_due());
        pace.understood("run", Duration::from_millis(30));
        pace.heard(4 * TENTH);
        assert!(!pace.is_due());
        pace.heard(TENTH);
        assert!(pace.is_due());
        pace.understood("run the tests", Duration::from_millis(300));
        pace.heard(41 * TENTH);
        assert!(!pace.is_due());
        pace.heard(TENTH);
        assert!(pace.is_due());
    }
}
