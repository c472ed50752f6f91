//! What a session hands over to be kept: events in a row, and all that follows from them, as one thing.
//!
//! A batch is stored whole or not at all. It becomes rows before it waits for the writer, on the thread of whoever
//! brings it, so that the one thread that writes does nothing else. The one rule it keeps: events are only
//! ever added behind the last one, so that there can be neither a hole nor a double.

use bytes::Bytes;
use jackfield_api::host::SessionSummary;
use jackfield_api::permission::{PermissionOutcome, PermissionRequest};
use jackfield_api::snapshot::Item;
use jackfield_api::usage::TurnFigures;
use jackfield_api::{PendingId, Seq, SessionId, Snapshot, Timestamp, TurnNumber};
use rusqlite::{Connection, OptionalExtension, params};

use crate::store::column::{integer, json, seq};
use crate::store::error::{AppendError, StoreError};
use crate::store::sessions::SummaryRow;
use crate::store::{index, packed};

/// Events of one session in a row, and what follows from them.
#[derive(Debug, Clone)]
pub struct Batch {
    /// The session.
    pub session: SessionId,
    /// The first event. It comes right behind the last one that is stored.
    pub first: Seq,
    /// The last event; one less than `first` if there are no events.
    pub last: Seq,
    /// The events, one per line, each with its newline.
    pub lines: Bytes,
    /// Items that will not change any more. One that was stored before is replaced.
    pub items: Vec<Item>,
    /// The session as a list shows it now, if that changed.
    pub summary: Option<SessionSummary>,
    /// The transcript behind the last event, to begin from after a restart: without its items, and beside it
    /// those that may still change.
    pub checkpoint: Option<(Snapshot, Vec<Item>)>,
    /// Turns that ended.
    pub turns: Vec<TurnRow>,
    /// Questions that were asked.
    pub asked: Vec<(Timestamp, PermissionRequest)>,
    /// Questions that ended.
    pub decided: Vec<Decided>,
}

/// How a question ended: when, which, how (none if the CLI withdrew it), by whom, with which words.
pub type Decided = (Timestamp, PendingId, Option<PermissionOutcome>, Option<String>, Option<String>);

impl Batch {
    /// Events and nothing else.
    pub fn new(session: SessionId, first: Seq, last: Seq, lines: Bytes) -> Self {
        Self {
            session,
            first,
            last,
            lines,
            items: Vec::new(),
            summary: None,
            checkpoint: None,
            turns: Vec::new(),
            asked: Vec::new(),
            decided: Vec::new(),
        }
    }
}

/// A turn that ended, for the accounts.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnRow {
    /// The event that ended it.
    pub seq: Seq,
    /// The turn.
    pub turn: Option<TurnNumber>,
    /// When it ended.
    pub at: Timestamp,
    /// The model that was in effect.
    pub model: Option<String>,
    /// Its figures.
    pub figures: TurnFigures,
}

/// A batch in the shape of the tables.
pub(super) struct Rows {
    session: SessionId,
    first: Seq,
    last: Seq,
    /// How many lines there are, and whether the last one is whole.
    counted: (u64, bool),
    /// As they lie on the disk.
    lines: Vec<u8>,
    items: Vec<ItemRow>,
    summary: Option<SummaryRow>,
    checkpoint: Option<(String, String)>,
    turns: Vec<TurnRow>,
    asked: Vec<QuestionRow>,
    decided: Vec<DecisionRow>,
}

struct ItemRow {
    seq: i64,
    at: i64,
    kind: &'static str,
    item: String,
}

struct QuestionRow {
    at: i64,
    pending: i64,
    kind: String,
    tool_name: Option<String>,
    tool_title: String,
    request: String,
}

struct DecisionRow {
    at: i64,
    pending: i64,
    outcome: Option<String>,
    by: Option<String>,
    message: Option<String>,
}

impl Rows {
    pub(super) fn of(batch: &Batch) -> Result<Self, StoreError> {
        let item = |item: &Item| -> Result<_, StoreError> {
            Ok(ItemRow {
                seq: integer(item.seq.0),
                at: integer(item.at.0),
                kind: item.content.tag(),
                item: json("item", item)?,
            })
        };
        let question = |(at, request): &(Timestamp, PermissionRequest)| -> Result<_, StoreError> {
            Ok(QuestionRow {
                at: integer(at.0),
                pending: integer(request.pending_id.0),
                kind: json("kind of a question", &request.kind)?,
                request: json("question", request)?,
                tool_name: request.tool_name.clone(),
                tool_title: request.tool_title.clone(),
            })
        };
        let decision = |(at, pending, outcome, by, message): &Decided| -> Result<_, StoreError> {
            let outcome = outcome.as_ref().map(|outcome| json("outcome", outcome)).transpose()?;
            let (by, message) = (by.clone(), message.clone());
            Ok(DecisionRow { at: integer(at.0), pending: integer(pending.0), outcome, by, message })
        };
        let checkpoint = |(snapshot, unsettled): &(Snapshot, Vec<Item>)| -> Result<_, StoreError> {
            Ok((json("checkpoint", snapshot)?, json("unsettled items", unsettled)?))
        };
        Ok(Self {
            session: batch.session.clone(),
            first: batch.first,
            last: batch.last,
            counted: count(&batch.lines),
            lines: packed::pack(&batch.lines).into_owned(),
            items: batch.items.iter().map(item).collect::<Result<_, _>>()?,
            summary: batch.summary.as_ref().map(SummaryRow::of).transpose()?,
            checkpoint: batch.checkpoint.as_ref().map(checkpoint).transpose()?,
            turns: batch.turns.clone(),
            asked: batch.asked.iter().map(question).collect::<Result<_, _>>()?,
            decided: batch.decided.iter().map(decision).collect::<Result<_, _>>()?,
        })
    }

