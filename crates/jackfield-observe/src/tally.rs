//! What is counted: a fold of events to figures.
//!
//! A session counts for itself and its figures are added to the host's, so that no event waits for a lock. The one
//! rule it keeps: names that come from outside are bounded in number, and what is beyond is counted under one name.

use std::collections::BTreeMap;

use jackfield_api::tool::ToolStatus;
use jackfield_api::usage::TurnFigures;
use jackfield_api::{Body, Event, PendingId, Timestamp, ToolCallId};

use crate::histogram::Histogram;
use crate::spans::{Redact, cut, is_of_run, kind, outcome, run_end};

/// How many names from outside are told apart: models, unknown messages, states of limits.
const NAMES: usize = 64;
/// How long a name from outside may be.
const NAME: usize = 80;
/// What stands for the names beyond.
pub const OTHER: &str = "other";
/// How many calls and questions are waited for at once.
const OPEN: usize = 4096;

/// Figures, as far as they were not handed on.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tally {
    /// Events by their type, but for the two that stream.
    events: BTreeMap<&'static str, u64>,
    chunks: u64,
    thoughts: u64,
    /// Turns by how they ended.
    pub turns: BTreeMap<&'static str, u64>,
    /// Tokens and money by model.
    pub spent: BTreeMap<String, Spent>,
    /// How long questions waited, by how they ended.
    pub waits: BTreeMap<&'static str, Histogram>,
    /// How long tools took, by kind and how they ended.
    pub tools: BTreeMap<(&'static str, &'static str), Histogram>,
    /// Requests to the API that were tried again, by HTTP status.
    pub retries: BTreeMap<String, u64>,
    /// What was heard of limits, by state.
    pub limits: BTreeMap<String, u64>,
    /// Messages of types that are not known, by name.
    pub unknown: BTreeMap<String, u64>,
    /// Runs by how they ended.
    pub runs: BTreeMap<&'static str, u64>,
}

/// What a model was used for.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Spent {
    /// Tokens read that were in no cache.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
    /// Tokens read from the cache.
    pub cache_read_tokens: u64,
    /// Tokens put into the cache.
    pub cache_creation_tokens: u64,
    /// Money.
    pub cost_usd: f64,
}

/// What is open in a session: when it began, so that it can be told how long it took.
#[derive(Debug)]
pub struct Underway {
    /// Takes secrets out of names before they are counted by.
    redact: Redact,
    tools: BTreeMap<ToolCallId, (Timestamp, &'static str)>,
    questions: BTreeMap<PendingId, Timestamp>,
    /// A turn got its result; a failure may still be told.
    ended: bool,
    runs_turn: bool,
}

impl Underway {
    /// For a session in which nothing is open.
    pub fn new(redact: Redact) -> Self {
        Self { redact, tools: BTreeMap::new(), questions: BTreeMap::new(), ended: false, runs_turn: false }
    }
}

impl Tally {
    /// Counts an event. The model is the one in effect, and seldom asked for.
    #[inline]
    pub fn see<'a>(
        &mut self,
        event: &Event,
        model: impl FnOnce() -> Option<&'a str>,
        underway: &mut Underway,
    ) {
        match &event.body {
            // Nine events in ten.
            Body::MessageChunk(_) => self.chunks += 1,
            Body::Reasoning(_) => self.thoughts += 1,
            _ => self.see_rarer(event, model(), underway),
        }
    }

