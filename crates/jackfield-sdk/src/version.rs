//! Versions of the CLI.
//!
//! Not a general version: three numbers, as `claude --version` prints them. The one rule it keeps: versions
//! are compared as numbers, never as text.

use std::fmt;
use std::str::FromStr;

/// The oldest CLI that is started: the one on which the recordings were made.
pub const MINIMUM_VERSION: Version = Version::new(2, 1, 197);

/// A version of the CLI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// The first number.
    pub major: u32,
    /// The second number.
    pub minor: u32,
    /// The third number.
    pub patch: u32,
}

/// A text in which no version was found.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot read a version from `{text}`")]
pub struct VersionError {
    /// The text.
    pub text: String,
}

impl Version {
    /// A version by its numbers.
    pub const fn new(major: u32, minor: u32, patch: u32) -> Self {
        Self { major, minor, patch }
    }
}

impl FromStr for Version {
    type Err = VersionError;

    /// Reads `2.1.197`, also with what the CLI or a pre-release puts behind it: `2.1.197 (Claude Code)`,
    /// `2.1.197-beta.1`.
    fn from_str(text: &str) -> Result<Self, VersionError> {
        let error = || VersionError { text: text.to_owned() };
        let number = |digits: Option<&str>| {
            let digits = digits.filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
            digits.and_then(|digits| digits.parse().ok()).ok_or_else(error)
        };
        let word = text.split_ascii_whitespace().next().unwrap_or_default();
        let released = word.split(['-', '+']).next().unwrap_or_default();
        let mut numbers = released.split('.');
        let version = Self::new(number(numbers.next())?, number(numbers.next())?, number(numbers.next())?);
        if numbers.next().is_some() { Err(error()) } else { Ok(version) }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn the_answer_of_the_cli_is_read() {
        assert_eq!("2.1.197 (Claude Code)\n".parse(), Ok(Version::new(2, 1, 197)));
        assert_eq!("2.1.325-beta.1+x".parse(), Ok(Version::new(2, 1, 325)));
    }

    #[test]
    fn other_texts_are_no_versions() {
        for text in ["", "claude", "2.1", "2.1.x", "v2.1.3", "2.1.3.4", "2.1.+3", "2.1.99999999999"] {
            assert_eq!(text.parse::<Version>(), Err(VersionError { text: text.to_owned() }), "{text}");
        }
    }

    #[test]
    fn versions_compare_as_numbers() {
        assert!("2.1.49".parse::<Version>().unwrap() < "2.1.197".parse().unwrap());
        assert!("2.9.0".parse::<Version>().unwrap() < "2.10.0".parse().unwrap());
    }
}
