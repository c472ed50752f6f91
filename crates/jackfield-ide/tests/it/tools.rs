//! The twelve tools, in the shapes that the CLI reads.

use jackfield_ide::{
    Diagnostic, FileDiagnostics, Mention, Position, Range, Selection, Severity, Tab, Verdict,
};
use serde_json::{Value, json};

use crate::client::Scene;
use crate::fake::Asked;

fn range(start: (u32, u32), end: (u32, u32)) -> Range {
    let position = |(line, character)| Position { line, character };
    Range { start: position(start), end: position(end) }
}

fn diff(scene: &Scene, name: &str) -> Value {
    json!({
        "old_file_path": scene.path(name), "new_file_path": scene.path(name),
        "new_file_contents": "alpha\nBETA\ngamma\n", "tab_name": "✻ [Claude Code] a.txt (a8bf89) ⧉",
    })
}

#[tokio::test]
async fn a_diff_waits_for_its_verdict_while_other_calls_are_answered() {
    let mut scene = Scene::set().await;
    let mut client = scene.connect().await;
    let id = client.begin("openDiff", diff(&scene, "a.txt")).await;
    let Asked::Diff(_, shown, verdict) = scene.next_asked().await else { panic!("no diff") };
    assert_eq!(shown.path, scene.workspace.join("a.txt"));
    assert_eq!(shown.old.as_deref(), Some("alpha\nbeta\ngamma\n"));
    assert_eq!(shown.new, "alpha\nBETA\ngamma\n");
    assert_eq!(client.look("getDiagnostics", json!({})).await, json!([]));
    verdict.send(Verdict::Accepted { content: "edited\n".to_owned() }).unwrap();
    assert_eq!(client.texts(id).await, ["FILE_SAVED", "edited\n"]);
    // The CLI closes what is closed already, twice.
    for _ in 0..2 {
        let tab = json!({ "tab_name": shown.title });
        assert_eq!(client.call("close_tab", tab).await, ["TAB_CLOSED"]);
    }
    assert!(scene.asked.try_recv().is_err(), "the editor has closed it itself");
}

#[tokio::test]
async fn a_diff_of_a_new_file_has_no_old_content() {
    let mut scene = Scene::set().await;
    let mut client = scene.connect().await;
    let id = client.begin("openDiff", diff(&scene, "new/b.txt")).await;
    let Asked::Diff(_, shown, verdict) = scene.next_asked().await else { panic!("no diff") };
    assert_eq!(shown.old, None);
    drop(verdict);
    assert_eq!(client.texts(id).await, ["there is no window"]);
}

#[tokio::test]
async fn a_diff_that_the_cli_closes_is_over() {
    let mut scene = Scene::set().await;
    let mut client = scene.connect().await;
    for close in ["close_tab", "closeAllDiffTabs"] {
        let arguments = diff(&scene, "a.txt");
        let title = arguments["tab_name"].clone();
        let id = client.begin("openDiff", arguments).await;
        let Asked::Diff(shown, _, _open) = scene.next_asked().await else { panic!("no diff") };
        // Its answer and the diff's come in any order.
        let closing = client.begin(close, json!({ "tab_name": title })).await;
        let Asked::Closed(closed) = scene.next_asked().await else { panic!("not closed") };
        assert_eq!(shown, closed);
        let mut answers = [client.next().await.unwrap(), client.next().await.unwrap()];
        answers.sort_by_key(|answer| answer["id"].as_u64());
        let text = |answer: &Value| answer["result"]["content"][0]["text"].as_str().unwrap().to_owned();
        assert_eq!((answers[0]["id"].as_u64(), &*text(&answers[0])), (Some(id), "DIFF_REJECTED"));
        assert_eq!(answers[1]["id"].as_u64(), Some(closing));
        let expected = if close == "close_tab" { "TAB_CLOSED" } else { "CLOSED_1_DIFF_TABS" };
        assert_eq!(text(&answers[1]), expected);
    }
}

