//! What a program with a host of its own says where watching it fails: a line on standard error.
//!
//! Such a program has no log. The one rule it keeps: only what somebody asked for and does not get is told, and nothing
//! else of the host.

use std::io::{self, IsTerminal as _, Write};

use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use super::log::Redacted;
use super::{ExportError, Exporting};
use crate::output::When;
use crate::readable::page::{Page, YELLOW};

/// Who is heard: the export, and debug files.
const HEARD: [&str; 2] = ["jackfield::telemetry", "jackfield_host::channel::watcher"];
/// The beginning of a terminal's line, emptied: a line of progress may stand there, which is drawn again.
const EMPTIED: &str = "\r\u{1b}[K";

/// Begins to tell, first of traces that are not exported, or not as they were asked for.
pub(crate) fn begin(exporting: Result<Option<&Exporting>, &ExportError>) {
    let heard = Targets::new().with_targets(HEARD.map(|target| (target, LevelFilter::WARN)));
    let words = tracing_subscriber::fmt()
        .with_max_level(LevelFilter::WARN)
        .with_ansi(false)
        .with_target(false)
        .with_level(false)
        .without_time()
        // It would complain on standard error, and panics where that cannot be written to.
        .log_internal_errors(false)
        .with_writer(Redacted(Remarks));
    // An error only means that there is somebody already who tells.
    let _ = words.finish().with(heard).try_init();
    match exporting {
        Ok(exporting) => exporting.into_iter().for_each(Exporting::tell_remarks),
        Err(error) => tracing::warn!("{error}"),
    }
}

/// Lines on standard error, as the program's other warnings are.
#[derive(Debug, Clone, Copy)]
struct Remarks;

impl<'a> MakeWriter<'a> for Remarks {
    type Writer = Self;

    fn make_writer(&'a self) -> Self::Writer {
        *self
    }
}

impl Write for Remarks {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let errors = io::stderr();
        let (mut page, mut text) = (Page::new(When::Auto.colours(&errors)), Vec::new());
        if errors.is_terminal() {
            text.extend_from_slice(EMPTIED.as_bytes());
        }
        page.line(YELLOW, &format!("jackfield: {}", String::from_utf8_lossy(line).trim_end()));
        page.take_into(&mut text);
        // Nobody is left to tell when standard error fails.
        let _ = errors.lock().write_all(&text);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
