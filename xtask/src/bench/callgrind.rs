//! Instructions instead of seconds: counts that repeat on any machine with the same compiler.
//!
//! Starting up costs instructions too; two sizes and their difference take that out. The one rule it keeps: a
//! count is of one program, never of what it starts.

use std::fs;
use std::process::{Command, Stdio};

use super::stream::Stream;
use super::{BenchError, Subject};
use crate::process;

/// What each further line costs between two sizes of the stream.
pub(super) fn per_line(stream: &Stream, subject: &Subject, few: u32, many: u32) -> Result<f64, BenchError> {
    let more = count(stream, subject, many)? - count(stream, subject, few)?;
    let lines = stream.lines(many)? - stream.lines(few)?;
    Ok(more / f64::from(lines))
}

fn count(stream: &Stream, subject: &Subject, deltas: u32) -> Result<f64, BenchError> {
    let file = |doing: &str| {
        let doing = doing.to_owned();
        |source| BenchError::File { doing, source }
    };
    let profile = tempfile::NamedTempFile::new().map_err(file("make a file for the profile"))?;
    let mut source = stream.start(deltas)?;
    let input = source.stdout.take().map_or_else(Stdio::null, Stdio::from);
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--quiet", "--tool=callgrind"]);
    valgrind.arg(format!("--callgrind-out-file={}", profile.path().display()));
    valgrind.arg(&subject.program).args(subject.arguments).stdin(input).stdout(Stdio::null());
    process::run(&mut valgrind)?;
    source.wait().map_err(file("wait for the stand-in"))?;

    let written = fs::read_to_string(profile.path()).map_err(file("read the profile"))?;
    // `totals:` has one number per event; the first is instructions.
    let total =
        written.lines().find_map(|line| line.strip_prefix("totals:").or(line.strip_prefix("summary:")));
    let total = total.and_then(|total| total.split_whitespace().next()?.parse().ok());
    total.ok_or(BenchError::Missing { what: "the total", place: "the profile of valgrind".to_owned() })
}
