//! What is kept of lines, and what is told of them.

use super::kept::{BESIDE, to_u64};
use super::*;

fn keep(tail: &RawTail, text: &str, made: Option<(Seq, Seq)>) {
    let mut waiting = Waiting::default();
    tail.pass(Timestamp(1), Direction::FromCli, text, made, &mut waiting);
    tail.keep(&mut waiting);
}

fn line_of(tail: &RawTail, seq: u64, most: usize) -> Option<(String, u64)> {
    let mut text = "before ".to_owned();
    let length = tail.line_of(Seq(seq), most, &mut text);
    let text = text.strip_prefix("before ").map(str::to_owned);
    assert!(length.is_some() || text.as_deref() == Some(""), "nothing is appended");
    text.zip(length)
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
    assert_eq!(line_of(&tail, 1, usize::MAX), None);
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
    let mut recorder = Recorder::new(Some(Arc::clone(&tail)));
    recorder.made(Seq(1));
    for (text, seqs) in [("none", [].as_slice()), ("two", &[2, 3]), ("one", &[4])] {
        recorder.begin();
        for seq in seqs {
            recorder.made(Seq(*seq));
        }
        recorder.end(Timestamp(0), Direction::ToCli, text);
        recorder.made(Seq(9));
    }
    assert_eq!(tail.after(LineNumber(0)).lines, [], "they are handed over together");
    recorder.keep();
    let lines = tail.after(LineNumber(0)).lines;
    let made: Vec<_> = lines.iter().map(|line| line.first_seq.zip(line.last_seq)).collect();
    assert_eq!(made, [None, Some((Seq(2), Seq(3))), Some((Seq(4), Seq(4)))]);
    for (seq, expected) in [None, Some("two"), Some("two"), Some("one"), None].into_iter().enumerate() {
        let line = line_of(&tail, seq as u64 + 1, usize::MAX);
        assert_eq!(line, expected.map(|text| (text.to_owned(), 3)));
    }
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
        for most in 0..20 {
            let expected = (text[..text.floor_char_boundary(most)].to_owned(), to_u64(text.len()));
            assert_eq!(line_of(&tail, line.number.0, most), Some(expected));
        }
    }
}

#[test]
fn of_more_lines_at_once_than_there_is_room_for_the_newest_are_kept() {
    let tail = Arc::new(RawTail::new(8 * (BESIDE + 10)));
    let mut recorder = Recorder::new(Some(Arc::clone(&tail)));
    for first in [0, 100, 103, 203] {
        let many = if first == 100 { 3 } else { 100 };
        for seq in first + 1..=first + many {
            recorder.begin();
            recorder.made(Seq(seq));
            recorder.end(Timestamp(1), Direction::FromCli, &format!("line {seq}"));
        }
        recorder.keep();
        let kept = tail.after(LineNumber(0));
        assert!(kept.missing && (4..=10).contains(&kept.lines.len()), "{kept:?}");
        for (line, seq) in kept.lines.iter().rev().zip((1..=first + many).rev()) {
            assert_eq!((line.number.0, line.last_seq), (seq, Some(Seq(seq))));
            assert_eq!(line_of(&tail, seq, usize::MAX), Some((line.text.clone(), to_u64(line.text.len()))));
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
    assert_eq!(line_of(&tail, 1, usize::MAX), Some(("1234".to_owned(), 7)));
    let cut = &tail.after(LineNumber(1)).lines[0];
    assert_eq!((cut.text.as_str(), cut.bytes, cut.cut), ("1234", 7, true));
}

#[tokio::test]
async fn who_follows_is_told_every_line_whole_and_the_end_of_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let tail = Arc::new(RawTail::new(8 * 5));
    let mut recorder = Recorder::new(Some(Arc::clone(&tail)));
    let mut record = |text: &str, seq| {
        recorder.begin();
        recorder.made(Seq(seq));
        recorder.end(Timestamp(0), Direction::FromCli, text);
    };
    record("before", 1);
    let mut feed = tail.follow(folder.path()).unwrap();
    record("a long line", 2);
    record("short", 3);
    recorder.made(Seq(4));
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
