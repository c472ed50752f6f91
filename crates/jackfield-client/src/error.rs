//! Why a host did not do what it was asked. The one rule it keeps: the same trouble is the same error, wherever the
//! host is.

use std::io;
use std::path::PathBuf;

use jackfield_api::VERSION;
use jackfield_api::command::{Rejection, RejectionCode};
use jackfield_host::store::StoreError;

/// Why a host did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// It said no.
    #[error("{}", .0.reason)]
    Rejected(Rejection),
    /// Something is wrong with the host itself.
    #[error("the host failed: {0}")]
    Failed(String),
    /// The running host is not there any more, or does not answer.
    #[error("cannot reach the running host at `{}`: {source}", path.display())]
    Unreachable {
        /// Its socket.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// Somebody else listens on the socket.
    #[error("what listens on `{}` belongs to another user", .0.display())]
    Stranger(PathBuf),
    /// The running host is of another version.
    #[error("the running host does not speak version {VERSION} of the contract: {0}")]
    OtherVersion(String),
    /// Lines of the agent did not come through.
    #[error("lines of the agent were lost: {0}")]
    LinesLost(#[source] io::Error),
    /// Its answer makes no sense.
    #[error("cannot understand the running host's answer to `{asked}`: {reason}")]
    Nonsense {
        /// What was asked.
        asked: String,
        /// What is wrong with the answer.
        reason: String,
    },
}

impl ClientError {
    /// The code of a rejection.
    pub fn code(&self) -> Option<RejectionCode> {
        match self {
            Self::Rejected(rejection) => Some(rejection.code),
            _ => None,
        }
    }
}

impl From<Rejection> for ClientError {
    fn from(rejection: Rejection) -> Self {
        Self::Rejected(rejection)
    }
}

impl From<StoreError> for ClientError {
    fn from(error: StoreError) -> Self {
        // As the server tells them.
        let code = match error {
            StoreError::NoSession(_) => RejectionCode::NotFound,
            StoreError::NoPlace(_) => RejectionCode::Invalid,
            StoreError::Closed => RejectionCode::NotNow,
            _ => return Self::Failed(error.to_string()),
        };
        Self::Rejected(Rejection { code, reason: error.to_string() })
    }
}
