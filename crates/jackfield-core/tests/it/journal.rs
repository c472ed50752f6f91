//! A journal over more than one run: what a machine tells that begins there, and one that goes on.
//!
//! The one rule: a journal that says where a machine begins gives the events that were told live, and one that does not is
//! played as one machine.

use jackfield_api as api;
use jackfield_core::journal::{Entry, Player, Reader};
use jackfield_core::{Exit, Input, Launch, Options, Output, Place, Session, Transcript};
use jackfield_wire as wire;
use serde_json::Value;

use api::trouble::{Notice, NoticeLevel};
use api::{Body, Event, Seq, SessionId, Timestamp, TurnNumber};

use crate::scene::{init, prompt, result, text};

/// A host: machines, the journal of them all, and every event that was told.
#[derive(Default)]
struct Host {
    machine: Option<Session>,
    told: Transcript,
    events: Vec<Event>,
    journal: String,
    at: u64,
}

impl Host {
    /// A new machine begins with a process.
    fn begins(&mut self) {
        let told = self.told.snapshot();
        let (next_seq, last_turn) = (Some(told.seq.0 + 1), told.turn);
        let machine = Session::new(Options {
            session_id: Some("ours".into()),
            next_seq,
            last_turn,
            ..Options::default()
        });
        let begins = Some(machine.place());
        self.machine = Some(machine);
        self.takes(Input::Started(Launch { begins, ..launch() }));
    }

    fn takes(&mut self, input: Input<'_>) {
        self.at += 1;
        let mut line = Vec::new();
        Entry::write(Timestamp(self.at), &input, &mut line);
        self.journal += std::str::from_utf8(&line).unwrap();
        let machine = self.machine.as_mut().unwrap();
        machine.handle(Timestamp(self.at), input);
        while let Some(output) = machine.poll() {
            if let Output::Event(event) = output {
                self.told.apply(&event);
                self.events.push(event);
            }
        }
    }

    /// The host itself tells something, without a machine.
    fn tells(&mut self, event: Event) {
        let mut line = Vec::new();
        Entry::write(Timestamp(self.at), &Input::Told(Box::new(event.clone())), &mut line);
        self.journal += std::str::from_utf8(&line).unwrap();
        self.told.apply(&event);
        self.events.push(event);
    }

    fn cli(&mut self, line: &Value) {
        self.takes(Input::Line(wire::decode(line.to_string().as_bytes())));
    }

    fn prompts(&mut self, uuid: &str) {
        let line = prompt(uuid, "hello").to_string();
        let message = wire::Outbound::decode(line.as_bytes()).message;
        self.takes(Input::Sent(message, jackfield_core::By::Host));
    }

    fn turn(&mut self, uuid: &str) {
        self.prompts(uuid);
        self.cli(&init("cli-1"));
        self.cli(&text(uuid, "yes"));
        self.cli(&result(0.5));
    }

    fn ends(&mut self) {
        self.takes(Input::StdinClosed);
        self.takes(Input::Exited(Exit::Code(0)));
    }

    fn notice(&self) -> Event {
        let told = self.told.snapshot();
        Event {
            body: Notice { level: NoticeLevel::Warning, text: "by the host".to_owned() }.into(),
            seq: Seq(told.seq.0.saturating_add(1)),
            at: Timestamp(7),
            session_id: "ours".into(),
            turn: told.turn,
            parent_tool_call_id: None,
        }
    }
}

fn launch() -> Launch {
    Launch::from_arguments::<&str>(&[])
}

/// What a player makes of a journal.
fn played<'a>(lines: impl IntoIterator<Item = &'a str>) -> Vec<Event> {
    let mut player = Player::new(Session::new(Options::default()), launch());
    let (mut reader, mut events) = (Reader::default(), Vec::new());
    for line in lines {
        for entry in reader.read(line).unwrap() {
            player.play(&entry);
        }
    }
    player.session().finish();
    while let Some(output) = player.session().poll() {
        events.extend(if let Output::Event(event) = output { Some(event) } else { None });
    }
    events
}

fn count(events: &[Event], tag: &str) -> usize {
    events.iter().filter(|event| event.body.tag() == tag).count()
}

/// The journal as it was before it said where machines begin.
fn of_old(journal: &str) -> String {
    let begins = journal.find(",\\\"begins\\\":").map(|from| {
        let to = from + journal[from..].find('}').unwrap() + 1;
        (from, to)
    });
    match begins {
        Some((from, to)) => journal[..from].to_owned() + &of_old(&journal[to..]),
        None => journal.to_owned(),
    }
}

