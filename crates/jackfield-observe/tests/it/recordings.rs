//! The events of the recordings under `fixtures/`. The one rule it keeps: a recording that cannot be read fails the
//! test; there is never one fewer.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use jackfield_api::Event;
use jackfield_core::journal::{Entry, Player};
use jackfield_core::{Launch, Options, Output, Session};
use serde::Deserialize;

/// One recording.
pub(crate) struct Recording {
    pub(crate) name: String,
    pub(crate) events: Vec<Event>,
}

/// Every recording, sorted by name.
pub(crate) fn all() -> &'static [Recording] {
    static ALL: OnceLock<Vec<Recording>> = OnceLock::new();
    ALL.get_or_init(|| {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
        let mut found = Vec::new();
        for folder in folders(&fixtures) {
            let name = folder.file_name().unwrap().to_string_lossy().into_owned();
            if name == "recordings" {
                found.extend(folders(&folder).iter().flat_map(|area| folders(area)));
            } else if name.starts_with("recordings-") {
                found.extend(folders(&folder));
            }
        }
        found.sort();
        assert!(found.len() >= 310, "recordings are missing: only {} were found", found.len());
        found.iter().map(|folder| load(folder)).collect()
    })
}

/// A recording by the end of its path.
pub(crate) fn named(name: &str) -> &'static Recording {
    all().iter().find(|recording| recording.name.ends_with(name)).expect(name)
}

fn load(folder: &Path) -> Recording {
    #[derive(Deserialize)]
    struct Started {
        argv: Vec<String>,
    }
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    let started: Started = serde_json::from_str(&read("cmd.json")).unwrap();
    let launch = Launch::from_arguments(&started.argv);
    let mut player = Player::new(Session::new(Options::default()), launch);
    let mut events = Vec::new();
    for line in read("transcript.jsonl").split('\n').filter(|line| !line.is_empty()) {
        player.play(&Entry::read(line).unwrap());
        drain(&mut player, &mut events);
    }
    player.session().finish();
    drain(&mut player, &mut events);
    Recording { name: folder.to_string_lossy().into_owned(), events }
}

fn drain(player: &mut Player, events: &mut Vec<Event>) {
    while let Some(output) = player.session().poll() {
        if let Output::Event(event) = output {
            events.push(event);
        }
    }
}

fn folders(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.is_dir()).collect()
}
