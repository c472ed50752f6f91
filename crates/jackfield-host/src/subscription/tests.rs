//! Joining at any moment, whatever is stored, published and no longer kept by then, has neither a hole nor a double.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use jackfield_api::command::CreateSession;
use jackfield_api::host::SessionSummary;
use jackfield_api::trouble::Gap;
use jackfield_api::{Event, SharedEvent, Timestamp};
use proptest::prelude::*;
use serde_json::Value;
use tempfile::TempDir;

use super::*;
use crate::store::{Batch, SessionRecord};

/// Something that happens.
#[derive(Debug, Clone)]
enum Step {
    /// So many events of this size are stored; whether they are published is seen later.
    Store { events: u64, bytes: usize },
    /// The oldest of them is published.
    Publish,
    /// Somebody joins, behind this part of what is published.
    Join(u8),
    /// One of those who follow looks once, and loses patience if there is nothing.
    Look(u8),
    /// One of them takes all there is.
    Catch(u8),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (1_u64..5, 1_usize..60_000).prop_map(|(events, bytes)| Step::Store { events, bytes }),
        4 => Just(Step::Publish),
        2 => any::<u8>().prop_map(Step::Join),
        5 => any::<u8>().prop_map(Step::Look),
        1 => any::<u8>().prop_map(Step::Catch),
    ];
    prop::collection::vec(step, 1..80)
}

/// A session in a store of its own.
struct Scene {
    _folder: TempDir,
    store: Store,
    id: SessionId,
    published: Arc<Published>,
    stored: Seq,
    /// Stored and not yet published.
    waiting: VecDeque<Page>,
}

impl Scene {
    async fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let store = Store::open(folder.path()).unwrap();
        let id: SessionId = "s".into();
        store.create(&record(&id)).await.unwrap();
        let published = Arc::new(Published::new(&id, Seq(0)));
        Self { _folder: folder, store, id, published, stored: Seq(0), waiting: VecDeque::new() }
    }

    async fn store(&mut self, events: u64, bytes: usize) {
        let (first, last) = (Seq(self.stored.0 + 1), Seq(self.stored.0 + events));
        let line = |seq| format!("{{\"seq\":{seq},\"text\":\"{}\"}}\n", "x".repeat(bytes));
        let lines: Bytes = (first.0..=last.0).map(line).collect::<String>().into();
        let batch = Batch::new(self.id.clone(), first, last, lines.clone());
        self.store.append(&batch).await.unwrap().unwrap();
        let event = |seq| {
            let body = Gap { from: Seq(0), to: Seq(0) }.into();
            let (at, session_id, parent_tool_call_id) = (Timestamp(0), self.id.clone(), None);
            SharedEvent::from(Event { body, seq: Seq(seq), at, session_id, turn: None, parent_tool_call_id })
        };
        // Where somebody reads them, but not always: a reader may have come in the middle of a batch.
        let kept = self.published.has_readers() && first.0 % 4 != 0;
        let events = if kept { (first.0..=last.0).map(event).collect() } else { Vec::new() };
        self.waiting.push_back(Page { first, last, lines, events });
        self.stored = last;
    }

    fn publish(&mut self) {
        if let Some(page) = self.waiting.pop_front() {
            self.published.publish(page);
        }
    }

    fn join(&self, part: u8) -> Reader {
        let after = Seq(self.published.last().0 * u64::from(part) / 255);
        let published = Arc::clone(&self.published);
        let beginning = Beginning::After(after);
        let subscription = Subscription::new(self.id.clone(), published, self.store.clone(), beginning);
        let kind = if part.is_multiple_of(2) { Kind::Frames } else { Kind::Events };
        let subscription = if kind == Kind::Events { subscription.with_events() } else { subscription };
        Reader { subscription, kind, seen: after, current: None }
    }
}

pub(crate) fn record(id: &SessionId) -> SessionRecord {
    let summary = SessionSummary::new(id.clone(), "/", Timestamp(0));
    SessionRecord { summary, create: CreateSession::new("/") }
}

