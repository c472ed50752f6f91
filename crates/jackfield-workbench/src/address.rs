//! Which file an address means that somebody else has written: the model, another editor.
//!
//! Whether it may be touched is not asked here. The one rule it keeps: a file that is there under the very name that was
//! written is the one that is meant.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;

use percent_encoding::percent_decode_str;

/// The file of a path or a `file://` address. The CLI writes paths into addresses as they are, most editors with percent
/// signs.
pub fn file_of(written: &str) -> PathBuf {
    let Some(path) = written.strip_prefix("file://") else { return PathBuf::from(written) };
    let literal = PathBuf::from(path);
    if literal.exists() {
        return literal;
    }
    let decoded = PathBuf::from(OsString::from_vec(percent_decode_str(path).collect()));
    if decoded.exists() { decoded } else { literal }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::fs;

    use super::*;

    #[test]
    fn an_address_means_the_file_that_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let there = folder.path().join("a ä.py");
        fs::write(&there, "").unwrap();
        let url = |name: &str| format!("file://{}/{name}", folder.path().display());
        for written in [url("a ä.py"), url("a%20%C3%A4.py"), url("a%20ä.py"), there.display().to_string()] {
            assert_eq!(file_of(&written), there, "{written}");
        }
        let odd = folder.path().join("b%20c.py");
        fs::write(&odd, "").unwrap();
        assert_eq!(file_of(&url("b%20c.py")), odd);
        assert_eq!(file_of(&url("new%20file.py")), folder.path().join("new%20file.py"));
        assert_eq!(file_of("src/a.py"), PathBuf::from("src/a.py"));
    }
}
