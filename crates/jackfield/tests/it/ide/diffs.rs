//! A change that the model proposes, shown in the editor, with every end it can have.

use jackfield_testkit::cli::PINNED_VERSIONS;
use serde_json::{Value, json};

use super::plugin::Plugin;
use super::stage::{Stage, an_edit, patiently};
use super::terminal::Terminal;

/// The model has proposed a change, and the editor was asked to show it.
async fn proposed(version: &str) -> (Stage, Plugin, Terminal, Value) {
    let stage = Stage::set(an_edit()).await;
    let mut plugin = stage.plugin(&[]).await;
    let mut terminal = stage.listening(version, &mut plugin).await;
    terminal.prompt("edit it").await;
    let question = plugin.hears("open_diff").await;
    let asked = &question["params"];
    assert_eq!(asked["path"], json!(stage.workspace().join("a.txt")));
    assert_eq!(asked["old"], json!("alpha\nbeta\ngamma\n"));
    assert_eq!(asked["new"], json!("alpha\nBETA\ngamma\n"));
    (stage, plugin, terminal, question)
}

/// The CLI has asked the model again: what it wanted to do is done.
async fn goes_on(stage: &Stage, plugin: &mut Plugin) {
    plugin.until("the next request", stage.api.gates().reached("done")).await;
}

#[tokio::test]
async fn an_accepted_change_is_made_and_problems_are_asked_for_around_it() {
    for version in PINNED_VERSIONS {
        let (stage, mut plugin, mut terminal, question) = proposed(version).await;
        assert_eq!(stage.file(), "alpha\nbeta\ngamma\n", "{version}");
        let problem = json!({
            "message": "BETA is not defined", "severity": "Error", "source": "lint", "code": "E1",
            "range": { "start": { "line": 1, "character": 0 }, "end": { "line": 1, "character": 4 } },
        });
        let path = stage.workspace().join("a.txt");
        let accepted = json!({ "verdict": "accepted", "content": "alpha\nBETA\ngamma\n" });
        plugin.answers(&question, &accepted).await;
        // What is there before the change is asked for by its file, what there is after it without one.
        let before = plugin.hears("diagnostics").await;
        assert_eq!(before["params"]["path"], json!(path), "{version}");
        plugin.diagnostics = json!([{ "path": path, "diagnostics": [problem] }]);
        goes_on(&stage, &mut plugin).await;
        assert_eq!(stage.file(), "alpha\nBETA\ngamma\n", "{version}");
        stage.api.gates().release("done");
        plugin.until("the answer", terminal.sees("Edit finished.")).await;
        assert!(!plugin.heard.iter().any(|method| method == "close_diff"), "the editor closed it itself");
        plugin.until("the prompt", terminal.prompt("and now?")).await;
        plugin.until("the request", stage.api.gates().reached("then")).await;
        let request = stage.last_request();
        assert!(request.contains("BETA is not defined"), "{version}: {request}");
    }
}

#[tokio::test]
async fn what_the_person_made_of_a_change_is_what_is_written() {
    for version in PINNED_VERSIONS {
        let (stage, mut plugin, _terminal, question) = proposed(version).await;
        let accepted = json!({ "verdict": "accepted", "content": "alpha\nMINE\ngamma\n" });
        plugin.answers(&question, &accepted).await;
        goes_on(&stage, &mut plugin).await;
        assert_eq!(stage.file(), "alpha\nMINE\ngamma\n", "{version}");
    }
}

#[tokio::test]
async fn a_rejected_change_is_not_made() {
    for version in PINNED_VERSIONS {
        let (stage, mut plugin, mut terminal, question) = proposed(version).await;
        plugin.answers(&question, &json!({ "verdict": "rejected" })).await;
        plugin.until("the end of the turn", terminal.sees("User rejected update to a.txt")).await;
        assert_eq!(stage.file(), "alpha\nbeta\ngamma\n", "{version}");
        assert_eq!(stage.api.unused(), [2, 3], "{version}: the model was not asked again");
    }
}

