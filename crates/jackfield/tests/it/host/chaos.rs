//! The server is killed at random moments under load, again and again: what a client was told is there afterwards,
//! in its place and as it was; every question had one end; nothing of the old server lives on; the sessions go on.

// Seeds are printed.
#![allow(clippy::print_stdout)]

use std::collections::BTreeSet;
use std::time::Duration;

use jackfield_api::command::{Allow, Answer, Command, Deny, RejectionCode, Verdict};
use jackfield_api::permission::PermissionOutcome;
use jackfield_api::snapshot::SessionState;
use jackfield_api::socket::{ClientFrame, GivenCommand, ServerFrame};
use jackfield_api::{Body, Event, PendingId, Seq, SessionId, Uuid};
use jackfield_core::Output;
use tokio::sync::watch;
use tokio::time::timeout;

use super::client::{Log, Socket, given, prompt, stored};
use super::dice::{Dice, seeds};
use super::server::{Place, eventually};
use crate::demo::ledger::Ledger;

/// How often the server is killed on one data folder.
const KILLS: u64 = 5;
const SESSIONS: usize = 4;
/// About how many events there are until all is said.
const EVENTS: u64 = 6_000;
/// What a session may be told to do.
const SCENES: &[&str] =
    &["many 3000", "many 3000", "edit", "tour", "flood 3", "bash", "question", "subagent"];

#[tokio::test(flavor = "multi_thread")]
async fn f3_a_server_killed_at_any_moment_loses_and_doubles_nothing_and_its_sessions_go_on() {
    let mut seed = 0;
    while seed < seeds() {
        let kills = KILLS.min(seeds() - seed);
        one_folder(seed..seed + kills).await;
        seed += kills;
    }
}

async fn one_folder(seeds: std::ops::Range<u64>) {
    let place = Place::demo();
    let mut server = place.serve().await;
    let mut sessions = Vec::new();
    {
        let mut socket = place.client("first").await;
        for _ in 0..SESSIONS {
            sessions.push(socket.create(place.create()).await);
        }
    }
    let mut watchers = [Watcher::new("one"), Watcher::new("two")];
    for seed in seeds {
        let mut dice = Dice(seed);
        let moment = Moment::of(seed, &mut dice);
        println!("seed {seed}: {moment:?}");
        let (seen, mut so_far) = watch::channel(Seen::default());
        let mut watching = Vec::new();
        for mut watcher in watchers {
            watcher.dice = Dice(dice.below(u64::MAX));
            let mut socket = watcher.connect(&place, &sessions).await;
            if watcher.name == "one" {
                watcher.load(&mut socket, &sessions).await;
            }
            watching.push(tokio::spawn(watcher.watch(socket, seen.clone())));
        }
        // If there are fewer events than that, it is killed when all is said.
        let reached = so_far.wait_for(|seen| seen.events >= moment.events && seen.answers >= moment.answers);
        let _ = timeout(Duration::from_secs(1), reached).await;
        tokio::time::sleep(moment.behind).await;
        server.kill().await;
        let [one, two] = <[_; 2]>::try_from(watching).unwrap();
        watchers = [one.await.unwrap(), two.await.unwrap()];
        eventually(&format!("seed {seed}: nothing of the old server lives"), || place.alive().is_empty())
            .await;

        server = place.serve().await;
        audit(&place, &sessions, &watchers, seed).await;
        go_on(&place, &sessions, &mut watchers, seed).await;
    }
    assert!(server.stop().await.success());
}

/// When the server is killed: so long behind as many events and answers.
#[derive(Debug)]
struct Moment {
    events: u64,
    answers: u64,
    behind: Duration,
}

impl Moment {
    fn of(seed: u64, dice: &mut Dice) -> Self {
        if seed % 4 == 3 {
            // At once: what was acknowledged counts from then on.
            return Self {
                events: 0,
                answers: 1 + dice.below(6),
                behind: Duration::from_micros(dice.below(300)),
            };
        }
        // Any twenty seeds in a row lie across all of the events.
        let events = (seed % 20 * EVENTS + dice.below(EVENTS)) / 20;
        Self { events, answers: 0, behind: Duration::from_micros(dice.below(20_000)) }
    }
}

/// What all watchers were sent.
#[derive(Debug, Default)]
struct Seen {
    events: u64,
    answers: u64,
}

/// A client that follows every session, answers some questions, and keeps what it was told and what it said.
#[derive(Debug)]
struct Watcher {
    name: &'static str,
    dice: Dice,
    log: Log,
    given: Vec<(GivenCommand, Option<Result<(), RejectionCode>>)>,
}

