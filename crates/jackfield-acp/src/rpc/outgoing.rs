//! What is on its way out: written at once as far as the other side has room for it, and the rest by a thread.
//!
//! What waits, waits in one buffer, which the thread writes as a whole; so nobody but that thread ever waits for the
//! other side. Who has much to say asks for room first. The one rule it keeps: messages leave whole and in the order
//! in which they were put in.

use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileTypeExt as _;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use tokio::sync::Notify;

/// How much may wait before there is no room for more.
const ROOM: usize = 64 * 1024;
/// How much may wait before no more requests are taken.
const MOST: usize = 1024 * 1024;
/// How much is written at once where a pipe has to be asked first: as much as one surely takes that takes anything
/// (`PIPE_BUF`).
const LITTLE: usize = 4096;
/// How much room a buffer keeps for the next burst.
const KEPT: usize = 128 * 1024;

/// The way out. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Outgoing {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    output: File,
    /// A pipe or a socket, of which it can be known whether it takes more.
    tells_room: bool,
    state: Mutex<State>,
    /// There is something to write, or nothing more will come.
    filled: Condvar,
    /// Something was written.
    written: Notify,
}

#[derive(Debug, Default)]
struct State {
    waiting: Vec<u8>,
    /// How much the thread is writing.
    writing: usize,
    /// Nothing more will come.
    closed: bool,
    /// Nobody reads any more.
    broken: bool,
}

impl Outgoing {
    /// Writes to `output` from now on.
    pub(crate) fn new(output: impl Into<OwnedFd>) -> Self {
        let output = File::from(output.into());
        let kind = output.metadata().map(|about| about.file_type());
        let shared = Arc::new(Shared {
            output,
            tells_room: kind.is_ok_and(|kind| kind.is_fifo() || kind.is_socket()),
            state: Mutex::default(),
            filled: Condvar::new(),
            written: Notify::new(),
        });
        let outgoing = Self { shared: Arc::clone(&shared) };
        let writer = thread::Builder::new().name("acp-output".to_owned());
        if writer.spawn(move || shared.write()).is_err() {
            outgoing.shared.lock().broken = true;
        }
        outgoing
    }

    /// Puts whole lines behind what waits already.
    pub(crate) fn put(&self, lines: &[u8]) {
        if lines.is_empty() {
            return;
        }
        let mut state = self.shared.lock();
        if state.broken {
            return;
        }
        let written = if state.load() == 0 { self.shared.write_now(lines) } else { 0 };
        if written < lines.len() {
            state.waiting.extend_from_slice(&lines[written..]);
            // Whoever is woken needs the lock.
            drop(state);
            self.shared.filled.notify_one();
        }
    }

    /// Whether there is room for more.
    pub(crate) fn has_room(&self) -> bool {
        self.shared.lock().load() < ROOM
    }

    /// Waits until there is room for more.
    pub(crate) async fn room(&self) {
        self.until(|state| state.load() < ROOM || state.broken).await;
    }

    /// Waits until it makes sense to take another request.
    pub(crate) async fn bearable(&self) {
        self.until(|state| state.load() < MOST || state.broken).await;
    }

    /// Waits until nobody reads any more.
    pub(crate) async fn broken(&self) {
        self.until(|state| state.broken).await;
    }

    /// Waits until all is written; nothing may be put in behind this.
    pub(crate) async fn finish(&self) {
        self.shared.lock().closed = true;
        self.shared.filled.notify_one();
        self.until(|state| state.broken || state.load() == 0).await;
    }

    async fn until(&self, enough: impl Fn(&State) -> bool) {
        loop {
            let written = self.shared.written.notified();
            tokio::pin!(written);
            // From here on a write is not missed.
            written.as_mut().enable();
            if enough(&self.shared.lock()) {
                return;
            }
            written.await;
        }
    }
}

impl State {
    fn load(&self) -> usize {
        self.waiting.len() + self.writing
    }
}

