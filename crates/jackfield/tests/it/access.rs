//! `jackfield link` and `jackfield devices`, and where secrets never are.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::program::{Finished, jackfield};
use crate::serve::{Server, ask};

/// What hangs must not hang the tests.
const PATIENCE: Duration = Duration::from_mins(1);

fn on(data: &Path, words: &[&str]) -> Finished {
    let (command, rest) = words.split_first().unwrap();
    jackfield([command, "--data"]).arg(data).args(rest).output().unwrap().into()
}

/// A request over the network, and the whole answer.
fn send(server: &str, line: &str, headers: &str, body: &str) -> String {
    let host = server.split('/').nth(2).unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let head = format!("{line} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n{headers}");
    let length = body.len();
    let whole = format!("{head}content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}");
    stream.write_all(whole.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// Opens a link as a browser does: the cookie and the answer.
fn open(link: &str) -> (String, Value) {
    let ticket = link.split_once("#ticket=").unwrap().1;
    let answer = send(link, "POST /api/login", "", &json!({ "ticket": ticket }).to_string());
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let cookie = answer.split("set-cookie: ").nth(1).unwrap().split(';').next().unwrap().to_owned();
    (cookie, serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap())
}

#[test]
fn a_device_comes_in_by_a_link_is_listed_and_is_revoked() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let server = Server::begin(&data, &[], &[]);

    let link = on(&data, &["link", "--scope", "view", "--name", "phone"]);
    assert_eq!((link.code, link.err.as_str(), link.out.lines().count()), (Some(0), "", 1));
    let (cookie, login) = open(link.out.trim());
    assert_eq!(login["scope"], "view");
    let key = login["key"].as_str().unwrap();

    let list = on(&data, &["devices", "list"]);
    assert_eq!((list.code, list.err.as_str()), (Some(0), ""));
    let row = list.out.lines().nth(1).unwrap();
    assert!(row.contains("view") && row.ends_with("phone"), "{}", list.out);
    let listed: Value = serde_json::from_str(&on(&data, &["devices", "list", "--json"]).out).unwrap();
    assert_eq!(listed[0]["name"], "phone");

    let headers = format!("cookie: {cookie}\r\nx-jackfield-key: {key}\r\n");
    let desk = || send(&server.link, "GET /api/desk", &headers, "");
    assert!(desk().starts_with("HTTP/1.1 200"));
    let nobody = on(&data, &["devices", "revoke", "tablet"]);
    assert_eq!(nobody.code, Some(2));
    assert!(nobody.err.contains("no device `tablet`"), "{}", nobody.err);
    let revoked = on(&data, &["devices", "revoke", "phone"]);
    assert_eq!((revoked.code, revoked.err.as_str()), (Some(0), ""));
    assert!(desk().starts_with("HTTP/1.1 401"));
    assert_eq!(on(&data, &["devices", "list", "--json"]).out.trim(), "[]");
    drop(server);
}

#[test]
fn a_link_can_be_read_off_the_screen() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let server = Server::begin(&data, &[], &[]);
    let drawn = on(&data, &["link", "--qr"]);
    assert_eq!((drawn.code, drawn.err.as_str()), (Some(0), ""));
    let lines: Vec<&str> = drawn.out.lines().collect();
    let (link, code) = lines.split_last().unwrap();
    open(link);
    assert!(code.len() > 15, "{}", drawn.out);
    let widths: BTreeSet<usize> = code.iter().map(|line| line.chars().count()).collect();
    assert_eq!(widths.len(), 1, "{}", drawn.out);
    assert!(code.iter().all(|line| line.chars().all(|sign| " ▀▄█".contains(sign))), "{}", drawn.out);
    drop(server);
}

#[test]
fn without_a_host_there_is_no_link_and_it_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    for words in [&["link"][..], &["devices", "list"]] {
        let finished = on(folder.path(), words);
        assert_eq!((finished.code, finished.out.as_str()), (Some(1), ""));
        assert!(finished.err.contains("`jackfield serve` starts a host"), "{}", finished.err);
    }
}

