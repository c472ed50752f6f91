//! Listening: on an address for browsers and programs, and on a Unix socket for programs of the same user.
//!
//! What is said on a connection is not its business. The one rule it keeps: a connection that says nothing, or
//! says it slowly, is ended; one that is at work ends its work first.

use std::convert::Infallible;
use std::fs::{self, Permissions};
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use jackfield_api::socket::Scope;
use jackfield_host::Host;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower_service::Service as _;

use crate::access::gate::{Door, Ends};
use crate::access::names::{Names, NoBasePath, NoName, Scheme};
use crate::access::secret::NoSecret;
use crate::access::{Access, OpenError};
use crate::admission::{Arrival, Places};
use crate::editor::Board;
use crate::router::{HEAD, Server, below, router};
use crate::speech::Dictating;
use crate::tls::{Fingerprint, TlsError, Transport, tls};

/// The name of the Unix socket in the data folder.
pub const SOCKET: &str = "host.sock";
/// How long the head of a request may take, and how long a connection may be idle.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// How long connections have to end their work when the server stops.
const FAREWELL: Duration = Duration::from_secs(5);

/// How long the beginning of TLS may take.
const HANDSHAKE: Duration = Duration::from_secs(5);

/// Where a server listens, and as whom.
#[derive(Debug, Clone)]
pub struct Listen {
    /// The address; port 0 takes any free one.
    pub address: SocketAddr,
    /// The data folder: the token, the logins and the Unix socket are in it.
    pub folder: PathBuf,
    /// How it speaks on the address.
    pub transport: Transport,
    /// Names it answers to besides its own: `box.local`, or whole origins such as `https://example.org` for a proxy
    /// in front.
    pub names: Vec<String>,
    /// The path that a proxy puts before ours; empty, or such as `/jackfield`.
    pub base_path: String,
    /// What an interactive CLI shows here, if the host is its editor.
    pub editor: Option<Board>,
    /// What understands speech.
    pub speech: Dictating,
}

impl Listen {
    /// On a loopback address, under no other name.
    pub fn new(address: SocketAddr, folder: impl Into<PathBuf>) -> Self {
        let (names, base_path) = (Vec::new(), String::new());
        Self {
            address,
            folder: folder.into(),
            transport: Transport::Plain,
            names,
            base_path,
            editor: None,
            speech: Dictating::default(),
        }
    }
}

