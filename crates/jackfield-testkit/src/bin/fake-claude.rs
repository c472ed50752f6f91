//! `fake-claude`: plays the script named by `--script FILE` or `FAKE_CLAUDE_SCRIPT`.
//!
//! Every other flag is accepted and ignored, as a host passes the real CLI's. The steps are in
//! `jackfield_testkit::fake`; the one rule kept here is that every failure ends with a code of its own.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use jackfield_testkit::fake::{BAD_SCRIPT, FakeStep, UNEXPECTED, play, read_script};

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let named = arguments.windows(2).find(|pair| pair[0] == "--script").map(|pair| pair[1].clone());
    let Some(path) = named.or_else(|| std::env::var_os("FAKE_CLAUDE_SCRIPT")).map(PathBuf::from) else {
        return fail(BAD_SCRIPT, "no script: give --script FILE or set FAKE_CLAUDE_SCRIPT");
    };
    let steps = match read_script(&path) {
        Ok(steps) => steps,
        Err(error) => return fail(BAD_SCRIPT, &error.to_string()),
    };
    if arguments.iter().any(|argument| argument == "--version") {
        let version = steps.iter().find_map(|step| match step {
            FakeStep::Version(version) => Some(version.as_str()),
            _ => None,
        });
        let _ = writeln!(io::stdout(), "{} (Claude Code)", version.unwrap_or("0.0.0"));
        return ExitCode::SUCCESS;
    }
    let session = session(&arguments);
    match play(&steps, &session, io::stdin().lock(), io::stdout(), io::stderr()) {
        Ok(code) => ExitCode::from(code),
        Err(error) => fail(UNEXPECTED, &error.to_string()),
    }
}

/// The session's name, if the host gives one, in either way in which a flag has a value.
fn session(arguments: &[OsString]) -> String {
    let mut words = arguments.iter().map(|argument| argument.to_string_lossy());
    while let Some(word) = words.next() {
        let (flag, value) = word.split_once('=').map_or((&*word, None), |(flag, value)| (flag, Some(value)));
        if flag == "--session-id" || flag == "--resume" {
            let value = value.map(str::to_owned);
            return value.or_else(|| words.next().map(Into::into)).unwrap_or_default();
        }
    }
    String::new()
}

fn fail(code: u8, reason: &str) -> ExitCode {
    let _ = writeln!(io::stderr(), "fake-claude: {reason}");
    ExitCode::from(code)
}
