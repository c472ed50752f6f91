//! What the view shows, and what keys mean.
//!
//! Plain values: no terminal, no clock, no host. One thing is done at a time. The one rule it keeps: a key means the
//! session and the question that are seen when it is pressed, and nothing that came in between.

use std::collections::BTreeMap;

use jackfield_api::command::Answer;
use jackfield_api::host::{SessionProcess, SessionSummary};
use jackfield_api::permission::PermissionRequest;
use jackfield_api::snapshot::SessionState;
use jackfield_api::{PendingId, SessionId, Timestamp};
use ratatui::crossterm::event::KeyCode;

use super::answering::{Answering, Heard};

/// What the view shows.
#[derive(Debug, Default)]
pub(super) struct Model {
    pub(super) rows: Vec<Row>,
    /// The chosen session.
    pub(super) chosen: Option<SessionId>,
    /// What is being done.
    pub(super) underway: Option<&'static str>,
    /// Why the last thing was not done.
    pub(super) trouble: Option<String>,
    /// The question that answers were chosen of, and these.
    answering: Option<(SessionId, PendingId, Answering)>,
}

/// One session.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Row {
    pub(super) id: SessionId,
    pub(super) title: String,
    pub(super) state: State,
    pub(super) model: String,
    /// How long the turn has run, in seconds.
    pub(super) turn_seconds: Option<u64>,
    pub(super) tokens_per_second: Option<u64>,
    pub(super) cost_usd: f64,
    /// How full the context is, in per cent.
    pub(super) context: Option<u64>,
    pub(super) memory_bytes: Option<u64>,
    /// Open questions.
    pub(super) questions: Vec<PermissionRequest>,
}

/// How a session stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum State {
    Asks,
    Runs,
    Idle,
    Ended,
}

impl State {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Asks => "asks",
            Self::Runs => "runs",
            Self::Idle => "idle",
            Self::Ended => "ended",
        }
    }
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Asked {
    End,
    Interrupt(SessionId),
    Answer(SessionId, Answer),
}

impl Model {
    /// Everything stands like this now. Those who wait for an answer come first, then those who work.
    pub(super) fn look(
        &mut self,
        sessions: Vec<SessionSummary>,
        processes: &[SessionProcess],
        rates: &BTreeMap<SessionId, u64>,
        now: Timestamp,
    ) {
        self.rows = sessions.into_iter().map(|session| row(session, processes, rates, now)).collect();
        // Stable, so that sessions of one kind stay as the host lists them: the newest first.
        self.rows.sort_by_key(|row| row.state);
        let is_there = self.chosen.as_ref().is_some_and(|id| self.rows.iter().any(|row| row.id == *id));
        if !is_there {
            self.chosen = self.rows.first().map(|row| row.id.clone());
        }
    }

    /// What was done, or why not.
    pub(super) fn told(&mut self, trouble: Option<String>) {
        self.underway = None;
        self.trouble = trouble;
    }

    /// The chosen row.
    pub(super) fn chosen(&self) -> Option<(usize, &Row)> {
        self.rows.iter().enumerate().find(|(_, row)| Some(&row.id) == self.chosen.as_ref())
    }

    /// What a key asks for.
    pub(super) fn key(&mut self, key: KeyCode) -> Option<Asked> {
        self.trouble = None;
        match key {
            KeyCode::Char('q') | KeyCode::Esc => return Some(Asked::End),
            KeyCode::Down | KeyCode::Char('j') => self.choose(1),
            KeyCode::Up | KeyCode::Char('k') => self.choose(-1),
            // What it would mean is not seen: there stands what is being done.
            _ if self.underway.is_some() => {}
            KeyCode::Char('i') => {
                let (_, row) = self.chosen()?;
                let id = row.id.clone();
                self.underway = Some("interrupting …");
                return Some(Asked::Interrupt(id));
            }
            key => return self.answer(key),
        }
        None
    }

    /// The first question of the chosen session: what is asked, and what may be chosen, in lines.
    pub(super) fn question(&self) -> Vec<String> {
        let Some((id, request)) = self.asked() else { return Vec::new() };
        match &self.answering {
            Some((of, asked, answering)) if (of, *asked) == (id, request.pending_id) => {
                answering.words(request)
            }
            _ => Answering::default().words(request),
        }
    }

    fn asked(&self) -> Option<(&SessionId, &PermissionRequest)> {
        let (_, row) = self.chosen()?;
        row.questions.first().map(|request| (&row.id, request))
    }

    /// What a key says to it.
    fn answer(&mut self, key: KeyCode) -> Option<Asked> {
        let (id, request) = self.asked().map(|(id, request)| (id.clone(), request.clone()))?;
        let pending_id = request.pending_id;
        let begun = self.answering.take().filter(|(of, asked, _)| (of, *asked) == (&id, pending_id));
        let mut answering = begun.map_or_else(Answering::default, |(_, _, answering)| answering);
        match answering.hear(&request, key) {
            Heard::Verdict(verdict) => {
                self.underway = Some("answering …");
                return Some(Asked::Answer(id, Answer { pending_id, verdict }));
            }
            Heard::Nothing => {}
            Heard::Not(why) => self.trouble = Some(why.to_owned()),
        }
        self.answering = Some((id, pending_id, answering));
        None
    }

    fn choose(&mut self, step: isize) {
        let at = self.chosen().map_or(0, |(at, _)| at);
        let last = self.rows.len().saturating_sub(1);
        let next = at.saturating_add_signed(step).min(last);
        self.chosen = self.rows.get(next).map(|row| row.id.clone());
    }
}

