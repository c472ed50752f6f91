//! The log: what the host says of itself, as text or as one JSON object per line.
//!
//! To standard error, and to a file in the data folder that has a bounded size and is for its owner alone. Levels go by
//! a rule: per line TRACE, in a turn DEBUG, a change of state INFO, WARN what one would wake somebody for. The one rule
//! it keeps: every line is looked through for secrets before it leaves, whoever wrote it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use jackfield_host::redact::redact;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use thiserror::Error;
use tracing::Dispatch;
use tracing::dispatcher::set_global_default;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::writer::MakeWriterExt as _;
use tracing_subscriber::layer::SubscriberExt as _;

use crate::config::{Config, Format, Level};

/// The log's file in the data folder.
pub(crate) const LOG_FILE: &str = "jackfield.log";
/// What was put aside of it.
pub(crate) const LOG_ASIDE: &str = "jackfield.log.1";
/// How large it may get before it is put aside; one that was put aside before is gone then.
const LARGEST: u64 = 8 * 1024 * 1024;

/// Why there is no log.
#[derive(Debug, Error)]
#[error("cannot write the log `{}`: {source}", path.display())]
pub(crate) struct LogError {
    path: PathBuf,
    source: io::Error,
}

/// Begins the log of this process. A second one is not begun.
pub(crate) fn begin(config: &Config, data: &Path) -> Result<(), LogError> {
    let level = match config.log.level {
        Level::Off => return Ok(()),
        Level::Error => LevelFilter::ERROR,
        Level::Warn => LevelFilter::WARN,
        Level::Info => LevelFilter::INFO,
        Level::Debug => LevelFilter::DEBUG,
        Level::Trace => LevelFilter::TRACE,
    };
    let path = data.join(LOG_FILE);
    let file = Kept::open(&path).map_err(|source| LogError { path, source })?;
    let both = Redacted(Errors).and(Redacted(Shared(Arc::new(Mutex::new(file)))));
    // An error only means that there is one already.
    let _ = set_global_default(told(config.log.format, level, both));
    Ok(())
}

/// What takes lines as they are wanted.
fn told<W>(format: Format, level: LevelFilter, to: W) -> Dispatch
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let builder = tracing_subscriber::fmt().with_max_level(level).with_ansi(false).with_target(false);
    // It would complain on standard error, and panics where that cannot be written to.
    let builder = builder.log_internal_errors(false);
    match format {
        Format::Text => builder.with_writer(to).finish().with(wanted(level)).into(),
        Format::Json => {
            builder.json().flatten_event(true).with_writer(to).finish().with(wanted(level)).into()
        }
    }
}

/// Of libraries only what went wrong is told, at every level: a change of their state, such as a server of tools that
/// begins or ends with each session, is none of the host's, and line by line they tell what was said. Nothing is told
/// of what serves tools: for it a call that was interrupted, a tool that does not exist or a CLI that leaves has gone
/// wrong, and it says so in the words of the model.
fn wanted(level: LevelFilter) -> Targets {
    Targets::new()
        .with_default(level.min(LevelFilter::WARN))
        .with_target("rmcp", LevelFilter::OFF)
        .with_target("jackfield", level)
}

/// Takes secrets out of each line on its way. The subscriber writes a line at once.
#[derive(Debug, Clone)]
pub(super) struct Redacted<W>(pub(super) W);

#[derive(Debug)]
pub(super) struct RedactedWriter<W>(W);

impl<'a, W: MakeWriter<'a>> MakeWriter<'a> for Redacted<W> {
    type Writer = RedactedWriter<W::Writer>;

    fn make_writer(&'a self) -> Self::Writer {
        RedactedWriter(self.0.make_writer())
    }
}