    fn see_rarer(&mut self, event: &Event, model: Option<&str>, underway: &mut Underway) {
        *self.events.entry(event.body.tag()).or_default() += 1;
        // The failure of a turn is told right behind its result.
        if !matches!(&event.body, Body::Error(error) if !is_of_run(error)) {
            self.settle(underway);
        }
        match &event.body {
            Body::TurnStarted(_) => {
                let ran = std::mem::replace(&mut underway.runs_turn, true);
                if ran {
                    self.turn("taken_over");
                }
            }
            Body::Complete(complete) => {
                self.spend(model, &complete.data, underway.redact);
                underway.ended = true;
                underway.runs_turn = false;
            }
            Body::Error(error) if std::mem::take(&mut underway.ended) => {
                self.turn(if error.code == "interrupted" { "interrupted" } else { "failed" });
            }
            Body::RunEnded(end) => {
                if std::mem::take(&mut underway.runs_turn) {
                    self.turn("failed");
                }
                underway.tools.clear();
                underway.questions.clear();
                *self.runs.entry(run_end(end.reason)).or_default() += 1;
            }
            Body::ToolCall(call) if underway.tools.len() < OPEN => {
                underway.tools.insert(call.tool_call_id.clone(), (event.at, kind(&call.normalized)));
            }
            Body::ToolUpdate(update) if update.tool_status != ToolStatus::Running => {
                if let Some((began, kind)) = underway.tools.remove(&update.tool_call_id) {
                    let how = if update.tool_status == ToolStatus::Complete { "complete" } else { "error" };
                    self.tools
                        .entry((kind, how))
                        .or_default()
                        .count_milliseconds(event.at.0.saturating_sub(began.0));
                }
            }
            Body::PermissionRequest(request) if underway.questions.len() < OPEN => {
                underway.questions.insert(request.pending_id, event.at);
            }
            Body::PermissionResolved(over) => {
                self.answered(over.pending_id, outcome(over.outcome), event, underway);
            }
            Body::PermissionCancelled(over) => self.answered(over.pending_id, "withdrawn", event, underway),
            Body::ApiRetry(retry) => {
                let status = retry.status.map_or_else(|| "none".to_owned(), |status| status.to_string());
                *named(&mut self.retries, &status) += 1;
            }
            Body::RateLimit(limit) => {
                *named(&mut self.limits, &label(&limit.status, underway.redact)) += 1;
            }
            Body::Unknown(unknown) => {
                *named(&mut self.unknown, &label(&unknown.tag, underway.redact)) += 1;
            }
            _ => {}
        }
    }

    /// Nothing more is told of what has happened so far.
    pub fn settle(&mut self, underway: &mut Underway) {
        if std::mem::take(&mut underway.ended) {
            self.turn("complete");
        }
    }

    /// Adds another's figures, and leaves it empty.
    pub fn take_in(&mut self, other: &mut Self) {
        let other = std::mem::take(other);
        self.chunks += other.chunks;
        self.thoughts += other.thoughts;
        for (one, more) in
            [(&mut self.events, other.events), (&mut self.turns, other.turns), (&mut self.runs, other.runs)]
        {
            for (name, count) in more {
                *one.entry(name).or_default() += count;
            }
        }
        for (one, more) in [
            (&mut self.retries, other.retries),
            (&mut self.limits, other.limits),
            (&mut self.unknown, other.unknown),
        ] {
            for (name, count) in more {
                *named(one, &name) += count;
            }
        }
        for (model, spent) in other.spent {
            named(&mut self.spent, &model).add(&spent);
        }
        for (how, waits) in other.waits {
            self.waits.entry(how).or_default().add(&waits);
        }
        for (tool, took) in other.tools {
            self.tools.entry(tool).or_default().add(&took);
        }
    }

    /// How many events of each type there were.
    pub fn events(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let streamed = [("message_chunk", self.chunks), ("reasoning", self.thoughts)];
        let streamed = streamed.into_iter().filter(|(_, count)| *count > 0);
        self.events.iter().map(|(name, count)| (*name, *count)).chain(streamed)
    }

    fn turn(&mut self, how: &'static str) {
        *self.turns.entry(how).or_default() += 1;
    }

    /// Where the CLI does not tell of models, it was the session's.
    fn spend(&mut self, model: Option<&str>, figures: &TurnFigures, redact: Redact) {
        for of_model in &figures.models {
            named(&mut self.spent, &label(&of_model.model, redact)).add(&Spent {
                input_tokens: of_model.input_tokens,
                output_tokens: of_model.output_tokens,
                cache_read_tokens: of_model.cache_read_tokens,
                cache_creation_tokens: of_model.cache_creation_tokens,
                cost_usd: of_model.cost_usd,
            });
        }
        if figures.models.is_empty() {
            named(&mut self.spent, &label(model.unwrap_or("unknown"), redact)).add(&Spent {
                input_tokens: figures.input_tokens,
                output_tokens: figures.output_tokens,
                cache_read_tokens: figures.cache_read_tokens,
                cache_creation_tokens: figures.cache_creation_tokens,
                cost_usd: figures.cost_usd,
            });
        }
    }

    fn answered(&mut self, id: PendingId, how: &'static str, event: &Event, underway: &mut Underway) {
        if let Some(asked) = underway.questions.remove(&id) {
            self.waits.entry(how).or_default().count_milliseconds(event.at.0.saturating_sub(asked.0));
        }
    }
}

