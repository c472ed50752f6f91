//! The IDE server: what an extension of the CLI's makers is to their editor, for every editor that has none.
//!
//! The interactive CLI looks for lock files, connects to a port of loopback with the token that it found in one, and
//! speaks MCP over a WebSocket: it opens diffs, asks for problems around an edit, and hears what is selected.
//! [`serve`] is that server over any [`Editor`]: [`Plain`] has only files and a terminal, [`Link`] is a plugin of a
//! real editor on the other end of two pipes.
//!
//! It knows nothing of sessions, of the CLI's stream or of our own events. The one rule it keeps: a change of a file
//! is accepted by a person who saw it, or not at all.

#[cfg(test)]
mod conformance;
mod connected;
mod connection;
mod console;
mod diffs;
mod editor;
mod gate;
mod handler;
mod link;
mod linked;
mod lock_file;
mod notices;
mod plain;
mod serving;
mod token;
mod tools;
mod workspace;

pub use connected::{Connected, Watched};
pub use console::Console;
pub use editor::{
    Answer, Diagnostic, Diff, DiffId, Document, DocumentState, Editor, EditorError, FileDiagnostics, Mention,
    OpenFile, Position, Range, Saved, Selection, Severity, Tab, Verdict,
};
pub use jackfield_workbench::{KernelSetup, LanguageServerSetup, LanguageServers, Surroundings};
pub use link::{Link, LinkError};
pub use linked::{LinkedEditor, lock_folder};
pub use lock_file::{LockFileError, running};
pub use notices::Notices;
pub use plain::{NO_PROBLEMS, Plain, problems};
pub use serving::{Ide, Options, ServeError, serve};
pub use token::NoToken;
pub use workspace::WorkspaceError;
