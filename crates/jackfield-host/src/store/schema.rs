//! The database file: opened, checked, brought to this program's version.
//!
//! Versions only go forward, each by one file of SQL, and a copy is made first. The one rule it keeps: a database
//! that is not ours, or newer than this program, is left exactly as it was.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use crate::store::error::{Fault, StoreError};
use crate::store::folder;
use crate::store::look;
use crate::store::syncing::Syncing;

/// The step that leads to each version, from the first on.
pub(super) const STEPS: &[&str] = &[
    include_str!("schema/v1.sql"),
    include_str!("schema/v2.sql"),
    include_str!("schema/v3.sql"),
    include_str!("schema/v4.sql"),
    include_str!("schema/v5.sql"),
];

/// `JFLD`: says to SQLite's tools, and to us, whose file it is.
const APPLICATION_ID: u32 = 0x4a46_4c44;

/// How long a connection waits for another one: a person may look into the file with tools of their own.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// The connection that writes, to a database that has all of `steps` behind it.
pub(super) fn open(path: &Path, steps: &[&str], syncing: Syncing) -> Result<Connection, StoreError> {
    let known = u32::try_from(steps.len()).unwrap_or(u32::MAX);
    let newer = |found| StoreError::Newer { path: path.to_owned(), found, known };

    // SQLite writes to a file by opening it (it takes in what a crash left), so the header is read before.
    let mut header = Vec::new();
    folder::private_file(path)?.take(100).read_to_end(&mut header).map_err(folder::failed("read", path))?;
    let fresh = header.is_empty();
    if !fresh {
        let number = |at: usize| {
            let bytes = header.get(at..at + 4)?;
            Some(u32::from_be_bytes(bytes.try_into().ok()?))
        };
        let ours = header.starts_with(b"SQLite format 3\0") && number(68) == Some(APPLICATION_ID);
        match number(60) {
            Some(found) if ours && known < found => return Err(newer(found)),
            Some(_) if ours => {}
            // Made, but not yet ours: an earlier start was cut off before its first commit reached the file.
            Some(0) if number(68) == Some(0) => {}
            _ => return Err(StoreError::Foreign(path.to_owned())),
        }
    }

    let fault = |error: rusqlite::Error| Fault::from(error).during("open the database");
    let mut connection = connect(path).map_err(fault)?;
    // What is not in the file yet may still be newer, and then stays where it is.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map_err(fault)?;
    let found = read_number(&connection, "PRAGMA user_version").map_err(fault)?;
    if known < found {
        return Err(newer(found));
    }
    if found == 0 && read_number(&connection, "SELECT count(*) FROM sqlite_schema").map_err(fault)? != 0 {
        return Err(StoreError::Foreign(path.to_owned()));
    }
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false).map_err(fault)?;
    // The writer empties the WAL itself, when nobody waits for it, and syncs it itself where that comes behind.
    // A host of one client writes few pages again.
    let (synchronous, cache) = match syncing {
        Syncing::First => ("FULL", 2048),
        Syncing::Behind => ("NORMAL", 512),
    };
    connection
        .execute_batch(&format!(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = {synchronous}; PRAGMA wal_autocheckpoint = 0;
             PRAGMA secure_delete = ON; PRAGMA journal_size_limit = 16777216; PRAGMA cache_size = -{cache};",
        ))
        .map_err(fault)?;
    if found < known {
        if 0 < found {
            back_up(&connection, path, known)?;
        }
        migrate(&mut connection, steps, found, known)
            .map_err(|error| Fault::from(error).during("bring the database to this version"))?;
    }
    if fresh && let Some(parent) = path.parent() {
        folder::sync(parent)?;
    }
    Ok(connection)
}

/// A connection that only reads.
pub(super) fn open_reader(path: &Path) -> Result<Connection, rusqlite::Error> {
    let connection = connect(path)?;
    // What is read is mostly read once.
    connection.execute_batch("PRAGMA query_only = ON; PRAGMA cache_size = -128;")?;
    Ok(connection)
}

/// A connection that only looks, to a database that may have no host, and is left as it is.
pub(super) fn open_look(path: &Path) -> Result<Connection, StoreError> {
    let fault = |error: rusqlite::Error| Fault::from(error).during("look into the database");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = match look::alone(path) {
        // Otherwise a log would be made for it, which nobody would take away.
        Some(address) => Connection::open_with_flags(address, flags | OpenFlags::SQLITE_OPEN_URI),
        None => Connection::open_with_flags(path, flags),
    };
    let connection = connection.map_err(fault)?;
    connection.busy_timeout(PATIENCE).map_err(fault)?;
    // What a crash left in the log is for the next host to take in.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map_err(fault)?;
    if read_number(&connection, "PRAGMA application_id").map_err(fault)? != APPLICATION_ID {
        return Err(StoreError::Foreign(path.to_owned()));
    }
    let known = u32::try_from(STEPS.len()).unwrap_or(u32::MAX);
    let found = read_number(&connection, "PRAGMA user_version").map_err(fault)?;
    if known < found {
        return Err(StoreError::Newer { path: path.to_owned(), found, known });
    }
    Ok(connection)
}

fn connect(path: &Path) -> Result<Connection, rusqlite::Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(PATIENCE)?;
    connection.execute_batch("PRAGMA temp_store = MEMORY;")?;
    // Otherwise a statement whose plan might be another one for another value is compiled anew each time it is used.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(connection)
}

fn read_number(connection: &Connection, sql: &str) -> Result<u32, rusqlite::Error> {
    connection.query_row(sql, [], |row| row.get(0))
}

fn back_up(connection: &Connection, path: &Path, version: u32) -> Result<(), StoreError> {
    let beside = |ending: String| {
        let mut name = path.as_os_str().to_owned();
        name.push(ending);
        PathBuf::from(name)
    };
    let copy = beside(format!(".before-v{version}"));
    // A copy has its name only once it is whole.
    let unfinished = beside(format!(".before-v{version}.part"));
    let file: File = folder::private_file(&unfinished)?;
    file.set_len(0).map_err(folder::failed("empty", &unfinished))?;
    connection
        .backup("main", &unfinished, None::<fn(rusqlite::backup::Progress)>)
        .map_err(|error| Fault::from(error).during("copy the database before it is changed"))?;
    file.sync_all().map_err(folder::failed("write out", &unfinished))?;
    std::fs::rename(&unfinished, &copy).map_err(folder::failed("rename", &unfinished))?;
    path.parent().map_or(Ok(()), folder::sync)
}

fn migrate(
    connection: &mut Connection,
    steps: &[&str],
    found: u32,
    known: u32,
) -> Result<(), rusqlite::Error> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for step in steps.iter().skip(found as usize) {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", known)?;
    transaction.commit()?;
    // So that the version is in the file itself, where an older program finds it.
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
}
