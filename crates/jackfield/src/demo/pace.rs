//! How fast the agent is.
//!
//! The one rule: every wait of a scene is asked for here, so that all of them can be left out.

use std::env;
use std::time::Duration;

use crate::variables::DEMO_SPEED;

/// A piece of text.
pub(super) const SPEAKING: Duration = Duration::from_millis(20);
/// A piece of thinking.
pub(super) const THINKING: Duration = Duration::from_millis(30);
/// A piece of a tool's input.
pub(super) const WRITING: Duration = Duration::from_millis(15);

/// How fast the agent is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    speed: f64,
}

impl Pace {
    pub(super) fn from_environment() -> Self {
        let told = env::var(DEMO_SPEED.name).ok().and_then(|text| text.parse().ok());
        Self { speed: told.filter(|speed: &f64| speed.is_finite() && *speed >= 0.0).unwrap_or(1.0) }
    }

    /// How long something takes that naturally takes this long.
    pub(super) fn of(self, natural: Duration) -> Duration {
        if self.speed == 0.0 {
            return Duration::ZERO;
        }
        Duration::try_from_secs_f64(natural.as_secs_f64() / self.speed).unwrap_or(natural)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speed_zero_means_no_waiting() {
        assert_eq!(Pace { speed: 0.0 }.of(Duration::from_secs(9)), Duration::ZERO);
        assert_eq!(Pace { speed: 3.0 }.of(Duration::from_secs(9)), Duration::from_secs(3));
    }
}
