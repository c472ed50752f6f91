//! The agents that are compared: how each is built or installed, and how it is started.
//!
//! Nothing is installed into the repository. The one rule it keeps: each gets the same stand-in, an empty environment
//! but for the way to it, and a new home.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use jackfield_testkit::cli;
use tempfile::TempDir;

use super::file;
use crate::bench::BenchError;
use crate::{process, workspace};

/// One of the agents.
#[derive(Debug, Clone)]
pub(super) struct Agent {
    pub(super) name: &'static str,
    /// The program and its arguments.
    words: Vec<OsString>,
}

/// Where ours is in the list.
pub(super) const OURS: usize = 0;
/// Where the minimal adapter is in the list.
pub(super) const FLOOR: usize = 1;
/// Where the reference adapter is in the list.
pub(super) const REFERENCE: usize = 2;
/// Where the other adapter in Rust is in the list.
pub(super) const OTHER: usize = 3;

/// Builds all of them; the reference adapter is what `cargo xtask setup` has installed.
pub(super) fn all() -> Result<Vec<Agent>, BenchError> {
    let cache = cli::cache_dir();
    let adapter = cache.join("acp/node_modules/@agentclientprotocol/claude-agent-acp/dist/index.js");
    if !adapter.is_file() {
        let place = "the cache folder; run `cargo xtask setup`".to_owned();
        return Err(BenchError::Missing { what: "the reference adapter", place });
    }
    let node = cache.join("node/24/package/bin/node");
    let jackfield = ours();
    Ok(vec![
        Agent { name: "`jackfield acp`", words: vec![jackfield.into(), "acp".into()] },
        Agent { name: "floor: minimal adapter", words: vec![built("bench-acp-floor")?.into()] },
        Agent { name: "`claude-agent-acp` 0.99.0, Node 24", words: vec![node.into(), adapter.into()] },
        Agent { name: "`claude-code-acp-rs` 0.1.22", words: vec![built("bench-claude-code-acp-rs")?.into()] },
    ])
}

/// Where ours is built.
pub(super) fn ours() -> PathBuf {
    workspace::cargo_target().join("release/jackfield")
}

impl Agent {
    /// Ours, under the eyes of `valgrind`, which writes down what it runs.
    pub(super) fn watched(profile: &Path) -> Self {
        let mut to = OsString::from("--callgrind-out-file=");
        to.push(profile);
        let options = ["--quiet", "--tool=callgrind", "--demangle=no"].map(OsString::from);
        let words = std::iter::once("valgrind".into()).chain(options);
        Self {
            name: "`jackfield acp`, watched",
            words: words.chain([to, ours().into(), "acp".into()]).collect(),
        }
    }
}

fn built(package: &str) -> Result<PathBuf, BenchError> {
    let folder = workspace::root().join("bench").join("peers");
    let target = folder.join("target");
    let mut build = workspace::cargo();
    build.current_dir(&folder).args(["build", "--release", "--package", package]);
    process::run(build.arg("--target-dir").arg(&target))?;
    Ok(target.join("release").join(package))
}

/// Where agents run: the stand-in, and a folder that is gone afterwards.
pub(super) struct Place {
    programs: PathBuf,
    folder: TempDir,
}

impl Place {
    /// Compiles the stand-in.
    pub(super) fn new() -> Result<Self, BenchError> {
        let folder = tempfile::tempdir().map_err(file("make a folder for the agents"))?;
        // As npm installs it: a program in a package that states its version.
        let programs = folder.path().join("node_modules/@anthropic-ai/claude-code");
        for folder in [&programs, &folder.path().join("ws")] {
            fs::create_dir_all(folder).map_err(file("make a folder for the stand-in"))?;
        }
        let manifest = r#"{"name": "@anthropic-ai/claude-code", "version": "2.1.197"}"#;
        fs::write(programs.join("package.json"), manifest).map_err(file("write the stand-in's package"))?;
        let source = workspace::root().join("xtask/bench/fake-claude.c");
        process::run(Command::new("cc").arg("-O2").arg("-o").arg(programs.join("claude")).arg(source))?;
        Ok(Self { programs, folder })
    }

    /// The folder of the sessions.
    pub(super) fn workspace(&self) -> PathBuf {
        self.folder.path().join("ws")
    }

    /// How an agent is started, in a home that nobody was in before.
    pub(super) fn command(&self, agent: &Agent, deltas: u32) -> Result<Command, BenchError> {
        let home = tempfile::tempdir_in(self.folder.path()).map_err(file("make a home"))?.keep();
        let claude = self.programs.join("claude");
        let path =
            [self.programs.as_path(), Path::new("/usr/local/bin"), Path::new("/usr/bin"), Path::new("/bin")];
        let path = std::env::join_paths(path).unwrap_or_default();
        let mut command = Command::new(&agent.words[0]);
        command.args(&agent.words[1..]).current_dir(self.workspace()).env_clear();
        command.env("PATH", path).env("HOME", &home).env("FAKE_DELTAS", deltas.to_string());
        command.env("ANTHROPIC_API_KEY", "dummy").env("CLAUDE_CONFIG_DIR", home.join(".claude"));
        command.env("JACKFIELD_CLAUDE", &claude).env("JACKFIELD_DATA", home.join("data"));
        command.env("CLAUDE_CODE_EXECUTABLE", &claude);
        Ok(command)
    }
}
