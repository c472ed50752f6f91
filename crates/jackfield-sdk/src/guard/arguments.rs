//! The guard's command line.
//!
//! Not the program's: what comes after `--` is passed on as it is. The one rule it keeps: a word that is not
//! understood is a failure before anything is started.

use std::ffi::OsString;

use crate::guard::Failure;
use crate::tree::ProcessId;

/// What the guard was told.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Arguments {
    /// The process whose end is the end of the run; the parent, if none is named.
    pub(super) host: Option<ProcessId>,
    pub(super) program: OsString,
    pub(super) arguments: Vec<OsString>,
}

impl Arguments {
    pub(super) fn read(words: impl IntoIterator<Item = OsString>) -> Result<Self, Failure> {
        let mut words = words.into_iter();
        let mut host = None;
        loop {
            let word = words.next().ok_or(Failure::Arguments("there is no `--` and no program"))?;
            match word.to_str() {
                Some("--") => break,
                Some("--host") => {
                    let id = words.next().and_then(|id| id.to_str()?.parse().ok());
                    host = Some(ProcessId(id.ok_or(Failure::Arguments("`--host` needs a process id"))?));
                }
                _ => return Err(Failure::Arguments("only `--host ID` may come before `--`")),
            }
        }
        let program = words.next().ok_or(Failure::Arguments("there is no program after `--`"))?;
        Ok(Self { host, program, arguments: words.collect() })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::*;

    fn read(words: &[&str]) -> Result<Arguments, Failure> {
        Arguments::read(words.iter().map(OsString::from))
    }

    #[test]
    fn what_comes_after_the_dashes_is_the_program_s() {
        let read = read(&["--host", "7", "--", "claude", "--", "--host", "x"]).unwrap();
        let arguments = ["--", "--host", "x"].map(OsString::from).to_vec();
        assert_eq!(read, Arguments { host: Some(ProcessId(7)), program: "claude".into(), arguments });
    }

    #[test]
    fn a_command_line_that_is_not_understood_starts_nothing() {
        for words in [&[][..], &["--"], &["claude"], &["--host", "--", "claude"], &["--hots", "7", "--", "a"]]
        {
            assert!(matches!(read(words), Err(Failure::Arguments(_))), "{words:?}");
        }
    }
}
