//! `jackfield top` at a pseudo-terminal: its screen, and what keys do to real sessions.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use jackfield_api::permission::PermissionOutcome;
use jackfield_api::{Body, SessionId};
use jackfield_testkit::api::Reply;
use jackfield_testkit::cli::{NEWER_VERSION, OLDER_VERSION};
use jackfield_testkit::processes;
use rustix::fs::{Mode, OFlags, open};
use rustix::process::Signal;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Termios, Winsize, tcgetattr, tcsetwinsize};
use serde_json::json;

use super::super::client::{Socket, prompt};
use super::super::server::{PATIENCE, Place};
use crate::program;

const COLUMNS: usize = 100;
const ROWS: usize = 12;

/// The first screen, as [`masked`] shows it.
const EXPECTED: &str = "\
# sessions: # ask, # run, # idle $#.# #M
STATE TURN TOK/S COST CTX MEM ASKS MODEL TITLE
asks #s # $#.# #M # claude-demo-# edit







? Edit
↑↓ choose a allow d deny #-# answer i interrupt q end
";

/// A screen without what differs each time: a row of digits is one sign, one of spaces is one space, of a question
/// there is the tool, and how full the context is may not be known yet.
fn masked(screen: &str) -> String {
    let mut masked = String::new();
    for line in screen.lines() {
        let shown = line.strip_prefix("? ").and_then(|asked| asked.split(' ').next());
        let line = shown.map_or_else(|| line.to_owned(), |tool| format!("? {tool}"));
        for letter in line.chars() {
            let letter = if letter.is_ascii_digit() { '#' } else { letter };
            if !((letter == '#' || letter == ' ') && masked.ends_with(letter)) {
                masked.push(letter);
            }
        }
        masked.push('\n');
    }
    // On a slow machine a turn takes minutes.
    masked.replace("#m#s", "#s").replace(" #%", "")
}

/// A terminal with a screen of its own, and the program in front of it.
struct Screen {
    terminal: File,
    child: Child,
    read: mpsc::Receiver<Vec<u8>>,
    cells: Vec<Vec<char>>,
    at: (usize, usize),
    rest: Vec<u8>,
    /// How the terminal was at first.
    before: Termios,
}

