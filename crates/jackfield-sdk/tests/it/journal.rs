//! The journal of a session, played again: over runs with a machine each, and over runs that keep theirs.

use std::sync::{Arc, Mutex};

use jackfield_api::{Seq, SharedEvent, TurnNumber};
use jackfield_core::journal::{Player, Reader};
use jackfield_core::{Launch, Options as Unknown, Output, Session as Machine};
use jackfield_sdk::{Callbacks, Journal, Pace, PartOf, Passed};
use jackfield_testkit::api::Reply;

use super::place::{Place, all, say, start, with_both_clis};

with_both_clis!(a_journal_of_two_runs_played_again_gives_the_events_of_both);

/// A journal in memory.
#[derive(Debug, Default)]
pub(crate) struct Paper(Mutex<Vec<u8>>);

impl Journal for Paper {
    fn wants_lines(&self) -> bool {
        true
    }

    fn passed(&self, passed: &mut Passed) {
        self.0.lock().unwrap().append(&mut passed.lines);
    }

    fn process(&self, _: u32) {}
}

impl Paper {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }

    /// How many machines began.
    pub(crate) fn machines(&self) -> usize {
        self.text().matches(r#"\"begins\":"#).count()
    }

    /// The events of what is written there.
    pub(crate) fn played(&self) -> Vec<SharedEvent> {
        let machine = Machine::new(Unknown::default());
        let mut player = Player::new(machine, Launch::from_arguments::<&str>(&[]));
        let (mut reader, mut events) = (Reader::default(), Vec::new());
        for line in self.text().split_terminator('\n') {
            for entry in reader.read(line).unwrap() {
                player.play(&entry);
            }
        }
        while let Some(output) = player.session().poll() {
            events.extend(if let Output::Event(event) = output { Some(event.into()) } else { None });
        }
        events
    }
}

async fn a_journal_of_two_runs_played_again_gives_the_events_of_both(version: &str) {
    let place = Place::new(version, ["One.", "Two."].map(Reply::text).to_vec()).await;
    let part_of = PartOf { session_id: "host-7".into(), next_seq: Seq(101), last_turn: Some(TurnNumber(4)) };
    let paper = Arc::new(Paper::default());
    let options = place.options().part_of(part_of).journal(Arc::<Paper>::clone(&paper));
    let session = start(options, Callbacks::new()).await;
    let mut events = session.events(Pace::Lossless);
    let last = say(&session, "one").await.figures.last_message_uuid.unwrap();
    let id = session.cli_session_id().unwrap();
    place.on_disk(id.as_str(), last.as_str()).await;
    session.close().await;
    let resumed = session.resume().await.unwrap();
    let mut more = resumed.events(Pace::Lossless);
    assert_eq!(say(&resumed, "two").await.turn, TurnNumber(6));
    resumed.close().await;
    let told = [all(&mut events).await, all(&mut more).await].concat();
    let lists = told.iter().filter(|event| event.body.tag() == "available_commands").count();
    assert!(lists >= 2, "each machine tells the list");
    assert_eq!(paper.machines(), 2);
    assert_eq!(paper.played(), told);
}
