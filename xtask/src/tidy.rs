//! `cargo xtask tidy`: what the house says of itself, checked.
//!
//! Each "does not know" in ARCHITECTURE.md is a check here, and so are the rules on prose, reasons and
//! generated files. It changes nothing. The one rule it keeps: all findings are told at once, each with its
//! place, what is wrong and what to do.

mod documents;
mod layering;
mod manifests;
mod pinned;
mod promises;
mod purity;
mod sources;

use std::fmt;
use std::fs;
use std::path::Path;

use crate::generate::{self, GenerateError};
use crate::workspace::{self, Metadata, WorkspaceError};

/// Why the checkout is not tidy, or could not be looked at.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TidyError {
    /// The checkout could not be listed.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// The generated files could not be made.
    #[error(transparent)]
    Generate(#[from] GenerateError),
    /// There is something to do.
    #[error("{0} findings")]
    Untidy(usize),
}

/// Looks at everything and prints what is wrong.
pub(crate) fn run() -> Result<(), TidyError> {
    let house = House::read()?;
    let mut findings = Vec::new();
    findings.extend(layering::check(&house));
    findings.extend(purity::check(&house));
    findings.extend(sources::prose(&house));
    findings.extend(sources::machine_paths(&house));
    findings.extend(sources::shells(&house));
    findings.extend(pinned::check(&house));
    findings.extend(manifests::check(&house));
    findings.extend(documents::architecture(&house));
    findings.extend(documents::continuous_integration(&house));
    findings.extend(promises::check(&house));
    for path in generate::stale()? {
        findings.push(Finding::new(path, 1, "stale: run `cargo xtask gen`"));
    }
    findings.sort();
    for finding in &findings {
        println!("{finding}");
    }
    if findings.is_empty() { Ok(()) } else { Err(TidyError::Untidy(findings.len())) }
}

/// What all checks look at.
struct House {
    metadata: Metadata,
    /// Every text file of the repository by its path.
    texts: Vec<(String, String)>,
}

impl House {
    fn read() -> Result<Self, WorkspaceError> {
        let root = workspace::root();
        let texts = workspace::files()?
            .into_iter()
            // Recordings are what the CLI wrote; nobody tidies them.
            .filter(|path| !path.starts_with("fixtures/"))
            // What is not UTF-8 is a picture or a font.
            .filter_map(|path| fs::read_to_string(root.join(&path)).ok().map(|text| (path, text)))
            .collect();
        Ok(Self { metadata: workspace::metadata()?, texts })
    }

    fn text(&self, path: &str) -> Option<&str> {
        self.texts.iter().find(|(name, _)| name == path).map(|(_, text)| &**text)
    }

    /// The Rust files below a folder.
    fn rust_below(&self, folder: &str) -> impl Iterator<Item = (&str, &str)> {
        let folder = format!("{folder}/");
        self.texts
            .iter()
            .filter(move |(path, _)| path.starts_with(&folder) && is_rust(path))
            .map(|(path, text)| (&**path, &**text))
    }
}

fn is_rust(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|extension| extension == "rs")
}

/// One thing that is wrong.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    path: String,
    line: usize,
    text: String,
}

impl Finding {
    fn new(path: &str, line: usize, text: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, text: text.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.text)
    }
}
