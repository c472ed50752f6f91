//! What is on the screen of a question and since when, and so whether a key can mean it.
//!
//! Plain values: what was drawn and when keys were pressed are told. The one rule it keeps: an answer is to something
//! that stood on the screen, all of it and unchanged, for as long as it takes to see it; and a session that nobody has
//! chosen is interrupted by nobody.

use std::time::{Duration, Instant};

use jackfield_api::{PendingId, SessionId};

/// How long something is on the screen before a key can mean it.
pub(super) const SETTLED: Duration = Duration::from_millis(500);

/// A question, and of several in it the one that is answered next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) session: SessionId,
    pub(super) pending: PendingId,
    pub(super) at: usize,
}

/// How much of a question is on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    /// Enough to decide.
    Enough,
    /// Only a part of it.
    Part,
}

/// The question on the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OnScreen {
    pub(super) place: Place,
    pub(super) shown: Shown,
}

/// Whether a key can mean a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Judged {
    Meant(Shown),
    TooEarly,
}

/// A session is chosen that nobody has chosen: the first, or the one in the place of one that is gone.
#[derive(Debug, Clone, Copy)]
enum Jump {
    /// It is not on the screen yet.
    Unseen,
    SeenSince(Instant),
}

/// Watches over answers and interruptions.
#[derive(Debug, Default)]
pub(super) struct Guard {
    on_screen: Option<(OnScreen, Instant)>,
    jump: Option<Jump>,
    /// Whether a key came too early, which is told until it would not be any more.
    is_early: bool,
}

impl Guard {
    /// This is on the screen now.
    pub(super) fn drawn(&mut self, on_screen: Option<OnScreen>, at: Instant) {
        if let Some(Jump::Unseen) = self.jump {
            self.jump = Some(Jump::SeenSince(at));
        }
        if self.on_screen.as_ref().map(|(before, _)| before) != on_screen.as_ref() {
            *self = Self { on_screen: on_screen.map(|now| (now, at)), is_early: false, jump: self.jump };
        }
    }

    /// A session is chosen that nobody has chosen.
    pub(super) fn jumped(&mut self) {
        self.jump = Some(Jump::Unseen);
    }

    /// Whether a key that was pressed then can mean the session that is chosen. One that cannot begins the wait anew,
    /// as with answers; and so it is whatever was chosen since, for that was counted from a place that nobody knew of.
    pub(super) fn is_chosen(&mut self, at: Instant) -> bool {
        match &mut self.jump {
            None => true,
            Some(Jump::Unseen) => false,
            Some(Jump::SeenSince(since)) if at.saturating_duration_since(*since) < SETTLED => {
                *since = at.max(*since);
                false
            }
            Some(Jump::SeenSince(_)) => {
                self.jump = None;
                true
            }
        }
    }

    /// Whether a key that was pressed then can mean this. One that cannot begins the wait anew: a key that is held down
    /// never means anything.
    pub(super) fn judge(&mut self, place: &Place, at: Instant) -> Judged {
        match &mut self.on_screen {
            Some((on_screen, since)) if on_screen.place == *place => {
                if at.saturating_duration_since(*since) >= SETTLED {
                    return Judged::Meant(on_screen.shown);
                }
                *since = at.max(*since);
                self.is_early = true;
                Judged::TooEarly
            }
            _ => Judged::TooEarly,
        }
    }

    /// Whether a key came too early and the next still would.
    pub(super) fn is_early(&self) -> bool {
        self.is_early
    }

    /// When that is over.
    pub(super) fn due(&self) -> Option<Instant> {
        let (_, since) = self.on_screen.as_ref().filter(|_| self.is_early)?;
        Some(*since + SETTLED)
    }

    /// It is so late.
    pub(super) fn pass(&mut self, at: Instant) {
        if self.due().is_some_and(|due| due <= at) {
            self.is_early = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(pending: u64, at: usize) -> Place {
        Place { session: "one".into(), pending: PendingId(pending), at }
    }

    fn on_screen(place: Place, shown: Shown) -> OnScreen {
        OnScreen { place, shown }
    }

    #[test]
    fn only_what_stood_there_unchanged_for_long_enough_can_be_meant() {
        let began = Instant::now();
        let mut guard = Guard::default();
        let one = place(1, 0);
        assert_eq!(guard.judge(&one, began), Judged::TooEarly, "nothing was drawn");
        guard.drawn(Some(on_screen(one.clone(), Shown::Enough)), began);
        // The same again changes nothing.
        guard.drawn(Some(on_screen(one.clone(), Shown::Enough)), began + SETTLED / 2);
        assert_eq!(guard.judge(&one, began + SETTLED), Judged::Meant(Shown::Enough));
        for other in [place(2, 0), place(1, 1), Place { session: "two".into(), ..one.clone() }] {
            assert_eq!(guard.judge(&other, began + SETTLED), Judged::TooEarly, "it is not on the screen");
            guard.drawn(Some(on_screen(other.clone(), Shown::Enough)), began + SETTLED);
            assert_eq!(guard.judge(&other, began + SETTLED + SETTLED / 2), Judged::TooEarly);
            guard.drawn(Some(on_screen(one.clone(), Shown::Enough)), began);
        }
        let later = began + SETTLED * 9;
        guard.drawn(Some(on_screen(one.clone(), Shown::Part)), later);
        assert_eq!(guard.judge(&one, later), Judged::TooEarly, "the window has changed");
        guard.drawn(None, later);
        guard.drawn(Some(on_screen(one.clone(), Shown::Part)), later + SETTLED);
        assert_eq!(guard.judge(&one, later + SETTLED), Judged::TooEarly, "it was gone meanwhile");
        assert_eq!(guard.judge(&one, later + SETTLED * 2), Judged::Meant(Shown::Part));
    }

    #[test]
    fn a_key_that_is_held_down_means_nothing_until_it_is_let_go() {
        let began = Instant::now();
        let (mut guard, one) = (Guard::default(), place(1, 0));
        guard.drawn(Some(on_screen(one.clone(), Shown::Enough)), began);
        let mut now = began;
        for _ in 0..1_000 {
            now += Duration::from_millis(30);
            assert_eq!(guard.judge(&one, now), Judged::TooEarly);
        }
        assert_eq!((guard.is_early(), guard.due()), (true, Some(now + SETTLED)));
        guard.pass(now + SETTLED / 2);
        assert!(guard.is_early());
        guard.pass(now + SETTLED);
        assert_eq!((guard.is_early(), guard.due()), (false, None));
        assert_eq!(guard.judge(&one, now + SETTLED), Judged::Meant(Shown::Enough));
    }
}
