//! What was told of the host and its sessions so far.
//!
//! The one rule it keeps: the whole list takes the place of what was known, a change only that of the session it names.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use jackfield_api::SessionId;
use jackfield_api::host::{SessionProcess, SessionSummary};
use jackfield_api::snapshot::SessionState;
use jackfield_client::{ClientError, Watched};

/// How many sessions are shown at most, besides those at work.
const SESSIONS: usize = 200;
/// Of sessions that are not at work a host tells so many, the newest; there may be more.
const TOLD: usize = 100;
/// How long a host that is asked may say nothing.
const SILENT: Duration = Duration::from_secs(5);

/// What was told so far.
#[derive(Debug, Default)]
pub(super) struct Seen {
    sessions: BTreeMap<SessionId, SessionSummary>,
    /// Whether the host may have more than it told.
    has_more: bool,
    is_away: bool,
    /// Since when the host has owed an answer.
    asked: Option<Instant>,
    pub(super) processes: Vec<SessionProcess>,
    /// Tokens per second.
    pub(super) rates: BTreeMap<SessionId, u64>,
}

/// Whether what is shown is how things stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Link {
    /// The host tells what changes.
    #[default]
    Live,
    /// It does not answer.
    Away,
}

/// How many sessions there are of which some are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Known {
    /// These are all.
    #[default]
    All,
    /// So many in all.
    Of(usize),
    /// Nobody told.
    Newest,
}

impl Seen {
    /// Something was told.
    pub(super) fn take(&mut self, told: Watched) {
        self.is_away = matches!(told, Watched::Away);
        let (sessions, deleted) = match told {
            Watched::All(sessions) => {
                self.sessions.clear();
                self.has_more = sessions.iter().filter(|session| !session.archived).count() >= TOLD;
                (sessions, Vec::new())
            }
            Watched::Changed(changed) => (changed.sessions, changed.deleted),
            Watched::Away => return,
        };
        for id in deleted {
            self.sessions.remove(&id);
        }
        self.sessions.extend(sessions.into_iter().map(|session| (session.session_id.clone(), session)));
    }

    /// The host was asked something.
    pub(super) fn asks(&mut self, at: Instant) {
        self.asked.get_or_insert(at);
    }

    /// What came of it.
    pub(super) fn is_looked_at(&mut self, processes: Result<Vec<SessionProcess>, ClientError>) {
        match processes {
            // Whoever watches the list is told when it is given up.
            Err(ClientError::Unreachable { .. }) => {}
            // That it refuses is an answer too.
            Err(_) => (self.asked, self.processes) = (None, Vec::new()),
            Ok(processes) => (self.asked, self.processes) = (None, processes),
        }
    }

    /// Whether the host is there.
    pub(super) fn link(&self, at: Instant) -> Link {
        let is_silent = self.asked.is_some_and(|asked| at.saturating_duration_since(asked) >= SILENT);
        if self.is_away || is_silent { Link::Away } else { Link::Live }
    }

    /// All sessions.
    pub(super) fn sessions(&self) -> impl Iterator<Item = &SessionSummary> + Clone {
        self.sessions.values()
    }

    /// Those that are shown, the newest first, and of how many they are. What was archived is put away, and of those
    /// that are not at work only the newest are shown.
    pub(super) fn shown(&self) -> (Vec<SessionSummary>, Known) {
        let mut all: Vec<_> = self.sessions().filter(|session| !session.archived).collect();
        all.sort_by_key(|session| Reverse(session.updated_at));
        let is_at_work =
            |session: &SessionSummary| session.state == SessionState::Running || !session.pending.is_empty();
        let mut room = SESSIONS.saturating_sub(all.iter().filter(|session| is_at_work(session)).count());
        let mut has_room = |session: &SessionSummary| {
            let has_room = room > 0;
            room -= usize::from(has_room && !is_at_work(session));
            has_room || is_at_work(session)
        };
        let shown: Vec<_> = all.iter().filter(|session| has_room(session)).copied().cloned().collect();
        let known = match (self.has_more, shown.len() == all.len()) {
            (true, _) => Known::Newest,
            (false, true) => Known::All,
            (false, false) => Known::Of(all.len()),
        };
        (shown, known)
    }
}