    /// Roughly how much there is to write.
    pub(super) fn bytes(&self) -> usize {
        let items = self.items.iter().map(|row| row.item.len()).sum::<usize>();
        let asked = self.asked.iter().map(|row| row.request.len()).sum::<usize>();
        let checkpoint = self.checkpoint.as_ref().map_or(0, |(snapshot, rest)| snapshot.len() + rest.len());
        self.lines.len() + items + asked + checkpoint
    }

    /// Writes the rows. A refusal comes before anything is written.
    pub(super) fn write(&self, to: &Connection) -> rusqlite::Result<Result<(), AppendError>> {
        let session: Option<i64> = to
            .prepare_cached("SELECT number FROM session WHERE id = ?1")?
            .query_row([self.session.as_str()], |row| row.get(0))
            .optional()?;
        let Some(session) = session else {
            return Ok(Err(AppendError::NoSession(self.session.clone())));
        };
        if let Err(refused) = self.check(last(to, session)?) {
            return Ok(Err(refused));
        }
        if !self.lines.is_empty() {
            to.prepare_cached("INSERT INTO log (session, first, last, lines) VALUES (?1, ?2, ?3, ?4)")?
                .execute(params![session, integer(self.first.0), integer(self.last.0), self.lines])?;
        }
        self.write_items(to, session)?;
        self.write_turns(to, session)?;
        self.write_questions(to, session)?;
        if let Some((snapshot, unsettled)) = &self.checkpoint {
            to.prepare_cached(
                "INSERT OR REPLACE INTO checkpoint (session, snapshot, unsettled) VALUES (?1, ?2, ?3)",
            )?
            .execute(params![session, snapshot, unsettled])?;
        }
        if let Some(summary) = &self.summary {
            summary.write(to, session)?;
        }
        Ok(Ok(()))
    }

    fn check(&self, last: Seq) -> Result<(), AppendError> {
        let (expected, session) = (Seq(last.0.saturating_add(1)), self.session.clone());
        if self.first != expected {
            return Err(AppendError::OutOfOrder { session, expected, found: self.first });
        }
        let (lines, whole) = self.counted;
        if !whole || self.last.0.checked_sub(last.0) != Some(lines) {
            return Err(AppendError::Uneven { session, first: self.first, last: self.last, lines });
        }
        Ok(())
    }

    fn write_items(&self, to: &Connection, session: i64) -> rusqlite::Result<()> {
        if self.items.is_empty() {
            return Ok(());
        }
        // Two statements, because one that does both and tells the number costs nearly twice as much, and nearly every
        // item is new.
        let mut insert = to.prepare_cached(
            "INSERT INTO item (session, seq, at, kind, item) VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING",
        )?;
        let mut replace = to.prepare_cached(
            "UPDATE item SET at = ?3, kind = ?4, item = ?5 WHERE session = ?1 AND seq = ?2 RETURNING number",
        )?;
        let indexed = index::upto(to)?;
        for row in &self.items {
            let item = params![session, row.seq, row.at, row.kind, row.item];
            let number = if insert.execute(item)? == 1 {
                to.last_insert_rowid()
            } else {
                replace.query_row(item, |row| row.get(0))?
            };
            if number <= indexed {
                index::note(to, number)?;
            }
        }
        Ok(())
    }

    fn write_turns(&self, to: &Connection, session: i64) -> rusqlite::Result<()> {
        for row in &self.turns {
            let figures = &row.figures;
            to.prepare_cached(
                "INSERT OR REPLACE INTO turn (session, seq, turn, at, model, cost_usd, input_tokens, output_tokens,
                 cache_read_tokens, cache_creation_tokens, duration_ms)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
            )?
            .execute(params![
                session,
                integer(row.seq.0),
                row.turn.map(|turn| turn.0),
                integer(row.at.0),
                row.model,
                figures.cost_usd,
                integer(figures.input_tokens),
                integer(figures.output_tokens),
                integer(figures.cache_read_tokens),
                integer(figures.cache_creation_tokens),
                integer(figures.duration_ms),
            ])?;
        }
        Ok(())
    }

    fn write_questions(&self, to: &Connection, session: i64) -> rusqlite::Result<()> {
        for row in &self.asked {
            to.prepare_cached(
                "INSERT INTO question (session, pending, asked_at, kind, tool_name, tool_title, request)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING",
            )?
            .execute(params![
                session,
                row.pending,
                row.at,
                row.kind,
                row.tool_name,
                row.tool_title,
                row.request
            ])?;
        }
        for row in &self.decided {
            // A decision is never written over.
            to.prepare_cached(
                "UPDATE question SET decided_at = ?3, outcome = ?4, by = ?5, message = ?6
                 WHERE session = ?1 AND pending = ?2 AND decided_at IS NULL",
            )?
            .execute(params![session, row.pending, row.at, row.outcome, row.by, row.message])?;
        }
        Ok(())
    }
}

fn count(lines: &[u8]) -> (u64, bool) {
    let whole = lines.is_empty() || lines.ends_with(b"\n");
    (memchr::memchr_iter(b'\n', lines).count() as u64, whole)
}

/// The last event of a session that is stored; 0 if there is none.
pub(super) fn last(from: &Connection, session: i64) -> rusqlite::Result<Seq> {
    let last = from
        .prepare_cached("SELECT last FROM log WHERE session = ?1 ORDER BY first DESC LIMIT 1")?
        .query_row([session], |row| row.get(0))
        .optional()?;
    Ok(seq(last.unwrap_or(0)))
}
