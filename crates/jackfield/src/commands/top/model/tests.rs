//! What keys mean, told with values: nobody waits, and time is what it is said to be.

#![allow(clippy::unwrap_used)]

use jackfield_api::PendingId;
use jackfield_api::command::{Allow, Deny, Verdict};
use jackfield_api::permission::{PermissionKind, Question, QuestionOption};
use jackfield_api::usage::ContextWindow;

use super::super::guard::SETTLED;
use super::*;

pub(in crate::commands::top) fn session(id: &str, title: &str, state: SessionState) -> SessionSummary {
    let mut session = SessionSummary::new(id.into(), "/ws", Timestamp(0));
    title.clone_into(&mut session.title);
    session.state = state;
    session.model = Some("claude-test".to_owned());
    session
}

/// A tool that wants to run.
pub(in crate::commands::top) fn request() -> PermissionRequest {
    PermissionRequest {
        pending_id: PendingId(7),
        kind: PermissionKind::Tool,
        tool_call_id: None,
        tool_name: Some("Write".to_owned()),
        tool_title: "Write a.txt".to_owned(),
        normalized: None,
        input: None,
        suggestions: Vec::new(),
        reason: None,
        questions: Vec::new(),
        plan: None,
        message: None,
        schema: None,
    }
}

/// A question of the model.
pub(in crate::commands::top) fn question(pending_id: u64) -> PermissionRequest {
    let option = |label: &str| QuestionOption { label: label.to_owned(), description: String::new() };
    let question = Question {
        question: "Which?".to_owned(),
        header: String::new(),
        multi_select: true,
        options: vec![option("One"), option("Two")],
    };
    let pending_id = PendingId(pending_id);
    PermissionRequest { pending_id, kind: PermissionKind::Question, questions: vec![question], ..request() }
}

/// Four sessions, each in another state.
pub(in crate::commands::top) fn model() -> Model {
    let mut asks = session("asks", "Write the file", SessionState::Running);
    asks.running_since = Some(Timestamp(1_000));
    asks.total_cost_usd = 1.5;
    asks.pending.push(request());
    let mut runs = session("runs", "Think about it", SessionState::Running);
    runs.running_since = Some(Timestamp(60_000));
    runs.context_window = Some(ContextWindow {
        context_window_size: 200_000,
        context_window_used: 50_000,
        context_window_remaining: 150_000,
        context_efficiency: 75.0,
    });
    let ended = session("ended", "Long ago", SessionState::Ended);
    let idle = session("idle", "Ready \u{1b}[31mto go", SessionState::Idle);
    let processes =
        [SessionProcess { session_id: "runs".into(), process_id: 1, memory_bytes: 300 * 1024 * 1024 }];
    let rates = BTreeMap::from([("runs".into(), 42), ("asks".into(), 0)]);
    let mut model = Model::default();
    let sessions = vec![ended, runs, idle, asks];
    model.look(Sight { processes: &processes, rates, now: Timestamp(125_000), ..sight(sessions) });
    model
}

/// These are all, as it is now.
pub(in crate::commands::top) fn sight(sessions: Vec<SessionSummary>) -> Sight<'static> {
    Sight { sessions, ..Sight::default() }
}

/// One session that asks this.
pub(in crate::commands::top) fn asking(request: PermissionRequest) -> Vec<SessionSummary> {
    let mut asks = session("asks", "Ask me", SessionState::Running);
    asks.pending.push(request);
    vec![asks]
}

/// Somebody who looks as long as it takes before a key is pressed, at a large window.
struct Person {
    now: Instant,
    shown: Shown,
}

impl Person {
    fn new() -> Self {
        Self { now: Instant::now(), shown: Shown::Enough }
    }

    fn sees(&self, model: &mut Model) {
        let place = model.question().map(|(place, _)| place.clone());
        model.drawn(place.map(|place| OnScreen { place, shown: self.shown }), self.now);
    }

    fn types(&mut self, model: &mut Model, key: KeyCode) -> Option<Asked> {
        self.sees(model);
        self.now += SETTLED;
        model.key(key, self.now)
    }

    fn letter(&mut self, model: &mut Model, letter: char) -> Option<Asked> {
        self.types(model, KeyCode::Char(letter))
    }
}

