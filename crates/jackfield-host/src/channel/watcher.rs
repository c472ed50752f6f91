//! What is known of a session's process and lines beside its events: its number, and its debug files.
//!
//! Shared by the session's task, by the SDK's task below it, and by whoever switches debug files on and off. The one
//! rule it keeps: with debug files off it costs one look at a flag.

use std::io;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jackfield_api::SessionId;
use jackfield_sdk::{Journal, Passed};

use super::switches::Switch;
use crate::debug_files::{self, DebugFile, Kind, Taken};
use crate::observe::{DebugOf, Observe};

/// How long a debug file may lack something that nothing followed, while much is said.
const LATER: Duration = Duration::from_millis(20);

/// What is known of a session beside its events.
#[derive(Debug)]
pub(crate) struct Watcher {
    /// The process of its run; 0 while there is none.
    process: AtomicU32,
    files: Arc<Files>,
}

/// The debug files of a session.
#[derive(Debug)]
struct Files {
    session: SessionId,
    folder: Option<PathBuf>,
    on: Switch,
    /// Each has its own lock: the session's task and the SDK's do not wait for each other.
    raw: Mutex<Written>,
    normalized: Mutex<Written>,
}

#[derive(Debug, Default)]
struct Written {
    file: Option<DebugFile>,
    /// Somebody will write what is held back.
    later: bool,
    /// The session was deleted: there is no file any more.
    gone: bool,
}

impl Watcher {
    /// With the switch of the session, if somebody has used it.
    pub(crate) fn new(observe: &Observe, session: &SessionId, used: Option<Switch>) -> Self {
        let by_configuration = observe.debug == DebugOf::Everybody && observe.debug_folder.is_some();
        let files = Files {
            session: session.clone(),
            folder: observe.debug_folder.clone(),
            // They are opened with the first line.
            on: used.unwrap_or_else(|| Arc::new(AtomicBool::new(by_configuration))),
            raw: Mutex::default(),
            normalized: Mutex::default(),
        };
        Self { process: AtomicU32::new(0), files: Arc::new(files) }
    }

    /// Whether debug files are written.
    pub(crate) fn debugs(&self) -> bool {
        self.files.on.load(Ordering::Relaxed)
    }

    /// What says whether they are, and still does when this is gone.
    pub(crate) fn switch(&self) -> Switch {
        Arc::clone(&self.files.on)
    }

    /// Begins the debug files, if they can be written.
    pub(crate) fn begin(&self) -> io::Result<()> {
        let open = |kind| self.files.opened(&mut self.files.lock(kind), kind).map(drop);
        let opened = Kind::ALL.into_iter().try_for_each(open);
        match opened {
            Ok(()) => self.files.on.store(true, Ordering::Relaxed),
            Err(_) => self.end(),
        }
        opened
    }

    /// Ends the debug files.
    pub(crate) fn end(&self) {
        if self.debugs() {
            for kind in Kind::ALL {
                self.files.flush(kind);
            }
        }
        self.files.on.store(false, Ordering::Relaxed);
        for kind in Kind::ALL {
            self.files.lock(kind).file = None;
        }
    }

    /// Ends the debug files and removes them, also those that an earlier host wrote. None is written from now on.
    pub(crate) fn remove(&self) -> io::Result<()> {
        self.end();
        for kind in Kind::ALL {
            self.files.lock(kind).gone = true;
        }
        let folder = self.files.folder.as_deref();
        folder.map_or(Ok(()), |folder| debug_files::remove(folder, &self.files.session))
    }

    /// The run is over. Its process's number may soon be another's.
    pub(crate) fn run_is_over(&self) {
        self.process.store(0, Ordering::Relaxed);
    }

    /// The process of the session's run.
    pub(crate) fn process_id(&self) -> Option<u32> {
        Some(self.process.load(Ordering::Relaxed)).filter(|id| *id != 0)
    }

    /// Events that are about to be stored, as lines.
    pub(crate) fn events(&self, lines: &mut Vec<u8>) {
        let all = 0..lines.len();
        self.files.take(Kind::Normalized, lines, &[all]);
    }
}

impl Journal for Watcher {
    fn wants_lines(&self) -> bool {
        self.debugs()
    }

    fn passed(&self, passed: &mut Passed) {
        self.files.take(Kind::Raw, &mut passed.lines, &passed.said);
    }

    fn process(&self, id: u32) {
        self.process.store(id, Ordering::Relaxed);
    }
}

