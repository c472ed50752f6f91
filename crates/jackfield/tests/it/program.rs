//! Starting the program and looking at what it leaves behind.

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;

/// What a finished program left.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl From<Output> for Finished {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Finished {
    /// The events it printed; it must have ended well and without a word of complaint.
    pub(crate) fn events(&self) -> Vec<serde_json::Value> {
        assert_eq!((self.code, self.err.as_str()), (Some(0), ""));
        self.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    pub(crate) fn tags(&self) -> Vec<String> {
        self.events().iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect()
    }
}

/// The program with nothing of our environment.
pub(crate) fn jackfield<T: AsRef<OsStr>>(arguments: impl IntoIterator<Item = T>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_jackfield"));
    command.env_clear().args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs it without input.
pub(crate) fn run<T: AsRef<OsStr>>(arguments: impl IntoIterator<Item = T>) -> Finished {
    jackfield(arguments).output().unwrap().into()
}

/// Runs `jackfield events` on these bytes.
pub(crate) fn events(input: &[u8]) -> Finished {
    let mut child = jackfield(["events"]).stdin(Stdio::piped()).spawn().unwrap();
    feed(&mut child, input);
    child.wait_with_output().unwrap().into()
}

/// Writes from a thread of its own, so that neither side waits for the other.
pub(crate) fn feed(child: &mut Child, input: &[u8]) {
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    // The child may have ended already; what it left says whether that was right.
    thread::spawn(move || drop(stdin.write_all(&input)));
}

/// All recordings, as files.
pub(crate) fn recordings() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![fixtures()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.ends_with("transcript.jsonl") {
                found.push(path);
            }
        }
    }
    found.sort();
    assert!(found.len() > 200, "only {} recordings", found.len());
    found
}

/// One recording, by its area and name.
pub(crate) fn recording(name: &str) -> PathBuf {
    fixtures().join("recordings").join(name).join("transcript.jsonl")
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")
}