fn row(
    session: SessionSummary,
    processes: &[SessionProcess],
    rates: &BTreeMap<SessionId, u64>,
    now: Timestamp,
) -> Row {
    let state = match session.state {
        SessionState::Ended => State::Ended,
        SessionState::Idle => State::Idle,
        SessionState::Running if session.pending.is_empty() => State::Runs,
        SessionState::Running => State::Asks,
    };
    let turn_seconds = session.running_since.filter(|_| session.state == SessionState::Running);
    let context = session
        .context_window
        .as_ref()
        .map(|window| window.context_window_used.saturating_mul(100) / window.context_window_size.max(1));
    let memory = processes.iter().find(|process| process.session_id == session.session_id);
    Row {
        title: session.title,
        state,
        model: session.model.unwrap_or_default(),
        turn_seconds: turn_seconds.map(|since| now.0.saturating_sub(since.0) / 1000),
        tokens_per_second: rates.get(&session.session_id).copied(),
        cost_usd: session.total_cost_usd,
        context,
        memory_bytes: memory.map(|process| process.memory_bytes),
        questions: session.pending,
        id: session.session_id,
    }
}

#[cfg(test)]
pub(super) mod tests {
    #![allow(clippy::unwrap_used)]

    use jackfield_api::command::{Allow, Deny, Verdict};
    use jackfield_api::permission::{PermissionKind, Question, QuestionOption};
    use jackfield_api::usage::ContextWindow;

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
        PermissionRequest {
            pending_id,
            kind: PermissionKind::Question,
            questions: vec![question],
            ..request()
        }
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
        model.look(vec![ended, runs, idle, asks], &processes, &rates, Timestamp(125_000));
        model
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
        let mut model = model();
        let mut verdict = |letter: char| {
            let Some(Asked::Answer(id, Answer { pending_id, verdict })) = model.key(KeyCode::Char(letter))
            else {
                panic!("no answer");
            };
            assert_eq!((id.as_str(), pending_id), ("asks", PendingId(7)));
            model.told(None);
            verdict
        };
        assert_eq!(verdict('a'), Verdict::Allow(Allow::default()));
        assert!(matches!(verdict('d'), Verdict::Deny(Deny { interrupt: false, .. })));
        assert_eq!(model.key(KeyCode::Down), None);
        assert_eq!(model.key(KeyCode::Char('a')), None, "there is no question");
        assert_eq!(model.key(KeyCode::Char('i')), Some(Asked::Interrupt("runs".into())));
        model.told(None);
        assert_eq!(model.key(KeyCode::Char('q')), Some(Asked::End));
        for _ in 0..10 {
            model.key(KeyCode::Down);
        }
        assert_eq!(model.chosen().unwrap().1.id.as_str(), "ended");
        for _ in 0..10 {
            model.key(KeyCode::Up);
        }
        assert_eq!(model.chosen().unwrap().1.id.as_str(), "asks");
    }

    #[test]
    fn one_thing_is_done_at_a_time_and_its_trouble_is_told() {
        let mut model = model();
        assert!(matches!(model.key(KeyCode::Char('a')), Some(Asked::Answer(..))));
        assert_eq!(model.underway, Some("answering …"));
        for key in ['a', 'd', 'i', '1'] {
            assert_eq!(model.key(KeyCode::Char(key)), None, "{key} is not heard now");
        }
        assert_eq!(model.key(KeyCode::Down), None);
        assert_eq!(model.chosen().unwrap().1.id.as_str(), "runs", "others can be looked at meanwhile");
        assert_eq!(model.key(KeyCode::Char('q')), Some(Asked::End));
        model.told(Some("no".to_owned()));
        assert_eq!((model.underway, model.trouble.as_deref()), (None, Some("no")));
        assert!(matches!(model.key(KeyCode::Char('i')), Some(Asked::Interrupt(_))));
        assert_eq!((model.underway, model.trouble.as_deref()), (Some("interrupting …"), None));
    }

    #[test]
    fn what_was_chosen_of_a_question_is_said_of_no_other() {
        let mut model = model();
        let look = |model: &mut Model, pending_id: u64| {
            let mut asks = session("asks", "Ask me", SessionState::Running);
            asks.pending.push(question(pending_id));
            model.look(vec![asks], &[], &BTreeMap::new(), Timestamp(0));
        };
        look(&mut model, 1);
        assert_eq!(model.key(KeyCode::Char('1')), None);
        assert_eq!(model.question()[1..], ["1 [x] One", "2 [ ] Two", "Enter: these"]);
        look(&mut model, 2);
        assert_eq!(model.question()[1..], ["1 [ ] One", "2 [ ] Two", "Enter: these"]);
        assert_eq!(model.key(KeyCode::Enter), None);
        assert_eq!(model.trouble.as_deref(), Some("nothing is chosen"));
        assert_eq!(model.key(KeyCode::Char('2')), None);
        assert_eq!(model.trouble, None, "the next key takes it away");
        let answers = [("Which?".to_owned(), "Two".to_owned())].into();
        let verdict = Verdict::Answers(jackfield_api::command::Answers { answers });
        let answer = Answer { pending_id: PendingId(2), verdict };
        assert_eq!(model.key(KeyCode::Enter), Some(Asked::Answer("asks".into(), answer)));
    }

    #[test]
    fn the_chosen_session_stays_chosen_where_ever_it_stands() {
        let mut model = model();
        model.key(KeyCode::Down);
        let runs = session("runs", "Think about it", SessionState::Ended);
        let other = session("other", "New", SessionState::Idle);
        model.look(vec![runs, other], &[], &BTreeMap::new(), Timestamp(0));
        assert_eq!(model.chosen().unwrap().0, 1);
        model.look(Vec::new(), &[], &BTreeMap::new(), Timestamp(0));
        assert_eq!(model.chosen(), None);
        assert_eq!(model.key(KeyCode::Char('i')), None);
    }
}
