//! A file that leads a browser to a one-time link.
//!
//! A command line is there for every user of a machine to read, and a link on it would be too. The one rule it
//! keeps: what is on the command line is a file's name, and the file is its owner's alone.

use std::io;
use std::path::{Path, PathBuf};

use crate::access::private_file;

/// Writes the file and tells its place. It is of no use once the link is.
pub fn doorstep(folder: &Path, link: &str) -> io::Result<PathBuf> {
    let path = folder.join("open.html");
    let page = format!(
        "<!doctype html>\n<meta charset=\"utf-8\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
         <meta http-equiv=\"refresh\" content=\"0; url={link}\">\n<title>Jackfield</title>\n"
    );
    private_file::write(&path, &page)?;
    Ok(path)
}
