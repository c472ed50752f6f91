//! Requests as bytes, so that they can be wrong in every way.

use std::fmt::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpSocket, UnixStream};
use tokio::time::timeout;

use crate::stage::PATIENCE;

/// An answer, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The code of a failure.
    pub(crate) fn code(&self) -> String {
        self.json()["error"]["code"].as_str().unwrap().to_owned()
    }
}

/// A request line by line; `host` and `connection` are not added by themselves.
pub(crate) fn request(line: &str, headers: &[(&str, &str)], body: &str) -> String {
    let mut text = format!("{line} HTTP/1.1\r\nconnection: close\r\n");
    for (name, value) in headers {
        let _ = write!(text, "{name}: {value}\r\n");
    }
    if !body.is_empty() {
        let _ = write!(text, "content-length: {}\r\n", body.len());
    }
    text + "\r\n" + body
}

/// Sends bytes, and reads the one answer to them. Each time from another address of this machine, so that what one
/// does wrong does not count for the next.
pub(crate) async fn ask(address: SocketAddr, request: impl AsRef<[u8]>) -> Answer {
    static NEXT: AtomicU32 = AtomicU32::new(0x7f01_0001);
    ask_from(NEXT.fetch_add(1, Ordering::Relaxed).into(), address, request).await
}

/// The same, from one address of this machine.
pub(crate) async fn ask_from(peer: Ipv4Addr, address: SocketAddr, request: impl AsRef<[u8]>) -> Answer {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((peer, 0).into()).unwrap();
    exchange(socket.connect(address).await.unwrap(), request.as_ref()).await
}

/// The same over a Unix socket.
pub(crate) async fn ask_local(path: &Path, request: impl AsRef<[u8]>) -> Answer {
    exchange(UnixStream::connect(path).await.unwrap(), request.as_ref()).await
}

/// The same over any connection.
pub(crate) async fn exchange(mut stream: impl AsyncRead + AsyncWrite + Unpin, request: &[u8]) -> Answer {
    let exchanged = async {
        // A server that refuses early may stop reading before everything is sent.
        let _ = stream.write_all(request).await;
        let mut answer = Vec::new();
        let mut chunk = vec![0; 16 * 1024];
        // The upgrade of a WebSocket keeps the connection open.
        while !answer.starts_with(b"HTTP/1.1 101") {
            match stream.read(&mut chunk).await {
                Ok(0) | Err(_) => break,
                Ok(read) => answer.extend_from_slice(&chunk[..read]),
            }
        }
        answer
    };
    let answer = String::from_utf8(timeout(PATIENCE, exchanged).await.unwrap()).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {answer:?}"));
    let mut lines = head.split("\r\n");
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let pair = |line: &str| {
        let (name, value) = line.split_once(':').unwrap();
        (name.to_ascii_lowercase(), value.trim().to_owned())
    };
    Answer { status, headers: lines.map(pair).collect(), body: body.to_owned() }
}
