//! The terminal while the view has it.
//!
//! The one rule it keeps: it is given back as it was, also when the view falls over.

use std::io::{self, stdout};

use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use ratatui::crossterm::execute;

/// The terminal, ours until it is given back.
pub(super) struct Screen {
    pub(super) terminal: DefaultTerminal,
    is_ours: bool,
}

impl Screen {
    /// Takes the terminal.
    pub(super) fn take() -> io::Result<Self> {
        let terminal = ratatui::try_init().inspect_err(|_| {
            // What was changed of it before it failed.
            let _ = ratatui::try_restore();
        })?;
        let screen = Self { terminal, is_ours: true };
        // What is pasted comes in one piece then, and is told from what is typed.
        execute!(stdout(), EnableBracketedPaste)?;
        Ok(screen)
    }

    /// Gives the terminal back.
    pub(super) fn give_back(mut self) -> io::Result<()> {
        self.restore()
    }

    fn restore(&mut self) -> io::Result<()> {
        if !std::mem::replace(&mut self.is_ours, false) {
            return Ok(());
        }
        let pasting = execute!(stdout(), DisableBracketedPaste);
        let shown = self.terminal.show_cursor();
        ratatui::try_restore()?;
        pasting.and(shown)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // Nobody is left to tell.
        let _ = self.restore();
    }
}
