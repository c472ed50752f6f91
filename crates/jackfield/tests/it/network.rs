//! Two machines with a wire between them: the server on one, whoever wants in on the other.
//!
//! The machines are network namespaces of Linux, which only root can make; so these tests are left out unless they are
//! asked for (`cargo xtask foreign`, which says when it cannot). Nothing of it is seen by others: each test runs in a
//! process with namespaces of its own, and they end with it.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::Duration;

use jackfield_testkit::cli;

use crate::program::jackfield;

/// Set in the process with the namespaces.
const INSIDE: &str = "JACKFIELD_TEST_NETWORK";
const HERE: &str = "10.77.0.1";
const THERE: &str = "10.77.0.2";
/// What hangs must not hang the tests: longer than two pings that nobody answers.
const PATIENCE: Duration = Duration::from_mins(3);

/// Runs the test in namespaces of its own; whether this is that process.
fn is_inside(test: &str) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    let this = format!("/proc/{}/exe", std::process::id());
    let status = Command::new("unshare")
        .args(["--net", "--mount", "--propagation", "private", &this, "--exact", "--nocapture", "--ignored"])
        .arg(format!("network::{test}"))
        .env(INSIDE, "1")
        .stdin(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success(), "{status}");
    false
}

fn run(words: &[&str]) -> Output {
    let output = Command::new(words[0]).args(&words[1..]).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

/// The other machine: a namespace that lives as long as a process in it.
struct Other {
    child: Child,
}

impl Other {
    fn wired() -> Self {
        run(&["ip", "link", "set", "lo", "up"]);
        let mut keeper = Command::new("unshare");
        keeper.args(["--net", "sh", "-c", "echo there; exec sleep 600"]);
        let mut child = keeper.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let other = Self { child };
        let id = other.child.id().to_string();
        run(&["ip", "link", "add", "near", "type", "veth", "peer", "name", "far", "netns", &id]);
        run(&["ip", "address", "add", &format!("{HERE}/24"), "dev", "near"]);
        run(&["ip", "link", "set", "near", "up"]);
        other.succeeds(&["ip", "address", "add", &format!("{THERE}/24"), "dev", "far"]);
        other.succeeds(&["ip", "link", "set", "far", "up"]);
        other.succeeds(&["ip", "link", "set", "lo", "up"]);
        other
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--target", &self.child.id().to_string(), "--net", "--"]).args(words);
        command.stdin(Stdio::null());
        command
    }

    fn succeeds(&self, words: &[&str]) {
        let output = self.command(words).output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// The status that `curl` sees from there, and what it says otherwise.
    fn curl(&self, words: &[&str]) -> Result<String, i32> {
        let fixed = ["curl", "--silent", "--output", "/dev/null", "--write-out", "%{http_code}"];
        let bounds = ["--max-time", "20", "--noproxy", "*", "--insecure"];
        let output = self.command(&[&fixed[..], &bounds, words].concat()).output().unwrap();
        match output.status.code() {
            Some(0) => Ok(String::from_utf8(output.stdout).unwrap()),
            code => Err(code.unwrap_or(-1)),
        }
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A server here.
struct Server {
    child: Child,
    data: PathBuf,
    /// `10.77.0.1:40123`
    address: String,
    // Open, so that it never writes into nothing.
    _said: BufReader<ChildStdout>,
}

impl Server {
    fn begin(folder: &Path, listen: &str, words: &[&str]) -> Result<Self, String> {
        let data = folder.join("data");
        let mut command = jackfield(["serve", "--no-open", "--listen", listen, "--data"]);
        command.arg(&data).args(words).env("HOME", folder).env("PATH", "/usr/bin:/bin");
        let mut child = command.spawn().unwrap();
        let (mut line, mut said) = (String::new(), BufReader::new(child.stdout.take().unwrap()));
        said.read_line(&mut line).unwrap();
        if line.is_empty() {
            let mut complaint = String::new();
            child.stderr.take().unwrap().read_to_string(&mut complaint).unwrap();
            assert!(!child.wait().unwrap().success());
            return Err(complaint);
        }
        let address = line.split("://").nth(1).unwrap().split('/').next().unwrap().to_owned();
        Ok(Self { child, data, address, _said: said })
    }

    fn port(&self) -> &str {
        self.address.rsplit(':').next().unwrap()
    }

    fn bearer(&self) -> String {
        let token = fs::read_to_string(self.data.join("token")).unwrap();
        format!("authorization: Bearer {}", token.trim())
    }

    /// Connections from the other machine.
    fn guests(&self) -> usize {
        // 10.77.0.2, as the kernel writes it.
        let peer = "02004D0A:";
        let table = fs::read_to_string(format!("/proc/{}/net/tcp", self.child.id())).unwrap();
        let is_guest = |line: &str| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            // State 01 is a connection that is there.
            fields.get(2).is_some_and(|remote| remote.starts_with(peer)) && fields.get(3) == Some(&"01")
        };
        table.lines().filter(|line| is_guest(line)).count()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
#[ignore = "needs root: it makes a network of its own"]
fn s1_from_another_machine_there_is_tls_with_a_secret_or_nothing() {
    if !is_inside("s1_from_another_machine_there_is_tls_with_a_secret_or_nothing") {
        return;
    }
    let other = Other::wired();
    let folder = tempfile::tempdir().unwrap();
    for listen in [format!("{HERE}:0"), "0.0.0.0:0".to_owned(), "[::]:0".to_owned()] {
        let refused = Server::begin(folder.path(), &listen, &[]).err().expect("it does not serve");
        assert!(refused.contains("without TLS"), "{refused}");
    }
    // By default there is nothing to be reached from elsewhere.
    let server = Server::begin(folder.path(), "127.0.0.1:0", &[]).unwrap();
    let there = format!("http://{HERE}:{}/healthz", server.port());
    assert_eq!(other.curl(&[&there]), Err(7), "nobody listens there");
    drop(server);

    let tls = ["--set", "server.tls=self"];
    for listen in [format!("{HERE}:0"), "0.0.0.0:0".to_owned()] {
        let server = Server::begin(folder.path(), &listen, &tls).unwrap();
        let at = format!("https://{HERE}:{}", server.port());
        let bearer = server.bearer();
        assert_eq!(other.curl(&[&format!("{at}/healthz")]).as_deref(), Ok("200"), "{listen}");
        assert_eq!(other.curl(&[&format!("{at}/api/desk")]).as_deref(), Ok("401"));
        assert_eq!(other.curl(&["--header", &bearer, &format!("{at}/api/desk")]).as_deref(), Ok("200"));
        let strange = ["--header", &bearer, "--header", "host: evil.test", &format!("{at}/api/desk")];
        assert_eq!(other.curl(&strange).as_deref(), Ok("421"));
        let plain = other.curl(&[&format!("http://{HERE}:{}/healthz", server.port())]);
        assert!(plain.is_err(), "plain HTTP is not answered: {plain:?}");
    }
}

#[test]
#[ignore = "needs root: it makes a network of its own"]
fn f17_a_wire_that_is_cut_without_a_word_is_noticed_and_its_place_is_free_again() {
    if !is_inside("f17_a_wire_that_is_cut_without_a_word_is_noticed_and_its_place_is_free_again") {
        return;
    }
    let other = Other::wired();
    let folder = tempfile::tempdir().unwrap();
    let words = ["--set", "server.allow_plain_http_beyond_loopback=true"];
    let server = Server::begin(folder.path(), &format!("{HERE}:0"), &words).unwrap();
    let token = fs::read_to_string(server.data.join("token")).unwrap();
    // A client that says hello, and then only answers what it is asked.
    let script = "import asyncio, json, sys, websockets\n\
        async def main():\n\
        \x20   headers = {'Authorization': 'Bearer ' + sys.argv[2]}\n\
        \x20   async with websockets.connect(sys.argv[1], additional_headers=headers, ping_interval=None) as socket:\n\
        \x20       await socket.send(json.dumps({'type': 'hello', 'version': int(sys.argv[3]), 'client': 'far'}))\n\
        \x20       print(json.loads(await socket.recv())['type'], flush=True)\n\
        \x20       await asyncio.sleep(600)\n\
        asyncio.run(main())\n";
    let address = format!("ws://{}/api/socket", server.address);
    let version = jackfield_api::VERSION.to_string();
    let mut client = other.command(&["python3", "-c", script, &address, token.trim(), &version]);
    let mut client =
        client.env("PYTHONPATH", cli::cache_dir().join("python")).stdout(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    BufReader::new(client.stdout.take().unwrap()).read_line(&mut said).unwrap();
    assert_eq!(said.trim(), "hello");
    assert_eq!(server.guests(), 1);
    // No packet says that it is over.
    run(&["ip", "link", "set", "near", "down"]);
    assert_eq!(server.guests(), 1, "nobody has noticed yet");
    let begun = std::time::Instant::now();
    while server.guests() > 0 {
        assert!(begun.elapsed() < PATIENCE, "the connection is still held");
        #[expect(clippy::disallowed_methods, reason = "nothing tells when the kernel has given up")]
        std::thread::sleep(Duration::from_millis(200));
    }
    client.kill().unwrap();
    client.wait().unwrap();
}
