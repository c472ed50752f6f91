//! How much memory an event takes, about.
//!
//! Not its length on a wire. The one rule it keeps: whatever can be large counts. What streams is looked at by
//! hand, since it is most of what there is; all else counts as long as its JSON is, which leaves no member out.

use std::io;

use jackfield_api::{Body, Event};

/// What every event takes. It is more than it is in the log: the allocator has an arena per thread, and the
/// session's task moves from thread to thread.
const EACH: u64 = 512;

/// About how much memory an event takes, in bytes.
pub(super) fn weight(event: &Event) -> u64 {
    let length = match &event.body {
        Body::MessageChunk(chunk) => chunk.text.len() as u64,
        Body::Reasoning(thought) => thought.reasoning_text.len() as u64,
        Body::ToolPreparing(tool) => (tool.tool_call_id.as_str().len() + tool.tool_name.len()) as u64,
        Body::ItemEnded(_) => 0,
        body => {
            let mut length = Length(0);
            // Nothing is written anywhere, and what an event holds can always be written.
            let _ = serde_json::to_writer(&mut length, body);
            length.0
        }
    };
    EACH + length
}

/// Counts what is written to it.
struct Length(u64);

impl io::Write for Length {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
