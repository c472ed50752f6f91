//! The CLI: where it is, which version, whether it starts, and whether it is logged in.
//!
//! What it says of itself is believed: no file of it is read, least of all one with credentials. The one rule it
//! keeps: it is started as a session would start it, with the same environment and the same guard.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use jackfield_sdk::api::command::RejectionCode;
use jackfield_sdk::locate::{ask_version, find};
use jackfield_sdk::wire::Account;
use jackfield_sdk::{
    Callbacks, Environment, LocateError, MINIMUM_VERSION, Options, Session, StartError, Switch, Version,
    environment as environment_of,
};
use tokio::time::timeout;

use super::report::{Check, Report};
use crate::config::Effective;
use crate::failure::Failure;

/// The newest version that this program was tested with.
const NEWEST_KNOWN: Version = Version::new(2, 1, 325);

const INSTALL: &str = "install it with `npm install -g @anthropic-ai/claude-code`";

/// Looks at the CLI, and stops at what makes looking further useless.
pub(super) async fn check(
    effective: &Effective,
    environment: &Environment,
    limit: Duration,
    report: &mut Report,
) -> Result<(), Failure> {
    let folder = match tempfile::Builder::new().prefix("jackfield-doctor-").tempdir() {
        Ok(folder) => folder,
        Err(error) => return Ok(report.add(no_folder(&error))?),
    };
    let options = effective.config.session(folder.path(), environment);
    let seen = environment_of(environment.clone(), &options);
    let given = effective.config.claude.program.as_deref();
    let program = match find(given, &seen) {
        Ok(program) => program,
        Err(error) => return Ok(report.add(located("claude", &error, effective))?),
    };
    report.add(Check::ok("claude", "found", program.display().to_string()))?;
    match ask_version(&program, &[], &seen, limit).await {
        Err(error) => return Ok(report.add(located("version", &error, effective))?),
        Ok(has) if has < MINIMUM_VERSION => {
            let error = LocateError::TooOld { program, has, needs: MINIMUM_VERSION };
            return Ok(report.add(located("version", &error, effective))?);
        }
        Ok(version) => report.add(known(version))?,
    }
    let (check, account) = handshake(options, &program, folder.path(), limit).await;
    report.add(check)?;
    if let Some(account) = account {
        report.add(login(account.as_ref()))?;
    }
    Ok(())
}

fn known(version: Version) -> Check {
    if version <= NEWEST_KNOWN {
        return Check::ok("version", "known", version.to_string());
    }
    Check::remark(
        "version",
        "newer",
        format!("{version} is newer than what this version was tested with ({NEWEST_KNOWN})"),
        "nothing to do unless something looks wrong; then look for a newer Jackfield",
    )
}

/// Starts a session, and ends it as soon as it is ready. The account is known only if it got so far.
async fn handshake(
    options: Options,
    program: &Path,
    folder: &Path,
    limit: Duration,
) -> (Check, Option<Option<Account>>) {
    let mut options = options.persistence(Switch::Off).locks(folder.join("locks"));
    if let Ok(guard) = std::env::current_exe() {
        options = options.guard([guard.into_os_string(), "guard".into()]);
    }
    let began = Instant::now();
    match timeout(limit, Session::start(options, Callbacks::new())).await {
        Err(_) => (hangs(program, limit), None),
        Ok(Err(error)) => (not_started(&error, program, limit), None),
        Ok(Ok(session)) => {
            let took = began.elapsed();
            let account = session.ready().answer.account.clone();
            // How it ends is not what was asked; the guard sees to it that it does.
            let _ = timeout(limit, session.close()).await;
            let says = format!("ready in {:.1} s", took.as_secs_f64());
            (Check::ok("start", "ready", says), Some(account))
        }
    }
}

fn hangs(program: &Path, limit: Duration) -> Check {
    Check::problem(
        "start",
        "hangs",
        format!("the CLI was started and gave no answer in {} s", limit.as_secs()),
        format!(
            "run `{} -p hello` in a terminal to see what it waits for; `--timeout SECONDS` gives it longer",
            program.display()
        ),
    )
}

