//! One call of git: no shell, no terminal, an environment of our own, a deadline and a bound.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::Instant;

use super::DiffError;

/// How much of git's output is read at most.
const MOST_OUTPUT: u64 = 64 * 1024 * 1024;
/// How much of what git complains about is kept.
const MOST_COMPLAINT: u64 = 4 * 1024;

/// Settings that stand over the repository's: nothing runs, nothing is fetched.
const SETTINGS: &[&str] = &[
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.attributesFile=/dev/null",
    "core.sshCommand=false",
    "core.askPass=false",
    "core.untrackedCache=false",
    "credential.helper=",
    "diff.external=",
    "protocol.allow=never",
    "safe.bareRepository=explicit",
    "submodule.recurse=false",
];

/// Git, to be asked several things until a deadline.
pub(super) struct Git<'a> {
    /// Where it is asked.
    pub(super) folder: &'a Path,
    /// What else it is told by its environment.
    pub(super) environment: Vec<(&'static str, &'a Path)>,
    /// When all of it must be over.
    pub(super) deadline: Instant,
}

/// What git said.
pub(super) struct Said {
    /// Its output.
    pub(super) output: Vec<u8>,
    /// Whether there was more than is read; git was then stopped.
    pub(super) truncated: bool,
    /// Whether it was content.
    pub(super) success: bool,
    /// The beginning of what it complained about.
    pub(super) complaint: String,
}

impl Git<'_> {
    /// Asks git, and fails where git fails.
    pub(super) fn ask(
        &self,
        doing: &'static str,
        arguments: &[&str],
        input: &[u8],
    ) -> Result<Said, DiffError> {
        let said = self.try_ask(doing, arguments, input)?;
        if said.success || said.truncated {
            Ok(said)
        } else {
            Err(DiffError::Failed { doing, reason: said.complaint })
        }
    }

    /// Asks git; that it fails is an answer.
    pub(super) fn try_ask(
        &self,
        doing: &'static str,
        arguments: &[&str],
        input: &[u8],
    ) -> Result<Said, DiffError> {
        let mut child = self.command(arguments).spawn().map_err(|source| DiffError::NoGit { source })?;
        let said = converse(&mut child, input, self.deadline);
        // Whatever happened, it is over now; a git that has ended by itself cannot be killed.
        if !matches!(&said, Some((_, false, _))) {
            let _ = child.kill();
        }
        let status = child.wait().map_err(|source| DiffError::NoGit { source })?;
        let Some((output, truncated, complaint)) = said else { return Err(DiffError::TooSlow { doing }) };
        let complaint = String::from_utf8_lossy(&complaint).trim().to_owned();
        Ok(Said { output, truncated, success: status.success(), complaint })
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("git");
        command.env_clear();
        for name in ["PATH", "HOME", "XDG_CONFIG_HOME"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_ATTR_NOSYSTEM", "1")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_NO_REPLACE_OBJECTS", "1")
            .env("GIT_ALLOW_PROTOCOL", "")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_PAGER", "cat")
            .env("GIT_LITERAL_PATHSPECS", "1")
            .env("LC_ALL", "C")
            .envs(self.environment.iter().copied());
        command.args(SETTINGS.iter().flat_map(|setting| ["-c", setting])).args(arguments);
        command.current_dir(self.folder).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }
}

/// Gives git its input and takes what it says, each on its own thread, so that none waits for another;
/// `None` if it does not end in time.
fn converse(child: &mut Child, input: &[u8], deadline: Instant) -> Option<(Vec<u8>, bool, Vec<u8>)> {
    let (mut stdin, stdout, stderr) = (child.stdin.take()?, child.stdout.take()?, child.stderr.take()?);
    let input = input.to_vec();
    // A git that does not read to the end has said why.
    thread::spawn(move || stdin.write_all(&input));
    let output = collect(stdout, MOST_OUTPUT);
    let complaint = collect(stderr, MOST_COMPLAINT);
    let mut output = wait(&output, deadline)?;
    let truncated = output.len() as u64 > MOST_OUTPUT;
    if truncated {
        output.truncate(usize::try_from(MOST_OUTPUT).unwrap_or(usize::MAX));
        return Some((output, true, Vec::new()));
    }
    Some((output, false, wait(&complaint, deadline)?))
}

/// Reads up to one byte more than `most`, and leaves it at that.
fn collect(from: impl Read + Send + 'static, most: u64) -> Receiver<Vec<u8>> {
    let (done, collected) = sync_channel(1);
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // What came before an error counts; the exit status tells the rest.
        let _ = from.take(most + 1).read_to_end(&mut bytes);
        let _ = done.send(bytes);
    });
    collected
}

fn wait(collected: &Receiver<Vec<u8>>, deadline: Instant) -> Option<Vec<u8>> {
    let left = deadline.saturating_duration_since(Instant::now());
    collected.recv_timeout(left).ok()
}
