//! The host as the editor of an interactive CLI, as its clients see it.

use jackfield_api::editor::EditorState;
use jackfield_api::socket::ServerFrame;
use jackfield_server::{Board, Proposal};
use serde_json::{Value, json};

use crate::stage::{Socket, Stage};

async fn shown(socket: &mut Socket, wanted: impl Fn(&EditorState) -> bool) -> EditorState {
    let state = |frame| if let ServerFrame::Editor(state) = frame { Some(state) } else { None };
    socket.until(|frame| state(frame).filter(|state| wanted(state))).await
}

#[tokio::test]
async fn a_change_is_shown_to_all_who_watch_and_decided_by_the_first() {
    let board = Board::default();
    let stage = Stage::listening(|listen| listen.editor = Some(board.clone())).await;
    let mut sockets = [stage.client("one").await, stage.client("other").await];
    for socket in &mut sockets {
        assert_eq!(socket.hello.as_ref().unwrap().capabilities, ["editor"]);
        socket.watch().await;
        assert_eq!(shown(socket, |_| true).await, EditorState::default());
    }
    let proposal = Proposal { path: "/ws/a".to_owned(), old: None, new: "x".repeat(3 * 1024 * 1024) };
    let waiting = {
        let board = board.clone();
        tokio::spawn(async move { board.propose(proposal).await })
    };
    let mut id = 0;
    for socket in &mut sockets {
        let state = shown(socket, |state| !state.diffs.is_empty()).await;
        assert!(state.diffs[0].new_file, "{state:?}");
        id = state.diffs[0].diff_id.0;
    }
    let bearer = format!("Bearer {}", stage.token);
    let headers = [("authorization", &*bearer), ("content-type", "application/json")];
    let place = format!("/api/editor/diffs/{id}");
    let whole = stage.ask(&format!("GET {place}"), &headers, "").await;
    let whole: Value = serde_json::from_str(&whole.body).unwrap();
    assert_eq!(whole["new"].as_str().map(str::len), Some(3 * 1024 * 1024));
    assert_eq!(whole["old"], Value::Null);
    // What a person made of it may be as large as what was proposed.
    let mine = "y".repeat(2 * 1024 * 1024);
    let verdict = json!({ "accepted": true, "content": mine }).to_string();
    assert_eq!(stage.ask(&format!("PUT {place}"), &headers, &verdict).await.status, 204);
    assert_eq!(stage.ask(&format!("PUT {place}"), &headers, &verdict).await.status, 409);
    assert_eq!(waiting.await.unwrap(), Ok(Some(mine)));
    for socket in &mut sockets {
        shown(socket, |state| state.diffs.is_empty()).await;
    }
    board.show("/ws/b".to_owned(), "text", None);
    let state = shown(&mut sockets[0], |state| !state.files.is_empty()).await;
    let file = stage.ask(&format!("GET /api/editor/files/{}", state.files[0].file_id), &headers, "").await;
    let file: Value = serde_json::from_str(&file.body).unwrap();
    assert_eq!((&file["path"], &file["text"]), (&json!("/ws/b"), &json!("text")));
    for line in ["GET /api/editor/diffs/99", "GET /api/editor/files/99", "GET /api/editor/files/x"] {
        let answer = stage.ask(line, &headers, "").await;
        assert_eq!((answer.status, &*answer.code()), (404, "not_found"), "{line}");
    }
    stage.end().await;
}