impl Screen {
    fn before(place: &Place) -> Self {
        let far = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&far).unwrap();
        unlockpt(&far).unwrap();
        let size = Winsize { ws_row: 12, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&far, size).unwrap();
        let name = ptsname(&far, Vec::new()).unwrap();
        let near = open(&name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty()).unwrap();
        let mut command = Command::new("setsid");
        command.args(["--ctty", "--wait"]).arg(env!("CARGO_BIN_EXE_jackfield")).arg("top").arg("--data");
        command.arg(&place.data).env_clear().envs(&place.environment).env("TERM", "xterm-256color");
        let near = || Stdio::from(near.try_clone().unwrap());
        let before = tcgetattr(&far).unwrap();
        let child = command.stdin(near()).stdout(near()).stderr(near()).spawn().unwrap();
        let terminal = File::from(far);
        let (to, read) = mpsc::sync_channel(64);
        let mut reader = terminal.try_clone().unwrap();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count) = reader.read(&mut bytes) {
                if count == 0 || to.send(bytes[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        let cells = vec![vec![' '; COLUMNS]; ROWS];
        Self { terminal, child, read, cells, at: (0, 0), rest: Vec::new(), before }
    }

    /// The screen as text.
    fn text(&self) -> String {
        let line = |cells: &Vec<char>| cells.iter().collect::<String>().trim_end().to_owned() + "\n";
        self.cells.iter().map(line).collect()
    }

    /// Waits until the screen is so.
    fn until(&mut self, what: &str, holds: impl Fn(&str) -> bool) {
        let until = Instant::now() + PATIENCE;
        while !holds(&self.text()) {
            let left = until.saturating_duration_since(Instant::now());
            match self.read.recv_timeout(left.max(Duration::from_millis(1))) {
                Ok(bytes) => self.take(&bytes),
                Err(error) => panic!("not so: {what} ({error})\n{}", self.text()),
            }
        }
    }

    /// Waits until the program has ended. The terminal is as it was then: in no other mode, with nothing on a screen of
    /// its own, and with its cursor.
    fn ended(mut self) -> ExitStatus {
        let mut last = Vec::new();
        let until = Instant::now() + PATIENCE;
        loop {
            match self.read.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(bytes) => last.extend(bytes),
                // Nobody has the terminal open any more.
                Err(mpsc::RecvTimeoutError::Disconnected) => break,
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    self.child.kill().unwrap();
                    panic!("it does not end");
                }
            }
        }
        let status = self.child.wait().unwrap();
        let last = String::from_utf8_lossy(&last);
        assert!(last.contains("\u{1b}[?1049l") && last.contains("\u{1b}[?25h"), "{status}: {last:?}");
        let modes = |of: &Termios| (of.input_modes, of.output_modes, of.control_modes, of.local_modes);
        assert_eq!(modes(&tcgetattr(&self.terminal).unwrap()), modes(&self.before), "{status}");
        status
    }

    fn types(&mut self, text: &str) {
        self.terminal.write_all(text.as_bytes()).unwrap();
    }

    /// Draws what a terminal of this kind would draw: text, places, and clearing; colours are not looked at.
    fn take(&mut self, bytes: &[u8]) {
        self.rest.extend_from_slice(bytes);
        let text = match std::str::from_utf8(&self.rest) {
            Ok(text) => text.to_owned(),
            Err(error) => String::from_utf8(self.rest[..error.valid_up_to()].to_vec()).unwrap(),
        };
        let mut done = 0;
        let mut letters = text.char_indices().peekable();
        while let Some((at, letter)) = letters.next() {
            if letter != '\u{1b}' {
                done = at + letter.len_utf8();
                self.put(letter);
                continue;
            }
            let sequence = &text[at + 1..];
            let Some(length) = sequence_length(sequence) else { break };
            self.obey(&sequence[..length]);
            done = at + 1 + length;
            while letters.peek().is_some_and(|(next, _)| *next < done) {
                letters.next();
            }
        }
        self.rest.drain(..done);
    }

    fn put(&mut self, letter: char) {
        match letter {
            '\r' => self.at.1 = 0,
            '\n' => self.at.0 = (self.at.0 + 1).min(ROWS - 1),
            letter if !letter.is_control() => {
                if let Some(cell) = self.cells.get_mut(self.at.0).and_then(|row| row.get_mut(self.at.1)) {
                    *cell = letter;
                }
                self.at.1 += 1;
            }
            _ => {}
        }
    }

    fn obey(&mut self, sequence: &str) {
        let Some(sequence) = sequence.strip_prefix('[') else { return };
        let (numbers, last) = sequence.split_at(sequence.len() - 1);
        let mut numbers = numbers.split(';').map(|number| number.parse::<usize>().unwrap_or(1));
        match last {
            "H" => self.at = (numbers.next().unwrap_or(1) - 1, numbers.next().unwrap_or(1) - 1),
            "J" => self.cells = vec![vec![' '; COLUMNS]; ROWS],
            _ => {}
        }
    }
}

