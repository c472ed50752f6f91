//! What stands at the top of an exported session.

use std::io::{self, Write};

use jackfield_api::host::SessionSummary;

use super::words::{code, date, dollars, line};

/// Writes the title and what is true of the whole session.
pub(super) fn heading(session: &SessionSummary, to: &mut impl Write) -> io::Result<()> {
    let title = line(&session.title);
    writeln!(to, "# {}\n", if title.is_empty() { "Session" } else { &title })?;
    writeln!(to, "- Folder: {}", code(&session.cwd))?;
    if let Some(model) = &session.model {
        writeln!(to, "- Model: {}", code(model))?;
    }
    writeln!(to, "- Begun: {}", date(session.created_at))?;
    writeln!(to, "- Last change: {}", date(session.updated_at))?;
    writeln!(to, "- Cost: {}", dollars(session.total_cost_usd))?;
    writeln!(to, "- Session: {}\n", code(session.session_id.as_str()))
}
