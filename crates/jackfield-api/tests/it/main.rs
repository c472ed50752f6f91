//! The contract holds: what is written is read back, the fast encoder says what `serde` says, and every event is
//! what the published schema promises.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod commands;
mod events;
mod samples;
mod schema;
mod snapshots;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Writes a value, reads it back, and gives the text in between.
fn round_trip<T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(value: &T) -> String {
    let text = serde_json::to_string(value).unwrap();
    assert_eq!(&serde_json::from_str::<T>(&text).unwrap(), value, "{text}");
    text
}
