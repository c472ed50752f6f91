//! What was asked and how it was decided: the record of every decision, and questions to try rules on.

use jackfield_api::host::Decision;
use jackfield_api::permission::PermissionRequest;
use jackfield_api::{PendingId, SessionId, Timestamp};
use rusqlite::{Connection, Row, params};

use crate::store::Store;
use crate::store::column::{integer, number, read, time};
use crate::store::error::{Fault, StoreError};

impl Store {
    /// Decisions in one session or in all, made before `before` or at any time; the newest first.
    pub async fn decisions(
        &self,
        session: Option<&SessionId>,
        before: Option<Timestamp>,
        limit: u32,
    ) -> Result<Vec<Decision>, StoreError> {
        let session = session.cloned();
        self.read("read the decisions", move |from| decisions(from, session.as_ref(), before, limit)).await
    }

    /// Questions that were asked in any session, the newest first.
    pub async fn questions(&self, limit: u32) -> Result<Vec<(SessionId, PermissionRequest)>, StoreError> {
        let work = move |from: &Connection| {
            let rows = from
                .prepare_cached(
                    "SELECT session.id, request FROM question JOIN session ON session.number = question.session
                     ORDER BY asked_at DESC, question.number DESC LIMIT ?1",
                )?
                .query_map([limit], |row| Ok((row.get::<_, String>(0)?.into(), row.get(1)?)))?
                .collect::<Result<Vec<(SessionId, String)>, _>>()?;
            // They are samples to try rules on: one that cannot be read is none.
            let request =
                |(id, request): (SessionId, String)| Some((id, serde_json::from_str(&request).ok()?));
            Ok(rows.into_iter().filter_map(request).collect())
        };
        self.read("read the questions", work).await
    }
}

fn decisions(
    from: &Connection,
    session: Option<&SessionId>,
    before: Option<Timestamp>,
    limit: u32,
) -> Result<Vec<Decision>, Fault> {
    let before = before.map_or(i64::MAX, |before| integer(before.0));
    let mut statement = from.prepare_cached(
        "SELECT session.id, pending, question.kind, tool_name, tool_title, asked_at, decided_at, outcome, by, message,
                question.number
         FROM question JOIN session ON session.number = question.session
         WHERE decided_at < ?1 AND (?2 IS NULL OR session.id = ?2)
         UNION ALL
         SELECT session_id, pending, kind, tool_name, coalesce(tool_name, ''), asked_at, decided_at, outcome, by, NULL,
                number
         FROM past_decision WHERE decided_at < ?1 AND (?2 IS NULL OR session_id = ?2)
         ORDER BY decided_at DESC, 11 DESC LIMIT ?3",
    )?;
    let mut rows = statement.query(params![before, session.map(SessionId::as_str), limit])?;
    let mut decisions = Vec::new();
    while let Some(row) = rows.next()? {
        decisions.push(decision(row)?);
    }
    Ok(decisions)
}

fn decision(row: &Row<'_>) -> Result<Decision, Fault> {
    let session_id = row.get::<_, String>(0)?.into();
    let kind: String = row.get(2)?;
    let outcome: Option<String> = row.get(7)?;
    Ok(Decision {
        pending_id: PendingId(number(row.get(1)?)),
        kind: read(&session_id, "kind of a question", &kind)?,
        tool_name: row.get(3)?,
        tool_title: row.get(4)?,
        asked_at: time(row.get(5)?),
        decided_at: time(row.get(6)?),
        outcome: outcome.map(|outcome| read(&session_id, "outcome of a question", &outcome)).transpose()?,
        by: row.get(8)?,
        message: row.get(9)?,
        session_id,
    })
}
