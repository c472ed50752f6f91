//! The board: changes that an interactive CLI proposes, and files that it shows, put before everybody who may look.
//!
//! It knows nothing of the CLI's protocol; whoever speaks that puts things up and waits. The one rule it keeps: the
//! first verdict counts, and what nobody waits for any more is taken down.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use jackfield_api::editor::{
    EditorDiff, EditorDiffContent, EditorFile, EditorFileContent, EditorRange, EditorState, EditorVerdict,
};
use jackfield_api::socket::ServerFrame;
use jackfield_api::{EditorDiffId, EditorFileId, Timestamp};
use similar::{Algorithm, ChangeTag, TextDiff};
use tokio::sync::{oneshot, watch};

/// How many changes may wait.
const DIFFS: usize = 64;
/// How many files are kept.
const FILES: usize = 10;
/// How many verdicts are remembered, so that who comes second is told so.
const DECIDED: usize = 256;
/// How long lines are counted; then they are counted roughly.
const COUNTING: Duration = Duration::from_millis(200);

/// The board. Clones are the same one.
#[derive(Debug, Clone, Default)]
pub struct Board {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    up: Mutex<Up>,
    changed: watch::Sender<u64>,
}

/// What is up.
#[derive(Debug, Default)]
struct Up {
    count: u64,
    diffs: BTreeMap<EditorDiffId, Waiting>,
    decided: VecDeque<EditorDiffId>,
    files: VecDeque<(EditorFile, Arc<str>)>,
    connected: u32,
}

#[derive(Debug)]
struct Waiting {
    diff: EditorDiff,
    content: Arc<Proposal>,
    verdict: oneshot::Sender<EditorVerdict>,
}

/// A change that is proposed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposal {
    /// The file, absolute.
    pub path: String,
    /// What is in it; `None` if it is to be made.
    pub old: Option<String>,
    /// What is proposed.
    pub new: String,
}

/// Why there is no verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many changes wait for a decision already")]
pub struct Full;

/// Why a verdict did not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotCounted {
    /// There was another before.
    TooLate,
    /// Nobody waits for one, or ever did.
    NotFound,
}

impl Board {
    /// Puts a change up until there is a verdict: what the file shall contain, or `None` for a no. Dropping the
    /// future takes it down.
    pub async fn propose(&self, proposal: Proposal) -> Result<Option<String>, Full> {
        let (added, removed) = counted(&proposal);
        let (verdict, given) = oneshot::channel();
        let content = Arc::new(proposal);
        let down = self.change(|up| {
            if up.diffs.len() >= DIFFS {
                return Err(Full);
            }
            up.count += 1;
            let diff = EditorDiff {
                diff_id: EditorDiffId(up.count),
                path: content.path.clone(),
                new_file: content.old.is_none(),
                added,
                removed,
                proposed_at: now(),
            };
            let id = diff.diff_id;
            up.diffs.insert(id, Waiting { diff, content: Arc::clone(&content), verdict });
            Ok(TakenDown { board: self, id })
        })?;
        let verdict = given.await.ok();
        drop(down);
        // Without a word it is a no.
        Ok(verdict
            .filter(|verdict| verdict.accepted)
            .map(|verdict| verdict.content.unwrap_or_else(|| content.new.clone())))
    }

    /// Shows a file.
    pub fn show(&self, path: String, text: impl Into<Arc<str>>, selection: Option<EditorRange>) {
        self.change(|up| {
            up.count += 1;
            let file = EditorFile { file_id: EditorFileId(up.count), path, selection, shown_at: now() };
            // The same file again is one file.
            up.files.retain(|(earlier, _)| earlier.path != file.path);
            up.files.push_front((file, text.into()));
            up.files.truncate(FILES);
        });
    }

    /// So many CLIs are connected.
    pub fn connected(&self, count: u32) {
        self.change(|up| up.connected = count);
    }

