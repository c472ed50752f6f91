//! A person at a terminal: a pseudo-terminal that the program has as its own.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};

use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use super::stage::{BOUND, Stage, object};
use crate::program::Finished;

/// A terminal, and the program in front of it.
pub(super) struct Sat {
    terminal: File,
    child: Child,
    seen: String,
}

impl Sat {
    /// Standard input and error are the terminal; standard output is a pipe.
    pub(super) fn before(stage: &Stage, arguments: &[&str]) -> Self {
        Self::with(stage, arguments, |command, near| {
            command.stdin(Stdio::from(near.try_clone().unwrap()));
        })
    }

    fn with(stage: &Stage, arguments: &[&str], prepare: impl FnOnce(&mut Command, &OwnedFd)) -> Self {
        let far = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&far).unwrap();
        unlockpt(&far).unwrap();
        let name = ptsname(&far, Vec::new()).unwrap();
        let near = open(&name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty()).unwrap();
        let mut command = Command::new("setsid");
        command.args(["--ctty", "--wait"]).arg(env!("CARGO_BIN_EXE_jackfield")).args(arguments);
        let mut command = stage.prepared(command);
        command.env("TERM", "xterm").stderr(Stdio::from(near.try_clone().unwrap()));
        prepare(&mut command, &near);
        let child = command.spawn().unwrap();
        Self { terminal: File::from(far), child, seen: String::new() }
    }

    /// Reads until this is to be seen, behind what was seen before.
    pub(super) fn sees(&mut self, text: &str) {
        while !self.seen.contains(text) {
            let mut bytes = [0; 4096];
            let read = self.terminal.read(&mut bytes).unwrap_or(0);
            assert!(read > 0, "`{text}` is not to be seen: {}", self.seen);
            self.seen.push_str(&String::from_utf8_lossy(&bytes[..read]));
        }
        let at = self.seen.find(text).unwrap() + text.len();
        self.seen.drain(..at);
    }

    pub(super) fn types(&mut self, text: &str) {
        self.terminal.write_all(text.as_bytes()).unwrap();
    }

    pub(super) fn finished(mut self) -> Finished {
        // What it still shows must not hold it up.
        let mut terminal = self.terminal.try_clone().unwrap();
        let showing =
            std::thread::spawn(move || while terminal.read(&mut [0; 4096]).is_ok_and(|read| read > 0) {});
        let mut out = String::new();
        self.child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
        let code = self.child.wait().unwrap().code();
        drop(self.terminal);
        showing.join().unwrap();
        Finished { code, out, err: String::new() }
    }
}

const ASKED: &str = "or say why not: ";

fn demo(prompt: &str) -> [&str; 8] {
    ["run", prompt, "--agent", "demo", "--output-format", "json", BOUND[0], BOUND[1]]
}

#[test]
fn a_person_allows_and_denies_with_a_reason() {
    let stage = Stage::new();
    let mut sat = Sat::before(&stage, &demo("edit"));
    sat.sees("may this run? Edit");
    // What it would write, whole (S19).
    sat.sees("new_string:");
    sat.sees("format!(\"Hello, {name}!\")");
    sat.sees(ASKED);
    sat.types("y\n");
    sat.sees("may this run? Write");
    sat.sees(ASKED);
    sat.types("\n");
    sat.sees(ASKED);
    sat.types("no files, please\n");
    let finished = sat.finished();
    assert_eq!(finished.code, Some(4));
    let told = object(&finished);
    let denials = told["permission_denials"].as_array().unwrap();
    assert_eq!((denials.len(), &denials[0]["tool_name"]), (1, &"Write".into()));
    let id = told["session_id"].as_str().unwrap();
    let shown = stage.jackfield(&["sessions", "show", id]);
    assert!(shown.out.contains("denied by jackfield run: no files, please"), "{}", shown.out);
}

#[test]
fn always_is_asked_once() {
    let stage = Stage::new();
    let mut sat = Sat::before(&stage, &demo("edit"));
    sat.sees(ASKED);
    sat.types("a\n");
    // What the agent offers to remember covers the second file too.
    let finished = sat.finished();
    assert_eq!(finished.code, Some(0));
    assert_eq!(object(&finished)["permission_denials"].as_array().unwrap().len(), 0);
}

