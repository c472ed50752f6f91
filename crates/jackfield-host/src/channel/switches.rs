//! The switches of debug files that somebody has used, for as long as the host lives.
//!
//! A session is put away when nobody wants it, and its switch with it; what was said of it holds all the same. The one
//! rule it keeps: where nobody said anything the configuration holds, and nothing is kept.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jackfield_api::SessionId;

/// Whether debug files are written: the same for all who ask, whichever task the session has.
pub(crate) type Switch = Arc<AtomicBool>;

/// The switches that were used.
#[derive(Debug, Default)]
pub(crate) struct Switches(Mutex<BTreeMap<SessionId, Switch>>);

impl Switches {
    /// The switch of a session, if it was used.
    pub(crate) fn of(&self, id: &SessionId) -> Option<Switch> {
        self.lock().get(id).cloned()
    }

    /// Somebody uses the switch of a session.
    pub(crate) fn keep(&self, id: &SessionId, switch: Switch) {
        self.lock().insert(id.clone(), switch);
    }

    /// The session is deleted.
    pub(crate) fn forget(&self, id: &SessionId) {
        self.lock().remove(id);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<SessionId, Switch>> {
        // A panic while the lock is held leaves switches that can be used.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
