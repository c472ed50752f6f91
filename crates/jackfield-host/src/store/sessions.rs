//! The sessions themselves: what a list shows of them, and how they were asked for.
//!
//! Lists are read by columns with an index; the JSON beside them is what is handed out. The one rule it keeps: a
//! session that cannot be read any more is shown as such and hides no other.

use jackfield_api::SessionId;
use jackfield_api::command::CreateSession;
use jackfield_api::host::{SessionPage, SessionSummary};
use jackfield_api::snapshot::SessionState;
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::store::column::{integer, json, read, time};
use crate::store::error::{Fault, StoreError};
use crate::store::{Store, removal};

/// A session as it is stored.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionRecord {
    /// How it stands.
    pub summary: SessionSummary,
    /// How it was asked for, with what later commands changed.
    pub create: CreateSession,
}

/// Which sessions a list is to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionQuery {
    /// Those that were put out of the way?
    pub archived: Archived,
    /// Only those in this folder or below.
    pub folder: Option<String>,
    /// Only those with this in their title, whatever the case.
    pub text: Option<String>,
    /// The ones behind this place: [`SessionPage::next`] of the page before.
    pub before: Option<String>,
    /// How many at most.
    pub limit: u32,
}

impl Default for SessionQuery {
    fn default() -> Self {
        Self { archived: Archived::default(), folder: None, text: None, before: None, limit: 100 }
    }
}

/// What a list does with sessions that were put out of the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Archived {
    /// Leaves them out.
    #[default]
    Without,
    /// Shows only them.
    Only,
    /// Makes no difference.
    All,
}

impl Store {
    /// Keeps a new session.
    pub async fn create(&self, record: &SessionRecord) -> Result<(), StoreError> {
        let summary = SummaryRow::of(&record.summary)?;
        let created = json("session", &record.create)?;
        let id = record.summary.session_id.clone();
        let work = move |to: &Connection| {
            let number = to
                .prepare_cached(
                    "INSERT INTO session (id, title, title_lower, folder, archived, ended, updated_at, summary, created)
                     VALUES (?1, '', '', '', 0, 1, 0, '', ?2) ON CONFLICT DO NOTHING RETURNING number",
                )?
                .query_row(params![id.as_str(), created], |row| row.get(0))
                .optional()?
                .ok_or(StoreError::Exists(id))?;
            Ok(summary.write(to, number)?)
        };
        self.change(work).await
    }

    /// Keeps a session's summary, and how it is asked for from now on.
    pub async fn update(&self, record: &SessionRecord) -> Result<(), StoreError> {
        let summary = SummaryRow::of(&record.summary)?;
        let created = json("session", &record.create)?;
        let id = record.summary.session_id.clone();
        let work = move |to: &Connection| {
            let number = number(to, &id)?.ok_or(StoreError::NoSession(id))?;
            to.prepare_cached("UPDATE session SET created = ?2 WHERE number = ?1")?
                .execute(params![number, created])?;
            Ok(summary.write(to, number)?)
        };
        self.change(work).await
    }

    /// Removes a session with all that belongs to it: events, items, their words in the search, turns, questions.
    /// Nothing of it is found any more once this is done, but who decided what and when; the file is cleared of it
    /// soon after.
    pub async fn delete(&self, id: &SessionId) -> Result<(), StoreError> {
        let id = id.clone();
        self.change(move |from| Ok(removal::remove(from, id.as_str())?)).await
    }

    /// A session.
    pub async fn session(&self, id: &SessionId) -> Result<Option<SessionRecord>, StoreError> {
        let id = id.clone();
        let work = move |from: &Connection| {
            let row: Option<(String, String)> = from
                .prepare_cached("SELECT summary, created FROM session WHERE id = ?1")?
                .query_row([id.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))
                .optional()?;
            let Some((summary, created)) = row else { return Ok(None) };
            let (summary, create) = (read(&id, "summary", &summary)?, read(&id, "request", &created)?);
            Ok(Some(SessionRecord { summary, create }))
        };
        self.read("read a session", work).await
    }

    /// The session that a conversation of the CLI belongs or belonged to; the newest if there are several.
    pub async fn by_cli_id(&self, cli_session_id: &str) -> Result<Option<SessionId>, StoreError> {
        let cli_session_id = cli_session_id.to_owned();
        let work = move |from: &Connection| {
            let id = from
                .prepare_cached(
                    "SELECT session.id FROM cli_session JOIN session ON session.number = cli_session.session
                     WHERE cli_session_id = ?1 ORDER BY session.number DESC LIMIT 1",
                )?
                .query_row([cli_session_id], |row| row.get::<_, String>(0))
                .optional()?;
            Ok(id.map(SessionId::from))
        };
        self.read("look for a conversation of the CLI", work).await
    }

    /// Some of the sessions, the last changed first.
    pub async fn sessions(&self, query: SessionQuery) -> Result<SessionPage, StoreError> {
        self.read("list the sessions", move |from| list(from, &query)).await
    }

