//! The machine that makes spans out of a session's events: one tree per turn.
//!
//! A turn is `streamjson.prompt`, and everything in it is inside of that; what a subagent does is inside of the tool
//! call that began it, also where it goes on in the background when call and turn are over. It reads events and changes
//! nothing. The one rule it keeps: whatever ends a turn (its result, an interrupt, the end of the run or of the host)
//! ends every span of it, exactly once.

mod clean;
mod facts;
mod inside;
mod open;
mod payload;

use std::collections::VecDeque;
use std::sync::Arc;

use jackfield_api::conversation::Trigger;
use jackfield_api::permission::PermissionOutcome;
use jackfield_api::tool::{TaskStatus, ToolStatus};
use jackfield_api::trouble::Error;
use jackfield_api::{Body, Event, Timestamp, TurnNumber, Uuid};

use crate::span::{Parent, Span, names};
use crate::trace_parent::{Sampled, Seed, TraceContext, TraceParent};
pub(crate) use facts::{is_of_run, kind, outcome, run_end};
use open::{Forest, Key, Room};
use payload::Teller;
pub(crate) use payload::cut;
pub use payload::{Payloads, Redact, Source};

/// How many prompts of others may wait for their turn.
const WAITING: usize = 64;
/// How many things may happen in one span before they are only counted.
const HAPPENINGS: usize = 64;
/// Numbers of spans from here on are turns; those below are events.
const TURNS: u64 = 1 << 63;

/// The spans of one session.
#[derive(Debug)]
pub struct Spans {
    seed: Seed,
    /// Where payloads are wanted.
    teller: Option<Teller>,
    /// Prompts that belong to somebody else's trace.
    prompted: VecDeque<(Uuid, TraceContext)>,
    forest: Forest,
    /// When the turn got its result; a failure may still be told.
    ended: Option<Timestamp>,
    model: Option<Arc<str>>,
    /// The time of the last event; it does not go back while something is open.
    now: Timestamp,
}

impl Spans {
    /// For a session in which nothing is open.
    pub fn new(seed: Seed, redact: Redact, payloads: Option<Payloads>) -> Self {
        Self {
            seed,
            teller: payloads.map(|payloads| Teller::new(payloads, redact)),
            prompted: VecDeque::new(),
            forest: Forest::new(redact),
            ended: None,
            model: None,
            now: Timestamp(0),
        }
    }

    /// A prompt belongs to somebody else's trace.
    pub fn prompted(&mut self, prompt: Uuid, trace: TraceContext) {
        self.prompted.retain(|(uuid, _)| *uuid != prompt);
        if self.prompted.len() == WAITING {
            self.prompted.pop_front();
        }
        self.prompted.push_back((prompt, trace));
    }

    /// A prompt that waits gets other words and another name. Its trace goes with it unless another one is given; it
    /// keeps it too, since the edit may come too late.
    pub fn edited(&mut self, prompt: &Uuid, with: Uuid, trace: Option<TraceContext>) {
        if let Some(trace) = trace.or_else(|| self.trace_of(prompt).cloned()) {
            self.prompted(with, trace);
        }
    }

    /// The place in a trace that a turn to come will have.
    pub fn place(&self, turn: TurnNumber, prompt: Option<&Uuid>) -> TraceContext {
        let given = prompt.and_then(|prompt| self.trace_of(prompt));
        let number = u64::from(turn.0);
        let parent = TraceParent {
            trace_id: given.map_or_else(|| self.seed.trace(number), |given| given.parent.trace_id),
            span_id: self.seed.span(TURNS | number),
            sampled: given.map_or(Sampled::Yes, |given| given.parent.sampled),
        };
        TraceContext { parent, state: given.and_then(|given| given.state.clone()) }
    }

    /// Takes an event in; what it tells of is asked for where it is wanted.
    #[inline]
    pub fn see(&mut self, event: &Event, source: &mut dyn Source) {
        // A turn's failure is told right behind the result that it belongs to.
        if self.ended.is_some() && !matches!(&event.body, Body::Error(error) if !is_of_run(error)) {
            self.settle();
        }
        // What is found after a crash happened before what is known already; nothing contains it.
        self.now = if self.forest.is_empty() { event.at } else { self.now.max(event.at) };
        let (name, item, message) = match &event.body {
            Body::MessageChunk(chunk) => (names::MESSAGE, chunk.item_id, chunk.message_id.as_ref()),
            Body::Reasoning(thought) => (names::REASONING, thought.item_id, thought.message_id.as_ref()),
            _ => return self.see_rarer(event, source),
        };
        // Nine events in ten are pieces of a block that goes on: what they say is asked for when it is over.
        if item.0 == event.seq.0 {
            self.begin_block(name, event, item, message);
        }
    }

