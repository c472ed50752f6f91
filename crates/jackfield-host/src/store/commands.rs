//! Commands by the ids that clients gave them: done once, answered the same however often they come.
//!
//! The one rule it keeps: a command is new exactly once. One that an earlier host began and did not end is lost, for
//! nobody knows how far it came.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jackfield_api::SessionId;
use jackfield_api::command::{Rejection, Reply};
use rusqlite::{Connection, OptionalExtension, params};

use crate::store::Store;
use crate::store::column::json;
use crate::store::error::StoreError;

/// What is known of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Begun {
    /// Nothing; it is to be done now.
    New,
    /// It is being done.
    Running,
    /// It was begun before the host was started again, and nobody knows what came of it.
    Lost,
    /// It was done, and this was the answer.
    Answered(Result<Reply, Rejection>),
}

impl Store {
    /// Begins a command, if it was not begun before.
    pub async fn begin_command(&self, id: &str, session: Option<&SessionId>) -> Result<Begun, StoreError> {
        let (id, session, opened) = (id.to_owned(), session.cloned(), self.opened());
        let work = move |to: &Connection| {
            let known: Option<(Option<String>, i64)> = to
                .prepare_cached("SELECT answer, opened FROM command WHERE id = ?1")?
                .query_row([&id], |row| Ok((row.get(0)?, row.get(1)?)))
                .optional()?;
            match known {
                Some((Some(answer), _)) => {
                    let answer = serde_json::from_str(&answer)
                        .map_err(|source| StoreError::Convert { what: "answer to a command", source })?;
                    Ok(Begun::Answered(answer))
                }
                Some((None, then)) => Ok(if then == opened { Begun::Running } else { Begun::Lost }),
                None => {
                    sweep(to, opened)?;
                    to.prepare_cached(
                        "INSERT INTO command (id, session, begun_at, opened) VALUES (?1, ?2, ?3, ?4)",
                    )?
                    .execute(params![
                        id,
                        session.as_ref().map(SessionId::as_str),
                        now(),
                        opened
                    ])?;
                    Ok(Begun::New)
                }
            }
        };
        self.change(work).await
    }

    /// Keeps the answer to a command, for a day.
    pub async fn end_command(&self, id: &str, answer: &Result<Reply, Rejection>) -> Result<(), StoreError> {
        let (id, answer, opened) = (id.to_owned(), json("answer to a command", answer)?, self.opened());
        let work = move |to: &Connection| {
            to.prepare_cached(
                "INSERT INTO command (id, begun_at, opened, answer) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT DO UPDATE SET answer = excluded.answer",
            )?
            .execute(params![id, now(), opened, answer])?;
            Ok(())
        };
        self.change(work).await
    }
}

/// Forgets old commands; those that still run are kept.
pub(super) fn sweep(from: &Connection, opened: i64) -> rusqlite::Result<()> {
    from.prepare_cached("DELETE FROM command WHERE begun_at < ?1 AND (answer IS NOT NULL OR opened < ?2)")?
        .execute([now() - KEPT, opened])?;
    Ok(())
}

fn now() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    i64::try_from(now.as_millis()).unwrap_or(i64::MAX)
}

/// Milliseconds for which a command is remembered.
const KEPT: i64 = 24 * 3600 * 1000;
