//! What a host wants of a session beside what everybody wants: other programs that speak like the CLI, commands
//! in somebody's name, words of its own among the events, and numbers that go on.

use std::ffi::{OsStr, OsString};

use jackfield_api::command::{Allow, Answer, RejectionCode, Verdict};
use jackfield_api::trouble::NoticeLevel;
use jackfield_api::{Body, Seq, TurnNumber};
use jackfield_sdk::{By, Callbacks, Options, Pace, PartOf};
use jackfield_testkit::fake::FakeStep;

use super::fake::{Fake, answered, ask, init, prompted, result, silence, turn};
use super::place::{all, say, start, until};

fn one_turn() -> Fake {
    let mut steps = turn("one");
    steps.push(silence());
    Fake::new(steps)
}

#[tokio::test]
async fn a_program_that_wants_words_first_gets_them_first() {
    let fake = one_turn();
    // `fake-claude` takes its script from its arguments too; without it, it neither tells a version nor plays.
    let script = fake.sandbox.places().temporary.join("script");
    let words: [OsString; 2] = ["--script".into(), script.into()];
    let without = fake.options().without_variable("FAKE_CLAUDE_SCRIPT");
    assert!(jackfield_sdk::Session::start(without.clone(), Callbacks::new()).await.is_err());
    let session = start(without.first_arguments(words.clone()), Callbacks::new()).await;
    let command_line = std::fs::read(format!("/proc/{}/cmdline", fake.process())).unwrap();
    let told: Vec<&[u8]> = command_line.split(|byte| *byte == 0).collect();
    assert_eq!(told[1..3], words.each_ref().map(|word: &OsString| OsStr::as_encoded_bytes(word)));
    assert_eq!(say(&session, "go").await.text, "one");
    session.close().await;
}

#[tokio::test]
async fn events_of_a_part_go_on_counting() {
    let fake = one_turn();
    let part_of = PartOf { session_id: "host-7".into(), next_seq: Seq(101), last_turn: Some(TurnNumber(4)) };
    let options: Options = fake.options().part_of(part_of);
    let session = start(options, Callbacks::new()).await;
    let mut events = session.events(Pace::Lossless);
    let mut behind = session.events_after(Seq(101), Pace::Lossless);
    assert_eq!(say(&session, "go").await.turn, TurnNumber(5));
    assert_eq!(session.snapshot().await.unwrap().session_id, Some("host-7".into()));
    session.close().await;
    let events = all(&mut events).await;
    let numbers: Vec<u64> = events.iter().map(|event| event.seq.0).collect();
    assert_eq!(numbers, (101..101 + numbers.len() as u64).collect::<Vec<_>>(), "no gap and no hole");
    assert!(events.iter().all(|event| event.session_id.as_str() == "host-7"));
    assert_eq!(all(&mut behind).await, events[1..]);
}

#[tokio::test]
async fn a_command_is_done_in_the_name_of_who_gave_it() {
    let mut steps = vec![prompted(), FakeStep::Send(init()), FakeStep::Send(ask("question"))];
    steps.extend([answered("question"), FakeStep::Send(result("")), silence()]);
    let fake = Fake::new(steps);
    let session = fake.session().await;
    let mut events = session.events(Pace::Lossless);
    session.prompt("go").await.unwrap();
    let asked = until(&mut events, |body| matches!(body, Body::PermissionRequest(_))).await;
    let Body::PermissionRequest(request) = &asked.body else { unreachable!() };
    let answer = Answer { pending_id: request.pending_id, verdict: Verdict::Allow(Allow::default()) };
    session.command_by(By::Client("a page".into()), answer).await.unwrap();
    let resolved = until(&mut events, |body| matches!(body, Body::PermissionResolved(_))).await;
    let Body::PermissionResolved(resolved) = &resolved.body else { unreachable!() };
    assert_eq!(resolved.by.as_deref(), Some("a page"));
    session.close().await;
}

#[tokio::test]
async fn a_notice_stands_among_the_events() {
    let fake = one_turn();
    let session = fake.session().await;
    let mut events = session.events(Pace::Lossless);
    session.notice(NoticeLevel::Warning, "the budget is used up").await.unwrap();
    say(&session, "go").await;
    session.close().await;
    let late = session.notice(NoticeLevel::Info, "too late").await.unwrap_err();
    assert_eq!(late.code(), RejectionCode::RunEnded);
    let events = all(&mut events).await;
    let at = |found: fn(&Body) -> bool| events.iter().position(|event| found(&event.body)).unwrap();
    let notice = at(|body| {
        matches!(body, Body::Notice(notice)
        if (notice.level, notice.text.as_str()) == (NoticeLevel::Warning, "the budget is used up"))
    });
    assert!(notice < at(|body| matches!(body, Body::TurnStarted(_))));
    let numbers: Vec<u64> = events.iter().map(|event| event.seq.0).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
}
