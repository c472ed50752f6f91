//! Where a command reads from: a file or standard input, in chunks.
//!
//! Not a splitter of lines. The one rule: an error says which of the two it was.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::failure::Failure;

/// How much is read at once.
const CHUNK: usize = 128 * 1024;

/// An open file, or standard input.
pub(crate) struct Source {
    from: Box<dyn Read>,
    /// The file's name; None for standard input.
    path: Option<String>,
    chunk: Vec<u8>,
}

impl Source {
    /// No path, or `-`, is standard input.
    pub(crate) fn open(path: Option<&Path>) -> Result<Self, Failure> {
        let chunk = vec![0; CHUNK];
        let Some(path) = path.filter(|path| path.as_os_str() != "-") else {
            return Ok(Self { from: Box::new(io::stdin().lock()), path: None, chunk });
        };
        let name = path.display().to_string();
        match File::open(path) {
            Ok(file) => Ok(Self { from: Box::new(file), path: Some(name), chunk }),
            Err(source) => Err(Failure::Input { path: name, source }),
        }
    }

    /// The next bytes; None at the end.
    pub(crate) fn next(&mut self) -> Result<Option<&[u8]>, Failure> {
        loop {
            match self.from.read(&mut self.chunk) {
                Ok(0) => return Ok(None),
                Ok(read) => return Ok(Some(&self.chunk[..read])),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => {
                    return Err(match &self.path {
                        Some(path) => Failure::Input { path: path.clone(), source },
                        None => Failure::Stdin(source),
                    });
                }
            }
        }
    }

    /// What it is called in a message.
    pub(crate) fn name(&self) -> String {
        self.path.clone().unwrap_or_else(|| "-".to_owned())
    }
}
