//! The sessions on disk: those of the recordings, and those that the real CLIs write here.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use jackfield_api::Timestamp;
use jackfield_sdk::history::{Conversation, History, HistoryError};
use jackfield_testkit::api::{Block, Content, Reply};
use jackfield_testkit::cli::PINNED_VERSIONS;
use jackfield_testkit::recordings::fixtures_dir;
use jackfield_wire::{self as wire, SessionId, TranscriptEntry};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::live::{Live, Place};

const RESUMED: &str = "ca1ec603-3246-4ddc-99e9-80bdc98145ac";
const FORKED: &str = "cafa5bee-7b27-42f3-8529-94b95fa8332a";

/// A configuration folder with the sessions of the recordings.
fn recorded() -> (TempDir, PathBuf, History) {
    let config = tempfile::tempdir().unwrap();
    let project = config.path().join("projects").join("-ws");
    fs::create_dir_all(&project).unwrap();
    for recording in fs::read_dir(fixtures_dir().join("recordings").join("session")).unwrap() {
        for file in fs::read_dir(recording.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            if let Some(name) = path.file_name().unwrap().to_str().unwrap().strip_prefix("session_") {
                fs::copy(&path, project.join(name)).unwrap();
            }
        }
    }
    let history = History::new(config.path());
    (config, project, history)
}

fn append(path: &Path, line: &str) {
    fs::write(path, fs::read_to_string(path).unwrap() + line).unwrap();
}

/// What was said on the branch, by the person and the model.
fn said(conversation: &Conversation) -> Vec<String> {
    let text = |entry: &TranscriptEntry| match entry {
        TranscriptEntry::User(entry) if !entry.is_meta && !entry.is_compact_summary => {
            Some(entry.message.content.text())
        }
        TranscriptEntry::Assistant(entry) => {
            Some(wire::Content::Blocks(entry.message.content.clone()).text())
        }
        _ => None,
    };
    conversation.branch.iter().filter_map(text).filter(|text| !text.is_empty()).collect()
}

#[test]
fn the_recorded_sessions_are_listed_with_what_is_known_of_them() {
    let (_config, project, history) = recorded();
    let sessions = history.list().unwrap();
    assert_eq!(sessions.len(), fs::read_dir(&project).unwrap().count());
    assert!(sessions.is_sorted_by(|one, next| next.modified <= one.modified));

    let resumed = sessions.iter().find(|session| session.id.as_str() == RESUMED).unwrap();
    assert_eq!(resumed.cwd.as_deref(), Some("/ws"));
    assert_eq!(resumed.first_prompt.as_deref(), Some("one"));
    assert_eq!(resumed.last_prompt.as_deref(), Some("three"));
    assert_eq!(resumed.messages, Some(6));
    assert_eq!(resumed.created, Some(Timestamp(1_794_723_217_326)));
    assert_eq!(resumed.git_branch.as_deref(), Some("HEAD"));
    assert_eq!(resumed.version.as_deref(), Some("2.1.197"));
    assert_eq!(resumed.size, fs::metadata(project.join(format!("{RESUMED}.jsonl"))).unwrap().len());
    assert_eq!((&resumed.title, &resumed.tag), (&None, &None));
    assert_eq!(&history.summary(&RESUMED.into()).unwrap(), resumed);

    let forked = history.summary(&FORKED.into()).unwrap();
    assert_eq!(forked.last_prompt.as_deref(), Some("forked2"));
}

#[test]
fn the_recorded_sessions_are_read_in_order() {
    let (_config, _project, history) = recorded();
    let conversation = history.read(&RESUMED.into()).unwrap();
    assert_eq!(said(&conversation), ["one", "answer 0", "two", "answer 1", "three", "answer 2"]);
    assert_eq!(conversation.abandoned, []);
    assert_eq!(conversation.malformed, []);
    assert_eq!(history.message_uuids(&RESUMED.into()).unwrap().len(), 6);
    let forked = history.read(&FORKED.into()).unwrap();
    assert_eq!(said(&forked), ["one", "answer 0", "forked2", "answer 2"]);
}

