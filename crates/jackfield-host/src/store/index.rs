//! How the words of items get into the index: many at a time, while nobody waits.
//!
//! With every commit the index writes what it was given as one piece, which it has to merge with others later; so it
//! is given much at once, and never while somebody waits for a commit. Items are numbered as they come, so the number
//! of the last one that was taken in says which are left; one that is written again is noted. The one rule it keeps:
//! a search finds everything that was stored before it.

use jackfield_api::snapshot::Item;
use rusqlite::{Connection, TransactionBehavior, params};

use crate::store::words;

/// How much text is taken in with one commit: the index gathers it in memory, and whoever comes meanwhile waits.
const PIECE: usize = 128 * 1024;

/// What is not in the index yet, the first first. It looks at nothing else, however much there is.
pub(super) const LEFT: &str = "SELECT number, item FROM item WHERE number IN (SELECT item FROM unindexed)
     UNION ALL SELECT number, item FROM item WHERE number > (SELECT upto FROM indexed)
     ORDER BY number";

/// The last item that was taken in. One with a higher number is found without a note.
pub(super) fn upto(from: &Connection) -> rusqlite::Result<i64> {
    from.prepare_cached("SELECT upto FROM indexed")?.query_row([], |row| row.get(0))
}

/// Notes an item that was written again.
pub(super) fn note(to: &Connection, item: i64) -> rusqlite::Result<()> {
    to.prepare_cached("INSERT OR IGNORE INTO unindexed (item) VALUES (?1)")?.execute([item]).map(drop)
}

/// Forgets an item.
pub(super) fn remove(from: &Connection, item: i64) -> rusqlite::Result<()> {
    from.prepare_cached("DELETE FROM unindexed WHERE item = ?1")?.execute([item])?;
    from.prepare_cached("DELETE FROM words WHERE rowid = ?1")?.execute([item])?;
    Ok(())
}

/// Whether something is not in the index yet.
pub(super) fn is_behind(from: &Connection) -> rusqlite::Result<bool> {
    from.prepare_cached(
        "SELECT EXISTS (SELECT 1 FROM unindexed) OR EXISTS (SELECT 1 FROM item, indexed WHERE number > upto)",
    )?
    .query_row([], |row| row.get(0))
}

/// Takes a piece in, and commits it. Says whether there is more.
pub(super) fn take_in_some(connection: &mut Connection) -> rusqlite::Result<bool> {
    if !is_behind(connection)? {
        return Ok(false);
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let more = take_in(&transaction)?;
    transaction.commit()?;
    Ok(more)
}

/// Takes everything in.
pub(super) fn take_in_all(to: &Connection) -> rusqlite::Result<()> {
    while take_in(to)? {}
    Ok(())
}

/// Takes a piece in. Says whether there is more.
fn take_in(to: &Connection) -> rusqlite::Result<bool> {
    let (mut taken, mut last, mut more) = (0, 0, false);
    let mut left = to.prepare_cached(LEFT)?;
    let mut remove = to.prepare_cached("DELETE FROM words WHERE rowid = ?1")?;
    let mut insert = to.prepare_cached("INSERT OR REPLACE INTO words (rowid, text) VALUES (?1, ?2)")?;
    let mut rows = left.query([])?;
    while let Some(row) = rows.next()? {
        if taken >= PIECE {
            more = true;
            break;
        }
        last = row.get(0)?;
        // One that cannot be read has no words; whoever asks for it is told.
        let item: Option<Item> = serde_json::from_str(row.get_ref(1)?.as_str()?).ok();
        let text = item.map(|item| words::of(&item.content)).unwrap_or_default();
        if text.is_empty() {
            remove.execute([last])?;
        } else {
            insert.execute(params![last, text])?;
        }
        taken += text.len();
    }
    drop(rows);
    // Those that were noted are the first of all.
    to.prepare_cached("DELETE FROM unindexed WHERE item <= ?1 OR NOT ?2")?.execute(params![last, more])?;
    to.prepare_cached("UPDATE indexed SET upto = max(upto, ?1)")?.execute([last])?;
    Ok(more)
}
