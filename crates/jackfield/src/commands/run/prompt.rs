//! What is said: the argument, standard input, or both.
//!
//! The one rule it keeps: a prompt that was given never waits for input that nobody sends.

use std::io::{self, IsTerminal, Read};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use super::RunFailure;

/// How much may be said at once.
const LONGEST: u64 = 8 * 1024 * 1024;
/// How long piped input may take to begin when there is an argument too.
const PATIENCE: Duration = Duration::from_secs(3);

/// What is said, and what there is to remark about it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) text: String,
    pub(super) remark: Option<String>,
}

/// Puts the prompt together.
pub(super) fn read(argument: Option<&str>) -> Result<Said, RunFailure> {
    let stdin = io::stdin();
    let argument = argument.filter(|text| *text != "-");
    let (piped, remark) = match argument {
        None if stdin.is_terminal() => return Err(RunFailure::NoPrompt),
        None => (all(stdin)?, None),
        Some(_) if stdin.is_terminal() => (String::new(), None),
        Some(_) => soon()?,
    };
    let text = join(argument.unwrap_or_default(), &piped);
    if text.is_empty() { Err(RunFailure::NoPrompt) } else { Ok(Said { text, remark }) }
}

fn join(argument: &str, piped: &str) -> String {
    let parts = [argument.trim_end(), piped.trim_end()].into_iter().filter(|part| !part.trim().is_empty());
    parts.collect::<Vec<_>>().join("\n\n")
}

fn all(from: impl Read) -> Result<String, RunFailure> {
    let mut bytes = Vec::new();
    from.take(LONGEST + 1).read_to_end(&mut bytes).map_err(RunFailure::Stdin)?;
    if bytes.len() as u64 > LONGEST {
        return Err(RunFailure::PromptTooLong { most: LONGEST / 1024 / 1024 });
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Piped input, if it begins soon: many programs leave a pipe open in which nothing ever comes.
fn soon() -> Result<(String, Option<String>), RunFailure> {
    let (begun, begins) = mpsc::channel();
    let (done, ends) = mpsc::channel();
    thread::spawn(move || {
        let mut stdin = io::stdin();
        let mut first = [0];
        let read = stdin.read(&mut first);
        // If nobody waits any more, it was too late.
        let _ = begun.send(());
        let _ = done.send(match read {
            Ok(0) => Ok(String::new()),
            Ok(_) => all((&first[..]).chain(stdin)),
            Err(error) => Err(RunFailure::Stdin(error)),
        });
    });
    if begins.recv_timeout(PATIENCE).is_err() {
        let remark =
            "nothing came on standard input; the prompt goes without it (`< /dev/null` says so at once)";
        return Ok((String::new(), Some(remark.to_owned())));
    }
    // The thread always sends.
    Ok((ends.recv().unwrap_or_else(|_| Ok(String::new()))?, None))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn what_is_piped_in_stands_behind_the_argument() {
        assert_eq!(join("explain this", "fn main() {}\n"), "explain this\n\nfn main() {}");
        assert_eq!(join("", "  indented\n\n"), "  indented");
        assert_eq!(join("alone\n", " \n"), "alone");
        assert_eq!(join(" ", "\n"), "");
    }

    #[test]
    fn a_prompt_has_a_longest_length() {
        let most = usize::try_from(LONGEST).unwrap();
        assert_eq!(all(&vec![b'a'; most][..]).unwrap().len(), most);
        assert!(matches!(all(&vec![b'a'; most + 1][..]), Err(RunFailure::PromptTooLong { most: 8 })));
    }
}
