//! What changed in a folder, and that a hostile repository runs nothing while it is asked.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use jackfield_api::conversation::FileUpdated;
use jackfield_api::host::FileDiffs;
use jackfield_host::files::Folder;
use jackfield_host::git::{Against, DiffError, MOST_COMPARED, MOST_FILES, diff};

struct Repository {
    root: tempfile::TempDir,
}

impl Repository {
    fn new() -> Self {
        let repository = Self { root: tempfile::tempdir().unwrap() };
        fs::create_dir(repository.ws()).unwrap();
        repository.git(&["init", "-q", "-b", "main"]);
        repository
    }

    fn ws(&self) -> PathBuf {
        self.root.path().join("ws")
    }

    fn git(&self, arguments: &[&str]) -> &Self {
        let out = Command::new("git")
            .args(["-c", "user.name=n", "-c", "user.email=e", "-c", "commit.gpgsign=false"])
            .args(arguments)
            .current_dir(self.ws())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .output()
            .unwrap();
        assert!(out.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&out.stderr));
        self
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) -> &Self {
        let path = self.ws().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    fn commit(&self) -> &Self {
        self.git(&["add", "-A"]).git(&["commit", "-q", "-m", "m"])
    }

    fn diff(&self) -> FileDiffs {
        self.diff_in("")
    }

    fn diff_in(&self, below: &str) -> FileDiffs {
        diff(&Folder::open(&self.ws().join(below)).unwrap(), Against::Head).unwrap()
    }
}

fn brief(diffs: &FileDiffs) -> Vec<(&str, &str, u64, u64)> {
    diffs.files.iter().map(|file| (&*file.path, &*file.status, file.added, file.removed)).collect()
}

#[test]
fn changes_since_the_last_commit_are_told_file_by_file() {
    let repository = Repository::new();
    repository
        .write("same", "s\n")
        .write("changed", "a\nb\nc\n")
        .write("gone", "x\n")
        .write(".gitignore", "ignored\n");
    repository.write("moved", "1\n2\n3\n4\n5\n6\n7\n8\n").write("sub/deep", "d\n").commit();
    repository
        .write("changed", "a\nB\nc\nd\n")
        .write("new", "n\n")
        .write("ignored", "i\n")
        .write("staged", "t\n");
    repository.write("sub/deep", "D\n").git(&["add", "staged"]).git(&["mv", "moved", "renamed"]);
    fs::remove_file(repository.ws().join("gone")).unwrap();

    let diffs = repository.diff();
    assert_eq!(
        brief(&diffs),
        [
            ("changed", "modified", 2, 1),
            ("gone", "deleted", 0, 1),
            ("new", "untracked", 1, 0),
            ("renamed", "renamed", 0, 0),
            ("staged", "added", 1, 0),
            ("sub/deep", "modified", 1, 1),
        ]
    );
    assert!(!diffs.truncated);
    assert_eq!(
        diffs.files[0].diff.as_deref(),
        Some("--- a/changed\n+++ b/changed\n@@ -1,3 +1,4 @@\n a\n-b\n+B\n c\n+d\n")
    );
    assert_eq!(diffs.files[2].diff.as_deref(), Some("--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+n\n"));
    // A session in a folder below sees its own part, by its own paths.
    assert_eq!(brief(&repository.diff_in("sub")), [("deep", "modified", 1, 1)]);
}

#[test]
fn a_file_that_was_only_touched_is_not_told() {
    let repository = Repository::new();
    repository.write("a", "a\n").write("b", "b\n").commit();
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(100);
    fs::File::options().write(true).open(repository.ws().join("a")).unwrap().set_modified(later).unwrap();
    assert_eq!(brief(&repository.diff()), []);
}

#[test]
fn before_the_first_commit_everything_is_new() {
    let repository = Repository::new();
    repository.write("a", "a\n").write("b", "b\n").git(&["add", "a"]);
    assert_eq!(brief(&repository.diff()), [("a", "added", 1, 0), ("b", "untracked", 1, 0)]);
}