    fn see_rarer(&mut self, event: &Event, source: &mut dyn Source) {
        match &event.body {
            Body::TurnStarted(started) => self.begin(event, started.trigger),
            Body::UserMessage(message) if event.parent_tool_call_id.is_none() => {
                self.adopt(message.uuid.as_ref());
                self.attach(&Key::Turn, event, source);
            }
            Body::SessionStatus(status) => {
                let model: Arc<str> = status.model.as_str().into();
                self.model = Some(Arc::clone(&model));
                // In the first turn of a run the CLI tells of itself when the turn runs.
                if let Some(turn) = self.forest.get(&Key::Turn) {
                    turn.say_anew(facts::MODEL, model);
                }
                self.point(names::SYSTEM.into(), event, source, facts::status(status));
            }
            Body::ModelChanged(changed) => {
                self.model = Some(changed.model.as_str().into());
                self.happened(event, source, vec![(facts::MODEL, changed.model.clone().into())]);
            }
            Body::ItemEnded(ended) => self.end_block(event, source, ended.item_id, ended.outcome),
            Body::ToolCall(call) => {
                let key = Key::Tool(call.tool_call_id.clone());
                if !self.forest.contains(&key) {
                    let attributes = [
                        (facts::OPERATION, "execute_tool".into()),
                        (facts::TOOL, call.tool_name.clone().into()),
                        (facts::TOOL_TYPE, "function".into()),
                        (facts::TOOL_CALL, call.tool_call_id.0.clone().into()),
                        (facts::KIND, kind(&call.normalized).into()),
                    ];
                    self.open(key.clone(), names::TOOL.into(), event, attributes);
                    self.attach(&key, event, source);
                }
            }
            Body::ToolUpdate(update) if update.tool_status != ToolStatus::Running => {
                let key = Key::Tool(update.tool_call_id.clone());
                self.attach(&key, event, source);
                let complete = update.tool_status == ToolStatus::Complete;
                if let Some(open) = self.forest.get(&key) {
                    open.say(facts::OUTCOME, if complete { "complete" } else { "error" });
                    if !complete {
                        open.say(facts::ERROR, "tool_error");
                        open.span.failed = Some("the tool failed, was refused, or gave no result".to_owned());
                    }
                }
                if complete {
                    self.forest.close_call(&key, self.now);
                } else {
                    self.forest.task_ended(&key, self.now);
                    self.close(&key);
                }
            }
            Body::Task(task) => {
                if let Some(call) = task.tool_call_id.clone().map(Key::Tool) {
                    match task.status {
                        TaskStatus::Running => self.forest.task_runs(call),
                        _ => self.forest.task_ended(&call, self.now),
                    }
                }
            }
            Body::PermissionRequest(request) => {
                let mut attributes = vec![(facts::KIND, facts::question(request.kind).into())];
                attributes.extend(request.tool_name.clone().map(|name| (facts::TOOL, name.into())));
                attributes
                    .extend(request.tool_call_id.as_ref().map(|id| (facts::TOOL_CALL, id.0.clone().into())));
                let key = Key::Question(request.pending_id);
                self.open(key.clone(), names::PERMISSION.into(), event, attributes);
                self.attach(&key, event, source);
            }
            Body::PermissionResolved(over) if over.outcome == PermissionOutcome::Lost => {
                self.unanswered(&Key::Question(over.pending_id), event, source, outcome(over.outcome));
            }
            Body::PermissionResolved(over) => {
                let mut answer = vec![(facts::OUTCOME, outcome(over.outcome).into())];
                answer.extend(over.by.clone().map(|by| (facts::BY, by.into())));
                let key = Key::Question(over.pending_id);
                self.answer(&key, names::PERMISSION_ANSWER.into(), event, source, answer);
            }
            Body::PermissionCancelled(over) => {
                self.unanswered(&Key::Question(over.pending_id), event, source, "withdrawn");
            }
            Body::Hook(hook) => self.hook(event, source, hook),
            Body::ContextWindow(context) => {
                self.point(names::CONTEXT.into(), event, source, facts::context(context));
            }
            Body::Complete(complete) => {
                self.point(names::COMPLETE.into(), event, source, facts::complete(complete));
                if let Some(turn) = self.forest.get(&Key::Turn) {
                    turn.say_all(facts::turn(complete));
                    // It has its result in spite of what its run came to.
                    turn.span.failed = None;
                    self.ended = Some(self.now);
                }
            }
            Body::Error(error) => self.failed(event, source, error),
            Body::RunEnded(end) => {
                let reason = run_end(end.reason);
                if let Some(turn) = self.forest.get(&Key::Turn)
                    && turn.span.attribute(facts::OUTCOME).is_none()
                {
                    turn.say(facts::OUTCOME, "failed");
                    turn.say(facts::ERROR, reason);
                    let cut_off = || format!("the run ended in the middle of the turn: {reason}");
                    turn.span.failed.get_or_insert_with(cut_off);
                }
                self.close(&Key::Turn);
                self.forest.close_all(self.now);
            }
            Body::ApiRetry(retry) => {
                let mut attributes = vec![("jackfield.attempt", retry.attempt.into())];
                attributes.extend(retry.status.map(|status| ("http.response.status_code", status.into())));
                self.happened(event, source, attributes);
            }
            Body::RateLimit(limit) => {
                self.happened(event, source, vec![(facts::OUTCOME, limit.status.clone().into())]);
            }
            Body::Unknown(unknown) => {
                self.happened(event, source, vec![(facts::KIND, unknown.tag.clone().into())]);
            }
            Body::Compaction(_) | Body::ModeChanged(_) | Body::Notice(_) | Body::Malformed(_) => {
                self.happened(event, source, Vec::new());
            }
            _ => {}
        }
    }

