//! A session as a list shows it: a fold over its events, on top of the transcript's own.

use jackfield_api::host::SessionSummary;
use jackfield_api::snapshot::{Item, ItemContent, SessionState, Snapshot};
use jackfield_api::{Body, Event, Timestamp};

/// The longest title that is made from a prompt.
pub(crate) const TITLE: usize = 80;
/// The longest preview.
const PREVIEW: usize = 200;

/// Takes one event in. Whether the summary may have changed.
pub(crate) fn see(summary: &mut SessionSummary, event: &Event) -> bool {
    match &event.body {
        Body::MessageChunk(_)
        | Body::Reasoning(_)
        | Body::ToolPreparing(_)
        | Body::ToolCall(_)
        | Body::ToolUpdate(_)
        | Body::ItemEnded(_)
        | Body::Hook(_)
        | Body::Stderr(_)
        | Body::FileUpdated(_)
        | Body::Unknown(_)
        | Body::Malformed(_)
        | Body::Task(_)
        | Body::Todos(_) => return false,
        Body::TurnStarted(_) => {
            summary.running_since = Some(event.at);
            summary.last_error = None;
        }
        Body::UserMessage(message) => {
            if summary.title.is_empty() {
                summary.title = line(&message.text, TITLE);
            }
            summary.preview = line(&message.text, PREVIEW);
        }
        Body::Complete(complete) if complete.data.last_message_uuid.is_some() => {
            summary.last_message_uuid.clone_from(&complete.data.last_message_uuid);
        }
        Body::Error(error) => summary.last_error = Some(error.error.clone()),
        // Known before the CLI has said anything: a host that dies by then finds the conversation all the same.
        Body::RunStarted(start) if start.cli_session_id.is_some() => {
            summary.cli_session_id.clone_from(&start.cli_session_id);
        }
        Body::SessionStatus(status) => summary.cli_session_id = Some(status.cli_session_id.clone()),
        _ => {}
    }
    true
}

/// Takes over what the transcript knows.
pub(crate) fn refresh(summary: &mut SessionSummary, header: &Snapshot) {
    summary.state = header.state;
    if header.state != SessionState::Running {
        summary.running_since = None;
    }
    summary.pending.clone_from(&header.pending);
    summary.queued =
        u32::try_from(header.queue.as_ref().map_or(0, |queue| queue.prompts.len())).unwrap_or(u32::MAX);
    summary.seq = header.seq;
    summary.turn = header.turn;
    summary.updated_at = header.at.max(summary.updated_at);
    summary.total_cost_usd = header.total_cost_usd;
    summary.context_window.clone_from(&header.context_window);
    if let Some(status) = &header.status {
        summary.model = Some(status.model.clone());
        summary.permission_mode = Some(status.permission_mode.clone());
    }
}

/// What was said last, if these items say something.
pub(crate) fn preview(summary: &mut SessionSummary, settled: &[Item]) -> bool {
    let said = settled.iter().rev().find_map(|item| match &item.content {
        ItemContent::Text(text) if item.parent_tool_call_id.is_none() => Some(&text.text),
        _ => None,
    });
    let Some(said) = said.map(|text| line(text, PREVIEW)).filter(|said| !said.is_empty()) else {
        return false;
    };
    summary.preview = said;
    true
}

/// The first line that says something, cut to a length.
pub(crate) fn line(text: &str, length: usize) -> String {
    let first = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let mut cut: String = first.chars().take(length).collect();
    if cut.len() < first.len() {
        cut.pop();
        cut.push('…');
    }
    cut
}

/// Now, by the wall clock.
pub(crate) fn now() -> Timestamp {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Timestamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_the_first_line_that_says_something() {
        assert_eq!(line("\n  fix the tests \nplease", 80), "fix the tests");
        assert_eq!(line("äöü", 2), "ä…");
        assert_eq!(line("", 2), "");
    }
}
