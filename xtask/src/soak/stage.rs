//! Where one server of the chaos run lives: its folders, its disk, its agent, and the server itself.
//!
//! The one rule it keeps: the server and all below it have nothing of this machine's environment, speak with loopback
//! alone, and are gone with the stage.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use jackfield_testkit::api::ScriptedApi;
use jackfield_testkit::cli::Sandbox;
use jackfield_testkit::fake::write_script;
use jackfield_testkit::processes;
use nix::sys::signal::Signal;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use super::agents::{self, Agent};
use super::violation::{Checked, Violation, cannot};
use crate::process;

/// What hangs must not hang the run.
pub(super) const PATIENCE: Duration = Duration::from_secs(90);
/// How large the data folder's own disk is: so small that it can be filled at once, and large enough for all that a
/// stage keeps at a time.
const DISK: &str = "size=192m,mode=0700";
static BLOCK: [u8; 64 * 1024] = [0; 64 * 1024];

/// Where a server lives.
#[derive(Debug)]
pub(super) struct Stage {
    pub(super) agent: Agent,
    pub(super) data: PathBuf,
    jackfield: PathBuf,
    environment: BTreeMap<String, String>,
    api: Option<ScriptedApi>,
    disk: Disk,
    // Last: it ends what still works in its folders, and removes them.
    sandbox: Sandbox,
}

/// What the data folder lies on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Disk {
    /// A file system of its own, which can be filled.
    Own,
    /// Whatever the machine has, which cannot.
    Shared,
}

/// A server that runs.
#[derive(Debug)]
pub(super) struct Server {
    child: Child,
    pub(super) address: SocketAddr,
}

impl Stage {
    /// Makes the folders. `jackfield` is the program.
    pub(super) async fn new(agent: Agent, jackfield: PathBuf) -> Checked<Self> {
        let sandbox = Sandbox::new().map_err(cannot("make a stage"))?;
        let places = sandbox.places();
        let data = places.temporary.join("data");
        let disk = mount(&data)?;
        let (api, environment) = match &agent {
            Agent::Real { .. } => {
                let api = ScriptedApi::start(agents::scenario(), places.clone()).await;
                let api = api.map_err(cannot("start the API"))?;
                let environment = sandbox.environment(&api.url());
                (Some(api), environment)
            }
            Agent::Fake { .. } => {
                let script = places.temporary.join("script");
                write_script(&script, &agents::script()).map_err(cannot("write the script"))?;
                let mut environment = sandbox.environment("http://127.0.0.1:1");
                environment.insert("FAKE_CLAUDE_SCRIPT".to_owned(), script.to_string_lossy().into_owned());
                (None, environment)
            }
        };
        Ok(Self { agent, data, jackfield, environment, api, disk, sandbox })
    }

    pub(super) fn disk(&self) -> Disk {
        self.disk
    }

    /// Where the CLI keeps its own records.
    pub(super) fn records(&self) -> PathBuf {
        self.sandbox.places().home.join(".claude/projects")
    }

    /// A new folder for a session.
    pub(super) fn folder(&self, number: u64) -> Checked<PathBuf> {
        let folder = self.sandbox.places().workspace.join(number.to_string());
        fs::create_dir(&folder).map_err(cannot("make a folder for a session"))?;
        Ok(folder)
    }

    /// What works in the sessions' folders.
    pub(super) fn alive(&self) -> Vec<u32> {
        processes::inside(&self.sandbox.places().workspace)
    }

    /// Those that run this program.
    pub(super) fn running(&self, program: &Path) -> Vec<u32> {
        let program = program.canonicalize().unwrap_or_default();
        let runs = |id: &u32| fs::read_link(format!("/proc/{id}/exe")).is_ok_and(|found| found == program);
        self.alive().into_iter().filter(runs).collect()
    }

    /// The guards of the sessions.
    pub(super) fn guards(&self) -> Vec<u32> {
        self.running(&self.jackfield)
    }

    /// The CLIs of the sessions.
    pub(super) fn agents(&self) -> Vec<u32> {
        self.running(self.agent.program())
    }

    /// Lets go of what nobody looks at.
    pub(super) fn tidy(&self) {
        if let Some(api) = &self.api {
            api.forget_requests();
        }
    }

    /// Where the server's own words are kept.
    pub(super) fn log(&self) -> PathBuf {
        self.sandbox.places().temporary.join("server.log")
    }

