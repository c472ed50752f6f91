//! What is kept of lines, and what is told of them.

use jackfield_api::conversation::MessageChunk;
use jackfield_api::trouble::Gap;
use jackfield_api::{Event, ItemId};

use super::kept::BESIDE;
use super::*;
use crate::basket::{Basket, Basketful};

fn keep(tail: &RawTail, text: &str, made: Option<(Seq, Seq)>) {
    let mut waiting = Waiting::default();
    tail.pass(Timestamp(1), Direction::FromCli, text, made, &mut waiting);
    tail.keep(&mut waiting);
}

/// An event that is no piece of a text.
fn event(seq: u64) -> Event {
    let (body, at, session_id) = (Gap { from: Seq(0), to: Seq(0) }.into(), Timestamp(0), "s".into());
    Event { body, seq: Seq(seq), at, session_id, turn: None, parent_tool_call_id: None }
}

fn numbers(kept: &KeptLines) -> Vec<u64> {
    kept.lines.iter().map(|line| line.number.0).collect()
}

#[test]
fn lines_are_numbered_and_asked_for_behind_one() {
    let tail = RawTail::new(10_000);
    assert_eq!(tail.after(LineNumber(0)), KeptLines { lines: Vec::new(), missing: false });
    for text in ["one", "two", "three"] {
        keep(&tail, text, Some((Seq(1), Seq(2))));
    }
    let kept = tail.after(LineNumber(1));
    assert_eq!((numbers(&kept), kept.missing), (vec![2, 3], false));
    assert_eq!(kept.lines[0].first_seq, Some(Seq(1)));
    assert!(tail.after(LineNumber(3)).lines.is_empty());
    assert!(tail.after(LineNumber(u64::MAX)).lines.is_empty());
}

#[tokio::test]
async fn without_room_nothing_is_kept_and_all_can_be_followed() -> io::Result<()> {
    let tail = RawTail::new(0);
    keep(&tail, "one", Some((Seq(1), Seq(1))));
    assert_eq!(tail.after(LineNumber(0)), KeptLines { lines: Vec::new(), missing: false });
    let folder = tempfile::tempdir()?;
    let mut feed = tail.follow(folder.path())?;
    keep(&tail, "two", None);
    drop(tail);
    let mut told = Vec::new();
    while let Some(bytes) = feed.next().await {
        told.extend(bytes?);
    }
    let told: FollowedLine = serde_json::from_slice(&told)?;
    let FollowedLine::Line(line) = told else { return Err(io::ErrorKind::InvalidData.into()) };
    assert_eq!((line.number, line.text.as_str(), line.cut), (LineNumber(1), "two", false));
    Ok(())
}

#[test]
fn an_event_belongs_to_the_line_that_is_looked_at_and_to_no_other() {
    let tail = Arc::new(RawTail::new(10_000));
    let mut recorder = Recorder::new(Some(Arc::clone(&tail)), None);
    recorder.made(&event(1));
    for (text, seqs) in [("none", [].as_slice()), ("two", &[2, 3]), ("one", &[4])] {
        recorder.begin();
        for seq in seqs {
            recorder.made(&event(*seq));
        }
        recorder.end(Timestamp(0), Direction::ToCli, text);
        recorder.made(&event(9));
    }
    assert_eq!(tail.after(LineNumber(0)).lines, [], "they are handed over together");
    recorder.keep();
    let lines = tail.after(LineNumber(0)).lines;
    let made: Vec<_> = lines.iter().map(|line| line.first_seq.zip(line.last_seq)).collect();
    assert_eq!(made, [None, Some((Seq(2), Seq(3))), Some((Seq(4), Seq(4)))]);
}

#[test]
fn lines_of_events_are_put_aside_before_those_are_told_and_lines_of_pieces_are_not() {
    let basket = Arc::new(Basket::new(usize::MAX));
    let mut recorder = Recorder::new(None, Some(Arc::clone(&basket)));
    assert!(recorder.keeps());
    let piece = |seq| {
        let (item_id, text) = (ItemId(2), "piece".into());
        Event { body: MessageChunk { item_id, message_id: None, text }.into(), ..event(seq) }
    };
    for (text, made) in [
        ("nothing", vec![]),
        ("a piece", vec![piece(2)]),
        ("an event", vec![event(3)]),
        ("both", vec![piece(4), event(5)]),
    ] {
        recorder.begin();
        for event in &made {
            recorder.made(event);
        }
        recorder.end(Timestamp(0), Direction::FromCli, text);
    }
    let line_of = |seq| Basketful::default().line_of(Seq(seq), &basket).map(|(line, _)| line.to_owned());
    assert_eq!(line_of(3), None, "they are put aside together");
    recorder.keep();
    let mut taken = Basketful::default();
    let mut line_of = |seq| taken.line_of(Seq(seq), &basket).map(|(line, _)| line.to_owned());
    let expected = [None, None, Some("an event"), Some("both"), Some("both"), None];
    assert_eq!([1, 2, 3, 4, 5, 6].map(&mut line_of), expected.map(|line| line.map(str::to_owned)));
}

