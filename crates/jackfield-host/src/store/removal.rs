//! The end of a session in the store.
//!
//! Its row goes at once, and with it everything that a query finds, but for who decided what and when, which is
//! kept for ever. Its contents, which may be much, are cleared away piece by piece while nobody waits. The one
//! rule it keeps: what was begun is finished, by the next host if need be.

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use crate::store::index;

/// Removes a session from all lists. There may be none.
pub(super) fn remove(from: &Connection, id: &str) -> rusqlite::Result<()> {
    let session: Option<i64> = from
        .prepare_cached("DELETE FROM session WHERE id = ?1 RETURNING number")?
        .query_row([id], |row| row.get(0))
        .optional()?;
    if let Some(session) = session {
        from.prepare_cached("INSERT INTO removed (session) VALUES (?1)")?.execute([session])?;
        from.prepare_cached(
            "INSERT INTO past_decision (session_id, pending, kind, tool_name, asked_at, decided_at, outcome, by)
             SELECT ?2, pending, kind, tool_name, asked_at, decided_at, outcome, by FROM question
             WHERE session = ?1 AND decided_at IS NOT NULL",
        )?
        .execute(params![session, id])?;
    }
    // The command that removes the session is not answered yet, and is remembered.
    from.prepare_cached("DELETE FROM command WHERE session = ?1 AND answer IS NOT NULL")?.execute([id])?;
    Ok(())
}

/// Clears away some of what removed sessions left. Says whether there may be more.
pub(super) fn clear_some(connection: &mut Connection) -> rusqlite::Result<bool> {
    let next = |connection: &Connection| {
        connection
            .prepare_cached("SELECT session FROM removed LIMIT 1")?
            .query_row([], |row| row.get(0))
            .optional()
    };
    let Some(session): Option<i64> = next(connection)? else { return Ok(false) };
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let items: Vec<i64> = transaction
        .prepare_cached("SELECT number FROM item WHERE session = ?1 LIMIT ?2")?
        .query_map([session, PIECE], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for &item in &items {
        index::remove(&transaction, item)?;
        transaction.prepare_cached("DELETE FROM item WHERE number = ?1")?.execute([item])?;
    }
    let pages = transaction
        .prepare_cached(
            "DELETE FROM log WHERE number IN (SELECT number FROM log WHERE session = ?1 LIMIT ?2)",
        )?
        .execute([session, PIECE])?;
    if items.is_empty() && pages == 0 {
        for table in ["turn", "question", "checkpoint", "cli_session", "removed"] {
            transaction.execute(&format!("DELETE FROM {table} WHERE session = ?1"), [session])?;
        }
    }
    transaction.commit()?;
    Ok(true)
}

/// How many rows are cleared away in one go: some milliseconds' worth, for the words are taken out of the index one
/// by one.
const PIECE: i64 = 10;