impl Shared {
    /// Writes as much as surely takes no time. Says how much; an error comes again to the thread.
    fn write_now(&self, lines: &[u8]) -> usize {
        if !self.tells_room {
            return 0;
        }
        match write_without_waiting(&self.output, lines) {
            Ok(written) => written,
            // A system that cannot be told so, as Linux before 6.4 with a pipe.
            Err(Errno::OPNOTSUPP | Errno::NOSYS) if lines.len() <= LITTLE && self.takes_little() => {
                (&self.output).write(lines).unwrap_or(0)
            }
            Err(_) => 0,
        }
    }

    fn takes_little(&self) -> bool {
        let mut output = [PollFd::new(&self.output, PollFlags::OUT)];
        poll(&mut output, Some(&Timespec::default())) == Ok(1) && output[0].revents() == PollFlags::OUT
    }

    fn write(&self) {
        let mut output = &self.output;
        let mut buffer = Vec::new();
        loop {
            {
                let mut state = self.lock();
                state.writing = 0;
                self.written.notify_waiters();
                while state.waiting.is_empty() {
                    if state.closed {
                        return;
                    }
                    state = self.filled.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
                buffer.clear();
                if buffer.capacity() > KEPT {
                    buffer = Vec::new();
                }
                std::mem::swap(&mut buffer, &mut state.waiting);
                state.writing = buffer.len();
            }
            if output.write_all(&buffer).and_then(|()| output.flush()).is_err() {
                let mut state = self.lock();
                state.broken = true;
                state.waiting = Vec::new();
                state.writing = 0;
                drop(state);
                self.written.notify_waiters();
                return;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic while the lock is held leaves plain bytes.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(target_os = "linux")]
fn write_without_waiting(to: &File, lines: &[u8]) -> rustix::io::Result<usize> {
    use std::io::IoSlice;

    use rustix::io::{ReadWriteFlags, pwritev2};

    // Where it stands, which for a pipe is the only place there is.
    pwritev2(to, &[IoSlice::new(lines)], u64::MAX, ReadWriteFlags::NOWAIT)
}

#[cfg(not(target_os = "linux"))]
fn write_without_waiting(_: &File, _: &[u8]) -> rustix::io::Result<usize> {
    Err(Errno::NOSYS)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::io::{Read as _, pipe};

    use super::*;

    #[tokio::test]
    async fn who_does_not_read_is_waited_for_and_nothing_is_lost() {
        let (mut reader, writer) = pipe().unwrap();
        let outgoing = Outgoing::new(writer);
        let line = [b"x".repeat(999), b"\n".to_vec()].concat();
        let mut put = 0_usize;
        // A pipe takes some; then it stands.
        while outgoing.has_room() {
            outgoing.put(&line);
            put += 1;
        }
        assert!(put >= ROOM / 1000);
        let reading = thread::spawn(move || {
            let mut all = Vec::new();
            reader.read_to_end(&mut all).unwrap();
            all.len()
        });
        outgoing.room().await;
        outgoing.put(&line);
        outgoing.finish().await;
        drop(outgoing);
        assert_eq!(reading.join().unwrap(), (put + 1) * 1000);
    }

    #[tokio::test]
    async fn what_is_more_than_a_pipe_takes_leaves_whole_and_in_order() {
        let (mut reader, writer) = pipe().unwrap();
        let outgoing = Outgoing::new(writer);
        let reading = thread::spawn(move || {
            let mut all = String::new();
            reader.read_to_string(&mut all).unwrap();
            all
        });
        let lines: Vec<String> = (0..100_000).map(|number| format!("{number}\n")).collect();
        for some in lines.chunks(17_000) {
            outgoing.put(some.concat().as_bytes());
            outgoing.put(b"a little\n");
            outgoing.room().await;
        }
        outgoing.finish().await;
        drop(outgoing);
        let expected: String = lines.chunks(17_000).map(|some| some.concat() + "a little\n").collect();
        assert!(reading.join().unwrap() == expected, "something is missing or in another place");
    }

    #[tokio::test]
    async fn an_end_that_is_gone_is_noticed() {
        let (reader, writer) = pipe().unwrap();
        let outgoing = Outgoing::new(writer);
        drop(reader);
        outgoing.put(b"x\n");
        outgoing.broken().await;
        outgoing.put(b"y\n");
        outgoing.finish().await;
    }
}
