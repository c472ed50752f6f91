//! The list of sessions as it changes, for those who watch it.
//!
//! State, not events: a watcher that was slow gets every changed session once, as it is now. A summary is encoded
//! once for all.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use jackfield_api::host::{DeskEntry, SessionSummary};
use jackfield_api::snapshot::SessionState;
use jackfield_api::trouble::RateLimit;
use jackfield_api::{PendingId, SessionId, Timestamp};
use tokio::sync::watch;

/// The list of sessions as it changes.
#[derive(Debug, Default)]
pub(crate) struct Feed {
    known: Mutex<Known>,
    version: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Known {
    version: u64,
    sessions: BTreeMap<SessionId, Entry>,
    /// Those that have taken room for a run and have not told anything since.
    starting: BTreeMap<SessionId, Instant>,
    rate_limit: Option<RateLimit>,
}

/// How long a session is counted that never told that it runs: it was refused for another reason.
const STARTING: Duration = Duration::from_secs(10);

/// How many sessions stand how.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) ended: u64,
    pub(crate) idle: u64,
    pub(crate) running: u64,
    /// It waits for an answer.
    pub(crate) waiting: u64,
    pub(crate) queued: u64,
    pub(crate) questions: usize,
}

#[derive(Debug)]
struct Entry {
    version: u64,
    /// `None` if it was deleted.
    summary: Option<SessionSummary>,
    /// As watchers get it, once there is one.
    encoded: OnceCell<Bytes>,
    /// When each open question was asked.
    asked: BTreeMap<PendingId, Timestamp>,
    /// It was asked to end its run, for the sake of another, and has not said anything since.
    yields: bool,
}

impl Entry {
    fn encoded(&self) -> Bytes {
        let encode = || serde_json::to_vec(&self.summary).unwrap_or_default().into();
        self.encoded.get_or_init(encode).clone()
    }
}

/// Whether one more session may have a run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Room {
    /// There is room.
    Free,
    /// There is, once this session, which does nothing, has ended its run.
    Of(SessionId),
    /// All that run work.
    None,
}

impl Feed {
    /// A session is like this now.
    pub(crate) fn tell(&self, summary: SessionSummary, asked: BTreeMap<PendingId, Timestamp>) {
        let id = summary.session_id.clone();
        let encoded = OnceCell::new();
        self.put(id, Entry { version: 0, summary: Some(summary), encoded, asked, yields: false });
    }

    /// A session is no more.
    pub(crate) fn delete(&self, id: &SessionId) {
        let encoded = OnceCell::from(Bytes::from(serde_json::to_vec(id).unwrap_or_default()));
        let asked = BTreeMap::new();
        self.put(id.clone(), Entry { version: 0, summary: None, encoded, asked, yields: false });
    }

    fn put(&self, id: SessionId, entry: Entry) {
        let version = {
            let mut known = self.lock();
            known.version += 1;
            let version = known.version;
            known.starting.remove(&id);
            known.sessions.insert(id, Entry { version, ..entry });
            version
        };
        self.version.send_replace(version);
    }

    /// A session, if it changed since the host began.
    pub(crate) fn summary(&self, id: &SessionId) -> Option<SessionSummary> {
        self.lock().sessions.get(id)?.summary.clone()
    }

    /// Whether one more session may have a run, where so many may.
    pub(crate) fn room(&self, most: usize) -> Room {
        self.lock().room(most)
    }

    /// The same for one that is about to have it: from now on it is counted, and whoever's room it was is not, and is
    /// not asked again.
    pub(crate) fn take_room(&self, most: usize, taker: &SessionId) -> Room {
        let mut known = self.lock();
        known.starting.retain(|_, since| since.elapsed() < STARTING);
        let room = known.room(most);
        if let Room::Of(id) = &room
            && let Some(entry) = known.sessions.get_mut(id)
        {
            entry.yields = true;
        }
        if room != Room::None {
            known.starting.insert(taker.clone(), Instant::now());
        }
        room
    }

