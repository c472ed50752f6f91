//! Commands over connections that break between the asking and the answer.

use std::time::Duration;

use jackfield_api::Body;
use jackfield_api::command::{Allow, Answer, Command, Verdict};
use jackfield_api::permission::PermissionOutcome;
use jackfield_api::socket::{ClientFrame, GivenCommand, ServerFrame};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::client::{Socket, given, prompt, stored};
use super::proxy::Proxy;
use super::server::{PATIENCE, Place, Server};

/// A client whose wire can be cut.
async fn connect(place: &Place, server: &Server, proxy: &Proxy) -> Socket {
    let way = TcpStream::connect(proxy.address).await.unwrap();
    let mut socket = Socket::network_as(way, server.address, &place.token()).await;
    socket.greet("distant").await;
    socket
}

/// Sends a command, and loses the connection before the answer comes.
async fn give_in_vain(place: &Place, server: &Server, proxy: &Proxy, command: &GivenCommand) {
    let mut socket = connect(place, server, proxy).await;
    proxy.cut();
    socket.send(&ClientFrame::Command(Box::new(command.clone()))).await;
    timeout(PATIENCE, proxy.cut_off()).await.unwrap();
    while socket.step().await.is_some() {}
    assert!(socket.answers.is_empty(), "the answer came through");
    proxy.mend();
}

#[tokio::test(flavor = "multi_thread")]
async fn f16_a_command_whose_answer_was_lost_on_the_wire_is_repeated_and_done_once() {
    let place = Place::demo();
    let server = place.serve().await;
    let proxy = Proxy::before(server.address).await;
    let mut near = place.client("near").await;

    // One that makes a session.
    let create = given(None, place.create());
    give_in_vain(&place, &server, &proxy, &create).await;
    let mut socket = connect(&place, &server, &proxy).await;
    socket.send(&ClientFrame::Command(Box::new(create.clone()))).await;
    let created = socket.answer(&create.id).await.unwrap();
    let host = jackfield_client::Client::running(&place.data, "reader").await.unwrap().unwrap();
    let all = host.sessions(jackfield_client::SessionQuery::default()).await.unwrap().sessions;
    let [only] = &all[..] else { panic!("{} sessions", all.len()) };
    let jackfield_api::command::Reply::Created(made) = created else { panic!("{created:?}") };
    assert_eq!(made.session_id, only.session_id);

    // One that says something.
    let id = &made.session_id;
    near.follow(id).await;
    let ask = given(Some(id), prompt("edit"));
    give_in_vain(&place, &server, &proxy, &ask).await;
    give_in_vain(&place, &server, &proxy, &ask).await;
    let pending_id = near.asked(id).await;

    // One that answers.
    let yes = given(Some(id), Answer { pending_id, verdict: Verdict::Allow(Allow::default()) });
    give_in_vain(&place, &server, &proxy, &yes).await;
    let mut socket = connect(&place, &server, &proxy).await;
    for command in [&ask, &yes] {
        socket.send(&ClientFrame::Command(Box::new(command.clone()))).await;
        socket.answer(&command.id).await.unwrap();
    }
    let second = near.asked(id).await;
    let no = Verdict::Deny(jackfield_api::command::Deny { message: "no".to_owned(), interrupt: false });
    near.give(Some(id), Answer { pending_id: second, verdict: no }).await.unwrap();
    near.completed(id).await;

    let events = stored(&place.data, id).await;
    let count = |found: &dyn Fn(&Body) -> bool| events.iter().filter(|event| found(&event.body)).count();
    assert_eq!(count(&|body| matches!(body, Body::UserMessage(_))), 1);
    let allowed = |body: &Body| matches!(body, Body::PermissionResolved(end) if end.outcome == PermissionOutcome::Allowed);
    assert_eq!(count(&allowed), 1);
    assert!(server.stop().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn f22_what_is_no_text_is_refused_and_gets_no_further_than_the_server() {
    let place = Place::demo();
    let server = place.serve().await;
    let mut socket = place.client("one").await;
    let id = socket.create(place.create()).await;
    socket.follow(&id).await;
    let ask = ClientFrame::Command(Box::new(given(Some(&id), prompt("WORDS"))));
    let ask = serde_json::to_string(&ask).unwrap();
    // Half a character, a number that is none, two types, and depth.
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    for bad in [
        ask.replace("WORDS", r"\ud83d"),
        ask.replace("\"WORDS\"", "1e999"),
        ask.replace("\"type\":\"prompt\"", "\"type\":\"prompt\",\"type\":\"close\""),
        ask.replace("\"WORDS\"", &deep),
        "{".to_owned(),
    ] {
        socket.send_text(bad).await;
        loop {
            match socket.step().await.expect("the connection stays") {
                ServerFrame::Refused(_) => break,
                ServerFrame::Accepted(accepted) => panic!("{accepted:?}"),
                _ => {}
            }
        }
    }
    socket.give(Some(&id), prompt("help")).await.unwrap();
    socket.completed(&id).await;
    let prompts =
        socket.events(&id).iter().filter(|event| matches!(event.body, Body::UserMessage(_))).count();
    assert_eq!(prompts, 1);
    assert!(server.stop().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn f16_a_command_that_the_server_took_with_it_when_it_died_is_never_done_twice() {
    let place = Place::demo();
    let mut server = place.serve().await;
    let mut socket = place.client("one").await;
    let id = socket.create(place.create()).await;
    for behind in [0, 1, 3, 10, 30] {
        let mut socket = place.client("one").await;
        let ask = given(Some(&id), prompt("help"));
        socket.send(&ClientFrame::Command(Box::new(ask.clone()))).await;
        tokio::time::sleep(Duration::from_millis(behind)).await;
        server.kill().await;
        server = place.serve().await;
        let mut socket = place.client("one").await;
        socket.send(&ClientFrame::Command(Box::new(ask.clone()))).await;
        let answer = socket.answer(&ask.id).await;
        socket.give(Some(&id), prompt("think")).await.unwrap();
        socket.follow(&id).await;
        let uuid = |command: &GivenCommand| match &command.command {
            Command::Prompt(prompt) => prompt.uuid.clone(),
            _ => unreachable!(),
        };
        let said = Some(uuid(&ask));
        socket.until(&id, |body| matches!(body, Body::UserMessage(said) if said.text == "think")).await;
        let events = stored(&place.data, &id).await;
        let times = events
            .iter()
            .filter(|event| matches!(&event.body, Body::UserMessage(message) if message.uuid == said))
            .count();
        assert!(times <= 1, "{behind} ms: {times} times; {answer:?}");
    }
    assert!(server.stop().await.success());
}
