//! Our values as columns, and back. SQLite's integers have a sign, ours have none; everything else is JSON.

use jackfield_api::{Seq, SessionId, Timestamp};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::store::error::{Fault, StoreError};

/// A number as SQLite keeps it. None of ours comes near the end of its range.
pub(super) fn integer(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// And back; what is negative was not written by us.
pub(super) fn number(integer: i64) -> u64 {
    u64::try_from(integer).unwrap_or(0)
}

pub(super) fn seq(integer: i64) -> Seq {
    Seq(number(integer))
}

pub(super) fn time(integer: i64) -> Timestamp {
    Timestamp(number(integer))
}

/// A value as JSON.
pub(super) fn json<T: Serialize + ?Sized>(what: &'static str, value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|source| StoreError::Convert { what, source })
}

/// A value of one session from JSON.
pub(super) fn read<T: DeserializeOwned>(
    session: &SessionId,
    what: &'static str,
    json: &str,
) -> Result<T, Fault> {
    serde_json::from_str(json).map_err(|error| unreadable(session, what, &error).into())
}

pub(super) fn unreadable(
    session: &SessionId,
    what: &'static str,
    reason: &dyn std::fmt::Display,
) -> StoreError {
    StoreError::Unreadable { session: session.clone(), what, reason: reason.to_string() }
}
