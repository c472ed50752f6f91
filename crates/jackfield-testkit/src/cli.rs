//! The real CLI: where the pinned versions lie, and how one is started in a private folder.
//!
//! Not a host: it writes and reads nothing. The one rule it keeps: the CLI sees an empty environment plus what
//! [`Sandbox::environment`] lists, and nothing it started outlives the [`RunningCli`]
//! and its [`Sandbox`].

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tempfile::TempDir;
use tokio::process::{Child, Command};

use crate::places::Places;
use crate::processes;
use crate::recordings::workspace_dir;

/// The version on which the shared recordings were made.
pub const OLDER_VERSION: &str = "2.1.197";
/// The newer pinned version.
pub const NEWER_VERSION: &str = "2.1.325";
/// Every version that `cargo xtask setup` fetches.
pub const PINNED_VERSIONS: [&str; 2] = [OLDER_VERSION, NEWER_VERSION];

/// Flags of a session over pipes; every other flag is added to these.
pub const STREAM_FLAGS: [&str; 6] =
    ["-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"];

/// A pinned CLI on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cli {
    /// Its version.
    pub version: String,
    /// Its program.
    pub program: PathBuf,
}

/// Why a CLI could not be started.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// The version is not in the cache folder.
    #[error("the CLI {version} is not at {}: run `cargo xtask setup`", program.display())]
    Missing {
        /// The version.
        version: String,
        /// Where it should be.
        program: PathBuf,
    },
    /// The private folder could not be made.
    #[error("cannot make a private folder for the CLI: {0}")]
    Sandbox(#[source] io::Error),
    /// The program did not start.
    #[error("cannot start {}: {source}", program.display())]
    Start {
        /// The program.
        program: PathBuf,
        /// The reason.
        source: io::Error,
    },
}

/// A private home, working folder and folder for temporary files; gone when dropped, with whatever still works
/// in it.
#[derive(Debug)]
pub struct Sandbox {
    _root: TempDir,
    places: Places,
}

/// A CLI that runs; it and everything it started is killed when this is dropped.
#[derive(Debug)]
pub struct RunningCli {
    child: Child,
}

impl Cli {
    /// Finds a version in the cache folder.
    pub fn locate(version: &str) -> Result<Self, CliError> {
        let program = program_path(version);
        if !program.is_file() {
            return Err(CliError::Missing { version: version.to_owned(), program });
        }
        Ok(Self { version: version.to_owned(), program })
    }

    /// Starts it in a private folder with all three pipes. `additions` to the environment come last and win.
    pub fn start<Flag: AsRef<OsStr>>(
        &self,
        sandbox: &Sandbox,
        api_url: &str,
        flags: &[Flag],
        additions: &BTreeMap<String, String>,
    ) -> Result<RunningCli, CliError> {
        let child = Command::new(&self.program)
            .args(flags)
            .env_clear()
            .envs(sandbox.environment(api_url))
            .envs(additions)
            .current_dir(&sandbox.places.workspace)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(|source| CliError::Start { program: self.program.clone(), source })?;
        Ok(RunningCli { child })
    }
}

impl Sandbox {
    /// Makes the folders.
    pub fn new() -> Result<Self, CliError> {
        let root = tempfile::Builder::new().prefix("jackfield-").tempdir().map_err(CliError::Sandbox)?;
        // The CLI reports resolved paths, and temporary folders are behind a link on some systems.
        let resolved = root.path().canonicalize().map_err(CliError::Sandbox)?;
        let places = Places {
            workspace: resolved.join("ws"),
            home: resolved.join("home"),
            temporary: resolved.join("tmp"),
        };
        for folder in [&places.workspace, &places.home, &places.temporary] {
            fs::create_dir(folder).map_err(CliError::Sandbox)?;
        }
        fs::create_dir(places.home.join(".claude")).map_err(CliError::Sandbox)?;
        Ok(Self { _root: root, places })
    }

    /// The folders.
    pub fn places(&self) -> &Places {
        &self.places
    }

    /// Writes a file below the working folder.
    pub fn write(&self, path: impl AsRef<Path>, text: &str) -> io::Result<()> {
        let path = self.places.workspace.join(path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(path, text)
    }

    /// The whole environment of the CLI.
    pub fn environment(&self, api_url: &str) -> BTreeMap<String, String> {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        [
            ("PATH", "/usr/local/bin:/usr/bin:/bin".to_owned()),
            ("HOME", text(&self.places.home)),
            ("CLAUDE_CONFIG_DIR", text(&self.places.home.join(".claude"))),
            ("ANTHROPIC_BASE_URL", api_url.to_owned()),
            ("ANTHROPIC_API_KEY", "dummy".to_owned()),
            ("DISABLE_AUTOUPDATER", "1".to_owned()),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
            ("TMPDIR", text(&self.places.temporary)),
            ("LANG", "C.UTF-8".to_owned()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        if let Some(root) = self.places.workspace.parent() {
            processes::kill_inside(root);
        }
    }
}

impl RunningCli {
    /// The process and its pipes.
    pub fn child(&mut self) -> &mut Child {
        &mut self.child
    }
}

impl Drop for RunningCli {
    fn drop(&mut self) {
        // `None` once the exit was seen: the number may already belong to somebody else.
        if let Some(id) = self.child.id() {
            processes::kill_tree(id);
        }
    }
}

/// The cache folder: `$JACKFIELD_CACHE`, or `.cache` in the workspace.
pub fn cache_dir() -> PathBuf {
    std::env::var_os("JACKFIELD_CACHE").map_or_else(|| workspace_dir().join(".cache"), PathBuf::from)
}

/// Where the program of a version lies in the cache folder.
pub fn program_path(version: &str) -> PathBuf {
    cache_dir().join("claude").join(version).join("claude")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::*;

    #[test]
    fn a_missing_version_says_what_to_run() {
        let error = Cli::locate("0.0.0").unwrap_err();
        assert!(error.to_string().ends_with("run `cargo xtask setup`"), "{error}");
    }

    #[test]
    fn the_environment_names_only_private_folders() {
        let sandbox = Sandbox::new().unwrap();
        let root = sandbox.places().home.parent().unwrap().to_owned();
        let environment = sandbox.environment("http://127.0.0.1:1");
        for name in ["HOME", "CLAUDE_CONFIG_DIR", "TMPDIR"] {
            assert!(Path::new(&environment[name]).starts_with(&root), "{name}");
        }
        drop(sandbox);
        assert!(!root.exists());
    }
}