    /// Starts the server, and waits until it listens.
    pub(super) async fn serve(&self) -> Checked<Server> {
        let log = OpenOptions::new().create(true).append(true).open(self.log());
        let log = log.map_err(cannot("keep what the server says"))?;
        let mut command = Command::new(&self.jackfield);
        command.args(["serve", "--no-open", "--listen", "127.0.0.1:0", "--data"]).arg(&self.data);
        command.arg("--claude").arg(self.agent.program());
        command.env_clear().envs(&self.environment).current_dir(&self.sandbox.places().temporary);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log).kill_on_drop(true);
        let mut child = command.spawn().map_err(cannot("start the server"))?;
        let Some(stdout) = child.stdout.take() else { return Err(Violation::new("no standard output")) };
        let mut said = BufReader::new(stdout).lines();
        let first = timeout(PATIENCE, said.next_line()).await;
        let first = first.map_err(cannot("wait for the server"))?.map_err(cannot("read from the server"))?;
        let address = first.as_deref().and_then(address);
        let Some(address) = address else {
            let log = fs::read_to_string(self.log()).unwrap_or_default();
            let last = log.lines().last().unwrap_or_default();
            return Err(Violation::new(format!("the server does not serve: {first:?}, {last}")));
        };
        // What it still says must find a reader.
        tokio::spawn(async move { while matches!(said.next_line().await, Ok(Some(_))) {} });
        Ok(Server { child, address })
    }

    /// Waits until nothing works in the sessions' folders.
    pub(super) async fn is_empty(&self, after: &str) -> Checked {
        let empty = async {
            while !self.alive().is_empty() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        if timeout(PATIENCE, empty).await.is_err() {
            let left: Vec<String> = self.alive().into_iter().map(described).collect();
            return Err(Violation::new(format!("alive after {after}: {left:?}")));
        }
        Ok(())
    }

    fn ballast(&self) -> PathBuf {
        self.data.join("ballast")
    }

    /// Fills the disk to its last byte.
    pub(super) fn fill(&self) -> Checked {
        let mut file = File::create(self.ballast()).map_err(cannot("fill the disk"))?;
        loop {
            match file.write(&BLOCK) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::StorageFull => return Ok(()),
                Err(error) => return Err(cannot("fill the disk")(error)),
            }
        }
    }

    /// Makes room again.
    pub(super) fn make_room(&self) {
        // It may not be there.
        let _ = fs::remove_file(self.ballast());
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        for process in self.alive() {
            processes::kill_tree(process);
        }
        if self.disk == Disk::Own {
            // Lazily: whoever still has a file open in it is on its way out.
            let _ = process::capture(std::process::Command::new("umount").arg("-l").arg(&self.data));
        }
    }
}

impl Server {
    pub(super) fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// Sends a signal.
    pub(super) fn signal(&self, signal: Signal) {
        if let Some(id) = self.id() {
            send(id, signal);
        }
    }

    /// Kills it.
    pub(super) async fn kill(&mut self) -> Checked {
        self.child.kill().await.map_err(cannot("kill the server"))
    }

    /// Asks it to end, and waits until it has.
    pub(super) async fn stop(&mut self) -> Checked {
        self.signal(Signal::SIGTERM);
        let ended = timeout(PATIENCE, self.child.wait()).await;
        let status =
            ended.map_err(cannot("end the server in order"))?.map_err(cannot("wait for the server"))?;
        if status.success() { Ok(()) } else { Err(Violation::new(format!("the server ended with {status}"))) }
    }

    /// How much of its memory is not in a file, and how many files it has open.
    pub(super) fn weight(&self) -> Option<(u64, usize)> {
        let id = self.id()?;
        let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
        let line = status.lines().find(|line| line.starts_with("RssAnon:"))?;
        let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
        Some((kilobytes * 1024, fs::read_dir(format!("/proc/{id}/fd")).ok()?.count()))
    }
}

/// Sends a signal to a process of the stage; one that is gone does not mind.
pub(super) fn send(id: u32, signal: Signal) {
    if let Ok(id) = i32::try_from(id) {
        let _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(id), signal);
    }
}

fn mount(data: &Path) -> Checked<Disk> {
    if !process::is_root() {
        return Ok(Disk::Shared);
    }
    fs::create_dir(data).map_err(cannot("make the data folder"))?;
    let mut mount = std::process::Command::new("mount");
    mount.args(["-t", "tmpfs", "-o", DISK, "jackfield"]).arg(data);
    match process::capture(&mut mount) {
        Ok(_) => Ok(Disk::Own),
        // Root of a container that may not mount.
        Err(_) => fs::remove_dir(data).map_err(cannot("make the data folder")).map(|()| Disk::Shared),
    }
}

fn address(line: &str) -> Option<SocketAddr> {
    let mut words = line.split(|letter: char| letter.is_whitespace() || "/()".contains(letter));
    words.find_map(|word| word.parse().ok())
}

fn described(id: u32) -> String {
    let words = fs::read_to_string(format!("/proc/{id}/cmdline")).unwrap_or_default().replace('\0', " ");
    let words: String = words.chars().take(120).collect();
    format!("{id} {words}")
}
