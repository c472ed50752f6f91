//! Pictures, documents, files by name and commands, as the API gets them from the real CLIs.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jackfield_api::command::{Content, RejectionCode};
use jackfield_api::session::Priority;
use jackfield_sdk::{Callbacks, Session, content};
use jackfield_testkit::api::Reply;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::place::{PATIENCE, Place, say, start, with_both_clis};

with_both_clis!(
    pictures_reach_the_api_unchanged,
    documents_reach_the_api_unchanged,
    what_is_bad_is_refused_and_the_session_goes_on,
    files_are_found_by_what_mentions_them,
    lines_of_a_file_are_found_by_what_mentions_them,
    a_command_is_run,
);

const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const GIF: &str = "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7";
const WEBP: &str = "UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA";
const JPEG: &str = "/9j/4AAQSkZJRgABAQEASABIAAD/2wBDAP//////////////////////////////////////////////////////////////////////////////////////wAALCAABAAEBAREA/8QAFAABAAAAAAAAAAAAAAAAAAAAA//EABQQAQAAAAAAAAAAAAAAAAAAAAD/2gAIAQEAAD8AN//Z";

async fn send(session: &Session, content: Vec<Content>) -> String {
    let turn = session.prompt_with(content, Priority::Next).await.unwrap();
    timeout(PATIENCE, turn.result()).await.unwrap().unwrap().text
}

/// The sources of all blocks of a kind in the last request.
fn sources(place: &Place, kind: &str) -> Vec<Value> {
    let requests = place.requests();
    let messages = requests.last().unwrap()["messages"].as_array().unwrap();
    let blocks = messages.iter().filter_map(|message| message["content"].as_array()).flatten();
    blocks.filter(|block| block["type"] == kind).map(|block| block["source"].clone()).collect()
}

async fn pictures_reach_the_api_unchanged(version: &str) {
    let place = Place::new(version, vec![Reply::text("seen")]).await;
    let pictures = [("image/png", PNG), ("image/gif", GIF), ("image/webp", WEBP), ("image/jpeg", JPEG)];
    let mut prompt = vec![content::text("look")];
    for (_, data) in pictures {
        prompt.push(content::picture(&STANDARD.decode(data).unwrap()).unwrap());
    }
    let file = place.sandbox.places().workspace.join("picture");
    std::fs::write(&file, STANDARD.decode(PNG).unwrap()).unwrap();
    prompt.push(content::picture_file(&file).await.unwrap());
    let session = start(place.options(), Callbacks::new()).await;
    assert_eq!(send(&session, prompt).await, "seen");
    session.close().await;
    let source = |(media_type, data)| json!({"type": "base64", "media_type": media_type, "data": data});
    let sent: Vec<Value> = pictures.into_iter().chain([("image/png", PNG)]).map(source).collect();
    assert_eq!(sources(&place, "image"), sent);
}

async fn documents_reach_the_api_unchanged(version: &str) {
    let place = Place::new(version, vec![Reply::text("read")]).await;
    let session = start(place.options(), Callbacks::new()).await;
    let pdf = b"%PDF-1.4\n%%EOF\n";
    let prompt = vec![content::pdf(pdf).unwrap(), content::text_document("wörds\n").unwrap()];
    assert_eq!(send(&session, prompt).await, "read");
    session.close().await;
    let pdf = json!({"type": "base64", "media_type": "application/pdf", "data": STANDARD.encode(pdf)});
    let text = json!({"type": "text", "media_type": "text/plain", "data": "wörds\n"});
    assert_eq!(sources(&place, "document"), [pdf, text]);
}

async fn what_is_bad_is_refused_and_the_session_goes_on(version: &str) {
    let place = Place::new(version, vec![Reply::text("fine")]).await;
    let session = start(place.options(), Callbacks::new()).await;
    let image = |media_type: &str, base64: &str| Content::Image {
        media_type: media_type.to_owned(),
        base64: base64.to_owned(),
    };
    let document = Content::Document { media_type: "text/html".to_owned(), base64: "eA==".to_owned() };
    let bad =
        [image("image/png", GIF), image("image/png", &PNG[..40]), image("image/svg+xml", "eA=="), document];
    for bad in bad {
        let refused = session.prompt_with(vec![content::text("look"), bad.clone()], Priority::Next).await;
        assert_eq!(refused.unwrap_err().code(), RejectionCode::Invalid, "{bad:?}");
        let prompt =
            jackfield_api::command::Prompt { uuid: "a".into(), content: vec![bad], priority: Priority::Next };
        assert_eq!(session.command(prompt).await.unwrap_err().code(), RejectionCode::Invalid);
    }
    assert!(content::picture(b"").is_err());
    assert!(content::picture_file(place.sandbox.places().workspace.join("missing")).await.is_err());
    assert_eq!(say(&session, "go").await.text, "fine");
    session.close().await;
    assert_eq!(place.requests().len(), 1, "nothing of it was sent");
}

async fn files_are_found_by_what_mentions_them(version: &str) {
    let names = [
        "plain.txt",
        "two words.txt",
        "a\ttab",
        "paren(1).",
        "ünï.txt",
        "it's.txt",
        "~home",
        "agent-x",
        "a@b",
        "back\\slash",
        "dir/sub",
        "-dash",
        "$dollar",
        "comma,",
        "a:b",
    ];
    let place = Place::new(version, vec![Reply::text("read")]).await;
    let mut prompt = "see".to_owned();
    for (number, name) in names.iter().enumerate() {
        place.sandbox.write(name, &format!("content {number}.\n")).unwrap();
        prompt = format!("{prompt} {}", content::mention(name).unwrap());
    }
    let session = start(place.options(), Callbacks::new()).await;
    assert_eq!(say(&session, &prompt).await.text, "read");
    session.close().await;
    let sent = place.requests()[0]["messages"].to_string();
    for (number, name) in names.iter().enumerate() {
        assert!(sent.contains(&format!("content {number}.")), "{name:?}");
    }
}

async fn lines_of_a_file_are_found_by_what_mentions_them(version: &str) {
    let place = Place::new(version, vec![Reply::text("read")]).await;
    place.sandbox.write("a b.txt", "line one\nline two\nline three\nline four\n").unwrap();
    let session = start(place.options(), Callbacks::new()).await;
    let mention = content::mention_lines("a b.txt", 2..=3).unwrap();
    assert_eq!(say(&session, &format!("see {mention}")).await.text, "read");
    session.close().await;
    let sent = place.requests()[0]["messages"].to_string();
    assert!(sent.contains("line two") && sent.contains("line three"));
    assert!(!sent.contains("line one") && !sent.contains("line four"));
}

async fn a_command_is_run(version: &str) {
    let place = Place::new(version, vec![]).await;
    let session = start(place.options(), Callbacks::new()).await;
    let said = send(&session, vec![content::command("context", "").unwrap()]).await;
    assert!(said.contains("Context Usage"), "{said}");
    session.close().await;
    assert_eq!(place.requests().len(), 0, "the CLI answers it by itself");
}
