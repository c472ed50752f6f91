//! *Framing-blind*: wherever the CLI's output is cut on its way, the events are the same.
//!
//! Run on all recordings and on mutated ones.

use jackfield_api::{Event, Timestamp};
use jackfield_core::{Input, Options, Output, Session};
use jackfield_wire::{Line, Lines, decode};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use crate::fixtures;
use crate::harness::Step;
use crate::mutation::{config, mutated};

#[test]
fn a_recording_cut_after_every_byte_gives_the_same_events() {
    // Byte by byte is slow: short recordings are enough, all others are cut at random below.
    let short = |lines: &Vec<Vec<u8>>| lines.iter().map(Vec::len).sum::<usize>() < 12_000;
    let outputs = fixtures::all()
        .iter()
        .map(|recording| recording.output().map(|line| line.as_bytes().to_vec()).collect());
    for lines in outputs.filter(short) {
        let bytes = lines.join(&b'\n');
        let pieces: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(in_pieces(&pieces), in_lines(&lines));
    }
}

proptest! {
    #![proptest_config(config(128))]

    #[test]
    fn output_cut_anywhere_gives_the_same_events(play in mutated(), cuts in vec(any::<Index>(), 0..40)) {
        // A newline within a line would make two of it.
        let lines: Vec<Vec<u8>> = play.0.iter().filter_map(|step| match step {
            Step::Line(line) if !line.contains(&b'\n') => Some(line.clone()),
            _ => None,
        }).collect();
        let mut bytes = lines.join(&b'\n');
        bytes.push(b'\n');
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        places.extend([0, bytes.len()]);
        places.sort_unstable();
        let pieces: Vec<&[u8]> = places.windows(2).map(|place| &bytes[place[0]..place[1]]).collect();
        prop_assert_eq!(in_pieces(&pieces), in_lines(&lines));
    }
}

fn in_lines(lines: &[Vec<u8>]) -> Vec<Event> {
    let mut session = Session::new(Options::default());
    for line in lines {
        session.handle(Timestamp(0), Input::Line(decode(line)));
    }
    drain(session)
}

fn in_pieces(pieces: &[&[u8]]) -> Vec<Event> {
    let mut session = Session::new(Options::default());
    let mut lines = Lines::default();
    let mut each = |line: Line<'_>| match line {
        Line::Whole(line) => session.handle(Timestamp(0), Input::Line(decode(line))),
        Line::TooLong { length } => session.handle(Timestamp(0), Input::LongLine { length }),
    };
    for piece in pieces {
        lines.feed(piece, &mut each);
    }
    lines.finish(&mut each);
    drain(session)
}

fn drain(mut session: Session) -> Vec<Event> {
    session.handle(Timestamp(0), Input::Exited(fixtures::CLEAN));
    std::iter::from_fn(|| session.poll())
        .filter_map(|output| if let Output::Event(event) = output { Some(event) } else { None })
        .collect()
}
