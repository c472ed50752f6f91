//! What is around the CLI: the data folder, the port, git, the terminal.
//!
//! Nothing is made or changed. The one rule it keeps: what would only be worse without is a remark, what stops
//! the host is a problem.

use std::fs;
use std::io::{self, IsTerminal, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use jackfield_sdk::Environment;
use rustix::fs::{Access, access, statvfs};
use tokio::process::Command;
use tokio::time::timeout;

use super::report::Check;
use crate::config::Config;
use crate::variables;

/// With less than this the host cannot keep what it is told.
const TOO_LITTLE: u64 = 64 << 20;
/// With less than this it will soon be too little.
const LITTLE: u64 = 1 << 30;
/// How long whoever listens at the port may take to say who it is.
const WHO: Duration = Duration::from_secs(2);
/// Where a host tells that it is one, to whoever asks.
const HEALTH: &str = "/healthz";

/// Whether sessions can be kept.
pub(super) fn data_folder(config: &Config) -> Check {
    const NAME: &str = "data folder";
    let problem = |code, says, mend: String| Check::problem(NAME, code, says, mend);
    let folder = match config.data_folder() {
        Ok(folder) => folder,
        Err(error) => return problem("unknown", error.to_string(), error.hint().to_owned()),
    };
    let shown = folder.display();
    let existing = folder.ancestors().find(|folder| folder.exists()).unwrap_or(Path::new("/"));
    let elsewhere = || "choose another with `--data FOLDER` or the option `data.folder`".to_owned();
    let found = match fs::metadata(existing) {
        Ok(found) if found.is_dir() => found,
        Ok(_) => return problem("no_folder", format!("{} is not a folder", existing.display()), elsewhere()),
        Err(error) => {
            return problem(
                "unreadable",
                format!("cannot look at {}: {error}", existing.display()),
                elsewhere(),
            );
        }
    };
    if access(existing, Access::WRITE_OK | Access::EXEC_OK).is_err() {
        return problem("not_writable", format!("you may not write to {}", existing.display()), elsewhere());
    }
    if existing == folder {
        let mode = found.mode() & 0o777;
        if found.uid() != rustix::process::geteuid().as_raw() {
            return problem("not_yours", format!("{shown} belongs to somebody else"), elsewhere());
        }
        let mend = format!("run `chmod 700 {shown}`");
        if mode & 0o022 != 0 {
            return problem("open_to_others", format!("others may write to {shown} (mode {mode:o})"), mend);
        }
        if mode & 0o055 != 0 {
            return Check::remark(
                NAME,
                "open_to_others",
                format!("others may read {shown} (mode {mode:o})"),
                mend,
            );
        }
    }
    if existing == folder {
        Check::ok(NAME, "writable", format!("{shown} is yours alone"))
    } else {
        Check::ok(NAME, "not_there", format!("{shown} will be made when it is needed"))
    }
}

/// Whether there is room for the data folder, if it is known where that is.
pub(super) fn disk(config: &Config) -> Option<Check> {
    let existing = config.data_folder().ok()?.ancestors().find(|folder| folder.exists())?;
    let space = statvfs(existing).ok()?;
    Some(room(space.f_bavail.saturating_mul(space.f_frsize)))
}

/// What so many free bytes are good for.
fn room(free: u64) -> Check {
    const NAME: &str = "disk";
    let says = format!("{} MB are free for the data folder", free >> 20);
    match free {
        ..TOO_LITTLE => Check::problem(
            NAME,
            "full",
            says,
            "make room on that disk, or choose another folder for the data",
        ),
        TOO_LITTLE..LITTLE => Check::remark(NAME, "nearly_full", says, "make room on that disk soon"),
        _ => Check::ok(NAME, "roomy", says),
    }
}

/// Whether the page can be served.
pub(super) fn port(listen: SocketAddr) -> Check {
    const NAME: &str = "port";
    let another = || "choose another with `--listen ADDRESS` or the option `server.listen`".to_owned();
    if !listen.ip().is_loopback() {
        let says = format!("{listen} can be reached from outside, and only loopback is served");
        return Check::problem(NAME, "not_loopback", says, "use `127.0.0.1` and the port");
    }
    match TcpListener::bind(listen) {
        Ok(_) => Check::ok(NAME, "free", format!("{listen} is free")),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => match who(listen) {
            Ok(true) => Check::ok(NAME, "running", format!("a host is running at {listen}")),
            _ => Check::problem(NAME, "taken", format!("another program uses {listen}"), another()),
        },
        Err(error) => {
            Check::problem(NAME, "refused", format!("cannot listen at {listen}: {error}"), another())
        }
    }
}

/// Whether a host of ours listens there.
fn who(listen: SocketAddr) -> io::Result<bool> {
    let mut stream = TcpStream::connect_timeout(&listen, WHO)?;
    stream.set_read_timeout(Some(WHO))?;
    stream.set_write_timeout(Some(WHO))?;
    let request = format!("GET {HEALTH} HTTP/1.1\r\nHost: {listen}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut answer = Vec::new();
    // Whoever goes on sending is no host; what came before a time-out may still be the answer of one.
    let read = stream.take(4096).read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer).to_lowercase();
    if answer.contains("jackfield") { Ok(true) } else { read.map(|_| false) }
}

/// Whether there is git.
pub(super) async fn git(environment: &Environment, limit: Duration) -> Check {
    const NAME: &str = "git";
    let asked = Command::new("git")
        .arg("--version")
        .env_clear()
        .envs(variables::PATH.get(environment).map(|path| (variables::PATH.name, path)))
        .current_dir("/")
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    match timeout(limit, asked).await {
        Ok(Ok(output)) if output.status.success() => {
            Check::ok(NAME, "found", String::from_utf8_lossy(&output.stdout).trim())
        }
        _ => Check::remark(
            NAME,
            "missing",
            "there is no git that works",
            "install it to see diffs against commits and to work in worktrees",
        ),
    }
}

/// What the terminal can do.
pub(super) fn terminal(environment: &Environment, output: &impl IsTerminal) -> Check {
    const NAME: &str = "terminal";
    let term = variables::TERM.get(environment).map(|term| term.to_string_lossy().into_owned());
    match term {
        _ if !output.is_terminal() => Check::ok(NAME, "none", "standard output is no terminal"),
        Some(term) if term != "dumb" => Check::ok(NAME, "found", term),
        _ => Check::remark(
            NAME,
            "dumb",
            "the terminal does not say what it can do, so there are no colours",
            "set TERM, as a rule to `xterm-256color`",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_room_is_told_before_it_is_too_little() {
        let told = |free| serde_json::to_value(room(free)).unwrap()["code"].as_str().unwrap().to_owned();
        assert_eq!([0, TOO_LITTLE - 1].map(told), ["full", "full"]);
        assert_eq!([TOO_LITTLE, LITTLE - 1].map(told), ["nearly_full", "nearly_full"]);
        assert_eq!([LITTLE, u64::MAX].map(told), ["roomy", "roomy"]);
    }
}
