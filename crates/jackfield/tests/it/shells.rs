//! Completions and manual: made of the command line, and readable by those they are for.

use std::fs;
use std::process::{Command, Stdio};

use crate::program::{Finished, feed, run};

/// The commands that the help shows.
fn commands() -> Vec<String> {
    commands_of(&[])
}

/// The commands of a command; most have none.
fn commands_of(command: &[&str]) -> Vec<String> {
    let help = run(command.iter().chain(&["--help"])).out;
    let list = help.split("Commands:\n").nth(1).unwrap_or_default().split("\n\n").next().unwrap();
    let names = list.lines().filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

#[test]
fn every_shell_gets_a_script_with_every_command_and_nothing_hidden() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let finished = run(["completions", shell]);
        assert_eq!((finished.code, finished.err.as_str()), (Some(0), ""));
        for name in commands() {
            assert!(finished.out.contains(&name), "{shell} does not know {name}");
        }
        for hidden in ["guard", "demo-agent"] {
            assert!(!finished.out.contains(hidden), "{shell} knows {hidden}");
        }
    }
    assert_eq!(run(["completions", "tcsh"]).code, Some(2));
}

#[test]
fn bash_accepts_its_script_and_completes_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("jackfield");
    fs::write(&script, run(["completions", "bash"]).out).unwrap();
    assert!(Command::new("bash").arg("-n").arg(&script).status().unwrap().success());
    let complete = r#"
        source "$1"
        COMP_WORDS=(jackfield doc); COMP_CWORD=1
        _jackfield jackfield doc jackfield
        printf '%s\n' "${COMPREPLY[@]}"
    "#;
    let finished: Finished =
        Command::new("bash").args(["-c", complete, "bash"]).arg(&script).output().unwrap().into();
    assert_eq!((finished.code, finished.out.as_str(), finished.err.as_str()), (Some(0), "doctor\n", ""));
}

#[test]
fn the_manual_has_a_page_for_each_command() {
    let folder = tempfile::tempdir().unwrap();
    let manual = folder.path().join("man1");
    let finished = run(["man", "--dir", manual.to_str().unwrap()]);
    assert_eq!((finished.code, finished.out.as_str(), finished.err.as_str()), (Some(0), "", ""));
    let mut pages: Vec<_> = fs::read_dir(&manual)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    pages.sort();
    let mut expected = Vec::new();
    for name in commands() {
        expected.push(format!("jackfield-{name}.1"));
        expected.extend(commands_of(&[&name]).iter().map(|below| format!("jackfield-{name}-{below}.1")));
    }
    expected.push("jackfield.1".to_owned());
    expected.sort();
    assert_eq!(pages, expected);
    for page in &pages {
        let text = fs::read_to_string(manual.join(page)).unwrap();
        for part in [".TH ", ".SH NAME", ".SH SYNOPSIS"] {
            assert!(text.contains(part), "{page} has no {part}");
        }
        assert_eq!(complaints(&text), None, "{page}");
    }
    let all = run(["man"]).out;
    assert_eq!(all.matches("\n.TH ").count(), pages.len());
    assert!(all.contains("Exit codes"), "the codes are in the manual");
}

/// What groff has to say about a page; `None` if nothing, or if there is no groff: then only the structure
/// has been looked at.
fn complaints(page: &str) -> Option<String> {
    let mut groff = Command::new("groff");
    groff
        .args(["-Kutf8", "-man", "-ww", "-Tutf8", "-z"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut child = groff.spawn().ok()?;
    feed(&mut child, page.as_bytes());
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (!said.is_empty() || !output.status.success()).then_some(said)
}
