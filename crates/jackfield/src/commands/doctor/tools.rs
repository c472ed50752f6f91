//! The programs that sessions are lent: the Python that runs code, and the language servers.
//!
//! Each that is configured is started in an empty folder and ended again. The one rule it keeps: what nobody has
//! configured is no problem when it is missing.

use std::env;
use std::path::Path;
use std::time::Duration;

use jackfield_ide::{KernelSetup, LanguageServerSetup, LanguageServers, LinkedEditor};
use jackfield_sdk::Environment;
use jackfield_workbench::{Kernel, KernelError};
use tokio::time::timeout;

use super::report::Check;
use crate::config::Config;
use crate::{variables, workbench};

const PYTHON: &str = "python";
const LANGUAGES: &str = "languages";
const EDITOR: &str = "editor";

/// What is run to see whether a kernel does.
const CODE: &str = "6 * 7";

/// Language servers that are known by name, and how each is installed.
const KNOWN: [(&str, &str); 4] = [
    ("pyright-langserver", "install it with `npm install -g pyright`"),
    ("typescript-language-server", "install it with `npm install -g typescript-language-server typescript`"),
    ("rust-analyzer", "install it with `rustup component add rust-analyzer`"),
    ("clangd", "install your system's package `clangd`"),
];

/// Looks at every one.
pub(super) async fn check(config: &Config, environment: &Environment, limit: Duration) -> Vec<Check> {
    // That there is none was told already, where the CLI was looked at.
    let Ok(folder) = tempfile::Builder::new().prefix("jackfield-doctor-").tempdir() else {
        return Vec::new();
    };
    let mut checks = vec![python(config, environment, folder.path(), limit).await];
    let setups = config.tools.language_servers.iter();
    for setup in setups.filter_map(|text| workbench::language_server(text)) {
        checks.push(language_server(config, environment, folder.path(), setup, limit).await);
    }
    if config.tools.editor {
        checks.push(editor(environment));
    }
    checks
}

async fn python(config: &Config, environment: &Environment, folder: &Path, limit: Duration) -> Check {
    if config.tools.python.is_none() {
        let says = "sessions run no code: no Python is named in `tools.python`";
        return Check::ok(PYTHON, "off", says);
    }
    let setup = KernelSetup { limit, ..workbench::kernel(config, environment, folder.to_owned()) };
    let name = setup.python.to_string_lossy().into_owned();
    let kernel = Kernel::new(setup);
    match timeout(limit, kernel.execute(CODE.to_owned())).await {
        Ok(Ok(output)) if !output.failed => {
            Check::ok(PYTHON, "works", format!("{name} has a Jupyter kernel, and it runs code"))
        }
        Ok(Ok(_)) => {
            let says = format!("the Jupyter kernel of {name} cannot compute {CODE}");
            Check::problem(PYTHON, "broken", says, install(&name))
        }
        Ok(Err(error)) => {
            let code = match &error {
                KernelError::NoPython { .. } => "missing",
                KernelError::NoJupyter { .. } => "no_kernel",
                _ => "broken",
            };
            let says = match &error {
                KernelError::NoPython { .. } => format!("there is no `{name}`"),
                KernelError::NoJupyter { .. } => format!("`{name}` has no Jupyter kernel"),
                error => error.to_string(),
            };
            let mend = match &error {
                KernelError::NoPython { .. } => {
                    "install Python 3 with ipykernel, or correct the option `tools.python`".to_owned()
                }
                _ => install(&name),
            };
            Check::problem(PYTHON, code, says, mend)
        }
        Err(_) => {
            let says = format!("the Jupyter kernel of {name} ran nothing within {} s", limit.as_secs());
            Check::problem(PYTHON, "slow", says, "try again with a longer `--timeout`")
        }
    }
}

fn install(python: &str) -> String {
    format!("run `{python} -m pip install ipykernel`, or name a Python that has it in `tools.python`")
}

async fn language_server(
    config: &Config,
    environment: &Environment,
    folder: &Path,
    setup: LanguageServerSetup,
    limit: Duration,
) -> Check {
    let surroundings = workbench::surroundings(config, environment);
    let name = setup.program.to_string_lossy().into_owned();
    let files: Vec<String> = setup.extensions.iter().map(|extension| format!(".{extension}")).collect();
    let files = files.join(" ");
    if !is_there(Path::new(&setup.program), &surroundings.environment) {
        let says = format!("there is no `{name}`, which is to look at {files}");
        return Check::problem(LANGUAGES, "missing", says, mend(&name));
    }
    let servers = LanguageServers::new(vec![setup], folder, &surroundings);
    match timeout(limit, servers.try_out()).await {
        Ok(Ok(())) => {
            let where_to = match config.tools.folders.len() {
                0 => "in folders that you trust".to_owned(),
                _ => "in folders that you trust, and in `tools.folders`".to_owned(),
            };
            Check::ok(LANGUAGES, "works", format!("{name} begins, and looks at {files} {where_to}"))
        }
        Ok(Err(error)) => Check::problem(LANGUAGES, "broken", error.to_string(), mend(&name)),
        Err(_) => {
            let says = format!("{name} did not begin within {} s", limit.as_secs());
            Check::problem(LANGUAGES, "slow", says, "try again with a longer `--timeout`")
        }
    }
}

/// What to do about a language server that cannot be used.
fn mend(name: &str) -> String {
    let program = Path::new(name).file_name().and_then(|name| name.to_str()).unwrap_or(name);
    let known = KNOWN.iter().find(|(known, _)| *known == program);
    let install = known.map_or("install it", |(_, install)| install);
    format!("{install}, or correct the option `tools.language_servers`")
}

/// Whether a program is where it is named, or somewhere in PATH.
fn is_there(program: &Path, environment: &Environment) -> bool {
    if program.components().count() > 1 {
        return program.is_file();
    }
    let path = variables::PATH.get(environment).unwrap_or_default();
    env::split_paths(path).any(|folder| folder.join(program).is_file())
}

/// Whether there is an editor to ask here and now; without one there is nothing to ask.
fn editor(environment: &Environment) -> Check {
    let here = env::current_dir().ok();
    let found = workbench::lock_folders(environment).zip(here);
    match found.and_then(|(locks, here)| LinkedEditor::find(&locks, &here)) {
        Some(_) => Check::ok(EDITOR, "found", "an editor has this folder open; its sessions ask it"),
        None => Check::ok(EDITOR, "none", "no editor that could be asked has this folder open now"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_program_is_looked_for_where_it_would_be_started() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("server");
        std::fs::write(&program, "").unwrap();
        let environment: Environment = [("PATH".into(), folder.path().into())].into();
        assert!(is_there(&program, &Environment::new()) && is_there(Path::new("server"), &environment));
        assert!(!is_there(Path::new("server"), &Environment::new()));
        assert!(!is_there(&folder.path().join("other"), &environment));
        assert!(!is_there(Path::new("other"), &environment));
    }

    #[test]
    fn a_known_server_is_told_how_to_install() {
        assert!(mend("/opt/pyright-langserver").starts_with("install it with `npm install -g pyright`"));
        assert!(mend("mine").starts_with("install it, or correct"));
    }
}
