//! The demo agent behind the SDK, and behind plain pipes.
//!
//! The one rule: every session is watched to its very end, and everything that opened in it was closed.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::Stdio;
use std::time::Duration;

use jackfield_api::command::{Allow, Answers, Deny, Verdict};
use jackfield_api::permission::{PermissionKind, PermissionRequest};
use jackfield_api::{Body, Event, SharedEvent, Timestamp};
use jackfield_core::{Exit, Input, Launch, Options as MachineOptions, Output, Session as Machine};
use jackfield_sdk::{Callbacks, Events, Options, Pace, Session};
use jackfield_wire::decode;
use tempfile::TempDir;
use tokio::time::timeout;

use super::ledger::Ledger;
use crate::program::jackfield;

/// Nothing here waits for its time; an agent that hangs must not hang the tests.
const PATIENCE: Duration = Duration::from_mins(2);

/// How fast the agent is.
#[derive(Clone, Copy)]
pub(super) enum Speed {
    /// Without any waiting.
    AtOnce,
    /// Slower than natural, so that there is something to interrupt, however busy the machine is.
    Slow,
}

/// A session with the demo agent.
pub(super) struct Demo {
    pub(super) session: Session,
    events: Events,
    pub(super) seen: Vec<SharedEvent>,
    _folder: TempDir,
}

impl Demo {
    pub(super) async fn start(speed: Speed, change: impl FnOnce(Options) -> Options) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let speed = match speed {
            Speed::AtOnce => "0",
            Speed::Slow => "0.25",
        };
        let options = Options::new(folder.path())
            .claude(env!("CARGO_BIN_EXE_jackfield"))
            .first_arguments(["demo-agent"])
            .variable("JACKFIELD_DEMO_SPEED", speed)
            .locks(folder.path().join("locks"));
        let session = Session::start(change(options), Callbacks::new()).await.unwrap();
        let events = session.events(Pace::Lossless);
        Self { session, events, seen: Vec::new(), _folder: folder }
    }

    /// Reads on, answering questions, until this many turns are over since the beginning.
    pub(super) async fn until_turns(&mut self, turns: usize, verdict: fn(&PermissionRequest) -> Verdict) {
        let over = |seen: &[SharedEvent]| count(seen, "complete") >= turns || count(seen, "run_ended") > 0;
        while !over(&self.seen) {
            let event = self.next().await.unwrap();
            if let Body::PermissionRequest(request) = &event.body {
                self.session.answer(request.pending_id, verdict(request)).await.unwrap();
            }
        }
    }

    /// Reads on until an event of this type came.
    pub(super) async fn until(&mut self, tag: &str) -> SharedEvent {
        loop {
            let event = self.next().await.unwrap();
            if event.body.tag() == tag {
                return event;
            }
        }
    }

    /// Says something and reads on to the end of its turn.
    pub(super) async fn play(&mut self, prompt: &str, verdict: fn(&PermissionRequest) -> Verdict) {
        let turns = count(&self.seen, "complete") + 1;
        self.session.prompt(prompt).await.unwrap();
        self.until_turns(turns, verdict).await;
    }

    /// Ends the session and gives all there was, checked.
    pub(super) async fn finish(mut self) -> Vec<SharedEvent> {
        self.session.close().await;
        while self.next().await.is_some() {}
        let mut ledger = Ledger::default();
        for event in &self.seen {
            ledger.enter(&Output::Event(Event::clone(event)));
        }
        ledger.close();
        self.seen
    }

    async fn next(&mut self) -> Option<SharedEvent> {
        let event = timeout(PATIENCE, self.events.next()).await.expect("the agent says nothing more")?;
        self.seen.push(event.clone());
        Some(event)
    }
}

/// One scene, from start to end.
pub(super) async fn scene(prompt: &str, verdict: fn(&PermissionRequest) -> Verdict) -> Vec<SharedEvent> {
    let mut demo = Demo::start(Speed::AtOnce, |options| options).await;
    demo.play(prompt, verdict).await;
    demo.finish().await
}

/// Yes to everything, and the first option of every question.
pub(super) fn agree(request: &PermissionRequest) -> Verdict {
    if request.kind != PermissionKind::Question {
        return Verdict::Allow(Allow::default());
    }
    let first = |options: &[jackfield_api::permission::QuestionOption]| options[0].label.clone();
    let answers = request.questions.iter().map(|asked| (asked.question.clone(), first(&asked.options)));
    Verdict::Answers(Answers { answers: answers.collect() })
}

/// No to everything.
pub(super) fn refuse(_: &PermissionRequest) -> Verdict {
    Verdict::Deny(Deny { message: "rather not".to_owned(), interrupt: false })
}

pub(super) fn count(events: &[SharedEvent], tag: &str) -> usize {
    events.iter().filter(|event| event.body.tag() == tag).count()
}

pub(super) fn tags(events: &[SharedEvent]) -> BTreeSet<&'static str> {
    events.iter().map(|event| event.body.tag()).collect()
}

/// All that was said on the main thread.
pub(super) fn said(events: &[SharedEvent]) -> String {
    let text = |event: &SharedEvent| match &event.body {
        Body::MessageChunk(chunk) if event.parent_tool_call_id.is_none() => Some(chunk.text.clone()),
        _ => None,
    };
    events.iter().filter_map(text).collect()
}

/// What the agent writes when it is told this and then nothing more.
pub(super) fn output(prompts: &[&str], flags: &[&str]) -> Vec<String> {
    let mut child = jackfield(["demo-agent"])
        .args(flags)
        .env("JACKFIELD_DEMO_SPEED", "0")
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    for prompt in prompts {
        let line = serde_json::json!({ "type": "user", "message": { "role": "user", "content": prompt } });
        writeln!(stdin, "{line}").unwrap();
    }
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

/// The events of such lines.
pub(super) fn events(lines: &[String]) -> Vec<SharedEvent> {
    let mut machine = Machine::new(MachineOptions::default());
    let at = Timestamp(0);
    machine.handle(at, Input::Started(Launch::output_only()));
    for line in lines {
        machine.handle(at, Input::Line(decode(line.as_bytes())));
    }
    machine.handle(at, Input::Exited(Exit::OutputEnded));
    std::iter::from_fn(|| machine.poll())
        .filter_map(|wanted| if let Output::Event(event) = wanted { Some(event.into()) } else { None })
        .collect()
}