#[test]
fn questions_with_options_are_answered_by_number_and_in_own_words() {
    let stage = Stage::new();
    let mut sat = Sat::before(&stage, &demo("question"));
    sat.sees("How should the greeting sound?");
    sat.sees("your own words: ");
    sat.types("2\n");
    sat.sees("your own words: ");
    sat.types("1,3\n");
    let finished = sat.finished();
    assert_eq!(finished.code, Some(0));
    let result = object(&finished)["result"].as_str().unwrap().to_owned();
    assert!(result.contains("How should the greeting sound? **Formal**"), "{result}");
    assert!(result.contains("Which languages? **English, Icelandic**"), "{result}");
}

#[test]
fn a_plan_is_approved_or_sent_back() {
    let stage = Stage::new();
    let mut sat = Sat::before(&stage, &demo("plan"));
    sat.sees("A better greeting");
    sat.sees("say what to change: ");
    sat.types("y\n");
    assert_eq!(sat.finished().code, Some(0));

    let stage = Stage::new();
    let mut sat = Sat::before(&stage, &demo("plan"));
    sat.sees("say what to change: ");
    sat.types("test first\n");
    let finished = sat.finished();
    assert_eq!(finished.code, Some(4));
    assert!(object(&finished)["result"].as_str().unwrap().contains("test first"), "{}", finished.out);
}

#[test]
fn what_was_typed_before_a_question_is_no_answer_to_it() {
    let stage = Stage::new().slowly();
    let mut sat = Sat::before(&stage, &demo("edit"));
    // Long before the question.
    sat.types("y\ny\n");
    sat.sees(ASKED);
    sat.types("n\n");
    sat.sees(ASKED);
    sat.types("n\n");
    let finished = sat.finished();
    assert_eq!(finished.code, Some(4));
    assert_eq!(object(&finished)["permission_denials"].as_array().unwrap().len(), 2);
}

#[test]
fn the_terminal_is_asked_also_when_standard_input_is_a_pipe() {
    let stage = Stage::new();
    let arguments = ["run", "--agent", "demo", "--output-format", "json"];
    // The terminal becomes the program's own by its standard error.
    let mut sat = Sat::with(&stage, &[], |command, near| {
        let script = "import os,sys,fcntl,termios\n\
                      os.setsid(); fcntl.ioctl(2, termios.TIOCSCTTY, 0)\n\
                      os.execv(sys.argv[1], sys.argv[1:])\n";
        let mut python = Command::new("python3");
        python.args(["-c", script, env!("CARGO_BIN_EXE_jackfield")]).args(arguments);
        *command = stage.prepared(python);
        command.env("TERM", "xterm").stdin(Stdio::piped());
        command.stderr(Stdio::from(near.try_clone().unwrap()));
    });
    crate::program::feed(&mut sat.child, b"plan");
    sat.sees("say what to change: ");
    sat.types("yes\n");
    assert_eq!(sat.finished().code, Some(0));
}

#[test]
fn the_end_of_the_input_is_a_no() {
    let stage = Stage::new();
    let mut sat = Sat::before(&stage, &demo("plan"));
    sat.sees("say what to change: ");
    sat.types("\u{4}");
    assert_eq!(sat.finished().code, Some(4));
}

#[test]
fn control_c_interrupts_the_turn_and_shows_it() {
    let stage = Stage::new().slowly();
    let mut sat = Sat::before(&stage, &demo("slow"));
    sat.sees("writing");
    sat.types("\u{3}");
    sat.sees("interrupting; once more ends at once");
    let finished = sat.finished();
    assert_eq!(finished.code, Some(130));
    assert_eq!(object(&finished)["error"]["code"], "interrupted");
}

#[test]
fn progress_is_on_the_terminal_and_not_in_the_answer() {
    let stage = Stage::new().slowly();
    let mut sat = Sat::before(&stage, &["run", "think", "--agent", "demo"]);
    sat.sees("\r\u{1b}[K");
    sat.sees("thinking");
    let finished = sat.finished();
    assert_eq!(finished.code, Some(0));
    assert!(!finished.out.contains('\u{1b}'), "{}", finished.out);
}

#[test]
fn a_question_that_somebody_else_answers_is_taken_from_the_terminal() {
    let stage = Stage::new();
    let _host = stage.serve();
    let mut sat = Sat::before(&stage, &demo("plan"));
    sat.sees("say what to change: ");
    stage.allow_as("phone");
    sat.sees("it was answered by phone");
    assert_eq!(sat.finished().code, Some(0));
}