    /// Nothing more is told of what has happened so far: a turn that got its result is over.
    pub fn settle(&mut self) {
        if let Some(at) = self.ended.take() {
            if let Some(turn) = self.forest.get(&Key::Turn) {
                turn.came_to("complete");
            }
            self.forest.close(&Key::Turn, at);
        }
    }

    /// The session is put away: nothing stays open.
    pub fn end(&mut self, at: Timestamp) {
        self.settle();
        self.now = self.now.max(at);
        self.forest.close_all(self.now);
    }

    /// Shows the spans that are over to who takes them, if there are some: once, and children before their parents.
    pub fn hand_on(&mut self, take: impl FnOnce(&[Span])) {
        self.forest.hand_on(take);
    }

    /// How many spans are not over yet.
    pub fn open_spans(&self) -> usize {
        self.forest.len()
    }

    // ---- turns ----

    fn begin(&mut self, event: &Event, trigger: Trigger) {
        // The CLI tells of no result for a turn that another takes over.
        if let Some(turn) = self.forest.get(&Key::Turn) {
            turn.came_to("taken_over");
        }
        self.close(&Key::Turn);
        if let Some(teller) = &mut self.teller {
            teller.begin_turn();
        }
        let turn = event.turn.unwrap_or_default();
        let place = self.place(turn, None).parent;
        let trigger = match trigger {
            Trigger::Prompt => "prompt",
            Trigger::Command => "command",
            Trigger::Background => "background",
        };
        let Room { mut attributes, events, said } = self.forest.room();
        attributes.extend([
            (facts::OPERATION, "invoke_agent".into()),
            (facts::PROVIDER, "anthropic".into()),
            (facts::AGENT, "claude-code".into()),
            (facts::CONVERSATION, event.session_id.0.clone().into()),
            (facts::TURN, u64::from(turn.0).into()),
            (facts::TRIGGER, trigger.into()),
        ]);
        attributes.extend(self.model.clone().map(|model| (facts::MODEL, model.into())));
        let span = Span {
            trace_id: place.trace_id,
            trace_state: None,
            span_id: place.span_id,
            parent: Parent::None,
            name: names::PROMPT.into(),
            start: self.now,
            end: self.now,
            attributes,
            events,
            payloads: 0,
            events_left_out: 0,
            said,
            failed: None,
        };
        self.forest.open(Key::Turn, None, span);
    }

    fn trace_of(&self, prompt: &Uuid) -> Option<&TraceContext> {
        self.prompted.iter().find(|(uuid, _)| uuid == prompt).map(|(_, trace)| trace)
    }

    /// Gives the turn to the trace of whoever gave its prompt, as long as nothing is inside of it: a prompt that joins a
    /// turn later does not take it away.
    fn adopt(&mut self, prompt: Option<&Uuid>) {
        let Some(index) = self.prompted.iter().position(|(uuid, _)| Some(uuid) == prompt) else { return };
        let Some((_, TraceContext { parent, state })) = self.prompted.remove(index) else { return };
        if let Some(turn) = self.forest.get(&Key::Turn)
            && !turn.has_held
            && turn.span.parent == Parent::None
        {
            turn.span.trace_id = parent.trace_id;
            turn.span.trace_state = state;
            turn.span.parent = Parent::Remote(parent.span_id);
            if parent.sampled == Sampled::No {
                self.forest.leave_out(parent.trace_id);
            }
        }
    }

    fn failed(&mut self, event: &Event, source: &mut dyn Source, error: &Error) {
        if let Some(turn) = self.forest.get(&Key::Turn)
            && turn.span.attribute(facts::OUTCOME).is_none()
        {
            if !is_of_run(error) {
                turn.say(facts::OUTCOME, if error.code == "interrupted" { "interrupted" } else { "failed" });
                turn.say(facts::ERROR, error.code.clone());
            }
            turn.span.failed = Some(error.error.clone());
        }
        self.happened(event, source, vec![(facts::ERROR, error.code.clone().into())]);
    }
}
