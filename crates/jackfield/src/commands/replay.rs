//! `jackfield replay`: a recording or journal in, the same events out.
//!
//! The one rule: the first line decides whether the file is a journal at all; from there on a bad line is
//! an event and never an end.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use jackfield_api::Seq;
use jackfield_core::journal::{Entry, Player, Reader};
use jackfield_core::{Launch, Options, Output as Wanted, Session, Transcript};
use jackfield_wire::{DEFAULT_LINE_LIMIT, Line, Lines};
use serde::Deserialize;

use crate::failure::Failure;
use crate::output::{Output, Printing};
use crate::source::Source;

/// A line of the CLI at its limit, with a backslash before every byte of it, and the members around it.
const LINE_LIMIT: usize = 2 * DEFAULT_LINE_LIMIT + 4096;

/// Play a recording or journal through the core
///
/// Prints one event per line as JSON, or text to read when standard output is a terminal. The same file
/// always gives the same events with the same numbers. A journal that says where its session was when a
/// run began gives them with the session's own numbers and name. A line that is no journal entry becomes
/// a `malformed` event.
#[derive(Debug, Args)]
#[command(after_help = "\
A journal has one JSON object per line, {\"t\": seconds, \"dir\": \"in\"|\"out\"|\"err\"|\"meta\", \"line\": text};
`in` is what the host told the CLI. Lines of the CLI may also stand there as they came, behind one with their time,
{\"t\": seconds, \"dir\": \"out\"}, and pieces of a text that came at once in one line, with their `words` and `uuids`.
A `cmd.json` beside a recording says how the CLI was started.

Examples:
  jackfield replay recording/transcript.jsonl | jq -c 'select(.type == \"error\")'
  jackfield replay --follow --speed 4 recording/transcript.jsonl
  jackfield replay --snapshot recording/transcript.jsonl | jq .items")]
pub(crate) struct Replay {
    /// The recording or journal; `-` for standard input
    file: PathBuf,
    /// Keep the time between the lines, as it was
    #[arg(long)]
    follow: bool,
    /// Play so many times faster (with --follow)
    #[arg(long, value_name = "N", default_value_t = 1.0, value_parser = speed, requires = "follow")]
    speed: f64,
    /// Print no events but the transcript they make: one JSON object, at the end
    #[arg(long, conflicts_with_all = ["follow", "format"])]
    snapshot: bool,
    #[command(flatten)]
    printing: Printing,
}

impl Replay {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let mut source = Source::open(Some(&self.file))?;
        let mut show = Show {
            name: source.name(),
            reader: Reader::default(),
            player: Player::new(Session::new(Options::default()), launch(&self.file)),
            output: Output::new(self.printing),
            fold: self.snapshot.then(Transcript::new),
            pace: self.follow.then(|| Pace { began: Instant::now(), first: None, speed: self.speed }),
            is_journal: false,
            number: 0,
        };
        let mut lines = Lines::new(LINE_LIMIT);
        let mut failed = None;
        while let Some(chunk) = source.next()? {
            lines.feed(chunk, |line| {
                if failed.is_none() {
                    failed = show.line(line).err();
                }
            });
            if let Some(failure) = failed {
                return Err(failure);
            }
        }
        lines.finish(|line| failed = show.line(line).err());
        failed.map_or_else(|| show.end(), Err)
    }
}

/// A journal being played.
struct Show {
    name: String,
    reader: Reader,
    player: Player,
    output: Output,
    /// The transcript, when it is wanted in the place of the events.
    fold: Option<Transcript>,
    pace: Option<Pace>,
    /// Whether an entry was seen.
    is_journal: bool,
    /// The line's number in the file.
    number: u64,
}

impl Show {
    fn line(&mut self, line: Line<'_>) -> Result<(), Failure> {
        self.number += 1;
        match line {
            Line::Whole(bytes) => {
                let text = String::from_utf8_lossy(bytes);
                if text.trim_ascii().is_empty() {
                    return Ok(());
                }
                match self.reader.read(&text) {
                    Ok(entries) => {
                        self.is_journal = true;
                        entries.iter().try_for_each(|entry| self.entry(entry))
                    }
                    Err(error) => self.bad(&error.to_string(), &text),
                }
            }
            Line::TooLong { length } => self.bad(&format!("the line is too long: {length} bytes"), ""),
        }
    }

    fn entry(&mut self, entry: &Entry) -> Result<(), Failure> {
        if let Some(wait) = self.pace.as_mut().and_then(|pace| pace.wait(entry.t)) {
            self.output.flush()?;
            #[expect(
                clippy::disallowed_methods,
                reason = "this thread has nothing else to do, and Ctrl-C ends it"
            )]
            thread::sleep(wait);
        }
        self.player.play(entry);
        self.drain()
    }

    fn bad(&mut self, reason: &str, text: &str) -> Result<(), Failure> {
        if !self.is_journal {
            let (path, reason) = (self.name.clone(), reason.to_owned());
            return Err(Failure::NoJournal { path, line: self.number, reason });
        }
        self.player.unreadable(format!("no journal entry: {reason}"), text.to_owned());
        self.drain()
    }

    fn drain(&mut self) -> Result<(), Failure> {
        let Some(transcript) = &mut self.fold else {
            return Ok(self.output.drain(self.player.session())?);
        };
        while let Some(wanted) = self.player.session().poll() {
            if let Wanted::Event(event) = wanted {
                if event.seq <= transcript.snapshot().seq {
                    forget_from(transcript, event.seq);
                }
                transcript.apply(&event);
            }
        }
        Ok(())
    }

    fn end(mut self) -> Result<(), Failure> {
        self.player.session().finish();
        self.drain()?;
        if let Some(transcript) = &self.fold {
            self.output.print(transcript.snapshot())?;
        }
        Ok(self.output.flush()?)
    }
}

/// Takes out what has numbers that were given again: a host that died before it had stored them knew nothing of it.
fn forget_from(transcript: &mut Transcript, next: Seq) {
    let mut snapshot = transcript.snapshot().clone();
    snapshot.items.retain(|item| item.seq < next);
    snapshot.pending.retain(|request| request.pending_id.0 < next.0);
    snapshot.seq = Seq(next.0.saturating_sub(1));
    *transcript = Transcript::from_snapshot(snapshot);
}

/// Time as it went by.
struct Pace {
    began: Instant,
    first: Option<f64>,
    speed: f64,
}

impl Pace {
    /// How long to wait for this time; None when it is past.
    fn wait(&mut self, t: f64) -> Option<Duration> {
        let since = t - *self.first.get_or_insert(t);
        let due = Duration::try_from_secs_f64(since / self.speed).ok()?;
        due.checked_sub(self.began.elapsed()).filter(|wait| !wait.is_zero())
    }
}

/// How the first process was started: a recording has its command line in a file beside it.
fn launch(file: &Path) -> Launch {
    #[derive(Default, Deserialize)]
    struct Started {
        argv: Vec<String>,
    }
    let beside = (file.as_os_str() != "-").then(|| file.with_file_name("cmd.json"));
    let text = beside.and_then(|path| std::fs::read(path).ok()).unwrap_or_default();
    Launch::from_arguments(&serde_json::from_slice::<Started>(&text).unwrap_or_default().argv)
}

fn speed(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(speed) if speed.is_finite() && speed > 0.0 => Ok(speed),
        _ => Err("must be a number above 0".to_owned()),
    }
}