impl Watcher {
    fn new(name: &'static str) -> Self {
        Self { name, dice: Dice(0), log: Log::new(), given: Vec::new() }
    }

    async fn connect(&mut self, place: &Place, sessions: &[SessionId]) -> Socket {
        let mut socket = place.client(self.name).await;
        socket.log = std::mem::take(&mut self.log);
        socket.watch().await;
        for session in sessions {
            socket.follow(session).await;
        }
        socket
    }

    async fn load(&mut self, socket: &mut Socket, sessions: &[SessionId]) {
        for session in sessions {
            let scene = self.dice.of(SCENES);
            self.give(socket, given(Some(session), prompt(scene))).await;
        }
    }

    async fn give(&mut self, socket: &mut Socket, command: GivenCommand) {
        socket.send(&ClientFrame::Command(Box::new(command.clone()))).await;
        self.given.push((command, None));
    }

    /// Watches until the connection ends.
    async fn watch(mut self, mut socket: Socket, seen: watch::Sender<Seen>) -> Self {
        while let Some(frame) = socket.step().await {
            if matches!(frame, ServerFrame::Accepted(_) | ServerFrame::Rejected(_)) {
                seen.send_modify(|seen| seen.answers += 1);
            }
            let ServerFrame::Events(sent) = frame else { continue };
            for event in &sent.events {
                if let Body::PermissionRequest(request) = &event.body {
                    let verdict = match self.dice.below(3) {
                        0 => Verdict::Allow(Allow::default()),
                        1 => no(),
                        _ => continue,
                    };
                    let answer = Answer { pending_id: request.pending_id, verdict };
                    self.give(&mut socket, given(Some(&sent.session_id), answer)).await;
                }
            }
            seen.send_modify(|seen| seen.events += sent.events.len() as u64);
        }
        self.keep(socket);
        self
    }

    fn keep(&mut self, socket: Socket) {
        for (command, answer) in &mut self.given {
            if let Some(told) = socket.answers.get(&command.id) {
                *answer = Some(told.as_ref().map(drop).map_err(|rejection| rejection.code));
            }
        }
        self.log = socket.log;
    }

    /// Questions of a session to which it said yes.
    fn allowed(&self, session: &SessionId) -> BTreeSet<PendingId> {
        let yes = |(given, _): &(GivenCommand, _)| match &given.command {
            Command::Answer(answer) if given.session_id.as_ref() == Some(session) => {
                matches!(answer.verdict, Verdict::Allow(_)).then_some(answer.pending_id)
            }
            _ => None,
        };
        self.given.iter().filter_map(yes).collect()
    }
}

fn no() -> Verdict {
    Verdict::Deny(Deny { message: "no".to_owned(), interrupt: false })
}

/// What there is after the restart is what was told before, and all of it is closed.
async fn audit(place: &Place, sessions: &[SessionId], watchers: &[Watcher; 2], seed: u64) {
    let host = jackfield_client::Client::running(&place.data, "auditor").await.unwrap().unwrap();
    assert!(host.desk().await.unwrap().is_empty(), "seed {seed}: nothing is open");
    for session in sessions {
        // It comes when the end of the dead host's runs is on disk.
        let snapshot = host.snapshot(session).await.unwrap().snapshot;
        assert_eq!((snapshot.state, snapshot.pending.len()), (SessionState::Ended, 0), "seed {seed}");
        let events = stored(&place.data, session).await;
        let summary = host.session(session).await.unwrap().unwrap();
        // None if it had only just been made.
        let last = events.last().map_or(Seq(0), |event| event.seq);
        assert_eq!((summary.state, summary.seq), (SessionState::Ended, last), "seed {seed}");
        let mut ledger = Ledger::default();
        for (event, number) in events.iter().zip(1..) {
            assert_eq!((event.seq.0, &event.session_id), (number, session), "seed {seed}");
            ledger.enter(&Output::Event(event.clone()));
        }
        ledger.close();
        for watcher in watchers {
            let told = watcher.log.get(session).map_or(&[][..], Vec::as_slice);
            assert!(told.len() <= events.len(), "seed {seed}: {} was told more than there is", watcher.name);
            for (told, stored) in told.iter().zip(&events) {
                assert_eq!(told, stored, "seed {seed}: it changed");
            }
        }
        decisions(&events, session, watchers, seed);
        prompts(&events, session, watchers, seed);
    }
}

