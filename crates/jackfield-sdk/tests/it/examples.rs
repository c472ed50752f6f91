//! Every example is run against the scripted API, with a real CLI that it finds in its PATH.

use std::path::PathBuf;
use std::process::Stdio;

use jackfield_testkit::api::Reply;
use serde_json::json;
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;
use tokio::time::timeout;

use super::place::{PATIENCE, Place, bash, with_both_clis};

with_both_clis!(query, chat, permissions, hooks, tools, readers, resume_fork, plan, pictures,);

/// Runs an example in the place's folder and gives what it prints.
async fn run(place: &Place, name: &str, arguments: &[&str], input: &str) -> String {
    let this = std::env::current_exe().unwrap();
    let program: PathBuf = this.parent().unwrap().with_file_name("examples").join(name);
    assert!(program.is_file(), "{} is missing: `cargo build --examples` makes it", program.display());
    let mut environment = place.sandbox.environment(&place.api.url());
    let folder = place.cli.program.parent().unwrap();
    environment.insert("PATH".to_owned(), format!("{}:/usr/bin:/bin", folder.display()));
    let mut child = Command::new(program)
        .args(arguments)
        .env_clear()
        .envs(environment)
        .current_dir(&place.sandbox.places().workspace)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).await.unwrap();
    let output = timeout(PATIENCE, child.wait_with_output()).await.unwrap().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name} failed: {stderr}");
    assert_eq!(place.api.unused(), Vec::<usize>::new(), "{name} asks for everything that it is told");
    String::from_utf8(output.stdout).unwrap()
}

async fn query(version: &str) {
    let place = Place::new(version, vec![Reply::text("A folder.")]).await;
    let printed = run(&place, "query", &["What is it?"], "").await;
    assert!(printed.starts_with("A folder.\n(") && printed.ends_with(" tokens written)\n"), "{printed}");
    assert!(place.requests()[0]["messages"].to_string().contains("What is it?"));
}

async fn chat(version: &str) {
    let place = Place::new(version, vec![Reply::text("One."), Reply::text("Two.")]).await;
    let printed = run(&place, "chat", &[], "first\nsecond\n").await;
    assert!(printed.starts_with(&format!("Claude Code {version}, ")), "{printed}");
    assert!(printed.ends_with(" commands\nOne.\nTwo.\n"), "{printed}");
}

async fn permissions(version: &str) {
    let place = Place::new(version, vec![bash("touch yes"), bash("touch no"), Reply::text("done")]).await;
    let printed = run(&place, "permissions", &[], "y\nn\n").await;
    assert_eq!(printed.matches("may it? [y/n]").count(), 2, "{printed}");
    assert!(printed.contains("Allowed\n") && printed.contains("Denied\n") && printed.ends_with("done\n"));
    assert_eq!((place.file("yes").is_some(), place.file("no").is_some()), (true, false));
}

async fn hooks(version: &str) {
    let place = Place::new(version, vec![bash("ls"), bash("rm a.txt"), Reply::text("done")]).await;
    place.sandbox.write("a.txt", "text\n").unwrap();
    let printed = run(&place, "hooks", &[], "").await;
    assert_eq!(printed.matches("[Bash took ").count(), 1, "{printed}");
    assert!(printed.ends_with("done\n"), "{printed}");
    assert!(place.said()[2].to_string().contains("nothing is deleted here"));
    assert!(place.file("a.txt").is_some());
}

async fn tools(version: &str) {
    let divide = Reply::tool_use("mcp__calc__divide", json!({"dividend": 355.0, "divisor": 113.0}));
    let place = Place::new(version, vec![divide, Reply::text("About pi.")]).await;
    let printed = run(&place, "tools", &[], "").await;
    assert!(printed.ends_with("About pi.\n"), "{printed}");
    assert!(place.said()[1].to_string().contains("3.14159"));
}

async fn readers(version: &str) {
    let place = Place::new(version, vec![Reply::text("Once upon a time.")]).await;
    let printed = run(&place, "readers", &[], "").await;
    assert!(printed.contains("the first reader has the whole text: Once upon a time.\n"), "{printed}");
    assert!(printed.contains("the late reader begins with event ") && printed.contains("and missed 0\n"));
}

async fn resume_fork(version: &str) {
    let answers = ["A cat.", "Small.", "Fish.", "Twenty.", "Cat."];
    let place = Place::new(version, answers.map(Reply::text).to_vec()).await;
    let printed = run(&place, "resume_fork", &[], "").await;
    let told = "first: A cat.\nsecond: Small.\nfork: Fish.\nrewound: Twenty.\nresumed: Cat.\n";
    assert!(printed.starts_with(told), "{printed}");
    let sent = place.requests().iter().map(|body| body["messages"].to_string()).collect::<Vec<_>>();
    assert!(sent[2].contains("Small.") && !sent[3].contains("Small.") && !sent[4].contains("Fish."));
}

async fn plan(version: &str) {
    let write = |name: &str| Reply::tool_use("Write", json!({"file_path": name, "content": "MIT\n"}));
    let plan = Reply::tool_use("ExitPlanMode", json!({"plan": "write LICENSE"}));
    let turns = vec![write("/ws/EARLY"), plan, write("/ws/LICENSE"), Reply::text("done")];
    let place = Place::new(version, turns).await;
    let printed = run(&place, "plan", &[], "y\n").await;
    assert!(printed.contains("the plan:\nwrite LICENSE\ngo? [y/n]\n"), "{printed}");
    assert!(printed.contains("[now in mode acceptEdits]\n") && printed.contains("+MIT\n"), "{printed}");
    assert_eq!((place.file("EARLY"), place.file("LICENSE").as_deref()), (None, Some("MIT\n")));
}

async fn pictures(version: &str) {
    let place = Place::new(version, vec![Reply::text("A dot.")]).await;
    let gif = b"GIF89a\x01\0\x01\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x01D\0;";
    std::fs::write(place.sandbox.places().workspace.join("dot"), gif).unwrap();
    place.sandbox.write("notes.txt", "drawn by nobody\n").unwrap();
    assert_eq!(run(&place, "pictures", &["dot"], "").await, "Gif, 1 by 1 pixels\nA dot.\n");
    let sent = place.requests()[0]["messages"].to_string();
    assert!(sent.contains("image/gif") && sent.contains("drawn by nobody"));
}
