//! What a host has gathered in years: many sessions that are over.
//!
//! Written through the store itself, without a server. The one rule it keeps: a session has what the list, the search
//! and the accounts look at.

use std::path::Path;

use jackfield_api::command::{Agent, CreateSession};
use jackfield_api::conversation::{ItemOutcome, MessageChunk};
use jackfield_api::host::SessionSummary;
use jackfield_api::snapshot::{Item, ItemContent, SessionState, TextItem};
use jackfield_api::{Event, ItemId, Seq, SessionId, Timestamp, TurnNumber, codec};
use jackfield_host::store::{Batch, SessionRecord, Store, StoreError};
use tokio::task::JoinSet;

/// How many are written at once.
const TOGETHER: u64 = 500;

/// Stores so many sessions in a data folder.
pub(super) fn write(data: &Path, sessions: u64) -> Result<(), StoreError> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().map_err(|_| StoreError::Closed)?;
    runtime.block_on(async {
        let store = Store::open(data)?;
        for first in (0..sessions).step_by(usize::try_from(TOGETHER).unwrap_or(1)) {
            let mut writing = JoinSet::new();
            for number in first..sessions.min(first + TOGETHER) {
                writing.spawn(write_one(store.clone(), number));
            }
            for written in writing.join_all().await {
                written?;
            }
        }
        store.close().await;
        Ok(())
    })
}

async fn write_one(store: Store, number: u64) -> Result<(), StoreError> {
    let id = SessionId::from(format!("00000000-0000-4000-9000-{number:012}"));
    let at = Timestamp(1_700_000_000_000 + number * 60_000);
    let text =
        format!("What was said last in session {number}, and a few words more that can be searched for.");
    store
        .create(&SessionRecord { summary: summary(&id, at, &text), create: CreateSession::new("/ws") })
        .await?;
    let event = Event {
        body: MessageChunk { item_id: ItemId(1), message_id: None, text: text.as_str().into() }.into(),
        seq: Seq(1),
        at,
        session_id: id.clone(),
        turn: Some(TurnNumber(1)),
        parent_tool_call_id: None,
    };
    let mut lines = Vec::new();
    codec::encode(&event, &mut lines);
    lines.push(b'\n');
    let said = TextItem { item_id: ItemId(1), message_id: None, text, outcome: Some(ItemOutcome::Complete) };
    let content = ItemContent::Text(Box::new(said));
    let item = Item { seq: Seq(1), at, turn: Some(TurnNumber(1)), parent_tool_call_id: None, content };
    let batch = Batch { items: vec![item], ..Batch::new(id, Seq(1), Seq(1), lines.into()) };
    let stored = store.append(&batch).await.map_err(|_| StoreError::Closed)?;
    stored.map_err(StoreError::from)
}

fn summary(id: &SessionId, at: Timestamp, text: &str) -> SessionSummary {
    SessionSummary {
        session_id: id.clone(),
        title: format!("A session that is over: {}", id.as_str()),
        cwd: "/ws".to_owned(),
        agent: Agent::Claude,
        model: Some("opus".to_owned()),
        effort: None,
        permission_mode: Some("default".to_owned()),
        max_thinking_tokens: None,
        state: SessionState::Ended,
        pending: Vec::new(),
        queued: 0,
        seq: Seq(1),
        turn: Some(TurnNumber(1)),
        created_at: at,
        updated_at: at,
        running_since: None,
        archived: false,
        total_cost_usd: 0.25,
        max_budget_usd: None,
        context_window: None,
        cli_session_id: Some(id.as_str().to_owned()),
        last_message_uuid: None,
        preview: text.to_owned(),
        last_error: None,
        trusted: false,
        forked_from: None,
    }
}
