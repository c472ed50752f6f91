//! What a session's task does with what happens: it folds it, hands it on, and lets the host's rules answer.

use std::path::Path;
use std::time::Duration;

use jackfield_api::command::{Allow, Answer, Deny, Verdict};
use jackfield_api::permission::{Behavior, PermissionRequest};
use jackfield_api::socket::Scope;
use jackfield_api::trouble::{Notice, NoticeLevel};
use jackfield_api::{Body, Event, PendingId, SharedEvent};
use jackfield_core::Input;
use jackfield_sdk::{Entry, Journal as _, Passed};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::{Finished, Run, Task};
use crate::channel::summary;
use crate::client::Client;
use crate::settings::AfterLimit;
use crate::{files, rules, said};

/// How many events are taken from the run at once.
const TAKEN: usize = 128;

impl Task {
    pub(super) fn events(&mut self, first: SharedEvent) {
        self.wanted = Instant::now();
        self.take_shared(first);
        self.take_ready(TAKEN);
    }

    /// Takes what the run has told by now.
    pub(super) fn take_ready(&mut self, at_most: usize) {
        let (mut taken, mut ends) = (0, false);
        // The failure of a turn is stored and told together with its end.
        while taken < at_most || ends {
            let Run::Live(live) = &mut self.run else { return };
            let Some(event) = live.events.try_next() else { return };
            ends = matches!(event.body, Body::Complete(_));
            taken += 1;
            self.take_shared(event);
        }
    }

    fn take_shared(&mut self, event: SharedEvent) {
        self.take(&event);
        if self.published.has_readers() {
            self.book.outbox.keep(event);
        }
    }

    pub(super) fn take(&mut self, event: &Event) {
        self.take_in(event);
        if matches!(event.body, Body::Complete(_)) {
            self.warn_of_budget();
        }
    }

    /// The same without the host's own words, which may have to wait for what is behind it.
    fn take_in(&mut self, event: &Event) {
        self.book.take(event);
        if let Some(observed) = &mut self.observed {
            observed.see(event, &self.book);
        }
        said::event(event);
        match &event.body {
            Body::PermissionRequest(request) => self.judge(request),
            Body::RateLimit(limit) => {
                self.shared.feed.tell_limit((**limit).clone());
                if limit.status == "rejected" {
                    self.expect_limit(limit.resets_at);
                }
            }
            _ => {}
        }
    }

    /// Tells something of the host's own. Only while nothing runs: a run counts its events itself.
    pub(super) fn tell(&mut self, body: impl Into<Body>) {
        let event = self.book.next_event(body, summary::now());
        self.take_own(&[event]);
    }

    /// Takes in what no run has told. The journal has it too, or a replay would lack it. What the host has to say of it
    /// comes behind all of it: before that the next number is that of the next of these events.
    pub(super) fn take_own(&mut self, events: &[Event]) {
        for some in events.chunks(TAKEN) {
            if self.watcher.wants_lines() {
                let (now, mut lines) = (summary::now(), Vec::new());
                for event in some {
                    Entry::write(now, &Input::Told(Box::new(event.clone())), &mut lines);
                }
                self.watcher.passed(&mut Passed::all_said(lines));
            }
            for event in some {
                self.take_in(event);
            }
        }
        if events.iter().any(|event| matches!(event.body, Body::Complete(_))) {
            self.warn_of_budget();
        }
    }

    fn notice(&mut self, level: NoticeLevel, text: String) {
        match &self.run {
            Run::Live(live) => {
                let session = live.session.clone();
                tokio::spawn(async move { session.notice(level, text).await });
            }
            _ => self.tell(Notice { level, text }),
        }
    }

    /// Asks the host's rules. Where a file that is asked about really lies is looked up, which may take a while.
    fn judge(&mut self, request: &PermissionRequest) {
        let rules = self.shared.rules.borrow().clone();
        if rules.rules.is_empty() {
            return;
        }
        let (request, folder) = (request.clone(), self.book.record.create.cwd.clone());
        let session_id = self.book.record.summary.session_id.clone();
        self.doing.spawn(async move {
            let id = request.pending_id;
            let judged = tokio::task::spawn_blocking(move || {
                let resolved = files::resolve(Path::new(&folder), &rules::files_asked_about(&request));
                let asked = rules::Asked { session_id: &session_id, folder: &folder, request: &request };
                let judgement = rules::judge_resolved(&rules, &asked, &resolved);
                let rule = judgement.rule?;
                Some((judgement.behavior, rule, rules.rules.get(rule).and_then(|rule| rule.note.clone())))
            });
            Finished::Judged(id, judged.await.ok().flatten())
        });
    }

    /// Lets a rule answer, if one has something to say.
    pub(super) fn judged(&mut self, id: PendingId, judged: Option<(Behavior, usize, Option<String>)>) {
        let Some((behavior, rule, note)) = judged else { return };
        let verdict = match behavior {
            Behavior::Ask => return,
            Behavior::Allow => Verdict::Allow(Allow::default()),
            Behavior::Deny => Verdict::Deny(Deny {
                message: note.clone().unwrap_or_else(|| "a rule of the host forbids this".to_owned()),
                interrupt: false,
            }),
        };
        let note = note.map_or_else(String::new, |note| format!(": {note}"));
        let client = Client::new(format!("rule {}{note}", rule + 1), Scope::Admin);
        let (answer, _) = oneshot::channel();
        self.perform(client, Answer { pending_id: id, verdict }.into(), answer);
    }

    fn warn_of_budget(&mut self) {
        let spent = self.book.transcript.snapshot().total_cost_usd;
        if let Some(budget) = self.book.record.summary.max_budget_usd
            && spent >= budget
        {
            let text = format!("the budget of ${budget} is used up (${spent:.2} spent); raise it to go on");
            self.notice(NoticeLevel::Warning, text);
        }
    }

    /// A limit has stopped what was wanted. Each is waited for once: one that is still there afterwards is for a
    /// person to look at.
    fn expect_limit(&mut self, resets_at: Option<u64>) {
        if self.shared.settings.after_limit == AfterLimit::Retry
            && let Some(resets_at) = resets_at
            && self.limit_seen.is_none_or(|seen| seen < resets_at)
        {
            self.limit_seen = Some(resets_at);
            let wait = resets_at.saturating_mul(1000).saturating_sub(summary::now().0);
            self.limit_ends = Some(Instant::now() + Duration::from_millis(wait));
        }
    }
}
