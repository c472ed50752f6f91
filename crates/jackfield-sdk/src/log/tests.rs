//! What readers of the log get, and what is let go.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use jackfield_api::conversation::{FileUpdated, MessageChunk};
use jackfield_api::session::{AvailableCommands, RunEnded, SlashCommand};
use jackfield_api::tool::{ToolStatus, ToolUpdate};
use jackfield_api::{ItemId, Json, SessionId, Timestamp};

use super::*;

/// Events with these numbers, each a piece of text of this length.
fn pieces(numbers: std::ops::RangeInclusive<u64>, length: usize) -> Vec<Event> {
    let piece = || MessageChunk { item_id: ItemId(1), message_id: None, text: "x".repeat(length).into() };
    numbers.map(|seq| event(seq, piece())).collect()
}

fn event(seq: u64, body: impl Into<Body>) -> Event {
    Event {
        body: body.into(),
        seq: Seq(seq),
        at: Timestamp(0),
        session_id: "s".into(),
        turn: Some(TurnNumber(7)),
        parent_tool_call_id: None,
    }
}

fn numbers(events: &mut Events) -> Vec<u64> {
    std::iter::from_fn(|| events.try_next()).map(|event| event.seq.0).collect()
}

fn kept(log: &Log) -> usize {
    log.shared.lock().kept.len()
}

#[test]
fn the_first_reader_sees_how_it_began_and_later_ones_the_tail() {
    let log = Log::new(Seq(1));
    log.append(&mut pieces(1..=200, 100));
    let mut first = log.reader(Pace::Lossless, None);
    assert_eq!(numbers(&mut first), (1..=200).collect::<Vec<_>>());
    assert!((20..60).contains(&kept(&log)), "{}", kept(&log));
    let mut late = log.reader(Pace::Lossless, None);
    let Body::Gap(gap) = &late.try_next().unwrap().body else { panic!("it begins with a gap") };
    assert_eq!(gap.from, Seq(1));
    assert_eq!(numbers(&mut late), (gap.to.0 + 1..=200).collect::<Vec<_>>());
}

#[test]
fn what_one_reader_has_not_read_is_kept_for_it_and_goes_with_it() {
    for pace in [Pace::Lossless, Pace::Lossy] {
        let log = Log::new(Seq(1));
        let (mut quick, mut slow) = (log.reader(Pace::Lossless, None), log.reader(pace, None));
        log.append(&mut pieces(1..=200, 100));
        assert_eq!(numbers(&mut quick).len(), 200);
        assert_eq!(kept(&log), 200);
        assert_eq!(slow.try_next().unwrap().seq, Seq(1));
        drop(slow);
        assert!(kept(&log) < 60, "{}", kept(&log));
    }
}

#[test]
fn what_is_large_is_let_go_though_it_was_told_together_with_what_is_kept() {
    let log = Log::new(Seq(1));
    let mut reader = log.reader(Pace::Lossless, None);
    let mut events = pieces(1..=1, 100_000);
    events.extend(pieces(2..=60, 1));
    let large = SessionId::from("the large one's");
    events[0].session_id = large.clone();
    log.append(&mut events);
    assert_eq!(numbers(&mut reader), (1..=60).collect::<Vec<_>>());
    assert!(kept(&log) > 20, "{}", kept(&log));
    assert_eq!(Arc::strong_count(&large.0), 1);
}

#[test]
fn a_log_that_goes_on_begins_where_the_one_before_ended() {
    let log = Log::new(Seq(41));
    assert_eq!(log.last(), None);
    let mut early = log.reader(Pace::Lossless, None);
    log.append(&mut pieces(41..=43, 1));
    assert_eq!(numbers(&mut early), [41, 42, 43]);
    assert_eq!(numbers(&mut log.reader(Pace::Lossy, None)), [41, 42, 43]);
    assert_eq!(log.last(), Some((Seq(43), Some(TurnNumber(7)))));
}

#[test]
fn whatever_is_large_in_an_event_weighs() {
    const LARGE: usize = 100_000;
    let text = || "x".repeat(LARGE);
    let command = SlashCommand { name: String::new(), description: text(), argument_hint: String::new() };
    let update = ToolUpdate {
        tool_call_id: "t".into(),
        tool_status: ToolStatus::Running,
        tool_title: None,
        normalized: None,
        output: None,
        message: None,
    };
    let bodies = [
        Body::from(AvailableCommands { available_commands: vec![command] }),
        Body::from(RunEnded {
            reason: jackfield_api::session::RunEndReason::Closed,
            exit_code: None,
            stderr_tail: text(),
        }),
        Body::from(ToolUpdate { message: Some(text()), ..update.clone() }),
        Body::from(ToolUpdate { output: Some(Json::of(&text())), ..update }),
        Body::from(FileUpdated {
            tool_call_id: "t".into(),
            file_path: String::new(),
            old_content: Some(text()),
            new_content: None,
            diff: String::new(),
            truncated: false,
        }),
    ];
    for body in bodies {
        let tag = body.tag();
        let weight = weight(&event(1, body));
        assert!((LARGE as u64..2 * LARGE as u64).contains(&weight), "{tag}: {weight}");
    }
}
