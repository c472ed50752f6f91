//! A host with a real CLI and a scripted API in a private place, served on its socket; and a door in front of it that
//! can be shut.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use jackfield_api::command::{Content, CreateSession, Prompt};
use jackfield_api::session::Priority;
use jackfield_client::{Client, Subscription, Update};
use jackfield_host::{Host, Settings};
use jackfield_server::{Listen, SOCKET, Serving, serve};
use jackfield_testkit::api::{Reply, Scenario, ScriptedApi};
use jackfield_testkit::cli::{Cli, OLDER_VERSION, Sandbox};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::time::timeout;

/// Nothing here waits for its time; what hangs must not hang the tests.
pub(crate) const PATIENCE: Duration = Duration::from_mins(2);

pub(crate) struct Stage {
    pub(crate) sandbox: Sandbox,
    _api: ScriptedApi,
    settings: Settings,
    pub(crate) host: Host,
    serving: Option<Serving>,
}

impl Stage {
    pub(crate) async fn new(turns: Vec<Reply>) -> Self {
        let sandbox = Sandbox::new().unwrap();
        let api = ScriptedApi::start(Scenario { turns }, sandbox.places().clone()).await.unwrap();
        let places = sandbox.places();
        let mut settings = Settings::new(places.temporary.join("data"));
        settings.claude = Some(Cli::locate(OLDER_VERSION).unwrap().program);
        settings.locks = Some(places.temporary.join("locks"));
        settings.variables = std::env::vars_os().map(|(name, _)| (name, None)).collect();
        let own = sandbox.environment(&api.url()).into_iter();
        settings.variables.extend(own.map(|(name, value)| (name.into(), Some(value.into()))));
        let host = Host::open(settings.clone()).await.unwrap();
        let serving = Some(served(&host, &settings.data).await);
        Self { sandbox, _api: api, settings, host, serving }
    }

    pub(crate) fn data(&self) -> &Path {
        &self.settings.data
    }

    pub(crate) fn here(&self) -> Client {
        Client::here(self.host.clone(), "tester")
    }

    pub(crate) async fn running(&self) -> Client {
        Client::running(self.data(), "tester").await.unwrap().expect("a running host")
    }

    /// Ends the server and the host in order.
    pub(crate) async fn stop(&mut self) {
        self.serving.take().unwrap().stop().await;
        self.host.close().await;
    }

    /// Begins again on the same folder.
    pub(crate) async fn start(&mut self) {
        self.host = Host::open(self.settings.clone()).await.unwrap();
        self.serving = Some(served(&self.host, &self.settings.data).await);
    }

    pub(crate) fn create(&self) -> CreateSession {
        CreateSession::new(self.sandbox.places().workspace.to_string_lossy())
    }
}

async fn served(host: &Host, folder: &Path) -> Serving {
    let listen = Listen::new("127.0.0.1:0".parse().unwrap(), folder);
    serve(host.clone(), listen).await.unwrap()
}

pub(crate) fn prompt(text: &str) -> Prompt {
    let uuid = uuid::Uuid::new_v4().to_string().into();
    Prompt { uuid, content: vec![Content::Text { text: text.to_owned() }], priority: Priority::Next }
}

pub(crate) async fn next(subscription: &mut Subscription) -> Option<Update> {
    timeout(PATIENCE, subscription.next()).await.unwrap()
}

/// A door in front of a host's socket. Every connection is cut behind so many bytes of answer, the next behind twice as many.
pub(crate) struct Door {
    pub(crate) folder: tempfile::TempDir,
    after: Arc<AtomicUsize>,
    pub(crate) cuts: Arc<AtomicUsize>,
}

impl Door {
    pub(crate) fn before(data: &Path) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join(SOCKET)).unwrap();
        let door = Self {
            folder,
            after: Arc::new(AtomicUsize::new(usize::MAX)),
            cuts: Arc::new(AtomicUsize::new(0)),
        };
        let (after, cuts, to) = (Arc::clone(&door.after), Arc::clone(&door.cuts), data.join(SOCKET));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(pass(stream, to.clone(), Arc::clone(&after), Arc::clone(&cuts)));
            }
        });
        door
    }

    pub(crate) fn cut_after(&self, bytes: usize) {
        self.after.store(bytes, Ordering::SeqCst);
    }

    pub(crate) async fn client(&self) -> Client {
        Client::running(self.folder.path(), "tester").await.unwrap().expect("a running host")
    }
}

async fn pass(near: UnixStream, to: PathBuf, after: Arc<AtomicUsize>, cuts: Arc<AtomicUsize>) {
    let Ok(far) = UnixStream::connect(to).await else { return };
    let (mut near_reader, mut near_writer) = near.into_split();
    let (mut far_reader, mut far_writer) = far.into_split();
    let asking = tokio::spawn(async move {
        let _ = tokio::io::copy(&mut near_reader, &mut far_writer).await;
    });
    let (mut passed, mut buffer) = (0, vec![0; 256]);
    loop {
        let read = far_reader.read(&mut buffer).await.unwrap_or(0);
        passed += read;
        if passed > after.load(Ordering::SeqCst) {
            cuts.fetch_add(1, Ordering::SeqCst);
            // The next connection comes further: a frame that is longer than all of them would never come.
            let _ =
                after.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |bytes| Some(bytes.saturating_mul(2)));
            break;
        }
        if read == 0 || near_writer.write_all(&buffer[..read]).await.is_err() {
            break;
        }
    }
    asking.abort();
}
