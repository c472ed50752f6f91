//! The doctor with the real CLIs, and with programs that are ill in one way each.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread;

use jackfield_testkit::cli::{Cli, PINNED_VERSIONS, Sandbox};
use jackfield_testkit::programs;
use serde_json::Value;

use crate::program::{Finished, jackfield};

/// The address of an API that is never asked.
const NO_API: &str = "http://127.0.0.1:9";
/// A port that is free whenever it is asked for.
const ANY_PORT: &str = "127.0.0.1:0";

/// What the doctor says in JSON, with nothing of this process in the environment.
fn doctor(variables: &[(&str, &Path)], arguments: &[&str]) -> (Option<i32>, Value) {
    let finished = examine(variables, &[&["--json"], arguments].concat());
    assert_eq!(finished.err, "");
    (finished.code, serde_json::from_str(&finished.out).unwrap())
}

fn examine(variables: &[(&str, &Path)], arguments: &[&str]) -> Finished {
    let mut command = jackfield(["doctor"].iter().chain(arguments));
    if !arguments.contains(&"--listen") {
        command.args(["--listen", ANY_PORT]);
    }
    // A CLI of the machine that runs this test is never started.
    command.env("JACKFIELD_CLAUDE", "no-such-claude");
    command.envs(variables.iter().copied()).output().unwrap().into()
}

fn check<'a>(report: &'a Value, name: &str) -> &'a Value {
    let checks = report["checks"].as_array().unwrap();
    checks.iter().find(|check| check["name"] == name).unwrap_or_else(|| panic!("no {name} in {report:#}"))
}

fn text<'a>(check: &'a Value, field: &str) -> &'a str {
    check[field].as_str().unwrap_or_else(|| panic!("no {field} in {check:#}"))
}

/// What was found, and the names of the checks that were made.
fn found(report: &Value, name: &str) -> (String, String) {
    let check = check(report, name);
    (text(check, "state").to_owned(), text(check, "code").to_owned())
}

fn pair(state: &str, code: &str) -> (String, String) {
    (state.to_owned(), code.to_owned())
}

/// A program in a folder of its own that is a shell script.
struct Fake {
    folder: tempfile::TempDir,
}

impl Fake {
    fn new(script: &str) -> Self {
        Self::of(&format!("#!/bin/sh\n{script}\n"))
    }

    /// It is written by another process: one that this process had open for writing could still be open in a
    /// child of another test, and then does not start.
    fn of(content: &str) -> Self {
        let fake = Self { folder: tempfile::tempdir().unwrap() };
        let write = r#"printf %s "$1" > "$2" && chmod 755 "$2""#;
        let status =
            Command::new("sh").args(["-c", write, "sh", content]).arg(fake.program()).status().unwrap();
        assert!(status.success());
        fake
    }

    fn program(&self) -> PathBuf {
        self.folder.path().join("claude")
    }

    /// The doctor about this program, with its folder as the home.
    fn examined(&self, arguments: &[&str]) -> (Option<i32>, Value) {
        let program = self.program();
        let variables = [("HOME", self.folder.path()), ("PATH", Path::new("/usr/bin:/bin"))];
        doctor(&variables, &[&["--claude", program.to_str().unwrap()], arguments].concat())
    }
}

/// A CLI that tells its version, and does this when it is started for a session.
fn version_then(version: &str, script: &str) -> Fake {
    Fake::new(&format!("if [ \"$1\" = --version ]; then echo '{version} (Claude Code)'; exit; fi\n{script}"))
}

#[test]
fn the_real_clis_are_well_and_logged_in_by_a_key() {
    for version in PINNED_VERSIONS {
        let cli = Cli::locate(version).unwrap();
        let sandbox = Sandbox::new().unwrap();
        let variables = sandbox.environment(NO_API);
        let before = files_below(&sandbox.places().workspace);
        let output: Output = jackfield(["doctor", "--json", "--listen", ANY_PORT])
            .envs(&variables)
            .env("JACKFIELD_CLAUDE", &cli.program)
            .current_dir(&sandbox.places().workspace)
            .output()
            .unwrap();
        let finished = Finished::from(output);
        let report: Value = serde_json::from_str(&finished.out).unwrap();
        assert_eq!((finished.code, finished.err.as_str()), (Some(0), ""), "{report:#}");
        assert_eq!(text(check(&report, "claude"), "says"), cli.program.to_str().unwrap());
        assert_eq!(found(&report, "version"), pair("ok", "known"));
        assert_eq!(text(check(&report, "version"), "says"), version);
        assert_eq!(found(&report, "start"), pair("ok", "ready"));
        assert_eq!(found(&report, "login"), pair("ok", "logged_in"));
        assert_eq!(text(check(&report, "login"), "says"), "logged in by `ANTHROPIC_API_KEY`");

        // Nothing is left of the visit: no conversation, no file, no folder.
        assert_eq!(files_below(&sandbox.places().workspace), before);
        assert_eq!(conversations(&sandbox.places().home), Vec::<PathBuf>::new());
        let left: Vec<_> =
            fs::read_dir(&sandbox.places().temporary).unwrap().map(|entry| entry.unwrap()).collect();
        let ours = left.iter().filter(|entry| entry.file_name().to_string_lossy().starts_with("jackfield"));
        assert_eq!(ours.count(), 0);
    }
}

