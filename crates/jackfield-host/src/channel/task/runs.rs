//! A session's runs: started, over, closed, and begun anew where a turn failed.

use std::iter;
use std::sync::Arc;

use jackfield_api::command::{Command, Content, Done, Prompt, Rejection, RejectionCode, Reply};
use jackfield_api::session::Priority;
use jackfield_api::snapshot::SessionState;
use jackfield_api::socket::Scope;
use jackfield_api::trouble::Error;
use jackfield_api::{TurnNumber, Uuid};
use jackfield_observe::TraceContext;
use jackfield_sdk::{Pace, Session, StartError, Trust};
use tokio::time::Instant;

use super::{Effect, Finished, From, Live, Opening, Run, Task, Waiting};
use crate::channel::{Answer, gone, reject, run};
use crate::client::Client;
use crate::store::SessionRecord;

/// How many events there may be behind which what came of a command is found.
const READY: usize = 16_384;

impl Task {
    /// Starts a run; the commands wait for it.
    pub(super) fn start(&mut self, from: From, waiting: Vec<Waiting>) {
        let given = waiting.iter().find_map(|(client, command, _)| {
            matches!(command, Command::Prompt(_)).then(|| client.trace.clone())
        });
        self.start_in(given.flatten(), from, waiting);
    }

    /// The same as a part of a trace, if one is given.
    pub(super) fn start_in(&mut self, given: Option<TraceContext>, from: From, waiting: Vec<Waiting>) {
        self.run = Run::Starting(waiting);
        let (shared, record, last) = (Arc::clone(&self.shared), self.book.record_now(), self.seq());
        let basket = self.observed.as_ref().and_then(|observed| observed.basket());
        let (lines, watcher, trace) = (self.lines(), self.watcher(), self.place_of_next(given));
        let seen = run::Seen { lines, watcher, basket, trace };
        self.doing.spawn(async move {
            let started = run::start(&shared, &record, last, from, seen).await;
            Finished::Started(Box::new(started))
        });
    }

    /// The place in a trace of the turn that the run to be started begins with: where no spans are made, that of whoever
    /// gave the prompt.
    fn place_of_next(&mut self, given: Option<TraceContext>) -> Option<TraceContext> {
        let Some(observed) = self.observed.as_mut().filter(|observed| observed.traces()) else {
            return given;
        };
        let Run::Starting(waiting) = &self.run else { return None };
        let prompt = waiting.iter().find_map(|(_, command, _)| match command {
            Command::Prompt(prompt) => Some(&prompt.uuid),
            _ => None,
        });
        if let (Some(given), Some(uuid)) = (given, prompt) {
            observed.prompted(uuid, given);
        }
        let turn = TurnNumber(self.book.record.summary.turn.map_or(1, |turn| turn.0.saturating_add(1)));
        observed.place(turn, prompt)
    }

    fn started(&mut self, started: Result<(Session, Trust), StartError>) {
        let Run::Starting(waiting) = std::mem::replace(&mut self.run, Run::None) else { return };
        match started {
            Ok((session, trust)) => {
                self.book.record.summary.trusted = trust == Trust::Trusted;
                self.book.changed = true;
                let events = session.events(Pace::Lossless);
                self.run = Run::Live(Box::new(Live { session, events, closing: false, opening: None }));
                self.take_ready(READY);
                let begun = self.seq();
                if let Run::Live(live) = &mut self.run {
                    live.opening = Some(Opening { begun, waiting });
                }
                if self.ending.is_some() {
                    self.close(None);
                }
            }
            Err(error) => {
                self.watcher.run_is_over();
                let code = run::code(&error).to_owned();
                let reason = error.to_string();
                self.tell(Error { error: reason.clone(), code });
                for (_, _, answer) in waiting {
                    let _ = answer.send(Err(reject(RejectionCode::NotNow, reason.clone())));
                }
            }
        }
    }

    /// Tells the run what has waited for it, once the disk knows of the run.
    pub(super) fn open(&mut self) {
        let stored = self.published.last();
        let Run::Live(live) = &mut self.run else { return };
        if let Some(opening) = live.opening.take_if(|opening| opening.begun <= stored) {
            for (client, command, answer) in opening.waiting {
                self.command(client, command, answer);
            }
        }
    }

    /// Refuses what waits for a run that is told nothing.
    pub(super) fn refuse_waiting(&mut self, reason: &str) {
        if let Run::Live(live) = &mut self.run
            && let Some(opening) = &mut live.opening
        {
            for (_, _, answer) in opening.waiting.drain(..) {
                let _ = answer.send(Err(reject(RejectionCode::NotNow, reason)));
            }
        }
    }

