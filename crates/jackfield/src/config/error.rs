//! What can be wrong with a configuration, and where it stands.
//!
//! The one rule it keeps: an error names the place, the option, what was found and what is expected.

use std::fmt;
use std::io;
use std::path::PathBuf;

use serde::Serialize;
use thiserror::Error;

use super::table::{Setting, nearest};

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Place {
    /// Nobody said anything.
    Default,
    /// A line of a file.
    File { path: PathBuf, line: usize },
    /// A variable of the environment.
    Variable(&'static str),
    /// A word of the command line.
    Flag(&'static str),
}

/// Why a configuration cannot be used.
#[derive(Debug, Error)]
pub(crate) enum ConfigError {
    #[error("cannot read the configuration file `{}`: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("cannot read {place}: {reason}")]
    Syntax { place: Place, reason: String },
    #[error("there is no option `{key}` ({place}), the nearest is `{nearest}`")]
    Unknown { place: Place, key: String, nearest: &'static str },
    #[error("`{word}` is no option with a value ({place}), expected `OPTION=VALUE`")]
    NoValue { place: Place, word: String },
    #[error("`{key}` is {found} ({place}), expected {expected}")]
    Value { place: Place, key: &'static str, found: String, expected: String },
    #[error(
        "`claude.permission_mode` is `bypassPermissions` ({place}), which needs `claude.allow_bypass = true`"
    )]
    Bypass { place: Place },
    #[error("cannot tell where the data folder is: neither HOME nor XDG_DATA_HOME is set")]
    NoDataFolder,
    /// Only a mistake in the table of options leads here.
    #[error("cannot put the options together: {0}")]
    Table(String),
}

impl ConfigError {
    /// What to do next.
    pub(crate) fn hint(&self) -> &'static str {
        match self {
            Self::Unreadable { .. } => "`jackfield config --example` prints a file with every option",
            Self::NoDataFolder => "name one with `--data FOLDER`",
            _ => "`jackfield config --example` prints every option with its meaning",
        }
    }
}

impl Place {
    pub(crate) fn is_file(&self) -> bool {
        matches!(self, Self::File { .. })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => formatter.write_str("default"),
            Self::File { path, line } => write!(formatter, "{}, line {line}", path.display()),
            Self::Variable(name) | Self::Flag(name) => formatter.write_str(name),
        }
    }
}

/// The option of this name, or which one may have been meant.
pub(super) fn find(key: &str, place: impl FnOnce() -> Place) -> Result<&'static Setting, ConfigError> {
    Setting::find(key).ok_or_else(|| ConfigError::Unknown {
        place: place(),
        key: key.to_owned(),
        nearest: nearest(key),
    })
}
