//! The server: a port on loopback, the lock files that tell of it, and the connections it has.
//!
//! What is said on a connection is not its business. The one rule it keeps: strangers have little time, little room
//! and few places, and when the server ends, so do its lock files and everything that was open.

use std::convert::Infallible;
use std::io;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::body::Body;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{FromRequestParts as _, Request};
use axum::http::StatusCode;
use axum::http::header::CONNECTION;
use axum::response::{IntoResponse as _, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use jackfield_workbench::{Kernel, KernelSetup};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::connected::{GuestBook, Watched};
use crate::connection;
use crate::diffs::Diffs;
use crate::editor::Editor;
use crate::gate::Gate;
use crate::handler::Handler;
use crate::lock_file::{Announcement, LockFile, LockFileError, left_behind};
use crate::notices::Notices;
use crate::token::{NoToken, Token};
use crate::tools::Bench;
use crate::workspace::{Workspace, WorkspaceError};

/// How many may be connected who have not shown the token.
const STRANGERS: usize = 64;
/// How many CLIs may be connected.
const GUESTS: usize = 256;
/// How long the head of a request may take.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// How long a stranger may stay, whatever it says.
const STAY: Duration = Duration::from_secs(30);
/// How large the head of a request may be.
const HEAD: usize = 16 * 1024;
/// How large a message may be: the whole of a file is in one.
const MESSAGE: usize = 64 * 1024 * 1024;

/// What a server is to serve.
#[derive(Debug, Clone)]
pub struct Options {
    /// What the CLI calls the editor.
    pub name: String,
    /// The folders that the CLI may work in; at least one.
    pub workspace: Vec<PathBuf>,
    /// The folders in which CLIs look for lock files: `ide` in each of their configuration folders.
    pub lock_folders: Vec<PathBuf>,
    /// The port; 0 takes any free one.
    pub port: u16,
    /// The kernel in which code runs; it works in the first folder. Without one no code runs.
    pub kernel: Option<KernelSetup>,
}

/// Why a server did not begin.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// There is no folder to work in.
    #[error("cannot serve an editor without any folder")]
    NoFolder,
    /// A folder is not to be had.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// There is no token.
    #[error(transparent)]
    Token(#[from] NoToken),
    /// The port is not to be had.
    #[error("cannot listen on 127.0.0.1:{port}: {source}")]
    Port {
        /// The port.
        port: u16,
        /// The reason.
        source: io::Error,
    },
    /// A lock file could not be written.
    #[error(transparent)]
    LockFile(#[from] LockFileError),
}

/// Begins to serve. Needs a running tokio runtime.
pub async fn serve(options: Options, editor: Arc<dyn Editor>) -> Result<Ide, ServeError> {
    if options.workspace.is_empty() {
        return Err(ServeError::NoFolder);
    }
    let workspace = Arc::new(Workspace::open(&options.workspace)?);
    let refused = |source| ServeError::Port { port: options.port, source };
    // The CLI knows 127.0.0.1 only.
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, options.port)).await.map_err(refused)?;
    let port = listener.local_addr().map_err(refused)?.port();
    let token = options.lock_folders.iter().find_map(|folder| left_behind(folder, port));
    let token = token.map_or_else(Token::random, Ok)?;
    let folders = workspace.folders();
    let announcement = Announcement { port, name: &options.name, workspace: &folders, token: &token };
    let lock_files = options
        .lock_folders
        .iter()
        .map(|folder| LockFile::write(folder, announcement))
        .collect::<Result<_, _>>()?;

    let notices = Notices::new(Arc::clone(&workspace));
    let kernel = options.kernel.map(Kernel::new);
    let bench = Bench { editor, workspace, notices: notices.clone(), diffs: AtomicU64::new(0), kernel };
    let shared = Arc::new(Shared {
        name: options.name,
        gate: Gate::new(port, token),
        bench: Arc::new(bench),
        guests: GuestBook::default(),
        connections: AtomicU64::new(0),
        strangers: Arc::new(Semaphore::new(STRANGERS)),
        places: Arc::new(Semaphore::new(GUESTS)),
        stopping: CancellationToken::new(),
        tasks: TaskTracker::new(),
    });
    shared.tasks.spawn(Arc::clone(&shared).listen(listener));
    Ok(Ide { port, notices, lock_files, shared })
}