#[test]
fn s1_other_machines_are_served_with_tls_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let begin =
        |words: &[&str]| on(&data, &[&["serve", "--no-open", "--listen", "0.0.0.0:0"], words].concat());
    let plain = begin(&[]);
    assert_eq!(plain.code, Some(1));
    for word in ["without TLS", "server.tls=self", "server.certificate"] {
        assert!(plain.err.contains(word), "{}", plain.err);
    }
    let half = begin(&["--set", "server.certificate=/nowhere.pem"]);
    assert!(half.err.contains("only one is set"), "{}", half.err);
    let nowhere = ["--set", "server.certificate=/nowhere.pem", "--set", "server.key=/nowhere.pem"];
    assert!(begin(&nowhere).err.contains("cannot read a certificate in `/nowhere.pem`"));
    for (word, said) in [("server.names=*", "no name"), ("server.base_path=x", "no base path")] {
        let wrong = begin(&["--set", "server.tls=self", "--set", word]);
        assert!(wrong.err.contains(said), "{}", wrong.err);
    }

    let tls = ["--listen", "0.0.0.0:0", "--set", "server.tls=self", "--set", "server.names=box.test"];
    let server = Server::begin_anywhere(&data, &tls);
    let link = server.link.clone();
    assert!(link.starts_with("https://box.test:"), "{link}");
    // A real client that believes the certificate which lies in the data folder.
    let port = link.split(['/', ':']).nth(4).unwrap();
    let curl = |scheme: &str| -> Finished {
        let mut curl = std::process::Command::new("curl");
        curl.env_clear().args(["--silent", "--show-error", "--max-time", "20", "--noproxy", "*", "--cacert"]);
        curl.arg(data.join("certificate.pem")).args(["--resolve", &format!("box.test:{port}:127.0.0.1")]);
        curl.arg(format!("{scheme}://box.test:{port}/healthz")).output().unwrap().into()
    };
    let answer = curl("https");
    assert_eq!((answer.code, answer.out.as_str()), (Some(0), "ok jackfield\n"), "{}", answer.err);
    assert_ne!(curl("http").code, Some(0));
    server.signal(Signal::TERM);
    assert_eq!(server.ended().code, Some(0));
}

/// A process and all that it started, also through others.
fn family(id: u32) -> Vec<u32> {
    let mut family = vec![id];
    loop {
        let mut more = Vec::new();
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let Ok(child) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
            let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
            let parent =
                stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1)?.parse().ok());
            if parent.is_some_and(|parent: u32| family.contains(&parent)) && !family.contains(&child) {
                more.push(child);
            }
        }
        if more.is_empty() {
            return family;
        }
        family.extend(more);
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path());
    entries
        .flat_map(|path| if path.is_dir() && !path.is_symlink() { files(&path) } else { vec![path] })
        .collect()
}

fn holds(text: &[u8], secret: &str) -> bool {
    text.windows(secret.len()).any(|part| part == secret.as_bytes())
}

#[test]
fn s7_s23_no_secret_is_in_a_log_a_process_list_an_environment_or_another_file() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let server = Server::begin(&data, &["--set", "log.level=trace"], &[("HOME", folder.path())]);
    let token = fs::read_to_string(data.join("token")).unwrap().trim().to_owned();

    // Used in every way, right and wrong, while an agent is at work.
    let ticket = server.link.split_once("#ticket=").unwrap().1.to_owned();
    let (cookie, login) = open(&server.link);
    let cookie_value = cookie.split_once('=').unwrap().1.to_owned();
    let key = login["key"].as_str().unwrap().to_owned();
    let unused = on(&data, &["link", "--name", "phone"]).out;
    let unused = unused.trim().split_once("#ticket=").unwrap().1.to_owned();
    let bearer = format!("authorization: Bearer {token}\r\n");
    assert!(send(&server.link, "GET /api/desk", &bearer, "").starts_with("HTTP/1.1 200"));
    assert!(
        send(&server.link, "GET /api/desk", &format!("{bearer}{bearer}"), "").starts_with("HTTP/1.1 401")
    );
    let evil = format!("{bearer}origin: http://evil.test\r\n");
    assert!(send(&server.link, "GET /api/desk", &evil, "").starts_with("HTTP/1.1 403"));
    let query = format!("GET /api/nowhere?token={token}");
    assert!(send(&server.link, &query, &bearer, "").starts_with("HTTP/1.1 404"));
    let create = json!({ "type": "create_session", "cwd": folder.path(), "agent": "demo", "origin": "new" });
    let created = ask(&data, "POST /api/commands", &json!({ "id": "c-1", "command": create }));
    let id = serde_json::from_str::<Value>(&created).unwrap()["reply"]["session_id"].clone();
    let content = json!([{ "type": "text", "text": "slow" }]);
    let prompt = json!({ "type": "prompt", "uuid": id, "content": content, "priority": "next" });
    ask(&data, "POST /api/commands", &json!({ "id": "c-2", "session_id": id, "command": prompt }));

    let secrets = [&token, &ticket, &unused, &cookie_value, &key];
    let family = family(server.child.id());
    assert!(family.len() >= 3, "the guard and the agent: {family:?}");
    let mut looked_at = 0;
    for process in family {
        for file in ["cmdline", "environ"] {
            let text = fs::read(format!("/proc/{process}/{file}")).unwrap_or_default();
            looked_at += usize::from(!text.is_empty());
            for secret in secrets {
                assert!(!holds(&text, secret), "{file} of {process}");
            }
        }
    }
    assert!(looked_at >= 5, "{looked_at}");

    server.signal(Signal::TERM);
    let ended = server.ended();
    for secret in secrets {
        assert!(!holds(ended.err.as_bytes(), secret) && !holds(ended.out.as_bytes(), secret), "{ended:?}");
    }
    let mut kept = 0;
    for file in files(folder.path()) {
        let text = fs::read(&file).unwrap_or_default();
        for secret in secrets {
            let own = secret == &token && file == data.join("token");
            assert_eq!(holds(&text, secret), own, "{}", file.display());
        }
        kept += 1;
    }
    assert!(kept >= 3, "{kept}");
}

