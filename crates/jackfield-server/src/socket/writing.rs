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
use jackfield_host::{Host, Subscription, Watching};
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};

use super::ending::Ending;
use super::{Order, Pulse, Sink, encode, message};

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
    host: &Host,
    sink: &mut Sink,
    mut orders: mpsc::Receiver<Order>,
    pulse: &Pulse,
) -> Ending {
    let mut sources =
        Sources { host: host.clone(), at_work: FuturesUnordered::new(), handles: BTreeMap::new() };
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
    /// It was told to stop.
    Stopped,
}

struct Sources {
    host: Host,
    at_work: FuturesUnordered<BoxFuture<'static, Source>>,
    /// What stops each; the list of sessions is under `None`.
    handles: BTreeMap<Option<SessionId>, AbortHandle>,
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
                self.stop(Some(&session_id));
                vec![unsubscribed(session_id, None)]
            }
            Order::Watch => {
                self.stop(None);
                let host = self.host.clone();
                self.begin(None, async move {
                    let mut watching = Box::new(host.watch().await);
                    let frame = watching.next().await;
                    Source::Watched(watching, frame)
                });
                Vec::new()
            }
        }
    }

    fn subscribe(&mut self, wanted: Subscribe) -> Option<Bytes> {
        let Subscribe { session_id, after } = wanted;
        self.stop(Some(&session_id));
        if self.handles.keys().flatten().count() >= SUBSCRIPTIONS {
            let reason = format!("a connection follows {SUBSCRIPTIONS} sessions at most");
            return Some(unsubscribed(session_id, Some(reason)));
        }
        let host = self.host.clone();
        self.begin(Some(session_id.clone()), async move {
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
                self.stop(Some(&session_id));
                vec![unsubscribed(session_id, Some(rejection.reason))]
            }
            Source::Followed(subscription, None) => {
                self.stop(Some(subscription.session_id()));
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
                self.begin(None, async move {
                    let frame = watching.next().await;
                    Source::Watched(watching, frame)
                });
                vec![frame]
            }
            Source::Stopped => Vec::new(),
        }
    }

    fn follow(&mut self, mut subscription: Box<Subscription>) {
        self.begin(Some(subscription.session_id().clone()), async move {
            let frame = subscription.next().await;
            Source::Followed(subscription, frame)
        });
    }

    fn begin(&mut self, name: Option<SessionId>, source: impl Future<Output = Source> + Send + 'static) {
        let (handle, registration) = AbortHandle::new_pair();
        self.handles.insert(name, handle);
        let source = Abortable::new(source, registration);
        self.at_work.push(source.map(|source| source.unwrap_or(Source::Stopped)).boxed());
    }

    fn stop(&mut self, name: Option<&SessionId>) {
        if let Some(handle) = self.handles.remove(&name.cloned()) {
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