impl Files {
    /// Takes lines for a file, and where in them something is said.
    fn take(self: &Arc<Self>, kind: Kind, lines: &mut Vec<u8>, said: &[Range<usize>]) {
        if self.on.load(Ordering::Relaxed) && self.write(kind, &mut self.lock(kind), lines, said) {
            self.write_later(kind);
        }
    }

    /// Writes lines, and says whether somebody must write the rest later.
    fn write(&self, kind: Kind, written: &mut Written, lines: &mut Vec<u8>, said: &[Range<usize>]) -> bool {
        // They may have been switched off while the lock was waited for; whoever does that takes it afterwards.
        if !self.on.load(Ordering::Relaxed) {
            return false;
        }
        let taken = self.opened(written, kind).and_then(|file| file.take(lines, said));
        let held = self.or_off(written, taken) == Some(Taken::Held);
        held && !std::mem::replace(&mut written.later, true)
    }

    /// The file, which is opened if it is not.
    fn opened<'a>(&self, written: &'a mut Written, kind: Kind) -> io::Result<&'a mut DebugFile> {
        if written.gone {
            return Err(io::Error::other("the session is deleted"));
        }
        let none = match &mut written.file {
            Some(file) => return Ok(file),
            none => none,
        };
        let Some(folder) = &self.folder else {
            return Err(io::Error::other("this host has no folder for debug files"));
        };
        DebugFile::open(folder, &self.session, kind).map(|opened| none.insert(opened))
    }

    /// While much is said, what is held back is written a little later, with what came until then. While so much comes
    /// that it is written all the time, that is left to who takes it, whose processor has it at hand.
    fn write_later(self: &Arc<Self>, kind: Kind) {
        let files = Arc::clone(self);
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return self.flush(kind) };
        runtime.spawn(async move {
            let written = || files.lock(kind).file.as_ref().map(DebugFile::written);
            let mut before = written();
            loop {
                tokio::time::sleep(LATER).await;
                let now = written();
                if now == before {
                    break files.flush(kind);
                }
                before = now;
            }
        });
    }

    /// Writes what is held back, if anything was written at all.
    fn flush(&self, kind: Kind) {
        let mut written = self.lock(kind);
        written.later = false;
        let flushed = written.file.as_mut().map(DebugFile::flush).transpose();
        self.or_off(&mut written, flushed);
    }

    /// What was done with a file. Where that was not possible debug files are off from now on.
    fn or_off<T>(&self, written: &mut Written, done: io::Result<T>) -> Option<T> {
        done.inspect_err(|error| {
            written.file = None;
            // It is told once, though there are two files.
            if self.on.swap(false, Ordering::Relaxed) {
                tracing::warn!(session = %self.session, %error, "cannot write debug files; they are off now");
            }
        })
        .ok()
    }

    fn lock(&self, kind: Kind) -> MutexGuard<'_, Written> {
        let file = match kind {
            Kind::Raw => &self.raw,
            Kind::Normalized => &self.normalized,
        };
        // A panic while the lock is held leaves a file that can be written.
        file.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use jackfield_api::conversation::MessageChunk;
    use jackfield_api::trouble::Gap;
    use jackfield_api::{Body, Event, ItemId, Seq, Timestamp};

    use super::*;
    use crate::channel::outbox::Outbox;
    use crate::debug_files::PIECE;

    #[tokio::test(start_paused = true)]
    async fn what_is_held_back_is_written_when_it_is_not_written_all_the_time() {
        let folder = tempfile::tempdir().unwrap();
        let debug_folder = Some(folder.path().to_owned());
        let observe = Observe { debug_folder, debug: DebugOf::Everybody, ..Observe::default() };
        let watcher = Watcher::new(&observe, &SessionId::from("s"), None);
        let path = folder.path().join("normalized-streamjson-s.jsonl");
        let written = || usize::try_from(std::fs::metadata(&path).unwrap().len()).unwrap();
        let lines = "x\n".repeat(PIECE / 20);
        for moment in 1..=100 {
            watcher.events(&mut lines.clone().into_bytes());
            tokio::time::sleep(LATER / 20).await;
            assert_eq!(written(), moment * lines.len() / PIECE * PIECE, "only whole pieces");
        }
        tokio::time::sleep(2 * LATER).await;
        assert_eq!(written(), 100 * lines.len(), "all of it");
        watcher.events(&mut lines.clone().into_bytes());
        tokio::time::sleep(LATER + LATER / 20).await;
        assert_eq!(written(), 101 * lines.len(), "where little follows it waits only once");
    }

    #[test]
    fn what_waited_while_they_were_switched_off_opens_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let debug_folder = Some(folder.path().to_owned());
        let observe = Observe { debug_folder, debug: DebugOf::Everybody, ..Observe::default() };
        let watcher = Watcher::new(&observe, &SessionId::from("s"), None);
        watcher.events(
            &mut b"one
"
            .to_vec(),
        );
        watcher.end();
        // Behind the look at the flag, where the lock is had at last.
        let mut written = watcher.files.lock(Kind::Normalized);
        assert!(!watcher.files.write(Kind::Normalized, &mut written, &mut b"two\n".to_vec(), &[]));
        assert!(written.file.is_none());
        let path = folder.path().join("normalized-streamjson-s.jsonl");
        assert_eq!(std::fs::read_to_string(path).unwrap(), "one\n");
    }

    #[test]
    fn what_is_removed_does_not_come_back() {
        let folder = tempfile::tempdir().unwrap();
        let debug_folder = Some(folder.path().to_owned());
        let observe = Observe { debug_folder, debug: DebugOf::Everybody, ..Observe::default() };
        let watcher = Watcher::new(&observe, &SessionId::from("s"), None);
        let count = || std::fs::read_dir(folder.path()).unwrap().count();
        watcher.events(&mut b"one\n".to_vec());
        watcher.passed(&mut Passed::all_said(b"one\n".to_vec()));
        assert_eq!(count(), 2);
        watcher.remove().unwrap();
        watcher.events(&mut b"two\n".to_vec());
        watcher.passed(&mut Passed::all_said(b"two\n".to_vec()));
        assert!(watcher.begin().is_err() && !watcher.debugs());
        assert_eq!(count(), 0);
        Watcher::new(&Observe::default(), &SessionId::from("s"), None).remove().unwrap();
    }

    #[test]
    fn secrets_are_taken_out_of_what_pieces_have_in_common_of_one_and_of_several() {
        let folder = tempfile::tempdir().unwrap();
        let debug_folder = Some(folder.path().to_owned());
        let observe = Observe { debug_folder, debug: DebugOf::Everybody, ..Observe::default() };
        let id = SessionId::from("s");
        let (watcher, mut outbox) = (Watcher::new(&observe, &id, None), Outbox::new(id.clone(), Seq(0)));
        let key = format!("sk-ant-{}", "abcdefgh".repeat(4));
        let mut seq = 0;
        for batch in 0..40_u64 {
            // At first nothing is secret; then all pieces have a secret in common; then one has it in its words, and
            // then several together.
            let message =
                if (10..20).contains(&batch) { key.clone() } else { format!("message {}", batch / 10) };
            let mut push = |body: Body| {
                seq += 1;
                let (seq, at, session_id) = (Seq(seq), Timestamp(7), id.clone());
                outbox
                    .push(&Event { body, seq, at, session_id, turn: None, parent_tool_call_id: None }, None);
            };
            // What is no piece of a text does not end it, also where it begins a batch.
            push(Gap { from: Seq(0), to: Seq(0) }.into());
            for number in 0..700 {
                let text = match (batch, number) {
                    (30, 5) => key.clone(),
                    (31, 5) => key[..9].to_owned(),
                    (31, 6) => key[9..].to_owned(),
                    _ => format!(" {number} "),
                };
                let (item_id, message_id) = (ItemId(1), Some(message.clone().into()));
                push(MessageChunk { item_id, message_id, text: text.into() }.into());
            }
            let stored = outbox.send(None, None).unwrap();
            outbox.tell_debug(watcher.debugs(), |lines| {
                assert_eq!(lines.is_none(), batch == 0, "nobody knew of it before");
                watcher.events(lines.unwrap_or(&mut stored.lines.to_vec()));
            });
            outbox.stored();
        }
        watcher.end();
        let written = std::fs::read_to_string(folder.path().join("normalized-streamjson-s.jsonl")).unwrap();
        assert_eq!(written.lines().count(), 701 + 39 * 2);
        assert!(!written.contains("sk-") && !written.contains("abcdefgh"));
        assert_eq!(written.matches("[redacted]").count(), 10 + 2);
        assert_eq!(written.matches(" 699 \",\"last_seq\":").count(), 39);
    }
}
