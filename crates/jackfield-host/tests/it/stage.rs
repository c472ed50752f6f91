//! A host with a real CLI and a scripted API in a private place, and clients that follow its sessions.

use std::time::Duration;

use jackfield_api::command::{Command, Content, CreateSession, Prompt, Rejection, Reply};
use jackfield_api::session::Priority;
use jackfield_api::snapshot::Snapshot;
use jackfield_api::socket::{GivenCommand, Scope, ServerFrame};
use jackfield_api::{Body, Event, Seq, SessionId, Uuid};
use jackfield_core::Transcript;
use jackfield_host::{Client, Host, Settings, Subscription};
use jackfield_testkit::api::{Reply as ApiReply, Scenario, ScriptedApi};
use jackfield_testkit::cli::{Cli, Sandbox};
use tokio::time::timeout;

/// A CLI that hangs must not hang the tests.
pub(crate) const PATIENCE: Duration = Duration::from_secs(40);

pub(crate) struct Stage {
    pub(crate) sandbox: Sandbox,
    pub(crate) api: ScriptedApi,
    pub(crate) settings: Settings,
    pub(crate) host: Host,
}

impl Stage {
    pub(crate) async fn new(version: &str, turns: Vec<ApiReply>) -> Self {
        Self::with(version, turns, |_| {}).await
    }

    pub(crate) async fn with(version: &str, turns: Vec<ApiReply>, set: impl FnOnce(&mut Settings)) -> Self {
        let sandbox = Sandbox::new().unwrap();
        let api = ScriptedApi::start(Scenario { turns }, sandbox.places().clone()).await.unwrap();
        let places = sandbox.places();
        let mut settings = Settings::new(places.temporary.join("data"));
        settings.claude = Some(Cli::locate(version).unwrap().program);
        settings.locks = Some(places.temporary.join("locks"));
        settings.variables = std::env::vars_os().map(|(name, _)| (name, None)).collect();
        let own = sandbox.environment(&api.url()).into_iter();
        settings.variables.extend(own.map(|(name, value)| (name.into(), Some(value.into()))));
        set(&mut settings);
        let host = Host::open(settings.clone()).await.unwrap();
        Self { sandbox, api, settings, host }
    }

    /// Ends the host in order and opens it again.
    pub(crate) async fn restart(&mut self) {
        self.host.close().await;
        self.host = Host::open(self.settings.clone()).await.unwrap();
    }

    pub(crate) fn create(&self) -> CreateSession {
        CreateSession::new(self.sandbox.places().workspace.to_string_lossy())
    }

    pub(crate) async fn session(&self) -> SessionId {
        created(give(&self.host, None, self.create()).await.unwrap())
    }

    pub(crate) async fn follow(&self, id: &SessionId) -> Follower {
        Follower::new(self.host.subscribe(id, None).await.unwrap())
    }

    pub(crate) fn file(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.sandbox.places().workspace.join(name)).ok()
    }
}

pub(crate) fn created(reply: Reply) -> SessionId {
    match reply {
        Reply::Created(created) => created.session_id,
        other => panic!("not created: {other:?}"),
    }
}

pub(crate) fn client(name: &str) -> Client {
    Client::new(name, Scope::Admin)
}

pub(crate) async fn give(
    host: &Host,
    session: Option<&SessionId>,
    command: impl Into<Command>,
) -> Result<Reply, Rejection> {
    give_as(host, &client("tester"), session, command).await
}

pub(crate) async fn give_as(
    host: &Host,
    client: &Client,
    session: Option<&SessionId>,
    command: impl Into<Command>,
) -> Result<Reply, Rejection> {
    let id = uuid::Uuid::new_v4().to_string();
    let given = GivenCommand {
        id,
        session_id: session.cloned(),
        command: command.into(),
        traceparent: None,
        tracestate: None,
    };
    timeout(PATIENCE, host.command(client, given)).await.unwrap()
}

pub(crate) fn prompt(text: &str) -> Prompt {
    let uuid: Uuid = uuid::Uuid::new_v4().to_string().into();
    Prompt { uuid, content: vec![Content::Text { text: text.to_owned() }], priority: Priority::Next }
}

/// A client that keeps what it was sent, and checks that nothing is missing or doubled.
pub(crate) struct Follower {
    subscription: Subscription,
    pub(crate) begun: Option<Snapshot>,
    pub(crate) events: Vec<Event>,
    read: usize,
}

impl Follower {
    pub(crate) fn new(subscription: Subscription) -> Self {
        Self { subscription, begun: None, events: Vec::new(), read: 0 }
    }

    pub(crate) fn last(&self) -> Seq {
        let begun = self.begun.as_ref().map_or(Seq(0), |snapshot| snapshot.seq);
        self.events.last().map_or(begun, |event| event.seq)
    }

    /// The next event that is so.
    pub(crate) async fn until(&mut self, found: impl Fn(&Body) -> bool) -> Event {
        loop {
            if let Some(event) = self.events.get(self.read) {
                self.read += 1;
                if found(&event.body) {
                    return event.clone();
                }
                continue;
            }
            assert!(self.frame().await.is_some(), "it ended too early: {:#?}", self.events);
        }
    }

    pub(crate) async fn completed(&mut self) -> Event {
        self.until(|body| matches!(body, Body::Complete(_))).await
    }

    /// Reads up to an event.
    pub(crate) async fn reach(&mut self, seq: Seq) {
        while self.last() < seq {
            assert!(self.frame().await.is_some());
        }
    }

    pub(crate) async fn frame(&mut self) -> Option<ServerFrame> {
        let bytes = timeout(PATIENCE, self.subscription.next())
            .await
            .unwrap_or_else(|_| panic!("nothing comes: {:#?}", self.events))?;
        let frame: ServerFrame = serde_json::from_slice(&bytes).unwrap();
        match &frame {
            ServerFrame::Snapshot(sent) => self.begun = Some(sent.snapshot.clone()),
            ServerFrame::Events(sent) => {
                for event in &sent.events {
                    // The first one behind a cursor may be any.
                    if self.begun.is_some() || !self.events.is_empty() {
                        assert_eq!(event.seq.0, self.last().0 + 1, "a hole or a double");
                    }
                    self.events.push(event.clone());
                }
            }
            _ => {}
        }
        Some(frame)
    }

    /// What a front end would show now.
    pub(crate) fn transcript(&self) -> Snapshot {
        let mut transcript = Transcript::from_snapshot(self.begun.clone().unwrap_or_default());
        for event in &self.events {
            transcript.apply(event);
        }
        transcript.snapshot().clone()
    }
}

/// Runs each of these against both pinned CLIs.
macro_rules! with_both_clis {
    ($($name:ident),+ $(,)?) => {
        mod older {
            $(#[tokio::test(flavor = "multi_thread")] async fn $name() { super::$name(jackfield_testkit::cli::OLDER_VERSION).await; })+
        }
        mod newer {
            $(#[tokio::test(flavor = "multi_thread")] async fn $name() { super::$name(jackfield_testkit::cli::NEWER_VERSION).await; })+
        }
    };
}
pub(crate) use with_both_clis;