/// What the question says.
fn said(model: &Model) -> Vec<String> {
    let Some((_, sheet)) = model.question() else { return Vec::new() };
    sheet.whole(80, 100).unwrap().into_iter().map(|row| row.words).collect()
}

fn underway(model: &Model) -> (Option<DeedKind>, Option<&str>) {
    (model.underway(), model.trouble())
}

#[test]
fn who_asks_between_turns_asks() {
    let mut session = session("asks", "A subagent in the background", SessionState::Idle);
    session.pending.push(request());
    let mut model = Model::default();
    model.look(sight(vec![session]));
    assert_eq!(model.rows[0].state, State::Asks);
}

#[test]
fn who_asks_comes_first_then_who_works() {
    let ids: Vec<_> = model().rows.iter().map(|row| row.id.to_string()).collect();
    assert_eq!(ids, ["asks", "runs", "idle", "ended"]);
    assert_eq!(model().rows[1].turn_seconds, Some(65));
    assert_eq!(model().rows[1].context, Some(25));
}

#[test]
fn keys_mean_the_chosen_session_and_its_first_question() {
    let (mut model, mut person) = (model(), Person::new());
    let mut verdict = |model: &mut Model, letter: char| {
        let Some(Asked::Answer(id, Answer { pending_id, verdict })) = person.letter(model, letter) else {
            panic!("no answer");
        };
        assert_eq!((id.as_str(), pending_id), ("asks", PendingId(7)));
        model.told(None);
        verdict
    };
    assert_eq!(verdict(&mut model, 'a'), Verdict::Allow(Allow::default()));
    assert!(matches!(verdict(&mut model, 'd'), Verdict::Deny(Deny { interrupt: false, .. })));
    assert_eq!(person.types(&mut model, KeyCode::Down), None);
    assert_eq!(person.letter(&mut model, 'a'), None, "there is no question");
    assert_eq!(person.letter(&mut model, 'i'), Some(Asked::Interrupt("runs".into())));
    model.told(None);
    for _ in 0..10 {
        person.types(&mut model, KeyCode::Down);
    }
    assert_eq!(model.chosen().unwrap().1.id.as_str(), "ended");
    for _ in 0..10 {
        person.types(&mut model, KeyCode::Up);
    }
    assert_eq!(model.chosen().unwrap().1.id.as_str(), "asks");
    assert_eq!(model.over(), None);
    assert_eq!((person.letter(&mut model, 'q'), model.over()), (None, Some(&Over::Done)));
}

#[test]
fn no_answer_is_taken_to_what_was_not_looked_at() {
    let (mut model, mut person) = (Model::default(), Person::new());
    model.look(sight(asking(question(1))));
    person.sees(&mut model);
    let before = said(&model);
    for key in [KeyCode::Char('a'), KeyCode::Char('d'), KeyCode::Char('1'), KeyCode::Enter] {
        let at = person.now + SETTLED / 2;
        assert_eq!((model.key(key, at), said(&model)), (None, before.clone()), "{key:?} was not seen");
        assert!(model.is_early());
        model.pass(model.due().unwrap());
        assert!(!model.is_early());
        model.look(sight(Vec::new()));
        person.sees(&mut model);
        model.look(sight(asking(question(1))));
        person.sees(&mut model);
    }
    assert!(matches!(person.letter(&mut model, 'd'), Some(Asked::Answer(..))));
}

#[test]
fn a_question_of_which_only_a_part_is_shown_is_only_denied() {
    for request in [request(), question(1)] {
        let (mut model, mut person) = (Model::default(), Person::new());
        person.shown = Shown::Part;
        model.look(sight(asking(request)));
        let before = said(&model);
        for key in [KeyCode::Char('a'), KeyCode::Char('1'), KeyCode::Enter] {
            assert_eq!(person.types(&mut model, key), None);
            assert_eq!(model.trouble(), Some("not all of it is shown: see the page"));
            assert_eq!(said(&model), before);
        }
        let Some(Asked::Answer(_, answer)) = person.letter(&mut model, 'd') else { panic!("no answer") };
        assert!(matches!(answer.verdict, Verdict::Deny(_)));
        model.told(None);
        assert!(matches!(person.letter(&mut model, 'i'), Some(Asked::Interrupt(_))));
    }
}