#[test]
fn what_is_not_text_or_too_large_is_told_without_a_diff() {
    let repository = Repository::new();
    let large = "a\n".repeat(usize::try_from(MOST_COMPARED).unwrap());
    repository.write("binary", b"a\0b").write("large", &large).write("grows", "a\n").commit();
    repository.write("binary", b"a\0c").write("large", large.clone() + "b\n").write("grows", large);
    for file in &repository.diff().files {
        assert_eq!((file.status.as_str(), &file.diff), ("modified", &None), "{}", file.path);
    }
    assert_eq!(repository.diff().files.len(), 3);
}

#[test]
fn links_rights_and_odd_names_are_told_and_links_are_not_followed() {
    let repository = Repository::new();
    fs::write(repository.root.path().join("secret"), "secret\n").unwrap();
    repository.write("run", "r\n").write("-n\n\"x\"", "1\n").write("file", "f\n");
    symlink("file", repository.ws().join("link")).unwrap();
    repository.commit();
    fs::remove_file(repository.ws().join("link")).unwrap();
    symlink("../secret", repository.ws().join("link")).unwrap();
    symlink("../secret", repository.ws().join("fresh")).unwrap();
    fs::set_permissions(repository.ws().join("run"), fs::Permissions::from_mode(0o755)).unwrap();
    repository.write("-n\n\"x\"", "2\n");
    let diffs = repository.diff();
    assert_eq!(
        brief(&diffs),
        [
            ("-n\n\"x\"", "modified", 1, 1),
            ("fresh", "untracked", 1, 0),
            ("link", "modified", 1, 1),
            ("run", "modified", 0, 0)
        ]
    );
    assert!(diffs.files.iter().all(|file| !file.diff.as_ref().unwrap().contains("+secret")));
}

#[test]
fn too_many_files_are_cut_and_it_is_said() {
    let repository = Repository::new();
    for number in 0..=MOST_FILES {
        repository.write(&format!("f{number}"), "x\n");
    }
    let diffs = repository.diff();
    assert_eq!((diffs.files.len(), diffs.truncated), (MOST_FILES, true));
}

#[test]
fn a_worktree_and_a_split_index_are_read_as_well() {
    let repository = Repository::new();
    repository.write("a", "a\n").write("b", "b\n").commit();
    repository.git(&["update-index", "--split-index"]).write("a", "A\n");
    assert_eq!(brief(&repository.diff()), [("a", "modified", 1, 1)]);
    repository.git(&["worktree", "add", "-q", "../other", "-b", "other"]);
    let other = repository.root.path().join("other");
    fs::write(other.join("b"), "B\n").unwrap();
    let diffs = diff(&Folder::open(&other).unwrap(), Against::Head).unwrap();
    assert_eq!(brief(&diffs), [("b", "modified", 1, 1)]);
}