/// How long a control sequence is behind its escape, if all of it is there.
fn sequence_length(sequence: &str) -> Option<usize> {
    if !sequence.starts_with('[') {
        return sequence.chars().next().map(char::len_utf8);
    }
    sequence.char_indices().skip(1).find(|(_, letter)| ('@'..='~').contains(letter)).map(|(at, _)| at + 1)
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_are_seen_answered_and_interrupted_at_a_terminal() {
    let mut place = Place::demo();
    place.environment.insert("JACKFIELD_DEMO_SPEED".to_owned(), "0".to_owned());
    let server = place.serve().await;
    let mut socket = place.client("one").await;
    let id = socket.create(place.create()).await;
    socket.follow(&id).await;
    socket.give(Some(&id), prompt("edit")).await.unwrap();
    let first = socket.asked(&id).await;
    let mut screen = tokio::task::spawn_blocking({
        let mut screen = Screen::before(&place);
        move || {
            screen.until("the whole screen is as expected", |text| masked(text) == EXPECTED);
            screen
        }
    })
    .await
    .unwrap();

    screen.types("a");
    let answered = socket.until(&id, |body| matches!(body, Body::PermissionResolved(_))).await;
    let Body::PermissionResolved(answered) = answered.body else { unreachable!() };
    assert_eq!((answered.pending_id, answered.outcome), (first, PermissionOutcome::Allowed));
    assert_eq!(answered.by.as_deref(), Some("top"));

    socket.asked(&id).await;
    let mut screen = tokio::task::spawn_blocking(move || {
        screen.until("the next question is seen", |text| text.contains("\n? Write"));
        screen
    })
    .await
    .unwrap();
    screen.types("i");
    socket.until(&id, |body| matches!(body, Body::Complete(_))).await;
    let ended = tokio::task::spawn_blocking(move || {
        screen.until("nothing asks any more", |text| text.contains("\nidle  "));
        screen.types("q");
        screen.ended()
    });
    assert!(ended.await.unwrap().success());
    assert!(server.stop().await.success());
}

/// The last lines of a screen, without those that are empty; where a file is differs each time.
fn below(screen: &str) -> Vec<&str> {
    let lines = screen.lines().skip(3).filter(|line| !line.is_empty());
    lines.map(|line| if line.starts_with("? Write /") { "? Write" } else { line }).collect()
}

/// Types when the screen ends like this, and gives the screen back.
async fn type_at(screen: Screen, expected: &'static [&'static str], keys: &'static str) -> Screen {
    let typed = tokio::task::spawn_blocking(move || {
        let mut screen = screen;
        screen.until("the question is seen", |text| below(text) == expected);
        screen.types(keys);
        screen
    });
    typed.await.unwrap()
}

async fn answered(socket: &mut Socket, id: &SessionId) -> PermissionOutcome {
    let event = socket.until(id, |body| matches!(body, Body::PermissionResolved(_))).await;
    let Body::PermissionResolved(answered) = event.body else { unreachable!() };
    assert_eq!(answered.by.as_deref(), Some("top"));
    answered.outcome
}

