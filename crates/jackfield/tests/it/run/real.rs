//! Runs with the real CLIs and a scripted API.

use jackfield_testkit::api::{Reply, Scenario, ScriptedApi};
use jackfield_testkit::cli::{Cli, PINNED_VERSIONS, Sandbox};
use serde_json::{Value, json};

use super::stage::{Stage, exists, lines, object};
use crate::program::Finished;

/// A stage on which the real CLI finds its API.
pub(super) struct Real {
    pub(super) stage: Stage,
    pub(super) sandbox: Sandbox,
    pub(super) api: ScriptedApi,
    runtime: tokio::runtime::Runtime,
}

impl Real {
    pub(super) fn new(version: &str, turns: Vec<Reply>) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let sandbox = Sandbox::new().unwrap();
        let api = runtime.block_on(ScriptedApi::start(Scenario { turns }, sandbox.places().clone())).unwrap();
        let mut stage = Stage::new();
        let program = Cli::locate(version).unwrap().program;
        stage.variables.extend(sandbox.environment(&api.url()));
        stage.variables.push(("JACKFIELD_CLAUDE".to_owned(), program.to_str().unwrap().to_owned()));
        Self { stage, sandbox, api, runtime }
    }

    pub(super) fn run(&self, arguments: &[&str]) -> Finished {
        let mut command = self.stage.command(&[&["run"], arguments].concat());
        let finished = command.current_dir(&self.sandbox.places().workspace).output().unwrap();
        // The API works in it.
        let _entered = self.runtime.enter();
        finished.into()
    }

    fn file(&self, name: &str) -> bool {
        exists(&self.sandbox.places().workspace.join(name))
    }
}

fn write(name: &str) -> Reply {
    Reply::tool_use("Write", json!({ "file_path": format!("/ws/{name}"), "content": "x\n" }))
}

#[test]
fn every_format_of_one_answer() {
    for version in PINNED_VERSIONS {
        let real = Real::new(version, (0..4).map(|_| Reply::text("The answer is 42.")).collect());
        let text = real.run(&["what is the answer?"]);
        assert_eq!(
            (text.code, text.out.as_str(), text.err.as_str()),
            (Some(0), "The answer is 42.\n", ""),
            "{version}"
        );
        let told = object(&real.run(&["again?", "--output-format", "json"]));
        assert_eq!((&told["result"], &told["exit_code"]), (&"The answer is 42.".into(), &0.into()));
        let events = real.run(&["again?", "--output-format", "events"]);
        assert_eq!(lines(&events).last().unwrap()["type"], "run_ended");
        let raw = real.run(&["again?", "--output-format", "stream-json"]);
        assert_eq!((raw.code, raw.err.as_str()), (Some(0), ""));
        let results: Vec<Value> = lines(&raw).into_iter().filter(|line| line["type"] == "result").collect();
        assert_eq!((results.len(), &results[0]["result"]), (1, &"The answer is 42.".into()));
        assert!(lines(&raw).iter().any(|line| line["type"] == "system" && line["subtype"] == "init"));
        assert_eq!(real.stage.sessions().len(), 4);
    }
}

#[test]
fn an_answer_has_the_shape_that_was_wanted() {
    for version in PINNED_VERSIONS {
        let shaped = json!({ "colour": "green" });
        let turns = || vec![Reply::tool_use("StructuredOutput", shaped.clone()), Reply::text("done")];
        let schema = json!({
            "type": "object", "required": ["colour"], "additionalProperties": false,
            "properties": { "colour": { "type": "string" } },
        })
        .to_string();
        let real = Real::new(version, turns());
        let told = real.run(&["a colour", "--json-schema", &schema, "--output-format", "json"]);
        assert_eq!(told.code, Some(0), "{version}: {}", told.err);
        assert_eq!(object(&told)["structured_output"], shaped);

        let real = Real::new(version, turns());
        let file = real.stage.folder.path().join("schema.json");
        std::fs::write(&file, schema).unwrap();
        let text = real.run(&["a colour", "--json-schema", file.to_str().unwrap()]);
        assert_eq!((text.code, text.out.as_str()), (Some(0), "{\"colour\":\"green\"}\n"), "{}", text.err);
    }
}

