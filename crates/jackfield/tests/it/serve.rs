//! `jackfield serve`: its link, its signals, and what it says when it cannot begin.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use jackfield_testkit::case::Nothing;
use jackfield_testkit::cli::NEWER_VERSION;
use jackfield_testkit::fake::{self, FakeStep};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::program::{Finished, jackfield, run};

/// What hangs must not hang the tests.
const PATIENCE: Duration = Duration::from_mins(1);

/// A server that runs until it is told to stop, and is killed at the latest with the test.
pub(crate) struct Server {
    pub(crate) child: Child,
    pub(crate) link: String,
    rest: BufReader<std::process::ChildStdout>,
}

impl Server {
    pub(crate) fn begin(data: &Path, words: &[&str], variables: &[(&str, &Path)]) -> Self {
        let mut command = jackfield(["serve", "--no-open", "--listen", "127.0.0.1:0", "--data"]);
        command.arg(data).args(words).envs(variables.iter().copied());
        Self::begun(command)
    }

    /// Wherever the words say.
    pub(crate) fn begin_anywhere(data: &Path, words: &[&str]) -> Self {
        let mut command = jackfield(["serve", "--no-open", "--data"]);
        command.arg(data).args(words);
        Self::begun(command)
    }

    fn begun(mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let mut rest = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        while !line.contains("#ticket=") {
            line.clear();
            assert!(rest.read_line(&mut line).unwrap() > 0, "it ended without a link");
        }
        Self { child, link: line.trim().to_owned(), rest }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let id = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(id, signal).unwrap();
    }

    pub(crate) fn ended(mut self) -> Finished {
        let mut out = String::new();
        self.rest.read_to_string(&mut out).unwrap();
        let mut err = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        Finished { code: self.child.wait().unwrap().code(), out, err }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
    }
}

/// Asks over the Unix socket for something that is there.
pub(crate) fn ask(data: &Path, line: &str, body: &Value) -> String {
    let (status, answer) = answered(data, line, body);
    assert_eq!(status, 200, "{answer}");
    answer
}