    /// How many sessions stand how, how many prompts wait in them, and how many questions are open.
    pub(crate) fn standing(&self) -> Standing {
        let mut standing = Standing::default();
        for summary in self.lock().sessions.values().filter_map(|entry| entry.summary.as_ref()) {
            *match summary.state {
                // Also between turns: a subagent in the background may ask.
                _ if !summary.pending.is_empty() => &mut standing.waiting,
                SessionState::Ended => &mut standing.ended,
                SessionState::Idle => &mut standing.idle,
                SessionState::Running => &mut standing.running,
            } += 1;
            standing.queued += u64::from(summary.queued);
            standing.questions += summary.pending.len();
        }
        standing
    }

    /// The account's limits, as last heard.
    pub(crate) fn rate_limits(&self) -> Vec<RateLimit> {
        self.lock().rate_limit.iter().cloned().collect()
    }

    /// The account's limits are like this now.
    pub(crate) fn tell_limit(&self, limit: RateLimit) {
        self.lock().rate_limit = Some(limit);
    }

    /// All open questions, oldest first.
    pub(crate) fn desk(&self) -> Vec<DeskEntry> {
        let known = self.lock();
        let mut desk = Vec::new();
        for entry in known.sessions.values() {
            let Some(summary) = &entry.summary else { continue };
            desk.extend(summary.pending.iter().map(|request| DeskEntry {
                session_id: summary.session_id.clone(),
                title: summary.title.clone(),
                cwd: summary.cwd.clone(),
                asked_at: entry.asked.get(&request.pending_id).copied().unwrap_or(summary.updated_at),
                request: request.clone(),
            }));
        }
        desk.sort_by_key(|entry| entry.asked_at);
        desk
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn room(&self, most: usize) -> Room {
        let staying = self.sessions.values().filter(|entry| !entry.yields);
        let summaries = staying.filter_map(|entry| entry.summary.as_ref());
        let running: Vec<_> = summaries.filter(|summary| summary.state != SessionState::Ended).collect();
        let starting = self.starting.values().filter(|since| since.elapsed() < STARTING).count();
        if running.len() + starting < most {
            return Room::Free;
        }
        let is_idle =
            |summary: &&SessionSummary| summary.state == SessionState::Idle && summary.pending.is_empty();
        let idle = running.into_iter().filter(is_idle);
        let longest = idle.min_by_key(|summary| summary.updated_at);
        longest.map_or(Room::None, |summary| Room::Of(summary.session_id.clone()))
    }
}

/// Somebody who watches the list of sessions.
#[derive(Debug)]
pub struct Watching {
    feed: Arc<Feed>,
    changed: watch::Receiver<u64>,
    seen: u64,
    first: Option<Bytes>,
}

impl Watching {
    /// `recent` are the sessions to begin with.
    pub(crate) fn new(feed: &Arc<Feed>, recent: &[SessionSummary]) -> Self {
        let changed = feed.version.subscribe();
        let (seen, first) = {
            let known = feed.lock();
            let stored = recent.iter().filter(|summary| !known.sessions.contains_key(&summary.session_id));
            let stored = stored.map(|summary| serde_json::to_vec(summary).unwrap_or_default().into());
            let live = known.sessions.values().filter(|entry| entry.summary.is_some());
            let sessions: Vec<Bytes> = live.map(Entry::encoded).chain(stored).collect();
            (known.version, frame(&sessions, &[]))
        };
        Self { feed: Arc::clone(feed), changed, seen, first: Some(first) }
    }

    /// The next `sessions` frame: the first has all that live and the recent ones, the others what changed.
    /// Cancel-safe.
    pub async fn next(&mut self) -> Bytes {
        loop {
            if let Some(first) = self.first.take() {
                return first;
            }
            if let Some(frame) = self.changes() {
                return frame;
            }
            if self.changed.changed().await.is_err() {
                // The feed lives as long as this value holds it.
                std::future::pending::<()>().await;
            }
        }
    }