/// Why a server could not begin.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address can be reached from other machines, and everybody between could read what is said.
    #[error("cannot listen on {0} without TLS: other machines can reach it")]
    NotLoopback(SocketAddr),
    /// There is no TLS.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// A name makes no sense.
    #[error(transparent)]
    Name(#[from] NoName),
    /// The base path makes no sense.
    #[error(transparent)]
    BasePath(#[from] NoBasePath),
    /// The address is not to be had.
    #[error("cannot listen on {address}: {source}")]
    Address {
        /// The address.
        address: SocketAddr,
        /// The reason.
        source: io::Error,
    },
    /// The Unix socket is not to be had.
    #[error("cannot listen on `{}`: {source}", path.display())]
    Socket {
        /// The socket.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// Access could not be set up.
    #[error(transparent)]
    Access(#[from] OpenError),
}

/// Serves a host until it is stopped.
pub async fn serve(host: Host, listen: Listen) -> Result<Serving, ServeError> {
    if listen.transport == Transport::Plain && !listen.address.ip().is_loopback() {
        return Err(ServeError::NotLoopback(listen.address));
    }
    let scheme = match listen.transport {
        Transport::Plain | Transport::PlainBeyondLoopback => Scheme::Http,
        Transport::OwnCertificate | Transport::Certificate { .. } => Scheme::Https,
    };
    let refused = |source| ServeError::Address { address: listen.address, source };
    let network = TcpListener::bind(listen.address).await.map_err(refused)?;
    let address = network.local_addr().map_err(refused)?;
    let names = Names::new(address, scheme, &listen.names)?.below(&listen.base_path)?;
    let tls = tls(&listen.transport, &listen.folder, &names.bare())?;
    let access = Arc::new(Access::open(&listen.folder, names)?);
    let socket = listen.folder.join(SOCKET);
    let local = bind(&socket).map_err(|source| ServeError::Socket { path: socket.clone(), source })?;

    let (stopping, connections) = (CancellationToken::new(), TaskTracker::new());
    let server = Server { host, access, editor: listen.editor, speech: listen.speech, stopping, connections };
    let (acceptor, fingerprint) = tls.map(|tls| (tls.acceptor, tls.fingerprint)).unzip();
    let doorman =
        Doorman { router: router(&server), server: server.clone(), places: Arc::default(), acceptor };
    server.connections.spawn(doorman.clone().attend_network(network));
    server.connections.spawn(doorman.attend_local(local));
    Ok(Serving { address, socket, server, fingerprint })
}

/// A server at work.
#[derive(Debug)]
pub struct Serving {
    address: SocketAddr,
    socket: PathBuf,
    server: Server,
    fingerprint: Option<Fingerprint>,
}

impl Serving {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The page's address, without anything that lets somebody in.
    pub fn page(&self) -> String {
        self.server.access.gate.names().page()
    }

    /// What its certificate is known by; `None` without TLS.
    pub fn fingerprint(&self) -> Option<&Fingerprint> {
        self.fingerprint.as_ref()
    }

    /// A new one-time link to the page.
    pub fn link(&self) -> Result<String, NoSecret> {
        self.server.access.link(Scope::Admin, None)
    }

    /// Takes no more connections and ends those that are there; WebSockets are closed with code 1012. The host goes
    /// on.
    pub async fn stop(self) {
        self.server.stopping.cancel();
        // A new server may already listen there; then it is its own.
        let _ = fs::remove_file(&self.socket);
        self.server.connections.close();
        let _ = tokio::time::timeout(FAREWELL, self.server.connections.wait()).await;
    }
}

/// Binds a Unix socket for the owner alone. The host has the data folder locked, so what lies there is left over.
fn bind(path: &Path) -> io::Result<UnixListener> {
    // Nobody can connect before the permissions are right: only then it has its name.
    let new = path.with_extension("new");
    for stale in [&new, path] {
        match fs::remove_file(stale) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    let listener = UnixListener::bind(&new)?;
    fs::set_permissions(&new, Permissions::from_mode(0o600))?;
    fs::rename(&new, path)?;
    Ok(listener)
}

#[derive(Clone)]
struct Doorman {
    server: Server,
    router: Router,
    places: Arc<Places>,
    acceptor: Option<TlsAcceptor>,
}

impl Doorman {
    async fn attend_network(self, listener: TcpListener) {
        while let Some(accepted) = self.server.stopping.run_until_cancelled(listener.accept()).await {
            match accepted {
                Ok((stream, peer)) => {
                    // Frames are small and somebody waits for them.
                    let _ = stream.set_nodelay(true);
                    // Without an end of its own it has gone already.
                    let Ok(reached) = stream.local_addr() else { continue };
                    let ends = Ends { peer: peer.ip(), reached: reached.ip() };
                    self.greet_network(stream, Door::Network(ends));
                }
                Err(_) => breathe().await,
            }
        }
    }

    async fn attend_local(self, listener: UnixListener) {
        let own = rustix::process::geteuid().as_raw();
        while let Some(accepted) = self.server.stopping.run_until_cancelled(listener.accept()).await {
            match accepted {
                Ok((stream, _)) if stream.peer_cred().is_ok_and(|peer| peer.uid() == own) => {
                    self.greet(stream, Door::Local);
                }
                Ok(_) => {}
                Err(_) => breathe().await,
            }
        }
    }

    fn greet_network(&self, stream: TcpStream, door: Door) {
        let Some(acceptor) = self.acceptor.clone() else { return self.greet(stream, door) };
        if let Some(arrival) = self.places.take(door) {
            let doorman = self.clone();
            self.server.connections.spawn(async move {
                let shaken = tokio::time::timeout(HANDSHAKE, acceptor.accept(stream));
                if let Some(Ok(Ok(stream))) = doorman.server.stopping.run_until_cancelled(shaken).await {
                    doorman.attend(stream, arrival).await;
                }
            });
        }
    }

    fn greet(&self, stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static, door: Door) {
        // Without a place the connection is closed at once.
        if let Some(arrival) = self.places.take(door) {
            self.server.connections.spawn(self.clone().attend(stream, arrival));
        }
    }

    async fn attend(self, stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static, arrival: Arrival) {
        let Self { server, router, .. } = self;
        let service = {
            let (arrival, access) = (arrival.clone(), Arc::clone(&server.access));
            service_fn(move |request: Request<Incoming>| {
                let mut request = below(request.map(Body::new), &access.gate.names().base);
                request.extensions_mut().insert(arrival.clone());
                let mut router = router.clone();
                async move {
                    Ok::<_, Infallible>(router.call(request).await.unwrap_or_else(|never| match never {}))
                }
            })
        };
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIME)
            .max_buf_size(HEAD)
            .serve_connection(TokioIo::new(stream), service)
            .with_upgrades();
        let mut connection = pin!(connection);
        tokio::select! {
            _ = &mut connection => {}
            () = arrival.overstayed() => {}
            () = server.stopping.cancelled() => {
                connection.as_mut().graceful_shutdown();
                let _ = connection.await;
            }
        }
    }
}

/// After a failed `accept` (no file descriptors are left, say) trying at once again would only burn time.
async fn breathe() {
    tokio::time::sleep(Duration::from_millis(50)).await;
}
