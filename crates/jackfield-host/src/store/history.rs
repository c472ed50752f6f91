//! What happened in a session, read back: its events, its items, and where to go on after a restart.

use bytes::Bytes;
use jackfield_api::host::ItemPage;
use jackfield_api::snapshot::Item;
use jackfield_api::{Event, Seq, SessionId, Snapshot, codec};
use rusqlite::{Connection, OptionalExtension, params};

use crate::store::Store;
use crate::store::column::{integer, read, seq, unreadable};
use crate::store::error::{Fault, StoreError};
use crate::store::packed::unpack;
use crate::store::sessions::number;

/// Events in a row, as they were written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogPage {
    /// The first event.
    pub first: Seq,
    /// The last event.
    pub last: Seq,
    /// The events, one per line, each with its newline.
    pub lines: Bytes,
}

/// Where to go on with a session: the fold over its events up to some point, and the events behind that.
#[derive(Debug, Clone, PartialEq)]
pub struct ResumePoint {
    /// The transcript at that point, without its items; the empty one if none was stored.
    pub checkpoint: Snapshot,
    /// Those items of it that could still change.
    pub unsettled: Vec<Item>,
    /// Everything that happened since.
    pub events: Vec<Event>,
}

impl Store {
    /// Where to go on with a session; none if there is no such session.
    pub async fn resume_point(&self, id: &SessionId) -> Result<Option<ResumePoint>, StoreError> {
        let id = id.clone();
        self.read("read where a session goes on", move |from| resume_point(from, &id)).await
    }

    /// The last items before an event that will not change any more, or the last of all; oldest first.
    pub async fn items(
        &self,
        id: &SessionId,
        before: Option<Seq>,
        limit: u32,
    ) -> Result<ItemPage, StoreError> {
        let id = id.clone();
        self.read("read the items of a session", move |from| items(from, &id, before, limit)).await
    }

    /// The events behind `after`, page by page, up to the one that makes it `enough_bytes`.
    pub async fn log(
        &self,
        id: &SessionId,
        after: Seq,
        enough_bytes: usize,
    ) -> Result<Vec<LogPage>, StoreError> {
        let id = id.clone();
        self.read("read the events of a session", move |from| log(from, &id, after, enough_bytes)).await
    }
}

fn resume_point(from: &Connection, id: &SessionId) -> Result<Option<ResumePoint>, Fault> {
    let Some(session) = number(from, id)? else { return Ok(None) };
    let stored: Option<(String, String)> = from
        .prepare_cached("SELECT snapshot, unsettled FROM checkpoint WHERE session = ?1")?
        .query_row([session], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let (checkpoint, unsettled) = match stored {
        None => (Snapshot::default(), Vec::new()),
        Some((snapshot, unsettled)) => {
            (read(id, "checkpoint", &snapshot)?, read(id, "unsettled items", &unsettled)?)
        }
    };
    let mut events = Vec::new();
    for page in log(from, id, checkpoint.seq, usize::MAX)? {
        let text = std::str::from_utf8(&page.lines).map_err(|error| unreadable(id, "events", &error))?;
        for line in text.lines() {
            events.push(codec::decode(line).map_err(|error| unreadable(id, "events", &error))?);
        }
    }
    Ok(Some(ResumePoint { checkpoint, unsettled, events }))
}

fn items(from: &Connection, id: &SessionId, before: Option<Seq>, limit: u32) -> Result<ItemPage, Fault> {
    let session = number(from, id)?.ok_or_else(|| StoreError::NoSession(id.clone()))?;
    let before = before.map_or(i64::MAX, |seq| integer(seq.0));
    // One more than wanted tells whether there are earlier ones.
    let mut rows = from
        .prepare_cached("SELECT item FROM item WHERE session = ?1 AND seq < ?2 ORDER BY seq DESC LIMIT ?3")?
        .query_map(params![session, before, i64::from(limit) + 1], |row| row.get(0))?
        .collect::<Result<Vec<String>, _>>()?;
    let earlier = rows.len() > limit as usize;
    rows.truncate(limit as usize);
    let items = rows.iter().rev().map(|item| read(id, "item", item)).collect::<Result<_, _>>()?;
    Ok(ItemPage { items, earlier })
}

fn log(from: &Connection, id: &SessionId, after: Seq, enough_bytes: usize) -> Result<Vec<LogPage>, Fault> {
    let session = number(from, id)?.ok_or_else(|| StoreError::NoSession(id.clone()))?;
    let mut statement = from.prepare_cached(
        "SELECT first, last, lines FROM log WHERE session = ?1 AND last > ?2
           AND first >= (SELECT coalesce(max(first), 0) FROM log WHERE session = ?1 AND first <= ?2 + 1)
         ORDER BY first",
    )?;
    let mut rows = statement.query(params![session, integer(after.0).min(i64::MAX - 1)])?;
    let (mut pages, mut bytes) = (Vec::new(), 0_usize);
    while bytes < enough_bytes
        && let Some(row) = rows.next()?
    {
        let stored = row.get_ref(2)?.as_blob().map_err(rusqlite::Error::from)?;
        let lines = unpack(stored).map_err(|reason| unreadable(id, "events", &reason))?;
        let page = behind(LogPage { first: seq(row.get(0)?), last: seq(row.get(1)?), lines }, after);
        bytes = bytes.saturating_add(page.lines.len());
        pages.push(page);
    }
    Ok(pages)
}

/// The last batches of a session's events that make it `enough_bytes`, or all; line by line, oldest first.
pub(super) fn ends(from: &Connection, id: &SessionId, enough_bytes: usize) -> Result<Vec<String>, Fault> {
    let session = number(from, id)?.ok_or_else(|| StoreError::NoSession(id.clone()))?;
    let mut statement =
        from.prepare_cached("SELECT lines FROM log WHERE session = ?1 ORDER BY first DESC")?;
    let mut rows = statement.query([session])?;
    let (mut batches, mut bytes) = (Vec::new(), 0_usize);
    while bytes < enough_bytes
        && let Some(row) = rows.next()?
    {
        let stored = row.get_ref(0)?.as_blob().map_err(rusqlite::Error::from)?;
        let lines = unpack(stored).map_err(|reason| unreadable(id, "events", &reason))?;
        bytes = bytes.saturating_add(lines.len());
        batches.push(lines);
    }
    let lines = batches.iter().rev().map(|batch| String::from_utf8_lossy(batch));
    Ok(lines.flat_map(|batch| batch.lines().map(ToOwned::to_owned).collect::<Vec<_>>()).collect())
}

/// A page without the events up to `after`.
fn behind(mut page: LogPage, after: Seq) -> LogPage {
    if let Some(skipped) = after.0.checked_sub(page.first.0) {
        let newline =
            memchr::memchr_iter(b'\n', &page.lines).nth(usize::try_from(skipped).unwrap_or(usize::MAX));
        let start = newline.map_or(page.lines.len(), |newline| newline + 1);
        page.lines = page.lines.slice(start..);
        page.first = Seq(after.0 + 1);
    }
    page
}
