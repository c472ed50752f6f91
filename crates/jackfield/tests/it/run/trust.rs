//! A folder with hooks and servers of its own, opened by `jackfield run`: asked about, and off until somebody says yes.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use jackfield_client::{Client, Verdict};
use jackfield_testkit::api::Reply;
use jackfield_testkit::cli::{NEWER_VERSION, PINNED_VERSIONS};
use serde_json::json;

use super::real::Real;
use super::stage::BOUND;
use super::terminal::Sat;

/// A folder whose hook and server leave marks.
struct Hostile {
    real: Real,
    folder: PathBuf,
    marks: PathBuf,
}

const ASKED: &str = "trust this folder?";

impl Hostile {
    fn new(version: &str) -> Self {
        let real = Real::new(version, vec![Reply::text("hello"); 8]);
        let places = real.sandbox.places();
        let (folder, marks) = (places.workspace.join("project"), places.temporary.join("marks"));
        for made in [&folder.join(".claude"), &marks] {
            fs::create_dir_all(made).unwrap();
        }
        let hostile = Self { real, folder, marks };
        hostile.hook("a");
        let server = json!({ "command": "touch", "args": [hostile.marks.join("server")] });
        let servers = json!({ "mcpServers": { "hostile": server } });
        fs::write(hostile.folder.join(".mcp.json"), servers.to_string()).unwrap();
        hostile
    }

    fn hook(&self, name: &str) {
        let command = format!("touch {}", self.marks.join(name).display());
        let hooks = json!({ "SessionStart": [{ "hooks": [{ "type": "command", "command": command }] }] });
        let settings = json!({ "hooks": hooks, "enableAllProjectMcpServers": true });
        fs::write(self.folder.join(".claude/settings.json"), settings.to_string()).unwrap();
    }

