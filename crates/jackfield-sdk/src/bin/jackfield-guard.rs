//! The [guard](jackfield_sdk::guard) as a program of its own, for hosts that do not carry it themselves.

use std::process::ExitCode;

fn main() -> ExitCode {
    jackfield_sdk::guard::run(std::env::args_os().skip(1))
}