#[cfg(test)]
mod tests {
    use jackfield_api::Timestamp;
    use jackfield_api::snapshot::SessionState;
    use jackfield_api::socket::SentSessions;

    use super::super::model::tests::session;
    use super::*;

    fn at(id: &str, at: u64) -> SessionSummary {
        SessionSummary { updated_at: Timestamp(at), ..session(id, id, SessionState::Idle) }
    }

    fn shown(seen: &Seen) -> Vec<String> {
        seen.shown().0.iter().map(|session| session.session_id.to_string()).collect()
    }

    #[test]
    fn the_newest_is_first_and_what_is_gone_is_gone() {
        let mut seen = Seen::default();
        seen.take(Watched::All(vec![at("a", 1), at("b", 3), at("c", 2)]));
        assert_eq!(shown(&seen), ["b", "c", "a"]);
        let archived = SessionSummary { archived: true, ..at("b", 4) };
        let changed = SentSessions { sessions: vec![at("a", 5), archived], deleted: vec!["c".into()] };
        seen.take(Watched::Changed(changed));
        assert_eq!(shown(&seen), ["a"]);
        seen.take(Watched::All(vec![at("d", 1)]));
        assert_eq!(shown(&seen), ["d"]);
        assert_eq!(seen.shown().1, Known::All);
    }

    #[test]
    fn who_is_at_work_is_never_cut_and_it_is_known_how_many_there_are() {
        let idle = |number: u64| at(&format!("idle{number:04}"), 1_000 + number);
        let works = |number: u64| SessionSummary {
            state: SessionState::Running,
            ..at(&format!("works{number:04}"), number)
        };
        let mut seen = Seen::default();
        seen.take(Watched::All((0..50).map(idle).chain((0..5).map(works)).collect()));
        assert_eq!((seen.shown().0.len(), seen.shown().1), (55, Known::All));
        let changed = SentSessions { sessions: (50..300).map(idle).collect(), deleted: Vec::new() };
        seen.take(Watched::Changed(changed));
        let of_all = |seen: &Seen| {
            let (shown, known) = seen.shown();
            let at_work = shown.iter().filter(|session| session.state == SessionState::Running).count();
            (shown.len(), at_work, known)
        };
        assert_eq!(of_all(&seen), (SESSIONS, 5, Known::Of(305)), "the oldest are those that work");
        assert_eq!(shown(&seen)[0], "idle0299");
        seen.take(Watched::All((0..100).map(idle).chain((0..250).map(works)).collect()));
        assert_eq!(of_all(&seen), (250, 250, Known::Newest));
        let archived = (0..100).map(|number| SessionSummary { archived: true, ..idle(number) });
        seen.take(Watched::All(archived.chain((0..9).map(works)).collect()));
        assert_eq!(of_all(&seen), (9, 9, Known::All));
    }

    #[test]
    fn a_host_that_is_lost_or_says_nothing_for_long_is_away_until_it_tells_something() {
        let began = Instant::now();
        let mut seen = Seen::default();
        assert_eq!(seen.link(began), Link::Live);
        seen.take(Watched::Away);
        assert_eq!(seen.link(began), Link::Away);
        seen.take(Watched::All(Vec::new()));
        assert_eq!(seen.link(began), Link::Live);
        seen.asks(began);
        seen.asks(began + SILENT);
        assert_eq!(seen.link(began + SILENT / 2), Link::Live);
        assert_eq!(seen.link(began + SILENT), Link::Away, "the first question counts");
        seen.is_looked_at(Ok(Vec::new()));
        assert_eq!(seen.link(began + SILENT * 2), Link::Live);
    }
}
