//! What the tests stand on: a private folder, and an environment with nothing of the user's.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jackfield_testkit::programs;
use jackfield_workbench::{KernelSetup, LanguageServerSetup, Surroundings};
use tempfile::TempDir;

/// How long anything may take on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_mins(2);

/// A private folder with a workspace in it.
pub(crate) struct Bench {
    home: TempDir,
    pub(crate) folder: PathBuf,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().canonicalize().unwrap().join("ws");
        fs::create_dir(&folder).unwrap();
        Self { home, folder }
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.join(name);
        fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn surroundings(&self) -> Surroundings {
        let packages = programs::jupyter_packages();
        assert!(packages.is_dir(), "run `cargo xtask setup` first");
        let environment = [
            ("HOME", self.home.path().as_os_str().to_owned()),
            ("PATH", std::env::var_os("PATH").unwrap()),
            ("PYTHONPATH", packages.into_os_string()),
        ];
        let environment = environment.map(|(name, value)| (OsString::from(name), value)).into();
        Surroundings { environment, guard: Vec::new() }
    }

    pub(crate) fn kernel(&self, limit: Duration) -> KernelSetup {
        let (python, folder) = ("python3".into(), self.folder.clone());
        KernelSetup { python, folder, limit, surroundings: self.surroundings() }
    }

    pub(crate) fn pyright() -> LanguageServerSetup {
        let program = programs::pyright();
        assert!(program.exists(), "run `cargo xtask setup` first");
        LanguageServerSetup {
            extensions: vec!["py".to_owned()],
            program: program.into(),
            arguments: vec!["--stdio".into()],
        }
    }
}

/// Waits until a process is gone.
pub(crate) async fn gone(process: u32) {
    let stat = PathBuf::from(format!("/proc/{process}/stat"));
    let lives = |stat: &Path| {
        let text = fs::read_to_string(stat).unwrap_or_default();
        text.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
    };
    let gone = async {
        while lives(&stat) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, gone).await.expect("the process has not ended");
}