impl<W: Write> Write for RedactedWriter<W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        self.0.write_all(redact(&text).as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Standard error, as far as somebody reads it: what does not fit at once is left out, and is in the file. So it is
/// where nobody reads it any more, as of a terminal that was closed.
#[derive(Debug, Clone, Copy)]
struct Errors;

/// What a pipe that can be written to at all takes at once, on every system.
const AT_ONCE: usize = 4096;

impl<'a> MakeWriter<'a> for Errors {
    type Writer = Self;

    fn make_writer(&'a self) -> Self::Writer {
        *self
    }
}

impl Write for Errors {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut errors = io::stderr().lock();
        let mut looked = [PollFd::new(&errors, PollFlags::OUT)];
        // A host must not stand still because nobody reads what it says.
        let ready = poll(&mut looked, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
            && looked[0].revents().contains(PollFlags::OUT);
        if ready {
            // Nobody is left to tell when standard error fails.
            let _ = errors.write_all(&line[..line.len().min(AT_ONCE)]);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The file, for all threads.
#[derive(Debug, Clone)]
struct Shared(Arc<Mutex<Kept>>);

impl<'a> MakeWriter<'a> for Shared {
    type Writer = Self;

    fn make_writer(&'a self) -> Self::Writer {
        self.clone()
    }
}

impl Write for Shared {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).line(line)?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A file that is put aside when it is too large.
#[derive(Debug)]
struct Kept {
    path: PathBuf,
    file: File,
    written: u64,
}

impl Kept {
    fn open(path: &Path) -> io::Result<Self> {
        if let Some(folder) = path.parent() {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        }
        let file = OpenOptions::new().create(true).append(true).mode(0o600).open(path)?;
        let written = file.metadata()?.len();
        Ok(Self { path: path.to_owned(), file, written })
    }

    fn line(&mut self, line: &[u8]) -> io::Result<()> {
        let bytes = u64::try_from(line.len()).unwrap_or(u64::MAX);
        if self.written > 0 && self.written.saturating_add(bytes) > LARGEST {
            fs::rename(&self.path, self.path.with_file_name(LOG_ASIDE))?;
            *self = Self::open(&self.path)?;
        }
        self.written += bytes;
        self.file.write_all(line)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use tracing::Level;

    use super::*;

    #[test]
    fn a_line_leaves_without_its_secrets() {
        let mut written = Vec::new();
        let key = format!("sk-ant-{}", "0123456789".repeat(3));
        RedactedWriter(&mut written).write_all(format!("it said {key}\n").as_bytes()).unwrap();
        assert_eq!(String::from_utf8(written).unwrap(), "it said [redacted]\n");
    }

    #[test]
    fn of_libraries_only_what_went_wrong_is_told() {
        let told = |level: LevelFilter, target: &str, of| wanted(level).would_enable(target, &of);
        assert!(told(LevelFilter::INFO, "jackfield_host::channel", Level::INFO));
        assert!(!told(LevelFilter::INFO, "jackfield_host::channel", Level::DEBUG));
        assert!(told(LevelFilter::TRACE, "jackfield_host::channel", Level::TRACE));
        assert!(!told(LevelFilter::DEBUG, "hyper_util::server", Level::INFO));
        assert!(told(LevelFilter::INFO, "hyper_util::server", Level::WARN));
        assert!(!told(LevelFilter::ERROR, "hyper_util::server", Level::WARN));
        assert!(!told(LevelFilter::TRACE, "axum::rejection", Level::TRACE));
        assert!(!told(LevelFilter::TRACE, "rmcp::service", Level::ERROR));
    }

    #[test]
    fn what_libraries_say_of_requests_is_in_no_log_however_loud_it_is() {
        let levels = [
            LevelFilter::ERROR,
            LevelFilter::WARN,
            LevelFilter::INFO,
            LevelFilter::DEBUG,
            LevelFilter::TRACE,
        ];
        for (level, format) in
            levels.into_iter().flat_map(|level| [(level, Format::Text), (level, Format::Json)])
        {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join(LOG_FILE);
            let file = Shared(Arc::new(Mutex::new(Kept::open(&path).unwrap())));
            tracing::dispatcher::with_default(&told(format, level, file), || {
                tracing::debug!(target: "rmcp::service", "said: received request");
                tracing::warn!(target: "rmcp::service", "said: response error");
                tracing::error!(target: "rmcp::service", "said: fail to response message");
                tracing::trace!(target: "axum::rejection", "said: rejecting request");
                tracing::error!(target: "hyper_util", "broken");
                tracing::error!("ours");
            });
            let text = fs::read_to_string(&path).unwrap();
            assert!(
                !text.contains("said") && text.contains("broken") && text.contains("ours"),
                "{level} {text}"
            );
        }
    }

    #[test]
    fn the_file_is_put_aside_when_it_is_too_large() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(LOG_FILE);
        let mut kept = Kept::open(&path).unwrap();
        kept.line(b"first\n").unwrap();
        kept.written = LARGEST;
        kept.line(b"second\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "second\n");
        assert_eq!(fs::read_to_string(folder.path().join(LOG_ASIDE)).unwrap(), "first\n");
    }
}
