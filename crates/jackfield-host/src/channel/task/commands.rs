//! What a session's task does with a command: at once, by the run, or not at all.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use jackfield_api::command::{Command, Prompt, Rejection, RejectionCode, RewindScope};
use jackfield_api::snapshot::SessionState;
use tokio::time::Instant;

use super::{Ask, Effect, Ending, Finished, From, Run, Task};
use crate::channel::{Answer, gone, reject, run};
use crate::client::Client;
use crate::feed::Room;
use crate::settings::Bypass;

impl Task {
    pub(super) fn asked(&mut self, ask: Ask) {
        self.wanted = Instant::now();
        match ask {
            Ask::Command(_, _, answer) if self.ending.is_some() => drop(answer.send(Err(gone()))),
            Ask::Command(client, command, answer) => self.command(client, *command, answer),
            Ask::Snapshot(to) => {
                let _ = to.send(self.book.transcript.snapshot().clone());
            }
            Ask::Record(to) => {
                let _ = to.send(self.book.record.clone());
            }
            Ask::Warm(trace) => {
                // A CLI is told its trace when it is started; it is the prompt that brings it.
                let traced = self.observed.as_ref().is_some_and(|observed| observed.traces());
                let free = matches!(self.run, Run::None) && self.ending.is_none() && !traced;
                // Nobody has to make room for what was not asked for yet.
                let room = || self.shared.feed.room(self.shared.settings.max_running);
                if free && room() == Room::Free && self.refuse_prompt().is_none() {
                    self.start_in(trace, From::Last, Vec::new());
                }
            }
            Ask::Yield => {
                if self.is_idle() {
                    self.close(None);
                } else {
                    // It has found something to do.
                    self.shared.feed.tell(self.book.record.summary.clone(), self.book.asked_at());
                }
            }
            Ask::End(ending, done) => {
                let (how, waiting) = self.ending.get_or_insert((ending, Vec::new()));
                if ending == Ending::Deleted {
                    *how = ending;
                }
                waiting.push(done);
                self.close(None);
            }
        }
    }

    pub(super) fn command(&mut self, client: Client, command: Command, answer: Answer) {
        match self.begin(client, command, answer) {
            Ok(()) => {}
            Err((answer, rejection)) => drop(answer.send(Err(rejection))),
        }
    }

    /// Does a command, or says at once why not.
    fn begin(&mut self, client: Client, command: Command, answer: Answer) -> Result<(), (Answer, Rejection)> {
        match &command {
            Command::Rename(rename) => {
                let title = rename.title.trim();
                if title.is_empty() {
                    return Err((answer, reject(RejectionCode::Invalid, "the title is empty")));
                }
                title.clone_into(&mut self.book.record.summary.title);
                self.book.record.create.title = Some(title.to_owned());
                self.keep_record(answer);
                return Ok(());
            }
            Command::Archive(archive) => {
                self.book.record.summary.archived = archive.archived;
                self.keep_record(answer);
                return Ok(());
            }
            Command::SetBudget(budget) => {
                if budget.max_budget_usd.is_some_and(|dollars| !(dollars.is_finite() && dollars >= 0.0)) {
                    return Err((answer, reject(RejectionCode::Invalid, "a budget is a number of dollars")));
                }
                self.book.record.summary.max_budget_usd = budget.max_budget_usd;
                self.book.record.create.max_budget_usd = budget.max_budget_usd;
                self.keep_record(answer);
                return Ok(());
            }
            Command::SetDirectories(set) => {
                if let Some(rejection) = run::refuse_directories(&set.directories) {
                    return Err((answer, rejection));
                }
                self.book.record.create.directories.clone_from(&set.directories);
                self.keep_record(answer);
                return Ok(());
            }
            Command::Close(_) if !matches!(self.run, Run::Starting(_)) => {
                self.close(Some(answer));
                return Ok(());
            }
            Command::Retry(_) => return self.retry(client.trace, answer),
            Command::SetMode(set)
                if set.permission_mode == "bypassPermissions"
                    && self.shared.settings.bypass != Bypass::Allowed =>
            {
                let reason = "`bypassPermissions` can only be allowed in the configuration of the host";
                return Err((answer, reject(RejectionCode::Forbidden, reason)));
            }
            Command::Answer(given) => {
                let pending = &self.book.transcript.snapshot().pending;
                let asked = pending.iter().find(|asked| asked.pending_id == given.pending_id);
                // What is not asked any more is refused as late, further down.
                if let Some(Err(rejection)) =
                    asked.map(|asked| client.check_remembered(&given.verdict, asked))
                {
                    return Err((answer, rejection));
                }
            }
            Command::Prompt(_) => {
                if let Some(rejection) = self.refuse_prompt() {
                    return Err((answer, rejection));
                }
                self.limit_ends = None;
                if self.book.record.summary.archived {
                    self.book.record.summary.archived = false;
                    self.book.changed = true;
                }
            }
            Command::Rewind(rewind) if rewind.scope != RewindScope::Files => {
                return Err((
                    answer,
                    reject(RejectionCode::Elsewhere, "only the host can copy a conversation"),
                ));
            }
            _ => {}
        }
        let starts = matches!(command, Command::Prompt(_) | Command::Rewind(_) | Command::Mcp(_));
        match &mut self.run {
            // It came too late for this run, and is the beginning of the next one.
            Run::Live(live) if live.closing && starts => {
                let (_, waiting) = self.next_run.get_or_insert_with(|| (From::Last, Vec::new()));
                waiting.push((client, command, answer));
                Ok(())
            }
            Run::Live(live) => {
                match &mut live.opening {
                    Some(opening) => opening.waiting.push((client, command, answer)),
                    None => self.perform(client, command, answer),
                }
                Ok(())
            }
            Run::Starting(waiting) => {
                waiting.push((client, command, answer));
                Ok(())
            }
            Run::None if starts => {
                self.start(From::Last, vec![(client, command, answer)]);
                Ok(())
            }
            Run::None => match command {
                Command::SetMode(set) => {
                    self.take_effect(Effect::Mode(set.permission_mode));
                    self.keep_record(answer);
                    Ok(())
                }
                Command::SetModel(set) => {
                    self.take_effect(Effect::Model(set.model));
                    self.keep_record(answer);
                    Ok(())
                }
                Command::SetThinking(set) => {
                    self.take_effect(Effect::Thinking(set.max_thinking_tokens));
                    self.keep_record(answer);
                    Ok(())
                }
                Command::SetEffort(set) => {
                    self.take_effect(Effect::Effort(set.effort));
                    self.keep_record(answer);
                    Ok(())
                }
                Command::Answer(given) => Err((answer, self.book.too_late(given.pending_id))),
                _ => Err((answer, reject(RejectionCode::NotNow, "nothing runs in this session"))),
            },
        }
    }