    fn words<'a>(&'a self, more: &[&'a str]) -> Vec<&'a str> {
        let fixed = ["hello", "--cwd", self.folder.to_str().unwrap(), BOUND[0], BOUND[1]];
        [&fixed[..], more].concat()
    }

    fn run(&self, more: &[&str]) -> crate::program::Finished {
        self.real.run(&self.words(more))
    }

    fn sit(&self, more: &[&str]) -> Sat {
        Sat::before(&self.real.stage, &[&["run"], &self.words(more)[..]].concat())
    }

    #[track_caller]
    fn left(&self, marks: &[&str]) {
        let names = fs::read_dir(&self.marks).unwrap().map(|entry| entry.unwrap().file_name());
        let names: BTreeSet<String> = names.map(|name| name.into_string().unwrap()).collect();
        for name in &names {
            fs::remove_file(self.marks.join(name)).unwrap();
        }
        assert_eq!(names.iter().map(String::as_str).collect::<Vec<_>>(), marks);
    }
}

#[test]
fn s20_what_a_folder_brings_is_shown_and_asked_about_on_the_terminal() {
    for version in PINNED_VERSIONS {
        let hostile = Hostile::new(version);
        let asked = |more: &[&str], answer: &str| {
            let mut sat = hostile.sit(more);
            sat.sees("hook SessionStart");
            sat.sees("touch ");
            sat.sees("MCP server hostile");
            sat.sees(ASKED);
            // Nothing was begun to be able to ask.
            hostile.left(&[]);
            sat.types("perhaps\n");
            sat.sees("none of the answers");
            sat.types(answer);
            let finished = sat.finished();
            assert_eq!((finished.code, finished.out.as_str()), (Some(0), "hello\n"), "{version} {answer}");
        };
        asked(&[], "n\n");
        hostile.left(&[]);
        // No is for once; so is once.
        asked(&[], "once\n");
        hostile.left(&["a", "server"]);
        asked(&[], "y\n");
        hostile.left(&["a", "server"]);
        assert_eq!(hostile.run(&[]).code, Some(0), "and is not asked again");
        hostile.left(&["a", "server"]);

        hostile.hook("b");
        let mut sat = hostile.sit(&["--continue"]);
        sat.sees("has changed since you trusted it");
        sat.sees("(new)");
        sat.sees(ASKED);
        sat.types("never\n");
        assert_eq!(sat.finished().code, Some(0));
        let finished = hostile.run(&[]);
        assert_eq!((finished.code, finished.err.as_str()), (Some(0), ""));
        hostile.left(&[]);
    }
}

#[test]
fn s20_where_nobody_can_be_asked_nothing_begins_unless_the_script_says_how() {
    for version in PINNED_VERSIONS {
        let hostile = Hostile::new(version);
        for more in [&[][..], &["--ask", "nobody"], &["--ephemeral"], &["--output-format", "stream-json"]] {
            let refused = hostile.run(more);
            assert_eq!((refused.code, refused.out.as_str()), (Some(4), ""), "{more:?}: {}", refused.err);
            assert!(refused.err.contains("this folder brings hook (1), MCP server (1)"), "{}", refused.err);
            assert!(refused.err.contains("--trust") && refused.err.contains("--no-trust"), "{}", refused.err);
        }
        assert!(hostile.real.stage.sessions().is_empty() && hostile.real.api.requests().is_empty());
        for more in [&["--no-trust"][..], &["--no-trust", "--output-format", "stream-json"]] {
            let without = hostile.run(more);
            assert_eq!(without.code, Some(0), "{more:?}: {}", without.err);
        }
        hostile.left(&[]);
        for more in [&["--trust"][..], &["--trust", "--output-format", "stream-json"]] {
            let with = hostile.run(more);
            assert_eq!(with.code, Some(0), "{more:?}: {}", with.err);
            hostile.left(&["a", "server"]);
        }
        // A session that was trusted for itself goes on so, and no other does.
        assert_eq!(hostile.run(&["--continue"]).code, Some(0));
        hostile.left(&["a", "server"]);
        assert_eq!(hostile.run(&[]).code, Some(4));
        assert_eq!(hostile.run(&["--trust", "--no-trust"]).code, Some(2));
    }
}

#[test]
fn s20_the_running_host_is_asked_what_is_remembered() {
    let hostile = Hostile::new(NEWER_VERSION);
    let _host = hostile.real.stage.serve();
    assert_eq!(hostile.run(&[]).code, Some(4));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let folder = hostile.folder.to_str().unwrap();
    runtime.block_on(async {
        let data = hostile.real.stage.folder.path().join("data");
        let client = Client::running(&data, "page").await.unwrap().expect("a running host");
        let shown = client.folder_trust(folder).await.unwrap();
        assert!(!shown.trusted && shown.brings.len() >= 2, "{shown:?}");
        let stale = "0".repeat(64).into();
        assert!(client.set_folder_trust(folder, &stale, Verdict::Trusted).await.is_err());
        let now = client.set_folder_trust(folder, &shown.fingerprint, Verdict::Trusted).await.unwrap();
        assert!(now.trusted);
    });
    for more in [&[][..], &["--output-format", "stream-json"]] {
        assert_eq!(hostile.run(more).code, Some(0));
        hostile.left(&["a", "server"]);
    }
    // On the terminal in front of a running host, too.
    hostile.hook("b");
    let mut sat = hostile.sit(&[]);
    sat.sees(ASKED);
    sat.types("y\n");
    assert_eq!(sat.finished().code, Some(0));
    hostile.left(&["b", "server"]);
}

#[test]
fn s20_an_interrupt_or_the_end_of_the_input_is_no_yes() {
    let hostile = Hostile::new(NEWER_VERSION);
    let mut sat = hostile.sit(&[]);
    sat.sees(ASKED);
    sat.types("\u{3}");
    assert_eq!(sat.finished().code, Some(130));
    let mut sat = hostile.sit(&["--output-format", "stream-json"]);
    sat.sees(ASKED);
    sat.types("\u{4}");
    assert_eq!(sat.finished().code, Some(0));
    hostile.left(&[]);
}
