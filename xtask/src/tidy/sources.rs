//! Rules on the text of files: prose at the top of each module, and no path of anybody's machine.
//!
//! How the code is laid out is `rustfmt`'s business, how it is written `clippy`'s. The one rule it keeps: it
//! looks at lines, not at meaning.

use super::{Finding, House, is_rust};

/// Shorter than this, a line says nothing.
const PROSE: usize = 20;

/// Every module opens with prose.
pub(super) fn prose(house: &House) -> Vec<Finding> {
    let sources = house.texts.iter().filter(|(path, _)| {
        let mut parts = path.split('/');
        let source = match parts.next() {
            Some("crates") => parts.nth(1) == Some("src"),
            Some("xtask") => parts.next() == Some("src"),
            _ => false,
        };
        source && is_rust(path)
    });
    let mut findings = Vec::new();
    for (path, text) in sources {
        let opening = text.lines().map_while(|line| line.strip_prefix("//!"));
        if !opening.into_iter().any(|line| line.trim().chars().count() >= PROSE) {
            let text =
                "the module does not open with `//!`: say what it is, what it is not, the rule it keeps";
            findings.push(Finding::new(path, 1, text));
        }
    }
    findings
}

/// No file names a folder that only one machine has.
pub(super) fn machine_paths(house: &House) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in &house.texts {
        for (number, line) in text.lines().enumerate() {
            if let Some(found) = machine_path(line) {
                let text =
                    format!("`{found}` is a path of one machine: write it from the workspace's folder");
                findings.push(Finding::new(path, number + 1, text));
            }
        }
    }
    findings
}

/// Where one is started all the same: the words are those of the user's own `$VISUAL`, as git reads it, and the file's
/// name is a parameter of the shell and no part of its words.
const SHELL_OF_THE_USER: &str = "crates/jackfield-ide/src/plain.rs";

/// No program of ours starts a shell: whatever a user writes is an argument, and nothing reads it as a command (S22).
pub(super) fn shells(house: &House) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in &house.texts {
        let mut parts = path.split('/');
        if (parts.next(), parts.nth(1)) != (Some("crates"), Some("src"))
            || !is_rust(path)
            || path == SHELL_OF_THE_USER
        {
            continue;
        }
        for (number, line) in text.lines().enumerate().filter(|(_, line)| starts_a_shell(line)) {
            let text = format!("`{}` starts a shell: start the program itself", line.trim());
            findings.push(Finding::new(path, number + 1, text));
        }
    }
    findings
}

fn starts_a_shell(line: &str) -> bool {
    let Some((_, started)) = line.split_once("Command::new(\"") else { return false };
    let program = started.split('"').next().unwrap_or_default();
    matches!(
        program.rsplit('/').next(),
        Some("sh" | "bash" | "dash" | "zsh" | "fish" | "env" | "cmd" | "powershell")
    )
}

/// The first path in a line that begins in a person's folder. The recordings' `/home/user` and the examples'
/// `/home/me` are everybody's and nobody's, and an installer has a folder of its own there.
fn machine_path(line: &str) -> Option<&str> {
    // Taken apart, so that this file is not a finding.
    const ALONE: [&str; 2] = [concat!("/", "root/"), concat!("/", "work/")];
    const WITH_NAME: [&str; 2] = [concat!("/", "home/"), concat!("/", "Users/")];
    let starts = |at: usize| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || "/._-~$}*)>".contains(c))
    };
    let until_end = |at: usize| {
        let rest = &line[at..];
        let end = rest.find(|c: char| !(c.is_alphanumeric() || "/._-".contains(c))).unwrap_or(rest.len());
        &rest[..end]
    };
    let alone = ALONE.iter().flat_map(|folder| line.match_indices(folder)).map(|(at, _)| at);
    let named = WITH_NAME.iter().flat_map(|folder| line.match_indices(folder)).filter_map(|(at, folder)| {
        let rest = &line[at + folder.len()..];
        let name = rest.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-')).next()?;
        (!matches!(name, "" | "user" | "me" | "linuxbrew")).then_some(at)
    });
    alone.chain(named).filter(|&at| starts(at)).min().map(until_end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_in_somebodys_folder_is_found() {
        let path = concat!("/", "home/alice/src/main.rs");
        assert_eq!(machine_path(&format!("see \"{path}\" there")), Some(path));
        let path = concat!("/", "root/.cargo/bin");
        assert_eq!(machine_path(&format!("PATH={path}:x")), Some(path));
    }

    #[test]
    fn the_recordings_folder_and_other_words_are_left_alone() {
        for line in ["cat /home/user/notes.txt", "docs/work/plan.md", "$HOME/work/x", "`/home/<name>/`"] {
            assert_eq!(machine_path(line), None, "{line}");
        }
    }

    #[test]
    fn s22_a_shell_is_found_however_it_is_named() {
        for shell in ["sh", "/bin/bash", "/usr/bin/env", "zsh"] {
            assert!(starts_a_shell(&format!("    let mut child = Command::new(\"{shell}\").spawn()?;")));
        }
        for other in ["Command::new(\"git\")", "Command::new(program)", "\"sh\""] {
            assert!(!starts_a_shell(other), "{other}");
        }
    }
}
