//! What is selected and mentioned in the editor, on its way to the model.

use jackfield_testkit::cli::PINNED_VERSIONS;
use serde_json::json;

use super::stage::{Stage, a_word};

#[tokio::test]
async fn a_selection_from_before_the_cli_came_reaches_the_model() {
    for version in PINNED_VERSIONS {
        let stage = Stage::set(a_word()).await;
        let mut plugin = stage.plugin(&[]).await;
        let range = json!({ "start": { "line": 1, "character": 0 }, "end": { "line": 1, "character": 4 } });
        let path = stage.workspace().join("a.txt");
        let selection = json!({ "path": path, "text": "beta", "range": range });
        plugin.tells("selection", &json!({ "selection": selection })).await;
        let mut terminal = stage.connected(version, &mut plugin).await;
        plugin.until("that it is shown", terminal.sees("1 line selected")).await;
        terminal.prompt("what is it?").await;
        plugin.until("the request", stage.api.gates().reached("done")).await;
        let request = stage.last_request();
        assert!(request.contains("The user selected the lines 2 to 2 from"), "{version}: {request}");
    }
}

#[tokio::test]
async fn a_mention_reaches_the_model() {
    for version in PINNED_VERSIONS {
        let stage = Stage::set(a_word()).await;
        let mut plugin = stage.plugin(&[]).await;
        let path = stage.workspace().join("a.txt");
        let mut terminal = stage.listening(version, &mut plugin).await;
        plugin.tells("mention", &json!({ "path": path, "lines": [1, 2] })).await;
        plugin.until("that it is shown", terminal.sees("@a.txt#L2-3")).await;
        terminal.press("\r");
        plugin.until("the request", stage.api.gates().reached("done")).await;
        let request = stage.last_request();
        assert!(request.contains("beta") && !request.contains("alpha"), "{version}: {request}");
    }
}
