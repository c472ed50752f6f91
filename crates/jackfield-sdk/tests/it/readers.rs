//! Those who follow a session: each at its own place and pace, none holds up another more than it says, and
//! memory is bounded however slow one is.

use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};

use futures_util::StreamExt as _;
use jackfield_api::command::{Allow, Verdict};
use jackfield_api::session::RunEndReason;
use jackfield_api::{Body, Seq, SharedEvent};
use jackfield_core::Transcript;
use jackfield_sdk::{Callbacks, Direction, LOSSLESS_LIMIT, Pace, Session, Switch};
use jackfield_testkit::api::Reply;
use jackfield_testkit::fake::{FakeStep, Flood};
use serde_json::Value;
use tokio::time::timeout;

use super::fake::{Fake, assistant, init, prompted, result, silence, turn};
use super::place::{PATIENCE, Place, all, bash, say, start, until, with_both_clis};

/// What is in a piece of a flood.
const PIECE: usize = 1000;

/// A turn of so many pieces, and the end.
fn flood(count: u64) -> [FakeStep; 5] {
    let pieces = Flood::Lines { count, line: assistant(&"x".repeat(PIECE)) };
    [prompted(), FakeStep::Send(init()), FakeStep::Flood(pieces), FakeStep::Send(result("")), silence()]
}

async fn without_transcript(fake: &Fake) -> Session {
    start(fake.options().transcript(Switch::Off), Callbacks::new()).await
}

fn numbers(events: &[SharedEvent]) -> Vec<u64> {
    events.iter().map(|event| event.seq.0).collect()
}

fn pieces(events: &[SharedEvent]) -> u64 {
    let is_piece =
        |event: &&SharedEvent| matches!(&event.body, Body::MessageChunk(chunk) if chunk.text.len() == PIECE);
    events.iter().filter(is_piece).count() as u64
}

fn without_hole(events: &[SharedEvent], first: u64) {
    let numbers = numbers(events);
    assert_eq!(numbers, (first..first + numbers.len() as u64).collect::<Vec<_>>());
}

// ---- cursors ----

#[tokio::test]
async fn every_reader_has_its_own_cursor() {
    let mut steps = turn("one");
    steps.extend(turn("two"));
    steps.push(silence());
    let fake = Fake::new(steps);
    let session = fake.session().await;
    let mut first = session.events(Pace::Lossless);
    let mut second = session.events(Pace::Lossy);
    say(&session, "one").await;
    let seen = until(&mut first, |body| matches!(body, Body::Complete(_))).await;
    let mut late = session.events(Pace::Lossless);
    let mut behind = session.events_after(seen.seq, Pace::Lossless);
    let future = session.events_after(Seq(1_000_000), Pace::Lossless);
    say(&session, "two").await;
    session.close().await;

    let whole = all(&mut second).await;
    without_hole(&whole, 1);
    assert_eq!(all(&mut late).await, whole, "what one reader has not read yet, another can have too");
    let rest = all(&mut behind).await;
    assert_eq!(rest, whole[usize::try_from(seen.seq.0).unwrap()..], "just behind what was seen");
    assert_eq!(all(&mut first).await, rest);
    assert_eq!(future.into_stream().count().await, 0);
    let after_the_end = session.events(Pace::Lossy).into_stream().collect::<Vec<_>>().await;
    assert_eq!(after_the_end, whole, "the newest few are kept, also when all is read and over");
}

#[tokio::test]
async fn who_reads_first_of_all_may_come_late() {
    let mut steps = turn("one");
    steps.push(silence());
    let fake = Fake::new(steps);
    let session = fake.session().await;
    say(&session, "one").await;
    session.close().await;
    let events = all(&mut session.events(Pace::Lossless)).await;
    without_hole(&events, 1);
    assert!(matches!(events.last().unwrap().body, Body::RunEnded(_)));
}

#[tokio::test]
async fn a_cancelled_read_loses_nothing() {
    let mut steps = turn("one");
    steps.push(silence());
    let fake = Fake::new(steps);
    let session = fake.session().await;
    let mut events = session.events(Pace::Lossless);
    let mut read = Vec::new();
    let turn = session.prompt("go").await.unwrap();
    let reading = async {
        loop {
            // The read is dropped whenever it is not ready, and begun anew.
            let next = std::pin::pin!(events.next());
            match futures_util::poll!(next) {
                std::task::Poll::Ready(Some(event)) => read.push(event),
                std::task::Poll::Ready(None) => return read,
                std::task::Poll::Pending => tokio::task::yield_now().await,
            }
        }
    };
    let closing = async {
        turn.result().await.unwrap();
        session.close().await;
    };
    let (read, ()) = timeout(PATIENCE, async { tokio::join!(reading, closing) }).await.unwrap();
    without_hole(&read, 1);
    assert!(matches!(read.last().unwrap().body, Body::RunEnded(_)));
}