#[test]
fn one_thing_is_done_at_a_time_and_its_trouble_is_told() {
    let (mut model, mut person) = (model(), Person::new());
    assert!(matches!(person.letter(&mut model, 'a'), Some(Asked::Answer(..))));
    assert_eq!(model.underway(), Some(DeedKind::Answer));
    for key in ['a', 'd', 'i', '1'] {
        assert_eq!(person.letter(&mut model, key), None, "{key} is not heard now");
    }
    model.told(Some("no".to_owned()));
    assert_eq!(underway(&model), (None, Some("no")));
    assert!(matches!(person.letter(&mut model, 'i'), Some(Asked::Interrupt(_))));
    assert_eq!(underway(&model), (Some(DeedKind::Interrupt), None));
    assert_eq!(person.types(&mut model, KeyCode::Down), None);
    assert_eq!(model.chosen().unwrap().1.id.as_str(), "runs", "others can be looked at meanwhile");
    model.told(Some("no".to_owned()));
    assert_eq!(underway(&model), (None, Some("Write the file: no")), "it is of another session");
}

#[test]
fn trouble_goes_with_the_question_and_the_session_that_it_was_about() {
    let (mut model, mut person) = (Model::default(), Person::new());
    let trouble = |model: &mut Model, person: &mut Person| {
        model.look(sight(asking(question(1))));
        assert_eq!(person.letter(model, 'a'), None);
        model.look(sight(asking(question(1))));
        assert_eq!(model.trouble(), Some("answer with the number of an option"));
    };
    trouble(&mut model, &mut person);
    model.look(sight(asking(question(2))));
    assert_eq!(model.trouble(), None, "another question");
    trouble(&mut model, &mut person);
    model.look(sight(vec![session("asks", "Ask me", SessionState::Idle)]));
    assert_eq!(model.trouble(), None, "no question");
    trouble(&mut model, &mut person);
    model.look(sight(vec![session("other", "Other", SessionState::Idle)]));
    assert_eq!(model.trouble(), None, "another session");
    // What came of an answer is told of that, whatever is asked by then.
    model.look(sight(asking(request())));
    assert!(matches!(person.letter(&mut model, 'a'), Some(Asked::Answer(..))));
    model.look(sight(asking(question(8))));
    model.told(Some("too late".to_owned()));
    assert_eq!(model.trouble(), Some("Write a.txt: too late"));
    model.look(sight(asking(question(9))));
    assert_eq!(model.trouble(), None);
}

#[test]
fn what_is_under_way_at_the_end_is_waited_for_and_not_for_ever() {
    let ending = || {
        let (mut model, mut person) = (model(), Person::new());
        assert!(matches!(person.letter(&mut model, 'a'), Some(Asked::Answer(..))));
        assert_eq!((person.letter(&mut model, 'q'), model.over()), (None, None));
        assert!(model.is_ending());
        (model, person)
    };
    let (mut model, _) = ending();
    model.told(None);
    assert_eq!(model.over(), Some(&Over::Done));
    let (mut model, _) = ending();
    model.told(Some("too late".to_owned()));
    assert_eq!(model.over(), Some(&Over::NotDone("too late".to_owned())));
    let (mut model, person) = ending();
    assert_eq!(model.due(), Some(person.now + PATIENCE));
    model.pass(person.now + PATIENCE / 2);
    assert_eq!(model.over(), None);
    model.pass(person.now + PATIENCE);
    assert_eq!(model.over(), Some(&Over::Unconfirmed(DeedKind::Answer)));
    let (mut model, mut person) = ending();
    person.letter(&mut model, 'q');
    assert_eq!(model.over(), Some(&Over::Unconfirmed(DeedKind::Answer)), "the second does not wait");
}

#[test]
fn what_is_old_does_not_go_on() {
    let runs = || {
        let mut runs = session("runs", "Run", SessionState::Running);
        runs.running_since = Some(Timestamp(0));
        let rates = BTreeMap::from([("runs".into(), 42)]);
        Sight { rates, ..sight(vec![runs]) }
    };
    let mut model = Model::default();
    let shown = |model: &Model| (model.rows[0].turn_seconds, model.rows[0].tokens_per_second);
    model.look(Sight { now: Timestamp(5_000), ..runs() });
    assert_eq!(shown(&model), (Some(5), Some(42)));
    model.look(Sight { now: Timestamp(9_000), link: Link::Away, ..runs() });
    assert_eq!(shown(&model), (Some(5), None));
    model.look(Sight { now: Timestamp(9_000), ..runs() });
    assert_eq!(shown(&model), (Some(9), Some(42)));
}