    fn changes(&mut self) -> Option<Bytes> {
        self.changed.borrow_and_update();
        let known = self.feed.lock();
        if known.version == self.seen {
            return None;
        }
        let new = known.sessions.values().filter(|entry| entry.version > self.seen);
        let (told, deleted): (Vec<_>, Vec<_>) = new.partition(|entry| entry.summary.is_some());
        let encoded = |entries: Vec<&Entry>| entries.into_iter().map(Entry::encoded).collect();
        let (told, deleted): (Vec<Bytes>, Vec<Bytes>) = (encoded(told), encoded(deleted));
        self.seen = known.version;
        Some(frame(&told, &deleted))
    }
}

fn frame(sessions: &[Bytes], deleted: &[Bytes]) -> Bytes {
    let mut frame = b"{\"type\":\"sessions\",\"sessions\":[".to_vec();
    frame.extend(sessions.join(&b","[..]));
    if !deleted.is_empty() {
        frame.extend_from_slice(b"],\"deleted\":[");
        frame.extend(deleted.join(&b","[..]));
    }
    frame.extend_from_slice(b"]}");
    frame.into()
}

#[cfg(test)]
mod tests {
    use jackfield_api::permission::{PermissionKind, PermissionRequest};

    use super::*;

    fn tell(feed: &Feed, id: &str, state: SessionState, updated_at: u64) {
        let mut summary = SessionSummary::new(id.into(), "/", Timestamp(0));
        (summary.state, summary.updated_at) = (state, Timestamp(updated_at));
        feed.tell(summary, BTreeMap::new());
    }

    #[test]
    fn who_asks_between_turns_waits_and_makes_no_room() {
        let feed = Feed::default();
        let mut summary = SessionSummary::new("asks".into(), "/", Timestamp(0));
        summary.state = SessionState::Idle;
        feed.tell(summary.clone(), BTreeMap::new());
        assert_eq!((feed.standing().idle, feed.room(1)), (1, Room::Of("asks".into())));
        summary.pending.push(PermissionRequest {
            pending_id: PendingId(7),
            kind: PermissionKind::Tool,
            tool_call_id: None,
            tool_name: None,
            tool_title: "Write a.txt".to_owned(),
            normalized: None,
            input: None,
            suggestions: Vec::new(),
            reason: None,
            questions: Vec::new(),
            plan: None,
            message: None,
            schema: None,
        });
        feed.tell(summary, BTreeMap::new());
        let Standing { idle, waiting, questions, .. } = feed.standing();
        assert_eq!((idle, waiting, questions, feed.room(1)), (0, 1, 1, Room::None));
    }

    #[test]
    fn who_has_been_idle_the_longest_makes_room_and_who_works_does_not() {
        let feed = Feed::default();
        tell(&feed, "over", SessionState::Ended, 1);
        tell(&feed, "works", SessionState::Running, 2);
        assert_eq!(feed.room(2), Room::Free);
        tell(&feed, "idle", SessionState::Idle, 4);
        tell(&feed, "longer", SessionState::Idle, 3);
        assert_eq!(feed.room(4), Room::Free);
        assert_eq!(feed.room(3), Room::Of("longer".into()));
        // Each gives its room away once.
        assert_eq!(feed.take_room(3, &"a".into()), Room::Of("longer".into()));
        assert_eq!(feed.take_room(3, &"b".into()), Room::Of("idle".into()));
        assert_eq!(feed.take_room(3, &"c".into()), Room::None);
        // Those that have it are not counted twice when they tell of themselves.
        tell(&feed, "a", SessionState::Running, 5);
        tell(&feed, "b", SessionState::Ended, 5);
        assert_eq!(feed.room(3), Room::Free);
        // One that has found something to do in the meantime counts again.
        tell(&feed, "longer", SessionState::Running, 5);
        tell(&feed, "idle", SessionState::Ended, 5);
        assert_eq!(feed.room(3), Room::None);
        assert_eq!(feed.room(4), Room::Free);
    }
}