#[test]
fn a_list_of_one_folder_leaves_out_the_others_even_of_the_same_name() {
    let (config, project, history) = recorded();
    let all = history.list().unwrap().len();
    assert_eq!(history.list_of(Path::new("/ws")).unwrap().len(), all);
    // On disk `/ws` and `.ws` are both `-ws`.
    assert_eq!(history.list_of(Path::new(".ws")).unwrap(), []);
    assert_eq!(history.list_of(Path::new("/elsewhere")).unwrap(), []);
    // The name of a deep folder is cut and hashed.
    let deep = format!("/{}", "deep/".repeat(60));
    let name = format!("{}-1abc", &wire::project_folder(&deep)[..200]);
    let moved = config.path().join("projects").join(name);
    fs::create_dir(&moved).unwrap();
    let text = fs::read_to_string(project.join(format!("{RESUMED}.jsonl"))).unwrap();
    let text = text.replace(r#""cwd":"/ws""#, &format!(r#""cwd":"{deep}""#));
    fs::write(moved.join(format!("{RESUMED}.jsonl")), text).unwrap();
    assert_eq!(history.list_of(Path::new(&deep)).unwrap().len(), 1);
    assert_eq!(History::new(config.path().join("nothing")).list().unwrap(), []);
}

#[test]
fn of_a_large_file_both_ends_are_read() {
    let (_config, project, history) = recorded();
    let path = project.join(format!("{RESUMED}.jsonl"));
    let filler = json!({"type": "attachment", "attachment": {"type": "x", "text": "x".repeat(3_000_000)}});
    append(&path, &format!("{filler}\n"));
    let prompt = |text: &str| {
        let message = json!({"role": "user", "content": text});
        json!({"type": "user", "uuid": text, "gitBranch": "later", "message": message}).to_string() + "\n"
    };
    append(&path, &prompt("the very last"));
    let summary = history.summary(&RESUMED.into()).unwrap();
    assert_eq!(summary.first_prompt.as_deref(), Some("one"));
    assert_eq!(summary.last_prompt.as_deref(), Some("the very last"));
    assert_eq!(summary.git_branch.as_deref(), Some("later"));
    assert_eq!(summary.messages, None);
    assert!(3_000_000 < summary.size);

    // Where the end of the file is one long line, the last prompt is not known to be the one at the beginning.
    append(&path, &format!("{filler}\n"));
    let summary = history.summary(&RESUMED.into()).unwrap();
    assert_eq!((summary.last_prompt, summary.messages), (None, None));
}

#[test]
fn a_title_after_half_a_line_is_a_line_of_its_own() {
    let (_config, project, history) = recorded();
    append(&project.join(format!("{RESUMED}.jsonl")), r#"{"type":"user","uuid":"x","mess"#);
    history.rename(&RESUMED.into(), "  \"quoted\"\nand broken ").unwrap();
    history.tag(&RESUMED.into(), Some("later")).unwrap();
    let summary = history.summary(&RESUMED.into()).unwrap();
    assert_eq!(summary.title.as_deref(), Some("\"quoted\"\nand broken"));
    assert_eq!(summary.tag.as_deref(), Some("later"));
    let conversation = history.read(&RESUMED.into()).unwrap();
    assert_eq!(conversation.malformed.len(), 1);
    assert_eq!(said(&conversation).len(), 6);
    history.tag(&RESUMED.into(), None).unwrap();
    assert_eq!(history.summary(&RESUMED.into()).unwrap().tag, None);
    let error = history.rename(&RESUMED.into(), " \n").unwrap_err();
    assert!(matches!(error, HistoryError::EmptyTitle(_)), "{error}");
}

#[test]
fn nothing_outside_the_folder_is_read_changed_or_removed() {
    let (config, project, history) = recorded();
    let outside = tempfile::tempdir().unwrap();
    let secret = outside.path().join("secret.jsonl");
    fs::write(&secret, "{\"type\":\"user\"}\n").unwrap();
    let id = |last: char| SessionId::from(format!("{}{last}", &RESUMED[..RESUMED.len() - 1]));
    // A link in the place of a session, and of a project.
    symlink(&secret, project.join(format!("{}.jsonl", id('1')))).unwrap();
    let elsewhere = outside.path().join("project");
    fs::create_dir(&elsewhere).unwrap();
    fs::write(elsewhere.join(format!("{}.jsonl", id('2'))), "").unwrap();
    symlink(&elsewhere, config.path().join("projects").join("-elsewhere")).unwrap();
    // A link in the place of a session's folder.
    symlink(&elsewhere, project.join(RESUMED)).unwrap();
    fs::create_dir(elsewhere.join("subagents")).unwrap();
    fs::write(elsewhere.join("subagents").join("agent-1.jsonl"), "{}").unwrap();
    fs::write(elsewhere.join("custom-title.json"), r#"{"customTitle":"stolen"}"#).unwrap();

    let listed = history.list().unwrap();
    for last in ['1', '2'] {
        assert!(listed.iter().all(|session| session.id != id(last)));
        let error = history.rename(&id(last), "title").unwrap_err();
        assert!(matches!(error, HistoryError::NotFound { .. }), "{error}");
        assert!(matches!(history.delete(&id(last)), Err(HistoryError::NotFound { .. })));
    }
    assert_eq!(history.subagents(&RESUMED.into()).unwrap(), []);
    assert_eq!(history.summary(&RESUMED.into()).unwrap().title, None);
    history.rename(&RESUMED.into(), "mine").unwrap();
    history.delete(&RESUMED.into()).unwrap();
    assert!(fs::symlink_metadata(project.join(RESUMED)).is_err());
    assert_eq!(
        fs::read_to_string(elsewhere.join("custom-title.json")).unwrap(),
        r#"{"customTitle":"stolen"}"#
    );
    assert!(elsewhere.join("subagents").join("agent-1.jsonl").exists() && secret.exists());

    for wrong in ["", "..", "../secret", "-ws/x"] {
        assert!(matches!(history.read(&wrong.into()), Err(HistoryError::NotAnId(_))), "{wrong}");
        assert!(matches!(history.delete(&wrong.into()), Err(HistoryError::NotAnId(_))), "{wrong}");
    }
}

fn tool(number: usize, name: &str, input: Value) -> Block {
    let id = Some(format!("toolu_{number}"));
    Block::new(Content::ToolUse { name: name.to_owned(), id, input, raw_json: None })
}

/// The replies to the prompts of [`long_session`], and enough for whatever comes after.
fn replies() -> Vec<Reply> {
    let echo = |text: &str| json!({"command": format!("echo {text}"), "description": "says it"});
    let blocks = vec![
        Block::new(Content::Text { text: "let me see".to_owned() }),
        tool(1, "Bash", echo("one")),
        tool(2, "Bash", echo("two")),
        tool(3, "Write", json!({"file_path": "/ws/x.txt", "content": "hi"})),
    ];
    let agent = json!({"description": "helps", "prompt": "SUBWORK", "subagent_type": "general-purpose"});
    vec![
        Reply::text("first answer"),
        Reply { blocks, ..Reply::default() },
        Reply::text("after the tools"),
        Reply { blocks: vec![tool(4, "Agent", agent)], ..Reply::default() },
        Reply { repeat: Some(100), ..Reply::text("fine") },
    ]
}

const FLAGS: [&str; 2] = ["--permission-mode", "bypassPermissions"];

/// Parallel tools, a subagent, a title and a compaction.
async fn long_session(place: &Place) -> SessionId {
    let checkpoints = ("CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING", "1");
    let mut live = place.start(&[], &FLAGS, &[checkpoints]);
    let id = turn(&mut live, "hello there").await;
    live.control(json!({"subtype": "rename_session", "title": "The CLI's title"})).await;
    for prompt in ["use your tools", "start an agent", "/compact", "go on"] {
        turn(&mut live, prompt).await;
    }
    assert!(live.close().await.success());
    id
}

async fn turn(live: &mut Live, prompt: &str) -> SessionId {
    live.prompt(prompt).await;
    live.until("result").await["session_id"].as_str().unwrap().into()
}

#[tokio::test]
async fn a_session_of_the_real_cli_is_listed_and_read_completely() {
    for version in PINNED_VERSIONS {
        let place = Place::new(version, replies()).await;
        let id = long_session(&place).await;
        let history = History::new(place.config());

        let listed = history.list_of(&place.sandbox.places().workspace).unwrap();
        let [summary] = &listed[..] else { panic!("{listed:#?}") };
        assert_eq!(summary.id, id);
        assert_eq!(summary.title.as_deref(), Some("The CLI's title"), "{version}");
        assert_eq!(summary.first_prompt.as_deref(), Some("hello there"), "{version}");
        assert_eq!(summary.last_prompt.as_deref(), Some("go on"), "{version}");
        assert_eq!(summary.version.as_deref(), Some(version));

        let conversation = history.read(&id).unwrap();
        assert_eq!((&conversation.abandoned, &conversation.malformed), (&vec![], &vec![]), "{version}");
        let said = said(&conversation);
        let prompts = ["hello there", "first answer", "use your tools", "let me see", "after the tools"];
        assert_eq!(said[..5], prompts, "{version}");
        for prompt in ["start an agent", "go on"] {
            assert_eq!(said.iter().filter(|text| *text == prompt).count(), 1, "{version}: {said:?}");
        }
        let results = conversation.branch.iter().filter_map(tool_result);
        assert_eq!(sorted(results), ["toolu_1", "toolu_2", "toolu_3", "toolu_4"], "{version}");
        let compacted = |entry: &&TranscriptEntry| matches!(entry, TranscriptEntry::System(entry) if entry.subtype.as_deref() == Some("compact_boundary"));
        assert_eq!(conversation.branch.iter().filter(compacted).count(), 1, "{version}");
        let subagents = history.subagents(&id).unwrap();
        assert_eq!(subagents.len(), 1, "{version}");
        assert!(!subagents[0].entries.is_empty());
    }
}

fn tool_result(entry: &TranscriptEntry) -> Option<String> {
    let TranscriptEntry::User(entry) = entry else { return None };
    entry.message.content.clone().into_blocks().into_iter().find_map(|block| match block {
        wire::Block::ToolResult(result) => Some(result.tool_use_id.into_string()),
        _ => None,
    })
}

fn sorted(texts: impl Iterator<Item = String>) -> Vec<String> {
    let mut texts: Vec<String> = texts.collect();
    texts.sort();
    texts
}

#[tokio::test]
async fn a_title_given_on_disk_is_one_the_real_cli_resumes_by_and_a_tag_survives_it() {
    for version in PINNED_VERSIONS {
        let place = Place::new(version, replies()).await;
        let mut live = place.start(&[], &FLAGS, &[]);
        let id = turn(&mut live, "hello there").await;
        live.control(json!({"subtype": "rename_session", "title": "The CLI's title"})).await;
        assert!(live.close().await.success());
        let history = History::new(place.config());
        history.rename(&id, "A better title").unwrap();
        history.tag(&id, Some("important")).unwrap();

        let flags = [FLAGS[0], FLAGS[1], "--resume", "A better title"];
        let mut resumed = place.start(&[], &flags, &[]);
        assert_eq!(turn(&mut resumed, "use your tools").await, id, "{version}");
        assert!(resumed.close().await.success());

        let summary = history.summary(&id).unwrap();
        assert_eq!(summary.title.as_deref(), Some("A better title"), "{version}");
        assert_eq!(summary.tag.as_deref(), Some("important"), "{version}");
        assert_eq!(summary.last_prompt.as_deref(), Some("use your tools"), "{version}");
    }
}

#[tokio::test]
async fn after_a_rewind_the_new_branch_is_the_conversation() {
    for version in PINNED_VERSIONS {
        let place = Place::new(version, replies()).await;
        let mut live = place.start(&[], &FLAGS, &[]);
        let id = turn(&mut live, "hello there").await;
        turn(&mut live, "use your tools").await;
        assert!(live.close().await.success());
        let history = History::new(place.config());
        let uuids = history.message_uuids(&id).unwrap();

        // The first answer.
        let flags = ["--resume", id.as_str(), "--resume-session-at", uuids[1].as_str()];
        let mut resumed = place.start(&[], &flags, &[]);
        assert_eq!(turn(&mut resumed, "something else").await, id);
        assert!(resumed.close().await.success());

        let conversation = history.read(&id).unwrap();
        let said = said(&conversation);
        assert_eq!(said[..3], ["hello there", "first answer", "something else"], "{version}");
        assert!(!said.contains(&"use your tools".to_owned()), "{version}: {said:?}");
        let abandoned = sorted(conversation.abandoned.iter().filter_map(tool_result));
        assert_eq!(abandoned, ["toolu_1", "toolu_2", "toolu_3"], "{version}");
    }
}

#[tokio::test]
async fn a_deleted_session_is_gone_with_everything_named_after_it() {
    for version in PINNED_VERSIONS {
        let place = Place::new(version, replies()).await;
        let id = long_session(&place).await;
        let history = History::new(place.config());
        assert!(3 <= named_after(&place.config(), id.as_str()), "{version}");
        history.delete(&id).unwrap();
        assert_eq!(named_after(&place.config(), id.as_str()), 0, "{version}");
        assert!(matches!(history.read(&id), Err(HistoryError::NotFound { .. })));
    }
}

/// How many files and folders have this in their names.
fn named_after(folder: &Path, id: &str) -> usize {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    let count = |entry: fs::DirEntry| {
        let own = usize::from(entry.file_name().to_str().unwrap().contains(id));
        let below = if entry.file_type().unwrap().is_dir() { named_after(&entry.path(), id) } else { 0 };
        own + below
    };
    entries.map(count).sum()
}