/// Nothing was allowed that nobody allowed, and an answer that was acknowledged is the answer.
fn decisions(events: &[Event], session: &SessionId, watchers: &[Watcher; 2], seed: u64) {
    for event in events {
        let Body::PermissionResolved(end) = &event.body else { continue };
        if end.outcome == PermissionOutcome::Allowed {
            let by = watchers.iter().find(|watcher| end.by.as_deref() == Some(watcher.name)).unwrap();
            assert!(by.allowed(session).contains(&end.pending_id), "seed {seed}: nobody said yes to {end:?}");
        }
    }
    for watcher in watchers {
        for (command, answer) in &watcher.given {
            let Command::Answer(said) = &command.command else { continue };
            if command.session_id.as_ref() != Some(session) || *answer != Some(Ok(())) {
                continue;
            }
            let ends = |event: &&Event| matches!(&event.body, Body::PermissionResolved(end) if end.pending_id == said.pending_id);
            let Some(Body::PermissionResolved(end)) = events.iter().find(ends).map(|event| &event.body)
            else {
                panic!("seed {seed}: {said:?} was acknowledged and is nowhere");
            };
            let wanted = match said.verdict {
                Verdict::Allow(_) => PermissionOutcome::Allowed,
                _ => PermissionOutcome::Denied,
            };
            assert_eq!((end.outcome, end.by.as_deref()), (wanted, Some(watcher.name)), "seed {seed}");
        }
    }
}

/// A prompt that was acknowledged left a trace, and none was said twice.
fn prompts(events: &[Event], session: &SessionId, watchers: &[Watcher; 2], seed: u64) {
    let mut said: BTreeSet<&Uuid> = BTreeSet::new();
    let mut known: BTreeSet<&Uuid> = BTreeSet::new();
    for event in events {
        match &event.body {
            Body::UserMessage(message) => {
                if let Some(uuid) = &message.uuid {
                    assert!(said.insert(uuid), "seed {seed}: it was said twice: {message:?}");
                    known.insert(uuid);
                }
            }
            Body::Queue(queue) => {
                known.extend(queue.prompts.iter().filter_map(|prompt| prompt.uuid.as_ref()));
                known.extend(queue.dropped.iter().filter_map(|prompt| prompt.uuid.as_ref()));
            }
            _ => {}
        }
    }
    for (command, answer) in watchers.iter().flat_map(|watcher| &watcher.given) {
        let Command::Prompt(prompt) = &command.command else { continue };
        if command.session_id.as_ref() == Some(session) && *answer == Some(Ok(())) {
            assert!(known.contains(&prompt.uuid), "seed {seed}: {prompt:?} was acknowledged and is nowhere");
        }
    }
}

/// Commands without an answer are repeated under their names; then every session does something new.
async fn go_on(place: &Place, sessions: &[SessionId], watchers: &mut [Watcher; 2], seed: u64) {
    let before = watchers[0].log.clone();
    for watcher in watchers.iter_mut() {
        let mut socket = watcher.connect(place, sessions).await;
        for index in 0..watcher.given.len() {
            if watcher.given[index].1.is_some() {
                continue;
            }
            let command = watcher.given[index].0.clone();
            let is_prompt = matches!(command.command, Command::Prompt(_));
            socket.send(&ClientFrame::Command(Box::new(command.clone()))).await;
            match socket.answer(&command.id).await {
                Ok(_) => {}
                Err(rejection) if rejection.code == RejectionCode::RunEnded => {}
                Err(rejection) if rejection.code == RejectionCode::TooLate && !is_prompt => {}
                Err(rejection) => panic!("seed {seed}: {command:?}: {rejection:?}"),
            }
        }
        watcher.keep(socket);
    }
    let [first, _] = watchers;
    let mut socket = first.connect(place, sessions).await;
    for session in sessions {
        let known = before.get(session).and_then(|events| events.last()).map_or(Seq(0), |event| event.seq);
        socket.skip(session, known);
        let last = prompt("help");
        let uuid = Some(last.uuid.clone());
        first.give(&mut socket, given(Some(session), last)).await;
        loop {
            let event = socket
                .until(session, |body| {
                    matches!(body, Body::UserMessage(said) if said.uuid == uuid)
                        || matches!(body, Body::PermissionRequest(_))
                })
                .await;
            match event.body {
                // Of a prompt that was repeated.
                Body::PermissionRequest(request) => {
                    let answer = Answer { pending_id: request.pending_id, verdict: no() };
                    first.give(&mut socket, given(Some(session), answer)).await;
                }
                _ => break,
            }
        }
        socket.completed(session).await;
    }
    first.keep(socket);
}