    /// What is up now.
    pub(crate) fn state(&self) -> EditorState {
        let up = self.lock();
        EditorState {
            diffs: up.diffs.values().map(|waiting| waiting.diff.clone()).collect(),
            files: up.files.iter().map(|(file, _)| file.clone()).collect(),
            connected: up.connected,
        }
    }

    /// A change, whole, while it waits.
    pub(crate) fn diff(&self, id: EditorDiffId) -> Option<EditorDiffContent> {
        let content = Arc::clone(&self.lock().diffs.get(&id)?.content);
        let Proposal { path, old, new } = &*content;
        Some(EditorDiffContent { diff_id: id, path: path.clone(), old: old.clone(), new: new.clone() })
    }

    /// A file that was shown.
    pub(crate) fn file(&self, id: EditorFileId) -> Option<EditorFileContent> {
        let up = self.lock();
        let (file, text) = up.files.iter().find(|(file, _)| file.file_id == id)?;
        let (path, selection) = (file.path.clone(), file.selection);
        Some(EditorFileContent { file_id: id, path, text: text.to_string(), selection })
    }

    /// Decides a change.
    pub(crate) fn decide(&self, id: EditorDiffId, verdict: EditorVerdict) -> Result<(), NotCounted> {
        self.change(|up| {
            let Some(waiting) = up.diffs.remove(&id) else {
                let is_known = up.decided.contains(&id);
                return Err(if is_known { NotCounted::TooLate } else { NotCounted::NotFound });
            };
            up.remember(id);
            // Whoever waited may have gone a moment ago.
            waiting.verdict.send(verdict).map_err(|_| NotCounted::TooLate)
        })
    }

    /// Follows what is up.
    pub(crate) fn watch(&self) -> BoardWatching {
        let mut changed = self.shared.changed.subscribe();
        changed.mark_changed();
        BoardWatching { board: self.clone(), changed }
    }

    fn change<T>(&self, change: impl FnOnce(&mut Up) -> T) -> T {
        let done = change(&mut self.lock());
        self.shared.changed.send_modify(|version| *version += 1);
        done
    }

    fn lock(&self) -> MutexGuard<'_, Up> {
        self.shared.up.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Up {
    fn remember(&mut self, id: EditorDiffId) {
        self.decided.push_back(id);
        if self.decided.len() > DECIDED {
            self.decided.pop_front();
        }
    }
}

/// Takes a change down, if it is still up.
struct TakenDown<'a> {
    board: &'a Board,
    id: EditorDiffId,
}

impl Drop for TakenDown<'_> {
    fn drop(&mut self) {
        if !self.board.lock().diffs.contains_key(&self.id) {
            return;
        }
        self.board.change(|up| {
            up.diffs.remove(&self.id);
            // It was decided in the CLI's own terminal.
            up.remember(self.id);
        });
    }
}

/// Somebody who follows what is up.
#[derive(Debug)]
pub(crate) struct BoardWatching {
    board: Board,
    changed: watch::Receiver<u64>,
}

impl BoardWatching {
    /// The next frame: the first at once, the others after a change. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Bytes {
        // The sender lives as long as the board that is held here.
        let _ = self.changed.changed().await;
        serde_json::to_vec(&ServerFrame::Editor(self.board.state())).unwrap_or_default().into()
    }
}