#[test]
fn the_real_clis_without_a_login_are_told_to_log_in() {
    for version in PINNED_VERSIONS {
        let cli = Cli::locate(version).unwrap();
        let sandbox = Sandbox::new().unwrap();
        let mut variables = sandbox.environment(NO_API);
        variables.remove("ANTHROPIC_API_KEY").unwrap();
        let finished: Finished = jackfield(["doctor", "--listen", ANY_PORT])
            .envs(&variables)
            .env("JACKFIELD_CLAUDE", &cli.program)
            .output()
            .unwrap()
            .into();
        assert_eq!((finished.code, finished.err.as_str()), (Some(1), ""), "{}", finished.out);
        let lines: Vec<&str> = finished.out.lines().collect();
        let at = lines.iter().position(|line| *line == "✗ login         the CLI is not logged in").unwrap();
        assert_eq!(lines[at + 1], "                → run `claude auth login`, or set ANTHROPIC_API_KEY");
        // The machine's own disk may be full: that is no business of this test.
        let problems = lines.iter().filter(|line| line.starts_with('✗') && !line.starts_with("✗ disk"));
        assert_eq!(problems.count(), 1, "{}", finished.out);
    }
}

#[test]
fn a_real_cli_that_was_not_named_is_found_in_path() {
    let cli = Cli::locate(PINNED_VERSIONS[1]).unwrap();
    let sandbox = Sandbox::new().unwrap();
    let folder = sandbox.places().temporary.join("bin");
    fs::create_dir(&folder).unwrap();
    std::os::unix::fs::symlink(&cli.program, folder.join("claude")).unwrap();
    let path = format!("{}:/usr/bin:/bin", folder.display());
    let finished: Finished = jackfield(["doctor", "--json", "--listen", ANY_PORT])
        .envs(sandbox.environment(NO_API))
        .env("PATH", path)
        .output()
        .unwrap()
        .into();
    let report: Value = serde_json::from_str(&finished.out).unwrap();
    assert_eq!(text(check(&report, "claude"), "says"), folder.join("claude").to_str().unwrap());
    assert_eq!(found(&report, "start"), pair("ok", "ready"));
}

#[test]
fn f31_every_state_of_the_cli_is_told_apart_with_its_own_next_step() {
    let elsewhere = Fake::of("\u{7f}ELF of another machine");
    let plain = Fake::new("exit 0");
    fs::set_permissions(plain.program(), fs::Permissions::from_mode(0o644)).unwrap();
    let gone = Fake::new("exit 0");
    fs::remove_file(gone.program()).unwrap();
    let cases = [
        (gone, "claude", "missing", "correct the path (--claude)"),
        (plain, "claude", "not_executable", "run `chmod +x "),
        (elsewhere, "version", "wrong_architecture", "npm install"),
        (Fake::of("#!/no/such/interpreter\n"), "version", "interpreter_missing", "Node.js"),
        (Fake::new("echo 2.1.49"), "version", "too_old", "run `claude update`"),
        (Fake::new("echo hello"), "version", "not_claude", "--claude"),
        (Fake::new("exec sleep 300"), "version", "hangs", "in a terminal"),
        (Fake::new("echo 'no memory' >&2; exit 7"), "version", "crashes", "install it anew"),
        (version_then("2.1.325", "cat > /dev/null & wait; exec sleep 300"), "start", "hangs", "-p hello"),
        (
            version_then("2.1.325", "echo 'bad \u{1b}[31msettings' >&2; exit 3"),
            "start",
            "crashes",
            "-p hello",
        ),
    ];
    let mut steps = Vec::new();
    for (fake, name, code, mend) in cases {
        let (exit, report) = fake.examined(&["--timeout", "2"]);
        assert_eq!(exit, Some(1), "{report:#}");
        assert_eq!(found(&report, name), pair("problem", code), "{report:#}");
        assert!(text(check(&report, name), "mend").contains(mend), "{report:#}");
        let at = fake.program().to_str().unwrap().to_owned();
        let step = (name, text(check(&report, name), "says").replace(&at, "PROGRAM"));
        assert!(!steps.contains(&step), "{step:?} says the same as another");
        steps.push(step);
        // The rest was looked at all the same.
        assert_eq!(found(&report, "port"), pair("ok", "free"));
    }
}