/// Writes a program that leaves a mark when it runs, and then does as a filter does or gives up.
fn trap(repository: &Repository, then: &str) -> String {
    let mark = repository.root.path().join("ran");
    let path = repository.root.path().join("trap");
    fs::write(&path, format!("#!/bin/sh\necho trap >> {}\n{then}\n", mark.display())).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

fn what_ran(repository: &Repository) -> String {
    fs::read_to_string(repository.root.path().join("ran")).unwrap_or_default()
}

#[test]
fn s20_nothing_of_a_hostile_repository_runs() {
    let repository = Repository::new();
    repository.write("a", "a\n").write("b.x", "b\n").write("c", "c\n").commit();
    let trap = trap(&repository, "cat");
    for (key, value) in [
        ("core.fsmonitor", trap.clone()),
        ("core.hooksPath", repository.root.path().join("hooks").display().to_string()),
        ("core.pager", trap.clone()),
        ("core.sshCommand", trap.clone()),
        ("core.askPass", trap.clone()),
        ("core.editor", trap.clone()),
        ("core.alternateRefsCommand", trap.clone()),
        ("core.gitProxy", trap.clone()),
        ("core.attributesFile", repository.root.path().join("attributes").display().to_string()),
        ("pager.diff", trap.clone()),
        ("diff.external", trap.clone()),
        ("diff.evil.command", trap.clone()),
        ("diff.evil.textconv", trap.clone()),
        ("diff.orderFile", "/dev/null".to_owned()),
        ("filter.evil.clean", trap.clone()),
        ("filter.evil.smudge", trap.clone()),
        ("filter.evil.required", "true".to_owned()),
        ("filter.worse.process", trap.clone()),
        ("merge.evil.driver", trap.clone()),
        ("credential.helper", format!("!{trap}")),
        ("gpg.program", trap.clone()),
        ("alias.diff", format!("!{trap}")),
        ("alias.ls-files", format!("!{trap}")),
        ("alias.rev-parse", format!("!{trap}")),
        ("remote.origin.url", format!("ext::{trap} x")),
        ("remote.origin.promisor", "true".to_owned()),
        ("remote.origin.uploadpack", trap.clone()),
        ("extensions.partialClone", "origin".to_owned()),
        ("core.repositoryFormatVersion", "1".to_owned()),
        ("protocol.allow", "always".to_owned()),
        ("protocol.ext.allow", "always".to_owned()),
        ("uploadpack.packObjectsHook", trap.clone()),
    ] {
        repository.git(&["config", key, &value]);
    }
    let attributes = "* filter=evil diff=evil merge=evil\n*.x filter=worse\n";
    fs::write(repository.root.path().join("attributes"), attributes).unwrap();
    repository.write(".gitattributes", attributes).write(".git/info/attributes", attributes);
    for hook in
        ["post-index-change", "post-checkout", "reference-transaction", "fsmonitor-watchman", "pre-commit"]
    {
        for folder in [repository.root.path().join("hooks"), repository.ws().join(".git/hooks")] {
            fs::create_dir_all(&folder).unwrap();
            fs::copy(&trap, folder.join(hook)).unwrap();
        }
    }
    repository.write("a", "A\n").write("b.x", "B\n").write("new.x", "n\n");
    // One that has to be read to be compared.
    repository.write("c", "c\n");
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(100);
    fs::File::options().write(true).open(repository.ws().join("c")).unwrap().set_modified(later).unwrap();
    let diffs = repository.diff();
    assert_eq!(what_ran(&repository), "");
    assert_eq!(
        brief(&diffs),
        [
            (".gitattributes", "untracked", 2, 0),
            ("a", "modified", 1, 1),
            ("b.x", "modified", 1, 1),
            ("new.x", "untracked", 1, 0)
        ]
    );
    // The traps are real: git itself, asked as anyone would ask, runs them.
    let _ = Command::new("git")
        .args(["diff", "HEAD"])
        .current_dir(repository.ws())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_ne!(what_ran(&repository), "");
}

#[test]
fn s20_a_missing_object_is_not_fetched() {
    let repository = Repository::new();
    repository.write("a", "a\n").commit();
    let trap = trap(&repository, "exit 1");
    for (key, value) in [
        ("remote.origin.url", format!("ext::{trap} x")),
        ("remote.origin.promisor", "true".to_owned()),
        ("remote.origin.partialclonefilter", "blob:none".to_owned()),
        ("extensions.partialClone", "origin".to_owned()),
        ("core.repositoryFormatVersion", "1".to_owned()),
        ("protocol.ext.allow", "always".to_owned()),
    ] {
        repository.git(&["config", key, &value]);
    }
    // `a` as it was committed: the blob of "a\n".
    fs::remove_file(repository.ws().join(".git/objects/78/981922613b2afb6025042ff6bd878ac1994e85")).unwrap();
    repository.write("a", "A\n");
    let diffs = repository.diff();
    assert_eq!(what_ran(&repository), "");
    assert_eq!(
        diffs.files.iter().map(|file| (&*file.path, file.diff.is_some())).collect::<Vec<_>>(),
        [("a", false)]
    );
    let _ = Command::new("git")
        .args(["cat-file", "-p", "HEAD:a"])
        .current_dir(repository.ws())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_ne!(what_ran(&repository), "");
}

#[test]
fn a_repository_that_claims_files_elsewhere_is_refused() {
    let repository = Repository::new();
    repository.write("a", "a\n").commit();
    let elsewhere = repository.root.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::write(elsewhere.join("a"), "secret\n").unwrap();
    repository.git(&["config", "core.worktree", elsewhere.to_str().unwrap()]);
    let refused = diff(&Folder::open(&repository.ws()).unwrap(), Against::Head);
    assert!(matches!(refused, Err(DiffError::NoRepository { .. })), "{refused:?}");
}

#[test]
fn a_folder_without_a_repository_says_so() {
    let root = tempfile::tempdir().unwrap();
    let refused = diff(&Folder::open(root.path()).unwrap(), Against::Head);
    assert!(matches!(refused, Err(DiffError::NoRepository { .. })), "{refused:?}");
}

#[test]
fn asking_leaves_no_trace_in_the_repository() {
    let repository = Repository::new();
    repository.write("a", "a\n").commit().write("a", "A\n");
    let state = |folder: &Path| -> Vec<(PathBuf, std::time::SystemTime)> {
        let mut seen: Vec<_> = walk(folder);
        seen.sort();
        seen
    };
    let before = state(&repository.ws());
    repository.diff();
    assert_eq!(state(&repository.ws()), before);
}

fn walk(folder: &Path) -> Vec<(PathBuf, std::time::SystemTime)> {
    let mut seen = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let metadata = entry.metadata().unwrap();
        seen.push((entry.path(), metadata.modified().unwrap()));
        if metadata.is_dir() {
            seen.extend(walk(&entry.path()));
        }
    }
    seen
}