// ---- slow ones ----

/// What the fake has written so far.
fn progress(fake: &Fake) -> u64 {
    let io = fs::read_to_string(format!("/proc/{}/io", fake.process())).unwrap();
    let line = io.lines().find_map(|line| line.strip_prefix("wchar: ")).unwrap();
    line.parse().unwrap()
}

/// Whether the fake sleeps, which it does only when nobody takes what it writes.
fn sleeps(fake: &Fake) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", fake.process())).unwrap();
    stat.rsplit_once(") ").unwrap().1.starts_with('S')
}

/// Waits until the session reads no more of the fake's output: the fake sleeps, and goes on sleeping for some
/// hundred rounds of the session's task, in each of which it would have read if it wanted to.
async fn stands_still(session: &Session, fake: &Fake) -> u64 {
    timeout(PATIENCE, async {
        loop {
            let before = sleeps(fake).then(|| progress(fake));
            for _ in 0..500 {
                session.snapshot().await;
            }
            if let Some(before) = before
                && sleeps(fake)
                && progress(fake) == before
            {
                return before;
            }
        }
    })
    .await
    .expect("the fake stands still")
}

#[tokio::test]
async fn a_lossless_reader_that_does_not_read_stops_the_cli_and_loses_nothing() {
    const COUNT: u64 = 30_000;
    let fake = Fake::new(flood(COUNT));
    let session = without_transcript(&fake).await;
    let mut slow = session.events(Pace::Lossless);
    let mut lossy = session.events(Pace::Lossy);
    let turn = session.prompt("go").await.unwrap();
    until(&mut lossy, |body| matches!(body, Body::MessageChunk(_))).await;
    let written = stands_still(&session, &fake).await;
    assert!(LOSSLESS_LIMIT / 4 < written && written < 2 * LOSSLESS_LIMIT, "{written}");

    // Some of it makes room for as much.
    let mut read = Vec::new();
    while pieces(&read) < LOSSLESS_LIMIT / 4 / PIECE as u64 {
        read.push(timeout(PATIENCE, slow.next()).await.unwrap().unwrap());
    }
    let more = stands_still(&session, &fake).await;
    assert!(written + LOSSLESS_LIMIT / 4 < more && more < written + LOSSLESS_LIMIT, "{written} {more}");

    let rest = tokio::spawn(async move { all(&mut slow).await });
    timeout(PATIENCE, turn.result()).await.unwrap().unwrap();
    session.close().await;
    read.extend(rest.await.unwrap());
    without_hole(&read, 1);
    assert_eq!(pieces(&read), COUNT);
}

#[tokio::test]
async fn standard_error_is_read_while_nothing_else_is_and_what_is_left_out_is_counted() {
    const COUNT: usize = 100_000;
    let long = "x".repeat(5 * 1024 * 1024);
    let many = (0..COUNT).map(|number| format!("complaint number {number}")).collect::<Vec<_>>().join("\n");
    let mut steps = vec![prompted()];
    steps.extend([init(), assistant(&long)].map(FakeStep::Send));
    // It only comes to its end if somebody reads all of this.
    steps.extend([FakeStep::Stderr(many), FakeStep::Exit(3)]);
    let fake = Fake::new(steps);
    let session = without_transcript(&fake).await;
    let mut slow = session.events(Pace::Lossless);
    let turn = session.prompt("go").await.unwrap();
    assert!(timeout(PATIENCE, turn.result()).await.unwrap().is_err());
    let events = all(&mut slow).await;
    without_hole(&events, 1);
    let lines: Vec<&str> = events
        .iter()
        .filter_map(|event| match &event.body {
            Body::Stderr(line) => Some(line.text.as_str()),
            _ => None,
        })
        .collect();
    let left_out =
        lines.iter().filter_map(|line| line.strip_prefix('(')?.split_once(" lines of standard error were"));
    let left_out: Vec<usize> = left_out.map(|(number, _)| number.parse().unwrap()).collect();
    assert_eq!(lines.len() - left_out.len() + left_out.iter().sum::<usize>(), COUNT, "{left_out:?}");
    assert!(lines.len() < COUNT / 2, "{}", lines.len());
    assert_eq!(*lines.last().unwrap(), format!("complaint number {}", COUNT - 1));
    let Body::RunEnded(end) = &events.last().unwrap().body else { panic!("the last event is the end") };
    assert_eq!(end.stderr_tail.lines().count(), 64);
    session.close().await;
}

