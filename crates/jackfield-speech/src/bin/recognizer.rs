//! The recogniser's process as a program of its own, for programs that have no place for it, and for tests.

use std::process::ExitCode;

fn main() -> ExitCode {
    jackfield_speech::recognizer_process(&std::env::args().nth(1).unwrap_or_default())
}
