//! How the tested engine comes to this machine: one package from PyPI, by the user's own `pip`.
//!
//! It talks to nobody itself. The one rule it keeps: what is in its place is what was tested, by its digest, and whole.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest as _, Sha256};

/// The package.
pub const PACKAGE: &str = "moonshine-voice";
/// Its version: later ones come without a model.
pub const VERSION: &str = "0.0.73";

/// The digests of the package for each kind of machine.
const DIGESTS: [(&str, &str); 4] = [
    ("manylinux_2_34_x86_64", "6461c8097ed78d054c46b4c821143008a07b5fa1f4169674493ccfa06c1407db"),
    ("manylinux_2_34_aarch64", "c56de7614b18bbc65d8f4f2cb7432d8a258311aef38a49e9e16c8d06df8085f0"),
    ("manylinux_2_31_aarch64", "d01e1343bfeb436a59f7d8562566d4b2f2a526297328d776a13d1544887aec61"),
    ("macosx_15_0_arm64", "fb4c81f2fa96674d336530bc1cf2f86b6a4fc8b3c02e138a7a5c768c283f8bc7"),
];

/// What of the package is of no use here: the half for Python, speaking, and sound to try it with.
const UNUSED: [&str; 3] = [".py", ".wav", ".tsv"];

/// Why nothing was fetched.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// There is no Python.
    #[error("cannot run `{program}`: {source}")]
    NoPython {
        /// What was tried.
        program: String,
        /// The reason.
        source: io::Error,
    },
    /// It failed.
    #[error("`{doing}` failed: {said}")]
    Failed {
        /// What was run.
        doing: String,
        /// The last of what it said.
        said: String,
    },
    /// Something else was fetched.
    #[error("`pip` brought {file}, whose digest {digest} is none of those that were tested")]
    Digest {
        /// The file.
        file: String,
        /// Its digest.
        digest: String,
    },
    /// A file could not be written.
    #[error("cannot {doing}: {source}")]
    File {
        /// What was being done.
        doing: String,
        /// The reason.
        source: io::Error,
    },
}

impl FetchError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NoPython { .. } => "install Python 3 with `pip`, then try again",
            Self::Failed { .. } => {
                "`pip` must reach a package index, and the machine must be one of Linux on x86-64 or ARM, or macOS 15 on ARM"
            }
            Self::Digest { .. } => {
                "your package index has another file under this name; nothing of it was kept"
            }
            Self::File { .. } => "the data folder must be yours and writable, with 150 MB of free space",
        }
    }
}

/// Where the engine is, in the folder of fetched engines.
pub fn place(folder: &Path) -> PathBuf {
    folder.join(format!("moonshine-{VERSION}"))
}

/// Its library.
pub fn library(place: &Path) -> PathBuf {
    let name = if cfg!(target_os = "macos") { "libmoonshine.dylib" } else { "libmoonshine.so" };
    place.join("moonshine_voice").join(name)
}

/// Its model.
pub fn model(place: &Path) -> PathBuf {
    place.join("moonshine_voice").join("assets").join("tiny-en")
}

/// Fetches the engine into the folder; what was there is replaced.
pub fn fetch(folder: &Path) -> Result<PathBuf, FetchError> {
    fs::create_dir_all(folder).map_err(file(format!("make {}", folder.display())))?;
    // Beside its final place, so that the last step is a rename inside one file system.
    let work = tempfile::Builder::new()
        .prefix(".fetching-")
        .tempdir_in(folder)
        .map_err(file(format!("make a folder in {}", folder.display())))?;
    let (wheels, unpacked) = (work.path().join("package"), work.path().join("unpacked"));
    python(|python| {
        python.args(["-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--dest"]);
        python.arg(&wheels).arg(format!("{PACKAGE}=={VERSION}"));
    })?;
    let wheel = only_file(&wheels).map_err(file("find what `pip` brought".to_owned()))?;
    check(&wheel)?;
    python(|python| {
        python.args(["-m", "zipfile", "-e"]).arg(&wheel).arg(&unpacked);
    })?;
    thin(&unpacked).map_err(file("take away what is of no use".to_owned()))?;
    let place = place(folder);
    if place.exists() {
        fs::remove_dir_all(&place).map_err(file(format!("remove {}", place.display())))?;
    }
    fs::rename(&unpacked, &place).map_err(file(format!("move the engine to {}", place.display())))?;
    Ok(place)
}

fn python(words: impl FnOnce(&mut Command)) -> Result<(), FetchError> {
    let mut command = Command::new("python3");
    words(&mut command);
    let output =
        command.output().map_err(|source| FetchError::NoPython { program: "python3".to_owned(), source })?;
    if output.status.success() {
        return Ok(());
    }
    let words: Vec<_> = command.get_args().take(3).map(|word| word.to_string_lossy().into_owned()).collect();
    let said = String::from_utf8_lossy(&output.stderr);
    let said =
        said.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("it says nothing").to_owned();
    Err(FetchError::Failed { doing: format!("python3 {}", words.join(" ")), said })
}

fn check(wheel: &Path) -> Result<(), FetchError> {
    let mut reader = fs::File::open(wheel).map_err(file(format!("read {}", wheel.display())))?;
    let mut digest = Sha256::new();
    io::copy(&mut reader, &mut Hashing(&mut digest)).map_err(file(format!("read {}", wheel.display())))?;
    let digest = digest.finalize().iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"));
    if DIGESTS.iter().any(|(_, known)| *known == digest) {
        return Ok(());
    }
    let name = wheel.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Err(FetchError::Digest { file: name, digest })
}

struct Hashing<'a>(&'a mut Sha256);

impl io::Write for Hashing<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn only_file(folder: &Path) -> io::Result<PathBuf> {
    match fs::read_dir(folder)?.next() {
        Some(entry) => Ok(entry?.path()),
        None => Err(io::ErrorKind::NotFound.into()),
    }
}

fn thin(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            thin(&path)?;
        } else if UNUSED.iter().any(|ending| path.to_string_lossy().ends_with(ending)) {
            fs::remove_file(path)?;
        }
    }
    Ok(())
}

fn file(doing: String) -> impl FnOnce(io::Error) -> FetchError {
    move |source| FetchError::File { doing, source }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn something_else_is_not_kept() {
        let folder = tempfile::tempdir().unwrap();
        let wheel = folder.path().join("other.whl");
        fs::write(&wheel, "something else").unwrap();
        let error = check(&wheel).unwrap_err();
        assert!(matches!(&error, FetchError::Digest { file, .. } if file == "other.whl"), "{error}");
    }

    #[test]
    fn only_what_is_of_use_stays() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("moonshine_voice");
        fs::create_dir(&inner).unwrap();
        for name in ["libmoonshine.so", "tts.py", "two_cities.wav", "cached_embeddings.tsv", "LICENSE"] {
            fs::write(inner.join(name), "").unwrap();
        }
        thin(folder.path()).unwrap();
        let mut left: Vec<_> = fs::read_dir(inner)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        assert_eq!(left, ["LICENSE", "libmoonshine.so"]);
    }
}
