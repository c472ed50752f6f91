//! Decodes standard input and prints how many lines were known, unknown and malformed.
//!
//! It is what the cost of decoding is counted on: `valgrind --tool=callgrind` over a release build,
//! divided by the number of lines.

use std::io::{Read as _, Write as _};

use jackfield_wire::{Inbound, Line, Lines, decode};

fn main() -> std::io::Result<()> {
    let mut lines = Lines::default();
    let mut chunk = vec![0; 64 * 1024];
    let (mut known, mut unknown, mut malformed) = (0_u64, 0_u64, 0_u64);
    let mut count = |line: Line<'_>| match line {
        Line::Whole(bytes) => match decode(bytes).message {
            Inbound::Unknown(_) => unknown += 1,
            Inbound::Malformed(_) => malformed += 1,
            _ => known += 1,
        },
        Line::TooLong { .. } => malformed += 1,
    };
    let mut input = std::io::stdin().lock();
    loop {
        let length = input.read(&mut chunk)?;
        if length == 0 {
            break;
        }
        lines.feed(&chunk[..length], &mut count);
    }
    lines.finish(&mut count);
    writeln!(std::io::stdout(), "{known} known, {unknown} unknown, {malformed} malformed")
}