#[test]
fn what_a_cli_wrote_before_it_died_is_shown_and_commands_no_terminal() {
    let fake = version_then("2.1.325", "printf 'bad \\033[31msettings\\nin line 3\\n' >&2; exit 3");
    let (_, report) = fake.examined(&[]);
    let start = check(&report, "start");
    assert_eq!(text(start, "says"), "the CLI ended with exit code 3 before it was ready");
    assert!(text(start, "output").contains("in line 3"), "{start:#}");

    let program = fake.program();
    let variables = [("HOME", fake.folder.path()), ("PATH", Path::new("/usr/bin:/bin"))];
    let finished = examine(&variables, &["--claude", program.to_str().unwrap(), "--color", "never"]);
    assert!(finished.out.contains("\n                in line 3\n"), "{}", finished.out);
    assert!(!finished.out.contains('\u{1b}'), "{:?}", finished.out);
}

#[test]
fn no_cli_anywhere_says_how_to_install_it() {
    let home = tempfile::tempdir().unwrap();
    let variables = [("HOME", home.path()), ("PATH", home.path())];
    let (exit, report) = doctor(&variables, &[]);
    assert_eq!(exit, Some(1));
    assert_eq!(found(&report, "claude"), pair("problem", "missing"));
    assert!(text(check(&report, "claude"), "mend").contains("npm install -g @anthropic-ai/claude-code"));
    assert_eq!(found(&report, "git"), pair("remark", "missing"));
}

#[test]
fn a_newer_version_is_only_a_remark() {
    let answer = r#"{"type":"control_response","response":{"subtype":"success","request_id":"%s","response":{"commands":[],"account":{"email":"me@example.com"}}}}\n"#;
    let reply = format!(
        "read -r line; id=${{line#*request_id\\\":\\\"}}; printf '{answer}' \"${{id%%\\\"*}}\"; cat > /dev/null"
    );
    let fake = version_then("9.9.9", &reply);
    let (exit, report) = fake.examined(&[]);
    assert_eq!(found(&report, "version"), pair("remark", "newer"));
    let says = text(check(&report, "version"), "says");
    assert_eq!(says, "9.9.9 is newer than what this version was tested with (2.1.325)");
    assert_eq!(found(&report, "start"), pair("ok", "ready"), "{report:#}");
    assert_eq!(text(check(&report, "login"), "says"), "logged in as me@example.com");
    assert_eq!((exit, &report["ok"]), (Some(0), &true.into()));
}

#[test]
fn the_newest_version_that_was_tested_is_the_one_that_is_known() {
    let newest = PINNED_VERSIONS
        .iter()
        .max_by_key(|version| version.rsplit('.').next().unwrap().parse::<u32>().unwrap());
    let fake = version_then(newest.unwrap(), "exit 1");
    assert_eq!(found(&fake.examined(&[]).1, "version"), pair("ok", "known"));
}

#[test]
fn a_wrong_configuration_is_told_and_the_rest_is_still_checked() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("config.toml");
    fs::write(&file, "[server]\nlisen = 1\n").unwrap();
    let (exit, report) = doctor(&[("HOME", home.path()), ("JACKFIELD_CONFIG", &file)], &[]);
    assert_eq!(exit, Some(1));
    assert_eq!(found(&report, "configuration"), pair("problem", "wrong"));
    assert!(text(check(&report, "configuration"), "says").contains("the nearest is `server.listen`"));
    assert_eq!(found(&report, "data folder"), pair("ok", "not_there"));
}

#[test]
fn a_data_folder_that_cannot_be_used_says_why() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("data");
    fs::create_dir(&folder).unwrap();
    let examined = |data: &Path, mode: Option<u32>| {
        if let Some(mode) = mode {
            fs::set_permissions(data, fs::Permissions::from_mode(mode)).unwrap();
        }
        found(&doctor(&[("HOME", home.path()), ("JACKFIELD_DATA", data)], &[]).1, "data folder")
    };
    assert_eq!(examined(&folder, Some(0o700)), pair("ok", "writable"));
    assert_eq!(examined(&folder, Some(0o750)), pair("remark", "open_to_others"));
    assert_eq!(examined(&folder, Some(0o770)), pair("problem", "open_to_others"));
    let file = home.path().join("file");
    fs::write(&file, "").unwrap();
    assert_eq!(examined(&file, None), pair("problem", "no_folder"));
    assert_eq!(examined(&file.join("below"), None), pair("problem", "no_folder"));
    assert_eq!(examined(&home.path().join("new/folder"), None), pair("ok", "not_there"));
    assert!(!home.path().join("new").exists(), "looking makes nothing");
    assert_eq!(found(&doctor(&[], &[]).1, "data folder"), pair("problem", "unknown"));
}

