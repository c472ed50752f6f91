//! The yardstick: a stream of the CLI's lines from a stand-in that writes faster than anybody reads.
//!
//! The stand-in is `xtask/bench/fake-claude.c`, compiled anew for each benchmark. The one rule it keeps: the
//! same number of deltas gives the same lines, but for ids.

use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use super::BenchError;
use crate::process;
use crate::workspace;

/// The compiled stand-in.
#[derive(Debug)]
pub(super) struct Stream {
    folder: TempDir,
}

impl Stream {
    /// Compiles the stand-in into a folder of its own.
    pub(super) fn compile() -> Result<Self, BenchError> {
        let doing = "make a folder for the stand-in".to_owned();
        let folder = tempfile::tempdir().map_err(|source| BenchError::File { doing, source })?;
        let mut compiler = Command::new("cc");
        compiler.arg("-O2").arg("-o").arg(folder.path().join("fake-claude"));
        process::run(compiler.arg(workspace::root().join("xtask/bench/fake-claude.c")))?;
        Ok(Self { folder })
    }

    /// A process that writes one turn of so many deltas to its standard output.
    pub(super) fn start(&self, deltas: u32) -> Result<Child, BenchError> {
        let mut command = self.command(deltas);
        Ok(command
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|source| process::not_started(&command, source))?)
    }

    /// How many lines that is.
    pub(super) fn lines(&self, deltas: u32) -> Result<u32, BenchError> {
        let mut command = self.command(deltas);
        let output = command
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .output()
            .map_err(|source| process::not_started(&command, source))?;
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        let count = told.split_whitespace().skip_while(|word| *word != "lines").nth(1);
        let count = count.and_then(|count| count.parse().ok());
        count.ok_or(BenchError::Missing { what: "the number of lines", place: told })
    }

    fn command(&self, deltas: u32) -> Command {
        let mut command = Command::new(self.folder.path().join("fake-claude"));
        command.arg("--dump").env_clear().env("FAKE_DELTAS", deltas.to_string());
        command
    }
}