#[test]
fn two_runs_with_a_machine_each_are_played_as_two() {
    let mut host = Host::default();
    for uuid in ["one", "two"] {
        host.begins();
        host.turn(uuid);
        host.ends();
    }
    assert_eq!(count(&host.events, "available_commands"), 2, "the second machine does not know the list");
    assert_eq!(host.told.snapshot().turn, Some(TurnNumber(2)));
    assert_eq!(played(host.journal.lines()), host.events);
}

#[test]
fn a_process_that_the_same_machine_starts_again_goes_on_in_it() {
    let mut host = Host::default();
    host.begins();
    host.turn("one");
    host.takes(Input::Exited(Exit::Signal(9)));
    host.takes(Input::Started(launch()));
    host.turn("two");
    host.ends();
    assert_eq!(count(&host.events, "available_commands"), 1);
    assert_eq!(host.journal.matches("begins").count(), 1);
    assert_eq!(played(host.journal.lines()), host.events);
}

#[test]
fn a_journal_that_does_not_say_where_machines_begin_is_played_as_one_machine() {
    let mut host = Host::default();
    for uuid in ["one", "two"] {
        host.begins();
        host.turn(uuid);
        host.ends();
    }
    let old = of_old(&host.journal);
    assert!(host.journal.contains("begins") && !old.contains("begins"));
    let events = played(old.lines());
    assert_eq!(count(&events, "available_commands"), 1);
    assert_eq!(count(&events, "run_started"), 2);
    let numbers: Vec<u64> = events.iter().map(|event| event.seq.0).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
    assert!(events.iter().all(|event| event.session_id == SessionId::from("cli-1")));
}

#[test]
fn a_journal_whose_beginning_is_gone_has_its_numbers_from_the_next_run_on() {
    let mut host = Host::default();
    host.begins();
    host.turn("one");
    host.ends();
    let first = (host.events.len(), host.journal.lines().count());
    host.begins();
    host.turn("two");
    host.ends();
    assert_eq!(played(host.journal.lines().skip(first.1)), host.events[first.0..], "it begins with a run");
    let torn = played(host.journal.lines().skip(first.1 - 3));
    let whole = torn.iter().position(|event| *event == host.events[first.0]).unwrap();
    assert_eq!(torn[whole..], host.events[first.0..], "it begins in the middle of one");
    assert!(torn[..whole].iter().all(|event| event.session_id == SessionId::from("cli-1")));
}

#[test]
fn what_the_host_itself_told_is_told_again_with_its_number() {
    let mut host = Host::default();
    host.tells(host.notice());
    host.begins();
    host.turn("one");
    host.ends();
    host.tells(host.notice());
    host.tells(host.notice());
    host.begins();
    host.turn("two");
    host.ends();
    host.tells(host.notice());
    assert_eq!(count(&host.events, "notice"), 4);
    assert_eq!(played(host.journal.lines()), host.events);
}

#[test]
fn a_run_whose_host_died_has_the_end_that_the_next_host_told() {
    let mut host = Host::default();
    host.begins();
    host.prompts("one");
    host.cli(&init("cli-1"));
    for event in host.told.host_ended(Timestamp(99)) {
        host.tells(event);
    }
    host.begins();
    host.turn("two");
    host.ends();
    assert_eq!((count(&host.events, "run_started"), count(&host.events, "run_ended")), (2, 2));
    assert_eq!(played(host.journal.lines()), host.events);
}

#[test]
fn a_run_whose_end_is_not_in_the_journal_leaves_a_hole() {
    let mut host = Host::default();
    host.begins();
    host.prompts("one");
    let before = host.journal.len();
    host.cli(&init("cli-1"));
    host.turn("two");
    host.ends();
    // The debug files were off in the meantime.
    host.journal.truncate(before);
    let seen = played(host.journal.lines()).len();
    let again = host.events.len();
    host.begins();
    host.turn("three");
    host.ends();
    let expected = [&host.events[..seen], &host.events[again..]].concat();
    assert!(seen < again);
    assert_eq!(played(host.journal.lines()), expected);
}

#[test]
fn a_machine_that_begins_where_numbers_end_goes_on_all_the_same() {
    let place = Place { session_id: None, next_seq: u64::MAX, last_turn: Some(TurnNumber(u32::MAX)) };
    let mut host = Host { machine: Some(Session::new(Options::default())), ..Host::default() };
    host.takes(Input::Started(Launch { begins: Some(place), ..launch() }));
    host.turn("one");
    assert!(host.events.iter().all(|event| event.seq == Seq(u64::MAX)));
    assert!(matches!(host.events.last().unwrap().body, Body::Complete(_)));
    assert_eq!(played(host.journal.lines()), host.events);
    host.tells(host.notice());
    assert_eq!(played(host.journal.lines()), host.events);
}
