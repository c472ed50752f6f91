//! What the editor tells the CLI of its own accord: what is selected, and what the person mentions.
//!
//! A CLI hears nothing before it has asked for the tools, so what is told earlier is kept for it. The one rule it
//! keeps: whoever begins to listen hears the selection as it is then, and a mention is heard by everyone who listens,
//! or else by the first who does.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use crate::editor::{Mention, Selection};
use crate::workspace::{self, Workspace};

/// How long a selection must stay before it is told: who drags a mouse makes a hundred of them.
const STEADY: Duration = Duration::from_millis(50);
/// When the selection is told again to a CLI that has just come: it asks for the tools some time before it begins to
/// listen, and does not say when it does. To hear the same twice does no harm.
const AGAIN: [Duration; 4] =
    [Duration::from_millis(250), Duration::from_secs(1), Duration::from_secs(3), Duration::from_secs(10)];
/// How long mentions are kept for such a CLI: to hear one twice would do harm.
const SETTLED: Duration = Duration::from_secs(2);
/// How many mentions are kept while nobody listens; the oldest go first.
const MOST_MENTIONS: usize = 64;

/// Where an editor tells what happens in it. Clones are the same place.
#[derive(Debug, Clone)]
pub struct Notices {
    workspace: Arc<Workspace>,
    selection: watch::Sender<Option<Selection>>,
    latest: Arc<Mutex<Option<Selection>>>,
    mentions: Arc<Mutex<Mentions>>,
    mentioned: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Mentions {
    kept: VecDeque<(u64, Mention)>,
    count: u64,
    listeners: usize,
}

/// A notification for the CLI.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Notice {
    pub(crate) method: &'static str,
    pub(crate) params: Value,
}

/// One who listens.
#[derive(Debug)]
pub(crate) struct Listener {
    notices: Notices,
    selection: watch::Receiver<Option<Selection>>,
    mentioned: watch::Receiver<u64>,
    heard: u64,
    since: Instant,
    repeated: usize,
}

impl Notices {
    pub(crate) fn new(workspace: Arc<Workspace>) -> Self {
        Self {
            workspace,
            selection: watch::Sender::new(None),
            latest: Arc::default(),
            mentions: Arc::default(),
            mentioned: watch::Sender::new(0),
        }
    }

    /// The selection is another, or the cursor has moved; `None` when the person is in no file. Files outside the
    /// workspace are none of the CLI's business.
    pub fn select(&self, selection: Option<Selection>) {
        let selection = selection.filter(|selection| self.workspace.holds(&selection.path));
        if let Some(selection) = &selection {
            *lock(&self.latest) = Some(selection.clone());
        }
        self.selection.send_if_modified(|current| {
            let changed = *current != selection;
            *current = selection;
            changed
        });
    }

    /// The person wants to speak of a file; also of one outside the workspace, for they say so themselves.
    pub fn mention(&self, mention: Mention) {
        let mut mentions = lock(&self.mentions);
        mentions.count += 1;
        let count = mentions.count;
        mentions.kept.push_back((count, mention));
        if mentions.kept.len() > MOST_MENTIONS {
            mentions.kept.pop_front();
        }
        drop(mentions);
        self.mentioned.send_replace(count);
    }

    /// What is selected now.
    pub(crate) fn current(&self) -> Option<Selection> {
        self.selection.borrow().clone()
    }

    /// What was selected last, in whatever file.
    pub(crate) fn latest(&self) -> Option<Selection> {
        lock(&self.latest).clone()
    }

    pub(crate) fn listen(&self) -> Listener {
        let mut selection = self.selection.subscribe();
        if selection.borrow().is_some() {
            selection.mark_changed();
        }
        let mut mentioned = self.mentioned.subscribe();
        mentioned.mark_changed();
        let mut mentions = lock(&self.mentions);
        // Those that others have heard are not for this one.
        let heard = if mentions.listeners == 0 { 0 } else { mentions.count };
        mentions.listeners += 1;
        let since = Instant::now();
        Listener { notices: self.clone(), selection, mentioned, heard, since, repeated: 0 }
    }
}

impl Listener {
    /// What is to be told next; `None` when nothing can come any more.
    pub(crate) async fn next(&mut self) -> Option<Notice> {
        loop {
            let is_settled = self.since.elapsed() >= SETTLED;
            if is_settled && let Some(mention) = self.unheard() {
                return Some(Notice::of_mention(&mention));
            }
            let again = AGAIN.get(self.repeated).map(|after| self.since + *after);
            tokio::select! {
                () = sleep_until(self.since + SETTLED), if !is_settled => {}
                changed = self.mentioned.changed(), if is_settled => changed.ok()?,
                () = sleep_until(again.unwrap_or(self.since)), if again.is_some() => {
                    self.repeated += 1;
                    if let Some(selection) = self.selection.borrow_and_update().as_ref() {
                        return Some(Notice::of_selection(Some(selection)));
                    }
                }
                changed = self.selection.changed() => {
                    changed.ok()?;
                    self.wait_until_steady().await?;
                    return Some(Notice::of_selection(self.selection.borrow_and_update().as_ref()));
                }
            }
        }
    }

    async fn wait_until_steady(&mut self) -> Option<()> {
        loop {
            match tokio::time::timeout(STEADY, self.selection.changed()).await {
                Ok(changed) => changed.ok()?,
                Err(_) => return Some(()),
            }
        }
    }

