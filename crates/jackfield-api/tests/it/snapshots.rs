//! Snapshots and the items in them.

use jackfield_api::conversation::{ItemOutcome, Todos, Trigger};
use jackfield_api::permission::PermissionOutcome;
use jackfield_api::session::{AvailableCommands, SlashCommand};
use jackfield_api::snapshot::{
    Item, ItemContent, QuestionEnding, QuestionItem, SessionState, Snapshot, TextItem, ToolItem, TurnItem,
};
use jackfield_api::tool::ToolStatus;
use jackfield_api::{ItemId, Seq, Timestamp, TurnNumber};

use crate::round_trip;
use crate::samples::{self, TEXT, json};

fn text_item() -> TextItem {
    let outcome = Some(ItemOutcome::Aborted);
    TextItem { item_id: ItemId(4), message_id: Some("msg_1".into()), text: TEXT.into(), outcome }
}

/// One of each content. A new one does not compile until it is in the list.
pub(crate) fn contents() -> Vec<ItemContent> {
    let first = ItemContent::Turn(TurnItem { trigger: Trigger::Prompt });
    std::iter::successors(Some(first), next).collect()
}

fn next(content: &ItemContent) -> Option<ItemContent> {
    Some(match content {
        ItemContent::Turn(_) => ItemContent::UserMessage(Box::new(samples::user_message())),
        ItemContent::UserMessage(_) => ItemContent::Text(Box::new(text_item())),
        ItemContent::Text(_) => ItemContent::Thinking(Box::new(text_item())),
        ItemContent::Thinking(_) => ItemContent::Tool(Box::new(ToolItem {
            tool_call_id: "toolu_1".into(),
            tool_name: "Bash".into(),
            tool_title: TEXT.into(),
            tool_status: ToolStatus::Complete,
            bytes: 40,
            normalized: Some(samples::normalized().remove(9)),
            input: Some(json()),
            output: Some(json()),
            message: Some(TEXT.into()),
        })),
        ItemContent::Tool(_) => ItemContent::Question(Box::new(QuestionItem {
            request: samples::permission_request(),
            ending: Some(QuestionEnding {
                outcome: Some(PermissionOutcome::Lost),
                by: Some("someone".into()),
                message: None,
                input: Some(json()),
            }),
        })),
        ItemContent::Question(_) => ItemContent::File(Box::new(samples::file_updated())),
        ItemContent::File(_) => ItemContent::Compaction(Box::new(samples::compaction())),
        ItemContent::Compaction(_) => ItemContent::Notice(Box::new(samples::notice())),
        ItemContent::Notice(_) => ItemContent::Error(Box::new(samples::error())),
        ItemContent::Error(_) => ItemContent::Complete(Box::new(samples::complete())),
        ItemContent::Complete(_) => ItemContent::RunEnded(Box::new(samples::run_ended())),
        ItemContent::RunEnded(_) => return None,
    })
}

/// A snapshot with everything in it.
pub(crate) fn snapshot() -> Snapshot {
    let item = |content| Item {
        seq: Seq(4),
        at: Timestamp(5),
        turn: Some(TurnNumber(1)),
        parent_tool_call_id: Some("toolu_parent".into()),
        content,
    };
    let command =
        SlashCommand { name: "cost".into(), description: TEXT.into(), argument_hint: String::new() };
    Snapshot {
        session_id: Some("s".into()),
        seq: Seq(90),
        at: Timestamp(5),
        turn: Some(TurnNumber(1)),
        state: SessionState::Running,
        commands: Some(AvailableCommands { available_commands: vec![command] }),
        items: contents().into_iter().map(item).collect(),
        pending: vec![samples::permission_request()],
        queue: Some(samples::queue()),
        todos: Some(Todos { items: vec![samples::todo()] }),
        tasks: vec![samples::task()],
        context_window: Some(samples::context_window()),
        last_complete: Some(samples::complete()),
        total_cost_usd: 1.5,
        rate_limit: Some(samples::rate_limit()),
        last_run: Some(samples::run_ended()),
        ..Snapshot::default()
    }
}

#[test]
fn every_content_of_an_item_is_read_back_as_it_was_written() {
    for content in contents() {
        let text = round_trip(&content);
        assert!(text.starts_with(&format!(r#"{{"type":"{}""#, content.tag())), "{text}");
    }
}

#[test]
fn a_snapshot_is_read_back_as_it_was_written() {
    for snapshot in [Snapshot::default(), snapshot()] {
        round_trip(&snapshot);
    }
}
