//! The writing side of a connection: frames of all subscriptions out, as many as there are with one write.
//!
//! It reads nothing but pings its own clock. The one rule it keeps: a reader that takes nothing is closed, and
//! costs nothing but the frame it did not take.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::extract::ws::Message;
use bytes::Bytes;
use futures_util::future::{AbortHandle, Abortable, BoxFuture, FutureExt as _};
use futures_util::stream::FuturesUnordered;
use futures_util::{SinkExt as _, StreamExt as _};
use jackfield_api::SessionId;
use jackfield_api::command::Rejection;
use jackfield_api::socket::{ServerFrame, Subscribe, Unsubscribed};
use jackfield_host::{Subscription, Watching};
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};

use super::ending::Ending;
use super::{Order, Pulse, Sink, encode, message};
use crate::editor::{Board, BoardWatching};
use crate::router::Server;

/// How many sessions one connection may follow.
const SUBSCRIPTIONS: usize = 64;
/// How long the other side may take nothing.
const PATIENCE: Duration = Duration::from_secs(15);
/// How often it is asked whether it is still there.
const PING: Duration = Duration::from_secs(15);
/// After how many questions in vain it is gone.
const PINGS: u8 = 2;
/// How many frames of one session go out before the others have their turn.
const TURN: usize = 32;

/// Writes until the connection ends.
pub(super) async fn write(
    server: &Server,
    sink: &mut Sink,
    mut orders: mpsc::Receiver<Order>,
    pulse: &Pulse,
) -> Ending {
    let mut sources =
        Sources { server: server.clone(), at_work: FuturesUnordered::new(), handles: BTreeMap::new() };
    let mut ping = interval_at(Instant::now() + PING, PING);
    ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let now = orders.try_recv().ok().map(Input::Order).or_else(|| sources.ready().map(Input::Source));
        let input = if let Some(input) = now {
            input
        } else {
            // Nothing more is ready: what was gathered goes out.
            if let Err(ending) = in_time(sink.flush()).await {
                return ending;
            }
            tokio::select! {
                order = orders.recv() => match order {
                    Some(order) => Input::Order(order),
                    None => return Ending::Gone,
                },
                source = sources.next() => Input::Source(source),
                _ = ping.tick() => Input::Ping,
            }
        };
        let frames = match input {
            Input::Order(order) => sources.obey(order),
            Input::Source(source) => sources.take(source),
            Input::Ping if pulse.ask() >= PINGS => return Ending::Gone,
            Input::Ping => {
                if let Err(ending) = in_time(sink.feed(Message::Ping(Bytes::new()))).await {
                    return ending;
                }
                continue;
            }
        };
        for frame in frames {
            if let Err(ending) = in_time(sink.feed(message(frame))).await {
                return ending;
            }
        }
    }
}

enum Input {
    Order(Order),
    Source(Source),
    Ping,
}

/// Something that has frames, and what it has now.
enum Source {
    Began(SessionId, Result<Box<Subscription>, Rejection>),
    Followed(Box<Subscription>, Option<Bytes>),
    Watched(Box<Watching>, Bytes),
    Shown(BoardWatching, Bytes),
    /// It was told to stop.
    Stopped,
}

struct Sources {
    server: Server,
    at_work: FuturesUnordered<BoxFuture<'static, Source>>,
    handles: BTreeMap<Name, AbortHandle>,
}

/// What stops a source is found by its name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Name {
    Sessions,
    Editor,
    Session(SessionId),
}

impl Sources {
    /// One that has something now.
    fn ready(&mut self) -> Option<Source> {
        self.at_work.next().now_or_never().flatten()
    }

    /// The next that has something.
    async fn next(&mut self) -> Source {
        match self.at_work.next().await {
            Some(source) => source,
            None => std::future::pending().await,
        }
    }