    fn unheard(&mut self) -> Option<Mention> {
        let mut mentions = lock(&self.notices.mentions);
        let next = mentions.kept.iter().find(|(count, _)| *count > self.heard);
        let (count, mention) = next.cloned()?;
        self.heard = count;
        if mentions.listeners == 1 {
            mentions.kept.retain(|(kept, _)| *kept > count);
        }
        Some(mention)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let mut mentions = lock(&self.notices.mentions);
        mentions.listeners -= 1;
        if mentions.listeners == 0 {
            let heard = self.heard;
            mentions.kept.retain(|(count, _)| *count > heard);
        }
    }
}

impl Notice {
    fn of_selection(selection: Option<&Selection>) -> Self {
        let params = match selection {
            Some(Selection { path, text, range }) => json!({
                "text": text,
                "filePath": path,
                "fileUrl": workspace::url(path),
                "selection": selection_value(*range),
            }),
            None => json!({ "selection": null }),
        };
        Self { method: "selection_changed", params }
    }

    fn of_mention(mention: &Mention) -> Self {
        let mut params = json!({ "filePath": mention.path });
        if let Some((first, last)) = mention.lines {
            // From 0, and the last one included [at_mentioned].
            params["lineStart"] = json!(first);
            params["lineEnd"] = json!(last);
        }
        Self { method: "at_mentioned", params }
    }
}

/// A selection's range as the CLI reads it.
pub(crate) fn selection_value(range: crate::editor::Range) -> Value {
    json!({ "start": range.start, "end": range.end, "isEmpty": range.start == range.end })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::path::PathBuf;

    use crate::editor::{Position, Range};

    use super::*;

    fn notices() -> (tempfile::TempDir, PathBuf, Notices) {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().canonicalize().unwrap();
        let workspace = Workspace::open(std::slice::from_ref(&folder)).unwrap();
        (home, folder, Notices::new(Arc::new(workspace)))
    }

    fn selection(path: PathBuf, line: u32) -> Selection {
        let range = Range { start: Position { line, character: 0 }, end: Position { line, character: 4 } };
        Selection { path, text: format!("line {line}"), range }
    }

    fn mention(path: &str) -> Mention {
        Mention { path: path.into(), lines: Some((0, 1)) }
    }

    #[tokio::test(start_paused = true)]
    async fn only_the_last_of_many_selections_is_told() {
        let (_home, folder, notices) = notices();
        let mut listener = notices.listen();
        for line in 0..100 {
            notices.select(Some(selection(folder.join("a"), line)));
        }
        let told = listener.next().await.unwrap();
        assert_eq!(told.method, "selection_changed");
        assert_eq!(told.params["text"], json!("line 99"));
        assert_eq!(told.params["selection"]["isEmpty"], json!(false));
        notices.select(None);
        assert_eq!(listener.next().await.unwrap().params, json!({ "selection": null }));
        let silence = tokio::time::timeout(Duration::from_hours(1), listener.next()).await;
        assert!(silence.is_err(), "there is nothing to tell again");
        assert_eq!(notices.current(), None);
        assert_eq!(notices.latest().unwrap().text, "line 99");
    }

    #[tokio::test(start_paused = true)]
    async fn who_comes_later_hears_the_selection_as_it_is() {
        let (_home, folder, notices) = notices();
        notices.select(Some(selection(folder.join("a"), 7)));
        for _ in 0..2 {
            assert_eq!(notices.listen().next().await.unwrap().params["text"], json!("line 7"));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_has_just_come_hears_the_selection_again_and_a_mention_once() {
        let (_home, folder, notices) = notices();
        notices.select(Some(selection(folder.join("a"), 7)));
        notices.mention(mention("/once"));
        let mut listener = notices.listen();
        let mut told = Vec::new();
        while let Ok(Some(notice)) = tokio::time::timeout(Duration::from_hours(1), listener.next()).await {
            told.push(notice.method);
        }
        let (selected, mentioned) = ("selection_changed", "at_mentioned");
        assert_eq!(told, [selected, selected, selected, mentioned, selected, selected]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_selection_outside_the_workspace_is_not_told() {
        let (_home, folder, notices) = notices();
        notices.select(Some(selection("/etc/passwd".into(), 0)));
        assert_eq!((notices.current(), notices.latest()), (None, None));
        let mut listener = notices.listen();
        notices.select(Some(selection(folder.join("a"), 1)));
        assert_eq!(listener.next().await.unwrap().params["text"], json!("line 1"));
        notices.select(Some(selection("/etc/passwd".into(), 0)));
        assert_eq!(listener.next().await.unwrap().params, json!({ "selection": null }));
    }

    #[tokio::test(start_paused = true)]
    async fn a_mention_is_heard_by_all_who_listen_or_by_the_first_who_does() {
        let (_home, _folder, notices) = notices();
        notices.mention(mention("/early"));
        let mut first = notices.listen();
        assert_eq!(
            first.next().await.unwrap().params,
            json!({ "filePath": "/early", "lineStart": 0, "lineEnd": 1 })
        );
        let mut second = notices.listen();
        notices.mention(mention("/both"));
        for listener in [&mut first, &mut second] {
            assert_eq!(listener.next().await.unwrap().params["filePath"], json!("/both"));
        }
        drop((first, second));
        notices.mention(Mention { path: "/late".into(), lines: None });
        let mut third = notices.listen();
        assert_eq!(third.next().await.unwrap().params, json!({ "filePath": "/late" }));
    }
}
