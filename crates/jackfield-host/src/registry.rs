//! Which sessions are loaded. The one rule it keeps: a session has one task at most.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use jackfield_api::SessionId;
use tokio::sync::{Mutex, mpsc};

use crate::channel::{Ask, Channel};
use crate::host::Shared;
use crate::store::StoreError;

/// Which sessions are loaded.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    // Held while a session is loaded, so that nobody loads it twice.
    loaded: Mutex<BTreeMap<SessionId, Channel>>,
    /// Only changed under the lock.
    closed: AtomicBool,
}

impl Registry {
    /// A session, loaded if it is not yet; `None` if there is no such session.
    pub(crate) async fn channel(
        &self,
        shared: &Arc<Shared>,
        id: &SessionId,
    ) -> Result<Option<Channel>, StoreError> {
        let mut loaded = self.loaded.lock().await;
        if let Some(channel) = loaded.get(id).filter(|channel| channel.lives()) {
            return Ok(Some(channel.clone()));
        }
        if self.closed.load(Ordering::Relaxed) {
            return Err(StoreError::Closed);
        }
        let channel = Channel::load(shared, id).await?;
        if let Some(channel) = &channel {
            loaded.insert(id.clone(), channel.clone());
        }
        Ok(channel)
    }

    /// The sessions that are loaded.
    pub(crate) async fn loaded(&self) -> Vec<(SessionId, Channel)> {
        self.loaded.lock().await.iter().map(|(id, channel)| (id.clone(), channel.clone())).collect()
    }

    /// A session, if it is loaded.
    pub(crate) async fn get(&self, id: &SessionId) -> Option<Channel> {
        self.loaded.lock().await.get(id).cloned()
    }

    pub(crate) async fn insert(&self, id: SessionId, channel: Channel) {
        self.loaded.lock().await.insert(id, channel);
    }

    pub(crate) async fn remove(&self, id: &SessionId) {
        self.loaded.lock().await.remove(id);
    }

    /// Loads no more sessions, so that a command on its way starts none when the host ends. Those that are loaded.
    pub(crate) async fn close(&self) -> Vec<Channel> {
        let loaded = self.loaded.lock().await;
        self.closed.store(true, Ordering::Relaxed);
        loaded.values().cloned().collect()
    }

    /// A session's task wants to go. Whether it may: nobody has asked it anything in the meantime, and nobody has got
    /// hold of it to ask or to follow it, which only happens under the lock.
    pub(crate) fn let_go(&self, id: &SessionId, asks: &mpsc::Receiver<Ask>) -> bool {
        let Ok(mut loaded) = self.loaded.try_lock() else { return false };
        // The task's own, and the one in here.
        let held = loaded.get(id).is_some_and(|channel| Arc::strong_count(&channel.published) > 2);
        let free = asks.is_empty() && !held;
        if free {
            loaded.remove(id);
        }
        free
    }
}
