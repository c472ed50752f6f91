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
use super::super::server::{PATIENCE, Place, Server};
use crate::program;

/// The keys, as they stand below in a window that is wide enough.
const KEYS: &str = "↑↓ choose   a allow   d deny   1-9 answer   i interrupt   q end";
/// What is said of a key that came before what it would mean could be seen.
const EARLY: &str = "too soon: look at it, and press again";

/// The first screen, as [`masked`] shows it.
const EXPECTED: &str = "\
# sessions: # ask, # run, # idle $#.# #M
STATE TURN TOK/S COST CTX MEM ASKS MODEL TITLE
asks #s # $#.# #M # claude-demo-# edit








? [#] may this run? Edit
 file_path:
 lines: +# −#
 old_string:
 format!(\"Hello {name}\")
 new_string:
 let name = name.trim();
 format!(\"Hello, {name}!\")
↑↓ choose a allow d deny #-# answer i interrupt q end
";

/// A screen without what differs each time: a row of digits is one sign, one of spaces is one space, where a file is
/// is left out, and how full the context is may not be known yet.
fn masked(screen: &str) -> String {
    let mut masked = String::new();
    for line in screen.lines() {
        let place = ["Edit /", "Write /", "file_path: /"].iter().find_map(|before| line.find(before));
        let line = place.map_or(line, |at| line[at..].find(' ').map_or(line, |length| &line[..at + length]));
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
    /// Columns and rows.
    size: (u16, u16),
    at: (usize, usize),
    rest: Vec<u8>,
    /// Whether what is pasted is told from what is typed.
    tells_pasted: bool,
    /// How the terminal was at first.
    before: Termios,
}

impl Screen {
    fn before(place: &Place) -> Self {
        let mut command = Command::new("setsid");
        command.args(["--ctty", "--wait"]).arg(env!("CARGO_BIN_EXE_jackfield"));
        Self::of(place, command, |near| near)
    }

    /// The same without anything to read.
    fn without_input(place: &Place) -> Self {
        Self::of(place, Command::new(env!("CARGO_BIN_EXE_jackfield")), |_| Stdio::null())
    }

    fn of(place: &Place, mut command: Command, stdin: impl FnOnce(Stdio) -> Stdio) -> Self {
        let size = (100, 20);
        let far = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&far).unwrap();
        unlockpt(&far).unwrap();
        tcsetwinsize(&far, window(size)).unwrap();
        let name = ptsname(&far, Vec::new()).unwrap();
        let near = open(&name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty()).unwrap();
        command.args(["top", "--data"]);
        command.arg(&place.data).env_clear().envs(&place.environment).env("TERM", "xterm-256color");
        let near = || Stdio::from(near.try_clone().unwrap());
        let before = tcgetattr(&far).unwrap();
        let child = command.stdin(stdin(near())).stdout(near()).stderr(near()).spawn().unwrap();
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
        Self {
            terminal,
            child,
            read,
            cells: empty(size),
            size,
            at: (0, 0),
            rest: Vec::new(),
            tells_pasted: false,
            before,
        }
    }

    /// Gives the window another size.
    fn resize(&mut self, size: (u16, u16)) {
        (self.size, self.cells) = (size, empty(size));
        tcsetwinsize(&self.terminal, window(size)).unwrap();
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

    /// Types until it is taken: what was not looked at for long enough is not answered.
    fn press(&mut self, keys: &str, what: &str, is_taken: impl Fn(&str) -> bool) {
        loop {
            self.types(keys);
            self.until(what, |text| is_taken(text) || text.contains(EARLY));
            if is_taken(&self.text()) {
                return;
            }
            self.until("it was looked at for long enough", |text| !text.contains(EARLY));
        }
    }

    /// Waits until the program has ended. The terminal is as it was then: in no other mode, with nothing on a screen of
    /// its own, and with its cursor.
    fn ended(self) -> ExitStatus {
        self.ended_with().0
    }

    /// The same, and what was said on the terminal behind that.
    fn ended_with(self) -> (ExitStatus, String) {
        assert!(self.tells_pasted);
        let (status, last) = self.over();
        let restored = ["\u{1b}[?1049l", "\u{1b}[?25h", "\u{1b}[?2004l"];
        assert!(restored.iter().all(|sequence| last.contains(sequence)), "{status}: {last:?}");
        let said = last.rsplit("\u{1b}[?1049l").next().unwrap_or_default().to_owned();
        (status, said)
    }

    /// Waits until the program has ended, and tells the last of what it said.
    fn over(mut self) -> (ExitStatus, String) {
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
        let last = String::from_utf8_lossy(&last).into_owned();
        let modes = |of: &Termios| (of.input_modes, of.output_modes, of.control_modes, of.local_modes);
        assert_eq!(modes(&tcgetattr(&self.terminal).unwrap()), modes(&self.before), "{status}");
        (status, last)
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
            '\n' => self.at.0 = (self.at.0 + 1).min(self.cells.len() - 1),
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
            "h" if sequence == "?2004h" => self.tells_pasted = true,
            "H" => self.at = (numbers.next().unwrap_or(1) - 1, numbers.next().unwrap_or(1) - 1),
            "J" => self.cells = empty(self.size),
            _ => {}
        }
    }
}

fn window((columns, rows): (u16, u16)) -> Winsize {
    Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }
}

fn empty((columns, rows): (u16, u16)) -> Vec<Vec<char>> {
    vec![vec![' '; columns.into()]; rows.into()]
}

/// How long a control sequence is behind its escape, if all of it is there.
fn sequence_length(sequence: &str) -> Option<usize> {
    if !sequence.starts_with('[') {
        return sequence.chars().next().map(char::len_utf8);
    }
    sequence.char_indices().skip(1).find(|(_, letter)| ('@'..='~').contains(letter)).map(|(at, _)| at + 1)
}

/// What may take its time, away from the threads of others.
async fn at_the_screen<T: Send + 'static>(
    screen: Screen,
    act: impl FnOnce(Screen) -> T + Send + 'static,
) -> T {
    tokio::task::spawn_blocking(move || act(screen)).await.unwrap()
}

/// Whether this is asked.
fn asks(tool: &str) -> impl Fn(&str) -> bool + use<> {
    let words = format!("may this run? {tool}");
    move |text| text.contains(&words)
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_are_seen_answered_and_interrupted_at_a_terminal() {
    let place = Place::demo();
    let server = place.serve().await;
    let mut socket = place.client("one").await;
    let id = socket.create(place.create()).await;
    socket.follow(&id).await;
    socket.give(Some(&id), prompt("edit")).await.unwrap();
    let first = socket.asked(&id).await;
    let screen = at_the_screen(Screen::before(&place), |mut screen| {
        screen.until("the whole screen is as expected", |text| masked(text) == EXPECTED);
        screen.press("a", "it is taken", |text| !asks("Edit")(text));
        screen
    })
    .await;
    let answered = socket.until(&id, |body| matches!(body, Body::PermissionResolved(_))).await;
    let Body::PermissionResolved(answered) = answered.body else { unreachable!() };
    assert_eq!((answered.pending_id, answered.outcome), (first, PermissionOutcome::Allowed));
    assert_eq!(answered.by.as_deref(), Some("top"));

    socket.asked(&id).await;
    let mut screen = at_the_screen(screen, |mut screen| {
        screen.until("the next question is seen", asks("Write"));
        screen
    })
    .await;
    screen.types("i");
    socket.until(&id, |body| matches!(body, Body::Complete(_))).await;
    let ended = at_the_screen(screen, |mut screen| {
        screen.until("nothing asks any more", |text| text.contains("\nidle  "));
        screen.types("q");
        screen.ended()
    });
    assert!(ended.await.success());
    assert!(server.stop().await.success());
}

/// Whether these lines stand on the screen, one below the other.
fn shows(lines: &[&str]) -> impl Fn(&str) -> bool + use<> {
    let lines = format!("\n{}\n", lines.join("\n"));
    move |text| text.contains(&lines)
}

/// A host whose session asks whether it may edit a file.
async fn asked_to_edit() -> (Place, Server, Socket, SessionId) {
    let place = Place::demo();
    let server = place.serve().await;
    let mut socket = place.client("one").await;
    let id = socket.create(place.create()).await;
    socket.follow(&id).await;
    socket.give(Some(&id), prompt("edit")).await.unwrap();
    socket.asked(&id).await;
    (place, server, socket, id)
}

async fn answered(socket: &mut Socket, id: &SessionId) -> PermissionOutcome {
    let event = socket.until(id, |body| matches!(body, Body::PermissionResolved(_))).await;
    let Body::PermissionResolved(answered) = event.body else { unreachable!() };
    assert_eq!(answered.by.as_deref(), Some("top"));
    answered.outcome
}

async fn a_permission_and_questions(version: &str) {
    const NO: &str = "answer with the number of an option";
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
    let screen = at_the_screen(Screen::before(&place), |mut screen| {
        let whole = ["  lines: +1 −0", "  content: hello", KEYS];
        let is_whole = |text: &str| text.contains("/a.txt\n  lines") && shows(&whole)(text);
        screen.until("the question is seen", |text| asks("Write")(text) && is_whole(text));
        let text = screen.text();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("1 sessions: 1 ask, 0 run, 0 idle"), "{text}");
        assert!(
            lines[2].starts_with("asks") && lines[2].contains("claude") && lines[2].ends_with(" go"),
            "{text}"
        );
        screen.press("a", "it is taken", |text| !asks("Write")(text));
        screen
    })
    .await;
    assert_eq!(answered(&mut socket, &id).await, PermissionOutcome::Allowed);
    let screen = at_the_screen(screen, |mut screen| {
        let drink = ["? Which drink? (1 of 2)", "  1 Tea: with milk", "  2 Coffee"];
        screen.until("the question is seen", shows(&drink));
        let trouble = [&drink[..], &[NO, KEYS]].concat();
        screen.press("a", "it is told that this is no answer", shows(&trouble));
        // What is pasted is no key, nor is one with Control.
        screen.types("\u{1b}[200~1\r\u{1b}[201~\u{1}\u{4}\n");
        screen.types("2");
        let cups = |ticks: [&str; 2]| {
            let options =
                [format!("  1 [{}] Tea: with milk", ticks[0]), format!("  2 [{}] Coffee", ticks[1])];
            shows(&["? Which cups? (2 of 2)", &options[0], &options[1], "  Enter: these"])
        };
        screen.until("the next question is seen", cups([" ", " "]));
        screen.press("1", "it is ticked", cups(["x", " "]));
        screen.types("2");
        screen.until("it is ticked", cups(["x", "x"]));
        // That it is enough is said right behind the answer, which is given all the same.
        screen.types("\rq");
        screen.ended()
    });
    assert!(screen.await.success());
    assert_eq!(answered(&mut socket, &id).await, PermissionOutcome::Allowed);
    socket.completed(&id).await;
    // The model was told what was chosen.
    let told = api.requests().into_iter().map(|request| request.body.to_string()).collect::<String>();
    for answer in ["Which drink?\\\"=\\\"Coffee", "Which cups?\\\"=\\\"Tea, Coffee"] {
        assert!(told.contains(answer), "{answer}\n{told}");
    }
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

#[tokio::test(flavor = "multi_thread")]
async fn keys_are_heard_while_the_host_stands_still() {
    let (place, server, mut socket, id) = asked_to_edit().await;
    let host = server.id();
    let screen = at_the_screen(Screen::before(&place), move |mut screen| {
        screen.until("the question is seen", asks("Edit"));
        processes::signal(host, Signal::STOP);
        screen.until("it is told", |text| text.starts_with("the host does not answer   1 sessions: "));
        screen.press("a", "it is seen what is under way", |text| text.contains("\nanswering …"));
        processes::signal(host, Signal::CONT);
        screen
            .until("the next question is seen", |text| asks("Write")(text) && text.starts_with("1 sessions"));
        screen
    });
    let screen = screen.await;
    assert_eq!(answered(&mut socket, &id).await, PermissionOutcome::Allowed);
    let ended = at_the_screen(screen, move |mut screen| {
        processes::signal(host, Signal::STOP);
        screen.types("i");
        screen.until("it is seen what is under way", |text| text.contains("\ninterrupting …"));
        screen.types("q");
        screen.until("it is told that it is waited for", |text| {
            text.contains("waiting for it; q again ends at once")
        });
        screen.ended_with()
    });
    let (status, said) = ended.await;
    processes::signal(host, Signal::CONT);
    assert_eq!(status.code(), Some(1), "it ends although the host stands still: {said}");
    assert!(said.contains("it is not confirmed that the session was interrupted"), "{said}");
    assert!(server.stop().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_window_that_gets_too_small_takes_no_answer_until_it_is_large_again() {
    let (place, server, mut socket, id) = asked_to_edit().await;
    let ended = at_the_screen(Screen::before(&place), |mut screen| {
        screen.until("the question is seen", asks("Edit"));
        for (size, rest) in [((40, 5), "question"), ((60, 4), "this question")] {
            screen.resize(size);
            screen
                .until("it is told", |text| text.contains("the window is too small") && text.contains(rest));
            screen.press("a", "it is refused", |text| text.contains("not all of it is shown: see the page"));
        }
        screen.resize((200, 50));
        screen.until("all of it is seen", |text| asks("Edit")(text) && shows(&["  lines: +2 −1"])(text));
        screen.press("a", "it is taken", |text| !asks("Edit")(text));
        screen.until("the next question is seen", asks("Write"));
        screen.types("q");
        screen.ended()
    });
    assert!(ended.await.success());
    assert_eq!(answered(&mut socket, &id).await, PermissionOutcome::Allowed);
    assert!(server.stop().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_is_started_again_is_seen_again() {
    let (place, server, _socket, _id) = asked_to_edit().await;
    let screen = at_the_screen(Screen::before(&place), |mut screen| {
        screen.until("the question is seen", asks("Edit"));
        screen
    })
    .await;
    assert!(server.stop().await.success());
    let screen = at_the_screen(screen, |mut screen| {
        screen.until("it is told", |text| text.starts_with("the host does not answer   1 sessions: "));
        screen
    })
    .await;
    let server = place.serve().await;
    let ended = at_the_screen(screen, |mut screen| {
        // The session's run ended with the host.
        let is_back = |text: &str| text.starts_with("1 sessions: 0 ask") && text.contains("\nended ");
        screen.until("it is seen again", is_back);
        screen.types("q");
        screen.ended()
    });
    assert!(ended.await.success());
    assert!(server.stop().await.success());
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

#[tokio::test(flavor = "multi_thread")]
async fn without_a_terminal_or_a_host_it_says_what_to_do() {
    let place = Place::demo();
    let finished = program::jackfield(["top", "--data"]).arg(&place.data).output().unwrap();
    let said = String::from_utf8_lossy(&finished.stderr);
    assert_eq!(finished.status.code(), Some(2), "{said}");
    assert!(said.contains("standard output is no terminal") && said.contains("hint: "), "{said}");
    let (no_input, no_host) = (Screen::without_input(&place), Screen::before(&place));
    for (screen, why) in
        [(no_input, "standard input is no terminal"), (no_host, "no host runs on the data folder")]
    {
        let (status, said) = at_the_screen(screen, Screen::over).await;
        assert_eq!(status.code(), Some(2), "{said}");
        assert!(said.contains(why) && said.contains("hint: ") && !said.contains("[?1049h"), "{said}");
    }
}