/// A server at work. Dropping it takes the lock files away and ends the connections.
#[derive(Debug)]
pub struct Ide {
    port: u16,
    notices: Notices,
    lock_files: Vec<LockFile>,
    shared: Arc<Shared>,
}

impl Ide {
    /// The port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// What a CLI needs in its environment to connect to this server and no other.
    pub fn environment(&self) -> [(&'static str, String); 2] {
        [("CLAUDE_CODE_SSE_PORT", self.port.to_string()), ("ENABLE_IDE_INTEGRATION", "true".to_owned())]
    }

    /// Where the editor tells what happens in it.
    pub fn notices(&self) -> &Notices {
        &self.notices
    }

    /// Who is connected.
    pub fn connected(&self) -> Watched {
        self.shared.guests.watch()
    }

    /// Ends the server, and waits until everything has ended.
    pub async fn stop(mut self) {
        // First, so that nobody comes while the others go.
        self.lock_files.clear();
        self.shared.stopping.cancel();
        self.shared.tasks.close();
        self.shared.tasks.wait().await;
    }
}

impl Drop for Ide {
    fn drop(&mut self) {
        self.shared.stopping.cancel();
    }
}

#[derive(Debug)]
struct Shared {
    name: String,
    gate: Gate,
    bench: Arc<Bench>,
    guests: GuestBook,
    connections: AtomicU64,
    strangers: Arc<Semaphore>,
    places: Arc<Semaphore>,
    stopping: CancellationToken,
    tasks: TaskTracker,
}

impl Shared {
    async fn listen(self: Arc<Self>, listener: TcpListener) {
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = self.stopping.cancelled() => return,
            };
            let Ok((stream, _)) = accepted else {
                // No file descriptors are left, say: trying at once again would only burn time.
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            };
            // Without a place the connection is closed at once.
            let Ok(place) = Arc::clone(&self.strangers).try_acquire_owned() else { continue };
            self.tasks.spawn(Arc::clone(&self).greet(stream, place));
        }
    }

    /// Reads one request, and answers it or makes a WebSocket of it.
    async fn greet(self: Arc<Self>, stream: TcpStream, place: OwnedSemaphorePermit) {
        let stopping = self.stopping.clone();
        let answering = service_fn(|request: Request<Incoming>| {
            let shared = Arc::clone(&self);
            async move { Ok::<_, Infallible>(shared.answer(request.map(Body::new)).await) }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIME)
            .max_buf_size(HEAD)
            .serve_connection(TokioIo::new(stream), answering)
            .with_upgrades();
        tokio::select! {
            // What has become a WebSocket is over for it.
            _ = tokio::time::timeout(STAY, connection) => {}
            () = stopping.cancelled() => {}
        }
        drop(place);
    }

    async fn answer(self: Arc<Self>, request: Request) -> Response {
        let (mut parts, _) = request.into_parts();
        if let Err(status) = self.gate.check(&parts.method, &parts.uri, &parts.headers) {
            return (status, [(CONNECTION, "close")]).into_response();
        }
        let upgrade = match WebSocketUpgrade::from_request_parts(&mut parts, &()).await {
            Ok(upgrade) => upgrade,
            Err(rejection) => return rejection.into_response(),
        };
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            return StatusCode::SERVICE_UNAVAILABLE.into_response();
        };
        upgrade
            // Without it the newer CLI leaves at once.
            .protocols(["mcp"])
            .max_message_size(MESSAGE)
            .max_frame_size(MESSAGE)
            .on_upgrade(move |socket| {
                let tasks = self.tasks.clone();
                tasks.track_future(async move {
                    let connection = self.connections.fetch_add(1, Ordering::Relaxed) + 1;
                    let handler = Handler {
                        name: self.name.clone(),
                        bench: Arc::clone(&self.bench),
                        diffs: Diffs::default(),
                        guest: self.guests.enter(connection),
                        gone: CancellationToken::new(),
                    };
                    let notices = self.bench.notices.clone();
                    connection::attend(socket, handler, notices, self.stopping.clone()).await;
                    drop(place);
                })
            })
    }
}
