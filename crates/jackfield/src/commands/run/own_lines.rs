//! The agent's own lines, for who wants them instead of events.
//!
//! The one rule it keeps: it is known which events the lines that were told have become, so that the last line can be
//! waited for.

use jackfield_api::Seq;
use jackfield_api::lines::{FollowedLine, LineDirection};
use jackfield_client::{ClientError, LineReader};

/// The agent's own lines.
pub(super) struct OwnLines {
    reader: LineReader,
    /// The last event of what was told.
    told: Option<Seq>,
    run_ended: bool,
}

impl OwnLines {
    pub(super) fn new(reader: LineReader) -> Self {
        Self { reader, told: None, run_ended: false }
    }

    /// The next thing that the agent says; `Some(None)` if something passed that it did not say. Cancel-safe.
    pub(super) async fn next(&mut self) -> Option<Result<Option<String>, ClientError>> {
        let line = match self.reader.next().await? {
            Ok(line) => line,
            Err(error) => return Some(Err(error)),
        };
        Some(Ok(match line {
            FollowedLine::Line(line) => {
                self.told = self.told.max(line.last_seq);
                self.run_ended = false;
                (line.direction == LineDirection::FromCli).then_some(line.text)
            }
            FollowedLine::RunEnded { last_seq } => {
                self.told = self.told.max(Some(last_seq));
                self.run_ended = true;
                None
            }
        }))
    }

    /// Whether the line of an event was told.
    pub(super) fn are_told_to(&self, seq: Seq) -> bool {
        self.told >= Some(seq)
    }

    /// Whether no line is to come of a run that was ended. Without a line there was no run.
    pub(super) fn are_over(&self) -> bool {
        self.run_ended || self.told.is_none()
    }
}
