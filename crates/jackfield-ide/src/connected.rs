//! Who is connected.
//!
//! The one rule it keeps: a CLI is in the list from the moment it was let in until its connection has ended.

use std::collections::BTreeMap;

use tokio::sync::watch;

/// A CLI that is connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connected {
    /// The number of the connection; never used twice in a server's life.
    pub connection: u64,
    /// The CLI's process, once it has said it.
    pub process: Option<u32>,
}

/// The list of all.
#[derive(Debug, Clone, Default)]
pub(crate) struct GuestBook {
    guests: watch::Sender<BTreeMap<u64, Option<u32>>>,
}

/// An entry in the list, which goes with it.
#[derive(Debug)]
pub(crate) struct Guest {
    book: GuestBook,
    connection: u64,
}

impl GuestBook {
    pub(crate) fn enter(&self, connection: u64) -> Guest {
        self.guests.send_modify(|guests| _ = guests.insert(connection, None));
        Guest { book: self.clone(), connection }
    }

    pub(crate) fn watch(&self) -> Watched {
        Watched { guests: self.guests.subscribe() }
    }
}

impl Guest {
    /// The CLI has said who it is.
    pub(crate) fn introduce(&self, process: Option<u32>) {
        self.book.guests.send_modify(|guests| _ = guests.insert(self.connection, process));
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.book.guests.send_modify(|guests| _ = guests.remove(&self.connection));
    }
}

/// The list of those who are connected, as it changes.
#[derive(Debug, Clone)]
pub struct Watched {
    guests: watch::Receiver<BTreeMap<u64, Option<u32>>>,
}

impl Watched {
    /// Who is connected now, in the order of their coming.
    pub fn now(&mut self) -> Vec<Connected> {
        let guests = self.guests.borrow_and_update();
        guests.iter().map(|(&connection, &process)| Connected { connection, process }).collect()
    }

    /// Waits until that is another list than the one last looked at; `None` when the server is gone.
    pub async fn changed(&mut self) -> Option<Vec<Connected>> {
        self.guests.changed().await.ok()?;
        Some(self.now())
    }
}