#[test]
fn a_file_is_written_only_if_that_was_allowed() {
    for version in PINNED_VERSIONS {
        let real = Real::new(version, vec![write("a.txt"), Reply::text("done")]);
        let denied = real.run(&["write it"]);
        assert_eq!((denied.code, denied.out.as_str()), (Some(4), "done\n"), "{version}: {}", denied.err);
        assert!(denied.err.contains("denied, because nobody can be asked: Write"), "{}", denied.err);
        assert!(!real.file("a.txt"));

        let real = Real::new(version, vec![write("a.txt"), write("elsewhere/b.txt"), Reply::text("done")]);
        let allowed = real.run(&["write it", "--allow", "Write(a.txt)"]);
        let files = (real.file("a.txt"), real.file("elsewhere/b.txt"));
        assert_eq!((allowed.code, files), (Some(4), (true, false)), "{}", allowed.err);
    }
}

#[test]
fn a_conversation_goes_on_in_the_next_run() {
    for version in PINNED_VERSIONS {
        let real = Real::new(version, vec![Reply::text("Pleased to meet you."), Reply::text("Ada.")]);
        assert_eq!(real.run(&["I am Ada."]).code, Some(0));
        let again = real.run(&["--continue", "Who am I?"]);
        assert_eq!((again.code, again.out.as_str()), (Some(0), "Ada.\n"), "{version}: {}", again.err);
        let asked = real.api.requests().last().unwrap().body["messages"].to_string();
        assert!(asked.contains("I am Ada.") && asked.contains("Who am I?"), "{asked}");
        assert_eq!(real.stage.sessions().len(), 1);
    }
}

#[test]
fn a_conversation_that_only_the_cli_knows_is_imported_and_goes_on() {
    for version in PINNED_VERSIONS {
        let turns = ["One.", "Two.", "Three."].map(Reply::text).to_vec();
        let real = Real::new(version, turns);
        let raw = real.run(&["first", "--ephemeral", "--output-format", "stream-json"]);
        let cli_id = lines(&raw).last().unwrap()["session_id"].as_str().unwrap().to_owned();

        let listed = real.stage.jackfield(&["sessions", "import"]);
        assert!(listed.out.contains(&cli_id[..8]), "{version}: {}", listed.out);
        assert!(real.stage.sessions().is_empty(), "listing takes nothing in");
        assert_eq!(real.stage.jackfield(&["sessions", "import", "nobody"]).code, Some(2));
        let imported = real.stage.jackfield(&["sessions", "import", &cli_id[..8], "--json"]);
        let imported = object(&imported);
        let [entry] = &imported.as_array().unwrap()[..] else { panic!("{imported}") };
        let [session] = &real.stage.sessions()[..] else { panic!("one session") };
        assert_eq!(entry["session_id"], session["session_id"]);
        let shown = real.stage.jackfield(&["sessions", "show", &cli_id]);
        assert!(shown.out.contains("❯ first") && shown.out.contains("One."), "{}", shown.out);

        let again = real.run(&["second", "--resume", &cli_id[..8]]);
        assert_eq!((again.code, again.out.as_str()), (Some(0), "Two.\n"), "{version}: {}", again.err);
        let asked = real.api.requests().last().unwrap().body["messages"].to_string();
        assert!(asked.contains("first") && asked.contains("One."), "{asked}");

        // Without an import it is found by its whole name.
        let deleted = real.stage.jackfield(&["sessions", "delete", &cli_id, "--yes"]);
        assert_eq!(deleted.code, Some(0), "{}", deleted.err);
        let anew = real.run(&["third", "--resume", &cli_id]);
        assert_eq!((anew.code, anew.out.as_str()), (Some(0), "Three.\n"), "{version}: {}", anew.err);
    }
}
