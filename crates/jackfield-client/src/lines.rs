//! All lines of a session's agent, as they come.
//!
//! Unlike events they cannot be asked for again. The one rule it keeps: a line that was lost on the way is an error,
//! never a silence.

use std::collections::VecDeque;
use std::io;

use http_body_util::BodyExt as _;
use jackfield_api::SessionId;
use jackfield_api::lines::FollowedLine;
use jackfield_host::LineFeed;

use crate::client::{Client, Way, of_session};
use crate::error::ClientError;
use crate::remote::{Answering, nonsense};

/// All lines of a session from a moment on.
#[derive(Debug)]
pub struct LineReader {
    from: Source,
    /// A line that is not whole yet.
    begun: Vec<u8>,
    whole: VecDeque<FollowedLine>,
}

#[derive(Debug)]
enum Source {
    Here(LineFeed),
    Running(Answering),
}

impl Client {
    /// All lines of a session from now on, whole and as they are.
    pub async fn follow_lines(&self, id: &SessionId) -> Result<LineReader, ClientError> {
        let from = match &self.way {
            Way::Here(host, _) => Source::Here(host.follow_lines(id).await?),
            Way::Running(remote) => {
                Source::Running(remote.answering(&of_session(id, "/lines/follow")).await?)
            }
        };
        Ok(LineReader { from, begun: Vec::new(), whole: VecDeque::new() })
    }
}

impl LineReader {
    /// The next line; `None` when nothing more can come. Cancel-safe.
    pub async fn next(&mut self) -> Option<Result<FollowedLine, ClientError>> {
        loop {
            if let Some(line) = self.whole.pop_front() {
                return Some(Ok(line));
            }
            match self.from.next().await? {
                Ok(bytes) => {
                    if let Err(error) = self.take(&bytes) {
                        return Some(Err(error));
                    }
                }
                Err(error) => return Some(Err(ClientError::LinesLost(error))),
            }
        }
    }

    fn take(&mut self, mut bytes: &[u8]) -> Result<(), ClientError> {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            self.begun.extend(&bytes[..end]);
            bytes = &bytes[end + 1..];
            let read = serde_json::from_slice(&self.begun);
            self.begun.clear();
            self.whole.push_back(read.map_err(|error| nonsense("lines", error.to_string()))?);
        }
        self.begun.extend(bytes);
        Ok(())
    }
}

impl Source {
    async fn next(&mut self) -> Option<io::Result<Vec<u8>>> {
        match self {
            Self::Here(feed) => feed.next().await,
            Self::Running(answering) => loop {
                match answering.body.frame().await? {
                    Ok(frame) => {
                        if let Ok(bytes) = frame.into_data() {
                            return Some(Ok(bytes.into()));
                        }
                    }
                    Err(error) => return Some(Err(io::Error::other(error))),
                }
            },
        }
    }
}