/// Asks over the Unix socket: the status, and what was answered.
pub(crate) fn answered(data: &Path, line: &str, body: &Value) -> (u16, String) {
    let mut stream = UnixStream::connect(data.join("host.sock")).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let head = format!("{line} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json");
    // In one piece: a server that answers after the head alone may have closed before the rest is written.
    let whole = format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    stream.write_all(whole.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

/// Whether a link lets somebody in.
fn lets_in(link: &str) -> bool {
    let (page, ticket) = link.split_once("/#ticket=").unwrap();
    let host = page.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let body = json!({ "ticket": ticket }).to_string();
    let head = format!("POST /api/login HTTP/1.1\r\nhost: {host}\r\nconnection: close");
    let length = body.len();
    let whole = format!("{head}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}");
    stream.write_all(whole.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.starts_with("HTTP/1.1 200")
}

#[test]
fn a_second_serve_gives_a_link_of_the_first_and_ends() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let server = Server::begin(&data, &[], &[]);
    let second: Finished = jackfield(["serve", "--no-open", "--data"]).arg(&data).output().unwrap().into();
    assert_eq!((second.code, second.err.as_str()), (Some(0), ""));
    let link = second.out.lines().find(|line| line.contains("#ticket=")).unwrap().trim();
    assert_ne!(link, server.link);
    assert_eq!(link.split('#').next(), server.link.split('#').next());
    for link in [link, &server.link] {
        assert!(lets_in(link), "{link}");
        assert!(!lets_in(link), "a second time: {link}");
    }
    server.signal(Signal::TERM);
    assert_eq!(server.ended().code, Some(0));
}

#[test]
fn f29_a_signal_ends_it_in_order_with_its_runs() {
    for signal in [Signal::TERM, Signal::INT] {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        let server = Server::begin(&data, &["--set", "demo.enabled=true"], &[("HOME", folder.path())]);
        let create =
            json!({ "type": "create_session", "cwd": folder.path(), "agent": "demo", "origin": "new" });
        let created = ask(&data, "POST /api/commands", &json!({ "id": "c-1", "command": create }));
        let created: Value = serde_json::from_str(&created).unwrap();
        let id = created["reply"]["session_id"].as_str().unwrap();
        let content = json!([{ "type": "text", "text": "slow" }]);
        let prompt = json!({ "type": "prompt", "uuid": id, "content": content, "priority": "next" });
        ask(&data, "POST /api/commands", &json!({ "id": "c-2", "session_id": id, "command": prompt }));

        server.signal(signal);
        let ended = server.ended();
        assert_eq!(ended.code, Some(0), "{}", ended.err);
        assert!(ended.err.contains("stopping"), "{}", ended.err);
        assert!(!data.join("host.sock").exists());
        assert_eq!(jackfield_testkit::processes::inside(folder.path()), Vec::<u32>::new());

        // What was going on has ended, in the log too.
        let server = Server::begin(&data, &[], &[]);
        let events = ask(&data, &format!("GET /api/sessions/{id}/events"), &Value::Null);
        let last: Value = serde_json::from_str(events.lines().last().unwrap()).unwrap();
        assert_eq!(last["type"], "run_ended", "{events}");
        drop(server);
    }
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    // A CLI that does not go when its input ends.
    let ready = json!({ "commands": [], "agents": [], "models": [], "output_style": "default" });
    let response = json!({ "subtype": "success", "request_id": "$request_id", "response": ready });
    let script = folder.path().join("script");
    let steps = [
        FakeStep::Version(NEWER_VERSION.to_owned()),
        FakeStep::Expect(json!({ "type": "control_request", "request": { "subtype": "initialize" } })),
        FakeStep::Send(json!({ "type": "control_response", "response": response })),
        FakeStep::Hang(Nothing {}),
    ];
    fake::write_script(&script, &steps).unwrap();
    let program = fake::program().unwrap();
    let words = ["--claude", program.to_str().unwrap()];
    let server = Server::begin(&data, &words, &[("FAKE_CLAUDE_SCRIPT", &script), ("HOME", folder.path())]);
    let create = json!({ "type": "create_session", "cwd": folder.path(), "origin": "new" });
    let created = ask(&data, "POST /api/commands", &json!({ "id": "c-1", "command": create }));
    let created: Value = serde_json::from_str(&created).unwrap();
    let id = created["reply"]["session_id"].as_str().unwrap();
    let content = json!([{ "type": "text", "text": "are you there?" }]);
    let prompt = json!({ "type": "prompt", "uuid": id, "content": content, "priority": "next" });
    ask(&data, "POST /api/commands", &json!({ "id": "c-2", "session_id": id, "command": prompt }));

    server.signal(Signal::TERM);
    let mut server = server;
    let mut told = BufReader::new(server.child.stderr.take().unwrap());
    let mut line = String::new();
    // Before it stand lines of its log.
    while !line.contains("once more") {
        line.clear();
        assert!(told.read_line(&mut line).unwrap() > 0, "it says nothing of the second signal");
    }
    server.signal(Signal::INT);
    assert_eq!(server.child.wait().unwrap().code(), Some(130));
}

#[test]
fn what_is_in_the_way_is_named_with_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let data = folder.path().join("data").to_string_lossy().into_owned();
    let serve = |listen: &str, data: &str| run(["serve", "--no-open", "--listen", listen, "--data", data]);

    let port = serve(&address, &data);
    assert_eq!(port.code, Some(1));
    assert!(port.err.contains(&address) && port.err.contains("hint:"), "{}", port.err);
    let everyone = serve("0.0.0.0:0", &data);
    assert_eq!(everyone.code, Some(1));
    assert!(everyone.err.contains("without TLS"), "{}", everyone.err);

    let file = folder.path().join("file");
    fs::write(&file, "not a folder").unwrap();
    let no_folder = serve("127.0.0.1:0", &file.to_string_lossy());
    assert_eq!(no_folder.code, Some(1));
    assert!(no_folder.err.contains("data folder") && no_folder.err.contains("--data"), "{}", no_folder.err);
    assert_eq!(fs::read_to_string(&file).unwrap(), "not a folder");
}