impl Spent {
    fn add(&mut self, other: &Self) {
        self.input_tokens += other.input_tokens;
        self.output_tokens += other.output_tokens;
        self.cache_read_tokens += other.cache_read_tokens;
        self.cache_creation_tokens += other.cache_creation_tokens;
        self.cost_usd += other.cost_usd;
    }
}

/// A name from outside, as it may be told: without secrets, and not too long.
fn label(name: &str, redact: Redact) -> String {
    cut(name, NAME, redact)
}

/// The figure under a label, or under the one for all that are too many.
fn named<'a, T: Default>(figures: &'a mut BTreeMap<String, T>, label: &str) -> &'a mut T {
    let label = if figures.len() < NAMES || figures.contains_key(label) { label } else { OTHER };
    figures.entry(label.to_owned()).or_default()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::borrow::Cow;

    use jackfield_api::codec;
    use serde_json::{Value, json};

    use super::*;

    fn without_secret(text: &str) -> Cow<'_, str> {
        text.replace("SECRET", "").into()
    }

    #[test]
    fn names_from_outside_are_bounded() {
        let mut figures: BTreeMap<String, u64> = BTreeMap::new();
        for number in 0..1000 {
            let name = format!("{number}SECRET{}", "x".repeat(500));
            *named(&mut figures, &label(&name, without_secret)) += 1;
        }
        assert_eq!(figures.len(), NAMES + 1);
        assert_eq!(figures[OTHER], 1000 - NAMES as u64);
        assert_eq!(figures.values().sum::<u64>(), 1000);
        assert!(figures.keys().all(|name| name.len() <= NAME && !name.contains("SECRET")));
    }

    fn started() -> Value {
        json!({ "type": "turn_started", "trigger": "prompt" })
    }

    fn complete() -> Value {
        json!({ "type": "complete", "data": {
            "cost_usd": 0.0, "total_cost_usd": 0.0, "duration_ms": 1, "duration_api_ms": 1, "num_turns": 1,
            "input_tokens": 1, "output_tokens": 1, "cache_read_tokens": 0, "cache_creation_tokens": 0,
            "last_message_uuid": null, "terminal_reason": null, "permission_denials": [], "structured_output": null,
        } })
    }

    fn error(code: &str) -> Value {
        json!({ "type": "error", "code": code, "error": "e" })
    }

    fn run_ended() -> Value {
        json!({ "type": "run_ended", "reason": "closed", "exit_code": null, "stderr_tail": "" })
    }

    /// How the turns of some events are counted.
    fn turns(events: &[Value]) -> Vec<(&'static str, u64)> {
        let (mut tally, mut underway) = (Tally::default(), Underway::new(without_secret));
        for event in events {
            let mut event = event.clone();
            for (name, value) in
                [("seq", json!(1)), ("at", json!(1)), ("session_id", json!("s")), ("turn", json!(1))]
            {
                event[name] = value;
            }
            tally.see(&codec::decode(&event.to_string()).unwrap(), || None, &mut underway);
        }
        tally.settle(&mut underway);
        tally.turns.into_iter().collect()
    }

    #[test]
    fn a_turn_is_counted_once_and_by_its_own_end() {
        for code in ["wedged", "crashed", "exited", "truncated", "host_ended", "not_started"] {
            // It has got its result in spite of all, or had it before.
            for events in [
                [started(), error(code), complete(), run_ended()],
                [started(), complete(), error(code), run_ended()],
            ] {
                assert_eq!(turns(&events), [("complete", 1)], "{events:?}");
            }
            let failed = [started(), error(code), complete(), error("overloaded"), error(code), run_ended()];
            assert_eq!(turns(&failed), [("failed", 1)], "{code}");
            assert_eq!(turns(&[started(), error(code), run_ended()]), [("failed", 1)], "{code}");
            assert_eq!(turns(&[error(code), run_ended()]), [], "there was none: {code}");
            let two = [started(), complete(), error(code), run_ended(), started(), complete()];
            assert_eq!(turns(&two), [("complete", 2)], "{code}");
        }
        assert_eq!(turns(&[started(), complete(), error("interrupted")]), [("interrupted", 1)]);
        assert_eq!(turns(&[started(), complete(), error("overloaded"), run_ended()]), [("failed", 1)]);
        assert_eq!(turns(&[started(), started(), complete()]), [("complete", 1), ("taken_over", 1)]);
    }
}
