//! A promise that was not kept, in words.
//!
//! The one rule it keeps: whatever goes wrong in the chaos run is one; nothing is only logged.

use std::fmt::Display;

/// A promise that was not kept.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Violation(String);

/// What was found to be as promised.
pub(super) type Checked<T = ()> = Result<T, Violation>;

impl Violation {
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// With what it is about.
    pub(super) fn of(self, what: impl Display) -> Self {
        Self(format!("{what}: {}", self.0))
    }
}

/// What could not be done, although nothing should have stood in its way.
pub(super) fn cannot<E: Display>(doing: &str) -> impl FnOnce(E) -> Violation {
    let doing = doing.to_owned();
    move |error| Violation(format!("cannot {doing}: {error}"))
}

/// A violation unless this holds.
pub(super) fn holds(condition: bool, otherwise: impl FnOnce() -> String) -> Checked {
    if condition { Ok(()) } else { Err(Violation(otherwise())) }
}