#[tokio::test]
async fn s13_files_outside_the_workspace_are_refused_by_every_tool() {
    let mut scene = Scene::set().await;
    let outside = scene.workspace.parent().unwrap().join("secret");
    std::fs::write(&outside, "secret").unwrap();
    std::os::unix::fs::symlink(&outside, scene.workspace.join("leak")).unwrap();
    let mut client = scene.connect().await;
    let paths = [
        outside.to_str().unwrap().to_owned(),
        scene.path("leak"),
        scene.path("../secret"),
        "a.txt".to_owned(),
    ];
    for path in paths {
        for (tool, arguments) in [
            ("openFile", json!({ "filePath": path })),
            (
                "openDiff",
                json!({
                    "old_file_path": path, "new_file_path": scene.path("a.txt"), "new_file_contents": "", "tab_name": "t",
                }),
            ),
            (
                "openDiff",
                json!({
                    "old_file_path": scene.path("a.txt"), "new_file_path": path, "new_file_contents": "", "tab_name": "t",
                }),
            ),
            ("checkDocumentDirty", json!({ "filePath": path })),
            ("saveDocument", json!({ "filePath": path })),
            ("getDiagnostics", json!({ "uri": format!("file://{path}") })),
        ] {
            let params = json!({ "name": tool, "arguments": arguments });
            let answer = client.ask("tools/call", params).await;
            assert_eq!(answer["result"]["isError"], json!(true), "{tool} {path}: {answer}");
            assert!(!answer.to_string().contains("\"secret\""), "{answer}");
        }
    }
    assert!(scene.asked.try_recv().is_err(), "the editor was asked");
}