#[test]
fn a_port_is_free_or_taken_by_somebody_else() {
    let home = tempfile::tempdir().unwrap();
    let examined = |address: &str| found(&doctor(&[("HOME", home.path())], &["--listen", address]).1, "port");
    assert_eq!(examined("127.0.0.1:0"), pair("ok", "free"));
    assert_eq!(examined("0.0.0.0:4180"), pair("problem", "not_loopback"));
    for answer in ["HTTP/1.1 200 OK\r\n\r\nok\n", "HTTP/1.1 404 Not Found\r\n\r\n"] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let serving = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 1024];
            let length = stream.read(&mut request).unwrap();
            stream.write_all(answer.as_bytes()).unwrap();
            (String::from_utf8_lossy(&request[..length]).into_owned(), listener)
        });
        assert_eq!(examined(&address), pair("problem", "taken"));
        assert!(serving.join().unwrap().0.starts_with("GET /healthz HTTP/1.1\r\n"));
    }
}

#[test]
fn tools_that_nobody_has_configured_are_no_problem() {
    let home = tempfile::tempdir().unwrap();
    let report = doctor(&[("HOME", home.path())], &[]).1;
    assert_eq!(found(&report, "python"), pair("ok", "off"));
    let names: Vec<&str> =
        report["checks"].as_array().unwrap().iter().map(|check| text(check, "name")).collect();
    assert!(!names.contains(&"languages") && !names.contains(&"editor"), "{names:?}");
}

#[test]
fn tools_that_are_configured_are_tried_and_told_how_to_install() {
    let home = tempfile::tempdir().unwrap();
    let path = std::env::var_os("PATH").unwrap();
    let packages = programs::jupyter_packages();
    assert!(packages.is_dir(), "run `cargo xtask setup` first");
    let tried = |packages: &Path, words: &[&str]| {
        let variables = [("HOME", home.path()), ("PATH", Path::new(&path)), ("PYTHONPATH", packages)];
        doctor(&variables, &[&["--timeout", "120"], words].concat()).1
    };
    let pyright = format!("tools.language_servers=py: {} --stdio", programs::pyright().display());
    let works = ["--set", "tools.python=python3", "--set", &pyright, "--set", "tools.editor=true"];
    let report = tried(&packages, &works);
    assert_eq!(found(&report, "python"), pair("ok", "works"), "{report:#}");
    assert_eq!(found(&report, "languages"), pair("ok", "works"), "{report:#}");
    assert_eq!(found(&report, "editor"), pair("ok", "none"), "{report:#}");

    let missing =
        ["--set", "tools.python=python3", "--set", "tools.language_servers=py: pyright-langserver-gone"];
    let report = tried(home.path(), &missing);
    assert_eq!(found(&report, "python"), pair("problem", "no_kernel"), "{report:#}");
    assert!(text(check(&report, "python"), "mend").contains("`python3 -m pip install ipykernel`"));
    assert_eq!(found(&report, "languages"), pair("problem", "missing"), "{report:#}");

    let wrong = ["--set", "tools.python=no-such-python", "--set", "tools.language_servers=py: /bin/false"];
    let report = tried(&packages, &wrong);
    assert_eq!(found(&report, "python"), pair("problem", "missing"), "{report:#}");
    assert_eq!(found(&report, "languages"), pair("problem", "broken"), "{report:#}");
    assert!(text(check(&report, "languages"), "mend").contains("tools.language_servers"), "{report:#}");
}

#[test]
fn marks_have_colours_only_where_they_are_wanted() {
    let home = tempfile::tempdir().unwrap();
    let out = |arguments: &[&str]| examine(&[("HOME", home.path())], arguments).out;
    assert!(!out(&[]).contains('\u{1b}'), "a pipe is no terminal");
    assert!(out(&["--color", "always"]).contains("\u{1b}[32m✓\u{1b}[0m"));
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.is_symlink() {
                folders.push(path.clone());
            } else {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The conversations that a CLI keeps in its home.
fn conversations(home: &Path) -> Vec<PathBuf> {
    let files = files_below(&home.join(".claude/projects"));
    files.into_iter().filter(|file| file.extension().is_some_and(|extension| extension == "jsonl")).collect()
}
