//! Sessions, events and items to store.

use bytes::Bytes;
use jackfield_api::command::{Agent, CreateSession};
use jackfield_api::conversation::{ItemOutcome, MessageChunk, UserMessage};
use jackfield_api::host::SessionSummary;
use jackfield_api::permission::{PermissionKind, PermissionRequest};
use jackfield_api::snapshot::{Item, ItemContent, TextItem};
use jackfield_api::usage::TurnFigures;
use jackfield_api::{Event, ItemId, PendingId, Seq, SessionId, Timestamp, TurnNumber, codec};
use jackfield_host::store::{Batch, LogPage, SessionRecord, Store, TurnRow};
use tempfile::TempDir;

/// A new store in a new folder.
pub(crate) fn open() -> (TempDir, Store) {
    let folder = TempDir::new().unwrap();
    let store = Store::open(folder.path()).unwrap();
    (folder, store)
}

/// A session that is over, as it is first stored.
pub(crate) fn record(id: &str) -> SessionRecord {
    let summary = SessionSummary {
        title: format!("Title of {id}"),
        agent: Agent::Demo,
        model: Some("opus".to_owned()),
        pending: vec![question(3)],
        total_cost_usd: 0.25,
        ..SessionSummary::new(id.into(), "/ws/project", Timestamp(1_000))
    };
    SessionRecord { summary, create: CreateSession::new("/ws/project") }
}

/// Stores a session that is over.
pub(crate) async fn create(store: &Store, id: &str) -> SessionId {
    store.create(&record(id)).await.unwrap();
    id.into()
}

/// An event whose text tells its session and its number.
pub(crate) fn event(session: &SessionId, seq: u64) -> Event {
    let text = format!("{session} {seq} \"quoted\"\n");
    Event {
        body: MessageChunk { item_id: ItemId(1), message_id: None, text: text.into() }.into(),
        seq: Seq(seq),
        at: Timestamp(1_000 + seq),
        session_id: session.clone(),
        turn: Some(TurnNumber(1)),
        parent_tool_call_id: None,
    }
}

/// A batch with the events from `first` to `last`.
pub(crate) fn batch(session: &SessionId, first: u64, last: u64) -> Batch {
    Batch::new(session.clone(), Seq(first), Seq(last), lines(session, first, last))
}

pub(crate) fn lines(session: &SessionId, first: u64, last: u64) -> Bytes {
    let mut lines = Vec::new();
    for seq in first..=last {
        codec::encode(&event(session, seq), &mut lines);
        lines.push(b'\n');
    }
    lines.into()
}

/// Stores events and waits until they are.
pub(crate) async fn append(store: &Store, session: &SessionId, first: u64, last: u64) {
    store.append(&batch(session, first, last)).await.unwrap().unwrap();
}

/// Stores items and waits until they are. They bring no events.
pub(crate) async fn settle(store: &Store, session: &SessionId, items: Vec<Item>) {
    let last = last(store, session).await;
    let batch = Batch { items, ..Batch::new(session.clone(), Seq(last + 1), Seq(last), Bytes::new()) };
    store.append(&batch).await.unwrap().unwrap();
}

/// All events of a session, which must be in a row from 1 on and be what was stored; how many there are.
pub(crate) async fn last(store: &Store, session: &SessionId) -> u64 {
    let pages = store.log(session, Seq(0), usize::MAX).await.unwrap();
    let last = pages.last().map_or(0, |page| page.last.0);
    assert_eq!(seqs(&pages), (1..=last).collect::<Vec<_>>(), "no hole and no double in {session}");
    let stored: Vec<u8> = pages.iter().flat_map(|page| page.lines.to_vec()).collect();
    assert_eq!(Bytes::from(stored), lines(session, 1, last), "what was stored in {session} is what is read");
    last
}

/// The numbers that the lines of some pages say they have.
pub(crate) fn seqs(pages: &[LogPage]) -> Vec<u64> {
    let mut seqs = Vec::new();
    for page in pages {
        let text = std::str::from_utf8(&page.lines).unwrap();
        let read: Vec<u64> = text.lines().map(|line| codec::decode(line).unwrap().seq.0).collect();
        assert_eq!((read.first(), read.last()), (Some(&page.first.0), Some(&page.last.0)));
        seqs.extend(read);
    }
    seqs
}

pub(crate) fn item(seq: u64, content: ItemContent) -> Item {
    Item {
        seq: Seq(seq),
        at: Timestamp(1_000 + seq),
        turn: Some(TurnNumber(1)),
        parent_tool_call_id: None,
        content,
    }
}

pub(crate) fn said(seq: u64, text: &str) -> Item {
    let text = TextItem {
        item_id: ItemId(seq),
        message_id: None,
        text: text.to_owned(),
        outcome: Some(ItemOutcome::Complete),
    };
    item(seq, ItemContent::Text(Box::new(text)))
}

pub(crate) fn prompted(seq: u64, text: &str) -> Item {
    let message = UserMessage { text: text.to_owned(), attachments: Vec::new(), uuid: None };
    item(seq, ItemContent::UserMessage(Box::new(message)))
}

pub(crate) fn question(pending: u64) -> PermissionRequest {
    PermissionRequest {
        pending_id: PendingId(pending),
        kind: PermissionKind::Tool,
        tool_call_id: None,
        tool_name: Some("Bash".to_owned()),
        tool_title: format!("run number {pending}"),
        normalized: None,
        input: None,
        suggestions: Vec::new(),
        reason: None,
        questions: Vec::new(),
        plan: None,
        message: None,
        schema: None,
    }
}

pub(crate) fn turn(seq: u64, turn: u32, at: u64, model: &str, cost_usd: f64) -> TurnRow {
    let figures = TurnFigures {
        cost_usd,
        total_cost_usd: 0.0,
        duration_ms: 10,
        duration_api_ms: 5,
        num_turns: 1,
        input_tokens: 100,
        output_tokens: 10,
        cache_read_tokens: 3,
        cache_creation_tokens: 2,
        last_message_uuid: None,
        terminal_reason: None,
        permission_denials: Vec::new(),
        structured_output: None,
        models: Vec::new(),
    };
    TurnRow {
        seq: Seq(seq),
        turn: Some(TurnNumber(turn)),
        at: Timestamp(at),
        model: Some(model.to_owned()),
        figures,
    }
}
