//! The host: many sessions for many clients, kept for ever.
//!
//! A cheap handle. Every session is owned by a task of its own; here is only who finds whom, and what concerns
//! several sessions. The one rule it keeps: what a client was told is on disk.

mod commands;
mod copies;
mod figures;
mod queries;
mod trust;

use std::sync::Arc;
use std::time::Duration;

use jackfield_api::command::{Rejection, RejectionCode};
use jackfield_api::host::HostRules;
use jackfield_api::socket::SentSnapshot;
use jackfield_api::{Seq, SessionId};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::channel::switches::Switches;
use crate::channel::{Channel, Ending, reject};
use crate::feed::{Feed, Watching};
use crate::observe::{Counting, Figures};
use crate::registry::Registry;
use crate::settings::Settings;
use crate::store::{SessionQuery, Store, StoreError};
use crate::subscription::{Beginning, REPLAYED, Subscription};
use commands::{Answers, Order};
pub use queries::Against;

/// How many items a snapshot has at most; earlier ones are asked for.
const SCREEN: u32 = 120;
/// How many sessions a watcher begins with.
const RECENT: u32 = 100;
/// How long a snapshot waits for the disk.
const PATIENCE: Duration = Duration::from_secs(10);

/// A host.
#[derive(Debug, Clone)]
pub struct Host {
    shared: Arc<Shared>,
}

/// What all sessions of a host share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) store: Store,
    pub(crate) settings: Settings,
    pub(crate) feed: Arc<Feed>,
    pub(crate) rules: watch::Sender<Arc<HostRules>>,
    pub(crate) registry: Registry,
    /// What is counted, where that is switched on.
    pub(crate) figures: Option<Arc<Figures>>,
    pub(crate) switches: Switches,
    answers: Answers,
    order: Order,
}

impl Host {
    /// Opens the data folder, and closes what a host that died left open.
    pub async fn open(settings: Settings) -> Result<Self, StoreError> {
        let store = Store::open_syncing(&settings.data, settings.syncing)?;
        let rules = watch::Sender::new(Arc::new(store.rules().await?));
        let figures = (settings.observe.figures == Counting::On).then(Arc::default);
        let shared = Arc::new(Shared {
            store,
            settings,
            feed: Arc::default(),
            rules,
            registry: Registry::default(),
            figures,
            switches: Switches::default(),
            answers: Answers::default(),
            order: Order::default(),
        });
        for id in shared.store.unfinished().await? {
            shared.registry.channel(&shared, &id).await?;
        }
        Ok(Self { shared })
    }

    /// The host's name; the same over restarts.
    pub fn id(&self) -> &str {
        self.shared.store.host_id()
    }

    /// How it is set up.
    pub fn setup(&self) -> &Settings {
        &self.shared.settings
    }

    /// Follows a session: behind the last event that the client has, or from a snapshot on.
    pub async fn subscribe(&self, id: &SessionId, after: Option<Seq>) -> Result<Subscription, Rejection> {
        let channel = self.channel(id).await?;
        let published = Arc::clone(&channel.published);
        let last = published.last();
        let beginning = match after {
            Some(seq) if seq <= last && last.0 - seq.0 <= REPLAYED => Beginning::After(seq),
            _ => {
                let sent = self.snapshot(id).await?;
                // A cursor from the future is of another host, or of a disk that was taken back.
                let gap = after.filter(|seq| *seq < sent.snapshot.seq);
                let gap = gap.map(|seq| (Seq(seq.0 + 1), sent.snapshot.seq));
                Beginning::Snapshot(Box::new(sent), gap)
            }
        };
        Ok(Subscription::new(id.clone(), published, self.shared.store.clone(), beginning))
    }

    /// A session as it stands, with its last items.
    pub async fn snapshot(&self, id: &SessionId) -> Result<SentSnapshot, Rejection> {
        let channel = self.channel(id).await?;
        let Some(mut snapshot) = channel.snapshot().await else {
            return Err(reject(RejectionCode::NotNow, "the session was just put away; try again"));
        };
        let mut state = channel.published.follow();
        // The guard that the waiting gives must not live over the next wait.
        let too_late = timeout(PATIENCE, state.wait_for(|state| state.last >= snapshot.seq)).await.is_err();
        if too_late {
            return Err(reject(RejectionCode::NotNow, "the host cannot store anything at the moment"));
        }
        let page =
            self.shared.store.items(id, Some(Seq(snapshot.seq.0 + 1)), SCREEN).await.map_err(unreadable)?;
        // What was still open when the picture was taken is in it as it was then; events behind it tell the rest.
        let mut items = page.items;
        items.retain(|item| snapshot.items.binary_search_by_key(&item.seq, |open| open.seq).is_err());
        items.append(&mut snapshot.items);
        items.sort_by_key(|item| item.seq);
        snapshot.items = items;
        Ok(SentSnapshot { session_id: id.clone(), snapshot, earlier: page.earlier })
    }

    /// The list of sessions, now and as it changes.
    pub async fn watch(&self) -> Watching {
        let query = SessionQuery { limit: RECENT, ..SessionQuery::default() };
        // A list that cannot be read is empty; who asks for it by itself is told why.
        let recent = self.shared.store.sessions(query).await.map(|page| page.sessions).unwrap_or_default();
        Watching::new(&self.shared.feed, &recent)
    }

    /// Ends every run in order and closes the store.
    pub async fn close(&self) {
        let mut ends = JoinSet::new();
        for channel in self.shared.registry.close().await {
            ends.spawn(async move { channel.end(Ending::Kept).await });
        }
        ends.join_all().await;
        self.shared.store.clone().close().await;
    }

    async fn channel(&self, id: &SessionId) -> Result<Channel, Rejection> {
        match self.shared.registry.channel(&self.shared, id).await {
            Ok(Some(channel)) => Ok(channel),
            Ok(None) => Err(reject(RejectionCode::NotFound, format!("there is no session {id}"))),
            Err(error) => Err(unreadable(error)),
        }
    }
}

// By value, as `map_err` hands it over.
#[allow(clippy::needless_pass_by_value)]
pub(crate) fn unreadable(error: StoreError) -> Rejection {
    reject(RejectionCode::NotNow, error.to_string())
}