/// How somebody reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// As over the socket.
    Frames,
    /// In this process.
    Events,
}

/// Somebody who follows, and counts.
struct Reader {
    subscription: Subscription,
    kind: Kind,
    seen: Seq,
    current: Option<Seq>,
}

impl Reader {
    /// Looks once; a frame that would need waiting for is given up.
    fn look(&mut self) -> bool {
        let told = {
            let mut next = pin!(self.next());
            match next.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(told) => told,
                Poll::Pending => return false,
            }
        };
        self.take(told);
        true
    }

    async fn next(&mut self) -> Told {
        let told = match self.kind {
            Kind::Frames => self.subscription.next().await.map(Told::Frame),
            Kind::Events => self.subscription.next_told().await,
        };
        told.expect("it goes on")
    }

    /// Reads until it has everything up to an event.
    async fn reach(&mut self, seq: Seq) {
        while self.seen < seq {
            let told = self.next().await;
            self.take(told);
        }
    }

    fn take(&mut self, told: Told) {
        let frame = match told {
            Told::Frame(frame) => frame,
            Told::Events(events) => {
                assert!(self.kind == Kind::Events && !events.is_empty());
                for event in events {
                    assert_eq!(event.seq.0, self.seen.0 + 1, "a hole or a double");
                    self.seen = event.seq;
                }
                return;
            }
        };
        let frame: Value = serde_json::from_slice(&frame).unwrap();
        match frame["type"].as_str().unwrap() {
            "events" => {
                for event in frame["events"].as_array().unwrap() {
                    assert_eq!(event["seq"].as_u64().unwrap(), self.seen.0 + 1, "a hole or a double");
                    self.seen = Seq(self.seen.0 + 1);
                }
            }
            "current" => {
                assert_eq!(self.current, None, "it is told once");
                assert_eq!(frame["seq"].as_u64().unwrap(), self.seen.0);
                self.current = Some(self.seen);
            }
            other => panic!("{other}"),
        }
    }
}

async fn play(steps: Vec<Step>) {
    let mut scene = Scene::new().await;
    let mut readers: Vec<Reader> = Vec::new();
    for step in steps {
        let chosen = |readers: &[Reader], number: u8| {
            readers.len().checked_sub(1).map(|last| usize::from(number) % (last + 1))
        };
        match step {
            Step::Store { events, bytes } => scene.store(events, bytes).await,
            Step::Publish => scene.publish(),
            Step::Join(part) => readers.push(scene.join(part)),
            Step::Look(number) => {
                if let Some(chosen) = chosen(&readers, number) {
                    readers[chosen].look();
                }
            }
            Step::Catch(number) => {
                if let Some(chosen) = chosen(&readers, number) {
                    readers[chosen].reach(scene.published.last()).await;
                }
            }
        }
    }
    while !scene.waiting.is_empty() {
        scene.publish();
    }
    for mut reader in readers {
        reader.reach(scene.stored).await;
        while reader.look() {}
        assert!(reader.current.is_some(), "it is told that it has everything");
    }
    scene.store.close().await;
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn f10_who_joins_between_any_two_steps_gets_every_event_once(steps in steps()) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
        runtime.block_on(play(steps));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn f10_who_joins_while_everything_happens_at_once_gets_every_event_once() {
    const BATCHES: u64 = 400;
    let mut scene = Scene::new().await;
    let mut reading = Vec::new();
    for number in 0..BATCHES {
        scene.store(1 + number % 3, 4_000).await;
        scene.publish();
        if number % 20 == 0 {
            let mut reader = scene.join(u8::try_from(number % 256).unwrap());
            let last = Seq((0..BATCHES).map(|number| 1 + number % 3).sum());
            reading.push(tokio::spawn(async move { reader.reach(last).await }));
        }
    }
    for reading in reading {
        reading.await.unwrap();
    }
    scene.store.close().await;
}