async fn a_permission_and_questions(version: &str) {
    const KEYS: &str = "↑↓ choose   a allow   d deny   1-9 answer   i interrupt   q end";
    const NO: &str = "this is answered by the number of an option";
    let question = |text: &str, several: bool| {
        let options =
            json!([{ "label": "Tea", "description": "with milk" }, { "label": "Coffee", "description": "" }]);
        json!({ "question": text, "header": "Drink", "multiSelect": several, "options": options })
    };
    let questions = json!({ "questions": [question("Which drink?", false), question("Which cups?", true)] });
    let write = json!({ "file_path": "/ws/a.txt", "content": "hello" });
    let replies = vec![
        Reply::tool_use("Write", write),
        Reply::tool_use("AskUserQuestion", questions),
        Reply::text("all done"),
    ];
    let (place, api) = Place::real(version, replies).await;
    let server = place.serve().await;
    let mut socket = place.client("one").await;
    let id = socket.create(place.create()).await;
    socket.follow(&id).await;
    socket.give(Some(&id), prompt("go")).await.unwrap();
    let screen = type_at(Screen::before(&place), &["? Write", KEYS], "a").await;
    let text = screen.text();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("1 sessions: 1 ask, 0 run, 0 idle"), "{text}");
    assert!(
        lines[2].starts_with("asks") && lines[2].contains("claude") && lines[2].ends_with(" go"),
        "{text}"
    );
    assert_eq!(answered(&mut socket, &id).await, PermissionOutcome::Allowed);
    let drink = &["? Which drink? (1 of 2)", "  1 Tea: with milk", "  2 Coffee", KEYS];
    let screen = type_at(screen, drink, "a").await;
    let screen = type_at(screen, &[NO, "  1 Tea: with milk", "  2 Coffee", KEYS], "2").await;
    let cups =
        &["? Which cups? (2 of 2)", "  1 [ ] Tea: with milk", "  2 [ ] Coffee", "  Enter: these", KEYS];
    let screen = type_at(screen, cups, "12\r").await;
    assert_eq!(answered(&mut socket, &id).await, PermissionOutcome::Allowed);
    socket.completed(&id).await;
    // The model was told what was chosen.
    let told = api.requests().into_iter().map(|request| request.body.to_string()).collect::<String>();
    for answer in ["Which drink?", "Coffee", "Tea, Coffee"] {
        assert!(told.contains(answer), "{told}");
    }
    let screen = type_at(screen, &[KEYS], "q").await;
    assert!(tokio::task::spawn_blocking(move || screen.ended()).await.unwrap().success());
    assert!(server.stop().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_permission_and_questions_of_the_older_cli_are_answered_at_a_terminal() {
    a_permission_and_questions(OLDER_VERSION).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_permission_and_questions_of_the_newer_cli_are_answered_at_a_terminal() {
    a_permission_and_questions(NEWER_VERSION).await;
}

/// What may take its time, away from the threads of others.
async fn at_the_screen<T: Send + 'static>(
    screen: Screen,
    act: impl FnOnce(Screen) -> T + Send + 'static,
) -> T {
    tokio::task::spawn_blocking(move || act(screen)).await.unwrap()
}

/// How long the first turn has run, as the screen has it.
fn clock(screen: &str) -> Option<String> {
    screen.lines().nth(2)?.split_whitespace().nth(1).map(str::to_owned)
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_are_heard_while_the_host_stands_still() {
    let place = Place::demo();
    let server = place.serve().await;
    let mut socket = place.client("one").await;
    let id = socket.create(place.create()).await;
    socket.follow(&id).await;
    socket.give(Some(&id), prompt("edit")).await.unwrap();
    socket.asked(&id).await;
    let host = server.id();
    let screen = at_the_screen(Screen::before(&place), move |mut screen| {
        screen.until("the question is seen", |text| text.contains("\n? Edit"));
        processes::signal(host, Signal::STOP);
        // More than once a second the memory is asked for, and nobody answers.
        for _ in 0..2 {
            let before = clock(&screen.text());
            screen.until("the clock goes on", |text| clock(text) != before);
        }
        screen.types("a");
        screen.until("it is seen what is under way", |text| text.contains("\nanswering …"));
        processes::signal(host, Signal::CONT);
        screen.until("the next question is seen", |text| text.contains("\n? Write"));
        screen
    });
    let screen = screen.await;
    assert_eq!(answered(&mut socket, &id).await, PermissionOutcome::Allowed);
    let ended = at_the_screen(screen, move |mut screen| {
        processes::signal(host, Signal::STOP);
        screen.types("i");
        screen.until("it is seen what is under way", |text| text.contains("\ninterrupting …"));
        screen.types("q");
        screen.ended()
    });
    assert!(ended.await.success(), "it ends although the host stands still");
    let ended = {
        processes::signal(host, Signal::CONT);
        server.stop().await
    };
    assert!(ended.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signal_ends_it_and_the_terminal_is_as_it_was() {
    let place = Place::demo();
    let server = place.serve().await;
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let status = at_the_screen(Screen::before(&place), move |mut screen| {
            screen.until("it is shown", |text| text.contains("q end"));
            processes::signal(screen.child.id(), signal);
            screen.ended()
        });
        assert_eq!(status.await.code(), Some(130), "{signal:?}");
    }
    assert!(server.stop().await.success());
}

#[test]
fn without_a_terminal_or_a_host_it_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let finished = program::jackfield(["top", "--data"]).arg(&data).output().unwrap();
    let said = String::from_utf8_lossy(&finished.stderr);
    assert_eq!(finished.status.code(), Some(2), "{said}");
    assert!(said.contains("no terminal") && said.contains("hint: "), "{said}");
}
