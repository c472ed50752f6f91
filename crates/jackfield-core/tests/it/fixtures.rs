//! The recordings under `fixtures/`, as journal entries and as steps.
//!
//! A loader of its own, so that the core's tests do not build an HTTP server. The one rule: a recording
//! that cannot be read fails the test; there is never one fewer.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use jackfield_api::Event;
use jackfield_core::journal::{Entry, Player};
use jackfield_core::{By, Exit, Input, Launch, Options, Output, Session};
use serde::Deserialize;

use crate::harness::Step;

/// One recording.
#[derive(Debug, Clone)]
pub(crate) struct Recording {
    /// `area/name`, or `version/case`.
    pub(crate) name: String,
    /// How its first process was started.
    pub(crate) arguments: Vec<String>,
    /// Its lines.
    pub(crate) entries: Vec<Entry>,
}

/// Every recording, sorted by name.
pub(crate) fn all() -> &'static [Recording] {
    static ALL: OnceLock<Vec<Recording>> = OnceLock::new();
    ALL.get_or_init(|| {
        let mut found = Vec::new();
        for folder in folders(&fixtures()) {
            let name = file_name(&folder);
            if name == "recordings" {
                found.extend(folders(&folder).iter().flat_map(|area| folders(area)));
            } else if name.starts_with("recordings-") {
                found.extend(folders(&folder));
            }
        }
        let mut recordings: Vec<_> =
            found.iter().map(|folder| load(&folder.join("transcript.jsonl"))).collect();
        recordings.sort_by(|one, other| one.name.cmp(&other.name));
        assert!(recordings.len() >= 310, "recordings are missing: only {} were found", recordings.len());
        recordings
    })
}

/// Reads one recording.
pub(crate) fn load(transcript: &Path) -> Recording {
    #[derive(Deserialize)]
    struct Started {
        argv: Vec<String>,
    }
    let read =
        |path: &Path| fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let folder = transcript.parent().unwrap();
    let area = file_name(folder.parent().unwrap());
    let started: Started = serde_json::from_str(&read(&folder.join("cmd.json"))).unwrap();
    Recording {
        name: format!("{}/{}", area.trim_start_matches("recordings-"), file_name(folder)),
        arguments: started.argv,
        // A transcript is split on `\n` only, as the CLI's own output is [basic/unicode].
        entries: read(transcript)
            .split('\n')
            .filter(|line| !line.is_empty())
            .map(|line| Entry::read(line).unwrap())
            .collect(),
    }
}

impl Recording {
    /// Its events, in a session of this name.
    pub(crate) fn events(&self, session_id: Option<&str>) -> Vec<Event> {
        let options = Options { session_id: session_id.map(Into::into), ..Options::default() };
        let mut player = Player::new(Session::new(options), self.launch());
        let mut events = Vec::new();
        for entry in &self.entries {
            player.play(entry);
            while let Some(output) = player.session().poll() {
                if let Output::Event(event) = output {
                    events.push(event);
                }
            }
        }
        player.session().finish();
        events.extend(std::iter::from_fn(|| player.session().poll()).filter_map(|output| match output {
            Output::Event(event) => Some(event),
            _ => None,
        }));
        events
    }

    /// What the CLI wrote.
    pub(crate) fn output(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().filter(|entry| entry.dir == "out").map(|entry| entry.line.as_str())
    }

    /// The recording as steps of a stage.
    pub(crate) fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        match self.entries.iter().find_map(Entry::input) {
            // What an editor's wire holds is nothing to a session [ide/accept_edits_no_diff].
            None | Some(Input::Started(_)) => {}
            Some(_) => steps.push(Step::Started(self.launch())),
        }
        steps.extend(self.entries.iter().filter_map(step));
        steps
    }

    fn launch(&self) -> Launch {
        Launch::from_arguments(&self.arguments)
    }
}

/// The folder of all fixtures.
pub(crate) fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")
}

/// An exit that tells nothing.
pub(crate) const CLEAN: Exit = Exit::Code(0);

fn folders(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut folders: Vec<_> =
        entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

fn step(entry: &Entry) -> Option<Step> {
    Some(match entry.input()? {
        Input::Line(_) => Step::Line(entry.line.clone().into_bytes()),
        Input::Sent(..) => Step::Sent(entry.line.clone().into_bytes(), By::Unknown),
        Input::Stderr(line) => Step::Stderr(line),
        Input::Notice(_, text) => Step::Notice(text),
        Input::Started(launch) => Step::Started(launch),
        Input::StdinClosed => Step::StdinClosed,
        Input::Signalled(signal) => Step::Signalled(signal),
        Input::Exited(exit) => Step::Exited(exit),
        Input::Timeout => Step::Timeout,
        Input::File(change) => Step::File(change),
        Input::Told(_)
        | Input::Command(..)
        | Input::Request(..)
        | Input::Called(..)
        | Input::LongLine { .. }
        | Input::Unreadable { .. } => {
            return None;
        }
    })
}
