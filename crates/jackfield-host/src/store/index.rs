//! How texts get into the index of words: noted with their items, and taken in many at a time while nobody waits.
//!
//! With every commit the index writes what it was given as one piece, which it has to merge with others later; so it
//! is given much at once, and never while somebody waits for a commit. The one rule it keeps: a search finds
//! everything that was stored before it.

use rusqlite::{CachedStatement, Connection, TransactionBehavior, params};

/// How much text is taken in with one commit: the index gathers it in memory, and whoever comes meanwhile waits.
const PIECE: usize = 128 * 1024;

/// Notes an item, and what of it is searched; nothing, if that is empty.
pub(super) fn noting(to: &Connection) -> rusqlite::Result<CachedStatement<'_>> {
    to.prepare_cached("INSERT OR REPLACE INTO unindexed (item, text) VALUES (?1, ?2)")
}

/// Forgets an item.
pub(super) fn remove(from: &Connection, item: i64) -> rusqlite::Result<()> {
    from.prepare_cached("DELETE FROM unindexed WHERE item = ?1")?.execute([item])?;
    from.prepare_cached("DELETE FROM words WHERE rowid = ?1")?.execute([item])?;
    Ok(())
}

/// Whether something was noted that is not in the index yet.
pub(super) fn is_behind(from: &Connection) -> rusqlite::Result<bool> {
    from.prepare_cached("SELECT EXISTS (SELECT 1 FROM unindexed)")?.query_row([], |row| row.get(0))
}

/// Takes a piece of what was noted in, and commits it. Says whether there is more.
pub(super) fn take_in_some(connection: &mut Connection) -> rusqlite::Result<bool> {
    if !is_behind(connection)? {
        return Ok(false);
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let more = take_in(&transaction)?;
    transaction.commit()?;
    Ok(more)
}

/// Takes everything in that was noted.
pub(super) fn take_in_all(to: &Connection) -> rusqlite::Result<()> {
    while take_in(to)? {}
    Ok(())
}

/// Takes a piece in. Says whether there is more.
fn take_in(to: &Connection) -> rusqlite::Result<bool> {
    let (mut taken, mut last, mut more) = (0, None, false);
    let mut noted = to.prepare_cached("SELECT item, text FROM unindexed ORDER BY item")?;
    let mut remove = to.prepare_cached("DELETE FROM words WHERE rowid = ?1")?;
    let mut insert = to.prepare_cached("INSERT OR REPLACE INTO words (rowid, text) VALUES (?1, ?2)")?;
    let mut rows = noted.query([])?;
    while let Some(row) = rows.next()? {
        if taken >= PIECE {
            more = true;
            break;
        }
        let (item, text): (i64, _) = (row.get(0)?, row.get_ref(1)?.as_str()?);
        if text.is_empty() {
            remove.execute([item])?;
        } else {
            insert.execute(params![item, text])?;
        }
        (taken, last) = (taken + text.len(), Some(item));
    }
    drop(rows);
    to.prepare_cached("DELETE FROM unindexed WHERE item <= ?1")?.execute([last])?;
    Ok(more)
}
