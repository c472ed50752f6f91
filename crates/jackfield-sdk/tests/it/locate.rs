//! Finding the CLI: the real ones, and programs that are not.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use jackfield_sdk::locate::{ask_version, find};
use jackfield_sdk::{
    Callbacks, Claude, Environment, LocateError, MINIMUM_VERSION, Options, Session, StartError, Version,
    locate,
};
use jackfield_testkit::cli::{Cli, PINNED_VERSIONS, Sandbox};
use tempfile::TempDir;
use tokio::time::timeout;

use crate::live::TIME_LIMIT;

/// The address of an API that is never asked.
const NO_API: &str = "http://127.0.0.1:9";

#[tokio::test]
async fn the_real_clis_are_found_by_path_by_name_and_in_the_usual_places() {
    for version in PINNED_VERSIONS {
        let cli = Cli::locate(version).unwrap_or_else(|error| panic!("{error}"));
        let sandbox = Sandbox::new().unwrap();
        let mut environment: Environment = sandbox
            .environment(NO_API)
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        let home = &sandbox.places().home;
        let usual = home.join(".local/bin");
        fs::create_dir_all(&usual).unwrap();
        symlink(&cli.program, usual.join("claude")).unwrap();
        let in_path = sandbox.places().temporary.clone();
        symlink(&cli.program, in_path.join("other-claude")).unwrap();
        let path = std::env::join_paths([PathBuf::from("relative"), in_path.clone()]).unwrap();
        environment.insert("PATH".into(), path);

        for (given, expected) in [
            (Some(cli.program.as_path()), cli.program.clone()),
            (Some(Path::new("other-claude")), in_path.join("other-claude")),
            (None, usual.join("claude")),
        ] {
            let found = locate(given, &[], &environment).await.unwrap();
            assert_eq!(found, Claude { path: expected, version: version.parse().unwrap() });
        }
    }
}

#[test]
fn path_wins_over_the_usual_places() {
    let folder = folder();
    let home = folder.path().join("home");
    for place in ["home/.claude/local", "bin"] {
        fs::create_dir_all(folder.path().join(place)).unwrap();
        script(&folder.path().join(place).join("claude"), "exit 0");
    }
    let environment = environment(&[("HOME", &home), ("PATH", &folder.path().join("bin"))]);
    assert_eq!(find(None, &environment).unwrap(), folder.path().join("bin/claude"));
}

#[test]
fn what_is_not_there_or_cannot_run_says_so() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("plain"), "text").unwrap();
    let environment = environment(&[("PATH", folder.path())]);
    let error = |given: &Path| find(Some(given), &environment).unwrap_err();

    assert!(
        matches!(error(&path("missing")), LocateError::Missing { program } if program == path("missing"))
    );
    assert!(matches!(error(folder.path()), LocateError::Folder { .. }));
    assert!(matches!(error(&path("plain")), LocateError::NotExecutable { .. }));
    assert!(matches!(error(Path::new("plain")), LocateError::NotExecutable { .. }));
    let not_found = error(Path::new("no-such-claude"));
    assert!(not_found.to_string().contains("install"), "{not_found}");
    let LocateError::NotFound { searched, .. } = not_found else { panic!("{not_found}") };
    assert_eq!(searched, [path("no-such-claude")]);
}

#[tokio::test]
async fn a_program_that_does_not_start_says_why() {
    let folder = folder();
    let path = |name: &str| folder.path().join(name);
    write(&path("elsewhere"), "\\177ELF\\002\\001\\001 of another machine");
    write(&path("orphan"), "#!/no/such/interpreter\\n");
    let error = async |name: &str| locate(Some(&path(name)), &[], &environment(&[])).await.unwrap_err();

    let elsewhere = error("elsewhere").await;
    assert!(matches!(elsewhere, LocateError::WrongFormat { .. }), "{elsewhere:?}");
    let orphan = error("orphan").await;
    assert!(matches!(orphan, LocateError::InterpreterMissing { .. }), "{orphan:?}");
}

#[tokio::test]
async fn answers_that_are_not_the_clis_are_told_apart() {
    let folder = folder();
    let answer = async |script_text: &str| {
        let program = folder.path().join("claude");
        script(&program, script_text);
        locate(Some(&program), &[], &environment(&[])).await
    };

    let old = answer("echo '2.1.49 (Claude Code)'").await.unwrap_err();
    let LocateError::TooOld { has, needs, .. } = old else { panic!("{old:?}") };
    assert_eq!((has, needs), (Version::new(2, 1, 49), MINIMUM_VERSION));

    let other = answer("echo hello").await.unwrap_err();
    assert!(matches!(&other, LocateError::NotUnderstood { answer, .. } if answer == "hello\n"), "{other:?}");

    let failed = answer("echo broken >&2; exit 3").await.unwrap_err();
    assert!(failed.to_string().ends_with("broken"), "{failed}");
    assert!(matches!(failed, LocateError::Failed { status, .. } if status.code() == Some(3)));

    // Far more than a pipe holds, on both streams.
    let flood = "head -c 1000000 /dev/zero >&2; echo '2.1.325 (Claude Code)'; head -c 1000000 /dev/zero";
    assert_eq!(answer(flood).await.unwrap().version, Version::new(2, 1, 325));
}