#[tokio::test]
async fn dropping_a_slow_reader_lets_things_go_on() {
    let fake = Fake::new(flood(30_000));
    let session = without_transcript(&fake).await;
    let slow = session.events(Pace::Lossless);
    let mut lossy = session.events(Pace::Lossy);
    let turn = session.prompt("go").await.unwrap();
    until(&mut lossy, |body| matches!(body, Body::MessageChunk(_))).await;
    stands_still(&session, &fake).await;
    drop(slow);
    timeout(PATIENCE, turn.result()).await.unwrap().unwrap();
    session.close().await;
}

#[tokio::test]
async fn a_slow_reader_does_not_hold_up_commands_nor_the_end() {
    let fake = Fake::new(flood(30_000));
    let session = without_transcript(&fake).await;
    let mut slow = session.events(Pace::Lossless);
    let mut lossy = session.events(Pace::Lossy);
    let turn = session.prompt("go").await.unwrap();
    until(&mut lossy, |body| matches!(body, Body::MessageChunk(_))).await;
    stands_still(&session, &fake).await;
    drop((session, turn));
    let events = all(&mut slow).await;
    without_hole(&events, 1);
    let Body::RunEnded(end) = &events.last().unwrap().body else { panic!("the last event is the end") };
    assert_eq!(end.reason, RunEndReason::Killed);
}

#[tokio::test]
async fn a_lossy_reader_is_told_the_gap_and_gets_the_newest() {
    let fake = Fake::new(flood(10_000));
    let session = without_transcript(&fake).await;
    let mut early = session.events(Pace::Lossy);
    let first = timeout(PATIENCE, early.next()).await.unwrap().unwrap();
    assert_eq!(first.seq, Seq(1));
    say(&session, "go").await;
    // Who joins only now missed as much, and is told so too, whatever pace it wants.
    let mut late = session.events(Pace::Lossless);
    session.close().await;
    for (events, from) in [(all(&mut early).await, None), (all(&mut late).await, Some(1))] {
        let at = events.iter().position(|event| matches!(event.body, Body::Gap(_))).unwrap();
        let Body::Gap(gap) = &events[at].body else { unreachable!() };
        if let Some(from) = from {
            assert_eq!((at, gap.from), (0, Seq(from)));
        } else {
            // What it had taken before came before the gap, without a hole.
            without_hole(&events[..at], 2);
            assert_eq!(gap.from.0, 2 + at as u64);
        }
        without_hole(&events[at + 1..], gap.to.0 + 1);
        let rest = pieces(&events[at + 1..]);
        assert!(200 < rest && rest < 2000, "about a mebibyte is kept: {rest}");
        assert!(matches!(events.last().unwrap().body, Body::RunEnded(_)));
        assert_eq!(events.iter().filter(|event| matches!(event.body, Body::Gap(_))).count(), 1);
    }
}

// ---- memory ----

/// Set in the process that is measured.
const MEASURED: &str = "JACKFIELD_TEST_MEASURED";

#[test]
fn memory_is_bounded_however_slow_a_reader_is() {
    if std::env::var_os(MEASURED).is_some() {
        return be_measured();
    }
    // In a process of its own: the tests beside this one use memory too. Not by its path: what lies there may
    // be another build by now.
    let output = Command::new("/proc/self/exe")
        .args(["--exact", "readers::memory_is_bounded_however_slow_a_reader_is", "--nocapture"])
        .env(MEASURED, "1")
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let grown = said.lines().find_map(|line| line.split_once("grown by ")?.1.strip_suffix(" kB"));
    let grown: u64 = grown.unwrap_or_else(|| panic!("{said}")).parse().unwrap();
    // The flood is 75 MB. Kept is half a MiB by weight, and what the allocator makes of it.
    assert!(grown < 16 * 1024, "{grown} kB");
}