/// The ends of all network sockets of these processes, as the kernel writes them.
fn ends(family: &[u32]) -> Vec<(String, String)> {
    let mut sockets = BTreeSet::new();
    for id in family {
        let open = fs::read_dir(format!("/proc/{id}/fd")).into_iter().flatten().flatten();
        let targets = open.filter_map(|entry| fs::read_link(entry.path()).ok());
        sockets.extend(targets.filter_map(|target| {
            let target = target.to_string_lossy().into_owned();
            Some(target.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned())
        }));
    }
    let tables = ["tcp", "tcp6", "udp", "udp6"].map(|table| fs::read_to_string(format!("/proc/net/{table}")));
    let rows = tables.iter().flatten().flat_map(|table| table.lines().skip(1));
    let fields = rows.map(|row| row.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
    fields
        .filter(|fields| fields.get(9).is_some_and(|socket| sockets.contains(socket)))
        .map(|fields| (fields[1].clone(), fields[2].clone()))
        .collect()
}

#[test]
fn s30_by_default_nothing_is_listened_on_or_spoken_to_beyond_this_machine() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let server = Server::begin(&data, &[], &[]);
    let give = |session: Option<&str>, command: Value| {
        let given =
            json!({ "id": uuid::Uuid::new_v4().to_string(), "session_id": session, "command": command });
        serde_json::from_str::<Value>(&ask(&data, "POST /api/commands", &given)).unwrap()
    };
    let create = json!({ "type": "create_session", "cwd": folder.path(), "origin": "new", "agent": "demo" });
    let created = give(None, create);
    let id = created["reply"]["session_id"].as_str().unwrap().to_owned();
    let content = json!([{ "type": "text", "text": "question" }]);
    let prompt = json!({
        "type": "prompt", "uuid": uuid::Uuid::new_v4().to_string(), "content": content, "priority": "next",
    });
    give(Some(&id), prompt);
    // A question waits: now somebody would be called for, if anybody were.
    let begun = std::time::Instant::now();
    while serde_json::from_str::<Value>(&ask(&data, "GET /api/desk", &json!(null))).unwrap()[0].is_null() {
        assert!(begun.elapsed() < PATIENCE, "nothing is asked");
    }
    let ends = ends(&family(server.child.id()));
    assert!(!ends.is_empty(), "it listens");
    // 127.0.0.0/8 and ::1, and nobody at the other end of what only listens.
    let loopback = |end: &str| {
        let address = end.split(':').next().unwrap();
        (address.len() == 8 && address.ends_with("7F"))
            || address == "00000000000000000000000001000000"
            || address == "0000000000000000FFFF00000100007F"
    };
    let nobody = |end: &str| end.bytes().all(|byte| matches!(byte, b'0' | b':'));
    for (local, remote) in ends {
        assert!(loopback(&local) && (nobody(&remote) || loopback(&remote)), "{local} to {remote}");
    }
    server.signal(Signal::TERM);
    assert_eq!(server.ended().code, Some(0));
}