#[test]
fn what_was_chosen_of_a_question_is_said_of_no_other() {
    let (mut model, mut person) = (Model::default(), Person::new());
    model.look(sight(asking(question(1))));
    assert_eq!(person.letter(&mut model, '1'), None);
    assert_eq!(said(&model)[1..], ["  1 [x] One", "  2 [ ] Two", "  Enter: these"]);
    model.look(sight(asking(question(2))));
    assert_eq!(said(&model)[1..], ["  1 [ ] One", "  2 [ ] Two", "  Enter: these"]);
    assert_eq!(person.types(&mut model, KeyCode::Enter), None);
    assert_eq!(model.trouble(), Some("nothing is chosen"));
    assert_eq!(person.letter(&mut model, '2'), None);
    assert_eq!(model.trouble(), None, "the next key takes it away");
    let answers = [("Which?".to_owned(), "Two".to_owned())].into();
    let verdict = Verdict::Answers(jackfield_api::command::Answers { answers });
    let answer = Answer { pending_id: PendingId(2), verdict };
    assert_eq!(person.types(&mut model, KeyCode::Enter), Some(Asked::Answer("asks".into(), answer)));
}

#[test]
fn each_of_several_questions_has_to_be_looked_at() {
    let mut asked = question(1);
    asked.questions[0].multi_select = false;
    asked.questions.push(asked.questions[0].clone());
    let (mut model, mut person) = (Model::default(), Person::new());
    model.look(sight(asking(asked)));
    assert_eq!(person.letter(&mut model, '1'), None);
    assert_eq!(said(&model)[0], "? Which? (2 of 2)");
    person.sees(&mut model);
    assert_eq!(model.key(KeyCode::Char('2'), person.now), None, "it has just appeared");
    assert!(matches!(person.letter(&mut model, '2'), Some(Asked::Answer(..))));
}

#[test]
fn a_session_that_nobody_has_chosen_is_not_interrupted_before_it_was_seen() {
    let (mut model, mut person) = (model(), Person::new());
    person.types(&mut model, KeyCode::Down);
    person.sees(&mut model);
    let left =
        || vec![session("idle", "Ready", SessionState::Idle), session("runs", "Run", SessionState::Running)];
    model.look(sight(left()));
    let before = person.now + SETTLED;
    assert_eq!(
        model.key(KeyCode::Char('i'), before),
        Some(Asked::Interrupt("runs".into())),
        "it is there still"
    );
    model.told(None);
    // It is deleted elsewhere.
    model.look(sight(left()[..1].to_vec()));
    assert_eq!(model.chosen().unwrap().1.id.as_str(), "idle");
    let refused = |model: &mut Model, at| {
        assert_eq!(model.key(KeyCode::Char('i'), at), None);
        assert!(
            model.trouble().unwrap().starts_with("nobody has chosen this session"),
            "{:?}",
            model.trouble()
        );
    };
    refused(&mut model, before + SETTLED * 9);
    // It was pressed before the other was drawn, and is read afterwards.
    person.now = before + SETTLED * 9;
    person.sees(&mut model);
    refused(&mut model, before);
    // One that is held down means nothing; what is seen unchanged for long enough can be meant.
    for _ in 0..100 {
        person.now += SETTLED / 9;
        person.sees(&mut model);
        refused(&mut model, person.now);
    }
    assert_eq!(person.letter(&mut model, 'i'), Some(Asked::Interrupt("idle".into())));
}

#[test]
fn the_chosen_session_stays_chosen_where_ever_it_stands() {
    let (mut model, now) = (model(), Instant::now());
    model.key(KeyCode::Down, now);
    let runs = session("runs", "Think about it", SessionState::Ended);
    let other = session("other", "New", SessionState::Idle);
    model.look(sight(vec![runs, other]));
    assert_eq!(model.chosen().unwrap().0, 1);
    model.look(sight(Vec::new()));
    assert_eq!(model.chosen(), None);
    assert_eq!(model.key(KeyCode::Char('i'), now), None);
}