fn counted(proposal: &Proposal) -> (u64, u64) {
    let old = proposal.old.as_deref().unwrap_or_default();
    let diff = TextDiff::configure()
        .algorithm(Algorithm::Histogram)
        .timeout(COUNTING)
        .diff_lines(old, proposal.new.as_str());
    diff.iter_all_changes().fold((0, 0), |(added, removed), change| match change.tag() {
        ChangeTag::Insert => (added + 1, removed),
        ChangeTag::Delete => (added, removed + 1),
        ChangeTag::Equal => (added, removed),
    })
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(u64::try_from(since.as_millis()).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use futures_util::{FutureExt as _, poll};

    use super::*;

    fn proposal(path: &str) -> Proposal {
        Proposal { path: path.to_owned(), old: Some("a\nb\n".to_owned()), new: "a\nc\nd\n".to_owned() }
    }

    fn yes(content: Option<&str>) -> EditorVerdict {
        EditorVerdict { accepted: true, content: content.map(str::to_owned) }
    }

    #[tokio::test]
    async fn the_first_verdict_counts() {
        let board = Board::default();
        let mut first = Box::pin(board.propose(proposal("/ws/a")));
        let mut second = Box::pin(board.propose(proposal("/ws/b")));
        let mut third = Box::pin(board.propose(proposal("/ws/c")));
        assert!(poll!(&mut first).is_pending() && poll!(&mut second).is_pending());
        assert!(poll!(&mut third).is_pending());
        let diffs = board.state().diffs;
        assert_eq!((diffs.len(), diffs[0].added, diffs[0].removed), (3, 2, 1));
        let ids: Vec<_> = diffs.iter().map(|diff| diff.diff_id).collect();
        assert_eq!(board.diff(ids[1]).unwrap().path, "/ws/b");

        assert_eq!(board.decide(ids[0], yes(None)), Ok(()));
        assert_eq!(board.decide(ids[0], yes(Some("other"))), Err(NotCounted::TooLate));
        assert_eq!(first.await, Ok(Some("a\nc\nd\n".to_owned())));
        assert_eq!(board.decide(ids[1], yes(Some("mine\n"))), Ok(()));
        assert_eq!(second.await, Ok(Some("mine\n".to_owned())));
        assert_eq!(board.decide(ids[2], EditorVerdict { accepted: false, content: None }), Ok(()));
        assert_eq!(third.await, Ok(None));
        assert_eq!(board.decide(EditorDiffId(99), yes(None)), Err(NotCounted::NotFound));
        assert_eq!(board.state(), EditorState::default());
    }

    #[tokio::test]
    async fn what_nobody_waits_for_is_taken_down_and_everybody_is_told() {
        let board = Board::default();
        let mut watching = board.watch();
        let shown = |frame: Bytes| match serde_json::from_slice(&frame).unwrap() {
            ServerFrame::Editor(state) => state,
            other => unreachable!("{other:?}"),
        };
        assert_eq!(shown(watching.next().await), EditorState::default());
        assert!(watching.next().now_or_never().is_none());
        let mut waiting = Box::pin(board.propose(proposal("/ws/a")));
        assert!(poll!(&mut waiting).is_pending());
        let id = shown(watching.next().await).diffs[0].diff_id;
        drop(waiting);
        assert_eq!(shown(watching.next().await).diffs, []);
        assert_eq!(board.decide(id, yes(None)), Err(NotCounted::TooLate));
    }

    #[tokio::test]
    async fn a_board_has_room_for_so_many_and_no_more() {
        let board = Board::default();
        let mut waiting = Vec::new();
        for _ in 0..DIFFS {
            let mut one = Box::pin(board.propose(proposal("/ws/a")));
            assert!(poll!(&mut one).is_pending());
            waiting.push(one);
        }
        assert_eq!(board.propose(proposal("/ws/a")).await, Err(Full));
        waiting.pop();
        assert!(poll!(Box::pin(board.propose(proposal("/ws/a")))).is_pending());
    }

    #[test]
    fn files_are_kept_newest_first_and_each_once() {
        let board = Board::default();
        for number in 0..12 {
            board.show(format!("/ws/{number}"), "text", None);
        }
        board.show("/ws/5".to_owned(), "newer", None);
        let files = board.state().files;
        assert_eq!(files.len(), FILES);
        assert_eq!((&*files[0].path, &*files[1].path), ("/ws/5", "/ws/11"));
        assert_eq!(board.file(files[0].file_id).unwrap().text, "newer");
        assert_eq!(board.file(EditorFileId(1)), None);
    }
}
