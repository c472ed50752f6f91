//! How prompts are stopped: again and again, ever more firmly, until they have ended.
//!
//! A prompt may be anywhere when it is cancelled: on its way, in the CLI's queue, in a turn. Where it is is told by
//! events, so the next step is decided when they come and when time passes. It waits for nothing itself. The one rule
//! it keeps: a cancellation ends, whatever the CLI does.

use std::time::Duration;

use jackfield_api::Uuid;
use tokio::time::Instant;

use crate::prompts::Place;

/// How soon it is tried again.
const SOON: Duration = Duration::from_millis(250);
/// How long an interrupt that was taken may take.
const PATIENCE: Duration = Duration::from_secs(4);
/// When the whole run is ended.
const FIRMLY: Duration = Duration::from_secs(12);
/// When nothing is waited for any more.
const AT_LAST: Duration = Duration::from_secs(25);

/// What to do next.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Stop the running turn.
    Interrupt,
    /// Take a prompt back that still waits.
    TakeBack(Uuid),
    /// End the run.
    Close,
    /// Answer, whatever became of it.
    GiveUp,
}

/// A cancellation under way.
#[derive(Debug, Default)]
pub(super) struct Stopping {
    since: Option<Instant>,
    again: Option<Instant>,
    /// When an interrupt was last sent and not refused.
    interrupted: Option<Instant>,
    closed: bool,
}

impl Stopping {
    /// When to look again.
    pub(super) fn due(&self) -> Option<Instant> {
        self.again
    }

    /// The interrupt was refused: nothing ran.
    pub(super) fn refused(&mut self) {
        self.interrupted = None;
    }

    /// What to do now about prompts that were cancelled and go on.
    pub(super) fn steps(&mut self, now: Instant, going: &[(Uuid, Place)]) -> Vec<Step> {
        if going.is_empty() {
            *self = Self::default();
            return Vec::new();
        }
        let since = *self.since.get_or_insert(now);
        self.again = Some(now + SOON);
        if now >= since + AT_LAST {
            return vec![Step::GiveUp];
        }
        if now >= since + FIRMLY && !self.closed {
            self.closed = true;
            return vec![Step::Close];
        }
        let mut steps = Vec::new();
        let in_turn = going.iter().any(|(_, place)| matches!(place, Place::InTurn(_)));
        if in_turn && self.interrupted.is_none_or(|at| now >= at + PATIENCE) {
            self.interrupted = Some(now);
            steps.push(Step::Interrupt);
        }
        let waiting = going.iter().filter(|(_, place)| *place == Place::Waiting);
        steps.extend(waiting.map(|(uuid, _)| Step::TakeBack(uuid.clone())));
        steps
    }
}

#[cfg(test)]
mod tests {
    use jackfield_api::TurnNumber;

    use super::*;

    fn going(place: Place) -> Vec<(Uuid, Place)> {
        vec![("u".into(), place)]
    }

    #[test]
    fn where_a_prompt_is_decides_how_it_is_stopped() {
        let (mut stopping, now) = (Stopping::default(), Instant::now());
        assert!(stopping.steps(now, &going(Place::Sent)).is_empty());
        assert_eq!(stopping.steps(now, &going(Place::Waiting)), [Step::TakeBack("u".into())]);
        let in_turn = going(Place::InTurn(TurnNumber(1)));
        assert_eq!(stopping.steps(now, &in_turn), [Step::Interrupt]);
        assert!(stopping.steps(now + SOON, &in_turn).is_empty(), "one interrupt is enough");
        stopping.refused();
        assert_eq!(stopping.steps(now + SOON, &in_turn), [Step::Interrupt]);
        assert!(stopping.steps(now, &[]).is_empty() && stopping.due().is_none());
    }

    #[test]
    fn a_cancellation_ends_whatever_the_cli_does() {
        let (mut stopping, begin) = (Stopping::default(), Instant::now());
        let in_turn = going(Place::InTurn(TurnNumber(1)));
        let mut now = begin;
        let mut seen = Vec::new();
        while !seen.contains(&Step::GiveUp) {
            seen.extend(stopping.steps(now, &in_turn));
            now += SOON;
            assert!(now < begin + AT_LAST * 2);
        }
        assert_eq!(seen.iter().filter(|step| **step == Step::Close).count(), 1);
    }
}
