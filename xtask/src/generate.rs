//! `cargo xtask gen`: the contract for clients in other languages, written from the Rust types.
//!
//! It writes `docs/schema/` and nothing else. The one rule it keeps: the same types give the same bytes, so
//! that `--check` and a reviewer see every change of the contract.

mod openapi;
mod schema;
mod typescript;

use std::fs;
use std::io;

use crate::workspace;

/// Why the generated files could not be written, or are not fresh.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GenerateError {
    /// The schema is not JSON.
    #[error("cannot write the schema as JSON: {0}")]
    Schema(#[from] serde_json::Error),
    /// A file could not be written.
    #[error("cannot write {path}: {source}")]
    Write {
        /// The file.
        path: &'static str,
        /// The reason.
        source: io::Error,
    },
    /// Files are not what the types say.
    #[error("stale: {}; run `cargo xtask gen`", .0.join(", "))]
    Stale(Vec<&'static str>),
}

/// Writes the files that are not fresh.
pub(crate) fn run() -> Result<(), GenerateError> {
    for (path, content) in files()? {
        let place = workspace::root().join(path);
        if fs::read_to_string(&place).is_ok_and(|written| written == content) {
            println!("{path}: fresh");
            continue;
        }
        let folder = place.parent().map_or(Ok(()), fs::create_dir_all);
        folder
            .and_then(|()| fs::write(&place, content))
            .map_err(|source| GenerateError::Write { path, source })?;
        println!("{path}: written");
    }
    Ok(())
}

/// Writes nothing; fails if a file is not fresh.
pub(crate) fn check() -> Result<(), GenerateError> {
    let stale = stale()?;
    if stale.is_empty() { Ok(()) } else { Err(GenerateError::Stale(stale)) }
}

/// The files that are not what the types say.
pub(crate) fn stale() -> Result<Vec<&'static str>, GenerateError> {
    let root = workspace::root();
    let fresh =
        |path: &str, content: &str| fs::read_to_string(root.join(path)).is_ok_and(|text| text == content);
    Ok(files()?.into_iter().filter(|(path, content)| !fresh(path, content)).map(|(path, _)| path).collect())
}

fn files() -> Result<[(&'static str, String); 3], GenerateError> {
    Ok([
        ("docs/schema/jackfield.schema.json", schema::document()?),
        ("docs/schema/jackfield.ts", typescript::module()),
        ("docs/schema/openapi.json", openapi::document()?),
    ])
}