#[tokio::test]
async fn a_program_that_hangs_is_ended_with_what_it_started() {
    let folder = folder();
    let program = folder.path().join("claude");
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    script(&program, &format!("sleep 300 > {} & wait", pipe.display()));

    // Ends only when nobody holds the other end any more.
    let everyone_gone = tokio::task::spawn_blocking(move || fs::read(pipe));
    let limit = Duration::from_secs(5);
    let error = ask_version(&program, &[], &environment(&[]), limit).await.unwrap_err();
    assert!(matches!(error, LocateError::Hangs { limit: told, .. } if told == limit), "{error:?}");
    timeout(TIME_LIMIT, everyone_gone).await.unwrap().unwrap().unwrap();
}

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn environment(variables: &[(&str, &Path)]) -> Environment {
    let mut environment = Environment::from([("PATH".into(), OsString::from("/usr/bin:/bin"))]);
    environment.extend(variables.iter().map(|(name, value)| ((*name).into(), value.as_os_str().to_owned())));
    environment
}

fn script(path: &Path, text: &str) {
    write(path, &format!("#!/bin/sh\\n{text}\\n").replace('%', "%%"));
}

/// Writes an executable file, from a text as `printf` takes it. Another process does it: one that this process
/// had open for writing could still be open in a child of another test, and then does not start.
fn write(path: &Path, text: &str) {
    let command = r#"printf "$1" > "$2" && chmod 755 "$2""#;
    let status = Command::new("sh").args(["-c", command, "sh", text]).arg(path).status().unwrap();
    assert!(status.success());
}

#[tokio::test]
async fn a_program_is_asked_once_until_it_may_be_another() {
    let folder = TempDir::new().unwrap();
    let (program, log) = (folder.path().join("claude"), folder.path().join("log"));
    let write_as = |version: &str| {
        let text = format!("echo \"$*\" >> '{}'; echo '{version} (Claude Code)'", log.display());
        script(&program, &text);
    };
    let asked = || fs::read_to_string(&log).unwrap_or_default().lines().count();
    let ask = async |words: &[OsString], variables: &[(&str, &Path)]| {
        locate(Some(&program), words, &environment(variables)).await.unwrap().version.to_string()
    };
    write_as("2.1.300");
    assert_eq!((ask(&[], &[]).await.as_str(), asked()), ("2.1.300", 1));
    assert_eq!((ask(&[], &[]).await.as_str(), asked()), ("2.1.300", 1));
    // Its folder is not that of the question.
    assert_eq!((ask(&[], &[("PWD", Path::new("/elsewhere"))]).await.as_str(), asked()), ("2.1.300", 1));
    assert_eq!((ask(&["word".into()], &[]).await.as_str(), asked()), ("2.1.300", 2));
    assert_eq!((ask(&[], &[("A", Path::new("b"))]).await.as_str(), asked()), ("2.1.300", 3));
    fs::remove_file(&program).unwrap();
    write_as("2.1.3001");
    assert_eq!((ask(&[], &[]).await.as_str(), asked()), ("2.1.3001", 4));
    let told = fs::read_to_string(&log).unwrap();
    assert_eq!(told.lines().collect::<Vec<_>>(), ["--version", "word --version", "--version", "--version"]);
}

#[tokio::test]
async fn an_installation_tells_the_version_and_nothing_is_started() {
    let folder = folder();
    let installed = async |file: &str, package: Option<&str>| {
        let program = folder.path().join(file);
        fs::create_dir_all(program.parent().unwrap()).unwrap();
        // Would be told apart from all others.
        script(&program, "echo '9.9.9 (Claude Code)'");
        if let Some(package) = package {
            let modules = folder.path().join("node_modules/@anthropic-ai/claude-code");
            fs::write(modules.join("package.json"), package).unwrap();
        }
        // As installers do, by a link in a folder of `PATH`.
        let link = folder.path().join("claude-link");
        let _ = fs::remove_file(&link);
        symlink(&program, &link).unwrap();
        locate(Some(&link), &[], &environment(&[])).await.unwrap().version.to_string()
    };
    let package = r#"{"name": "@anthropic-ai/claude-code", "version": "2.1.301", "bin": {}}"#;
    assert_eq!(installed("share/claude/versions/2.1.300", None).await, "2.1.300");
    assert_eq!(installed("node_modules/@anthropic-ai/claude-code/cli.js", Some(package)).await, "2.1.301");
    assert_eq!(installed("node_modules/@anthropic-ai/claude-code/bin/claude.exe", None).await, "2.1.301");

    // Anything else is asked.
    let other = r#"{"name": "@anthropic-ai/claude-codex", "version": "2.1.302"}"#;
    let broken = r#"{"name": "@anthropic-ai/claude-code", "version": "latest"}"#;
    for package in [other, broken, "{"] {
        let told = installed("node_modules/@anthropic-ai/claude-code/claude", Some(package)).await;
        assert_eq!(told, "9.9.9", "{package}");
    }
    assert_eq!(installed("other/versions/2.1.303", None).await, "9.9.9");
}

#[tokio::test]
async fn a_program_that_only_its_installation_knows_says_why_it_does_not_start() {
    let folder = folder();
    let versions = folder.path().join("claude/versions");
    fs::create_dir_all(&versions).unwrap();
    let start = async |version: &str, text: &str| {
        write(&versions.join(version), text);
        let options =
            Options::new(folder.path()).claude(versions.join(version)).locks(folder.path().join("locks"));
        Session::start(options, Callbacks::default()).await.map(|_| ()).unwrap_err()
    };
    let orphan = start("2.1.310", "#!/no/such/interpreter\\n").await;
    assert!(matches!(&orphan, StartError::Locate(LocateError::InterpreterMissing { .. })), "{orphan:?}");
    let broken = start("2.1.311", "#!/bin/sh\\necho broken >&2; exit 3\\n").await;
    assert!(matches!(&broken, StartError::Locate(LocateError::Failed { .. })), "{broken:?}");
    assert!(broken.to_string().ends_with("broken"), "{broken}");
}
