//! A session to take away: Markdown for people, JSON for programs.
//!
//! Pure but for the writer that is given. Items are written one by one, so a session of any length passes
//! through without being held; whoever reads the items from a store in parts uses [`Export`], whoever has them
//! in hand [`markdown`] and [`json`].
//!
//! The one rule it keeps: every word leaves through [`redact`](mod@crate::redact).

mod document;
mod item;
mod words;

use std::io::{self, Write};

use jackfield_api::host::SessionSummary;
use jackfield_api::snapshot::Item;

use crate::redact::redact;

/// Version of the JSON export; raised when a reader could notice a difference.
pub const VERSION: u32 = 1;

/// What an export looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    /// For people.
    Markdown,
    /// For programs: `{"version": 1, "session": …, "items": […]}`.
    Json,
}

/// An export that is being written. It is whole only after [`Export::finish`].
#[derive(Debug)]
pub struct Export<W> {
    to: W,
    format: ExportFormat,
    /// How many items were written.
    items: u64,
}

impl<W: Write> Export<W> {
    /// Writes what stands before the items.
    pub fn begin(format: ExportFormat, session: &SessionSummary, mut to: W) -> io::Result<Self> {
        match format {
            ExportFormat::Markdown => document::heading(session, &mut to)?,
            ExportFormat::Json => {
                let session = serde_json::to_string(session).map_err(io::Error::other)?;
                write!(to, "{{\"version\":{VERSION},\"session\":{},\"items\":[", redact(&session))?;
            }
        }
        Ok(Self { to, format, items: 0 })
    }

    /// Writes one item. Items come in the order in which they began.
    pub fn item(&mut self, item: &Item) -> io::Result<()> {
        match self.format {
            ExportFormat::Markdown => item::write(item, &mut self.to)?,
            ExportFormat::Json => {
                let comma = if self.items == 0 { "" } else { "," };
                let item = serde_json::to_string(item).map_err(io::Error::other)?;
                write!(self.to, "{comma}\n{}", redact(&item))?;
            }
        }
        self.items += 1;
        Ok(())
    }

    /// Writes what stands behind the items, and gives the writer back.
    pub fn finish(mut self) -> io::Result<W> {
        match self.format {
            ExportFormat::Markdown => {}
            ExportFormat::Json => self.to.write_all(b"\n]}\n")?,
        }
        self.to.flush()?;
        Ok(self.to)
    }
}

/// Writes a session as Markdown.
pub fn markdown(
    session: &SessionSummary,
    items: impl IntoIterator<Item = Item>,
    to: impl Write,
) -> io::Result<()> {
    write(ExportFormat::Markdown, session, items, to)
}

/// Writes a session as JSON.
pub fn json(
    session: &SessionSummary,
    items: impl IntoIterator<Item = Item>,
    to: impl Write,
) -> io::Result<()> {
    write(ExportFormat::Json, session, items, to)
}

fn write(
    format: ExportFormat,
    session: &SessionSummary,
    items: impl IntoIterator<Item = Item>,
    to: impl Write,
) -> io::Result<()> {
    let mut export = Export::begin(format, session, to)?;
    for item in items {
        export.item(&item)?;
    }
    export.finish().map(drop)
}
