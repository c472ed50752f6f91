//! A case: one session with the real CLI, as data (`fixtures/scenarios/NAME.json`).
//!
//! It says what the model replies and what the host does; [`crate::drive`] does it. The one rule it keeps: a
//! host waits for something it can see (a line, a gate, a file, the exit), never for time to pass.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::api::Reply;
use crate::recordings::fixtures_dir;

/// A case.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Its name: the name of its file.
    #[serde(skip)]
    pub name: String,
    /// One sentence on what it shows.
    pub about: String,
    /// Flags besides [`crate::cli::STREAM_FLAGS`].
    #[serde(default)]
    pub flags: Vec<String>,
    /// Additions to the environment.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Files below the working folder, by path.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// What the model replies.
    pub turns: Vec<Reply>,
    /// What the host does.
    pub host: Vec<Step>,
}

/// One step of the host.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Step {
    /// What it does.
    #[serde(flatten)]
    pub action: Action,
    /// The time limit in seconds, when the usual one does not fit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<f64>,
}

/// What the host can do.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Write a line: a text is a prompt, `{"prompt": text, …}` a prompt with more fields, every other object
    /// is the line.
    Send(Value),
    /// Write these bytes and a newline.
    SendRaw(String),
    /// Send the control request `initialize` with these fields and wait for its answer.
    Initialize(Value),
    /// Send a control request and wait for its answer.
    Control(Value),
    /// Send the control request `interrupt` and wait for its answer.
    Interrupt(Nothing),
    /// Wait for a line of the CLI that contains this, after the last one waited for.
    Await(Value),
    /// Wait until a reply stands at the gate.
    AwaitGate(String),
    /// Open the gate.
    Release(String),
    /// Wait for the CLI's next request (a permission, a hook, a question) and answer it.
    Answer(Answer),
    /// Write files below the working folder, by path.
    WriteFile(BTreeMap<String, String>),
    /// Wait until a file below the working folder exists.
    AwaitFile(String),
    /// Close the CLI's standard input.
    CloseStdin(Nothing),
    /// Wait until the process is gone.
    AwaitExit(Nothing),
    /// Send a signal: `SIGINT`, `SIGTERM`, `SIGHUP` or `SIGKILL`.
    Signal(SignalName),
}

/// The answer to a request of the CLI.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// Allow with the input as it was asked.
    Allow,
    /// Deny with a message.
    Deny,
    /// Answer the questions of `AskUserQuestion`, by the text of the question.
    Answers(BTreeMap<String, String>),
    /// This response, as it is.
    Response(Value),
}

/// A signal by its usual name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum SignalName {
    /// Interrupt.
    Sigint,
    /// Terminate.
    Sigterm,
    /// Hang up.
    Sighup,
    /// Kill.
    Sigkill,
}

/// `{}`: a step that needs no arguments.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

/// Why a case could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum CaseError {
    /// The file could not be read.
    #[error("cannot read the case {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The file is not a case.
    #[error("cannot parse the case {}: {source}", path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: serde_json::Error,
    },
}

impl Case {
    /// Loads `fixtures/scenarios/NAME.json`.
    pub fn load(name: &str) -> Result<Self, CaseError> {
        let path = scenarios_dir().join(format!("{name}.json"));
        let text =
            fs::read_to_string(&path).map_err(|source| CaseError::Read { path: path.clone(), source })?;
        let case: Self = serde_json::from_str(&text).map_err(|source| CaseError::Parse { path, source })?;
        Ok(Self { name: name.to_owned(), ..case })
    }

    /// The names of all cases, sorted.
    pub fn names() -> Result<Vec<String>, CaseError> {
        let path = scenarios_dir();
        let read = |source| CaseError::Read { path: path.clone(), source };
        let mut names = Vec::new();
        for entry in fs::read_dir(&path).map_err(read)? {
            let file = entry.map_err(read)?.path();
            if file.extension().is_some_and(|extension| extension == "json") {
                names.extend(file.file_stem().map(|name| name.to_string_lossy().into_owned()));
            }
        }
        names.sort();
        Ok(names)
    }
}

fn scenarios_dir() -> PathBuf {
    fixtures_dir().join("scenarios")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::*;

    #[test]
    fn every_case_parses() {
        let names = Case::names().unwrap();
        assert!(names.contains(&"three_turns".to_owned()));
        for name in names {
            let case = Case::load(&name).unwrap_or_else(|error| panic!("{error}"));
            assert!(!case.host.is_empty() && !case.about.is_empty(), "{name}");
        }
    }

    #[test]
    fn a_step_is_one_word_and_its_argument() {
        let steps: Vec<Step> = serde_json::from_str(
            r#"[{"send":"hi"},{"await":{"type":"result"},"within":5},{"answer":"allow"},
                {"answer":{"answers":{"Which?":"a"}}},{"interrupt":{}},{"signal":"SIGTERM"}]"#,
        )
        .unwrap();
        assert!(matches!(&steps[1], Step { action: Action::Await(_), within: Some(limit) } if *limit > 4.9));
        assert!(matches!(steps[2].action, Action::Answer(Answer::Allow)));
        assert!(matches!(steps[5].action, Action::Signal(SignalName::Sigterm)));
        assert!(serde_json::from_str::<Step>(r#"{"sned":"hi"}"#).is_err());
    }
}