#[test]
fn old_lines_go_when_there_is_no_room_and_that_is_told() {
    let tail = RawTail::new(10 * (BESIDE + 10));
    for _ in 0..100 {
        keep(&tail, "0123456789", None);
    }
    let kept = tail.after(LineNumber(0));
    assert_eq!((numbers(&kept), kept.missing), ((91..=100).collect(), true));
    assert!(!tail.after(LineNumber(95)).missing);
    let kept = &tail.lock().kept;
    assert_eq!((kept.lines.len(), kept.text.len()), (10, 100));
}

#[test]
fn each_line_has_its_own_text_however_many_went_before_it() {
    let tail = RawTail::new(20 * BESIDE);
    let texts: Vec<String> = (0..500).map(|number| format!("{number}{}", "ä".repeat(number % 7))).collect();
    for (text, number) in texts.iter().zip(1..) {
        keep(&tail, text, Some((Seq(number), Seq(number))));
    }
    let kept = tail.after(LineNumber(0)).lines;
    assert!(kept.len() > 10, "{}", kept.len());
    for (line, text) in kept.iter().rev().zip(texts.iter().rev()) {
        assert_eq!(line.text, *text);
    }
}

#[test]
fn of_more_lines_at_once_than_there_is_room_for_the_newest_are_kept() {
    let tail = Arc::new(RawTail::new(8 * (BESIDE + 10)));
    let mut recorder = Recorder::new(Some(Arc::clone(&tail)), None);
    for first in [0, 100, 103, 203] {
        let many = if first == 100 { 3 } else { 100 };
        for seq in first + 1..=first + many {
            recorder.begin();
            recorder.made(&event(seq));
            recorder.end(Timestamp(1), Direction::FromCli, &format!("line {seq}"));
        }
        recorder.keep();
        let kept = tail.after(LineNumber(0));
        assert!(kept.missing && (4..=10).contains(&kept.lines.len()), "{kept:?}");
        for (line, seq) in kept.lines.iter().rev().zip((1..=first + many).rev()) {
            assert_eq!((line.number.0, line.last_seq), (seq, Some(Seq(seq))));
            assert_eq!(line.text, format!("line {seq}"));
        }
    }
}

#[test]
fn a_line_that_is_too_long_is_cut_between_characters_and_says_so() {
    let tail = RawTail::new(8 * 5);
    keep(&tail, "12345", None);
    assert!(!tail.after(LineNumber(0)).lines[0].cut);
    keep(&tail, "1234ä6", Some((Seq(1), Seq(1))));
    let cut = &tail.after(LineNumber(1)).lines[0];
    assert_eq!((cut.text.as_str(), cut.bytes, cut.cut), ("1234", 7, true));
}

#[tokio::test]
async fn who_follows_is_told_every_line_whole_and_the_end_of_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let tail = Arc::new(RawTail::new(8 * 5));
    let mut recorder = Recorder::new(Some(Arc::clone(&tail)), None);
    let mut record = |text: &str, seq| {
        recorder.begin();
        recorder.made(&event(seq));
        recorder.end(Timestamp(0), Direction::FromCli, text);
    };
    record("before", 1);
    let mut feed = tail.follow(folder.path()).unwrap();
    record("a long line", 2);
    record("short", 3);
    recorder.made(&event(4));
    recorder.run_ended();
    drop((recorder, tail));
    let mut told = Vec::new();
    while let Some(bytes) = feed.next().await {
        told.extend(bytes.unwrap());
    }
    let told: Vec<FollowedLine> = told
        .split_inclusive(|byte| *byte == b'\n')
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect();
    let [FollowedLine::Line(long), FollowedLine::Line(short), ended] = told.as_slice() else {
        panic!("{told:?}");
    };
    assert_eq!((long.text.as_str(), long.cut, long.last_seq), ("a long line", false, Some(Seq(2))));
    assert_eq!((short.text.as_str(), short.number), ("short", LineNumber(3)));
    assert_eq!(*ended, FollowedLine::RunEnded { last_seq: Seq(4) });
}

#[test]
fn lines_are_written_for_nobody_who_has_gone() {
    let folder = tempfile::tempdir().unwrap();
    let tail = RawTail::new(10_000);
    drop(tail.follow(folder.path()).unwrap());
    keep(&tail, "line", None);
    assert!(tail.lock().spools.is_empty());
}