#[tokio::test]
async fn wrong_arguments_and_unknown_tools_are_refused_by_name() {
    let scene = Scene::set().await;
    let mut client = scene.connect().await;
    for (tool, arguments, word) in [
        ("openDiff", json!({ "old_file_path": "/a" }), "new_file_path"),
        ("openFile", json!({}), "filePath"),
        ("close_tab", json!({ "tab_name": 7 }), "close_tab"),
        ("format_disk", json!({}), "format_disk"),
    ] {
        let answer = client.ask("tools/call", json!({ "name": tool, "arguments": arguments })).await;
        assert_eq!(answer["error"]["code"], json!(-32602), "{answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains(word), "{answer}");
    }
    let without = client.ask("tools/call", json!({ "name": "getWorkspaceFolders" })).await;
    assert!(without["result"].is_object(), "{without}");
    let code = client.ask("tools/call", json!({ "name": "executeCode", "arguments": { "code": "1" } })).await;
    assert_eq!(code["result"]["isError"], json!(true), "{code}");
}

#[tokio::test]
async fn a_file_is_opened_with_what_is_to_be_selected() {
    let mut scene = Scene::set().await;
    let mut client = scene.connect().await;
    let path = scene.path("a.txt");
    let opened = client.call("openFile", json!({ "filePath": path })).await;
    assert_eq!(opened, [format!("Opened file: {path}")]);
    let Asked::OpenFile(file) = scene.next_asked().await else { panic!("no file") };
    assert_eq!((file.selection, file.preview, file.frontmost), (None, false, true));
    let arguments = json!({
        "filePath": path, "preview": true, "startText": "lpha", "endText": "be", "selectToEndOfLine": true,
        "makeFrontmost": false,
    });
    let opened = client.look("openFile", arguments).await;
    let expected = json!({ "success": true, "filePath": path, "languageId": "rust", "lineCount": 3 });
    assert_eq!(opened, expected);
    let Asked::OpenFile(file) = scene.next_asked().await else { panic!("no file") };
    assert_eq!(file.selection, Some(range((0, 1), (1, 4))));
    assert_eq!((file.preview, file.frontmost), (true, false));
}

#[tokio::test]
async fn what_is_open_is_told_in_the_shapes_of_other_editors() {
    let mut scene = Scene::set().await;
    let mut client = scene.connect().await;
    let (path, root) = (scene.path("a.txt"), scene.workspace.to_str().unwrap().to_owned());
    let tab = |path: &str, dirty| Tab {
        path: path.into(),
        label: "a.txt".to_owned(),
        language: "plaintext".to_owned(),
        active: true,
        dirty,
    };
    scene.editor.desk.lock().unwrap().tabs = vec![tab(&path, true), tab("/etc/passwd", false)];
    let editors = client.look("getOpenEditors", json!({})).await;
    let expected = json!({ "tabs": [{
        "uri": format!("file://{path}"), "isActive": true, "label": "a.txt", "languageId": "plaintext", "isDirty": true,
    }] });
    assert_eq!(editors, expected);
    let folders = client.look("getWorkspaceFolders", json!({})).await;
    let folder = json!({ "name": "ws", "uri": format!("file://{root}"), "path": root });
    assert_eq!(folders, json!({ "success": true, "folders": [folder], "rootPath": root }));
    let file = json!({ "filePath": path });
    let dirty = client.look("checkDocumentDirty", file.clone()).await;
    let expected = json!({ "success": true, "filePath": path, "isDirty": true, "isUntitled": false });
    assert_eq!(dirty, expected);
    let saved = client.look("saveDocument", file.clone()).await;
    assert_eq!((&saved["success"], &saved["saved"]), (&json!(true), &json!(true)));
    assert!(matches!(scene.next_asked().await, Asked::Save));
    scene.editor.desk.lock().unwrap().tabs = vec![tab(&path, false)];
    let saved = client.look("saveDocument", file).await;
    assert_eq!((&saved["success"], &saved["message"]), (&json!(false), &json!("read only")));
    let other = scene.path("b.txt");
    for tool in ["checkDocumentDirty", "saveDocument"] {
        let answer = client.look(tool, json!({ "filePath": other })).await;
        let message = format!("Document not open: {other}");
        assert_eq!(answer, json!({ "success": false, "message": message }));
    }
}

#[tokio::test]
async fn problems_are_told_by_file_and_all_together() {
    let scene = Scene::set().await;
    let mut client = scene.connect().await;
    let problem = Diagnostic {
        message: "no".to_owned(),
        severity: Severity::Warning,
        range: range((1, 0), (1, 4)),
        source: Some("lint".to_owned()),
        code: None,
    };
    let of = |path: &str| FileDiagnostics { path: path.into(), diagnostics: vec![problem.clone()] };
    let (a, b) = (scene.path("a.txt"), scene.path("b c.txt"));
    scene.editor.desk.lock().unwrap().diagnostics = vec![of(&a), of(&b), of("/etc/passwd")];
    let told = json!({
        "message": "no", "severity": "Warning", "source": "lint",
        "range": { "start": { "line": 1, "character": 0 }, "end": { "line": 1, "character": 4 } },
    });
    let all = client.look("getDiagnostics", json!({})).await;
    let expected = json!([
        { "uri": format!("file://{a}"), "diagnostics": [told] },
        { "uri": format!("file://{b}"), "diagnostics": [told] },
    ]);
    assert_eq!(all, expected);
    let uri = format!("file://{b}");
    let one = client.look("getDiagnostics", json!({ "uri": uri })).await;
    assert_eq!(one, json!([{ "uri": uri, "diagnostics": [told] }]));
}

#[tokio::test]
async fn selections_and_mentions_are_told_behind_the_list_of_tools() {
    let scene = Scene::set().await;
    let path = scene.workspace.join("a.txt");
    let selection = Selection { path: path.clone(), text: "beta".to_owned(), range: range((1, 0), (1, 4)) };
    let notices = scene.ide.notices();
    notices.select(Some(selection));
    notices.mention(Mention { path: path.clone(), lines: Some((0, 1)) });
    let mut client = scene.try_to_connect(&[]).await.unwrap();
    let none = client.look("getCurrentSelection", json!({})).await;
    assert_eq!(none["success"], json!(true));
    client.shake_hands().await;
    // Whatever had come before the list of tools would have been passed over by the handshake.
    let selected = client.next().await.unwrap();
    let expected = json!({
        "text": "beta", "filePath": path, "fileUrl": format!("file://{}", path.display()),
        "selection": {
            "start": { "line": 1, "character": 0 }, "end": { "line": 1, "character": 4 }, "isEmpty": false,
        },
    });
    assert_eq!((&selected["method"], &selected["params"]), (&json!("selection_changed"), &expected));
    let mention = client.next_of("at_mentioned").await;
    assert_eq!(mention, json!({ "filePath": path, "lineStart": 0, "lineEnd": 1 }));
    notices.select(None);
    while client.next_of("selection_changed").await != json!({ "selection": null }) {}
    let current = client.look("getCurrentSelection", json!({})).await;
    assert_eq!(current, json!({ "success": false, "message": "No active editor found" }));
    let latest = client.look("getLatestSelection", json!({})).await;
    assert_eq!((&latest["success"], &latest["text"]), (&json!(true), &json!("beta")));
}
