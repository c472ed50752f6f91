//! What a scene is made of.
//!
//! Data: nothing here speaks or waits. The one rule: what a step says of itself is all that the player needs;
//! what follows an answer is a function of that answer.

use std::time::Duration;

use serde_json::{Value, json};

/// One thing that the agent does.
#[derive(Debug)]
pub(super) enum Step {
    /// Thinks.
    Think(String),
    /// Says.
    Say(String),
    /// Calls a tool.
    Call(Box<Call>),
    /// Says the same short piece so many times, as fast as it can.
    Repeat(u64),
    /// A line of type `system`.
    System(&'static str, Value),
    /// A line of another type.
    Line(&'static str, Value),
    /// Nothing, for a while.
    Wait(Duration),
    /// The conversation is summed up.
    Compact(&'static str),
    /// A server of tools asks the person for something; what follows depends on the form that came back.
    Form(Value, fn(Option<&Value>) -> Vec<Step>),
    /// The API fails for good, and the turn with it.
    Fail { status: u16, code: &'static str, text: &'static str },
    /// The process ends, in the middle of everything.
    Crash(&'static str),
}

/// A tool call.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) tool: &'static str,
    pub(super) input: Value,
    pub(super) needs: Needs,
    pub(super) work: Work,
    pub(super) takes: Duration,
    pub(super) then: fn(&Outcome) -> Vec<Step>,
}

/// What must be allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Needs {
    /// Nothing.
    Nothing,
    /// A file is changed.
    Edit,
    /// A command, a request to somebody else, a foreign tool.
    Allowance,
    /// Only a person can answer.
    Person,
}

/// What a call does once it may.
#[derive(Debug)]
pub(super) enum Work {
    /// This comes back.
    Reply(Reply),
    /// One of the agent's own files is read, changed or written.
    File,
    /// The person's answers come back.
    Answers,
    /// Planning begins.
    EnterPlan,
    /// Planning is over.
    ExitPlan,
    /// A subagent does these steps, then reports.
    Delegate { steps: Vec<Step>, report: &'static str },
    /// It goes on in the background and comes back with these steps.
    Background { takes: Duration, then: fn() -> Vec<Step> },
}

/// What a tool gives back.
#[derive(Debug, Clone)]
pub(super) struct Reply {
    /// For the model.
    pub(super) content: Value,
    /// For the host; null where there is none.
    pub(super) structured: Value,
    pub(super) failed: bool,
}

/// What became of a call.
#[derive(Debug)]
pub(super) enum Outcome {
    /// It ran with this input.
    Done(Value),
    /// Somebody or something refused it.
    Denied(String),
}

impl Call {
    /// A call that needs nothing and is followed by nothing.
    pub(super) fn new(tool: &'static str, input: Value, work: Work) -> Self {
        let takes = Duration::from_millis(400);
        Self { tool, input, needs: Needs::Nothing, work, takes, then: |_| Vec::new() }
    }

    pub(super) fn needs(mut self, needs: Needs) -> Self {
        self.needs = needs;
        self
    }

    pub(super) fn takes(mut self, milliseconds: u64) -> Self {
        self.takes = Duration::from_millis(milliseconds);
        self
    }

    pub(super) fn then(mut self, then: fn(&Outcome) -> Vec<Step>) -> Self {
        self.then = then;
        self
    }
}

impl From<Call> for Step {
    fn from(call: Call) -> Self {
        Self::Call(Box::new(call))
    }
}

impl Reply {
    /// A success.
    pub(super) fn new(content: impl Into<Value>, structured: Value) -> Self {
        Self { content: content.into(), structured, failed: false }
    }

    /// A failure, in the two forms that the CLI gives it.
    pub(super) fn failure(text: &str) -> Self {
        Self { content: text.into(), structured: format!("Error: {text}").into(), failed: true }
    }

    /// What a command printed.
    pub(super) fn printed(text: &str) -> Self {
        let structured = json!({
            "stdout": text, "stderr": "", "interrupted": false, "isImage": false, "noOutputExpected": false,
        });
        Self::new(text, structured)
    }
}

pub(super) fn say(text: impl Into<String>) -> Step {
    Step::Say(text.into())
}

pub(super) fn think(text: impl Into<String>) -> Step {
    Step::Think(text.into())
}

pub(super) fn wait(milliseconds: u64) -> Step {
    Step::Wait(Duration::from_millis(milliseconds))
}
