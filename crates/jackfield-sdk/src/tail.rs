//! The newest lines of a session, kept for whoever looks for what was made of them.
//!
//! Unlike a receiver of raw lines it is there before anybody asks, and one of it can outlive several runs. Who wants
//! them all follows it, at any pace. The one rule it keeps: its memory is bounded, whatever the lines are and however
//! slowly they are read.

mod kept;
mod recorder;

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jackfield_api::lines::{FollowedLine, KeptLines, LineDirection};
use jackfield_api::{LineNumber, Seq, Timestamp};

use crate::raw::Direction;
use crate::spool::Spool;
use kept::{About, Kept, Waiting};
pub(crate) use recorder::Recorder;

/// The part of the room that one line may take.
const SHARE: usize = 8;

/// The newest lines of a session, in both directions.
#[derive(Debug)]
pub struct RawTail {
    room: usize,
    /// Somebody has followed it. Asked for every line, so that a tail that nobody looks at costs nothing.
    followed: AtomicBool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    kept: Kept,
    /// Who wants all lines.
    spools: Vec<Arc<Spool>>,
}

/// All lines of a session from a moment on, each as a [`FollowedLine`] in JSON and a newline.
#[derive(Debug)]
pub struct LineFeed {
    spool: Arc<Spool>,
}

impl LineFeed {
    /// The next bytes; `None` when nothing more can come. An error says that lines were lost. Cancel-safe.
    pub async fn next(&mut self) -> Option<io::Result<Vec<u8>>> {
        self.spool.read().await
    }
}

impl RawTail {
    /// Keeps so many bytes of lines; of one line at most an eighth of that. With no room it keeps none, and counts
    /// them only from where it is followed.
    pub fn new(room: usize) -> Self {
        Self { room, followed: AtomicBool::new(false), state: Mutex::default() }
    }

    /// All lines from now on. Those that nobody has read yet are on the disk of a folder.
    pub fn follow(&self, folder: &Path) -> io::Result<LineFeed> {
        let spool = Arc::new(Spool::new(folder)?);
        self.lock().spools.push(Arc::clone(&spool));
        self.followed.store(true, Ordering::Relaxed);
        Ok(LineFeed { spool })
    }

    /// The lines behind one, as far as they are kept.
    pub fn after(&self, number: LineNumber) -> KeptLines {
        self.lock().kept.after(number)
    }

    /// Takes a line, with the first and the last event that were made of it. Who follows is told at once.
    fn pass(
        &self,
        at: Timestamp,
        direction: Direction,
        line: &str,
        made: Option<(Seq, Seq)>,
        waiting: &mut Waiting,
    ) {
        let followed = self.followed.load(Ordering::Relaxed);
        if self.room == 0 && !followed {
            return;
        }
        let direction = match direction {
            Direction::FromCli => LineDirection::FromCli,
            Direction::ToCli => LineDirection::ToCli,
        };
        let about = About::new(at, direction, line, made);
        waiting.push(about, &line[..line.floor_char_boundary(self.room / SHARE)]);
        if followed {
            self.keep(waiting);
            let mut state = self.lock();
            let whole = about.told(state.kept.last(), line.to_owned());
            state.tell(&FollowedLine::Line(whole));
        }
    }

    /// Keeps lines; older ones go.
    fn keep(&self, waiting: &mut Waiting) {
        if !waiting.is_empty() {
            self.lock().kept.keep(waiting, self.room);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Tells something to who follows.
    fn tell(&mut self, told: &FollowedLine) {
        // Who has gone wants nothing any more.
        self.spools.retain(|spool| Arc::strong_count(spool) > 1);
        // Only a map with keys that are no strings can fail.
        let mut line = serde_json::to_vec(told).unwrap_or_default();
        line.push(b'\n');
        self.spools.iter().for_each(|spool| spool.write(&line));
    }
}

impl Drop for RawTail {
    fn drop(&mut self) {
        self.lock().spools.iter().for_each(|spool| spool.end());
    }
}

#[cfg(test)]
mod tests;
