//! The lines themselves, for those who want them beside the events.

/// A line of the CLI's stream, as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RawLine {
    /// Which way it went.
    pub direction: Direction,
    /// The line, without its newline.
    pub text: String,
}

/// Which way a line went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the CLI to us.
    FromCli,
    /// From us to the CLI.
    ToCli,
}
