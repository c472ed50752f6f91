//! Code in a real kernel and problems from a real language server, asked for as the CLI does.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jackfield_ide::{KernelSetup, LanguageServerSetup, LanguageServers, Options, Plain, Surroundings, serve};
use jackfield_testkit::programs;
use serde_json::{Value, json};

use crate::client::{Client, connect_to};

fn surroundings(home: &Path) -> Surroundings {
    assert!(programs::jupyter_packages().is_dir(), "run `cargo xtask setup` first");
    let environment = [
        ("HOME", home.as_os_str().to_owned()),
        ("PATH", std::env::var_os("PATH").unwrap()),
        ("PYTHONPATH", programs::jupyter_packages().into_os_string()),
    ];
    let environment = environment.map(|(name, value)| (OsString::from(name), value)).into();
    Surroundings { environment, guard: Vec::new() }
}

/// A server without an editor, with a kernel and perhaps a language server.
async fn plain(
    home: &Path,
    python: &str,
    servers: Vec<LanguageServerSetup>,
) -> (jackfield_ide::Ide, Client, PathBuf) {
    let folder = home.join("ws");
    std::fs::create_dir_all(&folder).unwrap();
    let surroundings = surroundings(home);
    let mut editor = Plain::new(None, None);
    if !servers.is_empty() {
        editor =
            editor.with_language_servers(Arc::new(LanguageServers::new(servers, &folder, &surroundings)));
    }
    let limit = Duration::from_mins(2);
    let options = Options {
        name: "Plain".to_owned(),
        workspace: vec![folder.clone()],
        lock_folders: vec![home.join("ide")],
        port: 0,
        kernel: Some(KernelSetup { python: python.into(), folder: folder.clone(), limit, surroundings }),
    };
    let ide = serve(options, Arc::new(editor)).await.unwrap();
    let mut client = connect_to(ide.port(), &home.join("ide"), &[]).await.unwrap();
    client.shake_hands().await;
    (ide, client, folder)
}

async fn execute(client: &mut Client, code: &str) -> Value {
    let id = client.begin("executeCode", json!({ "code": code })).await;
    client.answer(id).await["result"].clone()
}

#[tokio::test]
async fn code_runs_in_the_workspace_and_its_state_is_kept() {
    let home = tempfile::tempdir().unwrap();
    let root = home.path().canonicalize().unwrap();
    let (ide, mut client, folder) = plain(&root, "python3", Vec::new()).await;
    let nothing = execute(&mut client, "import os; x = 1").await;
    assert_eq!((&nothing["isError"], nothing["content"].as_array().unwrap().len()), (&json!(false), 1));
    let place = execute(&mut client, "print(x); os.getcwd()").await;
    assert_eq!(place["content"], json!([{ "type": "text", "text": format!("1\n'{}'\n", folder.display()) }]));
    let failed = execute(&mut client, "nonsense").await;
    assert_eq!(failed["isError"], json!(true));
    assert!(failed["content"][0]["text"].as_str().unwrap().contains("NameError"), "{failed}");
    let picture = "from IPython.display import Image, display\ndisplay(Image(data=b'\\x89PNG\\r\\n\\x1a\\n' + b'0' * 32))";
    let shown = execute(&mut client, picture).await;
    assert_eq!(shown["content"][0]["type"], "image", "{shown}");
    assert_eq!(shown["content"][0]["mimeType"], "image/png");
    ide.stop().await;
}

#[tokio::test]
async fn without_jupyter_the_model_is_told_how_to_get_it() {
    let home = tempfile::tempdir().unwrap();
    let root = home.path().canonicalize().unwrap();
    let (ide, mut client, _) = plain(&root, "/no/such/python", Vec::new()).await;
    let refused = execute(&mut client, "1").await;
    assert_eq!(refused["isError"], json!(true));
    let words = refused["content"][0]["text"].as_str().unwrap();
    assert!(words.contains("/no/such/python") && words.contains("ipykernel"), "{words}");
    ide.stop().await;
}

#[tokio::test]
async fn problems_come_from_the_language_server_or_it_is_said_that_there_is_none() {
    let home = tempfile::tempdir().unwrap();
    let root = home.path().canonicalize().unwrap();
    let pyright = LanguageServerSetup {
        extensions: vec!["py".to_owned()],
        program: programs::pyright().into(),
        arguments: vec!["--stdio".into()],
    };
    let (ide, mut client, folder) = plain(&root, "python3", vec![pyright]).await;
    let path = folder.join("a.py");
    std::fs::write(&path, "x: int = ''\n").unwrap();
    let uri = format!("file://{}", path.display());
    let found = client.look("getDiagnostics", json!({ "uri": uri })).await;
    assert_eq!(
        (&found[0]["uri"], &found[0]["diagnostics"][0]["severity"]),
        (&json!(uri), &json!("Error")),
        "{found}"
    );
    assert_eq!(
        client.look("getDiagnostics", json!({})).await,
        found,
        "without a file, those that were asked for"
    );
    std::fs::write(&path, "x: int = 1\n").unwrap();
    let after = client.look("getDiagnostics", json!({ "uri": uri })).await;
    assert_eq!(after[0]["diagnostics"], json!([]));
    ide.stop().await;

    let (ide, mut client, _) = plain(&root, "python3", Vec::new()).await;
    let said = client.call("getDiagnostics", json!({})).await;
    assert_eq!(said[0], "[]", "what the CLI reads");
    assert!(said[1].contains("no language server is configured"), "{said:?}");
    ide.stop().await;
}
