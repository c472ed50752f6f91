//! What the view shows, and what keys mean.
//!
//! Plain values: no terminal, no clock, no host. One thing is done at a time. The one rule it keeps: a key means the
//! session and the question that are seen when it is pressed, and nothing that came in between.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use jackfield_api::command::Answer;
use jackfield_api::host::{SessionProcess, SessionSummary};
use jackfield_api::permission::PermissionRequest;
use jackfield_api::snapshot::SessionState;
use jackfield_api::{SessionId, Timestamp};
use ratatui::crossterm::event::KeyCode;

use super::answering::{Answering, Heard, is_answer};
use super::guard::{Guard, Judged, OnScreen, Place, Shown};
use super::seen::{Known, Link};
use super::sheet::Sheet;

/// How long something that is under way is waited for when it is enough.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);

/// What the view shows.
#[derive(Debug, Default)]
pub(super) struct Model {
    pub(super) rows: Vec<Row>,
    pub(super) known: Known,
    pub(super) link: Link,
    /// The chosen session.
    pub(super) chosen: Option<SessionId>,
    /// When it was when the host was last heard of.
    clock: Timestamp,
    /// What is being done.
    underway: Option<Deed>,
    /// Why something was not done.
    trouble: Option<Trouble>,
    /// The question that answers were chosen of, and these.
    answering: Option<(Place, Answering)>,
    /// What it says, of the first question of the chosen session.
    sheet: Option<(Place, Sheet)>,
    guard: Guard,
    /// Until when what is under way is waited for, once it is enough.
    ending: Option<Instant>,
    over: Option<Over>,
}

/// How things stand.
#[derive(Debug, Default)]
pub(super) struct Sight<'a> {
    pub(super) sessions: Vec<SessionSummary>,
    pub(super) known: Known,
    pub(super) link: Link,
    pub(super) processes: &'a [SessionProcess],
    /// Tokens per second.
    pub(super) rates: BTreeMap<SessionId, u64>,
    pub(super) now: Timestamp,
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
    Interrupt(SessionId),
    Answer(SessionId, Answer),
}

/// Something that is being done, and what about.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Deed {
    kind: DeedKind,
    about: About,
    /// What that is called.
    name: String,
}

/// What is being done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DeedKind {
    Answer,
    Interrupt,
}

impl DeedKind {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Answer => "answering …",
            Self::Interrupt => "interrupting …",
        }
    }
}

/// A session, and the question that it asks first.
type About = (SessionId, Option<Place>);

/// Why something was not done. It goes when what it is about goes.
#[derive(Debug)]
struct Trouble {
    words: String,
    about: Option<About>,
}

/// How the view ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Over {
    /// Nothing is open.
    Done,
    /// This was under way, and nobody knows what came of it.
    Unconfirmed(DeedKind),
    /// The last thing was not done, for this reason.
    NotDone(String),
}

impl Model {
    /// Everything stands like this now. Those who wait for an answer come first, then those who work.
    pub(super) fn look(&mut self, sight: Sight<'_>) {
        (self.known, self.link) = (sight.known, sight.link);
        // What is old does not look as if it went on.
        let rates = match self.link {
            Link::Live => {
                self.clock = sight.now;
                sight.rates
            }
            Link::Away => BTreeMap::new(),
        };
        let sessions = sight.sessions.into_iter();
        self.rows = sessions.map(|session| row(session, sight.processes, &rates, self.clock)).collect();
        // Stable, so that sessions of one kind stay as the host lists them: the newest first.
        self.rows.sort_by_key(|row| row.state);
        let is_there = self.chosen.as_ref().is_some_and(|id| self.rows.iter().any(|row| row.id == *id));
        if !is_there {
            self.chosen = self.rows.first().map(|row| row.id.clone());
            self.guard.jumped();
        }
        self.chosen_anew();
    }

    /// This of the question is on the screen now.
    pub(super) fn drawn(&mut self, on_screen: Option<OnScreen>, at: Instant) {
        self.guard.drawn(on_screen, at);
    }

    /// What was done, or why not.
    pub(super) fn told(&mut self, trouble: Option<String>) {
        let Some(deed) = self.underway.take() else { return };
        let about = self.about();
        let words = trouble.map(|words| match &about {
            Some(about) if *about == deed.about => words,
            // What is seen by now is something else.
            _ => format!("{}: {words}", deed.name),
        });
        if self.ending.is_some() {
            self.over = Some(words.clone().map_or(Over::Done, Over::NotDone));
        }
        self.trouble = words.map(|words| Trouble { words, about });
    }

    /// It is so late.
    pub(super) fn pass(&mut self, at: Instant) {
        self.guard.pass(at);
        if let (Some(deed), Some(until)) = (&self.underway, self.ending)
            && until <= at
        {
            self.over = Some(Over::Unconfirmed(deed.kind));
        }
    }

    /// When something changes by itself.
    pub(super) fn due(&self) -> Option<Instant> {
        self.ending.into_iter().chain(self.guard.due()).min()
    }

    /// Whether it is enough, and how it ended.
    pub(super) fn over(&self) -> Option<&Over> {
        self.over.as_ref()
    }

    /// The chosen row.
    pub(super) fn chosen(&self) -> Option<(usize, &Row)> {
        self.rows.iter().enumerate().find(|(_, row)| Some(&row.id) == self.chosen.as_ref())
    }

    /// What is being done.
    pub(super) fn underway(&self) -> Option<DeedKind> {
        self.underway.as_ref().map(|deed| deed.kind)
    }

    /// Why something was not done.
    pub(super) fn trouble(&self) -> Option<&str> {
        self.trouble.as_ref().map(|trouble| trouble.words.as_str())
    }

