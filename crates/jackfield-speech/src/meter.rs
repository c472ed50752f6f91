//! How much sound an utterance may have, and how fast it may come.
//!
//! Time is an argument. The one rule it keeps: a client that sends what nobody can have spoken is stopped before it has
//! filled the memory.

use std::time::Duration;

use crate::RATE;

/// How long an utterance may be.
pub const LONGEST: Duration = Duration::from_mins(10);
/// How much faster than spoken sound may come, in the long run: what was held up by a bad line is let in.
const FASTER: u32 = 4;
/// How much may come at once.
const AT_ONCE: Duration = Duration::from_secs(30);
/// Bytes of a second of sound: 16 kHz, 16 bit.
const SECOND: u64 = RATE as u64 * 2;

/// What has come of an utterance.
#[derive(Debug, Default)]
pub struct Meter {
    bytes: u64,
}

/// What is too much.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TooMuch {
    /// Sound is 16 bits per sample.
    #[error("a frame of sound has an odd number of bytes: send 16-bit samples, 16 kHz, mono")]
    Halved,
    /// It is too long.
    #[error("an utterance has ten minutes at most: stop, and begin another")]
    TooLong,
    /// It comes too fast.
    #[error("sound comes faster than anybody speaks: send it as it is recorded")]
    TooFast,
}

impl Meter {
    /// Counts a frame that comes so long after the beginning.
    pub fn take(&mut self, frame: &[u8], since_begin: Duration) -> Result<(), TooMuch> {
        if !frame.len().is_multiple_of(2) {
            return Err(TooMuch::Halved);
        }
        self.bytes += frame.len() as u64;
        if self.sound() > LONGEST {
            return Err(TooMuch::TooLong);
        }
        if self.sound() > since_begin.saturating_mul(FASTER).saturating_add(AT_ONCE) {
            return Err(TooMuch::TooFast);
        }
        Ok(())
    }

    /// How long the sound is that has come.
    pub fn sound(&self) -> Duration {
        Duration::from_millis(self.bytes.saturating_mul(1000) / SECOND)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sound_comes_as_fast_as_it_is_spoken_or_a_bit_faster() {
        let second = vec![0; 32_000];
        let mut meter = Meter::default();
        for _ in 0..30 {
            assert_eq!(meter.take(&second, Duration::ZERO), Ok(()));
        }
        assert_eq!(meter.take(&second, Duration::ZERO), Err(TooMuch::TooFast));
        let mut meter = Meter::default();
        for second_number in 0..600 {
            assert_eq!(meter.take(&second, Duration::from_secs(second_number)), Ok(()));
        }
        assert_eq!(meter.sound(), LONGEST);
        assert_eq!(meter.take(&second, LONGEST), Err(TooMuch::TooLong));
        assert_eq!(Meter::default().take(&[1], Duration::ZERO), Err(TooMuch::Halved));
    }
}
