//! What was told of the host's sessions so far.
//!
//! The one rule it keeps: the whole list takes the place of what was known, a change only that of the session it names.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use jackfield_api::SessionId;
use jackfield_api::host::{SessionProcess, SessionSummary};
use jackfield_client::Watched;

/// How many sessions are shown at most.
const SESSIONS: usize = 200;

/// What was told so far.
#[derive(Debug, Default)]
pub(super) struct Seen {
    sessions: BTreeMap<SessionId, SessionSummary>,
    pub(super) processes: Vec<SessionProcess>,
    /// Tokens per second.
    pub(super) rates: BTreeMap<SessionId, u64>,
}

impl Seen {
    /// The list of sessions has changed.
    pub(super) fn take(&mut self, told: Watched) {
        let (sessions, deleted) = match told {
            Watched::All(sessions) => {
                self.sessions.clear();
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

    /// All sessions.
    pub(super) fn sessions(&self) -> impl Iterator<Item = &SessionSummary> + Clone {
        self.sessions.values()
    }

    /// Those that are shown, the newest first; what was archived is put away.
    pub(super) fn shown(&self) -> Vec<SessionSummary> {
        let mut shown: Vec<_> = self.sessions().filter(|session| !session.archived).collect();
        shown.sort_by_key(|session| Reverse(session.updated_at));
        shown.into_iter().take(SESSIONS).cloned().collect()
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
        seen.shown().iter().map(|session| session.session_id.to_string()).collect()
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
    }
}