    /// Why no turn may begin now.
    pub(super) fn refuse_prompt(&self) -> Option<Rejection> {
        if self.again.is_some() {
            let reason = "the host cannot store anything at the moment: is the disk full?";
            return Some(reject(RejectionCode::NotNow, reason));
        }
        if let Some(left) = run::budget_left(&self.book.record.summary)
            && left <= 0.0
        {
            let budget = self.book.record.summary.max_budget_usd.unwrap_or_default();
            let reason = format!("the session's budget of ${budget} is used up; raise it to go on");
            return Some(reject(RejectionCode::Forbidden, reason));
        }
        if matches!(self.run, Run::None) { self.refuse_run() } else { None }
    }

    /// Why no run may begin now. If it may, its room is taken, and whoever has to leave for it is asked to.
    fn refuse_run(&self) -> Option<Rejection> {
        let most = self.shared.settings.max_running;
        match self.shared.feed.take_room(most, &self.book.record.summary.session_id) {
            Room::Free => None,
            Room::Of(idle) => {
                let shared = Arc::clone(&self.shared);
                tokio::spawn(async move {
                    if let Some(channel) = shared.registry.get(&idle).await {
                        channel.yield_run().await;
                    }
                });
                None
            }
            Room::None => {
                let reason = format!(
                    "{most} sessions are at work, and no more may be (`limits.max_running_sessions`); \
                     wait for one of them, or close it"
                );
                Some(reject(RejectionCode::NotNow, reason))
            }
        }
    }

    /// Hands a command to the run.
    pub(super) fn perform(&mut self, client: Client, command: Command, answer: Answer) {
        let Run::Live(live) = &self.run else { return };
        let session = live.session.clone();
        let effect = match &command {
            Command::SetMode(set) => Effect::Mode(set.permission_mode.clone()),
            Command::SetModel(set) => Effect::Model(set.model.clone()),
            Command::SetThinking(set) => Effect::Thinking(set.max_thinking_tokens),
            Command::SetEffort(set) => Effect::Effort(set.effort.clone()),
            Command::Answer(given) => Effect::Answer(given.pending_id),
            _ => Effect::None,
        };
        if let Some(observed) = &mut self.observed {
            match (&command, client.trace.clone()) {
                (Command::Prompt(prompt), Some(given)) => observed.prompted(&prompt.uuid, given),
                (Command::EditQueued(edit), given) => observed.edited(&edit.uuid, &edit.with.uuid, given),
                _ => {}
            }
        }
        if let Command::Prompt(prompt) = &command {
            self.keep_prompt(prompt);
        }
        let performed = async move {
            let result = session.command_by(client.by(), command).await;
            Finished::Command(answer, result.map_err(|refused| refused.0), effect)
        };
        // Looked at once here, so that commands reach the run in the order in which they came.
        let mut performed = Box::pin(performed);
        match poll_once(&mut performed) {
            Some(finished) => self.finished(finished),
            None => drop(self.doing.spawn(performed)),
        }
    }

    fn keep_prompt(&mut self, prompt: &Prompt) {
        if self.book.transcript.snapshot().state != SessionState::Running {
            self.told.clear();
        }
        self.told.push(prompt.clone());
    }
}

/// Lets a future do what it can at once.
pub(super) fn poll_once<T>(future: &mut Pin<Box<impl Future<Output = T>>>) -> Option<T> {
    let mut context = Context::from_waker(Waker::noop());
    match future.as_mut().poll(&mut context) {
        Poll::Ready(done) => Some(done),
        Poll::Pending => None,
    }
}
