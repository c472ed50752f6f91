//! Tells the model, when it is about to stop, what it has not committed.
//!
//! Not a guard against losing work: it speaks once, and a model that stops again may. The one rule it keeps:
//! nothing that the repository says is run. Its configuration can name programs for file monitors, hooks,
//! filters and fetching, and the folder need not be trusted.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use jackfield_wire::{HookDetail, HookEvent, HookInput, HookOutput, HookReply, HookVerdict, PermissionMode};
use tokio::io::AsyncReadExt as _;
use tokio::process::Command;
use tokio::time::timeout;

use crate::Callbacks;

/// How long git may take; the model does not wait longer for it.
const LIMIT: Duration = Duration::from_secs(10);
/// How much of git's output is read.
const OUTPUT: u64 = 1024 * 1024;
/// How many changes the model is told.
const TOLD: usize = 50;

impl Callbacks {
    /// Reports changes that are not committed to the model when it is about to end a turn, once per turn. In
    /// a folder without a git repository, and in plan mode, it says nothing.
    #[must_use]
    pub fn report_uncommitted(self) -> Self {
        self.on_hook(HookEvent::Stop, None, |input| async move { Ok(report(&input).await) })
    }
}

async fn report(input: &HookInput) -> HookOutput {
    let HookDetail::Stop(stop) = &input.detail else { return HookOutput::default() };
    let plans = input.permission_mode == Some(PermissionMode::Plan);
    let Some(cwd) = input.cwd.as_deref().filter(|_| !stop.stop_hook_active && !plans) else {
        return HookOutput::default();
    };
    let changes = timeout(LIMIT, uncommitted(Path::new(cwd))).await.ok().flatten().unwrap_or_default();
    if changes.is_empty() {
        return HookOutput::default();
    }
    let reason = Some(words(&changes));
    HookOutput::Now(Box::new(HookReply {
        decision: Some(HookVerdict::Block),
        reason,
        ..HookReply::default()
    }))
}

fn words(changes: &[String]) -> String {
    let listed = changes[..changes.len().min(TOLD)].join("\n");
    let rest = match changes.len().saturating_sub(TOLD) {
        0 => String::new(),
        left => format!("\n… and {left} more"),
    };
    format!(
        "There are uncommitted changes in the working tree:\n{listed}{rest}\n\
         Commit them if they are yours and finished, or say why they are left."
    )
}

/// The lines of `git status`; `None` where it cannot be asked.
async fn uncommitted(folder: &Path) -> Option<Vec<String>> {
    let mut settings: BTreeMap<String, &str> =
        [("core.fsmonitor".to_owned(), "false"), ("core.hooksPath".to_owned(), "/dev/null")].into();
    let filters =
        git(folder, &settings, &["config", "--null", "--name-only", "--get-regexp", r"^filter\."]).await;
    // There are none: git says so with a failure.
    for key in filters.unwrap_or_default().split('\0') {
        if let Some((filter, _)) = key.rsplit_once('.') {
            settings.insert(format!("{filter}.clean"), "");
            settings.insert(format!("{filter}.process"), "");
            settings.insert(format!("{filter}.required"), "false");
        }
    }
    // Submodules have configurations of their own.
    let status = ["--no-optional-locks", "status", "--porcelain", "--ignore-submodules=all"];
    let status = git(folder, &settings, &status).await?;
    Some(status.lines().map(str::to_owned).collect())
}

/// What git says; `None` if it fails or is not there.
async fn git(folder: &Path, settings: &BTreeMap<String, &str>, words: &[&str]) -> Option<String> {
    let mut command = Command::new("git");
    command
        .args(words)
        .current_dir(folder)
        .env("LC_ALL", "C")
        .env("GIT_NO_LAZY_FETCH", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    // Not on the command line, where a name with a `=` would be another name.
    command.env("GIT_CONFIG_COUNT", settings.len().to_string());
    for (number, (key, value)) in settings.iter().enumerate() {
        command.env(format!("GIT_CONFIG_KEY_{number}"), key).env(format!("GIT_CONFIG_VALUE_{number}"), value);
    }
    // Where this program itself was started by git, they name another repository.
    for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_CONFIG_PARAMETERS", "GIT_NAMESPACE"] {
        command.env_remove(variable);
    }
    let mut child = command.spawn().ok()?;
    let mut output = Vec::new();
    child.stdout.take()?.take(OUTPUT).read_to_end(&mut output).await.ok()?;
    let cut = output.len() as u64 == OUTPUT;
    if !cut && !child.wait().await.ok()?.success() {
        return None;
    }
    Some(String::from_utf8_lossy(&output).into_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    async fn run(folder: &Path, words: &[&str]) {
        let status = Command::new("git")
            .args(["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"])
            .args(words)
            .current_dir(folder)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .stdout(Stdio::null())
            .status();
        assert!(status.await.unwrap().success(), "{words:?}");
    }

    /// A repository with one committed file.
    async fn repository() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        run(folder.path(), &["init", "-q"]).await;
        fs::write(folder.path().join("a.txt"), "one\n").unwrap();
        run(folder.path(), &["add", "a.txt"]).await;
        run(folder.path(), &["commit", "-q", "-m", "first"]).await;
        folder
    }

    #[tokio::test]
    async fn what_is_not_committed_is_listed() {
        let folder = repository().await;
        assert_eq!(uncommitted(folder.path()).await, Some(Vec::new()));
        fs::write(folder.path().join("a.txt"), "two\n").unwrap();
        fs::write(folder.path().join("b.txt"), "new\n").unwrap();
        let changes = uncommitted(folder.path()).await.unwrap();
        assert_eq!(changes, [" M a.txt", "?? b.txt"]);
    }

    #[tokio::test]
    async fn a_folder_without_a_repository_has_nothing_to_list() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(uncommitted(folder.path()).await, None);
    }

    #[tokio::test]
    async fn nothing_that_the_repository_names_is_run() {
        let folder = repository().await;
        let (mark, program) = (folder.path().join(".git/mark"), folder.path().join(".git/program"));
        fs::write(&program, format!("#!/bin/sh\ntouch {}\ncat\n", mark.display())).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let (hooks, program) = (folder.path().join(".git/hooks"), program.display().to_string());
        fs::create_dir_all(&hooks).unwrap();
        fs::copy(&program, hooks.join("post-index-change")).unwrap();
        for key in ["core.fsmonitor", "filter.plain.clean", "filter.a=b.c.clean", "filter.slow.process"] {
            run(folder.path(), &["config", key, &program]).await;
        }
        let attributes = "a.txt filter=plain\nb.txt filter=a=b.c\nc.txt filter=slow\n";
        fs::write(folder.path().join(".git/info/attributes"), attributes).unwrap();
        fs::write(folder.path().join("a.txt"), "two\n").unwrap();
        let changes = uncommitted(folder.path()).await.unwrap();
        assert_eq!(changes, [" M a.txt"]);
        assert!(!mark.exists());
        // The programs are real: git by itself runs them.
        run(folder.path(), &["status"]).await;
        assert!(mark.exists());
    }

    #[test]
    fn a_long_list_is_cut() {
        let changes: Vec<String> = (0..TOLD + 3).map(|number| format!("?? {number}")).collect();
        let text = words(&changes);
        assert!(text.contains("?? 49\n… and 3 more\n") && !text.contains("?? 50"), "{text}");
        assert!(!words(&changes[..TOLD]).contains("more"));
    }
}
