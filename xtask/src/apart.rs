//! Debian packages taken apart into a folder: programs for tests, without root and without installing anything.
//!
//! It talks to no registry itself: `apt-get` does, whatever it is configured for. The one rule it keeps: nothing of the
//! machine changes, and nothing that a package would do when it is installed is done.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::{self, ProcessError};

/// Why packages could not be had.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ApartError {
    /// A program failed.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// A file could not be written.
    #[error("cannot {doing}: {source}")]
    File {
        /// What was being done.
        doing: String,
        /// The reason.
        source: io::Error,
    },
    /// Nothing says where Debian is.
    #[error("`apt-get` knows no place with Debian's packages")]
    NoDebian,
}

/// Which Debian.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Release {
    /// The machine's own.
    Own,
    /// An earlier one, by its name.
    Named(&'static str),
}

/// Fetches packages and takes them apart into a folder.
pub(crate) fn take(release: Release, packages: &[&str], into: &Path) -> Result<(), ApartError> {
    let work = into.with_extension("work");
    for folder in ["apt/lists/partial", "apt/archives/partial", "packages"] {
        let folder = work.join(folder);
        fs::create_dir_all(&folder).map_err(file(format!("make {}", folder.display())))?;
    }
    let sources = work.join("sources.list");
    fs::write(&sources, source(release)?).map_err(file(format!("write {}", sources.display())))?;
    let apt = |words: &[&str]| {
        let mut apt = Command::new("apt-get");
        for (name, value) in [
            ("Dir::Etc::SourceList", sources.clone()),
            ("Dir::Etc::SourceParts", "-".into()),
            ("Dir::State::Lists", work.join("apt/lists")),
            // What is installed here does not matter.
            ("Dir::State::status", "/dev/null".into()),
            ("Dir::Cache", work.join("apt")),
        ] {
            apt.arg("-o").arg(format!("{name}={}", value.display()));
        }
        // A private folder is not readable for the user that apt gives itself otherwise.
        apt.args(["-o", "APT::Sandbox::User=root", "-qq"]).args(words);
        process::run(apt.current_dir(work.join("packages")))
    };
    apt(&["update"])?;
    apt(&[&["download"], packages].concat())?;
    for package in files(&work.join("packages"), "deb")? {
        process::run(Command::new("dpkg").arg("-x").arg(package).arg(into))?;
    }
    fs::remove_dir_all(&work).map_err(file(format!("remove {}", work.display())))
}

/// Every file of a folder with this extension.
pub(crate) fn files(folder: &Path, extension: &str) -> Result<Vec<PathBuf>, ApartError> {
    let reading = || file(format!("read {}", folder.display()));
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(reading())? {
        let path = entry.map_err(reading())?.path();
        if path.extension().is_some_and(|known| known == extension) {
            found.push(path);
        }
    }
    Ok(found)
}

/// The error of a file that could not be written.
pub(crate) fn file(doing: impl Into<String>) -> impl FnOnce(io::Error) -> ApartError {
    let doing = doing.into();
    move |source| ApartError::File { doing, source }
}

/// Where this machine has its Debian packages from, as a line of a list of sources.
fn source(release: Release) -> Result<String, ApartError> {
    let mut ask = Command::new("apt-get");
    ask.args(["indextargets", "--format", "$(ORIGIN) $(CODENAME) $(REPO_URI)", "Created-By: Packages"]);
    let said = process::capture(&mut ask)?;
    let mut places = said.lines().filter_map(|line| line.strip_prefix("Debian ")?.trim().split_once(' '));
    let place = places.find(|(name, _)| !name.contains('-'));
    let (own, place) = place.ok_or(ApartError::NoDebian)?;
    let name = match release {
        Release::Own => own,
        Release::Named(name) => name,
    };
    Ok(format!("deb {place} {name} main\n"))
}
