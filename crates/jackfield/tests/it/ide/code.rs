//! Code that the model of the interactive CLI runs, and what becomes of the kernel.

use std::process::Stdio;

use jackfield_testkit::cli::PINNED_VERSIONS;
use jackfield_testkit::programs;
use serde_json::json;
use tokio::process::Command;

use super::plugin::Plugin;
use super::stage::{Stage, patiently};

/// A server whose Python has a kernel.
async fn plugin(stage: &Stage) -> Plugin {
    assert!(programs::jupyter_packages().is_dir(), "run `cargo xtask setup` first");
    let mut command = stage.jackfield(&["ide", "--link"]);
    command.env("PYTHONPATH", programs::jupyter_packages());
    Plugin::start(Command::from(command)).await
}

#[tokio::test]
async fn code_runs_after_a_yes_in_the_terminal_and_its_kernel_ends_with_a_killed_server() {
    for version in PINNED_VERSIONS {
        let code = "import os\nprint('pid', os.getpid())\n6 * 7";
        let stage = Stage::set(json!([
            { "blocks": [{ "type": "tool_use", "name": "mcp__ide__executeCode", "input": { "code": code } }] },
            { "gate": "done", "blocks": [{ "type": "text", "text": "It is 42." }] },
        ]))
        .await;
        let mut plugin = plugin(&stage).await;
        let mut terminal = stage.listening(version, &mut plugin).await;
        terminal.prompt("compute").await;
        let done = terminal.press_until("1", stage.api.gates().reached("done"));
        plugin.until("the code's end", done).await;
        let request = stage.last_message();
        assert!(request.contains("42\\n"), "{version}: {request}");
        let id = request.split("pid ").nth(1).unwrap().split('\\').next().unwrap();
        let lives = format!("kill -0 {id}");
        let lives = || {
            let mut shell = std::process::Command::new("sh");
            shell.args(["-c", &lives]).stderr(Stdio::null()).status().unwrap().success()
        };
        assert!(lives(), "{version}: the kernel waits for more code");
        plugin.killed().await;
        let gone = async {
            while lives() {
                tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            }
        };
        patiently("the kernel's end", gone).await;
    }
}