    pub(super) fn run_is_over(&mut self) {
        self.refuse_waiting("the CLI ended before it was told anything; say it again");
        self.run = Run::None;
        self.watcher.run_is_over();
        self.wanted = Instant::now();
        match self.next_run.take() {
            Some((_, waiting)) if self.ending.is_some() => {
                for (_, _, answer) in waiting {
                    let _ = answer.send(Err(gone()));
                }
            }
            Some((from, waiting)) => self.start(from, waiting),
            None => {}
        }
    }

    pub(super) fn finished(&mut self, finished: Finished) {
        match finished {
            Finished::Started(started) => self.started(*started),
            Finished::Command(answer, result, effect) => {
                // What came of it, or why it was refused, is told already.
                self.take_ready(READY);
                let rejection = match (result, effect) {
                    (Ok(reply), effect) => {
                        self.take_effect(effect);
                        return self.book.hold(answer, reply);
                    }
                    (Err(_), Effect::Answer(id)) if self.book.is_over(id) => self.book.too_late(id),
                    (Err(rejection), _) => rejection,
                };
                let _ = answer.send(Err(rejection));
            }
            Finished::Retry(from, prompt) => match &mut self.run {
                Run::None => self.start(from, vec![*prompt]),
                // Somebody was faster.
                Run::Starting(waiting) => waiting.push(*prompt),
                // It is over, but not all of it was read yet.
                Run::Live(_) => {
                    let after = self.next_run.take().map_or_else(Vec::new, |(_, waiting)| waiting);
                    self.next_run = Some((from, iter::once(*prompt).chain(after).collect()));
                }
            },
            Finished::Closed(Some(answer)) => drop(answer.send(Ok(Reply::Done(Done {})))),
            Finished::Judged(id, judged) => self.judged(id, judged),
            Finished::Closed(None) | Finished::Saved => {}
        }
    }

    pub(super) fn take_effect(&mut self, effect: Effect) {
        let SessionRecord { summary, create } = &mut self.book.record;
        match effect {
            Effect::None | Effect::Answer(_) => return,
            Effect::Mode(mode) => {
                summary.permission_mode = Some(mode.clone());
                create.permission_mode = Some(mode);
            }
            Effect::Model(model) => create.model = model,
            Effect::Thinking(tokens) => {
                summary.max_thinking_tokens = tokens;
                create.max_thinking_tokens = tokens;
            }
            Effect::Effort(effort) => {
                summary.effort.clone_from(&effort);
                create.effort = effort;
            }
        }
        self.book.changed = true;
        self.save_record(None);
    }

    /// Begins the last turn anew, as a part of a trace if one is given.
    pub(super) fn retry(
        &mut self,
        trace: Option<TraceContext>,
        answer: Answer,
    ) -> Result<(), (Answer, Rejection)> {
        if let Some(rejection) = self.refuse_prompt() {
            return Err((answer, rejection));
        }
        let failed = self.book.record.summary.last_error.is_some()
            && self.book.transcript.snapshot().state != SessionState::Running;
        if !failed {
            return Err((answer, reject(RejectionCode::NotNow, "the last turn did not fail")));
        }
        if self.told.is_empty() {
            let reason = "what the failed turn was told is no longer known; say it again";
            return Err((answer, reject(RejectionCode::NotFound, reason)));
        }
        let prompts: Vec<Uuid> = self.told.iter().map(|prompt| prompt.uuid.clone()).collect();
        let content: Vec<Content> = self.told.iter().flat_map(|prompt| prompt.content.clone()).collect();
        let uuid = uuid::Uuid::new_v4().to_string().into();
        let prompt = Box::new(Prompt { uuid, content, priority: Priority::Next });
        let client = Client { trace, ..Client::new("retry", Scope::Admin) };
        let (shared, record) = (Arc::clone(&self.shared), self.book.record.clone());
        let session = if let Run::Live(live) = &mut self.run {
            live.closing = true;
            Some(live.session.clone())
        } else {
            None
        };
        self.doing.spawn(async move {
            if let Some(session) = session {
                session.close().await;
            }
            let from = run::before(&shared.settings, &record, &prompts).await;
            Finished::Retry(from, Box::new((client, Command::Prompt(prompt), answer)))
        });
        Ok(())
    }

    /// Ends the run; answered when it is over.
    pub(super) fn close(&mut self, answer: Option<Answer>) {
        match &mut self.run {
            Run::Live(live) => {
                live.closing = true;
                let session = live.session.clone();
                self.doing.spawn(async move {
                    session.close().await;
                    Finished::Closed(answer)
                });
            }
            Run::Starting(_) | Run::None => {
                // One that is being started is closed when it is there.
                if let Some(answer) = answer {
                    let _ = answer.send(Ok(Reply::Done(Done {})));
                }
            }
        }
    }
}