    /// The sessions that were not over when they were last stored: the host before this one died.
    pub async fn unfinished(&self) -> Result<Vec<SessionId>, StoreError> {
        let work = |from: &Connection| {
            let ids = from
                .prepare_cached("SELECT id FROM session WHERE ended = 0 ORDER BY number")?
                .query_map([], |row| row.get::<_, String>(0).map(SessionId::from))?
                .collect::<Result<_, _>>()?;
            Ok(ids)
        };
        self.read("look for unfinished sessions", work).await
    }
}

/// The number of a session.
pub(super) fn number(from: &Connection, id: &SessionId) -> rusqlite::Result<Option<i64>> {
    from.prepare_cached("SELECT number FROM session WHERE id = ?1")?
        .query_row([id.as_str()], |row| row.get(0))
        .optional()
}

/// A summary in the shape of its table.
pub(super) struct SummaryRow {
    title: String,
    folder: String,
    archived: bool,
    ended: bool,
    updated_at: i64,
    cli_session_id: Option<String>,
    summary: String,
}

impl SummaryRow {
    pub(super) fn of(summary: &SessionSummary) -> Result<Self, StoreError> {
        Ok(Self {
            title: summary.title.clone(),
            folder: summary.cwd.clone(),
            archived: summary.archived,
            ended: summary.state == SessionState::Ended,
            updated_at: integer(summary.updated_at.0),
            cli_session_id: summary.cli_session_id.clone(),
            summary: json("summary", summary)?,
        })
    }

    pub(super) fn write(&self, to: &Connection, number: i64) -> rusqlite::Result<()> {
        to.prepare_cached(
            "UPDATE session SET title = ?2, title_lower = ?3, folder = ?4, archived = ?5, updated_at = ?6,
             summary = ?7 WHERE number = ?1",
        )?
        .execute(params![
            number,
            self.title,
            self.title.to_lowercase(),
            self.folder,
            self.archived,
            self.updated_at,
            self.summary
        ])?;
        // Set only when it changes: an index hangs on it, which is written with it.
        to.prepare_cached("UPDATE session SET ended = ?2 WHERE number = ?1 AND ended <> ?2")?
            .execute(params![number, self.ended])?;
        if let Some(cli_session_id) = &self.cli_session_id {
            to.prepare_cached("INSERT OR IGNORE INTO cli_session (cli_session_id, session) VALUES (?1, ?2)")?
                .execute(params![cli_session_id, number])?;
        }
        Ok(())
    }
}

pub(super) fn list(from: &Connection, query: &SessionQuery) -> Result<SessionPage, Fault> {
    let (updated_at, number) = match query.before.as_deref().map(place) {
        None => (i64::MAX, i64::MAX),
        Some(place) => place?,
    };
    let archived = match query.archived {
        Archived::Without => Some(false),
        Archived::Only => Some(true),
        Archived::All => None,
    };
    let folder = query.folder.as_deref().map(|folder| folder.trim_end_matches('/'));
    let text = query.text.as_deref().map(str::to_lowercase);
    let limit = query.limit.clamp(1, LONGEST_PAGE);
    // One more than wanted tells whether there is a next page.
    let mut rows = from
        .prepare_cached(
            "SELECT id, title, folder, updated_at, number, summary FROM session
             WHERE (updated_at, number) < (?1, ?2)
               AND (?3 IS NULL OR archived = ?3)
               AND (?4 IS NULL OR folder = ?4 OR substr(folder, 1, length(?4) + 1) = ?4 || '/')
               AND (?5 IS NULL OR instr(title_lower, ?5) > 0)
             ORDER BY updated_at DESC, number DESC LIMIT ?6",
        )?
        .query_map(params![updated_at, number, archived, folder, text, limit + 1], Listed::of)?
        .collect::<Result<Vec<_>, _>>()?;
    let more = rows.len() > limit as usize;
    rows.truncate(limit as usize);
    let next = rows.last().filter(|_| more).map(|row| format!("{}.{}", row.updated_at, row.number));
    Ok(SessionPage { sessions: rows.into_iter().map(Listed::summary).collect(), next })
}

fn place(token: &str) -> Result<(i64, i64), StoreError> {
    let parse = || {
        let (updated_at, number) = token.split_once('.')?;
        Some((updated_at.parse().ok()?, number.parse().ok()?))
    };
    parse().ok_or_else(|| StoreError::NoPlace(token.to_owned()))
}

/// A session in a list.
struct Listed {
    id: SessionId,
    title: String,
    folder: String,
    updated_at: i64,
    number: i64,
    summary: String,
}

impl Listed {
    fn of(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: row.get::<_, String>(0)?.into(),
            title: row.get(1)?,
            folder: row.get(2)?,
            updated_at: row.get(3)?,
            number: row.get(4)?,
            summary: row.get(5)?,
        })
    }

    fn summary(self) -> SessionSummary {
        serde_json::from_str(&self.summary).unwrap_or_else(|error| SessionSummary {
            title: self.title,
            last_error: Some(format!("what is stored of this session cannot be read: {error}")),
            ..SessionSummary::new(self.id, self.folder, time(self.updated_at))
        })
    }
}

const LONGEST_PAGE: u32 = 10_000;