fn be_measured() {
    let memory = |name: &str| -> u64 {
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().strip_suffix(" kB").unwrap().parse().unwrap()
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let grown = runtime.block_on(async {
        const COUNT: u64 = 60_000;
        let fake = Fake::new(flood(COUNT));
        let session = without_transcript(&fake).await;
        let mut slow = session.events(Pace::Lossless);
        let mut idle = session.events(Pace::Lossy);
        let before = memory("VmRSS:");
        session.prompt("go").await.unwrap();
        let (mut read, mut most) = (0, 0);
        while read < COUNT {
            // As far behind as it gets, and then all of it.
            for _ in 0..200 {
                session.snapshot().await;
            }
            while idle.try_next().is_some() {}
            let before = read;
            while let Some(event) = slow.try_next() {
                read += pieces(&[event]);
            }
            most = most.max(read - before);
        }
        session.close().await;
        assert!(LOSSLESS_LIMIT < 2 * most * (PIECE as u64 + 1024), "it was slow: {most}");
        memory("VmHWM:") - before
    });
    writeln!(std::io::stdout().lock(), "grown by {grown} kB").unwrap();
}

// ---- beside the events ----

with_both_clis!(raw_lines_and_snapshots_stand_beside_the_events, a_detached_session_goes_on_without_handles);

async fn raw_lines_and_snapshots_stand_beside_the_events(version: &str) {
    let turns = vec![bash("touch made"), Reply::text("One."), Reply::text("Two.")];
    let place = Place::new(version, turns).await;
    let allow = |_| async { Some(Verdict::Allow(Allow::default())) };
    let session = start(place.options(), Callbacks::new().on_permission(allow)).await;
    let mut events = session.events(Pace::Lossless);
    let mut raw = session.raw();
    say(&session, "first prompt").await;
    let middle = session.snapshot().await.unwrap();
    say(&session, "second prompt").await;
    let last = session.snapshot().await.unwrap();
    session.close().await;
    drop(session);

    // A snapshot is what a fold of the events is, at its event.
    let events = all(&mut events).await;
    for snapshot in [middle, last] {
        let mut fold = Transcript::new();
        events.iter().filter(|event| event.seq <= snapshot.seq).for_each(|event| fold.apply(event));
        assert_eq!(*fold.snapshot(), snapshot);
    }

    let mut lines = Vec::new();
    while let Ok(line) = raw.recv().await {
        let message: Value = serde_json::from_str(&line.text).unwrap();
        lines.push((line.direction, message));
    }
    let count = |direction: Direction, kind: &str| {
        lines.iter().filter(|(way, message)| *way == direction && message["type"] == kind).count()
    };
    assert_eq!(count(Direction::ToCli, "user"), 2);
    assert_eq!(count(Direction::FromCli, "result"), 2);
    let is_question = |(_, message): &&(Direction, Value)| message["request"]["subtype"] == "can_use_tool";
    let asked: Vec<_> = lines.iter().filter(is_question).collect();
    let [(Direction::FromCli, asked)] = &asked[..] else { panic!("{asked:?}") };
    let answer = lines.iter().find(|(way, message)| {
        *way == Direction::ToCli && message["response"]["request_id"] == asked["request_id"]
    });
    assert_eq!(answer.unwrap().1["response"]["response"]["updatedInput"], asked["request"]["input"]);
    // They come in the order in which they passed.
    let at = |found: &dyn Fn(&(Direction, Value)) -> bool| lines.iter().position(found).unwrap();
    let prompt = at(&|(_, message)| message.to_string().contains("second prompt"));
    let result = at(&|(_, message)| message["type"] == "result");
    assert!(result < prompt);
}

async fn a_detached_session_goes_on_without_handles(version: &str) {
    let mut slow = Reply::text("It goes on without you.");
    slow.gate = Some("gate".to_owned());
    let place = Place::new(version, vec![slow]).await;
    let session = start(place.options(), Callbacks::new()).await;
    let mut events = session.events(Pace::Lossless);
    let turn = session.prompt("go").await.unwrap();
    timeout(PATIENCE, place.api.gates().reached("gate")).await.unwrap();
    let pid = session.ready().answer.pid.unwrap();
    session.detach().await;
    place.api.gates().release("gate");
    assert_eq!(timeout(PATIENCE, turn.result()).await.unwrap().unwrap().text, "It goes on without you.");
    jackfield_testkit::processes::signal(pid, rustix::process::Signal::TERM);
    let events = all(&mut events).await;
    assert!(matches!(events.last().unwrap().body, Body::RunEnded(_)));
}