fn not_started(error: &StartError, program: &Path, limit: Duration) -> Check {
    let by_hand =
        format!("run `{} -p hello` in a terminal to see more, or install it anew", program.display());
    match error {
        StartError::Died { exit_code, stderr, .. } => {
            let how =
                exit_code.map_or_else(|| "by a signal".to_owned(), |code| format!("with exit code {code}"));
            Check::problem("start", "crashes", format!("the CLI ended {how} before it was ready"), by_hand)
                .output(stderr)
        }
        StartError::NotReady(refused) if refused.code() == RejectionCode::TimedOut => hangs(program, limit),
        StartError::Options(_) => Check::problem(
            "start",
            "options",
            error.to_string(),
            "change the options under `[claude]` in the configuration",
        ),
        _ => Check::problem("start", "refused", error.to_string(), by_hand),
    }
}

/// What the CLI said about its account in the handshake.
fn login(account: Option<&Account>) -> Check {
    let Some(account) = account else {
        return Check::remark(
            "login",
            "unknown",
            "the CLI does not say whether it is logged in",
            "run `claude auth status` to see",
        );
    };
    let some = |text: &Option<String>| text.clone().filter(|text| !text.is_empty() && text != "none");
    let provider = some(&account.api_provider).filter(|provider| provider != "firstParty");
    let source = some(&account.token_source).or_else(|| some(&account.api_key_source));
    let says = match (some(&account.email), source, provider) {
        (Some(email), _, _) => format!("logged in as {email}"),
        (None, _, Some(provider)) => format!("the API is that of `{provider}`, which has a login of its own"),
        (None, Some(source), None) => format!("logged in by `{source}`"),
        (None, None, None) => {
            return Check::problem(
                "login",
                "not_logged_in",
                "the CLI is not logged in",
                "run `claude auth login`, or set ANTHROPIC_API_KEY",
            );
        }
    };
    Check::ok("login", "logged_in", says)
}

/// Why there is no CLI that could be started.
fn located(name: &'static str, error: &LocateError, effective: &Effective) -> Check {
    let problem = |code, says: String, mend: String| Check::problem(name, code, says, mend);
    let chosen = effective.place("claude.program").map(ToString::to_string).unwrap_or_default();
    match error {
        LocateError::NotFound { name, searched } => problem(
            "missing",
            format!(
                "there is no `{}` in PATH or in the usual places ({} were searched)",
                name.display(),
                searched.len()
            ),
            format!("{INSTALL}, or say where it is with `--claude PROGRAM` or the option `claude.program`"),
        ),
        LocateError::Missing { program } => problem(
            "missing",
            format!("there is no {}", program.display()),
            format!("correct the path ({chosen}), or leave it out and the CLI is looked for"),
        ),
        LocateError::Folder { program } => problem(
            "folder",
            format!("{} is a folder", program.display()),
            format!("name the program in it ({chosen})"),
        ),
        LocateError::NotExecutable { program } => problem(
            "not_executable",
            format!("{} may not be executed", program.display()),
            format!("run `chmod +x {}`, or install it anew", program.display()),
        ),
        LocateError::WrongFormat { program } => problem(
            "wrong_architecture",
            format!("{} is not a program for this machine", program.display()),
            format!("{INSTALL} on this machine ({} {})", std::env::consts::OS, std::env::consts::ARCH),
        ),
        LocateError::InterpreterMissing { program } => problem(
            "interpreter_missing",
            format!("what {} needs to run is missing", program.display()),
            "install Node.js, or the CLI as a native program".to_owned(),
        ),
        LocateError::Start { program, source } => problem(
            "not_started",
            format!("{} does not start: {source}", program.display()),
            "install it anew".to_owned(),
        ),
        LocateError::Hangs { program, limit } => problem(
            "hangs",
            format!("`{} --version` gave no answer in {} s", program.display(), limit.as_secs()),
            "run it in a terminal to see what it waits for, or install it anew".to_owned(),
        ),
        LocateError::Failed { program, status, message } => problem(
            "crashes",
            format!("`{} --version` failed ({status})", program.display()),
            "run it in a terminal to see more, or install it anew".to_owned(),
        )
        .output(message),
        LocateError::NotUnderstood { program, answer } => problem(
            "not_claude",
            format!("`{} --version` does not answer like Claude Code", program.display()),
            format!("name another program with `--claude PROGRAM` or the option `claude.program` ({chosen})"),
        )
        .output(answer),
        LocateError::TooOld { has, needs, .. } => problem(
            "too_old",
            format!("version {has} is too old, at least {needs} is needed"),
            "run `claude update`".to_owned(),
        ),
    }
}

fn no_folder(error: &io::Error) -> Check {
    Check::problem(
        "claude",
        "no_folder",
        format!("cannot make an empty folder to start the CLI in: {error}"),
        "see whether the folder for temporary files (TMPDIR) is there, writable and not full",
    )
}