fn updated(path: &str, old: Option<&str>, new: Option<&str>) -> FileUpdated {
    let diff = match (old, new) {
        (None, Some(new)) if !new.is_empty() => format!("--- /dev/null\n+++ {path}\n@@ -0,0 +1 @@\n+{new}"),
        _ => String::new(),
    };
    FileUpdated {
        tool_call_id: "t".into(),
        file_path: path.to_owned(),
        old_content: old.map(str::to_owned),
        new_content: new.map(str::to_owned),
        diff,
        truncated: false,
    }
}

#[test]
fn against_the_baseline_the_first_content_and_the_present_one_count() {
    let root = tempfile::tempdir().unwrap();
    let within = |name: &str| root.path().join(name).to_string_lossy().into_owned();
    fs::write(within("changed"), "a\nthree\n").unwrap();
    fs::write(within("back"), "same\n").unwrap();
    fs::write(within("new"), "n\n").unwrap();
    fs::write(within("unknown"), "u\n").unwrap();
    let outside = tempfile::NamedTempFile::new().unwrap();
    let outside = outside.path().to_string_lossy().into_owned();
    let changes = [
        updated(&within("changed"), Some("a\none\n"), Some("a\ntwo\n")),
        updated(&within("new"), None, Some("m\n")),
        updated(&within("changed"), Some("a\ntwo\n"), Some("a\nthree\n")),
        updated(&within("back"), Some("same\n"), Some("other\n")),
        updated(&within("gone"), Some("g\n"), Some("h\n")),
        updated(&within("fleeting"), None, Some("f\n")),
        FileUpdated { truncated: true, ..updated(&within("unknown"), None, None) },
        updated(&outside, Some("x\n"), Some("y\n")),
    ];
    let diffs = diff(&Folder::open(root.path()).unwrap(), Against::Baseline(&changes)).unwrap();
    assert_eq!(
        brief(&diffs),
        [
            (outside.as_str(), "modified", 0, 0),
            ("changed", "modified", 1, 1),
            ("gone", "deleted", 0, 1),
            ("new", "added", 1, 0),
            ("unknown", "modified", 0, 0),
        ]
    );
    assert_eq!(diffs.files[0].diff, None, "what is outside is not read");
    assert_eq!(
        diffs.files[1].diff.as_deref(),
        Some("--- a/changed\n+++ b/changed\n@@ -1,2 +1,2 @@\n a\n-one\n+three\n")
    );
    assert_eq!(diffs.files[4].diff, None);
}
