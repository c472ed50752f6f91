//! One owner per session, across threads and processes.

use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Barrier;

use jackfield_sdk::lock::{Lock, LockError};
use jackfield_sdk::tree::{self, MARKER, ProcessId};
use jackfield_wire::SessionId;
use serde_json::{Value, json};

const FOLDER: &str = "JACKFIELD_TEST_LOCK_FOLDER";

fn session() -> SessionId {
    "ca1ec603-3246-4ddc-99e9-80bdc98145ac".into()
}

fn record(folder: &Path) -> Value {
    serde_json::from_slice(&fs::read(folder.join(format!("{}.lock", session()))).unwrap()).unwrap()
}

/// Another process of this very program that tries to own the session and says how it went; it keeps what it
/// has until its standard input ends.
fn another_process(folder: &Path) -> (Child, String) {
    // Not by its path: what lies there may be another build by now.
    let mut child = Command::new("/proc/self/exe")
        .args(["--exact", "lock::a_session_that_another_process_owns_is_refused", "--nocapture"])
        .env(FOLDER, folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.as_mut().unwrap()).lines().map(Result::unwrap);
    let said = lines.find_map(|line| Some(line.split_once("lock: ")?.1.to_owned()));
    (child, said.expect("the other process says how it went"))
}

/// What that process does, in the place of the test by whose name it was started.
fn be_another_process(folder: &OsStr) {
    let lock = Lock::acquire(Path::new(folder), &session());
    let said = lock.as_ref().map_or_else(ToString::to_string, |_| "owned".to_owned());
    let mut stdout = std::io::stdout();
    writeln!(stdout, "lock: {said}").unwrap();
    std::io::stdin().lines().for_each(drop);
}

#[test]
fn a_session_that_another_process_owns_is_refused() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        return be_another_process(&folder);
    }
    let folder = tempfile::tempdir().unwrap();
    let (mut child, said) = another_process(folder.path());
    assert_eq!(said, "owned");
    let error = Lock::acquire(folder.path(), &session()).unwrap_err();
    let LockError::Owned { owner: Some(owner), .. } = &error else { panic!("{error}") };
    assert_eq!(owner.process, ProcessId(child.id()));
    assert_eq!(owner.since.0, record(folder.path())["since"].as_u64().unwrap());

    child.kill().unwrap();
    child.wait().unwrap();
    let lock = Lock::acquire(folder.path(), &session()).unwrap();
    assert_eq!(record(folder.path())["process"], std::process::id());

    let (mut late, said) = another_process(folder.path());
    assert!(said.contains(&format!("process {} owns it", std::process::id())), "{said}");
    drop(late.stdin.take());
    late.wait().unwrap();
    drop(lock);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn of_fifty_threads_exactly_one_wins_every_time() {
    let folder = tempfile::tempdir().unwrap();
    // From a stale lock, from a free session, and from one that was given up a moment ago.
    fs::write(folder.path().join(format!("{}.lock", session())), record_of(1, 0, "another boot")).unwrap();
    for _ in 0..20 {
        let (start, end) = (Barrier::new(50), Barrier::new(50));
        let winners: usize = std::thread::scope(|scope| {
            let attempt = || {
                start.wait();
                let lock = Lock::acquire(folder.path(), &session());
                end.wait();
                match lock {
                    Ok(_) => 1,
                    Err(LockError::Owned { .. }) => 0,
                    Err(error) => panic!("{error}"),
                }
            };
            let threads: Vec<_> = (0..50).map(|_| scope.spawn(attempt)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(winners, 1);
    }
}

#[test]
fn of_many_processes_exactly_one_wins() {
    let folder = tempfile::tempdir().unwrap();
    let attempts: Vec<(Child, String)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..10).map(|_| scope.spawn(|| another_process(folder.path()))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let winners = attempts.iter().filter(|(_, said)| said == "owned").count();
    for (mut child, _) in attempts {
        drop(child.stdin.take());
        child.wait().unwrap();
    }
    assert_eq!(winners, 1);
}

fn record_of(process: u32, started: u64, boot: &str) -> String {
    json!({"process": process, "started": started, "boot": boot, "since": 7, "run": null}).to_string()
}

#[test]
fn a_stale_record_is_taken_over_whatever_made_it_stale() {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let mut gone = Command::new("true").spawn().unwrap();
    gone.wait().unwrap();
    let mut alive = Command::new("sleep").arg("300").spawn().unwrap();
    let cases = [
        ("a dead process", record_of(gone.id(), 1, boot.trim())),
        ("another start", record_of(alive.id(), 1, boot.trim())),
        ("another boot", record_of(alive.id(), 1, "another")),
        ("half a record", r#"{"process": 1, "sta"#.to_owned()),
        ("an empty file", String::new()),
    ];
    for (case, text) in cases {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(format!("{}.lock", session())), text).unwrap();
        let lock = Lock::acquire(folder.path(), &session());
        assert!(lock.is_ok(), "{case}: {lock:?}");
        assert_eq!(record(folder.path())["process"], std::process::id(), "{case}");
    }
    alive.kill().unwrap();
    alive.wait().unwrap();
}

#[test]
fn a_record_of_a_living_process_holds_even_where_locks_do_not_work() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = Command::new("sleep").arg("300").spawn().unwrap();
    let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
    let started = stat.rsplit_once(") ").unwrap().1.split(' ').nth(19).unwrap().parse().unwrap();
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let text = record_of(child.id(), started, boot.trim());
    fs::write(folder.path().join(format!("{}.lock", session())), text).unwrap();
    let error = Lock::acquire(folder.path(), &session()).unwrap_err();
    assert!(matches!(&error, LockError::Owned { owner: Some(_), .. }), "{error}");
    child.kill().unwrap();
    child.wait().unwrap();
    Lock::acquire(folder.path(), &session()).unwrap();
}

#[test]
fn whoever_takes_over_ends_what_the_earlier_run_left_alive() {
    let folder = tempfile::tempdir().unwrap();
    let marker = tree::unique_marker();
    let mut left = Command::new("sleep").arg("300").env(MARKER, &marker).spawn().unwrap();
    let mut lock = Lock::acquire(folder.path(), &session()).unwrap();
    lock.note_run(&marker).unwrap();
    let stale = fs::read(folder.path().join(format!("{}.lock", session()))).unwrap();
    drop(lock);
    assert_eq!(tree::marked(&marker).len(), 1);
    // As if this process had been killed.
    fs::write(folder.path().join(format!("{}.lock", session())), stale).unwrap();

    Lock::acquire(folder.path(), &session()).unwrap();

    assert_eq!(tree::marked(&marker), []);
    assert!(!left.wait().unwrap().success());
}

#[test]
fn the_lock_is_private_and_follows_no_link() {
    let folder = tempfile::tempdir().unwrap();
    let locks = folder.path().join("state").join("locks");
    let lock = Lock::acquire(&locks, &session()).unwrap();
    let path = locks.join(format!("{}.lock", session()));
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&locks), mode(&path)), (0o700, 0o600));
    drop(lock);

    let victim = folder.path().join("victim");
    fs::write(&victim, "precious").unwrap();
    symlink(&victim, &path).unwrap();
    let error = Lock::acquire(&locks, &session()).unwrap_err();
    assert!(matches!(error, LockError::File { .. }), "{error}");
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");

    let error = Lock::acquire(&locks, &"../../victim".into()).unwrap_err();
    assert!(matches!(error, LockError::NotAnId(_)), "{error}");
}