#[tokio::test]
async fn an_editor_that_cannot_show_a_change_leaves_it_to_the_terminal() {
    for version in PINNED_VERSIONS {
        let (stage, mut plugin, mut terminal, question) = proposed(version).await;
        let error = json!({ "code": -32000, "message": "no window" });
        plugin.write(&json!({ "jsonrpc": "2.0", "id": question["id"], "error": error })).await;
        plugin.until("the terminal's question", terminal.sees("Do you want to make this edit")).await;
        assert_eq!(stage.file(), "alpha\nbeta\ngamma\n", "{version}");
        terminal.press_until("1", goes_on(&stage, &mut plugin)).await;
        assert_eq!(stage.file(), "alpha\nBETA\ngamma\n", "{version}");
    }
}

#[tokio::test]
async fn a_change_that_is_accepted_in_the_terminal_is_closed_in_the_editor() {
    for version in PINNED_VERSIONS {
        let (stage, mut plugin, mut terminal, question) = proposed(version).await;
        terminal.sees("Do you want to make this edit").await;
        let closed = terminal.press_until("1", plugin.hears("close_diff")).await;
        assert_eq!(closed["params"]["diff"], question["params"]["diff"], "{version}");
        goes_on(&stage, &mut plugin).await;
        assert_eq!(stage.file(), "alpha\nBETA\ngamma\n", "{version}");
        // The editor's own answer comes too late and changes nothing.
        plugin.answers(&question, &json!({ "verdict": "rejected" })).await;
        stage.api.gates().release("done");
        plugin.until("the answer", terminal.sees("Edit finished.")).await;
    }
}

#[tokio::test]
async fn a_change_that_is_rejected_in_the_terminal_is_closed_in_the_editor() {
    for version in PINNED_VERSIONS {
        let (stage, mut plugin, mut terminal, question) = proposed(version).await;
        terminal.sees("Do you want to make this edit").await;
        let closed = terminal.press_until("\x1b", plugin.hears("close_diff")).await;
        assert_eq!(closed["params"]["diff"], question["params"]["diff"], "{version}");
        assert_eq!(stage.file(), "alpha\nbeta\ngamma\n", "{version}");
    }
}

#[tokio::test]
async fn a_change_is_accepted_in_the_terminal_of_those_who_have_no_editor() {
    for version in PINNED_VERSIONS {
        let mut turns = an_edit();
        let greeting = json!({ "blocks": [{ "type": "text", "text": "Good morning." }] });
        turns.as_array_mut().unwrap().insert(0, greeting);
        let stage = Stage::set(turns).await;
        let mut editor = Terminal::run(&stage.jackfield(&["ide"]));
        editor.sees("Ctrl-C ends it").await;
        let port = stage.lock_files()[0].strip_suffix(".lock").unwrap().to_owned();
        let mut command = stage.claude(version, &["--permission-mode", "default"]);
        command.env("CLAUDE_CODE_SSE_PORT", port);
        let mut terminal = Terminal::run(&command);
        editor.sees("Connected:").await;
        // After a turn it has surely taken notice of its editor.
        terminal.prompt("hello").await;
        terminal.sees("Good morning.").await;
        terminal.prompt("edit it").await;
        editor.sees("+BETA").await;
        editor.sees("[y]es, [n]o").await;
        editor.press("y\n");
        patiently("the next request", stage.api.gates().reached("done")).await;
        assert_eq!(stage.file(), "alpha\nBETA\ngamma\n", "{version}");
    }
}

#[tokio::test]
async fn f32_a_cli_that_dies_with_a_diff_open_leaves_none_behind() {
    for version in PINNED_VERSIONS {
        let (_stage, mut plugin, terminal, question) = proposed(version).await;
        drop(terminal);
        let closed = plugin.hears("close_diff").await;
        assert_eq!(closed["params"]["diff"], question["params"]["diff"], "{version}");
        let message = plugin.hears("connected").await;
        assert_eq!(message["params"]["connections"], json!([]), "{version}");
    }
}
