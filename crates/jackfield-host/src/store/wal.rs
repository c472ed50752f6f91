//! The WAL's file, made long before it is needed.
//!
//! A sync of a file that grows writes its new length too: on a quiet disk that takes half as long again, on a busy one
//! ten times as long, and everybody waits for it. So the file is filled up with zeros while nobody waits, which SQLite
//! takes for the end of the log and writes over. It is synced here too, where that comes behind what is told. The one
//! rule it keeps: nobody can write to the log while it is made longer.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, TransactionBehavior};

/// How long it is made: as long as it gets before it is taken into the database on a quiet day.
const LONG: u64 = 4 * 1024 * 1024 + 256 * 1024;
/// How much is added at once: whoever comes meanwhile waits for it.
const PIECE: usize = 128 * 1024;

/// The file of a database's WAL.
#[derive(Debug)]
pub(super) struct Wal {
    path: PathBuf,
    is_enough: bool,
}

impl Wal {
    pub(super) fn of(database: &Path) -> Self {
        let mut path = database.as_os_str().to_owned();
        path.push("-wal");
        Self { path: path.into(), is_enough: false }
    }

    /// Makes the disk keep what is in it.
    pub(super) fn sync(&self) -> io::Result<()> {
        OpenOptions::new().write(true).open(&self.path)?.sync_data()
    }

    /// Makes it longer by a piece. Says whether there may be more to do; after a failure there is not, since all of
    /// this is only for speed.
    pub(super) fn lengthen(&mut self, connection: &mut Connection) -> bool {
        self.is_enough = self.is_enough
            || connection
                .transaction_with_behavior(TransactionBehavior::Immediate)
                .map_or(true, |_alone| self.add_piece().unwrap_or(true));
        !self.is_enough
    }

    /// Says whether it is long enough.
    fn add_piece(&self) -> io::Result<bool> {
        let file = OpenOptions::new().write(true).open(&self.path)?;
        let length = file.metadata()?.len();
        if length >= LONG {
            return Ok(true);
        }
        let added = file.write_all_at(&vec![0; PIECE], length).and_then(|()| file.sync_data());
        // A disk that is full has better use for the room. One that fails is told to SQLite too, by its own next sync.
        added.or_else(|error| file.set_len(length).and(Err(error)))?;
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn count(connection: &Connection) -> u32 {
        connection.query_row("SELECT count(*) FROM t", [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn what_is_written_into_a_lengthened_file_is_there_after_a_crash() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.db");
        let mut connection = Connection::open(&path).unwrap();
        connection
            .execute_batch("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE t (x)")
            .unwrap();
        let insert = "INSERT INTO t VALUES (randomblob(5000))";
        connection.execute(insert, []).unwrap();
        let mut wal = Wal::of(&path);
        let mut pieces = 0;
        while wal.lengthen(&mut connection) {
            // Between two pieces everybody can write.
            connection.execute(insert, []).unwrap();
            pieces += 1;
        }
        let length = std::fs::metadata(&wal.path).unwrap().len();
        assert!(length >= LONG && pieces > 10, "{length} in {pieces} pieces");
        connection.execute(insert, []).unwrap();
        assert_eq!(std::fs::metadata(&wal.path).unwrap().len(), length, "there was room");
        // As a crash leaves them.
        let crashed = folder.path().join("b.db");
        std::fs::copy(&path, &crashed).unwrap();
        std::fs::copy(&wal.path, folder.path().join("b.db-wal")).unwrap();
        let crashed = Connection::open(&crashed).unwrap();
        assert_eq!(count(&crashed), pieces + 2);
        assert_eq!(count(&connection), pieces + 2);
        let sound: String = crashed.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
        assert_eq!(sound, "ok");
        // What is taken in is written over from the front.
        connection.query_row("PRAGMA wal_checkpoint(RESTART)", [], |_| Ok(())).unwrap();
        connection.execute(insert, []).unwrap();
        assert_eq!(std::fs::metadata(&wal.path).unwrap().len(), length);
    }

    #[test]
    fn a_log_that_cannot_be_lengthened_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let mut connection = Connection::open(folder.path().join("a.db")).unwrap();
        let mut wal = Wal::of(&folder.path().join("a.db"));
        assert!(!wal.lengthen(&mut connection), "there is no log");
        assert!(!wal.path.exists());
    }
}