    /// Whether it ends once what is under way is done.
    pub(super) fn is_ending(&self) -> bool {
        self.ending.is_some()
    }

    /// Whether an answer came before what it would be to had been seen, and the next would too.
    pub(super) fn is_early(&self) -> bool {
        self.guard.is_early()
    }

    /// The first question of the chosen session and what it says, unless something else stands there.
    pub(super) fn question(&self) -> Option<&(Place, Sheet)> {
        self.sheet.as_ref().filter(|_| self.underway.is_none())
    }

    /// What a key asks for that was pressed then.
    pub(super) fn key(&mut self, key: KeyCode, at: Instant) -> Option<Asked> {
        self.trouble = None;
        let asked = match key {
            KeyCode::Char('q') | KeyCode::Esc => {
                self.end(at);
                None
            }
            KeyCode::Down | KeyCode::Char('j') => self.choose(1),
            KeyCode::Up | KeyCode::Char('k') => self.choose(-1),
            // What it would mean is not seen: there stands what is being done.
            _ if self.underway.is_some() => None,
            KeyCode::Char('i') => self.interrupt(at),
            key if is_answer(key) => self.answer(key, at),
            _ => None,
        };
        self.chosen_anew();
        asked
    }

    /// It is enough, as soon as what is under way is done; or at once, if that was said before.
    fn end(&mut self, at: Instant) {
        match &self.underway {
            None => self.over = Some(Over::Done),
            Some(deed) if self.ending.is_some() => self.over = Some(Over::Unconfirmed(deed.kind)),
            Some(_) => self.ending = Some(at + PATIENCE),
        }
    }

    fn interrupt(&mut self, at: Instant) -> Option<Asked> {
        let (id, _) = self.about()?;
        if !self.guard.is_chosen(at) {
            self.refuse("nobody has chosen this session: look at it, and press again");
            return None;
        }
        self.begin(DeedKind::Interrupt);
        Some(Asked::Interrupt(id))
    }

    /// What a key says to the question.
    fn answer(&mut self, key: KeyCode, at: Instant) -> Option<Asked> {
        let (_, Some(place)) = self.about()? else { return None };
        match self.guard.judge(&place, at) {
            Judged::TooEarly => return None,
            Judged::Meant(Shown::Part) if key != KeyCode::Char('d') => {
                self.refuse("not all of it is shown: see the page");
                return None;
            }
            Judged::Meant(_) => {}
        }
        let request = self.asked()?.clone();
        let mut answering = self.answered_so_far(&place);
        match answering.hear(&request, key) {
            Heard::Verdict(verdict) => {
                self.begin(DeedKind::Answer);
                self.answering = None;
                return Some(Asked::Answer(place.session, Answer { pending_id: place.pending, verdict }));
            }
            Heard::Nothing => {}
            Heard::Not(why) => self.refuse(why),
        }
        self.answering = Some((Place { at: answering.at(), ..place }, answering));
        // What was ticked is seen.
        self.sheet = None;
        None
    }

    fn begin(&mut self, kind: DeedKind) {
        let Some(about) = self.about() else { return };
        let title = self.chosen().map(|(_, row)| row.title.clone()).unwrap_or_default();
        let name = match kind {
            DeedKind::Answer => self.asked().map_or(title, |request| request.tool_title.clone()),
            DeedKind::Interrupt => title,
        };
        self.underway = Some(Deed { kind, about, name });
    }

    fn refuse(&mut self, why: &str) {
        self.trouble = Some(Trouble { words: why.to_owned(), about: self.about() });
    }

    fn asked(&self) -> Option<&PermissionRequest> {
        self.chosen().and_then(|(_, row)| row.questions.first())
    }

    /// The chosen session and what it asks first.
    fn about(&self) -> Option<About> {
        let (_, row) = self.chosen()?;
        let place = row.questions.first().map(|request| {
            let first = Place { session: row.id.clone(), pending: request.pending_id, at: 0 };
            Place { at: self.answered_so_far(&first).at(), ..first }
        });
        Some((row.id.clone(), place))
    }

    /// What was answered of a question.
    fn answered_so_far(&self, place: &Place) -> Answering {
        let is_of = |of: &Place| (&of.session, of.pending) == (&place.session, place.pending);
        self.answering
            .as_ref()
            .filter(|(of, _)| is_of(of))
            .map(|(_, answering)| answering.clone())
            .unwrap_or_default()
    }

    /// Something else may be chosen, or asked: what was said of what is gone goes with it.
    fn chosen_anew(&mut self) {
        let about = self.about();
        if self.trouble.as_ref().is_some_and(|trouble| trouble.about != about) {
            self.trouble = None;
        }
        let place = about.and_then(|(_, place)| place);
        if self.sheet.as_ref().map(|(of, _)| of) != place.as_ref() {
            let sheet = self
                .asked()
                .zip(place.as_ref())
                .map(|(request, place)| Sheet::of(request, &self.answered_so_far(place)));
            self.sheet = place.zip(sheet);
        }
    }

    fn choose(&mut self, step: isize) -> Option<Asked> {
        let at = self.chosen().map_or(0, |(at, _)| at);
        let last = self.rows.len().saturating_sub(1);
        let next = at.saturating_add_signed(step).min(last);
        self.chosen = self.rows.get(next).map(|row| row.id.clone());
        None
    }
}

fn row(
    session: SessionSummary,
    processes: &[SessionProcess],
    rates: &BTreeMap<SessionId, u64>,
    now: Timestamp,
) -> Row {
    let state = match session.state {
        // Also between turns: a subagent in the background may ask.
        _ if !session.pending.is_empty() => State::Asks,
        SessionState::Ended => State::Ended,
        SessionState::Idle => State::Idle,
        SessionState::Running => State::Runs,
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
pub(super) mod tests;
