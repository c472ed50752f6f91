//! A WebSocket of the load: the least that reads the server's frames.
//!
//! It checks nothing that does not concern a measurement, because every cycle it takes is missing on two cores that
//! the server needs too. The one rule it keeps: a frame is looked at where it was received, and never copied.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use jackfield_api::socket::{ClientFrame, ClientHello};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::load::LoadError;

/// Where the server is, and what lets a program in.
#[derive(Debug, Clone)]
pub(super) struct Door {
    pub(super) address: SocketAddr,
    token: String,
}

impl Door {
    /// The door of the server on a data folder.
    pub(super) fn new(address: SocketAddr, data: &Path) -> Result<Self, LoadError> {
        let token = fs::read_to_string(data.join("token"))?.trim().to_owned();
        Ok(Self { address, token })
    }
}

/// A connection that has said hello.
#[derive(Debug)]
pub(super) struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
    begun: usize,
    filled: usize,
}

/// How much is read at once, at first.
const BUFFER: usize = 16 * 1024;
const TEXT: u8 = 1;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;

impl Connection {
    /// Connects, and says hello.
    pub(super) async fn open(door: &Door) -> Result<Self, LoadError> {
        let stream = TcpStream::connect(door.address).await?;
        stream.set_nodelay(true)?;
        let mut connection = Self { stream, buffer: vec![0; BUFFER], begun: 0, filled: 0 };
        let Door { address, token } = door;
        let request = format!(
            "GET /api/socket HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\nConnection: Upgrade\r\n\
             Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
        );
        connection.stream.write_all(request.as_bytes()).await?;
        connection.skip_head().await?;
        let hello = ClientHello { version: jackfield_api::VERSION, client: "load".to_owned(), key: None };
        connection.say(&ClientFrame::Hello(hello)).await?;
        connection.next().await?;
        Ok(connection)
    }

    async fn skip_head(&mut self) -> Result<(), LoadError> {
        loop {
            self.fill().await?;
            let head = &self.buffer[..self.filled];
            if let Some(end) = memchr::memmem::find(head, b"\r\n\r\n") {
                if !head.starts_with(b"HTTP/1.1 101") {
                    return Err(LoadError::Unexpected(String::from_utf8_lossy(head).into_owned()));
                }
                self.begun = end + 4;
                return Ok(());
            }
        }
    }

    /// Sends a frame.
    pub(super) async fn say(&mut self, frame: &ClientFrame) -> Result<(), LoadError> {
        let text = serde_json::to_vec(frame)?;
        self.send(TEXT, &text).await
    }

    async fn send(&mut self, kind: u8, content: &[u8]) -> Result<(), LoadError> {
        // A mask of zeros is a mask, and leaves everything as it is.
        let mut frame = vec![0x80 | kind];
        match u8::try_from(content.len()) {
            Ok(length) if length < 126 => frame.push(0x80 | length),
            _ => {
                let length = u16::try_from(content.len())
                    .map_err(|_| LoadError::Unexpected("a long frame of our own".to_owned()))?;
                frame.push(0x80 | 0x7e);
                frame.extend(length.to_be_bytes());
            }
        }
        frame.extend([0; 4]);
        frame.extend_from_slice(content);
        Ok(self.stream.write_all(&frame).await?)
    }

    /// The next text.
    pub(super) async fn next(&mut self) -> Result<&[u8], LoadError> {
        loop {
            let (kind, start, end) = self.frame().await?;
            self.begun = end;
            match kind {
                TEXT => return Ok(&self.buffer[start..end]),
                PING => self.send(PONG, &[]).await?,
                CLOSE => {
                    let reason = String::from_utf8_lossy(&self.buffer[start..end]).into_owned();
                    return Err(LoadError::Unexpected(format!("the server closed: {reason}")));
                }
                _ => {}
            }
        }
    }

    /// A whole frame: what it is, and where its content is.
    async fn frame(&mut self) -> Result<(u8, usize, usize), LoadError> {
        loop {
            let had = &self.buffer[self.begun..self.filled];
            if let Some((head, length)) = lengths(had)
                && head + length <= had.len()
            {
                let start = self.begun + head;
                return Ok((had[0] & 0x0f, start, start + length));
            }
            self.fill().await?;
        }
    }

    async fn fill(&mut self) -> Result<(), LoadError> {
        if self.begun == self.filled {
            (self.begun, self.filled) = (0, 0);
        }
        if self.filled == self.buffer.len() {
            self.buffer.copy_within(self.begun..self.filled, 0);
            (self.begun, self.filled) = (0, self.filled - self.begun);
            if self.filled * 2 > self.buffer.len() {
                self.buffer.resize(self.buffer.len() * 2, 0);
            }
        }
        match self.stream.read(&mut self.buffer[self.filled..]).await? {
            0 => Err(LoadError::Unexpected("the server has gone".to_owned())),
            read => {
                self.filled += read;
                Ok(())
            }
        }
    }
}

/// How long the head of a frame is, and its content; none if the head is not all there yet.
fn lengths(frame: &[u8]) -> Option<(usize, usize)> {
    match frame.get(1)? & 0x7f {
        126 => Some((4, usize::from(u16::from_be_bytes(frame.get(2..4)?.try_into().ok()?)))),
        127 => Some((10, usize::try_from(u64::from_be_bytes(frame.get(2..10)?.try_into().ok()?)).ok()?)),
        length => Some((2, usize::from(length))),
    }
}