    fn obey(&mut self, order: Order) -> Vec<Bytes> {
        match order {
            Order::Send(frame) => vec![frame],
            Order::Subscribe(wanted) => self.subscribe(wanted).into_iter().collect(),
            Order::Unsubscribe(session_id) => {
                self.stop(&Name::Session(session_id.clone()));
                vec![unsubscribed(session_id, None)]
            }
            Order::Watch => {
                self.stop(&Name::Sessions);
                let host = self.server.host.clone();
                self.begin(Name::Sessions, async move {
                    let mut watching = Box::new(host.watch().await);
                    let frame = watching.next().await;
                    Source::Watched(watching, frame)
                });
                self.stop(&Name::Editor);
                let shown = self.server.editor.as_ref().map(Board::watch);
                if let Some(watching) = shown {
                    self.show(watching);
                }
                Vec::new()
            }
        }
    }

    fn subscribe(&mut self, wanted: Subscribe) -> Option<Bytes> {
        let Subscribe { session_id, after } = wanted;
        let name = Name::Session(session_id.clone());
        self.stop(&name);
        if self.handles.keys().filter(|name| matches!(name, Name::Session(_))).count() >= SUBSCRIPTIONS {
            let reason = format!("a connection follows {SUBSCRIPTIONS} sessions at most");
            return Some(unsubscribed(session_id, Some(reason)));
        }
        let host = self.server.host.clone();
        self.begin(name, async move {
            let began = host.subscribe(&session_id, after).await;
            Source::Began(session_id, began.map(Box::new))
        });
        None
    }

    /// Takes what a source has, and lets it go on.
    fn take(&mut self, source: Source) -> Vec<Bytes> {
        match source {
            Source::Began(_, Ok(subscription)) => {
                self.follow(subscription);
                Vec::new()
            }
            Source::Began(session_id, Err(rejection)) => {
                self.stop(&Name::Session(session_id.clone()));
                vec![unsubscribed(session_id, Some(rejection.reason))]
            }
            Source::Followed(subscription, None) => {
                self.stop(&Name::Session(subscription.session_id().clone()));
                Vec::new()
            }
            Source::Followed(mut subscription, Some(frame)) => {
                let mut frames = vec![frame];
                while frames.len() < TURN
                    && let Some(frame) = subscription.try_next()
                {
                    frames.push(frame);
                }
                self.follow(subscription);
                frames
            }
            Source::Watched(mut watching, frame) => {
                self.begin(Name::Sessions, async move {
                    let frame = watching.next().await;
                    Source::Watched(watching, frame)
                });
                vec![frame]
            }
            Source::Shown(watching, frame) => {
                self.show(watching);
                vec![frame]
            }
            Source::Stopped => Vec::new(),
        }
    }

    fn follow(&mut self, mut subscription: Box<Subscription>) {
        self.begin(Name::Session(subscription.session_id().clone()), async move {
            let frame = subscription.next().await;
            Source::Followed(subscription, frame)
        });
    }

    fn show(&mut self, mut watching: BoardWatching) {
        self.begin(Name::Editor, async move {
            let frame = watching.next().await;
            Source::Shown(watching, frame)
        });
    }

    fn begin(&mut self, name: Name, source: impl Future<Output = Source> + Send + 'static) {
        let (handle, registration) = AbortHandle::new_pair();
        self.handles.insert(name, handle);
        let source = Abortable::new(source, registration);
        self.at_work.push(source.map(|source| source.unwrap_or(Source::Stopped)).boxed());
    }

    fn stop(&mut self, name: &Name) {
        if let Some(handle) = self.handles.remove(name) {
            handle.abort();
        }
    }
}

async fn in_time<T>(writing: impl Future<Output = Result<T, axum::Error>>) -> Result<(), Ending> {
    match timeout(PATIENCE, writing).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(_)) => Err(Ending::Gone),
        Err(_) => Err(Ending::TooSlow),
    }
}

fn unsubscribed(session_id: SessionId, reason: Option<String>) -> Bytes {
    encode(&ServerFrame::Unsubscribed(Unsubscribed { session_id, reason }))
}
